"""What private selection needs to know of its base mechanism. Start with `pair.py`."""
