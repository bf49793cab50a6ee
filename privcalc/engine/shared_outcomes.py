"""delta at many epsilons from one list of outcomes, one pair of lattice laws, or one law."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.certified import PAD, Certified
from privcalc.engine.fft.answer import (
    FIRST_LOG_DELTA,
    LARGEST_EXPONENT,
    LOG_DROP,
    NAME,
    Tail,
    _Question,
)
from privcalc.engine.fft.levels import MOST_POINTS
from privcalc.engine.fft.sketch import look, scales_for_epsilon
from privcalc.engine.single import single_delta
from privcalc.engine.tail_sums import BlockSums, tail_sums
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.finite import Outcomes
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

# What subnormal numbers may hide.
SUBNORMAL = 1e-322


class SharedOutcomes:
    """A finite law of the total loss, sorted once."""

    def __init__(self, outcomes: Outcomes) -> None:
        """Sort the outcomes; their masses are made bounds of either side."""
        order = np.argsort(outcomes.losses)
        self._losses: Array = outcomes.losses[order]
        masses, error = outcomes.masses[order], outcomes.mass_error[order] + 4.0 * UNIT
        self._masses = (np.maximum(masses * (1.0 - error), 0.0), masses * (1.0 + error))
        self._dropped = outcomes.dropped
        self._loss_error = outcomes.loss_error
        self._blocks: BlockSums | None = None
        self._reach = float(np.abs(outcomes.losses).max(initial=0.0))

    def deltas(self, epsilons: Array, tolerance: float) -> list[Certified]:
        """Bracket delta at increasing epsilons.

        As in `Outcomes.delta`, moving epsilon by the error of the losses covers that.
        """
        moved = self._loss_error * MARGIN + 4.0 * UNIT * (self._reach + np.abs(epsilons))
        low = tail_sums(self._losses, self._masses[0], 0.0, _increasing(epsilons + moved, up=True))
        high = tail_sums(
            self._losses, self._masses[1], 0.0, _increasing(epsilons - moved, up=False)
        )
        pad = PAD * tolerance
        lower = low.payoff * (1.0 - low.error - 8.0 * UNIT) - low.lost
        upper = high.payoff * (1.0 + high.error + 8.0 * UNIT) + high.lost + self._dropped * MARGIN
        lower = np.clip(lower * (1.0 - pad), 0.0, 1.0)
        upper = np.clip(upper * (1.0 + pad), lower, 1.0)
        return _certified(lower, upper, "closed-form", {})

    def estimates(self, epsilons: Array) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound."""
        if self._blocks is None:
            self._blocks = BlockSums(self._losses, self._masses[1], 0.0)
        above, payoff = self._blocks.at(epsilons)
        return payoff, above


class SharedLattice:
    """The laws of the FFT engine for one epsilon, whose bounds hold at all of them."""

    def __init__(
        self,
        composition: Composition,
        epsilon: float,
        tolerance: float,
        most_points: int = MOST_POINTS,
    ) -> None:
        """Compose both laws as `fft_delta` does.

        Raises:
            NotCertifiedError: the laws are too far apart for any lattice.
        """
        log_delta = FIRST_LOG_DELTA
        for _ in range(6):
            sketches = look(composition, log_delta + LOG_DROP)
            scales = scales_for_epsilon(composition, sketches, epsilon)
            if scales.log_delta >= log_delta - 1.0:
                break
            log_delta = max(scales.log_delta, -690.0)
        question = _Question(composition, sketches, scales, log_delta + LOG_DROP)
        self._upper, self._lower = question.tails(tolerance, most_points)
        self._blocks: BlockSums | None = None
        self._terms = self._upper.terms(min(0.0, scales.log_delta))

    def deltas(self, epsilons: Array, tolerance: float) -> list[Certified]:
        """Bracket the finite part of delta at increasing epsilons; see `Tail.delta`."""
        pad = 1.0 + PAD * tolerance
        with np.errstate(over="ignore", invalid="ignore"):
            upper = _side(self._upper, epsilons, 1.0) * pad + SUBNORMAL
            lower = _side(self._lower, epsilons, -1.0) / pad - SUBNORMAL
        lower = np.clip(np.nan_to_num(lower), 0.0, 1.0)
        upper = np.where(np.isnan(upper), 1.0, np.clip(upper, lower, 1.0))
        return _certified(lower, upper, NAME, self._terms)

    def estimates(self, epsilons: Array) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound; 0 below the window."""
        law = self._upper.law
        if self._blocks is None:
            self._blocks = BlockSums(self._upper.losses, law.weights, law.c)
        above, payoff = self._blocks.at(epsilons)
        inside = epsilons >= self._upper.losses[0]
        factor = np.where(inside, np.exp(law.log_scale - law.c * epsilons), 0.0)
        return payoff * factor, above * factor


class SharedTails:
    """A law that is used once: nothing is shared, and each epsilon is cheap."""

    def __init__(self, law: LossLaw) -> None:
        """Take the law."""
        self._law = law

    def deltas(self, epsilons: Array, tolerance: float) -> list[Certified]:
        """Bracket delta at each epsilon."""
        del tolerance
        return [single_delta(self._law, float(epsilon)) for epsilon in epsilons]

    def estimates(self, epsilons: Array) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound."""
        tails = self._law.tails(epsilons)
        return tails.above_p - np.exp(epsilons) * tails.above_q, tails.above_p


def _side(tail: Tail, epsilons: Array, sign: float) -> Array:
    """Bound the finite part of delta from one side, with the units and shifts of `Tail.delta`.

    As there, missing weights count as if they were where they contribute most.
    """
    law = tail.law
    reach = float(np.abs(tail.losses[[0, -1]]).max()) + np.abs(epsilons)
    moved = (law.slack + law.loss_error()) * MARGIN + 4.0 * UNIT * reach
    points = _increasing(epsilons - sign * moved, up=sign < 0.0)
    sums = tail_sums(tail.losses, law.weights, law.c, points)
    exponent = law.log_scale - law.c * points
    size = abs(law.log_scale) + law.c * np.abs(points)
    units = sums.error + UNIT * (96.0 + 16.0 * size)
    payoff = sums.payoff * (1.0 + sign * units) + sign * sums.lost
    if sign > 0.0:
        payoff = payoff + law.missing / (1.0 + law.c) * (1.0 + units)
    value: Array = payoff * np.exp(np.minimum(exponent, LARGEST_EXPONENT))
    if sign < 0.0:
        value = np.maximum(value, 0.0)
    else:
        value = np.where(exponent > LARGEST_EXPONENT, np.inf, value + law.lost * MARGIN)
    return value


def _increasing(points: Array, *, up: bool) -> Array:
    """Bring points into order, moving them only up, or only down."""
    ordered: Array = (
        np.maximum.accumulate(points) if up else np.minimum.accumulate(points[::-1])[::-1]
    )
    return ordered


def _certified(lower: Array, upper: Array, name: str, terms: dict[str, float]) -> list[Certified]:
    return [
        Certified(Bound(float(high), float(low)), name, terms)
        for low, high in zip(lower, upper, strict=True)
    ]
