"""Groups of records against enumeration, exact chains of trade-off functions, and 40 digits."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import realize
from privcalc.errors import UnsupportedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.power import chain as power_chain
from privcalc.losses.atomic.power import grouped, power_function
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.pairs import atoms_profile, hockey_stick, two_point

ADD_REMOVE = Relation.ADD_OR_REMOVE_ONE


def bound_of(text: str, relation: Relation | None = None, **query: Any) -> Any:
    """Return the bracket of one answer."""
    return compose(parse(text).tree, relation=relation, **query).answers[0].bound


@pytest.mark.parametrize(
    ("grouped_text", "scaled"),
    [
        ("gaussian:sigma=4@10@group:k=3", "gaussian:sigma=4,sensitivity=3@10"),
        ("gaussian:sigma=4@group:k=3@10", "gaussian:sigma=4,sensitivity=3@10"),
        ("gaussian:sigma=4@group:k=2@group:k=3", "gaussian:sigma=4,sensitivity=6"),
        ("laplace:scale=4@10@group:k=3", "laplace:scale=4,sensitivity=3@10"),
        ("gdp:mu=0.25@group:k=4", "gdp:mu=1"),
        ("discrete-laplace:scale=4@5@group:k=2", "discrete-laplace:scale=4,sensitivity=2@5"),
        ("rr:p=0.7@10@group:k=5", "rr:p=0.7@10"),
        ("(gaussian:sigma=4+laplace:scale=3)@group:k=2", "gaussian:sigma=2+laplace:scale=1.5"),
        ("pure:epsilon=0.3@4@group:k=1", "pure:epsilon=0.3@4"),
    ],
)
@pytest.mark.parametrize("relation", [ADD_REMOVE, Relation.REPLACE_ONE])
def test_scaled_noise_is_exact(grouped_text: str, scaled: str, relation: Relation) -> None:
    """A group of k has k times the sensitivity: the same bracket, with both ends."""
    one = bound_of(grouped_text, relation, deltas=[1e-4], tolerance=1e-7)
    other = bound_of(scaled, relation, deltas=[1e-4], tolerance=1e-7)
    assert one.lower is not None
    assert one.upper == pytest.approx(other.upper, rel=1e-6)
    assert one.lower == pytest.approx(other.lower, rel=1e-6)


def power(law: list[tuple[Fraction, Fraction]], y: Fraction) -> Fraction:
    """Return the largest P(A) with Q(A) <= y: likeliest outcomes first."""
    left, total = y, Fraction(0)
    for p, q in sorted(law, key=lambda pq: pq[0] / pq[1] if pq[1] else math.inf, reverse=True):
        if q <= left:
            left, total = left - q, total + p
        else:
            return total + p * left / q
    return total


def chain(law: list[tuple[Fraction, Fraction]], k: int) -> list[tuple[Fraction, Fraction]]:
    """Return points (y, G(...G(y))) of a chain of k, exactly, on a fine grid of y."""
    points = []
    for i in range(2001):
        y = value = Fraction(i, 2000) ** 3
        for _ in range(k):
            value = power(law, min(value, Fraction(1)))
        points.append((y, value))
    return points


ATOMIC = [
    ("pure", [(Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))]),
    (
        "infinite",
        [
            (Fraction(1, 10), Fraction(0)),
            (Fraction(6, 10), Fraction(3, 10)),
            (Fraction(3, 10), Fraction(6, 10)),
            (Fraction(0), Fraction(1, 10)),
        ],
    ),
    (
        "asymmetric",
        [(Fraction(1, 2), Fraction(1, 8)), (Fraction(3, 8), Fraction(3, 8)),
         (Fraction(1, 8), Fraction(1, 2))],
    ),
]  # fmt: skip


def atomic(outcomes: list[tuple[Fraction, Fraction]]) -> AtomicLaw:
    """Return the law of an explicit pair."""
    finite = [(p, q) for p, q in outcomes if p and q]
    return AtomicLaw(
        tuple(math.log(p / q) for p, q in finite),
        tuple(float(p) for p, _ in finite),
        float(sum(p for p, q in outcomes if not q)),
        float(sum(q for p, q in outcomes if not p)),
        lower_masses=tuple(float(q) for _, q in finite),
    )


@pytest.mark.few(3)
@pytest.mark.parametrize(("name", "outcomes"), ATOMIC)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_generic_bound_is_the_chain_of_trade_offs(
    name: str, outcomes: list[tuple[Fraction, Fraction]], k: int
) -> None:
    """At least the exact composition at every scale, and hardly more."""
    del name
    law = grouped(atomic(outcomes), k)
    points = chain(outcomes, k)
    for a in (0.3, 0.9, 1.0, 1.5, 4.0, 20.0):
        # From below: the largest on the grid.
        true = max(value - Fraction(a) * y for y, value in points)
        ours = atoms_profile(law, a)
        assert ours >= mpf(true.numerator) / true.denominator
        assert ours <= mpf(true.numerator) / true.denominator + mpf("2e-3")


@pytest.mark.parametrize(
    "losses", [[100, 0, -100], [60, 36, 12, -12, -36, -60], [300, 250, 200, 45, 2, -210, -290]]
)
def test_chains_of_large_losses_end_at_1(losses: list[int]) -> None:
    """Next to 1, where values are a unit apart, each step is of the piece that it is cut from.

    The exact composition is between the ends at every break, and no function goes on beyond 1.
    """
    p = [Fraction(math.exp(min(loss, 0))) for loss in losses]
    q = [Fraction(math.exp(min(-loss, 0))) for loss in losses]
    law = [(a / sum(p), b / sum(q)) for a, b in zip(p, q, strict=True)]
    step = power_function(atomic(law))
    for below in (False, True):
        for k, curve in enumerate(power_chain(step, 7, below=below), start=1):
            assert curve.lengths.sum() < 1.5
            error = Fraction(curve.units * 2.0**-53)
            y, value = Fraction(0), Fraction(curve.start)
            pieces = zip(curve.lengths.tolist(), curve.rises.tolist(), strict=True)
            for length, rise in pieces:
                y, value = y + Fraction(length), value + Fraction(rise)
                if below:
                    assert value <= (1 + error) * repeated(law, min(y, Fraction(1)), k)
                else:
                    assert value >= (1 - error) * repeated(
                        law, min(y * (1 - error), Fraction(1)), k
                    )


def repeated(law: list[tuple[Fraction, Fraction]], y: Fraction, k: int) -> Fraction:
    """Return the power of a chain of k laws: G(...G(y))."""
    for _ in range(k):
        y = power(law, y)
    return y


@pytest.mark.parametrize("k", [5, 14])
def test_groups_beyond_the_range_of_losses_are_answered(k: int) -> None:
    """A posterior sample whose losses reach 577 has no finite epsilon for five records."""
    found = bound_of(f"ops:gamma=3.82%,lambda=0.159,n=6@group:k={k}", deltas=[0.0161])
    assert math.isinf(found.upper)


def test_groups_of_sampled_noise_beyond_the_range_are_refused() -> None:
    """Slopes that are no doubles are no accident."""
    tree = parse("discrete-gaussian:variance=0.76,sensitivity=9@poisson:q=8.95%@group:k=10").tree
    with pytest.raises(UnsupportedError, match="beyond the range of doubles"):
        realize(tree, Relation.ADD_OR_REMOVE_ONE)


def test_generic_bound_covers_random_chains() -> None:
    """Chains of three laws, neighbours epsilon-DP: the ends are no further apart than the bound."""
    rng = random.Random(4)
    epsilon = 0.5
    law = grouped(two_point(epsilon), 2)
    worst = 0.0
    for _ in range(3000):
        middle = [rng.random() + 0.05 for _ in range(3)]
        middle = [x / sum(middle) for x in middle]
        ends = []
        for _end in range(2):
            while True:
                tilted = [x * math.exp(rng.choice((-1, 1, rng.uniform(-1, 1))) * epsilon / 2)
                          for x in middle]  # fmt: skip
                tilted = [x / sum(tilted) for x in tilted]
                if all(
                    abs(math.log(x / y)) <= epsilon for x, y in zip(tilted, middle, strict=True)
                ):
                    break
            ends.append(tilted)
        for a in (1.0, 1.3, 2.0):
            found = hockey_stick(zip(*ends, strict=True), a)
            bound = float(atoms_profile(law, a))
            assert found <= bound + 1e-12
            worst = max(worst, found / bound if bound > 1e-3 else 0.0)
    assert worst > 0.5


@pytest.mark.parametrize(
    "text",
    [
        "staircase:epsilon=0.2@10@group:k=3",
        "staircase:epsilon=0.2@poisson:q=0.1@10@group:k=2",
        "laplace:scale=3@wor:q=0.1@group:k=2",
        pytest.param("laplace:scale=3@wor:q=0.1@5@group:k=2", marks=pytest.mark.slow),
        "gaussian:sigma=3@5+staircase:epsilon=0.1@group:k=2",
    ],
)
def test_generic_bounds_have_no_lower_end(text: str) -> None:
    """One part known by an upper bound takes the lower end from the whole."""
    found = bound_of(text, deltas=[1e-5])
    assert found.lower is None
    assert 0.0 < found.upper < math.inf


def test_responses_of_a_sampled_group_are_those_of_one_sampled_more_often() -> None:
    """Any of the records in the sample may change the response, and no more than one changes."""
    one = bound_of("rr:p=0.9@poisson:q=0.5@30@group:k=4", deltas=[1e-7])
    two = bound_of("rr:p=0.9@poisson:q=0.9375@30", deltas=[1e-7])
    assert one.lower <= two.upper
    assert one.upper >= two.lower
    assert one.upper - one.lower <= 1e-9 * one.upper


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_any_program_with_a_guarantee_may_follow_the_chain(epsilon: float, delta: float) -> None:
    """One use, by the largest probability that each of three records gives an event."""
    name = f"approx:epsilon={epsilon},delta={delta}" if delta else f"pure:epsilon={epsilon}"
    for level in (0.0, 0.2, 1.5 * epsilon, 2.5 * epsilon):
        bound = bound_of(f"{name}@group:k=3", epsilons=[level])
        grow = mp.exp(mpf(epsilon))

        def step(y: Any, grow: Any = grow) -> Any:
            return min(delta + grow * y, 1 - (1 - delta - y) / grow, mpf(1))

        fine = [mpf(i) / 500 for i in range(501)]
        truth = max(step(step(step(y))) - mp.exp(mpf(level)) * y for y in fine)
        assert truth <= bound.upper + mpf("1e-15")
        assert bound.lower is not None
        assert bound.upper - bound.lower <= 1e-12 + 1e-9 * bound.upper
        # Between two of so many points the concave function is hardly higher.
        assert bound.lower <= truth + mpf("1e-2")


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("k", [2, 5])
def test_sampled_noise_on_a_count_of_a_group(k: int, *, remove: bool) -> None:
    """Discrete Laplace noise, as many steps as records are sampled: sums over all outputs."""
    epsilon, q = mpf("0.4"), mpf("0.3")
    far = 400
    norm = (1 - mp.exp(-epsilon)) / (1 + mp.exp(-epsilon))
    plain = {x: norm * mp.exp(-epsilon * abs(x)) for x in range(-far - k, far + 1)}
    chances = [mp.binomial(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)]
    text = f"discrete-laplace:epsilon=0.4@poisson:q=0.3@group:k={k}"
    terms = realize(parse(text).tree, ADD_REMOVE)["remove" if remove else "add"]
    assert terms.lower is not None
    ((above, _),), ((below, _),) = terms.upper.terms, terms.lower.terms
    pairs = [
        (mp.fsum(w * plain[x - j] for j, w in enumerate(chances)), plain[x])
        for x in range(-far + k, far)
    ]
    if not remove:
        pairs = [(b, a) for a, b in pairs]
    for a in (mpf("0.4"), mpf("0.9"), mpf(1), mpf("1.05"), mpf(2), mpf(5)):
        true = hockey_stick(pairs, a)
        assert atoms_profile(below, a) <= true + (1 + a) * mpf("1e-15")
        assert true <= atoms_profile(above, a) + mpf("1e-15")
        assert atoms_profile(above, a) - atoms_profile(below, a) <= mpf("1e-12")


@pytest.mark.few(2)
@pytest.mark.parametrize("text", ["laplace:scale=2", "discrete-gaussian:sigma=2"])
@pytest.mark.parametrize("remove", [True, False])
def test_sampled_groups_of_noise_with_many_losses(text: str, *, remove: bool) -> None:
    """On cells of a lattice: three records in a sample, by sums over the outputs."""
    laplace = text.startswith("laplace")
    # Of a density the middles of cells that end where it has kinks.
    x = (np.arange(-24_000, 26_400) + 0.5) / 800.0 if laplace else np.arange(-80.0, 84.0)

    def likelihood(shift: int) -> Any:
        y = x - shift
        return np.exp(-np.abs(y) / 2.0) if laplace else np.exp(-y * y / 8.0)

    whole = float(likelihood(0).sum())
    chances = [math.comb(3, j) * 0.1**j * 0.9 ** (3 - j) for j in range(4)]
    mixture = sum(w * likelihood(j) for j, w in enumerate(chances)) / whole
    one, other = mixture, likelihood(0) / whole
    if not remove:
        one, other = other, one
    terms = realize(parse(f"{text}@poisson:q=0.1@group:k=3").tree, ADD_REMOVE)
    found = terms["remove" if remove else "add"]
    assert found.lower is not None
    ((above, _),), ((below, _),) = found.upper.terms, found.lower.terms
    for a in (0.95, 1.02, 1.05, 1.2):
        true = float(np.maximum(one - a * other, 0.0).sum())
        low, high = atoms_profile(below, a), atoms_profile(above, a)
        assert low <= true * (1.0 + 1e-5)
        assert true <= high * (1.0 + 1e-5)
        assert high - low <= (2e-3 * high + 1e-7 if laplace else 1e-12)


@pytest.mark.parametrize("bits", list(product((0, 1), repeat=4)))
@pytest.mark.parametrize("rest", [(), (1,)])
def test_poisson_group_covers_every_small_data_set(
    bits: tuple[int, ...], rest: tuple[int, ...]
) -> None:
    """Two records that are sampled independently, for every function of the sum of the sample."""
    q, p = mpf("0.3"), mpf("0.8")

    def output(data: tuple[int, ...]) -> list[Any]:
        law = [mpf(0), mpf(0)]
        for taken in product((0, 1), repeat=len(data)):
            weight = mp.fprod(q if each else 1 - q for each in taken)
            truth = bits[sum(x for x, each in zip(data, taken, strict=True) if each)]
            law[truth] += weight * p
            law[1 - truth] += weight * (1 - p)
        return law

    directions = realize(parse("rr:p=0.8@poisson:q=0.3@group:k=2").tree, ADD_REMOVE)
    without, with_them = output(rest), output((*rest, 1, 1))
    for name, (first, other) in (
        ("remove", (with_them, without)),
        ("add", (without, with_them)),
    ):
        upper = directions[name] if name in directions else directions["both"]
        ((law, count),) = upper.upper.terms
        assert count == 1
        for a in (mpf("0.5"), mpf("0.9"), mpf(1), mpf("1.1"), mpf("1.5"), mpf(3)):
            true = hockey_stick(zip(first, other, strict=True), a)
            assert true <= atoms_profile(law, a) + mpf("1e-14")


def test_mixture_of_one_record_is_the_sampled_gaussian() -> None:
    """A group of one is no group."""
    one = GaussianMixtureLaw(0.8, 0.1, 1, True).tails(np.array([-0.05, 0.0, 0.3, 2.0]))
    for loss, p, q in zip((-0.05, 0.0, 0.3, 2.0), one.above_p, one.above_q, strict=True):
        x = mp.log1p(mp.expm1(mpf(loss)) / mpf("0.1"))
        y = x / mpf("0.8") + mpf("0.4")
        assert float(q) == pytest.approx(float(mp.ncdf(-y)), rel=1e-12)
        mixed = mpf("0.9") * mp.ncdf(-y) + mpf("0.1") * mp.ncdf(mpf("0.8") - y)
        assert float(p) == pytest.approx(float(mixed), rel=1e-12)


def test_mixture_covers_vectors_in_any_directions() -> None:
    """Two records that move a two-dimensional mean at right angles cost less than in one line.

    The hockey-stick divergence of the planar mixture is integrated numerically.
    """
    mu, q = 1.0, 0.5
    grid = np.linspace(-8.0, 9.0, 1201)
    cell = (grid[1] - grid[0]) ** 2
    x, y = np.meshgrid(grid, grid)

    def normal(a: float, b: float) -> Any:
        return np.exp(-0.5 * ((x - a) ** 2 + (y - b) ** 2)) / (2.0 * math.pi)

    first = 0.25 * (normal(0, 0) + normal(mu, 0) + normal(0, mu) + normal(mu, mu))
    for remove in (True, False):
        pair = (first, normal(0, 0)) if remove else (normal(0, 0), first)
        law = GaussianMixtureLaw(mu, q, 2, remove)
        for epsilon in (0.0, 0.5, 1.0):
            seen = float(np.maximum(pair[0] - math.exp(epsilon) * pair[1], 0.0).sum() * cell)
            tails = law.tails(np.array([epsilon]))
            bound = float(tails.above_p[0] - math.exp(epsilon) * tails.above_q[0])
            assert seen <= bound + 1e-6


def test_fixed_size_group_of_replaced_records() -> None:
    """All sizes are n when records are replaced, so one step's pair may be chained."""
    p = 0.8
    bound = bound_of("rr:p=0.8@wor:n=4,m=2@group:k=2", Relation.REPLACE_ONE, epsilons=[0.1])
    # (0, 0, 0, 0) against (1, 1, 0, 0): the sum of a sample of two is 0, 1 or 2.
    chance = {0: Fraction(1, 6), 1: Fraction(4, 6), 2: Fraction(1, 6)}
    for bits in product((0, 1), repeat=3):
        yes = sum(float(w) * (p if bits[s] else 1 - p) for s, w in chance.items())
        other = p if bits[0] else 1 - p
        pair = [(yes, other), (1 - yes, 1 - other)]
        assert hockey_stick(pair, math.exp(0.1)) <= bound.upper + 1e-14


