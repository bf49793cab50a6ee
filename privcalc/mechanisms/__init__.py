"""The mechanisms, one module each, which the registry finds here; `base.py` is what all share."""
