"""Convex hulls in doubles, against what a hull is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privcalc.numerics.search import falling_hull, lower_hull


def corners(x: list[float], y: list[float]) -> list[int]:
    """Return the points strictly below every chord of points on both sides, by all pairs."""

    def above(i: int, a: int, b: int) -> bool:
        rise = Fraction(y[b]) - Fraction(y[a])
        chord = Fraction(y[a]) + rise * (Fraction(x[i]) - x[a]) / (Fraction(x[b]) - x[a])
        return Fraction(y[i]) >= chord

    inner = range(1, len(x) - 1)
    kept = [
        i for i in inner if not any(above(i, a, b) for a in range(i) for b in range(i + 1, len(x)))
    ]
    return [0, *kept, len(x) - 1]


@pytest.mark.parametrize("seed", range(6))
def test_hulls_are_the_points_below_all_chords(seed: int) -> None:
    """Of random points, which have many shapes; and of their negatives."""
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.uniform(0.1, 2.0, 30))
    y = rng.normal(size=30) * rng.choice([1.0, 0.05]) + 0.01 * (x - x.mean()) ** 2
    expected = corners(x.tolist(), y.tolist())
    assert lower_hull(x, y).tolist() == expected


def test_ends_always_stay() -> None:
    """Of one point, of two, and of a line; all of a parabola."""
    assert lower_hull(np.array([1.0]), np.array([2.0])).tolist() == [0]
    assert lower_hull(np.array([1.0, 2.0]), np.array([2.0, 5.0])).tolist() == [0, 1]
    x = np.arange(9.0)
    assert lower_hull(x, 2.0 * x).tolist() == [0, 8]
    assert lower_hull(x, x * x).tolist() == list(range(9))


def test_hulls_of_functions_of_logarithms() -> None:
    """Where s = e^x is a double they are those of s; a chord past two points takes out both."""
    x = np.linspace(-3.0, 3.0, 25)
    y = np.exp(-np.exp(x)) * (1.0 + 0.3 * (np.arange(25) % 3 == 1))
    assert falling_hull(x, y).tolist() == lower_hull(np.exp(x), y).tolist()
    far = np.array([-900.0, -800.0, 0.0, 800.0, 900.0])
    assert falling_hull(far, np.array([1.0, 1.0, 0.5, 0.1, 0.0])).tolist() == [0, 2, 3, 4]
