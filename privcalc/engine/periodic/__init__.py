"""Discrete Gaussians on one lattice: |phi| has a period, and the nodes of one period are enough.

`contour.py` prepares a contour; `answer.py` lists the outcomes instead where they are few.
"""
