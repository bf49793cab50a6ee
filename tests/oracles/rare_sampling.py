"""Truths for rarely sampled Gaussians, as those of `rare_sampling.json`.

`cells` were computed once by one contour for the whole law, at a small abscissa, in 192-bit balls
(no split, no tilt: cancellation is paid for with precision), and are kept as they were printed.
`pairs` are two uses: delta(epsilon) = E_{P1} delta_2(epsilon - l_1), one integral over the outcomes
of the first law of the closed-form delta of the second, in 30 digits. A law is (sigma, q), sampled,
or ("gaussian", mu).
"""

from __future__ import annotations

from typing import Any

import mpmath as mp

from tests.truths import normal_delta, sampled_delta


def single(law: list[Any], epsilon: Any) -> Any:
    """Return delta of one use at any real epsilon."""
    if law[0] == "gaussian":
        return normal_delta(law[1], epsilon)
    mu, q = 1 / mp.mpf(law[0]), mp.mpf(law[1])
    if epsilon <= mp.log1p(-q):
        return 1 - mp.exp(epsilon)
    return sampled_delta(mu, q, epsilon)


def pair(first: list[Any], second: list[Any], epsilon: Any) -> Any:
    """Return delta of both; breaks where the inner delta has a kink."""
    mu, q = 1 / mp.mpf(first[0]), mp.mpf(first[1])

    def loss(z: Any) -> Any:
        return mp.log1p(q * mp.expm1(mu * z - mu * mu / 2))

    def integrand(z: Any) -> Any:
        density = (1 - q) * mp.npdf(z) + q * mp.npdf(z, mu)
        return density * single(second, epsilon - loss(z))

    kinks = []
    if second[0] != "gaussian":
        kinks = [epsilon - mp.log1p(-mp.mpf(second[1]))]
    places = {mp.mpf(-16) + mp.mpf(k) / 2 for k in range(int(2 * (32 + mu)))}
    for kink in kinks:
        place = mp.log1p(mp.expm1(kink) / q) / mu + mu / 2
        places |= {place} | {place + s * mp.mpf(2) ** -k for k in range(30) for s in (-1, 1)}
    return mp.quad(integrand, sorted(places))
