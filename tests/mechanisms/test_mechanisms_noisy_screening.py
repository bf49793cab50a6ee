"""Noisy screening, against all counts one by one, whole data sets, and the published figure."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import realize
from privcalc.errors import DomainError
from privcalc.losses.thresholds.screening import ScreeningCurve, screening_of
from privcalc.relation import Relation
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.bounds import Bound

# sigma, threshold, votes
SETTINGS = [("1.5", "2.3", 5), ("0.7", "2", 3), ("4", "-1.5", 6), ("3", "11", 7), ("2", "1/3", 1)]
FIGURE = "noisy-screening:sigma=85,threshold=210,votes=300"
ORDERS = [1.001, 1.5, 2.0, 8.0, 24.7, 200.0]


def bounds(text: str, **query: Any) -> list[Bound]:
    """Return the brackets of a question."""
    answers = compose(parse(text).tree, **query).answers
    return [answer.bound for answer in answers if answer.bound is not None]


def number(text: str) -> Any:
    """Return a decimal or a ratio."""
    return mp.fraction(*map(int, text.split("/"))) if "/" in text else mpf(text)


def pairs(sigma: str, threshold: str, votes: int, records: int = 1) -> Iterator[tuple[Any, ...]]:
    """Yield P(yes), P(no), Q(yes), Q(no) of all neighbouring counts, in both orders."""
    s, cut = number(sigma), number(threshold)
    yes = [mp.ncdf((t - cut) / s) for t in range(votes + 1)]
    no = [mp.ncdf((cut - t) / s) for t in range(votes + 1)]
    for t, u in product(range(votes + 1), repeat=2):
        if 0 < abs(t - u) <= records:
            yield yes[u], no[u], yes[t], no[t]


def text_of(sigma: str, threshold: str, votes: int) -> str:
    """Write a specification."""
    return f"noisy-screening:sigma={sigma},threshold={threshold},votes={votes}"


def divergence(p: Any, q: Any, order: Any) -> Any:
    """Return the Renyi divergence of two vectors."""
    total = mp.fsum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))
    return mp.log(total) / (order - 1)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("records", [1, 2, 9])
def test_one_use_is_the_worst_count(setting: tuple[str, str, int], records: int) -> None:
    """Delta is the largest of all pairs of counts, in both orders."""
    losses = [0.0, 0.1, 0.5, 1.1, 3.0]
    group = f"@group:k={records}" if records > 1 else ""
    found = bounds(text_of(*setting) + group, epsilons=losses)
    with mp.workdps(40):
        for loss, bound in zip(losses, found, strict=True):
            a = mp.exp(mpf(loss))
            true = max(
                max(p - a * q, 0) + max(p1 - a * q1, 0) for p, p1, q, q1 in pairs(*setting, records)
            )
            assert bound.lower is not None
            assert mpf(bound.lower) <= true <= mpf(bound.upper)
            assert bound.upper - bound.lower <= 1e-9 * bound.upper + 1e-12


@pytest.mark.parametrize("setting", SETTINGS)
def test_each_order_has_its_worst_count(setting: tuple[str, str, int]) -> None:
    """The curve is the largest divergence of any count at each order, and members attain it."""
    (part,) = realize(parse(text_of(*setting)).tree, Relation.ADD_OR_REMOVE_ONE).values()
    c = np.array(ORDERS) - 1.0
    upper, lower = part.upper.renyi_curve().upper(c) / c, part.renyi_lower(c)
    assert lower is not None
    with mp.workdps(60):
        for order, low, high in zip(c, lower / c, upper, strict=True):
            true = max(
                divergence((p, p1), (q, q1), mpf(order) + 1) for p, p1, q, q1 in pairs(*setting)
            )
            assert mpf(low) * (1 - mpf("1e-15")) <= true <= mpf(high) * (1 + mpf("1e-15"))
            assert low >= high * (1 - 1e-9)


@pytest.mark.parametrize("q", [0.001, 0.3, 0.97])
@pytest.mark.parametrize("setting", SETTINGS)
def test_samples_have_the_worst_of_all_roles(setting: tuple[str, str, int], q: float) -> None:
    """A1 and A2 with every count and either role bound the sample order by order, and no more."""
    tree = parse(f"{text_of(*setting)}@poisson:q={q}@2").tree
    parts = realize(tree, Relation.ADD_OR_REMOVE_ONE)
    with mp.workdps(60):
        rate = mpf(str(q))
        for order in ORDERS:
            c = np.array([order - 1.0])
            exact = mpf(float(c[0])) + 1
            for name, part in parts.items():
                found = 0.5 * float(part.upper.renyi_curve().upper(c)[0] / c[0])
                true = mpf(0)
                for p, p1, r, r1 in pairs(*setting):
                    mixed = ((1 - rate) * r + rate * p, (1 - rate) * r1 + rate * p1)
                    each = (mixed, (r, r1)) if name == "remove" else ((r, r1), mixed)
                    true = max(true, divergence(*each, exact))
                assert true <= mpf(found) * (1 + mpf("1e-15"))
                assert found <= float(true) * (1 + 1e-9)


def test_whole_samples_of_neighbours_cost_no_more() -> None:
    """Records with labels in an order, the first k of a sample vote: every sample is enumerated."""
    rng = random.Random(5)
    largest = 0.0
    for _ in range(60):
        size, k, classes = rng.randint(1, 5), rng.randint(1, 3), rng.choice((2, 3))
        sigma, cut = rng.choice((0.5, 1.0, 2.0)), rng.choice((0.5, 1.7, 2.85))
        q, order = rng.choice((0.05, 0.3)), rng.choice((2.0, 5.0))
        labels = [rng.randrange(classes) for _ in range(size)]
        left_out = rng.randrange(size)
        yes = [
            chance_of_yes(data, k, sigma, cut, q)
            for data in (labels, labels[:left_out] + labels[left_out + 1 :])
        ]
        text = f"{text_of(str(sigma), str(cut), k)}@poisson:q={q}@2"
        parts = realize(parse(text).tree, Relation.ADD_OR_REMOVE_ONE)
        for name, part in parts.items():
            p, r = yes if name == "remove" else yes[::-1]
            true = float(divergence((p, 1 - p), (r, 1 - r), order))
            c = np.array([order - 1.0])
            found = 0.5 * float(part.upper.renyi_curve().upper(c)[0] / c[0])
            assert true <= found * (1 + 1e-12)
            largest = max(largest, true / found)
    assert largest > 0.999


def chance_of_yes(labels: list[int], k: int, sigma: float, cut: float, q: float) -> Any:
    """Return the probability of yes of a Poisson sample whose first k records vote."""
    total = mpf(0)
    for chosen in product((False, True), repeat=len(labels)):
        votes = [label for label, taken in zip(labels, chosen, strict=True) if taken][:k]
        t = max((votes.count(label) for label in votes), default=0)
        weight = mp.fprod(q if taken else 1 - q for taken in chosen)
        total += weight * mp.ncdf((t - mpf(cut)) / sigma)
    return total


def test_small_samples_count() -> None:
    """Counts below k / c: leaving them out reports 49 times too little of a sample."""
    tree = parse("noisy-screening:sigma=0.5,threshold=2.8525667,votes=3@poisson:q=0.05@2").tree
    c = np.array([4.0])
    found = [
        0.5 * float(part.upper.renyi_curve().upper(c)[0]) / 4.0
        for part in realize(tree, Relation.ADD_OR_REMOVE_ONE).values()
    ]
    assert max(found) == pytest.approx(3.7755, abs=1e-4)


@pytest.mark.slow
def test_adaptive_choices_of_counts_cost_no_more() -> None:
    """Two uses, the second count chosen after the first answer, by the best strategy."""
    setting = ("1.5", "2.3", 5)
    losses = [0.0, 0.2, 0.6, 1.2]
    found = bounds(text_of(*setting) + "@2", epsilons=losses)
    with mp.workdps(30):
        known = list(pairs(*setting))
        for loss, bound in zip(losses, found, strict=True):
            a = mp.exp(mpf(loss))

            def rest(p: Any, q: Any, a: Any = a) -> Any:
                """Return the most that a second use makes of an outcome."""
                return max(
                    max(p * p2 - a * q * q2, 0) + max(p * p3 - a * q * q3, 0)
                    for p2, p3, q2, q3 in known
                )

            true = max(rest(p, q) + rest(p1, q1) for p, p1, q, q1 in known)
            assert true <= mpf(bound.upper)
            assert bound.lower is not None
            assert true / 2 <= mpf(bound.lower) <= true


@pytest.mark.slow
def test_the_published_figure() -> None:
    """8192 queries: the published numbers by classic conversion, and less is proved now."""
    log_delta = math.log(1e-5)

    def classic(text: str, orders: range) -> float:
        """Return the best of some orders, converted as Mironov 2017 does."""
        c = np.array(orders) - 1.0
        parts = realize(parse(text).tree, Relation.ADD_OR_REMOVE_ONE).values()
        curves = [part.upper.renyi_curve().upper(c) for part in parts]
        return float(((np.max(curves, axis=0) - log_delta) / c).min())

    (alone,) = bounds(f"{FIGURE}@8192", deltas=[1e-5])
    (sampled,) = bounds(f"{FIGURE}@poisson:q=0.25@8192", deltas=[1e-5])
    (gaussian,) = bounds("gaussian:sigma=85@8192", deltas=[1e-5])
    (both,) = bounds("gaussian:sigma=85@poisson:q=0.25@8192", deltas=[1e-5])
    assert classic("gaussian:sigma=85@8192", range(2, 40)) == pytest.approx(5.704, abs=1e-3)
    rho = 4096 / 85**2
    assert rho + 2 * math.sqrt(-rho * log_delta) == pytest.approx(5.6765, abs=1e-4)
    assert classic("gaussian:sigma=85@poisson:q=0.25@8192", range(15, 25)) == pytest.approx(
        1.3132, abs=1e-4
    )
    assert classic(f"{FIGURE}@8192", range(2, 20)) == pytest.approx(4.4455, abs=1e-4)
    assert classic(f"{FIGURE}@poisson:q=0.25@8192", range(15, 35)) == pytest.approx(
        1.0422, abs=1e-4
    )
    assert gaussian.upper < 5.6765
    assert both.upper < 1.3132
    assert alone.upper < 4.4455
    assert sampled.upper < 1.0422
    for bound in (alone, sampled):
        assert bound.lower is not None
        assert bound.upper < 1.1 * bound.lower


@pytest.mark.parametrize(
    ("sigma", "delta", "queries", "published"),
    [
        (150, 1e-6, 600, 7.7204),
        (300, 1e-6, 500, 3.3122),
        (100, 1e-5, 800, 13.4178),
        (250, 1e-5, 80, 1.4144),
    ],
)
def test_the_published_table(sigma: int, delta: float, queries: int, published: float) -> None:
    """Noisy votes of sensitivity 8: as zCDP with its plain conversion, and what is proved now."""
    rho = queries * 64 / (2 * sigma**2)
    assert rho + 2 * math.sqrt(-rho * math.log(delta)) == pytest.approx(published, abs=2e-4)
    (found,) = bounds(f"gaussian:sigma={sigma},sensitivity=8@{queries}", deltas=[delta])
    assert found.upper < published


def test_counts_far_from_the_threshold() -> None:
    """Where some are far the noise proves the upper end; where all are, nothing is told apart."""
    (some,) = bounds("noisy-screening:sigma=3,threshold=210,votes=300@10", deltas=[1e-5])
    (noise,) = bounds("gaussian:sigma=3@10", deltas=[1e-5])
    assert some.upper <= noise.upper * (1 + 1e-9)
    assert some.lower is not None
    assert some.lower > 0.7 * noise.upper
    (none,) = bounds("noisy-screening:sigma=3,threshold=2000,votes=300@10", deltas=[1e-5])
    assert (none.lower, none.upper) == (0.0, 0.0)


def test_refusals() -> None:
    """What the mechanism does not take is said in one line."""
    with pytest.raises(DomainError, match="sigma must be in"):
        bounds(text_of("0.01", "2", 3), deltas=[1e-5])
    with pytest.raises(DomainError, match="by more than 12 sigma"):
        bounds(text_of("0.5", "2", 30) + "@group:k=9", deltas=[1e-5])


def test_divergences_far_from_the_threshold() -> None:
    """30 sigma away the divergence of order 64 is large all the same: both outcomes, in mpmath."""
    curve = screening_of(Fraction(1), Fraction(30), 3, 0).curve
    assert curve is not None
    with mp.workdps(600):
        p, q = mp.ncdf(-29), mp.ncdf(-30)
        for order in (mpf("1.5"), mpf(2), mpf(8), mpf(64)):
            true = max(
                mp.log(a**order * b ** (1 - order) + (1 - a) ** order * (1 - b) ** (1 - order))
                for a, b in ((p, q), (q, p))
            )
            found = float(curve.upper(np.array([float(order - 1)]))[0])
            assert true <= found <= true * (1 + mpf("1e-9")) + mpf("1e-24") * order**2
    text = "noisy-screening:sigma=10,threshold=150,votes=220@poisson:q=0.2@1000"
    (answer,) = compose(parse(text).tree, deltas=[1e-5]).answers
    assert answer.bound is not None
    assert answer.bound.upper < 2.3


def test_no_orders_have_no_divergences() -> None:
    """An empty question has an empty answer."""
    masses, losses = np.array([[0.6, 0.4]]), np.array([[0.18, -0.22]])
    curve = ScreeningCurve(masses, losses, 0.0 * losses)
    assert curve.upper(np.zeros(0)).shape == (0,)


@pytest.mark.slow
def test_a_profile_of_rare_samples_is_answered() -> None:
    """Where laws take too much work, a curve proves every point of it."""
    text = "noisy-screening:sigma=9.12,threshold=164,votes=200@poisson:q=8.16e-06@854"
    (answer,) = compose(parse(text).tree, tolerance=0.1).answers
    (alone,) = bounds(text, epsilons=[5e-5])
    uppers = {epsilon: bound.upper for epsilon, bound in answer.profile}
    assert max(uppers.values()) < 2e-5
    assert uppers[5e-5] == pytest.approx(alone.upper, rel=0.1)
