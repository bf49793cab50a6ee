"""One use of a mixture of normal laws against N(0, 1), at 40 digits, by halving."""

from __future__ import annotations

from typing import Any

from mpmath import mp, mpf

mp.dps = 40
FAR = 200


def mixture_profile(terms: list[tuple[Any, Any]], epsilon: float, *, remove: bool) -> Any:
    """Return delta at an epsilon.

    Args:
        terms: centres and probabilities, which add up to 1.
        epsilon: where.
        remove: whether the mixture is the first of the two laws.
    """
    a = mp.exp(mpf(epsilon))
    level = mpf(epsilon) if remove else -mpf(epsilon)

    def loss(x: Any) -> Any:
        return mp.log(mp.fsum(b * mp.exp(c * x - c**2 / 2) for c, b in terms))

    low, high = mpf(-FAR), mpf(FAR)
    for _ in range(140):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) < level else (low, middle)
    if remove:
        mixed, plain = mp.fsum(b * mp.ncdf(c - low) for c, b in terms), mp.ncdf(-low)
        return max(mpf(0), mixed - a * plain)
    mixed, plain = mp.fsum(b * mp.ncdf(low - c) for c, b in terms), mp.ncdf(low)
    return max(mpf(0), plain - a * mixed)
