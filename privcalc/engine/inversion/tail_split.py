"""The tail split: delta of sampled Gaussians, cut at a large loss: right + closed + left.

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
from typing import TYPE_CHECKING

from privcalc.bounds import Proof
from privcalc.engine.certified import SplitLines
from privcalc.engine.inverse import LEAST_ERROR, error_for
from privcalc.engine.inversion.line_sum import LARGEST, Closed, Exponential, Measures, Reversed
from privcalc.engine.inversion.solve import COARSE, Inversion
from privcalc.engine.inversion.tail_lines import Frame, make_line, saddle_near, skipped
from privcalc.engine.inversion.tail_search import Parts, Search
from privcalc.engine.lists.factor import Wanted
from privcalc.errors import NotCertifiedError
from privcalc.losses.cells import TINY
from privcalc.record import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.engine.certified import WholeLine
    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.line_sum import LineSum
    from privcalc.engine.inversion.tail_search import Choice

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
            raise NotCertifiedError("the split is for samples of Gaussians, removing")
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
