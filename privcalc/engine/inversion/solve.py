"""From a composition to a line, or to both sides of a split, that is good where it is asked for.

All of it is search, and free: what is proved is what a source says in the end (`inverse.py`).
Lines for whole compositions run near the saddle point of e^{K(s) - s epsilon} / (s (s + 1)):
psi(c) = K(c) - c epsilon - log c - log(1 + c) has exactly one minimum on c > 0, because K is convex
and so are the logarithms. Any c gives a valid bracket, the saddle a narrow one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.certified import PAD
from privcalc.engine.inverse import (
    FIRST_LOG_DELTA,
    LEAST_WIDTH,
    SHARE,
    around,
    error_for,
    log_delta_at,
    root,
    saddle,
)
from privcalc.engine.inversion.line_sum import Exponential, Measures
from privcalc.engine.inversion.tail_lines import Frame, make_line
from privcalc.engine.inversion.tail_search import Parts
from privcalc.engine.lists.factor import LOG_LOST, Wanted, beside_lines, listed, rough
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import OutOfWorkError, left

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition

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
# Slopes of log delta below this part of what the terms have are not believed.
LEAST_SLOPE = 1e-3


class Inversion(ABC):
    """A way to invert the transform of one composition."""

    # Logarithms by which terms may change before another source is made.
    stale = math.inf
    # Whether fewer digits may be had where there are too many nodes: else a list costs less.
    loosens = False
    # Tests multiply abscissas, and the level of a split, and divide steps: brackets stay valid.
    shift = move = refine = 1.0

    @abstractmethod
    def start(self, log_delta: float) -> tuple[float, float, float]:
        """Return about the epsilon at which delta is that, the slope, and the first width."""

    @abstractmethod
    def expected(self, epsilon: float, width: float) -> tuple[float, float]:
        """Return about log delta, and the slope."""

    @abstractmethod
    def make(
        self, epsilon: float, log_delta: float, width: float, slope: float, reach: float = 0.0
    ) -> Measures:
        """Make a source.

        Args:
            epsilon: where delta is wanted.
            log_delta: log of delta there, about.
            width: relative width of delta wished for.
            slope: -d log delta / d epsilon, about.
            reach: deviations of the tilted loss around epsilon where it is to be good, too.

        Raises:
            NotCertifiedError: there is no such source.
        """

    def epsilon(self, low: float, high: float, tolerance: float) -> Certified:
        """Bracket the least epsilon >= 0 at which the finite part of delta is at most a target.

        Args:
            low: the target is at least this ...
            high: ... and at most this.
            tolerance: relative width wished for.

        Raises:
            NotCertifiedError: no finite upper end could be proved.
        """
        log_delta = math.log(low)
        centre, slope, first = self.start(log_delta)
        least, below, beyond = first, -math.inf, math.inf
        for _ in range(ROUNDS):
            planned = centre
            asked = max(max(tolerance * centre, LEAST_WIDTH) * slope, least)
            source, width = self._made(planned, log_delta, asked, slope)
            # Between two atoms the slope may be far from what it is on the whole.
            fastest = source.fastest
            usual, trusted = max(slope, USUAL * fastest), TRUSTED / fastest
            centre, rate = root(source, log_delta, planned, usual=usual, trusted=trusted)
            slope = max(rate, LEAST_SLOPE * fastest) if math.isfinite(rate) else fastest
            # What was proved where sources were made bounds the search.
            at = source.deltas(np.array([planned]), log_delta)
            below = max(below, planned) if at.lower[0] > 1.0 else below
            beyond = min(beyond, planned) if at.upper[0] < 1.0 else beyond
            if not below <= centre <= beyond and beyond - below < math.inf:
                centre = 0.5 * (below + beyond)
            moved, wish = abs(centre - planned), max(tolerance * centre, LEAST_WIDTH) * slope
            # Elsewhere other measures, and other terms, may matter.
            far = moved > FAR * max(centre, planned) and self.stale < math.inf
            stale = moved * fastest > self.stale or far
            fine = error_for(width) <= ROUGH * error_for(wish) or width > asked
            if (fine and not stale) or left() <= 0.0:
                break
            least = first if stale else 0.0
        return around(source, low, high, tolerance, (centre, slope))

    def near(self, epsilon: float, width: float, reach: float = 0.0) -> Measures:
        """Make a source for an epsilon that is good `reach` deviations around it.

        Raises:
            NotCertifiedError: there is no such source.
        """
        log_delta, slope = self.expected(epsilon, width)
        for _ in range(ROUNDS):
            source, _ = self._made(epsilon, log_delta, width, slope, reach)
            value = float(source.estimates(np.array([epsilon]), log_delta)[0][0])
            moved = math.log(value) if 0.0 < value < math.inf else math.nan
            if not abs(moved) > self.stale or left() <= 0.0:
                break
            log_delta = min(0.0, log_delta + moved)
        return source

    def _made(
        self, epsilon: float, log_delta: float, width: float, slope: float, reach: float = 0.0
    ) -> tuple[Measures, float]:
        """Make a source of that width, or of the next larger one that there is."""
        while True:
            try:
                return self.make(epsilon, log_delta, width, slope, reach), width
            except NotCertifiedError as error:
                width *= LOOSER
                out = isinstance(error, OutOfWorkError) or width > COARSE or reach > 0.0
                if out or not self.loosens:
                    raise


# Part of delta that searches truncate; it does not depend on the tolerance, nor does the search.
SEARCH_DROP = 1e-14
REFINEMENTS = 8
# Of larger deltas the saddle-point value is too rough, and the search starts from this one.
MOST_LOG_DELTA = math.log(0.1)
# Part of the abscissa that log delta falls with, at least.
PART_OF_TILT = 0.3


class Decaying(Inversion):
    """One line for laws that decay."""

    def __init__(self, composition: Composition) -> None:
        """Take the composition, with many laws of a kind as one."""
        self._composition = composition.joined

    def start(self, log_delta: float) -> tuple[float, float, float]:
        """Return about the epsilon at which delta is that, its saddle point, and the first width.

        Of a large delta that is far from it, and the first line one of low accuracy.
        """
        self._composition = rough(self._composition, beside_lines(log_delta))
        cut = self._composition.truncated(log_delta + math.log(SEARCH_DROP))
        c = saddle(cut, None, min(log_delta, MOST_LOG_DELTA))
        first = 0.0 if log_delta < MOST_LOG_DELTA else COARSE
        return max(log_delta_at(cut, c)[0], 0.0), c, first

    def expected(self, epsilon: float, width: float) -> tuple[float, float]:
        """Return about log delta at an epsilon, and its saddle point.

        What may be truncated, a part of delta, depends on delta, and far outcomes that are not
        mislead the search for it: from a moderate cut the two settle within a few rounds.
        """
        del width
        log_delta, lost = FIRST_LOG_DELTA, LOG_LOST
        for _ in range(REFINEMENTS):
            before, lost = log_delta, min(lost, beside_lines(log_delta))
            self._composition = rough(self._composition, lost)
            cut = self._composition.truncated(log_delta + math.log(SEARCH_DROP))
            c = saddle(cut, epsilon, None)
            log_delta = min(0.0, log_delta_at(cut, c)[1])
            known = cut == self._composition and beside_lines(log_delta) >= lost
            if known or abs(log_delta - before) < 1.0:
                break
        return log_delta, c

    def make(
        self, epsilon: float, log_delta: float, width: float, slope: float, reach: float = 0.0
    ) -> Measures:
        """Prepare a line; see `Inversion.make`.

        With the curvature K'' of the tilted loss, log delta falls by about c x + x^2 / (2 K'') on
        the way to epsilon + x: that much smaller have the errors to be.
        """
        relative = error_for(width)
        whole = self._composition.truncated(log_delta + math.log(SEARCH_DROP))
        c = saddle(whole, epsilon, None)
        deviation = math.sqrt(max(whole.cumulants(c)[2], 0.0))
        log_least = log_delta - reach * (c * deviation + 0.5 * reach)
        cut = self._composition.truncated(log_least + math.log(0.1 * relative))
        c *= self.shift
        wanted = Wanted(c, max(slope, PART_OF_TILT * c), epsilon, width)
        parts = Parts.uncut(listed(cut, wanted))
        frame = Frame(parts, (), epsilon, log_least, relative)
        line = make_line(frame, c, 0.0, right=True, refine=self.refine)
        return Measures(
            Proof.INVERSION,
            (line,),
            (Exponential(cut.log_truncated_mass()),),
            (),
            epsilon,
            log_delta,
            slack=parts.lists.slack(parts.contours(line.line.c)),
            tilted=deviation,
            alone=line.alone,
        )
