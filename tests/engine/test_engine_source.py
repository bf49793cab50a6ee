"""Sources and their inverse: what each error term is for, and what is proved at both ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest

from privcalc.bounds import Proof
from privcalc.engine.certified import Deltas, SingleUse, bracket, brackets
from privcalc.engine.composition import Composition
from privcalc.engine.inverse import inverse, root
from privcalc.engine.inversion.line_sum import Line, LineSum, Measures
from privcalc.engine.inversion.solve import Decaying
from privcalc.errors import NotCertifiedError
from privcalc.losses.gaussian import GaussianContour, GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from tests.truths import normal_delta

if TYPE_CHECKING:
    from privcalc.engine.certified import Source
    from privcalc.numerics.rounding import Array

mpmath.mp.dps = 40
MU, EPSILON = 0.8, 1.5


class Falling:
    """A source whose delta is e^{-epsilon}, with brackets as wide as it is told."""

    proof = Proof.INVERSION
    pad = 0.0

    def __init__(self, below: float = 0.0, above: float = 0.0, *, kinks: bool = False) -> None:
        """Take the relative widths on both sides, and whether there are kinks."""
        self.widths = below, above
        self.kinks = kinks
        self.asked: list[float] = []

    def value(self, epsilons: Array) -> Array:
        """Return e^{-epsilon}, or a chain of chords of it in e^epsilon."""
        if not self.kinks:
            smooth: Array = np.exp(-epsilons)
            return smooth
        left = np.floor(3.0 * epsilons) / 3.0
        part = np.expm1(epsilons - left) / math.expm1(1.0 / 3.0)
        chords: Array = np.exp(-left) * (1.0 - part) + np.exp(-left - 1.0 / 3.0) * part
        return chords

    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket delta."""
        del log_scale
        self.asked += epsilons.tolist()
        value = self.value(epsilons)
        below, above = self.widths
        with np.errstate(invalid="ignore"):
            low, high = value * (1.0 - below), value * (1.0 + above)
        return Deltas(np.zeros(len(epsilons)), low, high, value, {"test": high - low})

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta, and delta minus its slope."""
        value, step = self.value(epsilons), 1e-7
        slope = (self.value(epsilons + step) - value) / step
        unit = math.exp(-log_scale)
        return value * unit, (value - slope) * unit


@pytest.mark.parametrize("guess", [0.0, 3.0, 1000.0])
@pytest.mark.parametrize("kinks", [False, True])
def test_roots_are_found_from_anywhere(guess: float, *, kinks: bool) -> None:
    """Newton's method, halved where it goes astray, finds the epsilon at a delta."""
    source = Falling(kinks=kinks)
    epsilon, _ = root(source, math.log(1e-4), guess)
    assert float(source.value(np.array([epsilon]))[0]) == pytest.approx(1e-4, rel=1e-9)


def test_ends_are_proved_and_no_farther_than_needed() -> None:
    """Each end is an epsilon at which its proof succeeded, and the other side of it does not."""
    source = Falling(below=0.3, above=0.2)
    bound = inverse(source, 1e-3, 1e-3, 1e-6).bound
    assert bound.lower is not None
    assert bound.lower in source.asked
    assert bound.upper in source.asked
    assert math.exp(-bound.upper) * 1.2 <= 1e-3
    assert math.exp(-bound.lower) * 0.7 >= 1e-3
    assert bound.upper == pytest.approx(math.log(1.2e3), rel=1e-6)
    assert bound.lower == pytest.approx(math.log(0.7e3), rel=1e-6)


@pytest.mark.parametrize("above", [1e-3, 1e-6, 0.5])
def test_an_epsilon_of_nothing_is_proved_too(above: float) -> None:
    """Where the estimate is 0 and the proof fails there, the upper end is where it succeeds."""
    target = math.nextafter(1.0, 0.0)
    bound = inverse(Falling(above=above), target, target, 1e-6).bound
    assert math.exp(-bound.upper) * (1.0 + above) <= target
    assert bound.upper <= 2.0 * above + 1e-6


def test_narrow_sources_are_asked_once() -> None:
    """Where errors are small both ends are proved at the first trial, a pad away."""
    source = Falling(1e-13, 1e-13)
    bound = inverse(source, 1e-3, 1e-3, 1e-9).bound
    assert len(source.asked) == 2
    assert bound.width == pytest.approx(0.04 * 1e-9 * bound.upper, rel=1e-3)


@pytest.mark.parametrize("log_scale", [-700.0, -718.0, -734.8151328697813, -743.0, -800.0])
@pytest.mark.parametrize("size", [1e50, -1e250])
def test_units_may_be_subnormal(log_scale: float, size: float) -> None:
    """e^{log_scale} then has few digits or none, but what it multiplies may be a normal number.

    A lower end of any size below 0 says nothing.
    """

    class Far(Falling):
        def deltas(self, epsilons: Array, log_scale_: float | None = None) -> Deltas:
            del log_scale_
            low, high = np.full(len(epsilons), size), np.full(len(epsilons), abs(size))
            scales = np.full(len(epsilons), log_scale)
            return Deltas(scales, low, high, high, {})

    bound = bracket(Far(), 1.0, 1e-9).bound
    truth = max(mpmath.mpf(size), 0) * mpmath.exp(mpmath.mpf(log_scale))
    assert bound.lower is not None
    assert bound.lower <= truth <= bound.upper


