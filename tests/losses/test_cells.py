"""Cells: the order of the two finite pairs, and every operation by brute force."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import realize
from privcalc.exact import Enclosed
from privcalc.losses.atoms import AtomicLaw, two_point
from privcalc.losses.cells import listed, lower_law, mixed, opposite, upper_law
from privcalc.losses.composed import composed
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.law import LossLaw
from privcalc.losses.sampled.law import sampled
from privcalc.numerics.normal import gaussian_profile
from privcalc.record import record
from privcalc.relation import Relation
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from numpy.random import Generator

    from privcalc.losses.law import Tails
    from privcalc.numerics.rounding import Array

SLOPES = np.exp(np.array([-4.0, -1.5, -0.4, -0.01, 0.0, 0.02, 0.3, 0.9, 2.0, 5.0]))
# Rounding of the sums here.
SLACK = 1e-12


@record
class OnlyTails(LossLaw):
    """A law of which nothing is known but its tails."""

    law: AtomicLaw

    @property
    def max_loss(self) -> float:
        """Return more than any loss."""
        return 30.0

    @property
    def infinity_mass(self) -> float:
        """Return that of the law."""
        return self.law.infinity_mass

    @property
    def lower_infinity_mass(self) -> float:
        """Return that of the law."""
        return self.law.lower_infinity_mass

    def tails(self, losses: Array) -> Tails:
        """Return those of the law."""
        return self.law.tails(losses)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return those of the law."""
        return self.law.renyi(c)


def columns(law: AtomicLaw) -> tuple[Array, Array]:
    """Return the masses under P and Q, of all outcomes."""
    p = [*law.masses, law.infinity_mass, 0.0]
    q = [*law.lower_masses, 0.0, law.lower_infinity_mass]
    return np.array(p), np.array(q)


def profile(p: Array, q: Array, slopes: Array = SLOPES) -> Array:
    """Return the sums of (p - a q)_+."""
    found: Array = np.maximum(p - np.multiply.outer(slopes, q), 0.0).sum(axis=-1)
    return found


def of_pair(p: Array, q: Array) -> AtomicLaw:
    """Return the law of masses under P and Q, with outcomes that only one of them has."""
    both = (p > 0.0) & (q > 0.0)
    return AtomicLaw(
        tuple(np.log(p[both] / q[both]).tolist()),
        tuple(p[both].tolist()),
        float(p[q == 0.0].sum()),
        float(q[p == 0.0].sum()),
        lower_masses=tuple(q[both].tolist()),
    )


def random_pair(draw: Generator, size: int, *, infinite: bool = True) -> tuple[Array, Array]:
    """Return masses of a random pair."""
    p, q = draw.dirichlet(np.full(size, 0.4)), draw.dirichlet(np.full(size, 0.4))
    p, q = p + 1e-9, q + 1e-9
    if infinite:
        p[0], q[-1] = 0.0, 0.0
    return p / p.sum(), q / q.sum()


def between(
    lower: LossLaw | None, value: Array, upper: LossLaw | None, wide: float = math.inf
) -> None:
    """Check that values are between those of two laws, which are no further apart than that."""
    assert isinstance(lower, AtomicLaw)
    assert isinstance(upper, AtomicLaw)
    low, high = profile(*columns(lower)), profile(*columns(upper))
    assert (low <= value + SLACK).all()
    assert (value <= high + SLACK).all()
    assert (high - low <= wide).all()


@pytest.mark.parametrize("seed", range(8))
def test_a_law_is_between_its_lists(seed: int) -> None:
    """Merged cells are below a pair and split cells above, sampled or not, in either order."""
    draw = np.random.default_rng(seed)
    p, q = random_pair(draw, 25, infinite=seed % 2 == 0)
    true = of_pair(p, q)
    below, above = (listed(OnlyTails(true), above=up) for up in (False, True))
    between(below, profile(p, q), above, 1e-3)
    between(below.reverse_direction, profile(q, p), above.reverse_direction)
    for rate in (0.03, 0.6):
        m = (1.0 - rate) * p + rate * q
        ends = [sampled(each, rate, remove=False) for each in (below, above)]
        between(ends[0], profile(p, m), ends[1], 1e-3)
        ends = [sampled(each, rate, remove=True) for each in (below, above)]
        between(ends[0], profile(m, p), ends[1])


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("remove", [False, True])
def test_divergences_next_to_order_1_are_below(epsilon: str, *, remove: bool) -> None:
    """Of a sampled list: K is as small there as what rounding adds to its masses."""
    text = f"(rr:epsilon={epsilon}+rr:epsilon=0.045260874245587765)"
    q, one, other = (mpmath.mpf(x) for x in ("0.00128", epsilon, "0.045260874245587765"))
    sides = [mpmath.exp(x) / (1 + mpmath.exp(x)) for x in (one, other)]
    p = [a * b for a in (sides[0], 1 - sides[0]) for b in (sides[1], 1 - sides[1])]
    without = p[::-1]
    with_it = [q * x + (1 - q) * y for x, y in zip(p, without, strict=True)]
    pair = (with_it, without) if remove else (without, with_it)
    parts = realize(parse(f"{text}@poisson:q=0.00128").tree, Relation.ADD_OR_REMOVE_ONE)
    for c in (1e-9, 1e-7, 1e-5, 1e-3, 1.0):
        true = mpmath.log(mpmath.fsum(x * (x / y) ** c for x, y in zip(*pair, strict=True)))
        lower = parts["remove" if remove else "add"].renyi_lower(np.array([c]))
        assert lower is not None
        assert lower[0] <= true * (1 + mpmath.mpf("1e-9"))


