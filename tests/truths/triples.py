"""Triples of outputs as laws on a grid of the plane: an oracle that shares no code.

One step has P = (1 - q) N(c) + q N(a) against Q = (1 - q) N(c) + q N(b), noise 1, c = 0. Sums over
a grid of the plane are integrals to about 1e-6 of what they are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array

    Sides = tuple[float, float, float]


def plane(q: float, sides: Sides, step: float = 0.04) -> tuple[Array, Array]:
    """Return Q-masses and likelihood ratios P / Q of the points of a grid.

    Args:
        q: sampling probability.
        sides: |a - c|, |b - c| and |a - b|.
        step: of the grid.
    """
    first, second, third = sides
    along = (first**2 + second**2 - third**2) / (2.0 * first) if first else 0.0
    a, b = (first, 0.0), (along, math.sqrt(max(second**2 - along**2, 0.0)))
    reach = 7.5 + max(first, second)
    x = np.arange(-reach, reach, step)
    u, v = np.meshgrid(x, x, indexing="ij")

    def density(place: tuple[float, float]) -> Array:
        found: Array = np.exp(-0.5 * ((u - place[0]) ** 2 + (v - place[1]) ** 2))
        return found

    plain = density((0.0, 0.0))
    p, r = ((1.0 - q) * plain + q * density(place) for place in (a, b))
    weight = step * step / (2.0 * math.pi)
    return (weight * r).ravel(), (p / r).ravel()


def time_values(q: float, sides: Sides, losses: Array) -> Array:
    """Return E_Q (Y - e^l)_+ less (1 - e^l)_+."""
    mass, ratio = plane(q, sides)
    found = []
    for loss in losses.tolist():
        a = math.exp(loss)
        gain = ratio - a if loss >= 0.0 else a - ratio
        found.append(float(mass @ np.maximum(gain, 0.0)))
    return np.array(found)


def mean_of(value: Callable[[Array], Array], q: float, sides: Sides, x: float) -> float:
    """Return E_Q V(x Y)."""
    mass, ratio = plane(q, sides)
    return float(mass @ value(x * ratio))


def composed_delta(q: float, sides: Sides, uses: int, epsilon: float, step: float) -> float:
    """Return about delta of so many uses of one triple, on a lattice of losses."""
    mass, ratio = plane(q, sides)
    loss = np.log(ratio)
    size = 1 << 15
    # Split between neighbours, which keeps the mean.
    place = loss / step
    low = np.floor(place).astype(int)
    share = place - low
    law = np.bincount(low % size, weights=mass * ratio * (1.0 - share), minlength=size)
    law += np.bincount((low + 1) % size, weights=mass * ratio * share, minlength=size)
    whole = np.fft.irfft(np.fft.rfft(law) ** uses, size)
    losses = step * ((np.arange(size) + size // 2) % size - size // 2)
    above = losses > epsilon
    return float(whole[above] @ -np.expm1(epsilon - losses[above]))


def random_sides(rng: np.random.Generator, longest: float) -> Sides:
    """Return sides of a triangle, none longer than that."""
    while True:
        a, b, c = sorted(rng.random(3) * longest)
        if a + b >= c:
            order = rng.permutation([a, b, c])
            return float(order[0]), float(order[1]), float(order[2])


def family(y: float, longest: float, *, mirrored: bool = False) -> Sides:
    """Return the sides of a member of a family."""
    short = longest * math.sqrt(y)
    return (short, longest, longest) if mirrored else (longest, short, longest)
