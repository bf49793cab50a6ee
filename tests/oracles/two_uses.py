"""Truths for two uses in both directions: writes `two_uses.json`.

delta(epsilon) = E_{P1} delta_2(epsilon - l_1), one integral over the outcomes of the first law of
the closed-form delta of the second, in 40 digits.

    python -m tests.oracles.two_uses
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpmath as mp

FILE = Path(__file__).with_suffix(".json")
DIGITS = 40
# (remove, first, second, epsilon); a law is (sigma, q), q = 1 for an unsampled Gaussian.
CELLS: list[tuple[bool, list[float], list[float], str]] = [
    (True, [0.42, 0.0002], [0.42, 0.0002], "4.25"),
    (True, [3.0, 0.0001], [3.0, 0.0001], "0.0001"),
    (True, [3.0, 0.0001], [0.5, 0.01], "7.5"),
    (True, [100.0, 0.1], [100.0, 0.1], "0.0065"),
    (True, [0.7, 0.001], [0.7, 0.001], "29.5"),
    (True, [0.5, 0.3], [2.0, 1.0], "0.0"),
    (True, [1.0, 0.01], [50.0, 1.0], "0.125"),
    (False, [0.5, 0.0001], [0.5, 0.0001], "0.000188"),
    (False, [0.45, 0.014], [0.45, 0.014], "0.028"),
    (False, [2.0, 0.05], [0.75, 0.01], "0.03"),
    (False, [1.0, 0.2], [4.0, 1.0], "0.5"),
    (False, [100.0, 0.1], [100.0, 0.1], "0.0062"),
]


def tail(z: Any) -> Any:
    """Return P(N > z)."""
    return mp.erfc(z / mp.sqrt(2)) / 2


def single(law: list[float], epsilon: Any, *, remove: bool) -> Any:
    """Return delta of one use at any real epsilon: P(A) - e^epsilon Q(A), A = {L > epsilon}."""
    mu, q, a = 1 / mp.mpf(law[0]), mp.mpf(law[1]), mp.exp(epsilon)
    if remove:
        ratio = (a - 1 + q) / q
        if ratio <= 0:
            return 1 - a
        z = mp.log(ratio) / mu + mu / 2
        r, w = tail(z), tail(z - mu)
        return (1 - q) * r + q * w - a * r
    ratio = (1 / a - 1 + q) / q
    if ratio <= 0:
        return mp.mpf(0)
    z = mp.log(ratio) / mu + mu / 2
    r, w = tail(-z), tail(mu - z)
    return r - a * ((1 - q) * r + q * w)


def pair(first: list[float], second: list[float], epsilon: Any, *, remove: bool) -> Any:
    """Return delta of both; breaks where the inner delta has a kink, graded towards it."""
    mu, q = 1 / mp.mpf(first[0]), mp.mpf(first[1])
    sign = 1 if remove else -1

    def integrand(z: Any) -> Any:
        loss = sign * mp.log1p(q * mp.expm1(mu * z - mu * mu / 2))
        density = mp.npdf(z)
        if remove:
            density = (1 - q) * density + q * mp.npdf(z, mu)
        return density * single(second, epsilon - loss, remove=remove)

    places = {mp.mpf(-16) + mp.mpf(k) / 4 for k in range(int(4 * (44 + mu)))}
    kink = None
    if second[1] < 1.0:
        # Where e^(epsilon - loss) is 1 - q', or its inverse.
        top = mp.exp(sign * epsilon) / (1 - mp.mpf(second[1]))
        if top > 1 - q:
            kink = mp.log((top - 1 + q) / q) / mu + mu / 2
            near = {kink + s * mp.mpf(2) ** -k for k in range(45) for s in (-1, 1)}
            places |= {kink} | near
    ends = sorted(places)
    if kink is not None and not remove:
        ends = [z for z in ends if z <= kink]
    return mp.quad(integrand, ends)


def cells() -> list[dict[str, Any]]:
    """Return all cells with their delta."""
    with mp.workdps(DIGITS):
        return [
            {
                "remove": remove,
                "first": first,
                "second": second,
                "epsilon": epsilon,
                "delta": mp.nstr(pair(first, second, mp.mpf(float(epsilon)), remove=remove), 20),
            }
            for remove, first, second, epsilon in CELLS
        ]


def main() -> None:
    """Write the file."""
    FILE.write_text(json.dumps({"cells": cells()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
