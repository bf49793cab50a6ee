"""From a composition to a line, or to both sides of a split, that is good where it is asked for.

All of it is search, and free: what is proved is what a source says in the end (`inverse.py`).
Lines for whole compositions run near the saddle point of e^{K(s) - s epsilon} / (s (s + 1)):
psi(c) = K(c) - c epsilon - log c - log(1 + c) has exactly one minimum on c > 0, because K is convex
and so are the logarithms. Any c gives a valid bracket, the saddle a narrow one.

The split: delta of sampled Gaussians, cut at a large loss, is right + closed + left.

For independent pairs (P_i, Q_i) with losses l_i and sum S, any sets A_i of outcomes, A = "every
outcome lies in its A_i", B its complement, and any real epsilon,

    delta(epsilon) = E_P[(1 - e^{epsilon - S})_+ ; A]              (right)
                   + P(B) - e^epsilon Q(B)                         (closed)
                   + e^epsilon E_Q[(1 - e^{S - epsilon})_+ ; B].   (left)

Proof. With v = e^{epsilon - S}, (1 - v)_+ = (1 - v) + (v - 1)_+; on B, E_P[1 - v] = P(B) -
e^epsilon Q(B) and E_P[(v - 1)_+] = E_Q[(e^epsilon - e^S)_+]. Outcomes of Q alone enter the second
term by -e^epsilon Q and the third by +e^epsilon Q; those of P alone enter P(B). QED.

A_i are the outcomes of a sampled law up to its cut, everything for other laws. What a rare large
outcome contributes needs no tilt: the closed form has it. The right side is a bounded loss about
epsilon, and the left one the loss of the reversed pair, which large outcomes make small: both have
lines that converge fast, where one line for all would have to tilt towards outcomes of
probability e^{-thousands}.

Truncated: D, outcomes below every cut's low end, and H, those beyond its far end. A path with one
in D contributes between 0 and P(D); the closed form counts it as if it were in no D, which is off
by P(D) below and e^epsilon Q(D) above; the left side lacks at most e^epsilon Q(H). On D, P <= Q. So
the truth lies between the sum less P(D) and the sum plus P(D) + e^epsilon (Q(D) + Q(H)). Where B
itself is negligible, the right side alone lacks between 0 and P(B) + P(D).

A law whose outcomes beyond the level are as rare as that is not cut: B is of the others, and H has
what is truncated of it, of which a path outside of B, too, may contribute up to its P-mass. All of
this holds for finite positive measures: for the pairs on the paths on which laws that stay whole
have finite losses. What is truncated of these contributes between 0 and its P-mass, too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.certified import PAD, SplitLines
from privcalc.engine.inverse import (
    FIRST_LOG_DELTA,
    LEAST_ERROR,
    LEAST_WIDTH,
    SHARE,
    around,
    error_for,
    log_delta_at,
    root,
    saddle,
)
from privcalc.engine.inversion.line_sum import LARGEST, Closed, Exponential, Measures, Reversed
from privcalc.engine.inversion.tail_lines import Frame, make_line, saddle_near, skipped
from privcalc.engine.inversion.tail_search import Parts, Search
from privcalc.engine.lists.factor import LOG_LOST, Wanted, beside_lines, listed, rough
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import TINY
from privcalc.numerics.work import OutOfWorkError, left
from privcalc.record import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.engine.certified import Certified, WholeLine
    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.line_sum import LineSum
    from privcalc.engine.inversion.tail_search import Choice

ROUNDS = 8
# A width for which each term may make an error of 1e-4: what is made far from where it is wanted.
COARSE = 1e-4 / (SHARE * PAD)
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
            fastest = source.fastest
            centre, rate = root(source, log_delta, planned)
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
        # Lists have become lines, and there is one side.
        lines = listed(cut, wanted).lines
        parts = Parts((), tuple((law, law, count) for law, count in lines))
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


# Of so few uses, which decay slowly, a source for all digits is made only at the epsilon itself.
FEW_USES = 500
# -d log delta / d log epsilon before it is known, and the least epsilon that is believed there.
FIRST_SLOPE, LEAST_CENTRE = 4.0, 1e-9
# Part of the error that may be made by truncating what lies beyond the split.
DROP = 0.1
# A plan holds while its terms change by less than this in their logarithm.
STALE = 0.7
# Logarithms of terms that a split that is to serve neighbours is made finer by, for each deviation.
ROOM = 2.0
# Parts of a tilt that log delta falls with, at least, and that a line may still be moved by.
LEAST_PART, MOVED = 0.3, 2.0
# Where terms may have changed by e to this, a split is not asked.
FARTHEST = 40.0


class TailSplit(Inversion):
    """What makes splits of one composition."""

    stale, loosens = STALE, True

    def __init__(self, composition: Composition) -> None:
        """Tabulate.

        Raises:
            NotCertifiedError: the split does not apply.
        """
        parts = Parts.of(composition)
        if parts is None:
            words = "lines are split at a large loss only for Gaussian samples"
            raise NotCertifiedError(f"{words}, where a record is removed")
        self._parts, self._search = parts, Search(parts)

    def start(self, log_delta: float) -> tuple[float, float, float]:
        """Return about the epsilon at which delta is that, a slope, and the first width.

        For all digits few uses take many nodes.
        """
        epsilon = self._search.epsilon(log_delta, DROP * LEAST_ERROR * math.exp(log_delta))
        first = COARSE if self._parts.uses <= FEW_USES else 0.0
        return epsilon, FIRST_SLOPE / max(epsilon, LEAST_CENTRE), first

    def expected(self, epsilon: float, width: float) -> tuple[float, float]:
        """Return about log delta."""
        found = self._search.at(epsilon, 0.0).log_delta
        for _ in range(2):
            choice = self._search.at(epsilon, DROP * error_for(width) * math.exp(found))
            found = min(0.0, choice.log_delta)
        return found, 0.0

    def make(
        self, epsilon: float, log_delta: float, width: float, slope: float, reach: float = 0.0
    ) -> Measures:
        """Cut the laws and place the nodes; see `Inversion.make`."""
        relative = error_for(width)
        allowed = DROP * relative * math.exp(log_delta)
        choice = self._search.at(epsilon, allowed, self.move)
        tilt = max(choice.right, choice.left or 0.0) * max(self.shift, 1.0)
        wanted = Wanted(
            MOVED * tilt, max(slope, LEAST_PART * choice.right), epsilon, width, whole=True
        )
        parts, log_least = self._parts.listed(wanted), log_delta - ROOM * reach
        return split(
            parts, choice, epsilon, log_least, relative, shift=self.shift, refine=self.refine
        )


def split(
    parts: Parts,
    choice: Choice,
    epsilon: float,
    log_delta: float,
    relative: float,
    *,
    shift: float = 1.0,
    refine: float = 1.0,
) -> Measures:
    """Cut the laws and place the nodes of both sides; for the rest see `Inversion`.

    Raises:
        NotCertifiedError: there is no such split.
    """
    log_rare = log_delta + math.log(0.05 * relative / parts.uses) - max(epsilon, 0.0)
    frame = Frame(parts, parts.cut(choice.level, log_rare), epsilon, log_delta, relative)
    closed = Closed.of(frame.cuts, parts.whole(right=True))
    rare = [(math.log(n) + cut.log_below, math.log(n) + cut.log_far) for cut, n in frame.cuts]
    # P(D); and the P-mass above whole laws, and outside of truncated ones.
    below = [Exponential(log_d) for log_d, _ in rare]
    lists = parts.lists
    above = [*below, *_truncated(frame)]
    c = saddle_near(frame.small, choice.right, right=True) * shift
    right = make_line(frame.small, c, 0.0, right=True, refine=refine)
    terms: list[LineSum | Reversed | Closed] = [right]
    other: WholeLine | None = None
    if choice.left is None or closed.q == 0.0:
        # B itself is negligible.
        above += [Exponential(math.log(closed.p) + closed.error)] if closed.p > 0.0 else []
    elif not max(epsilon, -log_delta) < LARGEST:
        raise NotCertifiedError("the closed form of the split leaves the range of doubles")
    else:
        # e^epsilon (Q(D) + Q(H)).
        above += [Exponential(log_q, 1.0) for each in rare for log_q in each]
        terms.append(closed)
        negligible = skipped(frame, choice.left, right=False)
        if negligible is None:
            w = saddle_near(frame, choice.left, right=False) * shift
            left = make_line(frame, w, closed.log_q, right=False, refine=refine)
            other = left.alone
            terms.append(Reversed(left))
        else:
            above.append(negligible)
    if lists.step > 0.0:
        # What lists are off by on B, of its mass; and what a spread adds to what is not summed:
        # `skipped` bounds that as well, and H <= B <= 1.
        wrong = lists.missing(parts.contours(0.0))
        off = Exponential(math.log(max(closed.p, closed.q) * wrong + TINY) + closed.error)
        above.append(off)
        below = above
    bounds = tuple(above), tuple(below)
    found = Measures(Proof.TAIL_SPLIT, tuple(terms), *bounds, epsilon, log_delta, FARTHEST)
    if lists.step > 0.0:
        return replace(found, slack=lists.slack(parts.contours(0.0)))
    return replace(found, split=SplitLines(choice.level, right.alone, other))


def _truncated(frame: Frame) -> Iterator[Exponential]:
    for cut, n in frame.cuts:
        if cut.whole and cut.mass_beyond > 0.0:
            yield Exponential(math.log(n) + math.log(cut.mass_beyond))
    for law, _, n in frame.parts.others:
        yield Exponential(math.log(n) + law.log_truncated_mass)
