"""The contour split at the largest loss: rare large outcomes in closed form, or on their own.

Start with `total.py`, which has the theorem and the source. `parts.py` tells what is cut,
`choice.py` where, by the rough transforms of `tables.py`; `plan.py` places the nodes of a side
within a `frame.py`, and proves with `decay.py` what they leave out; `sides.py` has the sums,
`closed.py` what needs none. `answer.py` turns a question into a bracket.
"""
