"""Fixed-size batches under replace-one, as a game of triples: what is proved, in one place.

Model. One step draws m of n records without replacement, q = m / n, and adds Gaussian noise to what
the batch is mapped to; batches that differ in one record have outputs at most `sensitivity` apart,
pairwise, and mu = sensitivity / sigma. That is all that is assumed, and it may depend on the past.
(It is what a sensitivity says. Sums of records clipped to a ball of diameter `sensitivity` are less
than that: there upper ends hold, and of the lower ends those of the pairs R and A below.) Given the
rest of the batch, let c be the output without the record that is replaced, a with its first value
and b with its second. Then a step is a mixture of pairs

    P = (1 - q) N(c) + q N(a),   Q = (1 - q) N(c) + q N(b),   |a - b|, |b - c|, |a - c| <= mu,

with unit noise. For a convex V let T V(x) = E_Q V(x dP/dQ), which is x-homogeneous integration of
V'' against the profile H_a of the pair: T V(x) = V(x) + int x^2 V''(a x) h(a) da, where the time
value h(a) is H_a - (1 - a)_+. V is jointly convex in (P, Q), so that no mixture exceeds its parts.

The game. V_0(x) = (x - a)_+ and V_{j+1} = M V_j, M V = sup over triples of T V. Then V_T(1) is the
largest delta at epsilon = log a of all adaptive mechanisms of the model. Above: by induction
backwards, x being the likelihood ratio of what came out. Below: the adversary knows x and plays the
best triple. So the value of the game is exact, where every dominating pair that is composed (the
pair glued of R and A of `losses/sampled/replaced.py`) is 3 to 20 % above it. New here.

Two families suffice. + : |a - c| = |a - b| = mu, |b - c|^2 = y mu^2, and - : P and Q exchanged;
0 <= y <= 1. y = 0 of + is the pair R of removing a record from a Poisson sample, of - that of
adding, A; y = 1 is the equilateral triple E in both. Let A = dN(a)/dN(c), B likewise, so that the
loss has u = 1 - q + q A over v = 1 - q + q B, and E phi(A, B) = E v V(x u / v). For X_i =
exp(g_i - G_ii / 2), g ~ N(0, G), d/dt E phi = (1/2) sum G'_ij E X_i X_j phi_ij (Price). phi is
convex, so that E phi grows with G in the Loewner order, and phi_AB <= 0, so that it falls with
<a - c, b - c>. (i) Hence |a - b| may be raised at fixed |a - c| and |b - c|. (ii) A triangle with
less than two sides of length mu is stretched: the matrix grows, in whichever corner the origin is.
(iii) If the two are a - c and b - c, then |a - b| is raised to mu as well.

Monotone in y. In family +, with k = mu^2 and theta = (1 - q)(1 - a) / q,

    dh_a/dy = (a / 2) k (1 - q)(1 - a) I_a(y),   I_a(y) > 0 that of A - a B at -theta under N(b):

(a density), so that profiles at a > 1 fall in y, those at a < 1 rise. So R bounds all triples at a
>= 1, and A those at a <= 1, and the other way round from below.

Curved in y at most so much. Under N(b), log B ~ N(k y / 2, k y), and log A given log B = t is
N(t / 2 + k / 2 - k s, k s), s = 1 - y / 4. With omega = log(a e^t - theta) - t / 2 - k / 2

    I_a(y) = int e^{-t^2/(2 k y) + t/2 - omega^2/(2 k s) - omega - k/2}
                 / (2 pi k (y s)^{1/2} (a e^t - theta)) dt,

and y^{1/2} times the integrand has the logarithmic derivative t^2/(2 k y^2) + (1 - omega^2/(k s)) /
(8 s) in y. Let tau = y^{1/2}. At a < 1, h rises in tau, and at a > 1, -h does, with

    second derivative in tau >= -4 c y N_a(y),   N_a(y) = integral of the integrand times
                                                 (omega^2/(k s) - 1)_+ / (8 s),

c = (a / 2) k (1 - q) |1 - a|; all of it holds for y > 1, too. `triples.py` bounds N by sums over
cells. So on an interval of tau the rising half of T V is below its chord but for the integral of
V'' against that, and the falling half is below its secants from the neighbouring intervals: both
to second order. The maximum over tau of the bound is in closed form (`game.py`).

Family - follows by exchange: h-_a = a h+_{1/a}, and mirror images of all statements.

Laplace and discrete noise. Joint convexity and the game hold for any noise. That two families
suffice, and the halves that R and A bound, is proved by Price's formula for Gaussian noise alone;
with other noise the glued pair is what is known.
"""
