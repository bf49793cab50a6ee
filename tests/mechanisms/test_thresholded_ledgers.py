"""Many different thresholded counts together, against lattices and lists of outcomes."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.asked import delta
from tests.asked import epsilon as asked_epsilon

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

STEP = 1e-3


def ledger(noise: str, n: int, low: float, high: float) -> list[tuple[float, float]]:
    """Draw scales, and thresholds so many scales (or deviations) away."""
    r = random.Random(f"{noise} {n}")
    scales = [r.uniform(4.0, 12.0) for _ in range(n)]
    return [(s, 1.0 + s * r.uniform(low, high)) for s in scales]


def text(noise: str, parts: list[tuple[float, float]]) -> str:
    """Return a specification."""
    size = "sigma" if "gaussian" in noise else "scale"
    return "+".join(
        f"thresholded-counts:noise={noise},{size}={s!r},threshold={t!r}" for s, t in parts
    )


def finite_masses(scale: float, threshold: float, *, up: bool) -> tuple[Array, int, float]:
    """Return P-masses of rounded losses of removing, the first of them in steps, and p.

    Noise has P(L <= l) = e^{(l - e)/2} / 2 from -e on. What a new key tells cuts it at the loss
    whose profile 1 - e^{(l - e)/2} is p.
    """
    e, p = 1.0 / scale, 0.5 * math.exp(-(threshold - 1.0) / scale)
    cut = e + 2.0 * math.log1p(-p)
    first, last = math.floor(-e / STEP) - 1, math.ceil(e / STEP) + 1
    ends = STEP * np.arange(first, last + 1)
    below = np.where(ends < cut, 0.5 * np.exp(0.5 * (ends - e)), 1.0 - p)
    below[ends < -e] = 0.0
    return np.diff(below), first + 1 if up else first, p


def on_lattice(parts: list[tuple[float, float]], epsilon: float, *, up: bool) -> float:
    """Return delta of removing with the loss of every part rounded up, or down."""
    masses, first, hidden = np.ones(1), 0, 1.0
    for part in parts:
        each, start, p = finite_masses(*part, up=up)
        masses, first, hidden = np.convolve(masses, each), first + start, hidden * (1.0 - p)
    losses = STEP * (first + np.arange(len(masses)))
    return 1.0 - hidden + float(masses @ np.maximum(-np.expm1(epsilon - losses), 0.0))


@pytest.mark.few(2)
@pytest.mark.dear("1.2-24")
@pytest.mark.parametrize("n", [5, 24])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.2, 2.0])
def test_many_releases_of_laplace_noise(n: int, epsilon: float) -> None:
    """The upper end is above a lattice of rounded-down losses, and little above one rounded up."""
    parts = ledger("laplace", n, 6.0, 8.0)
    low, high = (on_lattice(parts, epsilon, up=up) for up in (False, True))
    found = delta(text("laplace", parts), epsilon)
    assert found.lower is not None
    assert found.lower <= high * (1.0 + 1e-12)
    assert low <= found.upper * (1.0 + 1e-12)
    assert found.upper <= high * 1.02


@pytest.mark.dear("discrete-laplace", "discrete-gaussian")
@pytest.mark.parametrize("noise", ["laplace", "gaussian", "discrete-gaussian", "discrete-laplace"])
def test_many_releases_are_narrow_in_any_order(noise: str) -> None:
    """Where new keys hardly show, 30 different releases have six digits, in any order."""
    reach = (8.0, 12.0) if "gaussian" in noise else (36.0, 60.0)
    parts = ledger(noise, 30, *reach)
    found, turned = (asked_epsilon(text(noise, each), 1e-6) for each in (parts, parts[::-1]))
    for one, other in ((found, turned), (turned, found)):
        assert one.lower is not None
        assert one.lower <= other.upper
        assert one.upper <= one.lower * (1.0 + 1e-6)
