"""Laws in closed form: Gaussian, Laplace, and two normal laws of different variances.

`exponential.py` has what Laplace noise shares with a bounded range (`losses/bounded_range`).
"""
