"""The best tests of single members of an envelope, which has no pair of data sets of its own.

By the lemma of Neyman and Pearson the best test of type I error alpha rejects the outcomes of the
largest losses, the last one by chance: with few outcomes, sorted by falling loss, that is a search
in the sums of their masses. Any test proves a lower end of the power and an upper end of beta, once
its Q-mass, rounded up, is at most alpha.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.law import MASS_ULPS
from privcalc.numerics.rounding import UNIT
from privcalc.tradeoff.brackets import one_minus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.composition import Composition
    from privcalc.engine.terms import Realized
    from privcalc.numerics.rounding import Array

# Terms and sums of a few outcomes are off by a few units each.
FEW = 64.0 * UNIT
# What subnormal numbers may hide in a product.
TINY = 1e-305
# Members that are tried of all.
MEMBERS = 128
# Type I errors of which nearer ones are tried, and how often steps are halved.
MOST_REFINED, REFINEMENTS = 24, 20


def best_member(laws: Realized, alphas: Sequence[float]) -> tuple[Array, Array]:
    """Return a power and a beta that a test of some member has, at each type I error in (0, 1).

    Each is one pair of data sets, and which of the two is the first is free. Some of all members
    in a row are tried, and of a few type I errors those next to the best one.
    """
    levels = np.array(alphas, dtype=float)
    rest = np.array([one_minus(alpha) for alpha in alphas])
    shares = [(k + 0.5) / MEMBERS for k in range(MEMBERS)]
    tried = [_member(laws, share, levels, rest) for share in shares]
    power: Array = np.maximum.reduce([least for least, _ in tried])
    beta: Array = np.minimum.reduce([most for _, most in tried])
    for i in range(len(alphas) if len(alphas) <= MOST_REFINED else 0):
        at = slice(i, i + 1)
        best, step = shares[int(np.argmax([least[i] for least, _ in tried]))], 1.0 / MEMBERS
        for _ in range(REFINEMENTS):
            step *= 0.5
            for share in (max(best - step, 0.0), min(best + step, 1.0)):
                least, most = _member(laws, share, levels[at], rest[at])
                if least[0] > power[i]:
                    power[i], best = least[0], share
                beta[i] = min(beta[i], most[0])
    return power, beta


def _member(laws: Realized, share: float, levels: Array, rest: Array) -> tuple[Array, Array]:
    """Return a power and a beta that a test of one member has, in its better order."""
    power, beta = levels, rest
    for one, other in (laws.at(share), laws.at(share)[::-1]):
        tests, reverse = FewOutcomes.of(one), FewOutcomes.of(other)
        if tests is not None and reverse is not None:
            least, most = tests.tested(levels)
            power = np.maximum(power, least)
            beta = np.minimum(beta, np.minimum(most, reverse.spent(rest)))
    return power, beta


class FewOutcomes:
    """The tests of one ordered pair (P, Q), whose finite losses are listed."""

    def __init__(self, law: AtomicLaw, lower_mass: float) -> None:
        """Sort the outcomes.

        Losses are off by units of themselves, so that the Q-mass of an outcome is its P-mass times
        e^-loss up to that; rounding of the exponent adds units of it.

        Args:
            law: losses and P-masses.
            lower_mass: at most the P-mass of the outcomes that Q never shows.
        """
        losses, masses = law.columns
        order = np.argsort(-losses)
        losses, masses = losses[order], masses[order]
        moved = (law.loss_units + 8.0) * UNIT * float(np.abs(losses).max())
        error = (MASS_ULPS + 8.0) * UNIT
        with np.errstate(over="ignore"):
            q = np.minimum(masses * np.exp(moved - losses) * (1.0 + error) + TINY, 1.0)
        # Behind the last outcome any test may go on to reject what is not listed.
        self._size = np.concatenate([[0.0], np.cumsum(q) * (1.0 + FEW), [2.0]])
        power = np.concatenate([[0.0], np.cumsum(masses * (1.0 - error))]) + lower_mass
        self._power = np.append(power, power[-1]) * (1.0 - FEW)
        rest = np.cumsum((masses * (1.0 + error))[::-1])[::-1] * (1.0 + FEW)
        self._after = np.append(rest, [0.0, 0.0])

    @classmethod
    def of(cls, composition: Composition) -> FewOutcomes | None:
        """Return the tests of a single use of a law of listed losses; None for others."""
        ((law, count),) = composition.terms
        if not isinstance(law, AtomicLaw) or count != 1 or not law.losses:
            return None
        return cls(law, composition.infinity_mass().lower or 0.0)

    def tested(self, alphas: Array) -> tuple[Array, Array]:
        """Return a power that a test of type I error at most alpha has, and a beta.

        Tests on the chords between neighbouring ones leave one outcome to chance. What is not
        rejected are the other outcomes.
        """
        power, beta = (np.interp(alphas, self._size, each) for each in (self._power, self._after))
        return power * (1.0 - FEW), beta * (1.0 + FEW) + TINY

    def spent(self, powers: Array) -> Array:
        """Return a Q-mass with which a test of at least such powers does: the inverse of `tested`.

        Where all there is does not do, it is 1.
        """
        found = np.interp(powers, self._power[:-1], self._size[:-1]) * (1.0 + FEW) + TINY
        return np.where(powers >= self._power[-1], 1.0, found)