@pytest.mark.parametrize("seed", range(8))
def test_opposite_records_have_the_largest_profile(seed: int) -> None:
    """The pair of opposite records attains max_y of its formula, and lists enclose it."""
    draw = np.random.default_rng(seed)
    w, r = random_pair(draw, 12, infinite=seed % 2 == 0)
    with np.errstate(divide="ignore"):
        order = np.argsort(-(w / r))
    y, g = (np.concatenate([[0.0], np.cumsum(each[order])]) for each in (r, w))

    def power(at: Array) -> Array:
        first = 0 if y[1] > 0.0 else 1
        found: Array = np.interp(at, y[first:], g[first:])
        return found

    for rate in (0.05, 0.5):
        at = np.unique(np.clip(np.concatenate([y, 1.0 - y]), 0.0, 1.0))
        a = SLOPES[:, None]
        found = (1.0 - rate) * (1.0 - a) * at + rate * power(at)
        found = (found - a * rate * (1.0 - power(1.0 - at))).max(axis=-1)
        law = of_pair(w, r)
        ends = (
            lower_law(opposite(law, rate, above=False)),
            upper_law(opposite(law, rate, above=True)),
        )
        between(ends[0], found, ends[1], 1e-9)
        tails = OnlyTails(law)
        lower = lower_law(opposite(listed(tails, above=False), rate, above=False))
        between(
            lower, found, upper_law(opposite(listed(tails, above=True), rate, above=True)), 1e-3
        )


@pytest.mark.parametrize("seed", range(8))
def test_sums_are_enclosed(seed: int) -> None:
    """Three uses of one pair, or of two, against the enumeration of all outcomes."""
    draw = np.random.default_rng(seed)
    pairs = [random_pair(draw, 5, infinite=seed % 2 == 0) for _ in range(2)]
    if seed % 3 == 0:
        pairs[1] = pairs[0]
    uses = [pairs[0], pairs[0], pairs[1]]
    p, q = (
        np.array([math.prod(each) for each in itertools.product(*(pair[i] for pair in uses))])
        for i in (0, 1)
    )
    laws = [of_pair(*pair) for pair in pairs]
    parts = ((laws[0], 3),) if seed % 3 == 0 else ((laws[0], 2), (laws[1], 1))
    below, above = (composed(parts, above=up) for up in (False, True))
    between(below, profile(p, q), above, 1e-4)
    between(below.reverse_direction, profile(q, p), above.reverse_direction)


@pytest.mark.parametrize("mu", [1e-3, 1.0, 3.0])
def test_lists_of_gaussian_noise_are_near(mu: float) -> None:
    """The profile in closed form is between the two ends, which are close."""
    epsilons = mu * np.array([0.0, 0.3, 1.0, 3.0])
    true = [gaussian_profile(mu, float(epsilon)) for epsilon in epsilons]
    ends = [
        profile(*columns(listed(GaussianLaw(mu), above=up)), np.exp(epsilons))
        for up in (False, True)
    ]
    for low, high, each in zip(*ends, true, strict=True):
        assert low <= each.upper
        assert each.lower <= high
        assert high - low <= 2e-5 * high


def delta_of_sample(epsilon: float, uses: int, q: float, at: float) -> mpmath.mpf:
    """Enumerate what a sample of several uses of randomised response costs, in both orders."""
    with mpmath.workdps(60):
        p = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon))
        totals = [mpmath.mpf(0), mpmath.mpf(0)]
        for k in range(uses + 1):
            ways = mpmath.binomial(uses, k)
            one = ways * p**k * (1 - p) ** (uses - k)
            without = ways * p ** (uses - k) * (1 - p) ** k
            mixed = (1 - mpmath.mpf(q)) * without + mpmath.mpf(q) * one
            totals[0] += max(0, mixed - mpmath.exp(at) * without)
            totals[1] += max(0, without - mpmath.exp(at) * mixed)
        return max(totals)


