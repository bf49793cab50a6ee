"""Laws of Poisson-sampled mechanisms, of samples of a fixed size, and of mixtures of normal laws.

Start with `law.py`. `tails.py` has what follows from the tails of the base alone, `renyi.py` the
divergences, from the masses of cells, `parts.py` the densities for quadrature
(`losses/quadrature.py`), `cut.py` what a tail split of sampled Gaussians needs. `glued.py` has
samples of a fixed size, `replaced.py` records that are replaced by opposite ones, `mixture.py`
groups of records and sensitivities that are drawn. Samples of compositions are lists
(`losses/composed.py`).
"""
