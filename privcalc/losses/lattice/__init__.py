"""Laws of discrete Gaussians, whose losses lie on a lattice. Start with `discrete_gaussian.py`."""
