"""Privacy loss distributions: one direction of one dominating pair.

Start with `law.py`, what a law says of itself, by default and on one vertical line; `term.py` has
what is proved of each part of a composition. Each package has one kind of law: additive `noise`,
`atomic` losses, `choices` of one out of many, noisy `thresholds`, and those of a sample, `sampled`,
the latter by certified `quadrature`. A law imports numerics and other laws, no engine and no
mechanism.
"""
