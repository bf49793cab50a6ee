"""Several uses of the exponential mechanism, each offset chosen in view of what came out."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import realize
from privcalc.errors import NotCertifiedError
from privcalc.losses.choices.range_laws import (
    BoundedRangeCurve,
    range_attained,
    range_uses,
)
from privcalc.losses.choices.range_uses import (
    Chords,
    attained_uses,
    largest_uses,
    lattice,
    lower_step,
    upper_step,
)
from privcalc.losses.members import RangePairs
from privcalc.numerics.work import allowance
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.pairs import bracket

if TYPE_CHECKING:
    from privcalc.losses.atoms import AtomicLaw

mp.dps = 40


def two_point(eta: Any, t: Any) -> list[tuple[Any, Any]]:
    """Return probabilities and losses of the pair with losses t and t - eta."""
    p = (1 - mp.exp(t - eta)) / (1 - mp.exp(-eta))
    return [(p, t), (1 - p, t - eta)]


def fixed_delta(eta: Any, uses: int, epsilon: Any, t: Any) -> Any:
    """Return delta of several uses of one pair: the binomial sum."""
    (p, _), _ = two_point(eta, t)
    total, mass = mpf(0), p**uses
    for k in range(uses + 1):
        loss = uses * t - k * eta
        if loss > epsilon:
            total += mass * (1 - mp.exp(epsilon - loss))
        mass *= mpf(uses - k) / (k + 1) * (1 - p) / p
    return total


def part_of(text: str) -> Any:
    """Return the only direction of a specification."""
    (part,) = realize(parse(text).tree, Relation.ADD_OR_REMOVE_ONE).values()
    return part


@pytest.mark.parametrize("c", [None, 0.01, 3.0, -2.0, 1e5])
@pytest.mark.parametrize("eta", [1e-30, 0.1, 2.0, 600.0])
def test_members_have_the_range(eta: float, c: float | None) -> None:
    """Both columns of probabilities add up to 1, the losses are theirs and within the range."""
    law = RangePairs(eta, 1e-16).member(c)
    assert sum(mpf(loss) * (1 if loss > 0 else -1) for loss in law.losses) <= mpf(eta) * (1 - 1e-16)
    assert abs(sum(map(mpf, law.masses)) - 1) < 1e-14
    assert abs(sum(map(mpf, law.lower_masses)) - 1) < 1e-14
    with mp.workdps(600):
        up, down = sorted(map(mpf, law.losses), reverse=True)
        p = (1 - mp.exp(down)) / (1 - mp.exp(down - up))
        exact = {up: p, down: 1 - p}
        for loss, mass, other in zip(law.losses, law.masses, law.lower_masses, strict=True):
            assert abs(mpf(mass) - exact[mpf(loss)]) <= 20 * mpf(2) ** -53 * mpf(mass)
            assert abs(mpf(other) - mpf(mass) * mp.exp(-mpf(loss))) <= 1e-14 * mpf(other)


def v_1(eta: float, epsilon: float) -> float:
    """Return what one use costs at most, at any epsilon."""
    if epsilon >= eta:
        return 0.0
    if epsilon <= -eta:
        return -math.expm1(epsilon)
    return math.expm1((epsilon - eta) / 2.0) ** 2 / -math.expm1(-eta)


def best_of(ranges: tuple[float, ...], epsilon: float, grid: int = 40) -> float:
    """Return what uses of these ranges cost at most, each offset the best one, in any order.

    Offsets are sought on a grid and around its best point: the value is attained, and is off by
    the square of the error of an offset.
    """
    if len(ranges) == 1:
        return v_1(ranges[0], epsilon)
    best = 0.0
    for eta in sorted(set(ranges)):
        rest = list(ranges)
        rest.remove(eta)
        left = tuple(rest)

        def cost(t: float, eta: float = eta, left: tuple[float, ...] = left) -> float:
            p = math.expm1(t - eta) / math.expm1(-eta)
            after = best_of(left, epsilon - t, grid), best_of(left, epsilon - t + eta, grid)
            return p * after[0] + (1.0 - p) * after[1]

        step = eta / grid
        place = max((eta * i / grid for i in range(grid + 1)), key=cost)
        for _ in range(9 if len(ranges) > 2 else 24):
            step /= 3.0
            near = [min(eta, max(0.0, place + i * step)) for i in (-2, -1, 0, 1, 2)]
            place = max(near, key=cost)
        best = max(best, cost(place))
    return best


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("ranges", "epsilons"),
    [
        ((1.0, 1.0), (0.0, 0.2, 0.9, 1.3, 1.9)),
        ((3.0, 3.0), (0.1, 2.0, 5.5)),
        ((0.1, 0.1), (0.0, 0.05, 0.15)),
        ((1.0, 0.3), (0.0, 0.5, 0.8, 1.2)),
        ((0.4, 0.4, 0.4), (0.0, 0.5, 1.0)),
    ],
)
def test_brackets_are_the_best_offsets(
    ranges: tuple[float, ...], epsilons: tuple[float, ...]
) -> None:
    """Both ends are the cost of the best offsets, chosen in view of what came out."""
    text = "+".join(f"exponential:epsilon={eta}" for eta in ranges)
    for epsilon in epsilons:
        lower, upper = bracket(text, epsilon=epsilon)
        true = best_of(ranges, epsilon, 12 if len(ranges) > 2 else 40)
        slack = 1e-6 if len(ranges) > 2 else 1e-12
        assert lower * (1.0 - slack) <= true <= upper * (1.0 + 1e-12)
        assert upper - lower < 1e-6 * true


@pytest.mark.dear("up-kinds0]")
@pytest.mark.few(2)
@pytest.mark.parametrize("kinds", [((1.0, 3),), ((0.3, 2), (0.5, 1))])
@pytest.mark.parametrize("side", ["up", "down"])
def test_closed_form_near_the_largest_loss(kinds: tuple[tuple[float, int], ...], side: str) -> None:
    """There the profile is that of one offset for each use, and lattices agree with it."""
    profile = largest_uses(kinds)[1] if side == "up" else attained_uses(kinds)
    total = sum(eta * count for eta, count in kinds)
    least = min(eta for eta, _ in kinds)
    for gap in (0.9, 0.5, 0.02):
        epsilon = total - gap * least
        y = mpf(profile.largest - epsilon) / (sum(count for _, count in kinds) + 1)
        true = -mp.expm1(-y)
        # Ranges are rounded to multiples of the step, on the safe side.
        for size, (eta, count) in zip(lattice(kinds, up=side == "up")[1], kinds, strict=True):
            rounded = mpf(size) * mpf(profile.step)
            assert (rounded >= eta) == (side == "up")
            assert abs(rounded / eta - 1) < 1e-4
            true *= (mp.expm1(-y) / mp.expm1(-rounded)) ** count
        if side == "down":
            assert true * (1 - 1e-3) < profile.at(epsilon) <= true
            continue
        # The lattice has chords.
        place = math.floor(epsilon / profile.step)
        assert profile.values[place] >= true * (1 - 1e-11)
        assert profile.values[place + 1] <= true * (1 + 1e-2)


def test_lines_between_points_of_the_lattice_count() -> None:
    """Lines from the lattice alone are below the cost of two uses, and all lines above it."""
    first = np.array([v_1(1.0, 0.125 * j) for j in range(8)])
    proved, beyond = upper_step(0.125, 8, first * (1.0 + 1e-15), 0.0)
    attained = lower_step(0.125, 8, first)[0]
    true = np.array([best_of((1.0, 1.0), 0.125 * j) for j in range(16)])
    assert beyond == 0.0
    assert (proved >= true[: len(proved)]).all()
    assert (proved < true[: len(proved)] * 1.1 + 3e-3).all()
    shortfall = 1.0 - attained / true[: len(attained)]
    assert (shortfall > -1e-12).all()
    assert shortfall.max() > 1e-6


def test_ranges_are_rounded_to_their_side() -> None:
    """Multiples of the step are no less than the ranges above, and no more below."""
    rng = random.Random(5)
    for _ in range(60):
        etas = [math.exp(rng.uniform(-3.0, 1.0)) for _ in range(rng.randint(1, 3))]
        # One that is nearly half of the first is rounded to it, or to the next multiple.
        etas.append(0.5 * etas[0] * (1.0 + rng.uniform(-1e-12, 1e-12)))
        kinds = tuple((eta, rng.randint(1, 4)) for eta in etas)
        for up in (True, False):
            step, parts, _ = lattice(kinds, up=up)
            for eta, part in zip(etas, parts, strict=True):
                rounded = part * Fraction(step)
                assert rounded >= Fraction(eta) if up else rounded <= Fraction(eta)
                assert abs(rounded - Fraction(eta)) < Fraction(step)


def test_values_below_a_line_are_not_proved() -> None:
    """Values that some line is above are refused, or raised by as much."""
    first = np.array([v_1(1.0, 2.0**-7 * j) for j in range(128)])
    lines = Chords(2.0**-7, 128, first, 0.0, bent=True)
    found, _ = lines.highest()
    assert (lines.proved(found * (1.0 - 1e-9)) >= found).all()
    lowered = found.copy()
    lowered[60:90] *= 0.99
    with pytest.raises(NotCertifiedError):
        lines.proved(lowered)


@pytest.mark.dear("kinds3]")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    "kinds",
    [
        ((0.3, 2),),
        ((2.0, 7),),
        ((9.0, 40),),
        ((0.5, 4), (0.2, 3)),
        ((0.05, 400),),
    ],
)
def test_the_laws_of_all_uses_are_laws(kinds: tuple[tuple[float, int], ...]) -> None:
    """Their masses are those of pairs, and their profiles are on their side of what is known."""
    upper = range_uses(kinds)
    assert upper
    block = sum(count for _, count in kinds) <= 64
    attained = range_attained(kinds) if block else None
    laws: list[AtomicLaw] = [law for law, _ in upper]
    laws += [] if attained is None else [attained.atoms]
    for law in laws:
        # Sums over all of so many outcomes are off by some units of each.
        assert math.fsum(law.masses) == pytest.approx(1.0, abs=1e-13)
        assert math.fsum(law.lower_masses) <= 1.0 + 1e-13
        both = np.array(law.lower_masses) - np.array(law.masses) * np.exp(-np.array(law.losses))
        assert np.abs(both).max() < 1e-15
    assert sum(times * uses_of(law) for law, times in upper) == sum(count for _, count in kinds)
    largest = sum(times * law.max_loss for law, times in upper)
    assert largest >= sum(eta * count for eta, count in kinds)
    for first, _ in upper:
        square = sum(count * eta**2 for eta, count in kinds)
        square *= uses_of(first) / sum(count for _, count in kinds)
        rng = random.Random(str(kinds))
        for _ in range(24):
            epsilon = square / 8.0 + math.sqrt(square) / 2.0 * rng.uniform(-2.0, 6.0)
            if not 0.0 <= epsilon < 0.98 * first.max_loss:
                continue
            cost = profile_of_law(first, epsilon)
            if attained is not None:
                true = attained.proved(np.array([epsilon]))[0][0]
                assert profile_of_law(attained.atoms, epsilon) <= true <= cost * (1.0 + 1e-12)
                assert cost - true < 0.02 * cost
            else:
                for part in (0.5, 0.55, 0.7):
                    t = part * mpf(kinds[0][0])
                    fixed = float(fixed_delta(mpf(kinds[0][0]), uses_of(first), mpf(epsilon), t))
                    assert fixed <= cost * (1.0 + 1e-13)


def uses_of(law: AtomicLaw) -> int:
    """Return how many uses are in one block."""
    assert isinstance(law.mechanism_rdp_curve, BoundedRangeCurve)
    return sum(count for _, count in law.mechanism_rdp_curve.kinds)


def profile_of_law(law: Any, epsilon: float) -> float:
    """Return the sum over the outcomes."""
    losses, masses = np.array(law.losses), np.array(law.masses)
    over = losses > epsilon
    return math.fsum((masses[over] * -np.expm1(epsilon - losses[over])).tolist())


def normal_mean(mu: float, cost: Any) -> float:
    """Return the mean of a cost of the loss of a Gaussian mechanism under P, by a fixed rule."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    total = 0.0
    for left in np.arange(-9.0, 9.0, 0.5):
        for x, w in zip(left + 0.25 * (nodes + 1.0), 0.25 * weights, strict=True):
            density = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
            total += w * density * cost(mu * x + 0.5 * mu * mu)
    return total


