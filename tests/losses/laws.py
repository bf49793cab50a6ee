"""Independent evaluation of loss laws for tests: mpmath from the definitions, nothing of ours."""

from __future__ import annotations

from typing import Any

from mpmath import mp, mpc, mpf

mp.dps = 40


def gaussian(mu: float, s: complex) -> Any:
    """Return M(s) = int p^(s+1) q^(-s) for N(mu, 1) against N(0, 1)."""
    m, z = mpf(mu), mpc(s)
    return mp.exp(z * (z + 1) * m * m / 2)


def sampled_gaussian(mu: float, q: float, s: complex, *, remove: bool) -> Any:
    """Return M(s) of the Poisson-sampled Gaussian: E over N(0, 1) of a power of the ratio.

    The integrand is analytic where |Im x| < pi / mu, and sums over equidistant points miss no more
    than about e^(-2 pi^2 / (mu h)): for mu <= 2 less than 1e-42.
    """
    assert 0 < mu <= 2
    m, q_, z = mpf(mu), mpf(q), mpc(s)
    power = z + 1 if remove else -z
    reach, h = 18 + abs(power.real) * m, mpf(1) / 10

    def integrand(x: Any) -> Any:
        ratio = 1 - q_ + q_ * mp.exp(m * x - m * m / 2)
        return mp.npdf(x) * mp.exp(power * mp.log(ratio))

    last = int(mp.ceil(reach / h))
    return h * mp.fsum(integrand(k * h) for k in range(-last, last + 1))
