"""Discrete Gaussians on a contour: |phi| comes back, and the nodes are chosen for it."""
