"""Lines for whole compositions: near the saddle point of e^{K(s) - s epsilon} / (s (s + 1)).

psi(c) = K(c) - c epsilon - log c - log(1 + c) has exactly one minimum on c > 0, because K is
convex and so are the logarithms: no case distinction for epsilon below the mean loss. Nothing here
is certified, and nothing needs to be: any c gives a valid bracket, the saddle a narrow one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.bounds import Proof
from privcalc.engine.inverse import FIRST_LOG_DELTA, error_for, log_delta_at, saddle
from privcalc.engine.inversion.measures import Exponential, Measures
from privcalc.engine.inversion.solve import COARSE, PLAIN, Inversion
from privcalc.engine.inversion.tail_cut import Frame
from privcalc.engine.inversion.tail_lines import make_line
from privcalc.engine.inversion.tail_search import Parts
from privcalc.engine.lists.factor import BELOW_DELTA, LOG_LOST, Wanted, beside_lines, listed, rough

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.solve import Aim, Tuning

# Part of delta that searches truncate; it does not depend on the tolerance, nor does the search.
SEARCH_DROP = 1e-14
REFINEMENTS = 8
# Of larger deltas the saddle-point value is too rough, and the search starts from this one.
MOST_LOG_DELTA = math.log(0.1)
# Part of the abscissa that log delta falls with, at least.
LEAST_SLOPE = 0.3


class Decaying:
    """What makes lines for laws that decay."""

    stale, loosens = math.inf, False

    def __init__(self, composition: Composition, tuning: Tuning = PLAIN) -> None:
        """Take the composition, with many laws of a kind as one."""
        self._composition, self._tuning = composition.joined, tuning

    def start(self, log_delta: float) -> tuple[float, float, float]:
        """Return about the epsilon at which delta is that, its saddle point, and the first width.

        Of a large delta that is far from it, and the first line one of low accuracy.
        """
        self._composition = rough(self._composition, beside_lines(log_delta))
        cut = self._composition.truncated(log_delta + math.log(SEARCH_DROP))
        c = saddle(cut, None, min(log_delta, MOST_LOG_DELTA))
        return max(log_delta_at(cut, c)[0], 0.0), c, 0.0 if log_delta < MOST_LOG_DELTA else COARSE

    def expected(self, epsilon: float, width: float) -> tuple[float, float]:
        """Return about log delta at an epsilon, and its saddle point."""
        del width
        self._composition = rough(self._composition, LOG_LOST)
        c, log_delta, _ = scale_at(self._composition, epsilon)
        if log_delta < LOG_LOST - BELOW_DELTA:
            self._composition = rough(self._composition, beside_lines(log_delta))
            c, log_delta, _ = scale_at(self._composition, epsilon)
        return log_delta, c

    def make(self, aim: Aim) -> Measures:
        """Prepare a line that is good `reach` deviations around its epsilon.

        With the curvature K'' of the tilted loss, log delta falls by about c x + x^2 / (2 K'') on
        the way to epsilon + x: that much smaller have the errors to be.

        Raises:
            NotCertifiedError: there is no such line.
        """
        relative = error_for(aim.width)
        whole = self._composition.truncated(aim.log_delta + math.log(SEARCH_DROP))
        c = saddle(whole, aim.epsilon, None)
        deviation = math.sqrt(max(whole.cumulants(c)[2], 0.0))
        log_delta = aim.log_delta - aim.reach * (c * deviation + 0.5 * aim.reach)
        cut = self._composition.truncated(log_delta + math.log(0.1 * relative))
        c *= self._tuning.shift
        slope = max(aim.slope, LEAST_SLOPE * c)
        parts = Parts.uncut(listed(cut, Wanted(c, slope, aim.epsilon, aim.width)))
        frame = Frame(parts, (), aim.epsilon, log_delta, relative)
        line = make_line(frame, c, 0.0, right=True, refine=self._tuning.refine)
        return Measures(
            Proof.INVERSION,
            (line,),
            (Exponential(cut.log_truncated_mass()),),
            (),
            aim.epsilon,
            aim.log_delta,
            slack=parts.lists.slack(parts.contours(line.line.c)),
            tilted=deviation,
            alone=line.alone,
        )


def scale_at(composition: Composition, epsilon: float) -> tuple[float, float, Composition]:
    """Return abscissa and log delta at an epsilon, about, and the laws that they belong to.

    What may be truncated, a part of delta, depends on delta, and far outcomes that are not
    mislead the search for it: from a moderate cut the two settle within a few rounds.
    """
    log_scale = FIRST_LOG_DELTA
    for _ in range(REFINEMENTS):
        before = log_scale
        cut = composition.truncated(log_scale + math.log(SEARCH_DROP))
        c = saddle(cut, epsilon, None)
        log_scale = min(0.0, log_delta_at(cut, c)[1])
        if abs(log_scale - before) < 1.0 or cut == composition:
            break
    return c, log_scale, cut


DECAYING = Inversion(Decaying)
