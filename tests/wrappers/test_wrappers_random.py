"""Random small pairs, sampled and composed: every engine's bracket against all outcomes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.exact import exact_law
from privcalc.losses.atomic.profiles import both_orders
from privcalc.losses.sampled.glued import glued
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.tails import SampledTailLaw
from tests.oracles.brute import BruteForce

if TYPE_CHECKING:
    from privcalc.bounds import Bound

mp.dps = 40
Outcomes = list[tuple[Fraction, Fraction]]
# Rows of whole numbers, divided by their sums; 0 on one side makes an infinite loss.
ROWS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=2, max_size=3).filter(
    lambda rows: any(p and q for p, q in rows) and all(sum(x) for x in zip(*rows, strict=True))
)
RATES = st.sampled_from([1e-6, 0.05, 0.25, 0.5, 0.9, 0.999])
ENGINES = st.sampled_from(["auto", "auto", "fft", "contour"])
WAYS = st.tuples(st.booleans(), ENGINES)
TOLERANCE = 1e-9


def pair_of(rows: list[tuple[int, int]]) -> Outcomes:
    """Return the two laws of a table."""
    total_r, total_w = sum(r for r, _ in rows), sum(w for _, w in rows)
    return [(Fraction(r, total_r), Fraction(w, total_w)) for r, w in rows if r or w]


def turned(outcomes: Outcomes) -> Outcomes:
    """Return the pair for removing."""
    return [(w, r) for r, w in outcomes]


def sampled_pair(outcomes: Outcomes, q: float, *, remove: bool) -> Outcomes:
    """Return the sampled pair, in rationals."""
    rate = Fraction(q)
    found = [(r, (1 - rate) * r + rate * w) for r, w in outcomes]
    return [(m, r) if remove else (r, m) for r, m in found]


def check(bound: Bound, true: Any) -> None:
    """Check that a bracket holds a number; of one that is known the doubles outside of it.

    The number has 40 digits, of which sums lose a few.
    """
    assert bound.lower is not None
    low, high = bound.outward
    lost = abs(true) * mpf("1e-35") if mp.isfinite(true) else mpf(0)
    assert mpf(low or 0.0) - lost <= true <= mpf(high) + lost


def check_engine(parts: list[tuple[AtomicLaw, Outcomes, int]], epsilon: float, engine: str) -> None:
    """Ask an engine for delta at an epsilon, and for the epsilon of half that delta."""
    brute = BruteForce([(outcomes, count) for _, outcomes, count in parts], most=20_000)
    composition = Composition.of((law, count) for law, _, count in parts)
    delta = brute.delta(epsilon)
    target = float(delta) / 2
    try:
        check(certified_delta(composition, epsilon, TOLERANCE, engine=engine).bound, delta)
    except NotCertifiedError:
        assert engine != "auto"
    if not 1e-12 < target < 0.5:
        return
    try:
        found = certified_epsilon(composition, target, TOLERANCE, engine=engine).bound
    except NotCertifiedError:
        assert engine != "auto" or abs(target - infinite(brute)) < 1e-12
        return
    check(found, brute.epsilon(target))


def infinite(brute: BruteForce) -> float:
    """Return the mass of outcomes that one side never has."""
    return float(mp.fsum(p for p, q in brute.outcomes if q == 0))


# A mass of 1/12 that is the double nearest to it only after rounding 1/3.
@pytest.mark.slow
@example(rows=[(0, 1), (1, 2)], q=0.25, way=(True, "auto"), count=1, part=0)
@settings(max_examples=3, deadline=None)
@given(
    rows=ROWS,
    q=RATES,
    way=WAYS,
    count=st.integers(1, 4),
    part=st.integers(0, 9),
)
def test_sampled_pairs(
    rows: list[tuple[int, int]], q: float, way: tuple[bool, str], count: int, part: int
) -> None:
    """Up to four uses of one sampled pair."""
    remove, engine = way
    outcomes = pair_of(rows)
    law = sampled(exact_law(outcomes), q, remove=remove, reverse=exact_law(turned(outcomes)))
    assert isinstance(law, AtomicLaw)
    if not law.losses:
        return
    epsilon = part / 10 * max(law.max_loss, 0.0) * count
    check_engine([(law, sampled_pair(outcomes, q, remove=remove), count)], epsilon, engine)


# delta is 3/4, and its 40 digits are not.
@pytest.mark.slow
@example(rows=[(1, 0), (3, 1), (6, 0)], other=[(0, 1), (1, 1)], q=1e-6, way=(True, "auto"), part=0)
# The only finite loss is negative, and far from 0 after tilting.
@example(rows=[(0, 4), (1, 1)], other=[(1, 0), (1, 1)], q=0.999, way=(False, "contour"), part=0)
@settings(max_examples=4, deadline=None)
@given(
    rows=ROWS,
    other=ROWS,
    q=RATES,
    way=WAYS,
    part=st.integers(0, 9),
)
def test_two_sampled_pairs(
    rows: list[tuple[int, int]],
    other: list[tuple[int, int]],
    q: float,
    way: tuple[bool, str],
    part: int,
) -> None:
    """One use of a sampled pair and two of another, which is not sampled."""
    remove, engine = way
    one, two = pair_of(rows), pair_of(other)
    law = sampled(exact_law(one), q, remove=remove, reverse=exact_law(turned(one)))
    other_pair = turned(two) if remove else two
    plain = exact_law(other_pair)
    assert isinstance(law, AtomicLaw)
    epsilon = part / 10 * max(law.max_loss + 2 * plain.max_loss, 0.0)
    if math.isfinite(epsilon):
        check_engine(
            [(law, sampled_pair(one, q, remove=remove), 1), (plain, other_pair, 2)], epsilon, engine
        )


@pytest.mark.slow
@settings(max_examples=2, deadline=None)
@example(rows=[(0, 1), (1, 1)], q=1e-6, remove=False, count=2, part=0)
@given(rows=ROWS, q=RATES, remove=st.booleans(), count=st.integers(1, 3), part=st.integers(0, 9))
def test_sampled_tail_laws(
    rows: list[tuple[int, int]], q: float, remove: bool, count: int, part: int
) -> None:
    """The same law given by its tails alone: one use in closed form, more by the FFT."""
    outcomes = pair_of(rows)
    base, reverse = exact_law(outcomes), exact_law(turned(outcomes))
    law = SampledTailLaw(base, reverse, q, remove)
    brute = BruteForce([(sampled_pair(outcomes, q, remove=remove), count)])
    epsilon = part / 10 * max(law.max_loss, 0.0) * count
    try:
        found = certified_delta(Composition.of([(law, count)]), epsilon, TOLERANCE)
    except NotCertifiedError:
        return
    check(found.bound, brute.delta(epsilon))


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(rows=ROWS, q=RATES, count=st.integers(1, 3), part=st.integers(0, 9), engine=ENGINES)
def test_glued_pairs(
    rows: list[tuple[int, int]], q: float, count: int, part: int, engine: str
) -> None:
    """Fixed-size samples: the pair whose profile is the formula, written out in rationals.

    Above 0 it is the sampled pair for removing, below 0 that for adding, and the rest at 0.
    """
    outcomes = both_orders(pair_of(rows))
    up = [(p, r) for p, r in sampled_pair(list(outcomes), q, remove=True) if p > r]
    down = [(r, p) for p, r in up]
    rest = 1 - sum((p for p, _ in (*up, *down)), Fraction(0))
    assert rest >= 0
    law = glued(exact_law(outcomes), q)
    assert isinstance(law, AtomicLaw)
    epsilon = part / 10 * max(law.max_loss, 0.0) * count
    check_engine([(law, [*up, (rest, rest), *down], count)], epsilon, engine)
