"""What single answers of the sparse vector technique cost, by mpmath and by enumeration."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import ndtr

from privcalc.losses.choices.noisy_max import law_with_tail
from privcalc.losses.thresholds.sparse_vector_bounds import (
    Kind,
    answer_kinds,
    answers_points,
    gaussian_points,
    outcome_profile,
)
from privcalc.losses.thresholds.sparse_vector_tests import (
    Race,
    Technique,
    race_chances,
    stream_chances,
)
from privcalc.numerics.normal import gaussian_profile
from tests.truths.noisy_max import upper_delta

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from privcalc.numerics.rounding import Array

    Below = Callable[[Array], Array]

Z = np.linspace(-11.0, 11.0, 4401)
WEIGHT = np.exp(-0.5 * Z * Z) * (Z[1] - Z[0]) / math.sqrt(2.0 * math.pi)


def chance(
    sizes: tuple[float, float], below: Sequence[float], above: Sequence[float]
) -> tuple[float, float]:
    """Return P(o), and P'(o) where each query moves to make it as unlikely as may be.

    The trapezoidal rule for normal noise, which is exact for smooth integrands.
    """
    s, t = sizes
    found = []
    for move in (0.0, 1.0):
        parts = WEIGHT.copy()
        for gap in below:
            parts = parts * ndtr((gap - move + s * Z) / t)
        for gap in above:
            parts = parts * ndtr(-(gap + move + s * Z) / t)
        found.append(float(parts.sum()))
    return found[0], found[1]


def best(
    sizes: tuple[float, float], below: int, above: int, epsilon: float
) -> tuple[float, float, float]:
    """Return the most that one answer costs with gaps b and g, on finer and finer lattices."""
    s, t = sizes
    centre, width = np.array([1.0, 1.0]) * (s + t), 4.0 * (s + t)
    found = (0.0, 0.0, 0.0)
    for _ in range(6):
        b, g = (x + width * np.linspace(-1.0, 1.0, 15) for x in centre)
        p, q = (
            (ndtr((b[:, None] - move + s * Z) / t) ** below * WEIGHT)
            @ (ndtr(-(g[:, None] + move + s * Z) / t) ** above).T
            for move in (0.0, 1.0)
        )
        value = p - math.exp(epsilon) * q
        i, k = np.unravel_index(int(np.argmax(value)), value.shape)
        found = max(found, (float(value[i, k]), float(b[i]), float(g[k])))
        centre, width = np.array([b[i], g[k]]), 0.3 * width
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("sizes", "below", "above"),
    [
        ((10.0, 20.0), 0, 1),
        ((10.0, 20.0), 3, 1),
        ((2.0, 2.0), 2, 1),
        ((300.0, 500.0), 2, 1),
        ((1.0, 4.0), 3, 0),
        ((4.0, 2.0), 1, 1),
        ((3.0, 5.0), 1, 2),
        ((3.0, 5.0), 0, 3),
        ((3.0, 12.0), 60, 2),
    ],
)
def test_the_worst_gaps(sizes: tuple[float, float], below: int, above: int) -> None:
    """At least what the best gaps and others near them cost; not far from it for one "above"."""
    s, t = sizes
    rng = random.Random("the worst gaps")
    mu = math.sqrt(1 / s**2 + 4 * above / t**2)
    epsilons = np.array([0.5, 1.5, 3.0]) * mu
    found = outcome_profile(sizes, [Kind(below, above, 1.0)], epsilons)
    for epsilon, bound in zip(epsilons.tolist(), found.tolist(), strict=True):
        attained, b, g = best(sizes, below, above, epsilon)
        assert attained <= bound
        if above < 2 or below > above:
            assert bound <= attained * (1.5 if above < 2 else 6.0) + 1e-20
        else:
            # Few "below": that is hardly better than the best test of all noises.
            assert bound <= 1.1 * gaussian_profile(mu, epsilon).upper
        for _ in range(40):
            size = rng.choice((0.02, 0.1, 0.4)) * sum(sizes)
            gaps = [rng.gauss(b, size) for _ in range(below)]
            p, q = chance(sizes, gaps, [rng.gauss(g, size) for _ in range(above)])
            assert p - math.exp(epsilon) * q <= bound


@pytest.mark.parametrize(("cutoff", "length"), [(1, 1), (1, 7), (2, 6), (3, 9), (5, 8), (4, 4)])
def test_all_answers_have_a_kind(cutoff: int, length: int) -> None:
    """As many as there are words, each with no more "below" and "above" than its kind."""
    words = {
        word[: [i for i, x in enumerate(word) if x == "1"][cutoff - 1] + 1]
        if word.count("1") >= cutoff
        else word
        for word in map("".join, product("01", repeat=length))
    }
    counts = Counter((word.count("0"), word.count("1")) for word in words)
    kinds = answer_kinds(cutoff, length)
    assert sum(kind.number for kind in kinds) == pytest.approx(len(words), rel=1e-12)
    # The largest answers first, each to a kind that has room.
    room = {kind: kind.number * (1 + 1e-12) for kind in kinds}
    for (below, above), count in sorted(
        counts.items(), key=lambda each: (-each[0][1], -each[0][0])
    ):
        fitting = [kind for kind in kinds if kind.below >= below and kind.above >= above]
        fitting.sort(key=lambda kind: (kind.above, kind.below))
        left = float(count)
        for kind in fitting:
            used = min(left, room[kind])
            room[kind] -= used
            left -= used
        assert left < 1e-6


@pytest.mark.parametrize("sizes", [(10.0, 20.0), (3.0, 12.0), (200.0, 200.0)])
def test_the_law_is_below_the_multiple(sizes: tuple[float, float]) -> None:
    """At every epsilon, by far where delta is small, and convex in e^epsilon."""
    cutoff, length = 1, 200
    mu = math.hypot(1 / sizes[0], 2 / sizes[1])
    points, plain = answers_points(sizes, cutoff, length, mu, 201.0), gaussian_points(mu, 201.0)
    laws = [law_with_tail(each, (201.0, mu), 201.0) for each in (points, plain)]
    epsilons = np.linspace(0.0, 9.0 * mu, 91)
    values, others = (np.array([upper_delta(law, x) for x in epsilons.tolist()]) for law in laws)
    assert (values <= others * (1 + 1e-12)).all()
    assert (values[30:60] < 0.2 * others[30:60]).all()
    slopes = np.diff(values) / np.diff(np.exp(epsilons))
    assert (np.diff(slopes) >= -1e-12).all()


def words(race: Race, cutoff: int) -> list[tuple[int, ...]]:
    """Return all answers to a race, as numbers, in which the c "above" are at beginnings."""
    found = []
    length = race.first + race.rounds * (1 + race.others)
    starts = set(range(race.first, length, 1 + race.others))
    for word in product((0, 1), repeat=length):
        places = [i for i, x in enumerate(word) if x]
        if len(places) == cutoff and starts.issuperset(places):
            found.append(word[: places[-1] + 1])
    return found


def truths(race: Race, cutoff: int, noise: tuple[Array, Array], below: Below) -> list[float]:
    """Return the chances of all answers in the event, summed, for both data sets."""
    threshold, queries = 5.0, 8.0
    z, weight = noise
    found = []
    for move in (0.0, 1.0):
        total = 0.0
        for word in words(race, cutoff):
            parts = weight.copy()
            for i, answer in enumerate(word):
                start = i >= race.first and (i - race.first) % (1 + race.others) == 0
                gap = race.t if i < race.first else race.u
                gap += move if start else -move
                x = (gap + threshold * z) / queries
                parts = parts * below(-x if answer else x)
            total += float(parts.sum())
        found.append(total)
    return found


@pytest.mark.parametrize(
    ("race", "cutoff"),
    [
        (Race(2, 3, 1, 8.0, 11.0), 1),
        (Race(0, 4, 0, 0.0, 5.0), 2),
        (Race(1, 2, 3, -4.0, 20.0), 1),
        (Race(3, 3, 1, 14.0, 2.0), 3),
        (Race(2, 4, 1, 30.0, 9.0), 2),
    ],
)
def test_races(race: Race, cutoff: int) -> None:
    """Ends of both chances are on the safe sides."""
    p, q = truths(race, cutoff, (Z, WEIGHT), ndtr)
    low, high = race_chances(Technique(5.0, 8.0, cutoff), race)
    assert low <= p * (1 + 1e-6)
    assert high >= q * (1 - 1e-6)
    assert low == pytest.approx(p, rel=1e-8)
    assert high == pytest.approx(q, rel=1e-8, abs=1e-15)


@pytest.mark.parametrize(
    ("m", "c", "t", "u"), [(0, 1, 0.0, 5.0), (3, 3, 14.0, 2.0), (5, 1, -4, 20)]
)
def test_laplace_streams(m: int, c: int, t: float, u: float) -> None:
    """The same with Laplace noise, where all answers at the end are above."""
    # Middles of cells; kinks cost little where cells are many.
    z = np.linspace(-40.0, 40.0, 160_001)[:-1] + 2.5e-4
    weight = 0.5 * np.exp(-np.abs(z)) * 5e-4
    p, q = truths(
        Race(m, c, 0, t, u),
        c,
        (z, weight),
        lambda x: np.where(x < 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x))),
    )
    ((low,), (high,)) = stream_chances((5.0, 8.0), ([m], c), (np.array([t]), np.array([u])))
    assert low <= p * (1 + 1e-6)
    assert high >= q * (1 - 1e-6)
    assert low == pytest.approx(p, rel=0.01)
    assert high == pytest.approx(q, rel=0.01)
