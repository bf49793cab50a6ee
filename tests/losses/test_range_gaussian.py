"""Normal noise above many different bounded ranges, against what offsets on lattices attain."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from privcalc.accounting.compose import compose
from privcalc.losses.choices.bounded_range import (
    RangeGaussianLaw,
    noise_square,
    range_gaussian,
)
from privcalc.spec.parse import parse
from tests.truths import gaussian_deltas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.bounds import Bound
    from privcalc.numerics.rounding import Array

SLOW = pytest.mark.slow
# How much longer a leap is than a step.
LEAP = 1.11


def distance(squares: Sequence[float]) -> float:
    """Return that of the noise."""
    return math.sqrt(noise_square(max(squares), math.fsum(squares)))


def best_offsets(value: Array, step: float, parts: int) -> Array:
    """Return the most that one more use costs with offsets on a lattice of losses around 0.

    The lattice ends where losses below cost 1 - e^x, and losses above nothing.
    """
    count, top = len(value), step * ((len(value) - 1) // 2)
    before = -np.expm1(-top - step * np.arange(parts, 0, -1))
    padded = np.concatenate([before, value, np.zeros(parts)])
    whole, best = -math.expm1(-step * parts), value
    for t in range(1, parts):
        p = -math.expm1(-step * (parts - t)) / whole
        near, far = padded[parts - t :][:count], padded[2 * parts - t :][:count]
        best = np.maximum(best, p * near + (1.0 - p) * far)
    return best


def attained(sizes: Sequence[int], step: float, deviations: float = 9.0) -> tuple[Array, Array]:
    """Return losses, and what uses cost that are run the last of these first."""
    most = deviations * 0.5 * step * math.sqrt(sum(size * size for size in sizes))
    half = min(sum(sizes), int(most * (1.0 + most) / step))
    x = step * np.arange(-half, half + 1)
    value = np.maximum(-np.expm1(x), 0.0)
    for size in sizes:
        value = best_offsets(value, step, size)
    return x, value


@pytest.mark.parametrize("eta", [1e-3, 0.1, 0.7, 2.0**0.5])
@pytest.mark.parametrize("ratio", [1.6, 2.9, 3.5, 8.0, 100.0])
def test_one_use_before_normal_noise(eta: float, ratio: float) -> None:
    """A step of the distance is enough for one use, at every loss and with every offset."""
    v, longer = 0.25 * eta * eta, LEAP if ratio < 2.0 else 1.0
    s = math.sqrt(ratio * v)
    x = np.linspace(-7.0, 7.0, 281) * s
    t = eta * np.linspace(0.0, 1.0, 401)[:, None]
    p = np.expm1(t - eta) / math.expm1(-eta)
    one = (p * gaussian_deltas(s, x - t) + (1.0 - p) * gaussian_deltas(s, x + eta - t)).max(axis=0)
    rise = one - gaussian_deltas(s, x)
    room = gaussian_deltas(s + longer * v / (2.0 * s), x) - one
    seen = rise > 1e-8
    assert seen.sum() > 20
    # Within a part of what the step is larger than the leading order, v^2 / (12 s^2).
    assert (room[seen] >= 0.03 * rise[seen] / ratio).all()


@pytest.mark.parametrize("sizes", [(40, 30, 20, 10), (40, 10, 10, 10, 10, 10), (25, 24, 23, 22)])
def test_orders_that_are_chosen_as_one_goes(sizes: tuple[int, ...]) -> None:
    """The best of all orders, use by use, costs no more: a recursion over what is left."""
    step = 0.02
    half = sum(sizes)
    x = step * np.arange(-half, half + 1)
    known: dict[tuple[int, ...], Array] = {(): np.maximum(-np.expm1(x), 0.0)}

    def left(state: tuple[int, ...]) -> Array:
        if state not in known:
            known[state] = np.full(len(x), -np.inf)
            for i, size in enumerate(state):
                one = best_offsets(left(state[:i] + state[i + 1 :]), step, size)
                known[state] = np.maximum(known[state], one)
        return known[state]

    found = left(sizes)
    mu = distance([0.25 * (step * size) ** 2 for size in sizes])
    assert (found <= gaussian_deltas(mu, x) + 1e-15).all()


def epsilons(n: int, low: float = 0.02, high: float = 0.2) -> list[float]:
    """Draw different parameters."""
    r = random.Random(n)
    return [round(r.uniform(low, high), 6) for _ in range(n)]


def asked(values: Sequence[float], *, delta: float | None = None, at: float | None = None) -> Bound:
    """Return epsilon at a delta, or delta at an epsilon."""
    spec = parse("+".join(f"exponential:epsilon={each!r}" for each in values)).tree
    deltas, points = [] if delta is None else [delta], [] if at is None else [at]
    return compose(spec, deltas=deltas, epsilons=points).answers[0].proved


@pytest.mark.slow
@pytest.mark.parametrize(("n", "width"), [(40, 0.12), pytest.param(150, 0.05, marks=SLOW)])
def test_brackets_of_many_hold_what_is_attained(n: int, width: float) -> None:
    """Ranges on a lattice, the widest one last, attain no more than the upper end."""
    values, step = epsilons(n), 0.005
    found = asked(values, delta=1e-3)
    # Narrower ranges.
    x, value = attained(sorted((int(each / step) for each in values), reverse=True), step)
    best = float(x[np.argmax((x > 0) & (value < 1e-3))]) - step
    assert found.lower is not None
    assert best <= found.upper
    assert found.lower <= found.upper <= (1.0 + width) * found.lower


def test_where_there_is_no_such_law() -> None:
    """Few uses, wide ranges, and ranges whose sum is not known have their pairs."""
    one, many = Fraction(1), [(0.1 + 1e-3 * k, 1) for k in range(50)]
    assert isinstance(range_gaussian(many, one), RangeGaussianLaw)
    twice, both = range_gaussian([(eta, 2) for eta, _ in many], one), many + many
    assert twice is not None
    assert sum(count for _, count in twice.kinds) == 100
    assert twice.normal.mu == pytest.approx(distance([0.25 * eta**2 for eta, _ in both]), rel=1e-12)
    assert range_gaussian(many, None) is None
    assert range_gaussian(many[:3], one) is None
    assert range_gaussian([*many, (1.5, 1)], one) is None
