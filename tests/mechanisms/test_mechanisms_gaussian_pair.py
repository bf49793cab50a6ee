"""`gaussian-pair` and `gdp`: normal laws of any two variances, against mpmath."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpc, mpf

from privcalc.accounting.compose import compose
from privcalc.errors import DomainError, UnsupportedError
from privcalc.exact import standing_for
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.unequal_gaussians import UnequalGaussiansLaw
from privcalc.mechanisms.gaussian_pair import GaussianPair
from privcalc.relation import Adjacency, Relation
from privcalc.spec.parse import parse
from tests.pairs import built, law_of

mp.dps = 40
ADD, REMOVE = Adjacency.ADD, Adjacency.REMOVE
ROOT = math.sqrt(2.0)
# mean and deviation of P, mean and deviation of Q
CASES = [
    (0.0, ROOT, 0.0, 1.0),
    (0.0, 1.0, 0.0, ROOT),
    (1.0, 1.5, 0.0, 1.0),
    (1.0, 1.0, 0.0, 1.5),
    (3.0, 1.000001, 0.0, 1.0),
    (0.5, 0.999999999, 0.0, 1.0),
    (1e-3, 1.000000000001, 0.0, 1.0),
    (0.0, 1.00001, 0.0, 1.0),
    (0.0, 1e4, 0.0, 1.0),
    (7.0, 1.0, 0.0, 1e4),
    (20.0, 1.3, 0.0, 1.0),
    (100.0, 1.01, 0.0, 1.0),
    (1.0, 0.98, 0.0, 1.0),
    (2.0, 0.1, 5.0, 1.0),
]


def law_between(case: tuple[float, float, float, float]) -> UnequalGaussiansLaw:
    """Return the law of P against Q."""
    # The very doubles, not the decimals next to them.
    mean, deviation, other_mean, other_deviation = (standing_for(x, Fraction(x)) for x in case)
    law = GaussianPair(
        mean=mean, deviation=deviation, other_mean=other_mean, other_deviation=other_deviation
    ).laws(ADD)
    assert isinstance(law, UnequalGaussiansLaw)
    return law


def log_mgf(case: tuple[float, float, float, float], s: Any) -> Any:
    """Return log of int p^(s + 1) q^(-s), the Gaussian integral of a quadratic a x^2 + b x + c."""
    m1, d1, m2, d2 = map(mpf, case)
    s = mpc(s)
    a = -(s + 1) / (2 * d1**2) + s / (2 * d2**2)
    b = (s + 1) * m1 / d1**2 - s * m2 / d2**2
    c = -(s + 1) * m1**2 / (2 * d1**2) + s * m2**2 / (2 * d2**2)
    scale = -(s + 1) * mp.log(d1) + s * mp.log(d2) - mp.log(2 * mp.pi) / 2
    return scale + c - b * b / (4 * a) + mp.log(mp.pi) / 2 - mp.log(-a) / 2


def critical(law: UnequalGaussiansLaw) -> float:
    """Return the order, less 1, from which on the Renyi divergence is infinite."""
    return 1.0 / law.excess if law.excess > 0.0 else math.inf


@pytest.mark.slow
def test_the_oracle_integrates() -> None:
    """The Gaussian integral that the tests compare with is the integral."""
    case, s = CASES[2], mpc("0.4", "0.7")
    m1, d1, m2, d2 = map(mpf, case)
    whole = mp.quad(
        lambda x: mp.npdf(x, m1, d1) ** (s + 1) * mp.npdf(x, m2, d2) ** (-s), range(-60, 61, 4)
    )
    assert abs(mp.log(whole) - log_mgf(case, s)) < 1e-25


def true_tails(case: tuple[float, float, float, float], loss: Any) -> dict[str, Any]:
    """Return the four tails from the roots of log p(x) / q(x) = loss."""
    m1, d1, m2, d2 = map(mpf, case)
    a = 1 / (2 * d2**2) - 1 / (2 * d1**2)
    b = m1 / d1**2 - m2 / d2**2
    c = m2**2 / (2 * d2**2) - m1**2 / (2 * d1**2) + mp.log(d2 / d1) - loss
    root = mp.sqrt(max(b * b - 4 * a * c, mpf(0))) / (2 * abs(a))
    low, high = -b / (2 * a) - root, -b / (2 * a) + root
    found = {}
    for name, m, d in (("p", m1, d1), ("q", m2, d2)):
        left, right = (low - m) / d, (high - m) / d
        # Both ends in one tail: subtract the smaller one there.
        inside = mp.ncdf(-left) - mp.ncdf(-right) if left > 0 else mp.ncdf(right) - mp.ncdf(left)
        outside = mp.ncdf(left) + mp.ncdf(-right)
        found[f"above_{name}"], found[f"below_{name}"] = (
            (outside, inside) if a > 0 else (inside, outside)
        )
    return found


@pytest.mark.few(4)
@pytest.mark.parametrize("case", CASES)
def test_tails_are_right_within_shift_and_error(case: tuple[float, float, float, float]) -> None:
    """Each tail lies between the truths at l - shift and l + shift, also at the vertex."""
    law, rng = law_between(case), random.Random(repr(case))
    m1, d1, m2, d2 = case
    points = [rng.gauss(m1, d1) + rng.choice([0, 0, 5, -5, 20]) * d1 for _ in range(20)]
    points += [rng.gauss(m2, d2) for _ in range(10)]
    losses = [
        math.log(d2 / d1) - (x - m1) ** 2 / (2 * d1**2) + (x - m2) ** 2 / (2 * d2**2)
        for x in points
    ]
    vertex = -law.log_r - law.theta**2 / (2.0 * law.excess)
    for e in (1e-15, 1e-12, 1e-8, 1e-4, 1e-2):
        losses += [vertex + e * abs(law.excess), vertex - e * abs(law.excess)]
    tails = law.tails(np.array(sorted(losses)))
    with mp.workdps(80):
        for k, loss in enumerate(sorted(losses)):
            ends = [true_tails(case, mpf(loss) + side * tails.shift) for side in (-1, 1)]
            for name in ends[0]:
                low, high = sorted(end[name] for end in ends)
                seen = mpf(float(getattr(tails, name)[k]))
                error = float(np.broadcast_to(tails.error, (len(losses),))[k])
                assert error < 1e-9
                assert low * (1 - error) - 1e-300 <= seen <= high * (1 + error) + 1e-300
    assert tails.shift < 1e-12 * (max(map(abs, losses)) + law.theta**2 + abs(law.excess))


def test_both_laws_measure_one_set() -> None:
    """P and Q at a loss are those of one set: else P - e^l Q may be above the true delta."""
    case, loss = (0.0, 4.3125, -0.125, 4.0), 68.88600902853273
    law = law_between(case)
    tails = law.tails(np.array([loss]))
    with mp.workdps(80):
        true = true_tails(case, mpf(loss))
        delta = true["above_p"] - mp.exp(mpf(loss)) * true["above_q"]
        error = mpf(float(np.broadcast_to(tails.error, (1,))[0]))
        p, q = mpf(float(tails.above_p[0])), mpf(float(tails.above_q[0]))
        assert p * (1 - error) - mp.exp(mpf(loss)) * q * (1 + error) <= delta


def chi_square_delta(uses: int, epsilon: float, ratio: Any) -> Any:
    """Return delta of so many uses between N(0, ratio) and N(0, 1): both losses are chi-square."""
    n, e = mpf(uses) / 2, mpf(epsilon)
    y = (e + uses * mp.log(ratio) / 2) / ((ratio - 1) / 2)
    if ratio > 1:
        above = [mp.gammainc(n, x / 2, mp.inf, regularized=True) for x in (y, y * ratio)]
        return above[0] - mp.exp(e) * above[1]
    if y <= 0:
        return mpf(0)
    below = [mp.gammainc(n, 0, x / 2, regularized=True) for x in (y, y * ratio)]
    return below[0] - mp.exp(e) * below[1]


@pytest.mark.parametrize("uses", [5, 50])
def test_variances_two_and_one(uses: int) -> None:
    """Epsilon and delta are finite, and right, though from order 2 on RDP is infinite."""
    ratio = Fraction(ROOT) ** 2
    wide = mpf(ratio.numerator) / ratio.denominator
    spec = f"gaussian-pair:mean=0,deviation=1,other_mean=0,other_deviation={ROOT!r}@{uses}"
    tree = parse(spec).tree
    for answer, epsilon in zip(
        compose(tree, epsilons=[1.0, 3.0], tolerance=1e-9).answers, (1.0, 3.0), strict=True
    ):
        truth = max(chi_square_delta(uses, epsilon, r) for r in (wide, 1 / wide))
        assert answer.bound is not None
        assert answer.bound.lower is not None
        assert answer.bound.lower <= truth <= answer.bound.upper
        assert answer.bound.width < 2e-6 * answer.bound.upper
    for answer in compose(tree, deltas=[1e-5, 1e-12]).answers:
        assert answer.bound is not None
        assert answer.bound.lower is not None
        low, high = (
            max(chi_square_delta(uses, end, r) for r in (wide, 1 / wide))
            for end in (answer.bound.upper, answer.bound.lower)
        )
        assert low <= answer.query["delta"] <= high
    law = law_of(spec.partition("@")[0], REMOVE)
    assert law.renyi(np.array([1.0]))[1][0] == math.inf
    assert law.renyi(np.array([0.999]))[1][0] < math.inf


@pytest.mark.slow
def test_one_use_from_the_tails() -> None:
    """For a single use above_p - e^epsilon above_q is delta, by direct integration."""
    for case in CASES[:4]:
        m1, d1, m2, d2 = map(mpf, case)
        law = law_between(case)
        tails = law.tails(np.array([0.4]))
        delta = float(tails.above_p[0]) - math.exp(0.4) * float(tails.above_q[0])

        def gain(x: Any, m1: Any = m1, d1: Any = d1, m2: Any = m2, d2: Any = d2) -> Any:
            return max(mpf(0), mp.npdf(x, m1, d1) - mp.exp(mpf(0.4)) * mp.npdf(x, m2, d2))

        # Double the precision of the comparison is enough.
        with mp.workdps(12):
            truth = mp.quad(gain, [k / mpf(2) for k in range(-20, 21)])
        assert abs(truth - delta) < 1e-6


def test_directions_and_equal_deviations() -> None:
    """ADD is first against other; equal deviations are `gaussian`, equal laws lose nothing."""
    text = "gaussian-pair:mean=0,deviation=2,other_mean=3,other_deviation=1"
    assert law_of(text, ADD) == UnequalGaussiansLaw(3.0, 4.0, 3.0)
    assert law_of(text, REMOVE) == UnequalGaussiansLaw(1.5, 0.25, -0.75)
    assert law_of(text, ADD).max_loss == math.inf
    top = mp.log(2) + mpf("1.5") ** 2 / (2 * mpf("0.75"))
    assert law_of(text, REMOVE).max_loss == pytest.approx(float(top), rel=1e-15)
    same = "gaussian-pair:mean=1,deviation=2,other_mean=4,other_deviation=2"
    assert law_of(same, ADD) == GaussianLaw(1.5) == law_of("gdp:mu=1.5", REMOVE)
    nothing = law_of("gaussian-pair:mean=1,deviation=2,other_mean=1,other_deviation=2", ADD)
    assert isinstance(nothing, AtomicLaw)
    assert nothing.losses == (0.0,)


def test_groups_of_equal_deviations_move_the_mean_by_as_much_each() -> None:
    """Three records are three distances, where those are in range; others have only a chain."""
    pair = "gaussian-pair:mean=1,deviation=2,other_mean={},other_deviation=2"
    for mean, distance in (("4", 4.5), ("-2", 4.5), ("1", 0.0)):
        group = built(pair.format(mean)).grouped(3)
        for adjacency in (ADD, REMOVE):
            law = group.laws(adjacency)
            assert law == GaussianLaw(distance) if distance else law.losses == (0.0,)
    assert built(pair.format("1e8")).grouped(3) is None
    assert built(pair.format("3") + "000000").grouped(3) is None


def test_what_a_pair_of_normal_laws_does_not_answer() -> None:
    """replace-one is refused with the relations to pass, and so are wild numbers."""
    tree = parse("gaussian-pair:mean=0,deviation=1,other_mean=0,other_deviation=2").tree
    with pytest.raises(UnsupportedError, match="pass --relation add-or-remove-one or replace-spec"):
        compose(tree, deltas=[1e-5], relation=Relation.REPLACE_ONE)
    for text, message in (
        ("gaussian-pair:mean=0,deviation=1,other_mean=0,other_deviation=1e7", "factor of 1e\\+06"),
        ("gaussian-pair:mean=0,deviation=1,other_mean=1e9,other_deviation=2", "differ by 1e-30"),
        ("gdp:mu=1e9", "mu must be in"),
    ):
        with pytest.raises(DomainError, match=message):
            built(text)


def test_gdp_is_the_gaussian_mechanism() -> None:
    """Mu-GDP costs what a Gaussian mechanism with sensitivity mu costs."""
    ours, theirs = (
        compose(parse(text).tree, deltas=[1e-6]).answers[0].bound
        for text in ("gdp:mu=0.5@4", "gaussian:sigma=2@4")
    )
    assert ours == theirs