@pytest.mark.parametrize(
    ("text", "mu", "epsilon", "cost"),
    [
        ("exponential:epsilon=1+gaussian:sigma=2", 0.5, 0.7, lambda x: v_1(1.0, x)),
        (
            "noisy-max:noise=gumbel,scale=2,candidates=3+gaussian:sigma=1",
            1.0,
            2.0,
            lambda x: v_1(1.0, x),
        ),
    ],
)
def test_one_use_after_another_mechanism(text: str, mu: float, epsilon: float, cost: Any) -> None:
    """What comes last costs its profile at what is left: both ends are the mean of that."""
    lower, upper = bracket(text, epsilon=epsilon)
    true = normal_mean(mu, lambda loss: cost(epsilon - loss))
    assert lower * (1.0 - 1e-8) <= true <= upper * (1.0 + 1e-8)
    assert upper - lower < 1e-6 * true


def test_a_choice_of_candidates_comes_last() -> None:
    """Of several mechanisms without one worst pair one comes last, and is known exactly."""
    text = "noisy-max:noise=exponential,scale=4,candidates=10+gaussian:sigma=5@3"
    lower, upper = bracket(text, delta=1e-6)
    assert upper - lower < 1e-6 * upper
    part = part_of(text)
    assert part.adaptive.lower is part.upper
    # One pair has less, and curves are those of pairs.
    assert part.lower is not part.upper
    assert part.for_curves.lower is not part.upper