def test_fixed_size_group_of_removed_records() -> None:
    """Removing two of n records changes the rate on the way: m / n, then m / (n - 1).

    One record is drawn from {0, 1, 1}, or from {0}, and shown but for noise: the two ones are drawn
    with probability 2/3, which 1 - (1 - 1/3)^2 = 5/9 does not cover.
    """
    text = "pure:epsilon=20@wor:n=3,m=1@group:k=2"
    true = 1.0 / (1.0 + math.exp(20))
    seen = (2.0 / 3.0) * (1.0 - true) + true / 3.0 - math.e * true
    try:
        bound = bound_of(text, ADD_REMOVE, epsilons=[1.0])
    except UnsupportedError:
        return
    assert seen <= bound.upper


def test_group_inside_sampling_is_refused() -> None:
    """A group inside a sampling could be sampled one by one or as a whole: it is not guessed."""
    for text in (
        "gaussian:sigma=1@group:k=2@poisson:q=0.1",
        "(gaussian:sigma=1@group:k=2@1)@poisson:q=0.1",
    ):
        with pytest.raises(UnsupportedError, match="write it after the sampling"):
            bound_of(text, deltas=[1e-5], tolerance=1e-6)


def test_drawing_everybody_is_the_limit_of_drawing_nearly_everybody() -> None:
    """Inside @wor the event is read under replace-one at every q, also at 1, or it is refused."""
    event = "exponential:epsilon=1,monotone=true"
    nearly = bound_of(f"{event}@wor:q=0.999999", ADD_REMOVE, epsilons=[0.2])
    try:
        whole = bound_of(f"{event}@wor:q=1", ADD_REMOVE, epsilons=[0.2])
    except UnsupportedError:
        return
    assert whole.upper >= nearly.upper * (1.0 - 1e-5)


def test_nested_sizes_must_fit() -> None:
    """A sample of 50 is no population of 100."""
    with pytest.raises(UnsupportedError):
        bound_of("gaussian:sigma=2@wor:n=100,m=10@wor:n=1000,m=50", deltas=[1e-5])
