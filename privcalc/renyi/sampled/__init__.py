"""What sampling makes of a Renyi curve. Start with `poisson.py`."""
