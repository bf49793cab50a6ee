"""Privacy loss distributions: one direction of one dominating pair.

Start with `law.py`, what a law says of itself, by default and on one vertical line; `term.py` has
what is proved of each part of a composition. Laws with finitely many losses are exact rationals and
the doubles that enclose them, in `atoms.py`; `profiles.py` makes them of points of a profile or of
tests. Each package has one kind of law: `choices` of one out of many, noisy `thresholds`, and those
of a sample, `sampled`, the latter by certified `quadrature`. A law imports numerics and other laws,
no engine and no mechanism.
"""
