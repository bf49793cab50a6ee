"""Distributions of the number of runs of a base mechanism."""
