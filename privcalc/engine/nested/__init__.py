"""Two uses of sampled Gaussians, or one beside a Gaussian: one integral of a closed form.

Nothing smooths so few uses, so that contours converge slowly; the integral does not care. `pair.py`
has the integrand, `panels.py` the quadrature with its proof, `two_uses.py` the source.
"""
