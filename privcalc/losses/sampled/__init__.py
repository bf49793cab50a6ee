"""Laws of Poisson-sampled mechanisms, of samples of a fixed size, and of mixtures of normal laws.

Start with `law.py`. `tails.py` has what follows from the tails of the base alone, `renyi.py` the
divergences, `parts.py` the densities for quadrature (`losses/quadrature.py`), `cut.py` what a tail
split of sampled Gaussians needs. `replaced.py` has records that are replaced, `mixture.py` groups
of records and sensitivities that are drawn. Samples of compositions are lists
(`losses/composed.py`).
"""
