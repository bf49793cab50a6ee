"""The contour engine: sums over the nodes of one vertical line, with a proof of their error.

`answer.py` turns a question into a contour: `saddle.py` says where the line is, `plan.py` which
nodes it has, `sum.py` has the sum, which is a source, and its certificate. Start with `sum.py`.
"""
