"""Guess, root, refine: from what makes sources to one that is good where it was asked for.

All of it is search, and free: what is proved is what the source says in the end
(`engine/inverse.py`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.engine.certified import PAD
from privcalc.engine.inverse import LEAST_WIDTH, SHARE, around, error_for, root
from privcalc.engine.source import bracket
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import OutOfWorkError, left
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.measures import Measures

ROUNDS = 8
# A width for which each term may make an error of 1e-4: what is made far from where it is wanted.
COARSE = 1e-4 / (SHARE * PAD)
# Where terms change by more logarithms, the sums of a source may be noise.
TRUSTED = 8.0
# Part of how fast the terms change that log delta falls with on the whole, at least.
USUAL = 0.25
# A source is made anew where epsilon changes by more than this part of itself.
FAR = 0.5
# A source is made anew where its errors may be so many times larger than they should be.
ROUGH = 2.0
# Where no source is made for a width, one is tried for so many times as much.
LOOSER = 30.0
# Nothing is made finer where rounding is so much more than the width that was wished for.
NOISE = 100.0
# Slopes of log delta below this part of what the terms have are not believed.
LEAST_SLOPE = 1e-3


@record
class Tuning:
    """What tests change; any values give valid brackets.

    Attributes:
        shift: multiplies the abscissas.
        refine: divides the steps.
        move: multiplies the level at which tails are cut off.
    """

    shift: float = 1.0
    refine: float = 1.0
    move: float = 1.0


PLAIN = Tuning()


@record
class Aim:
    """What a source is made for.

    Attributes:
        epsilon: where delta is wanted.
        log_delta: log of delta there, about.
        width: relative width of delta wished for.
        slope: -d log delta / d epsilon, about.
        reach: standard deviations of the tilted loss around epsilon where it is to be good, too.
    """

    epsilon: float
    log_delta: float
    width: float
    slope: float
    reach: float = 0.0


class Maker(Protocol):
    """What makes sources, from rough estimates."""

    @property
    def stale(self) -> float:
        """Return the logarithms by which terms may change before another source is made."""
        ...

    @property
    def loosens(self) -> bool:
        """Return whether fewer digits may be had where there are too many nodes for all."""
        ...

    def start(self, log_delta: float) -> tuple[float, float, float]:
        """Return about the epsilon at which delta is that, the slope, and the first width."""
        ...

    def expected(self, epsilon: float, width: float) -> tuple[float, float]:
        """Return about log delta, and the slope."""
        ...

    def make(self, aim: Aim) -> Measures:
        """Make a source that is good near one epsilon."""
        ...


@record
class Inversion:
    """A way to invert: what makes its sources, for a composition as tests tune it."""

    maker: Callable[[Composition, Tuning], Maker]

    def epsilon(
        self,
        composition: Composition,
        delta_low: float,
        delta_high: float,
        tolerance: float,
        **tuning: float,
    ) -> Certified:
        """Bracket the least epsilon >= 0 at which the finite part of delta is at most a target.

        Args:
            composition: laws and counts of one adjacency.
            delta_low: the target is at least this ...
            delta_high: ... and at most this.
            tolerance: relative width wished for.
            tuning: see `Tuning`.

        Raises:
            NotCertifiedError: no finite upper end could be proved.
        """
        maker, log_delta = self.maker(composition, Tuning(**tuning)), math.log(delta_low)
        centre, slope, first = maker.start(log_delta)
        source: Measures | None = None
        least, floor, known, stale = first, 0.0, math.inf, True
        below, beyond = -math.inf, math.inf
        for trial in range(ROUNDS):
            planned = centre
            width = max(max(tolerance * centre, LEAST_WIDTH) * slope, least, floor)
            try:
                source, known = maker.make(Aim(planned, log_delta, width, slope)), width
            except NotCertifiedError as error:
                # The last source may do; or one of fewer digits than these, but more than it has.
                if source is None:
                    raise
                floor = LOOSER * width
                out = isinstance(error, OutOfWorkError) or floor > COARSE or not maker.loosens
                if out or (floor >= known and not stale):
                    break
                continue
            # Between two atoms the slope may be far from what it is on the whole.
            fastest = source.fastest
            usual, trusted = max(slope, USUAL * fastest), TRUSTED / fastest
            centre, rate = root(source, log_delta, planned, usual=usual, trusted=trusted)
            slope = max(rate, LEAST_SLOPE * fastest) if math.isfinite(rate) else fastest
            at = source.deltas(np.array([planned, centre]), log_delta)
            # What was proved where sources were made bounds the search.
            below = max(below, planned) if at.lower[0] > 1.0 else below
            beyond = min(beyond, planned) if at.upper[0] < 1.0 else beyond
            if not below <= centre <= beyond and beyond - below < math.inf:
                centre = 0.5 * (below + beyond)
            wish = max(tolerance * centre, LEAST_WIDTH) * slope
            moved = abs(centre - planned)
            # Elsewhere other measures, and other terms, may matter.
            far = moved > FAR * max(centre, planned) and maker.stale < math.inf
            stale = moved * fastest > maker.stale or far
            least = first if stale else 0.0
            again = stale or error_for(width) > ROUGH * error_for(max(wish, floor))
            # Far from where a source was made it is the way that makes noise; and quadrature is as
            # good as was asked for.
            lost = trial > 0 and float(at.terms["rounding"][1]) > NOISE * max(wish, width)
            if not again or (not stale and (lost or centre <= 0.0)) or left() <= 0.0:
                break
        if source is None:
            raise AssertionError("the first source is made, or refused")
        return around(source, delta_low, delta_high, tolerance, (centre, slope))

    def delta(
        self, composition: Composition, epsilon: float, tolerance: float, **tuning: float
    ) -> Certified:
        """Bracket the finite part of delta at an epsilon, to that relative width.

        Raises:
            NotCertifiedError: no bracket could be proved.
        """
        maker, width = self.maker(composition, Tuning(**tuning)), tolerance
        while True:
            try:
                return bracket(made_near(maker, epsilon, width), epsilon, tolerance)
            except NotCertifiedError as error:
                width *= LOOSER
                if isinstance(error, OutOfWorkError) or not maker.loosens or width > COARSE:
                    raise

    def near(
        self, composition: Composition, epsilon: float, tolerance: float, reach: float = 0.0
    ) -> Measures:
        """Make a source for an epsilon and its neighbours; see `made_near`.

        Raises:
            NotCertifiedError: there is no such source.
        """
        return made_near(self.maker(composition, PLAIN), epsilon, tolerance, reach)


def made_near(maker: Maker, epsilon: float, width: float, reach: float = 0.0) -> Measures:
    """Make a source for an epsilon that is good `reach` deviations around it.

    On the way delta may fall as fast as the terms may grow: that much smaller errors are asked for.

    Args:
        maker: what makes it.
        epsilon: where.
        width: relative width of delta wished for.
        reach: see above.
    """
    log_delta, slope = maker.expected(epsilon, width)
    for _ in range(ROUNDS):
        source = maker.make(Aim(epsilon, log_delta, width, slope, reach))
        value = float(source.estimates(np.array([epsilon]), log_delta)[0][0])
        moved = math.log(value) if 0.0 < value < math.inf else math.nan
        if not abs(moved) > maker.stale or left() <= 0.0:
            break
        log_delta = min(0.0, log_delta + moved)
    return source
