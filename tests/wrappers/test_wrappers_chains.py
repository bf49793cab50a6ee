"""Upper laws of groups: exact chains in rationals, published bounds, and what is said of them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc.errors import UnsupportedError
from privcalc.losses import composed
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.composed import chain, grouped, sampled_group, step_of
from tests.asked import delta
from tests.asked import epsilon as epsilon_of
from tests.pairs import atoms_profile

mp.dps = 40
Outcomes = list[tuple[Fraction, Fraction]]
Curve = list[tuple[Fraction, Fraction]]


def curve_of(outcomes: Outcomes) -> Curve:
    """Return the corners of G: the largest P(A) with Q(A) <= y."""
    corners = [(Fraction(0), sum((p for p, q in outcomes if not q), Fraction(0)))]
    finite = sorted((x for x in outcomes if x[1]), key=lambda x: x[0] / x[1], reverse=True)
    for p, q in finite:
        corners.append((corners[-1][0] + q, corners[-1][1] + p))
    return corners


def value(curve: Curve, y: Fraction) -> Fraction:
    """Return the function between its corners."""
    for (x0, v0), (x1, v1) in pairwise(curve):
        if y <= x1:
            return v0 + (v1 - v0) * (y - x0) / (x1 - x0) if x1 > x0 else v1
    return curve[-1][1]


def chained(curve: Curve, k: int) -> Curve:
    """Compose G with itself, exactly: corners are where the inner or the outer one has a corner."""
    total = curve
    for _ in range(k - 1):
        places = {x for x, _ in total}
        for corner, _ in curve:
            for (x0, v0), (x1, v1) in pairwise(total):
                if v0 < corner < v1:
                    places.add(x0 + (x1 - x0) * (corner - v0) / (v1 - v0))
        total = [(x, value(curve, value(total, x))) for x in sorted(places)]
    return total


def chained_profile(curve: Curve, a: Any) -> Any:
    """Return sup_y G(y) - a y, which a corner attains."""
    return max(mpf(v.numerator) / v.denominator - a * mpf(x.numerator) / x.denominator
               for x, v in curve)  # fmt: skip


def law_of(outcomes: Outcomes) -> AtomicLaw:
    """Return the law of an explicit pair."""
    finite = [(p, q) for p, q in outcomes if p and q]
    return AtomicLaw(
        tuple(float(mp.log(mpf((p / q).numerator) / (p / q).denominator)) for p, q in finite),
        tuple(float(p) for p, _ in finite),
        float(sum(p for p, q in outcomes if not q)),
        float(sum(q for p, q in outcomes if not p)),
        lower_masses=tuple(float(q) for _, q in finite),
    )


def normalised(weights: list[tuple[int, int]]) -> Outcomes:
    """Divide two columns of whole numbers by their sums."""
    total_p, total_q = sum(p for p, _ in weights), sum(q for _, q in weights)
    return [(Fraction(p, total_p), Fraction(q, total_q)) for p, q in weights]


SCALES = [mpf(x) for x in ("0.05", "0.5", "0.9", "1", "1.01", "1.5", "4", "30", "1000")]
weights = st.integers(min_value=0, max_value=20)


@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(st.tuples(weights, weights), min_size=2, max_size=5).filter(
        lambda rows: (
            any(p and q for p, q in rows)
            and all(p or q for p, q in rows)
            and len({Fraction(p, q) for p, q in rows if p and q})
            == sum(1 for p, q in rows if p and q)
        )
    ),
    k=st.integers(min_value=2, max_value=5),
)
def test_groups_are_exact_chains(rows: list[tuple[int, int]], k: int) -> None:
    """For small rational pairs, infinite losses included, the bound is the chain to 1e-10."""
    outcomes = normalised(rows)
    ours, true = grouped(law_of(outcomes), k), chained(curve_of(outcomes), k)
    assert math.fsum((*ours.masses, ours.infinity_mass)) <= 1.0 + 1e-12
    below = chain(step_of(law_of(outcomes), k, above=False), k, above=False)[-1]
    assert math.fsum((*below.masses, below.infinity_mass)) == pytest.approx(1.0, abs=1e-10)
    for a in SCALES:
        exact, bound = chained_profile(true, a), atoms_profile(ours, a)
        assert exact <= bound + mpf("1e-15")
        assert bound <= exact + mpf("1e-10")
        # Masses of the law are rounded once.
        assert exact - mpf("1e-10") <= atoms_profile(below, a) <= exact + (1 + a) * mpf("1e-15")


@pytest.mark.parametrize(
    "losses", [[100, 0, -100], [60, 36, 12, -12, -36, -60], [300, 250, 200, 45, 2, -210, -290]]
)
def test_chains_of_large_losses_end_at_1(losses: list[int]) -> None:
    """Next to 1, where values are a unit apart, each step is of the piece that it is cut from.

    The exact composition is between the ends at every break, and no function goes on beyond 1.
    """
    p = [Fraction(math.exp(min(loss, 0))) for loss in losses]
    q = [Fraction(math.exp(min(-loss, 0))) for loss in losses]
    outcomes = [(a / sum(p), b / sum(q)) for a, b in zip(p, q, strict=True)]
    exact = curve_of(outcomes)

    def repeated(y: Fraction, k: int) -> Fraction:
        for _ in range(k):
            y = value(exact, y)
        return y

    for above in (False, True):
        steps = chain(step_of(law_of(outcomes), 7, above=above), 7, above=above)
        for k, law in enumerate(steps, start=1):
            y, height = Fraction(0), Fraction(law.infinity_mass)
            pieces = zip(law.losses, law.lower_masses, law.masses, strict=True)
            for _, length, rise in sorted(pieces, reverse=True):
                y, height = y + Fraction(length), height + Fraction(rise)
                room = Fraction(1, 10**14) * k
                true = repeated(min(y, Fraction(1)), k)
                assert height >= true * (1 - room) if above else height <= true * (1 + room)


@pytest.mark.parametrize(
    ("text", "epsilon", "lower", "upper"),
    [
        # A pair whose largest losses are far out: 0.00110082851405790..., by 80 digits of chains.
        (
            "bernoulli-pair:p=2.21e-9,other_p=0.0001721@poisson:q=0.1@group:k=64",
            0.19,
            0.0011008283,
            0.0011008286,
        ),
        # Chances of few records, where nearly all are sampled, are no doubles.
        ("rr:p=0.9,categories=3@poisson:q=0.999999999@group:k=33", 0.1, 0.844741454, 0.844741455),
        ("pure:epsilon=0@poisson:q=0.5@group:k=2", 0.0, 0.0, 0.0),
        ("bernoulli-pair:p=0,other_p=0@poisson:q=0.25@group:k=2", 0.0, 0.0, 0.0),
    ],
)
def test_sampled_groups_at_the_ends_of_doubles(
    text: str, epsilon: float, lower: float, upper: float
) -> None:
    """Masses and chances that vanish take neither end away."""
    bound = delta(text, epsilon)
    assert bound.lower is not None
    assert lower <= bound.lower <= bound.upper <= upper


def test_sums_of_chains_stay_below_where_pieces_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """With four pieces at most, and the exact mixture of two sampled records of three losses."""
    outcomes = normalised([(6, 1), (3, 3), (1, 6)])
    steps = [chained(curve_of(outcomes), j) for j in (1, 2)]
    places = sorted({x for curve in steps for x, _ in curve})
    q = Fraction(1, 4)
    heights = [
        (1 - q) ** 2 * x + 2 * q * (1 - q) * value(steps[0], x) + q * q * value(steps[1], x)
        for x in places
    ]
    monkeypatch.setattr(composed, "MOST", 4)
    steps_below = chain(step_of(law_of(outcomes), 2, above=False), 2, above=False)
    below = sampled_group(steps_below, 0.25, remove=True, exact=True, above=False)
    assert below is not None
    assert len(below.losses) <= 12
    for a in SCALES:
        pairs = pairwise(zip(heights, places, strict=True))
        true = sum(max(h - g - float(a) * float(y - x), 0) for (g, x), (h, y) in pairs)
        assert float(atoms_profile(below, a)) <= float(true) + 1e-14
    exact = float(max(h - x for h, x in zip(heights, places, strict=True)))
    assert 0.8 * exact <= float(atoms_profile(below, mpf(1))) < exact


def test_groups_without_a_number() -> None:
    """Losses beyond doubles and groups beyond reason are refused; hopeless bounds are infinite."""
    for text in ("pure:epsilon=1@group:k=1000", "pure:epsilon=0.1@group:k=1001"):
        with pytest.raises(UnsupportedError, match="group"):
            epsilon_of(text, 1e-6)
    assert epsilon_of("approx:epsilon=0.5,delta=1e-6@group:k=40", 1e-4).upper == math.inf
