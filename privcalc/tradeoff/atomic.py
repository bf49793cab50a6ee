"""The trade-off function of a pair with finitely many outcomes: the best tests, written out.

By the lemma of Neyman and Pearson the best test of type I error alpha rejects the outcomes of the
largest losses, the last one by chance. With the outcomes sorted by falling loss that is a search
in the sums of their Q-masses. Either end is proved by itself, so that no order has to be certain:

* any test proves a lower end of the power and an upper end of beta, once its Q-mass, rounded up,
  is at most alpha;
* any a proves the others, power <= H_a + a alpha; at the a = e^l of the outcome that is left to
  chance nothing is lost.

The list of (P, Q) sums Q-masses up to alpha; that of the reverse pair sums masses up to 1 - alpha,
of what a test accepts. The first is good where alpha is small, the second where 1 - alpha is; both
hold, and are intersected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.enumeration.outcomes import enumerate_outcomes
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.tradeoff.brackets import curve_between, one_minus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.bounds import Bound
    from privcalc.engine.composition import Composition
    from privcalc.engine.enumeration.outcomes import Outcomes
    from privcalc.engine.terms import Realized
    from privcalc.numerics.arrays import Array
    from privcalc.tradeoff.brackets import Curve

# Terms and exponentials are off by a few units each.
FEW = 32.0 * UNIT
# What subnormal numbers may hide in a product.
TINY = 1e-305
LARGEST_EXPONENT = 700.0
# Members that are tried of all.
MEMBERS = 128
# Type I errors of which nearer ones are tried, and how often steps are halved.
MOST_REFINED, REFINEMENTS = 24, 20


class AtomicSolver:
    """Brackets trade-off functions of laws whose outcomes can be listed."""

    def __init__(self) -> None:
        """Begin with nothing; lists are kept for the reverse direction."""
        self._known: dict[Composition, AtomicTests | None] = {}

    def curve(self, forward: Realized, reverse: Realized, alphas: Sequence[float]) -> Curve | None:
        """Bracket beta and the power at type I errors in (0, 1); None where a law is not finite.

        Args:
            forward: the laws of a direction.
            reverse: those of the reverse one.
            alphas: where.
        """
        above = self._pair(forward.upper, reverse.upper)
        if above is None:
            return None
        levels = np.array(alphas, dtype=float)
        rest = np.array([one_minus(alpha) for alpha in alphas])
        power, beta = above[0].limited(levels)
        # 1 - alpha is rounded up by at most one unit of 1.
        beta = np.maximum(beta, above[1].needed(rest * (1.0 - 4.0 * UNIT)))
        tests: tuple[Array, Array] | None = None
        if forward.lower is not None and reverse.lower is not None:
            below = self._pair(forward.lower, reverse.lower)
            if below is None:
                return None
            least, most = below[0].tested(levels)
            tests = least, np.minimum(most, below[1].spent(rest))
        return curve_between(levels, rest, (power, beta), tests)

    def best_member(self, laws: Realized, alphas: Sequence[float]) -> tuple[Array, Array]:
        """Return a power and a beta that a test of some member has, at each type I error.

        Each is one pair of data sets, and which of the two is the first is free. Some of all
        members in a row are tried, and of a few type I errors those next to the best one.
        """
        levels = np.array(alphas, dtype=float)
        rest = np.array([one_minus(alpha) for alpha in alphas])
        shares = [(k + 0.5) / MEMBERS for k in range(MEMBERS)]
        tried = [self._member(laws, share, levels, rest) for share in shares]
        power = np.max([least for least, _ in tried], axis=0)
        beta = np.min([most for _, most in tried], axis=0)
        for i in range(len(alphas) if len(alphas) <= MOST_REFINED else 0):
            at = slice(i, i + 1)
            best, step = shares[int(np.argmax([least[i] for least, _ in tried]))], 1.0 / MEMBERS
            for _ in range(REFINEMENTS):
                step *= 0.5
                for share in (max(best - step, 0.0), min(best + step, 1.0)):
                    least, most = self._member(laws, share, levels[at], rest[at])
                    if least[0] > power[i]:
                        power[i], best = least[0], share
                    beta[i] = min(beta[i], most[0])
        return power, beta

    def _member(
        self, laws: Realized, share: float, levels: Array, rest: Array
    ) -> tuple[Array, Array]:
        """Return a power and a beta that a test of one member has, in its better order."""
        power, beta = levels, rest
        for one, other in (laws.at(share), laws.at(share)[::-1]):
            pair = self._pair(one, other)
            if pair is not None:
                least, most = pair[0].tested(levels)
                power = np.maximum(power, least)
                beta = np.minimum(beta, np.minimum(most, pair[1].spent(rest)))
        return power, beta

    def _pair(self, one: Composition, other: Composition) -> tuple[AtomicTests, AtomicTests] | None:
        first = self._tests(one)
        second = None if first is None else self._tests(other)
        return None if first is None or second is None else (first, second)

    def _tests(self, composition: Composition) -> AtomicTests | None:
        if composition.curves:
            return None
        if composition not in self._known:
            outcomes = enumerate_outcomes(composition)
            tests = None
            if outcomes is not None and (outcomes.masses > 0.0).any():
                tests = AtomicTests(outcomes, composition.infinity_mass())
            self._known[composition] = tests
        return self._known[composition]


class AtomicTests:
    """The tests of one ordered pair (P, Q), whose finite losses are listed."""

    def __init__(self, outcomes: Outcomes, mass: Bound) -> None:
        """Sort the outcomes.

        A listed outcome stands for outcomes of losses within `loss_error` of its own, so that its
        Q-mass is its P-mass times e^-loss up to that; rounding of the exponent adds units of it.

        Args:
            outcomes: losses and P-masses, not all of them 0.
            mass: P-mass of the outcomes that Q never shows.
        """
        some = np.flatnonzero(outcomes.masses > 0.0)
        order = some[np.argsort(-outcomes.losses[some])]
        self._losses: Array = outcomes.losses[order]
        reach = float(np.abs(self._losses).max())
        self._moved = outcomes.loss_error * MARGIN + 8.0 * UNIT * reach
        masses, error = outcomes.masses[order], outcomes.mass_error[order] * MARGIN + FEW
        low, high = np.maximum(masses * (1.0 - error), 0.0), masses * (1.0 + error)
        self._p = _Sums(low, high)
        low = low * np.exp(-self._losses - self._moved) * (1.0 - FEW) - TINY
        high = high * np.exp(-self._losses + self._moved) * (1.0 + FEW) + TINY
        # Where an exponential overflows nothing is known but that masses are at most 1.
        self._q = _Sums(
            np.where(np.isfinite(low), np.maximum(low, 0.0), 0.0),
            np.where(np.isfinite(high), np.minimum(high, 1.0), 1.0),
        )
        self._dropped = outcomes.dropped * MARGIN
        self._mass = mass.upper, mass.lower or 0.0
        self._listed = outcomes.source()

    def tested(self, alphas: Array) -> tuple[Array, Array]:
        """Return a power that a test of type I error at most alpha has, and a beta.

        The first k Q-masses, rounded up, have sums that increase with k. The largest sum that is
        at most alpha leaves a part w of the next outcome to chance. What is not rejected are the
        other outcomes, and what is not listed.
        """
        sums = self._q.before_high
        first = np.searchsorted(sums, alphas, side="right") - 1
        part = np.clip((alphas - sums[first]) / self._q.high[first] * (1.0 - FEW), 0.0, 1.0)
        power = self._mass[1] + self._p.before_low[first] + part * self._p.low[first]
        beta = self._p.after_high[first + 1] + (1.0 - part) * self._p.high[first]
        return power * (1.0 - FEW), (beta + self._dropped) * (1.0 + FEW)

    def limited(self, alphas: Array) -> tuple[Array, Array]:
        """Return a power that no test of type I error alpha exceeds, and a beta none falls below.

        For any a = e^epsilon the power is at most H_a + a alpha, and beta at least 1 - H_a -
        a alpha, where 1 - H_a is the sum of min(p, a q) over all outcomes. For one listed with the
        loss l, off by at most d, that is at least p e^{-d} min(1, e^{epsilon - l}). For the power
        epsilon is put 2 d above the loss of the outcome that is left to chance, so that what this
        loss may be off does not count; that costs no more than a factor 1 + 2 d. At a corner two
        outcomes come into question, and rounding decides which: both are tried.
        """
        power, beta = np.ones(len(alphas)), np.zeros(len(alphas))
        for sums in (self._q.before_high, np.maximum.accumulate(self._q.before_low)):
            first = np.searchsorted(sums, alphas, side="right") - 1
            first = np.minimum(first, len(self._losses) - 1)
            epsilons = self._losses[first] + 2.0 * self._moved
            above = self._mass[0] + self._deltas(epsilons) + np.exp(epsilons) * alphas
            a = np.exp(self._losses[first])
            kept = self._p.after_low[first] * np.exp(-self._moved)
            below = kept + a * (self._q.before_low[first] - alphas)
            below = below - FEW * (kept + a * alphas) - TINY
            near = epsilons <= LARGEST_EXPONENT
            power = np.where(near, np.minimum(power, above * (1.0 + FEW) + TINY), power)
            beta = np.where(near, np.maximum(beta, below), beta)
        return power, beta

    def spent(self, powers: Array) -> Array:
        """Return a Q-mass with which a test of at least such powers does: the inverse of `tested`.

        Sums of P-masses are rounded down here. Where all there is does not do, it is 1.
        """
        sums = np.append(self._mass[1], (self._mass[1] + self._p.before_low[1:]) * (1.0 - FEW))
        sums = np.maximum.accumulate(sums)
        count = np.searchsorted(sums, powers, side="left")
        last = np.clip(count - 1, 0, len(self._losses) - 1)
        part = (powers - sums[last]) / np.maximum(self._p.low[last], TINY) * (1.0 + FEW)
        found = self._q.before_high[last] + np.clip(part, 0.0, 1.0) * self._q.high[last]
        found = np.where(count == 0, 0.0, found * (1.0 + FEW))
        return np.where(count >= len(sums), 1.0, found)

    def needed(self, powers: Array) -> Array:
        """Return a Q-mass that tests of such powers need: (power - H_a) / a for any a, as above."""
        found = np.zeros(len(powers))
        for sums in (self._p.before_low, self._p.before_high):
            count = np.searchsorted(np.maximum.accumulate(self._mass[1] + sums), powers)
            last = np.clip(count - 1, 0, len(self._losses) - 1)
            epsilons = self._losses[last] + 2.0 * self._moved
            above = (self._mass[0] + self._deltas(epsilons)) * (1.0 + FEW)
            least = np.maximum(powers - above, 0.0) * np.exp(-epsilons) * (1.0 - FEW)
            found = np.where(epsilons > -LARGEST_EXPONENT, np.maximum(found, least), found)
        return found

    def _deltas(self, epsilons: Array) -> Array:
        """Return upper bounds on the finite part of delta at epsilons of any sign and order."""
        points, back = np.unique(epsilons, return_inverse=True)
        return np.minimum(self._listed.deltas(points).upper, 1.0)[back]


class _Sums:
    """Bounds on masses in their order, and on the sums of those before, and from, each of them.

    Behind the last there is one more, of mass 0, so that any number of outcomes may be rejected.
    """

    def __init__(self, low: Array, high: Array) -> None:
        """Sum from either end."""
        self.low: Array = np.append(low, 0.0)
        self.high: Array = np.append(high, TINY)
        self.before_low = _sums(low, up=False)
        self.before_high = np.maximum.accumulate(_sums(high, up=True))
        self.after_low = np.append(_sums(low[::-1], up=False)[::-1], 0.0)
        self.after_high = np.append(_sums(high[::-1], up=True)[::-1], 0.0)


def _sums(masses: Array, *, up: bool) -> Array:
    """Return the sums of the first 0, 1, ... masses, rounded up or down.

    They are formed in blocks: a sum of n terms takes at most r + n / r additions one after the
    other for blocks of r, each of which is off by a unit.
    """
    rows = max(1, int(np.sqrt(len(masses))))
    table = np.append(masses, np.zeros(-len(masses) % rows)).reshape(-1, rows)
    within = np.cumsum(table, axis=1)
    before = np.append(0.0, np.cumsum(within[:, -1])[:-1])
    sums = (within + before[:, None]).ravel()[: len(masses)]
    units = UNIT * (rows + len(table) + 8.0)
    return np.append(0.0, sums * (1.0 + units if up else 1.0 - units))
