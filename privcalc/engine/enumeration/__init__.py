"""Exact sums over the outcomes of laws with finitely many values."""
