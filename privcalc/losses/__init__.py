"""Privacy-loss laws: one direction of one dominating pair.

Start with `law.py`, what a law says of itself and what is taken to be unknown where it does not,
and `contour.py`, a law on one vertical line; `rare.py` has uses of a law in two parts. Each package
has one kind of law: `closed` forms, `atomic` and `lattice` losses, the `bounded_range` of a choice
and the `winner` of a noisy one, and those of samples, `sampled`, `replaced` and `mixture`, the two
first by certified `quadrature`. A law imports numerics and other laws, no engine and no mechanism.
"""
