"""Several uses of the exponential mechanism: one mechanism below, all adaptive ones above."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.directions import Directions
from privcalc.accounting.lower_ends import lower_end
from privcalc.accounting.realize import realize
from privcalc.exact import Enclosed
from privcalc.losses.bounded_range.contour import LatticeContour
from privcalc.losses.bounded_range.law import BoundedRangeLaw
from privcalc.losses.bounded_range.renyi import BoundedRangeCurve, bounded_range_cumulant
from privcalc.losses.bounded_range.uses import adaptive_profiles
from privcalc.losses.bounded_range.uses_law import range_uses
from privcalc.losses.members import RangePairs
from privcalc.relation import Relation
from privcalc.renyi.concentrated import smallest_rho
from privcalc.spec.parse import parse
from tests.pairs import bracket

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


def adaptive_delta(eta: float, uses: int, epsilon: float, grid: int) -> float:
    """Return the largest delta where the next offset, of a grid, depends on what came out."""
    if uses == 0:
        return max(0.0, -math.expm1(epsilon))
    best = 0.0
    for i in range(grid + 1):
        t = eta * i / grid
        p = math.expm1(t - eta) / math.expm1(-eta)
        value = p * adaptive_delta(eta, uses - 1, epsilon - t, grid)
        value += (1.0 - p) * adaptive_delta(eta, uses - 1, epsilon - t + eta, grid)
        best = max(best, value)
    return best


def part_of(text: str) -> Any:
    """Return the only direction of a specification."""
    (part,) = realize(parse(text).tree, Relation.ADD_OR_REMOVE_ONE).values()
    return part


@pytest.mark.parametrize(
    ("eta", "uses", "proved", "achieved"),
    [
        pytest.param(0.1, 1000, 8.84589, 8.29, marks=pytest.mark.slow),
        (0.5, 50, 10.0891, 9.31),
        (1.0, 10, 8.845889, 7.71),
        (0.01, 100, 0.9, 0.188),
    ],
)
def test_rows(eta: float, uses: int, proved: float, achieved: float) -> None:
    """Below what zCDP proves, and above what one offset achieves, whose composition is exact."""
    text = f"exponential:epsilon={eta}@{uses}"
    lower, upper = bracket(text, delta=1e-6)
    assert achieved < lower <= upper <= proved
    assert upper - lower < 0.012 * upper
    part = part_of(text)
    (law, count), *others = part.lower.terms
    assert count == uses
    assert not others
    # Some offset costs the lower end, and no offset of a grid is much above it.
    e = mpf(str(eta))
    offsets = [e * (mpf(1) / 2 + mpf(k) / 400) for k in range(200)]
    costs = [float(fixed_delta(e, uses, mpf(lower), t)) for t in offsets[:: 1 if uses < 200 else 5]]
    assert 0.99e-6 <= max(costs) <= 1.2e-6
    assert law.max_loss == pytest.approx(0.5 * eta)


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


@pytest.mark.parametrize(("eta", "uses", "grid"), [(1.0, 2, 60), (0.4, 3, 18), (3.0, 2, 60)])
def test_no_adaptive_search_exceeds_the_upper_end(eta: float, uses: int, grid: int) -> None:
    """Offsets of a grid, each chosen after the outcomes before it, come close to the upper end."""
    for epsilon in (0.0, 0.2 * eta, 0.9 * eta, 1.3 * eta):
        lower, upper = bracket(f"exponential:epsilon={eta}@{uses}", epsilon=epsilon)
        found = adaptive_delta(eta, uses, epsilon, grid)
        assert found <= upper
        assert lower <= upper
        assert upper - found < 0.02 * found


@pytest.mark.parametrize(("step", "parts"), [(0.125, 8), (2.0**-10, 40), (0.25, 20)])
def test_one_use_of_the_recursion_is_the_envelope(step: float, parts: int) -> None:
    """V_1 is the envelope at every point of the lattice, and V_2 is above two grids of offsets."""
    eta = parts * step
    first, second = adaptive_profiles(step, parts, 2)
    law = BoundedRangeLaw(eta)
    for k in range(parts):
        true = law.profile(k * step)
        assert true[0] <= first[k] <= true[1] * (1.0 + 1e-9)
    for k in range(0, 2 * parts, max(1, parts // 4)):
        found = adaptive_delta(eta, 2, k * step, parts)
        assert found * (1.0 - 1e-12) <= second[k] <= found * 1.05 + 0.01


@pytest.mark.parametrize(("eta", "uses"), [(0.3, 2), (0.3, 90), (0.05, 3000), (2.0, 7), (9.0, 40)])
def test_the_law_of_all_uses_is_a_law(eta: float, uses: int) -> None:
    """It is above every fixed offset at every epsilon, and its masses are those of a pair."""
    law = range_uses(eta, uses)
    assert law is not None
    losses, masses = np.array(law.losses), np.array(law.masses)
    assert math.fsum(masses) == pytest.approx(1.0, abs=1e-14)
    assert math.fsum(law.lower_masses) <= 1.0 + 1e-14
    assert law.max_loss >= uses * eta
    centre, spread = uses * eta**2 / 8.0, eta * math.sqrt(uses) / 2.0
    for part in (0.5, 0.55, 0.7, 0.9):
        for z in (-0.5, 1.0, 4.0):
            epsilon = min(max(0.0, centre + z * spread), 0.98 * uses * eta)
            over = losses > epsilon
            value = float((masses[over] * -np.expm1(epsilon - losses[over])).sum())
            fixed = float(fixed_delta(mpf(eta), uses, mpf(epsilon), part * mpf(eta)))
            assert fixed <= value * (1.0 + 1e-13)


def test_one_mechanism_in_between_does_not_help() -> None:
    """Two uses around a Gaussian one, the last offset chosen after both, stay below the upper end.

    The Gaussian loss is taken on a grid of its quantiles, whose means are those of its tails.
    """
    eta, mu, epsilon = 1.0, 0.5, 0.7
    lower, upper = bracket("exponential:epsilon=1@2+gaussian:sigma=2", epsilon=epsilon)
    edges = np.linspace(-4.0, 4.5, 120)
    tail = np.array([0.5 * math.erfc(x / math.sqrt(2.0)) for x in edges])
    moved = np.array([0.5 * math.erfc((x + mu) / math.sqrt(2.0)) for x in edges])
    p, q = tail[:-1] - tail[1:], moved[:-1] - moved[1:]
    middle = np.log(p / q)

    def last(x: float) -> float:
        return BoundedRangeLaw(eta).profile(x)[0] if abs(x) < eta else max(0.0, -math.expm1(x))

    best = 0.0
    for i in range(41):
        t = eta * i / 40
        first = math.expm1(t - eta) / math.expm1(-eta)
        value = 0.0
        for share, loss in ((first, t), (1.0 - first, t - eta)):
            for mass, x in zip(p, middle, strict=True):
                value += share * float(mass) * last(epsilon - loss - float(x))
        best = max(best, value)
    assert lower <= best + 0.02
    assert best <= upper
    assert upper < best * 1.15


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
            value, error = (float(each[0]) for each in bounded_range_cumulant(eta, np.array([c])))
            assert abs(mpf(value) - true) <= mpf(error)
            upper = mpf(float(BoundedRangeCurve(eta, 3).upper(np.array([c]))[0]))
            assert 3 * true <= upper <= 3 * true * (1 + mpf(10) ** -12)
            assert true <= mpf(c) * (mpf(c) + 1) * mpf(eta) ** 2 / 8


def test_zero_concentration_and_divergences_are_narrow() -> None:
    """The slope is the divergence at order 1, 0.1233 for epsilon 1; every order is attained."""
    with mp.workdps(40):
        g = mp.log(mp.sinh(mpf(1) / 2) * 2)
        kl = g + (mp.coth(mpf(1) / 2) / 2 - 1)
        for text, uses in (("exponential:epsilon=1", 1), ("exponential:epsilon=1@7", 7)):
            found = smallest_rho({"both": part_of(text)}, 1e-9).rho
            assert found.lower is not None
            assert found.lower <= uses * kl <= found.upper
            assert found.upper - found.lower < 1e-7 * found.upper
            (bound,) = Directions({"both": part_of(text)}, 1e-9).renyi([5.0])
            true = uses * largest_cumulant(mpf(1), mpf(4)) / 4
            assert bound.lower is not None
            assert bound.lower <= true <= bound.upper
            assert bound.upper - bound.lower < 1e-11 * bound.upper
    assert smallest_rho({"both": part_of("exponential:epsilon=0.1")}, 1e-9).rho.upper <= 0.00125


def test_one_use_and_delta_0_stay_exact() -> None:
    """Both ends are those of the envelope, and of the largest loss."""
    for epsilon, delta in ((0.3, 1e-3), (2.0, 0.1)):
        lower, upper = bracket(f"exponential:epsilon={epsilon}", delta=delta)
        assert upper - lower < 1e-9
        whole = -mp.expm1(-mpf(str(epsilon)))
        true = mpf(str(epsilon)) + 2 * mp.log(1 - mp.sqrt(mpf(delta) * whole))
        assert lower <= true <= upper
    for text, epsilon in (("exponential:epsilon=0.1@3", 0.3), ("exponential:epsilon=2@30", 60.0)):
        assert bracket(text, delta=0.0) == (epsilon, epsilon)


def test_sums_take_the_best_of_both() -> None:
    """Beside others the upper end is below that of envelopes, and the lower one is close."""
    for text, before in (
        ("exponential:epsilon=0.1@100+gaussian:sigma=5", 2.78678),
        ("exponential:epsilon=1@poisson:q=0.1@100", 2.9071),
    ):
        lower, upper = bracket(text, delta=1e-6)
        assert 0.8 * upper < lower <= upper <= before
        if "gaussian" in text:
            assert upper < 2.47


def test_lower_ends_of_a_known_law_are_its_own() -> None:
    """Nothing is searched where one pair is attained."""
    part = part_of("gaussian:sigma=1@7")
    assert not part.choices
    found = lower_end(part, "epsilon", Enclosed.of(1e-5), tolerance=1e-9, engine="auto")
    assert found is not None
    assert (found.lower, found.upper) == bracket("gaussian:sigma=1@7", delta=1e-5)


@pytest.mark.parametrize("c", [0.01, 2.0, 40.0])
def test_contours_of_long_lattices(c: float) -> None:
    """The sum over the lattice and the atom beyond agrees with mpmath, within its error."""
    law = range_uses(0.2, 300)
    assert law is not None
    contour = law.on_contour(c, 100.0, -36.0)
    assert isinstance(contour, LatticeContour)
    t = np.array([0.0, 0.3, 2.0, 31.4])
    value, error = contour.log_mgf(t)
    for k, each in enumerate(t):
        s = mp.mpc(c, float(each))
        true = mp.log(
            mp.fsum(
                mpf(mass) * mp.exp(s * mpf(loss))
                for mass, loss in zip(law.masses, law.losses, strict=True)
            )
        )
        wrong = mp.mpc(complex(value[k])) - true
        wrong -= 2j * mp.pi * mp.nint(wrong.imag / (2 * mp.pi))
        assert abs(wrong) <= mpf(float(error[k]))
        if each < 1.0:
            assert error[k] < 1e-10
    k0 = law.cumulants(c)[0]
    assert float(value[0].real) == pytest.approx(k0, abs=1e-10)