@pytest.mark.parametrize(
    ("epsilon", "uses", "q", "delta"),
    [(5.43, 8, 0.396, 1e-7), (5.43, 8, 0.396, 1e-4), (7.1, 7, 0.01, 1e-6), (20.0, 3, 0.1, 1e-5)],
)
def test_large_losses_of_sums_are_not_lost(
    epsilon: float, uses: int, q: float, delta: float
) -> None:
    """Between the windows of two tilts there are losses that no window has."""
    tree = parse(f"(pure:epsilon={epsilon}@{uses})@poisson:q={q}").tree
    found = compose(tree, deltas=[delta]).answers[0].proved
    assert found.lower is not None
    assert delta_of_sample(epsilon, uses, q, found.lower * (1 - 1e-12)) >= delta
    assert delta_of_sample(epsilon, uses, q, found.upper * (1 + 1e-12)) <= delta
    assert found.upper < found.lower * 1.001


@pytest.mark.parametrize("epsilon", [0.000113, 0.001, 0.01, 0.1])
@pytest.mark.parametrize("uses", [10, 12])
def test_replaced_records_cost_what_removed_ones_do(epsilon: float, uses: int) -> None:
    """And no more than twice that, about."""
    delta, q = 1e-9 * epsilon, 0.0411
    tree = parse(f"(pure:epsilon={epsilon}@{uses})@poisson:q={q}").tree
    found = compose(tree, deltas=[delta], relation=Relation.REPLACE_ONE).answers[0].proved
    assert found.lower is not None
    assert delta_of_sample(epsilon, uses, q, found.upper) <= delta
    assert found.upper < 2.5 * found.lower


@pytest.mark.parametrize("delta", [1e-18, 1e-25, 1e-100])
def test_rounding_is_no_infinite_loss_below(delta: float) -> None:
    """All losses inside of the sample are at most 0.287."""
    tree = parse("(rr:p=0.37,categories=3+pure:epsilon=0.018@7)@poisson:q=0.0149").tree
    found = compose(tree, deltas=[delta], relation=Relation.REPLACE_ONE).answers[0].proved
    assert found.lower is not None
    assert found.lower < 0.009 < found.upper


@pytest.mark.parametrize(
    "text",
    [
        "(bernoulli-pair:p=1.9e-05,other_p=0.21@16)@poisson:q=0.192@4",
        "(pure:epsilon=700@2)@poisson:q=0.1",
        "(approx:epsilon=1,delta=0.9@20)@poisson:q=0.1",
        "(approx:epsilon=1,delta=1@2)@poisson:q=0.1",
        "(bernoulli-pair:p=0,other_p=1@2)@poisson:q=0.1",
        "(pure:epsilon=300@2+pure:epsilon=1e-5)@poisson:q=0.1",
    ],
)
def test_samples_of_extreme_sums_are_answered(text: str) -> None:
    """Masses that underflow, no finite loss, and steps that are too many."""
    found = compose(parse(text).tree, deltas=[0.05]).answers[0].proved
    assert (found.lower or 0.0) <= found.upper


def test_a_coin_that_everybody_sees_gives_the_mean() -> None:
    """Profiles are means of the profiles of what is chosen."""
    one, two = two_point(Enclosed.of(0.5)), two_point(Enclosed.of(2.0), Enclosed.of(1e-6))
    found = profile(*columns(mixed([(one, 0.25), (two, 0.75)])))
    expected = 0.25 * profile(*columns(one)) + 0.75 * profile(*columns(two))
    assert (found >= expected - 1e-15).all()
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("count", [8, 12, 32])
@pytest.mark.parametrize(
    ("wrapper", "relation"),
    [
        ("poisson", Relation.ADD_OR_REMOVE_ONE),
        ("poisson", Relation.REPLACE_ONE),
        ("wor", Relation.REPLACE_ONE),
    ],
)
def test_losses_that_doubles_do_not_hold_are_counted(
    count: int, wrapper: str, relation: Relation
) -> None:
    """The likely outcome of a sample has the loss log(1 - q + q e^(60 count)), and P-mass q."""
    tree = parse(f"(rr:epsilon=60@{count})@{wrapper}:q=0.125").tree
    bound = compose(tree, relation=relation, deltas=[0.01]).answers[0].proved
    assert bound.upper >= 60.0 * count + math.log(0.125) - 0.2
    assert (bound.lower or 0.0) <= 60.0 * count