def largest_cumulant(eta: Any, c: Any) -> Any:
    """Return the largest K over offsets, by ternary search."""

    def k(t: Any) -> Any:
        return mp.log(sum(p * mp.exp(c * loss) for p, loss in two_point(eta, t)))

    low, high = mpf(0), eta
    for _ in range(160):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if k(left) < k(right):
            low = left
        else:
            high = right
    return k((low + high) / 2)


@pytest.mark.parametrize("eta", [1e-60, 1e-6, 0.1, 1.0, 1.7, 30.0, 700.0])
def test_renyi_divergences_are_maxima_over_offsets(eta: float) -> None:
    """At each order the curve is the maximum over t, to a few digits less than doubles have."""
    rng = random.Random(eta)
    for _ in range(4):
        c = 2.0 ** rng.uniform(-20.0, 20.0)
        with mp.workdps(500 if eta < 1e-5 else 60):
            true = largest_cumulant(mpf(eta), mpf(c))
            upper = mpf(float(BoundedRangeCurve(((eta, 3),)).upper(np.array([c]))[0]))
            assert 3 * true <= upper <= 3 * true * (1 + mpf(10) ** -6)
            assert true <= mpf(c) * (mpf(c) + 1) * mpf(eta) ** 2 / 8


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("delta", [1e-14, 6.95e-25])
def test_deltas_far_below_what_laws_keep(delta: float) -> None:
    """Lower laws end before the largest loss, which the profile does not."""
    lower, upper = bracket("noisy-max:noise=gumbel,scale=4.99,candidates=7@3", delta=delta)
    eta = mpf(2) / mpf("4.99")
    # V_3 = (1 - e^-y)^4 / (1 - e^-eta)^3 near 3 eta, y = (3 eta - epsilon) / 4.
    y = -mp.log1p(-((mpf(delta) * (1 - mp.exp(-eta)) ** 3) ** (mpf(1) / 4)))
    true = 3 * eta - 4 * y
    assert lower <= true <= upper
    assert upper - lower < 1e-5


@pytest.mark.dear("noisy-max:noise=laplace,scale=1,candidates=2-10000000.0]")
@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("exponential:epsilon=0.337@33", 1e6),
        ("noisy-max:noise=laplace,scale=1,candidates=2", 1e7),
    ],
)
def test_bounds_at_neighbouring_doubles_need_not_fall(text: str, work: float) -> None:
    """Each is rounded by itself; between two, the bracket at a decimal is on the side of both."""
    epsilons = [0.107, *(0.013 * k for k in range(1, 40))]
    with allowance(work):
        answers = compose(parse(text).tree, epsilons=epsilons, tolerance=1e-17).answers
    for bound in (each.bound for each in answers):
        assert bound is not None
        assert bound.lower is not None
        assert 0.0 < bound.lower <= bound.upper <= bound.lower * (1.0 + 1e-4)
