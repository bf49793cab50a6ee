"""delta of one use whose profile is known, averaged over what all others lose.

With V the profile of the one, as a function of a = e^epsilon, and L the loss of the others,

    delta(epsilon) = E_P[V(a e^-L); L finite].

Where the others have finitely many outcomes this is a sum. Where they are one law with a density it
is one in cells: V is convex, so that in a cell with masses p and q the mean of V is at least p V at
e^-l = q / p (Jensen), and at most that of the masses at both ends that have the same p and q
together. Cells begin where V does, at epsilon less the largest loss of the one, however far that is
below the losses of the others. Nothing is tilted, so that this is as good next to the largest loss
as elsewhere, where contours have no saddle point, and lattices few points.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.composition import Composition
from privcalc.engine.enumeration.outcomes import enumerate_outcomes
from privcalc.engine.source import Deltas
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.enumeration.outcomes import Outcomes
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

    # Bounds on V at many epsilons of either sign.
    Values = Callable[[Array], tuple[Array, Array]]

# Of more outcomes the sum would take too long, one value of a profile after the other.
MOST_OUTCOMES = 20_000
# Cells of a density; those of atoms are as narrow as this, relatively.
CELLS, NARROW = 1500, 1e-11
# Beyond this e^loss is no double.
LARGEST = 600.0
# Work for one value of a profile, and what underflow may hide.
PER_VALUE, TINY = 60.0, 1e-300
# A slope of the epsilon of a profile, for estimates.
SLOPE_STEP = 1e-6


class _Others(Protocol):
    """The loss of the others, over which V is averaged."""

    def mean(self, values: Values, epsilon: float, reach: float) -> tuple[float, float]:
        """Bound E[V(a e^-L)]; V is 0 from the loss `reach` on."""
        ...


def averaged(composition: Composition) -> Averaged | None:
    """Return the source, where one law knows its profile and the others are one, or atoms."""
    if composition.curves:
        return None
    known = [
        law for law, count in composition if law.properties.profile_in_closed_form and count == 1
    ]
    if not known or len(composition.terms) == 1:
        return None
    # Of several, more may be known of the one than its law says.
    law = max(known, key=lambda each: (each.exact_single_use_profile is not None, each.max_loss))
    rest = Composition(tuple(each for each in composition.terms if each[0] is not law))
    if any(each.exact_single_use_profile is not None for each, _ in rest):
        return None
    outcomes = enumerate_outcomes(rest)
    if outcomes is not None:
        few = len(outcomes.losses) <= MOST_OUTCOMES
        return Averaged(law, _Listed(outcomes)) if few else None
    other, count = rest.terms[0]
    if len(rest.terms) > 1 or count > 1 or not 0.0 < other.max_loss < LARGEST:
        return None
    return Averaged(law, _Dense(other))


class Averaged:
    """A source: the mean of the profile of one use.

    Attributes:
        exclusive: whether other engines know less, and of another law, so that they are not asked.
    """

    proof: ClassVar[Proof] = Proof.AVERAGE
    # Nothing here depends on the tolerance.
    pad: ClassVar[float] = 0.0

    def __init__(self, law: LossLaw, others: _Others) -> None:
        """Take the law whose profile is known, and the others."""
        self._others = others
        self._profile = law.exact_single_use_profile or law.profile
        # Laws on lattices may end before their profile does.
        known = law.exact_max_loss
        largest = law.max_loss * (1.0 + law.max_loss_error)
        self._reach = max(largest, 0.0 if known is None else float(known) * (1.0 + 2.0 * UNIT))
        self.exclusive = law.exact_single_use_profile is not None

    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket delta at increasing epsilons, in absolute units."""
        del log_scale
        found = [self._others.mean(self._values, float(x), self._reach) for x in epsilons]
        lower, upper = np.array(found).reshape(-1, 2).T
        zero = np.zeros(len(epsilons))
        return Deltas(zero, np.maximum(lower, 0.0), upper, 0.5 * (lower + upper), {})

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound."""
        ahead = epsilons + SLOPE_STEP * (1.0 + np.abs(epsilons))
        here, there = self.deltas(epsilons).value, self.deltas(ahead).value
        unit = math.exp(-log_scale)
        return here * unit, (here + (here - there) / (ahead - epsilons)) * unit

    def _values(self, x: Array) -> tuple[Array, Array]:
        """Bound V at any x: below 0, V(x) = 1 - e^x + e^x V(-x), as the pair is symmetric."""
        charge(PER_VALUE * len(x))
        size = np.abs(x)
        inside = size < self._reach
        found = np.zeros((len(x), 2))
        known = [self._profile(each) or (0.0, 1.0) for each in size[inside].tolist()]
        found[inside] = np.array(known).reshape(-1, 2)
        a = np.exp(np.minimum(x, 0.0))[:, None]
        mirrored = -np.expm1(np.minimum(x, 0.0))[:, None] + a * found
        value = np.where(x[:, None] < 0.0, mirrored, found)
        return value[:, 0] * (1.0 - 8.0 * UNIT), value[:, 1] * (1.0 + 8.0 * UNIT)


@record
class _Listed:
    """Finitely many outcomes."""

    outcomes: Outcomes

    def mean(self, values: Values, epsilon: float, reach: float) -> tuple[float, float]:
        """Add up; losses are off by their error and the rounding of a difference, V falls."""
        of = self.outcomes
        kept = (of.masses > 0.0) & (epsilon - of.losses < reach * 1.01 + of.loss_error)
        losses, masses, error = of.losses[kept], of.masses[kept], of.mass_error[kept]
        off = of.loss_error + 2.0 * UNIT * (epsilon + np.abs(losses))
        lower = values(epsilon - losses + off)[0]
        upper = values(epsilon - losses - off)[1]
        slack = (len(masses) + 8.0) * UNIT
        low = float((masses * (1.0 - error)) @ lower) * (1.0 - slack)
        return low, float((masses * (1.0 + error)) @ upper) * (1.0 + slack) + of.dropped + TINY


@record
class _Dense:
    """One use of a law with a density, and atoms where it says."""

    law: LossLaw

    def mean(self, values: Values, epsilon: float, reach: float) -> tuple[float, float]:
        """Add up cells from where V begins to the largest loss.

        Losses are displaced by `shift`, under P and Q alike: those of a cell lie in one that is so
        much wider.
        """
        law = self.law
        top = law.max_loss * (1.0 + law.max_loss_error) + TINY
        low = epsilon - reach
        if not low < top:
            return 0.0, 0.0
        ends = self._ends(low, top)
        tails = law.tails(ends)
        shift = tails.shift + 2.0 * UNIT * (epsilon + np.abs(ends).max())
        error = np.broadcast_to(np.asarray(tails.error), ends.shape)
        p = _masses(tails.above_p, tails.below_p, error)
        q = _masses(tails.above_q, tails.below_q, error)
        left, right = ends[:-1] - shift, ends[1:] + shift
        at_left, at_right = values(epsilon - left)[1], values(epsilon - right)[1]
        with np.errstate(all="ignore"):
            # Mass at the right end: (p e^-left - q) / (e^-left - e^-right).
            share = (p[1] - q[0] * np.exp(left)) / -np.expm1(left - right)
            wrong = 16.0 * UNIT * (p[1] + q[0] * np.exp(left)) / -np.expm1(left - right)
            share = np.clip(np.where(np.isfinite(share), share + wrong, p[1]), 0.0, p[1])
            centre = np.log(p[0] / q[1]) - 16.0 * UNIT
            centre = np.clip(np.where(np.isfinite(centre), centre, left), left, right)
        upper = float((share * at_right + (p[1] - share) * at_left).sum())
        lower = float((p[0] * values(epsilon - centre)[0]).sum())
        slack = 4.0 * UNIT * (len(ends) + 8.0)
        return lower * (1.0 - slack), upper * (1.0 + slack) + TINY

    def _ends(self, low: float, top: float) -> Array:
        """Return ends of cells, evenly spaced, with narrow ones about each atom.

        The least loss is -top in a pair that is symmetric, and may be far below it in others: it is
        an atom there, or none is known. All cells together reach from `low` on in any case.
        """
        least = min((-top, *self.law.atom_locations))
        places = [low, *(each for each in (least, -top) if each > low), top]
        ends = [
            np.linspace(start, end, CELLS + 1)
            for start, end in itertools.pairwise(places)
            if start < end
        ]
        for each in (*self.law.atom_locations, top):
            width = NARROW * (1.0 + abs(each))
            ends.append(np.array([each - width, each + width]))
        found = np.unique(np.concatenate(ends))
        inside: Array = found[(found >= low) & (found <= top * (1.0 + 2.0 * NARROW) + NARROW)]
        return np.concatenate([inside, [2.0 * top + 1.0]])


def _masses(above: Array, below: Array, error: Array) -> tuple[Array, Array]:
    """Return bounds on the masses of cells, by subtracting whichever tail is smaller."""
    use = above[:-1] < below[1:]
    mass = np.where(use, above[:-1] - above[1:], below[1:] - below[:-1])
    size = np.where(use, above[:-1] + above[1:], below[:-1] + below[1:])
    wrong = size * np.maximum(error[:-1], error[1:]) * MARGIN + 4.0 * UNIT * size
    return np.maximum(mass - wrong, 0.0), mass + wrong
