"""delta of rarely sampled Gaussians, split at a large loss: right + closed + left.

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
contours that converge fast, where one contour for all would have to tilt towards outcomes of
probability e^{-thousands}.

Left out: D, outcomes below every cut's low end, and H, those beyond its far end. A path with one
in D contributes between 0 and P(D); the closed form counts it as if it were in no D, which is off
by P(D) below and e^epsilon Q(D) above; the left side lacks at most e^epsilon Q(H). On D, P <= Q. So
the truth lies between the sum less P(D) and the sum plus P(D) + e^epsilon (Q(D) + Q(H)). Where B
itself is negligible, the right side alone lacks between 0 and P(B) + P(D).

A law whose outcomes beyond the level are as rare as that is not cut: B is of the others, and H has
what it leaves out, of which a path outside of B, too, may contribute up to its P-mass. All of this
holds for finite positive measures: for the pairs on the paths on which laws that stay whole have
finite losses. What is left out of these contributes between 0 and its P-mass, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.certified import PAD
from privcalc.engine.source import Deltas
from privcalc.engine.split.closed import Closed
from privcalc.engine.split.frame import Frame
from privcalc.engine.split.plan import make_line, skipped_left
from privcalc.engine.split.sides import SideSum, Term
from privcalc.numerics.rounding import MARGIN, exp_bound
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.split.choice import Choice, Tuning
    from privcalc.engine.split.parts import Parts
    from privcalc.numerics.arrays import Array

# Where terms may have changed by e to this, a split is not asked.
FARTHEST = 40.0


@record
class Split:
    """A source: delta as the sum of its terms, ready for epsilons near the one it was made for.

    Attributes:
        frame: the cut composition.
        closed: P(B) and Q(B).
        right: the right side.
        left: the left side, if it is summed.
        skipped: w and the log of Chernoff's bound on the left side, if it is not.
        dropped: whether B is negligible.
    """

    frame: Frame
    closed: Closed
    right: SideSum
    left: SideSum | None
    skipped: tuple[float, float] | None
    dropped: bool

    proof: ClassVar[Proof] = Proof.BULK_AND_TAIL
    pad: ClassVar[float] = PAD

    @classmethod
    def make(
        cls,
        parts: Parts,
        choice: Choice,
        epsilon: float,
        log_delta: float,
        relative: float,
        *,
        tuning: Tuning,
    ) -> Split:
        """Cut the laws and place the nodes of both sides."""
        log_rare = log_delta + math.log(0.05 * relative / parts.uses) - epsilon
        frame = Frame(parts, parts.cut(choice.level, log_rare), epsilon, log_delta, relative)
        closed = Closed.of(frame.cuts, parts.whole(right=True))
        shift, refine = tuning.shift, tuning.refine
        line, laws = make_line(frame, choice.right * shift, 0.0, right=True, refine=refine)
        right = SideSum(line, laws)
        if choice.left is None or closed.q == 0.0:
            return cls(frame, closed, right, None, None, dropped=True)
        skipped = skipped_left(frame, choice.left)
        if skipped is not None:
            return cls(frame, closed, right, None, skipped, dropped=False)
        line, laws = make_line(frame, choice.left * shift, closed.log_q, right=False, refine=refine)
        return cls(frame, closed, right, SideSum(line, laws), None, dropped=False)

    def _near(self, epsilon: float, log_scale: float) -> Term:
        """Return the sum of the terms; nothing is claimed, and no time spent, where it is vain."""
        if abs(epsilon - self.frame.epsilon) * self.fastest > FARTHEST:
            return Term(0.0, math.inf, math.inf, 0.0, {"dropped": math.inf})
        return self.delta(epsilon, log_scale)

    @property
    def deviation(self) -> float:
        """Return the change of epsilon that is felt."""
        return 2.0 / self.fastest

    @property
    def fastest(self) -> float:
        """Return how fast the largest term's logarithm changes with epsilon."""
        lines = [self.right.line.c]
        lines += [self.left.line.c + 1.0] if self.left else []
        lines += [self.skipped[0] + 1.0] if self.skipped else []
        return max(lines)

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket delta at each epsilon, in units of that for which the split was made."""
        scale = self.frame.log_delta if log_scale is None else log_scale
        found = [self._near(float(epsilon), scale) for epsilon in epsilons]
        value = np.array([each.value for each in found])
        # Not a set: the order of its names would differ from one process to the next.
        names = dict.fromkeys(name for each in found for name in each.terms)
        return Deltas(
            np.full(len(found), scale),
            value - np.array([each.below for each in found]),
            value + np.array([each.above for each in found]),
            value,
            {name: np.array([each.terms.get(name, math.inf) for each in found]) for name in names},
        )

    @np.errstate(all="ignore")
    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound."""
        value, slope = np.zeros(len(epsilons)), np.zeros(len(epsilons))
        if not self.dropped:
            closed = [self.closed.delta(float(epsilon), log_scale) for epsilon in epsilons]
            value, _, slope = np.array(closed).reshape(-1, 3).T
        for side in (self.right, self.left):
            if side is not None:
                near = self.frame.epsilon, self.frame.log_delta
                more, steeper = side.estimates(epsilons, log_scale, near)
                value, slope = value + more, slope + steeper
        return value, value - slope

    def delta(self, epsilon: float, log_scale: float) -> Term:
        """Add up the terms over e^{log_scale}, with their errors."""
        found = [self.right.delta(epsilon, log_scale)]
        rare, rare_q = self._rare(epsilon, log_scale)
        left_out = self._left_out(log_scale)
        terms = {"dropped": 2.0 * rare + rare_q + left_out}
        above = terms["dropped"]
        value = below = slope = 0.0
        if self.dropped:
            # P is R for adding.
            mass = self.closed.p if self.frame.parts.remove else self.closed.q
            mass *= (1.0 + self.closed.error) * exp_bound(1e-9 - log_scale)
            terms["dropped"] += mass
            above += mass
        else:
            value, wrong, slope = self.closed.delta(epsilon, log_scale)
            above, below = above + wrong, wrong
        if self.skipped is not None:
            w, log_size = self.skipped
            exponent = log_size + (w + 1.0) * epsilon - log_scale
            missing = exp_bound(exponent + 1e-9 + 1e-12 * abs(log_size))
            terms["dropped"] += missing
            above += missing
        if self.left is not None:
            found.append(self.left.delta(epsilon, log_scale))
        for each in found:
            value, slope = value + each.value, slope + each.slope
            above, below = above + each.above, below + each.below
            for name, size in each.terms.items():
                terms[name] = terms.get(name, 0.0) + size
        return Term(value, above * MARGIN, (below + rare) * MARGIN, slope, terms)

    def _left_out(self, log_scale: float) -> float:
        """Bound the P-mass, over e^{log_scale}, above whole laws and outside of truncated ones."""
        total = 0.0
        for cut, n in self.frame.cuts:
            if cut.whole:
                total += n * cut.mass_beyond * exp_bound(1e-9 - log_scale)
        for law, _, n in self.frame.parts.others:
            total += n * exp_bound(law.log_truncated_mass - log_scale + 1e-9)
        return total * MARGIN

    def _rare(self, epsilon: float, log_scale: float) -> tuple[float, float]:
        """Return bounds on P(D), and on e^epsilon (Q(D) + Q(H)), over e^{log_scale}."""
        low = high = 0.0
        for cut, n in self.frame.cuts:
            ahead = math.log(n) - log_scale + 1e-9
            low += exp_bound(cut.log_below + ahead)
            high += exp_bound(cut.log_below + ahead + epsilon)
            if not self.dropped:
                high += exp_bound(cut.log_far + ahead + epsilon)
        return low, 0.0 if self.dropped else high
