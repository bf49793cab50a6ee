"""Random allocation of Gaussian noise: the law of a mean of independent likelihood ratios.

One record takes part in one of t steps, drawn evenly; step i releases N(1, s^2) if it is the one,
else N(0, s^2). Without the record the outputs are Q, all N(0, s^2); with it P. Then
R = dP/dQ = (u_1 + ... + u_t) / t, where under Q the u_i = exp((2 x_i - 1) / (2 s^2)) are
independent and log u_i is N(-v^2 / 2, v^2), v = 1 / s. This pair, in both orders, dominates
allocation under adaptive composition for adding and removing (or zeroing out) a record (proved in
`wrappers/allocation.py`; Chua et al. 2024, arXiv:2412.16802; Feldman, Shenfeld 2025,
arXiv:2502.08202).

Measures instead of laws. The profiles of compositions are E_Q (X R - a)_+ for removing and
E_Q (1 - a X R)_+ for adding, X being the ratio of all the rest. Both are nonnegative, convex and
monotone in each u_i >= 0. So let nu be any measure with int f dnu >= int f dmu for the law mu of
u_i and all such f ("above"), or <= ("below"). Putting it in the place of mu, one u_i at a time,
gives pairs of measures (R Q', Q') whose profiles are above, or below, the true ones, and stay so
under composition with anything. Masses may be rounded up in what is above and down, or dropped, in
what is below; nothing has to add up to 1. The same holds of any part of mu by itself, and of
measures of sums.

A part of mu on an interval is put on a lattice as a measure
- above, by splitting each mass between its neighbours such that the mean stays: int f grows, as f
  is at most its chord;
- below, by lowering P(k) = int (k - x)_+ dmu at the lattice points k: if P(k) - g_k is convex and
  the lines between are below P, these are the put function of a measure of the same mass and mean
  (where g is 0 at both ends) that is smaller for all convex f.
"""
