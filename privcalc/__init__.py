"""Certified differential-privacy accounting: every number is a bracket with a proof."""

__version__ = "0.1.0"
