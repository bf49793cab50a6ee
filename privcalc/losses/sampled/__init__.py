"""Laws of Poisson-sampled mechanisms, and of samples of a fixed size (`glued.py`).

Start with `law.py`. `tails.py` has what follows from the tails of the base alone, `part.py` the
densities for the contour (`losses/quadrature`), `cut.py` and `shifted.py` what the split contour
needs of sampled Gaussians (`engine/split`), `smooth.py` and `damped.py` those in two parts without
an edge (`losses/rare.py`), `edged.py` what the mollified contour needs of atoms beside densities,
`glued_density.py` the contour of samples of a fixed size, `renyi.py` the divergences.
"""
