"""Noise that is correlated between the steps of a run, one module a mechanism."""
