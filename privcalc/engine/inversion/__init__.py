"""Inversion of characteristic functions: sums over the nodes of vertical lines, with proofs.

A finite positive *measure* of losses is known by its transform on the vertical line c + it: all of
a composition, or the bulk and the tail of one that is cut. `line_sum.py` has the theorem and
every inequality that bounds an error; `line_sum.py` sums one measure over one line, and
`measures.py` adds several up.
"""
