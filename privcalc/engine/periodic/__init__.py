"""Discrete Gaussians on a contour: |phi| comes back, and the nodes are chosen for it.

`contour.py` prepares a contour, on a line or on one period; `answer.py` also lists outcomes.
"""
