"""The FFT engine's answers: certified brackets of epsilon and of delta from lattice laws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.certified import EPSILON_FLOOR, PAD, Certified, steps
from privcalc.engine.fft.lattice import WindowError
from privcalc.engine.fft.levels import (
    FEWER_POINTS,
    FINE,
    MANY_USES,
    MOST_POINTS,
    compose_levels,
    plan_journey,
)
from privcalc.engine.fft.sketch import look, scales_for_delta, scales_for_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import left

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.composition import Composition
    from privcalc.engine.fft.lattice import LatticeLaw
    from privcalc.engine.fft.sketch import Scales, Sketch
    from privcalc.numerics.arrays import Array

    Worth = Callable[[float], bool]

# Part of delta that far outcomes, counted as infinite losses, may make up.
LOG_DROP = math.log(1e-11)
# numpy adds doubles pairwise in blocks of 128.
SUM_ULPS = 256.0
# Where delta is not known beforehand, outcomes of this mass are kept.
FIRST_LOG_DELTA = -80.0
LARGEST_EXPONENT = 650.0
NAME = "fft"
# Where windows are too large, the lattice is made coarser, so many times.
COARSER = 6


class LeftOutError(NotCertifiedError):
    """The engine was not asked: what it could add is not worth what it costs."""


def always(width: float) -> bool:
    """Ask whatever it costs."""
    return width >= 0.0


def fft_epsilon(
    composition: Composition,
    delta_low: float,
    delta_high: float,
    tolerance: float,
    *,
    most_points: int = MOST_POINTS,
    worth: Worth = always,
) -> Certified:
    """Bracket the least epsilon >= 0 at which the finite part of delta is at most a target.

    Args:
        composition: laws and counts; only their tails are asked for.
        delta_low: the target is at least this ...
        delta_high: ... and at most this.
        tolerance: relative width wished for; what `most_points` cannot afford is not tried.
        most_points: size of the largest transform that is aimed at.
        worth: whether to go on, told about the relative width that can be had.

    Raises:
        NotCertifiedError: no finite upper end could be proved.
        LeftOutError: it is not worth it.
    """
    log_delta = math.log(delta_low)
    log_drop = log_delta + LOG_DROP
    sketches = look(composition, log_drop)
    scales = scales_for_delta(composition, sketches, log_delta)
    question = _Question(composition, sketches, scales, log_drop)
    question.weigh(tolerance, most_points, worth, 1.0 / max(scales.epsilon, EPSILON_FLOOR))
    upper, lower = question.tails(tolerance, most_points)
    ratio = delta_high / delta_low * (1.0 + 4e-16)
    above = _first_proved(
        upper.solve(log_delta, scales.epsilon) + upper.moved(scales.epsilon),
        tolerance,
        lambda epsilon: upper.delta(epsilon, log_delta) <= 1.0,
    )
    below = _first_proved(
        min(
            lower.solve(log_delta + math.log(ratio), scales.epsilon) - lower.moved(scales.epsilon),
            above,
        ),
        -tolerance,
        lambda epsilon: epsilon <= 0.0 or lower.delta(epsilon, log_delta) >= ratio,
    )
    if math.isinf(above):
        raise NotCertifiedError("what the lattice loses to rounding and to infinity exceeds delta")
    bound = Bound(above, min(max(below, 0.0), above))
    return Certified(bound, NAME, upper.terms(log_delta))


def _first_proved(start: float, tolerance: float, proved: Callable[[float], bool]) -> float:
    """Walk from an estimate, up or down with the sign of the tolerance, until the test holds.

    Returns infinity if it never does; 0 needs no proof as a lower end. (epsilon >= 0.)
    """
    start = max(start, 0.0)
    if tolerance > 0.0 and proved(0.0) and start <= EPSILON_FLOOR:
        return 0.0
    pad = PAD * max(abs(tolerance) * start, EPSILON_FLOOR)
    for step in steps(pad):
        at = start + math.copysign(step, tolerance)
        if proved(at):
            return at
    return math.inf if tolerance > 0.0 else 0.0


def fft_delta(
    composition: Composition,
    epsilon: float,
    tolerance: float,
    *,
    most_points: int = MOST_POINTS,
    worth: Worth = always,
) -> Certified:
    """Bracket the finite part of delta at an epsilon; see `fft_epsilon`."""
    log_delta = FIRST_LOG_DELTA
    for _ in range(6):
        sketches = look(composition, log_delta + LOG_DROP)
        scales = scales_for_epsilon(composition, sketches, epsilon)
        if scales.log_delta >= log_delta - 1.0:
            break
        log_delta = max(scales.log_delta, -690.0)
    question = _Question(composition, sketches, scales, log_delta + LOG_DROP)
    # log delta falls with epsilon by about c.
    question.weigh(tolerance, most_points, worth, scales.c)
    upper, lower = question.tails(tolerance, most_points)
    scale = min(0.0, scales.log_delta)
    pad = 1.0 + PAD * tolerance
    factor = math.exp(scale)
    error = 1.0 + UNIT * (16.0 + 4.0 * abs(scale))
    high = upper.delta(epsilon, scale) * pad * factor * error + 1e-322
    low = lower.delta(epsilon, scale) / pad * factor / error - 1e-322
    if not math.isfinite(high):
        raise NotCertifiedError("what the lattice loses to rounding and to infinity exceeds delta")
    bound = Bound(min(1.0, high), min(1.0, max(0.0, low)))
    return Certified(bound, NAME, upper.terms(scale))


@dataclass(frozen=True, slots=True)
class _Question:
    """A composition with what was seen of it."""

    composition: Composition
    sketches: tuple[Sketch, ...]
    scales: Scales
    log_drop: float

    def weigh(self, tolerance: float, most_points: int, worth: Worth, relative: float) -> None:
        """Refuse work that is not worth it; `relative` times a width of epsilon is relative."""
        if worth is always:
            return
        journey = plan_journey(self.composition, self.sketches, self.scales, tolerance, most_points)
        width = journey.width * relative
        if not worth(width):
            raise LeftOutError(f"would give about {width:.0e} at best")

    def tails(self, tolerance: float, most_points: int) -> tuple[Tail, Tail]:
        """Return both final laws, on the finest lattice whose windows are not too large."""
        if tolerance < FINE and max(count for _, count in self.composition) > MANY_USES:
            most_points = min(most_points, FEWER_POINTS)
        reason = ""
        for trial in range(COARSER):
            if trial and left() <= 0.0:
                reason += ", and coarser lattices more work than a question may cost"
                break
            journey = plan_journey(
                self.composition, self.sketches, self.scales, tolerance, most_points / 2.0**trial
            )
            try:
                return (
                    Tail.of(compose_levels(self.composition, journey, "upper", self.log_drop)),
                    Tail.of(compose_levels(self.composition, journey, "lower", self.log_drop)),
                )
            except WindowError as error:
                reason = str(error)
        raise NotCertifiedError(reason)


@dataclass(frozen=True, slots=True)
class Tail:
    """The final lattice law, ready to give its side of delta at any epsilon."""

    law: LatticeLaw
    losses: Array

    @classmethod
    def of(cls, law: LatticeLaw) -> Tail:
        """Form the losses once."""
        if not len(law.indices):
            raise NotCertifiedError("nothing of the law is left on the lattice")
        return cls(law, law.losses())

    def delta(self, epsilon: float, log_scale: float) -> float:
        """Bound delta at an epsilon, in units of e^{log_scale}.

        The sum of p (1 - e^{epsilon - l})_+ falls with epsilon - l, so that moving epsilon by the
        law's slack, the rounding of the losses and that of the gaps covers all three. With weights
        w, p = w e^{log_scale - cl}: each term is off by some units and by 16 of its exponents, the
        sum by SUM_ULPS. Capping an exponent lowers a lower bound, and an upper one is given up.

        An outcome of weight w at any loss l = epsilon + g contributes w e^{log_scale - c epsilon}
        e^{-cg} (1 - e^{-g}), g > 0, which is at most w e^{log_scale - c epsilon} / (1 + c): so much
        is added for weights that are missing.
        """
        law = self.law
        sign = 1.0 if law.side == "upper" else -1.0
        moved = self.moved(epsilon)
        gap = self.losses - (epsilon - sign * moved)
        over = gap > 0.0
        gap, weights = gap[over], law.weights[over]
        at = epsilon - sign * moved
        exponent = law.log_scale - law.c * at - log_scale
        size = abs(law.log_scale) + law.c * abs(at) + abs(log_scale)
        units = UNIT * (SUM_ULPS + 96.0 + 16.0 * size + 8.0 * law.c * gap)
        with np.errstate(over="ignore"):
            powers = np.exp(np.minimum(exponent - law.c * gap, LARGEST_EXPONENT))
        terms = weights * powers * -np.expm1(-gap) * (1.0 + sign * units)
        value = float(np.maximum(terms, 0.0).sum())
        if law.side == "lower":
            return value * (1.0 - 16.0 * UNIT)
        if exponent > LARGEST_EXPONENT:
            return math.inf
        absent = law.missing / (1.0 + law.c) * exp_bound(exponent + UNIT * (8.0 + 8.0 * size))
        return value * (1.0 + 16.0 * UNIT) + absent + law.lost * exp_bound(-log_scale) * MARGIN

    def moved(self, epsilon: float) -> float:
        """Return by how much epsilon has to be moved: see `delta`."""
        reach = float(np.abs(self.losses[[0, -1]]).max()) + abs(epsilon)
        return (self.law.slack + self.law.loss_error()) * MARGIN + 4.0 * UNIT * reach

    def solve(self, log_delta: float, guess: float) -> float:
        """Return about the epsilon at which the bound equals e^{log_delta}; near 0 it may be below.

        delta at all lattice points near a guess is a pair of sums from the right; between two
        points it is linear in e^epsilon.
        """
        c, target = self.law.c, math.exp(log_delta) - self.law.lost
        if not target > 0.0:
            return math.inf
        for reach in (30.0, 300.0, math.inf):
            near = self.losses >= max(guess - reach / c, -1.0 / c)
            losses, weights = self.losses[near], self.law.weights[near]
            if not len(losses):
                return 0.0
            with np.errstate(over="ignore", under="ignore"):
                logs = self.law.log_scale - c * losses
                top = float(logs.max())
                p = weights * np.exp(logs - top)
                low = float(losses[0])
                q = p * np.exp(low - losses)
            above_p, above_q = np.cumsum(p[::-1])[::-1], np.cumsum(q[::-1])[::-1]
            delta = above_p - np.exp(np.minimum(losses - low, 700.0)) * above_q
            goal = math.exp(min(max(log_delta - top, -745.0), 700.0)) * target / math.exp(log_delta)
            index = int(np.searchsorted(-delta, -goal))
            if index > 0 or reach == math.inf:
                break
        if index == 0:
            return float(losses[0]) - 1e-9 if losses[0] > 0.0 else -1e-9
        if index >= len(losses):
            return float(losses[-1])
        # Between the two points the masses above the right one count.
        over = (above_p[index] - goal) / above_q[index]
        return low + math.log(over) if over > 0.0 else float(losses[index])

    def terms(self, log_delta: float) -> dict[str, float]:
        """Return the mass counted as infinite, relative to delta."""
        return {"truncation": self.law.lost * exp_bound(-log_delta)}
