"""The bound on private selection, each outcome at its own worst place. Start with `bound.py`."""
