"""Groups of records under Poisson sampling and Gaussian noise: mixtures of normal laws.

Start with `gaussian.py`.
"""