def test_nothing_is_claimed_without_proof() -> None:
    """Without an upper end there is no answer; without a lower one it is 0."""
    with pytest.raises(NotCertifiedError, match="test"):
        inverse(Falling(above=math.inf), 1e-3, 1e-3, 1e-9)
    assert inverse(Falling(below=1.0), 1e-3, 1e-3, 1e-9).bound.lower == 0.0
    # delta(0) = 1 is at most the target: no epsilon is needed.
    zero = inverse(Falling(), 1.0 - 1e-16, 1.0, 1e-9).bound
    assert zero.lower == 0.0
    assert zero.upper == pytest.approx(0.0, abs=1e-12)


C, RIGHT = 3.0, 5.0


def contour(
    nodes: int = 60, step: float = 0.25, *, moved: float = 0.0, error: float | Array = 0.0
) -> Measures:
    """Return a line of one Gaussian law, with cumulants that are moved, and have these errors."""
    law = GaussianContour(MU, C)
    values, errors = law.log_mgf_progression(step, nodes + 1)
    log_cut = 6.0 * MU**2 + law.log_decay((nodes + 0.5) * step)
    line = Line(C, step, nodes, (RIGHT, 15.0 * MU**2), EPSILON, log_cut)
    summed = LineSum(line, (values + moved, errors + error))
    return Measures(Proof.INVERSION, (summed,), (), (), EPSILON, math.log(1e-2))


def ends(source: Source, epsilon: float) -> tuple[float, float]:
    """Return the certified ends at one epsilon, without any pad."""
    bound = bracket(source, epsilon, 0.0).bound
    assert bound.lower is not None
    return bound.lower, bound.upper


def without(source: Source, epsilon: float, name: str) -> tuple[float, float]:
    """Return the ends as they would be without one of the error terms."""
    found = source.deltas(np.array([epsilon]))
    scale, term = math.exp(found.log_scale[0]), float(found.terms[name][0])
    low, high = float(found.lower[0]), float(found.upper[0])
    if name != "dropped":
        low += term
    if name != "aliasing":
        high -= term
    return low * scale, high * scale


def contains(bounds: tuple[float, float], truth: mpmath.mpf) -> bool:
    """Say whether a number lies between two."""
    return bool(bounds[0] <= truth <= bounds[1])


def test_aliasing_is_needed() -> None:
    """With long steps the sum exceeds delta by the aliases, and no bracket without them holds."""
    source = contour(step=3.5)
    truth = normal_delta(MU, EPSILON)
    assert contains(ends(source, EPSILON), truth)
    assert not contains(without(source, EPSILON, "aliasing"), truth)


@pytest.mark.parametrize("nodes", [3, 5, 8])
def test_what_is_cut_off_is_needed(nodes: int) -> None:
    """With few nodes the sum misses delta by what is cut off."""
    source = contour(nodes, 0.5)
    truth = normal_delta(MU, EPSILON)
    assert contains(ends(source, EPSILON), truth)
    assert not contains(without(source, EPSILON, "truncation"), truth)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_errors_of_the_cumulant_are_needed(sign: float) -> None:
    """Cumulants that are off by as much as they admit give brackets that hold."""
    truth, moved = normal_delta(MU, EPSILON), sign * 1e-3
    assert not contains(ends(contour(moved=moved), EPSILON), truth)
    assert contains(ends(contour(moved=moved, error=1e-3), EPSILON), truth)
    # Where an error is 1 or more, or not a number, the node is left out, and its bound counts.
    for unknown in (2.0, math.inf, math.nan):
        error = np.full(61, 1e-3)
        error[2:] = unknown
        low, high = ends(contour(moved=moved, error=error), EPSILON)
        assert low <= truth <= high < 1.0


def test_dropped_outcomes_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a truncated law leaves out is missing in the sum, and counted above it."""
    from privcalc.losses.sampled.law import sampled

    law = sampled(GaussianLaw(1.0), 0.5, remove=True)
    composition = Composition.of([(law, 1)])
    epsilon = 1.0
    cut = composition.truncated(math.log(3e-3))
    monkeypatch.setattr(Composition, "truncated", lambda self, _: self)
    source = Decaying(cut).make(epsilon, math.log(1e-3), 0.2, 3.0)
    threshold = mpmath.log((mpmath.exp(epsilon) - 0.5) / 0.5) + 0.5
    low, high = mpmath.ncdf(-threshold), mpmath.ncdf(1 - threshold)
    truth = (low + high) / 2 - mpmath.exp(epsilon) * low
    assert contains(ends(source, epsilon), truth)
    assert not contains(without(source, epsilon, "dropped"), truth)


def test_one_use_is_its_closed_form() -> None:
    """One use of the Laplace mechanism: delta = 1 - e^{(epsilon - 1/b)/2}, at many epsilons."""
    source = SingleUse(LaplaceLaw(2.0))
    points = np.array([0.0, 0.4, 1.9, 1.999999])
    for epsilon, found in zip(points.tolist(), brackets(source, points, 1e-9), strict=True):
        assert found is not None
        assert found.bound.lower is not None
        truth = -mpmath.expm1((mpmath.mpf(epsilon) - 2) / 2)
        assert found.bound.lower <= truth <= found.bound.upper
    target = float(-mpmath.expm1((mpmath.mpf(1.9) - 2) / 2))
    bound = inverse(source, target, target, 1e-9).bound
    assert bound.lower is not None
    assert bound.lower <= 1.9 * (1 + 1e-15)
    assert bound.upper >= 1.9 * (1 - 1e-15)
