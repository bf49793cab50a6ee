"""Privacy loss distributions: one direction of one dominating pair.

Start with `law.py`, what a law says of itself and what is taken to be unknown where it does not,
and `contour.py`, a law on one vertical line; `rare.py` has uses of a law in two parts, `term.py`
what is proved of each part of a composition. Each package has one kind of law: additive `noise`,
`atomic` losses, `choices` of one out of many, noisy `thresholds`, shuffled `batches`, and those of
a sample, `sampled`, the latter by certified `quadrature`. A law imports numerics and other laws, no
engine and no mechanism.
"""
