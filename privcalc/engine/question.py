"""The two questions that are put to the engines: epsilon at a delta, and delta at an epsilon."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Protocol

from privcalc.engine.certified import DELTA_FLOOR, EPSILON_FLOOR
from privcalc.engine.contours import contours
from privcalc.engine.finite.outcomes import enumerate_outcomes
from privcalc.engine.inverse import FIRST_LOG_DELTA, inverse
from privcalc.engine.single import SingleUse
from privcalc.engine.source import bracket
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.engine.source import Source
    from privcalc.engine.wish import Effort


def exact_sum(composition: Composition) -> Source | None:
    """Return the list of all outcomes, where they are finitely many and few enough.

    Of one use of which more is known there is none.
    """
    if composition.has_exact_single_use_profile:
        return None
    outcomes = enumerate_outcomes(composition)
    return None if outcomes is None else outcomes.source()


def single_use(composition: Composition) -> Source | None:
    """Return the tails of the law, where there is one use of one."""
    if [count for _, count in composition] == [1]:
        return SingleUse(composition.terms[0][0])
    return None


def far_out(question: Question) -> tuple[Source | None, bool]:
    """Return the source of one large loss, and whether it is likely to be the best one.

    It is where epsilon is given and far beyond what all losses together usually are.
    """
    from privcalc.engine.large_loss import one_large_loss

    source = one_large_loss(question.composition)
    at = question.at
    return source, source is not None and at is not None and source.is_far(at)


class Question(Protocol):
    """One question about a composition, put to each engine."""

    @property
    def composition(self) -> Composition:
        """Return what is asked about."""
        ...

    @property
    def floor(self) -> float:
        """Return the absolute width below which that of the tolerance does not matter."""
        ...

    @property
    def at(self) -> float | None:
        """Return the epsilon, where one is given."""
        ...

    def source(self, source: Source, tolerance: float) -> Certified:
        """Ask a source that knows everything."""
        ...

    def contours(self) -> Iterator[Callable[[float], Certified]]:
        """Yield the contours to ask, given a tolerance, in order."""
        ...

    def fft(self, effort: Effort) -> Certified:
        """Ask the FFT engine."""
        ...

    def renyi(self) -> Certified:
        """Ask for the best Renyi order."""
        ...

    def divergences(self) -> Certified:
        """Ask for what Renyi divergences prove at both ends."""
        ...

    def rough(self, *, sharp: bool = True) -> float:
        """Return about what one Renyi order proves; `sharp` as of `Composition.renyi_curve`."""
        ...


@record
class EpsilonAt:
    """Which epsilon >= 0 is the least whose delta, but for the mass at infinity, is a target?

    Attributes:
        composition: laws and counts of one adjacency.
        low: the target is at least this ...
        high: ... and at most this.
    """

    composition: Composition
    low: float
    high: float
    floor = EPSILON_FLOOR
    at = None

    def source(self, source: Source, tolerance: float) -> Certified:
        """Invert a source."""
        return inverse(source, self.low, self.high, tolerance)

    def contours(self) -> Iterator[Callable[[float], Certified]]:
        """Yield the contours."""
        for solve, _ in contours(self.composition, math.log(self.low)):
            yield partial(solve, self.composition, self.low, self.high)

    def fft(self, effort: Effort) -> Certified:
        """Ask the FFT engine."""
        from privcalc.engine.lattice.answer import fft_epsilon

        asked = self.composition, self.low, self.high, effort.tolerance
        return fft_epsilon(*asked, most_points=effort.points, worth=effort.worth)

    def renyi(self) -> Certified:
        """Ask for the best Renyi order."""
        from privcalc.engine.renyi import renyi_epsilon

        return renyi_epsilon(self.composition, self.low)

    def divergences(self) -> Certified:
        """Ask for what Renyi divergences prove at both ends."""
        from privcalc.engine.divergences import epsilon_bracket

        return epsilon_bracket(self.composition, self.low, self.high)

    def rough(self, *, sharp: bool = True) -> float:
        """Return about what one Renyi order proves."""
        from privcalc.engine.renyi import rough

        return rough(self.composition, "epsilon", self.low, sharp=sharp)


@record
class DeltaAt:
    """What is delta at an epsilon, but for the mass at infinity?

    Attributes:
        composition: laws and counts of one adjacency.
        epsilon: a double >= 0.
    """

    composition: Composition
    epsilon: float
    floor = DELTA_FLOOR

    @property
    def at(self) -> float:
        """Return the epsilon."""
        return self.epsilon

    def source(self, source: Source, tolerance: float) -> Certified:
        """Ask a source at one epsilon."""
        return bracket(source, self.epsilon, tolerance)

    def contours(self) -> Iterator[Callable[[float], Certified]]:
        """Yield the contours."""
        for _, solve in contours(self.composition, FIRST_LOG_DELTA, self.epsilon):
            yield partial(solve, self.composition, self.epsilon)

    def fft(self, effort: Effort) -> Certified:
        """Ask the FFT engine."""
        from privcalc.engine.lattice.answer import fft_delta

        asked = self.composition, self.epsilon, effort.tolerance
        return fft_delta(*asked, most_points=effort.points, worth=effort.worth)

    def renyi(self) -> Certified:
        """Ask for the best Renyi order."""
        from privcalc.engine.renyi import renyi_delta

        return renyi_delta(self.composition, self.epsilon)

    def divergences(self) -> Certified:
        """Ask for what Renyi divergences prove at both ends."""
        from privcalc.engine.divergences import delta_bracket

        return delta_bracket(self.composition, self.epsilon)

    def rough(self, *, sharp: bool = True) -> float:
        """Return about what one Renyi order proves."""
        from privcalc.engine.renyi import rough

        return rough(self.composition, "delta", self.epsilon, sharp=sharp)
