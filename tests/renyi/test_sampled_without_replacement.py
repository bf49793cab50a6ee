"""Renyi curves of samples of a fixed size: definitions, and enumeration of small populations."""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError, UnsupportedError
from privcalc.renyi import sampled_without_replacement as without_replacement
from privcalc.renyi.curve import InfiniteCurve, LinearCurve, WorseCurve
from privcalc.renyi.sampled_sums import free_cap, pure_cap
from privcalc.renyi.sampled_without_replacement import LARGEST_DIFFERENCE
from tests.renyi.renyi_curves import ExactCurve, Pair, gaussian, laplace, randomized_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.losses.law import RenyiCurve

ORDERS = (1.3, 2.0, 3.0, 4.0, 4.5, 7.0)


def difference(base: ExactCurve, order: int) -> mpf:
    """Return sum_i (-1)^i C(order, i) e^{K(i - 1)}."""
    return mp.fsum(
        (-1) ** i * mp.binomial(order, i) * (mp.exp(base.cumulant(mpf(i - 1))) if i > 1 else 1)
        for i in range(order + 1)
    )


def exact_sum(base: ExactCurve, q: float, order: int, *, exact: bool) -> mpf:
    """Return the bound of an integer order as it is defined, with 80 digits and no caps."""
    with mp.workdps(80):
        rate, limit = mpf(q), mpf(base.limit)
        total = mpf(1)
        for j in range(2, order + 1):
            moment = mp.exp(base.cumulant(mpf(j - 1)))
            ways = [moment * min(mpf(2), mp.expm1(limit) ** j)]
            if j == 2:
                ways.append(4 * (moment - 1))
            if exact:
                product = difference(base, 2 * (j // 2)) * difference(base, 2 * ((j + 1) // 2))
                ways.append(4 * mp.sqrt(product))
            total += rate**j * mp.binomial(order, j) * min(ways)
        return mp.log(total) / (order - 1)


@pytest.mark.parametrize(
    ("base", "q", "order"),
    [
        (gaussian(5.0), 1e-3, 2),
        (gaussian(5.0), 1e-3, 8),
        (gaussian(1.0), 1e-3, 5),
        (gaussian(20.0), 0.1, 60),
        (laplace(2.0), 0.01, 30),
        (laplace(50.0), 1e-4, 3),
        (randomized_response(0.6), 0.2, 12),
        (randomized_response(0.9), 1e-6, 4),
    ],
)
def test_sums_hold_their_definitions(base: ExactCurve, q: float, order: int) -> None:
    """Both forms are above their definitions, closely, unless a cap is lower."""
    at = np.array([float(order)])
    values = {}
    for exact in (False, True):
        found = without_replacement.bound(base, q, at, exact=exact)
        defined = exact_sum(base, q, order, exact=exact)
        values[exact] = mpf(float(found[0]))
        if found[0] < min(free_cap(base, q, at)[0], pure_cap(base, q)):
            assert defined <= values[exact] <= defined * (1 + mpf(10) ** (-7 if exact else -12))
        else:
            assert values[exact] < defined
    assert values[True] <= values[False]


@pytest.mark.slow
def test_forward_differences_hold_the_moments() -> None:
    """Differences are above the moments however much they cancel, and close where they do not."""
    for base in (gaussian(100.0), gaussian(5.0), gaussian(0.7), laplace(3.0)):
        found = without_replacement._log_differences(base, LARGEST_DIFFERENCE)
        assert found[0] == 0.0
        with mp.workdps(120):
            for half in range(1, LARGEST_DIFFERENCE // 2 + 1):
                exact = mp.log(difference(base, 2 * half))
                assert exact <= mpf(found[half])
                if half <= 2:
                    assert mpf(found[half]) <= exact + mpf(10) ** -6


def datasets(size: int) -> Iterator[tuple[int, ...]]:
    """Return all multisets of so many records with values 0, 1 and 2."""
    yield from itertools.combinations_with_replacement(range(3), size)


def neighbours(size: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return all ordered pairs of multisets that differ in one record."""
    for rest in datasets(size - 1):
        for one, other in itertools.permutations(range(3), 2):
            yield tuple(sorted((*rest, one))), tuple(sorted((*rest, other)))


def on_sample(
    table: dict[tuple[int, ...], tuple[mpf, ...]], population: tuple[int, ...], size: int
) -> tuple[mpf, ...]:
    """Return the output law of a mechanism on a sample, every sample enumerated."""
    samples = [tuple(sorted(sample)) for sample in itertools.combinations(population, size)]
    outcomes = len(next(iter(table.values())))
    return tuple(
        mp.fsum(table[sample][y] for sample in samples) / len(samples) for y in range(outcomes)
    )


@pytest.mark.few(2)
@pytest.mark.parametrize(("population", "size"), [(4, 1), (4, 2), (5, 2), (6, 3)])
def test_random_mechanisms_by_enumeration(population: int, size: int) -> None:
    """Random mechanisms on small populations are within the bounds, in both forms.

    For the second form the curve is that of randomized response with their largest loss, which
    dominates them.
    """
    rng = random.Random(10 * population + size)
    at, q = np.array(ORDERS), size / population
    for _ in range(4):
        with mp.workdps(30):
            spread = rng.choice([0.05, 0.5, 1.5])
            table = {}
            for sample in datasets(size):
                masses = [mp.exp(mpf(rng.gauss(0.0, spread))) for _ in range(3)]
                table[sample] = tuple(m / mp.fsum(masses) for m in masses)
            pairs = [Pair(table[b], table[a]) for a, b in neighbours(size)]
            base: RenyiCurve = pairs[0].curve()
            for pair in pairs[1:]:
                base = WorseCurve(base, pair.curve())
            p = 1.0 / (1.0 + math.exp(-base.limit)) * (1.0 + 1e-14)
            plain = without_replacement.bound(base, q, at, exact=False)
            response = without_replacement.bound(randomized_response(p), q, at, exact=True)
            sampled = {d: on_sample(table, d, size) for d in datasets(population)}
            for one, other in neighbours(population):
                pair = Pair(sampled[other], sampled[one])
                for i, order in enumerate(ORDERS):
                    value = mp.log(pair.moment(mpf(order))) / (order - 1.0)
                    assert value <= mpf(float(plain[i]))
                    assert value <= mpf(float(response[i]))


def test_extreme_rates() -> None:
    """A sample of nobody costs nothing, one of everybody the base, and nothing costs more."""
    base, at = gaussian(2.0), np.array([1.5, 2.0, 7.3, 40.0])
    plain = base.nearest(at - 1.0) / (at - 1.0)
    for exact in (False, True):
        assert not without_replacement.bound(base, 0.0, at, exact=exact).any()
        everybody = without_replacement.bound(base, 1.0, at, exact=exact)
        assert everybody == pytest.approx(plain, rel=1e-13)
        for q in (5e-324, 1e-200, 1e-9, 0.01, 0.5):
            value = without_replacement.bound(base, q, at, exact=exact)
            assert (value > 0.0).all()
            assert (value < plain).all()


def test_refusals() -> None:
    """Differences need lower bounds; rates and orders have their ranges; infinity stays."""
    at = np.array([3.0])
    one_sided = LinearCurve(0.1)
    assert without_replacement.bound(one_sided, 0.1, at, exact=False)[0] < 0.3
    with pytest.raises(UnsupportedError, match="lower bounds"):
        without_replacement.bound(one_sided, 0.1, at, exact=True)
    with pytest.raises(DomainError, match="sampling probability"):
        without_replacement.bound(one_sided, 2.0, at, exact=False)
    with pytest.raises(DomainError, match="order"):
        without_replacement.bound(one_sided, 0.1, np.array([1.0]), exact=False)
    assert without_replacement.bound(InfiniteCurve(), 0.1, at, exact=True)[0] == math.inf
