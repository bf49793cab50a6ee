"""Inversion of characteristic functions: sums over the nodes of vertical lines, with proofs."""
