"""Single data sets whose envelope is a release of keys, in either order of the neighbours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.losses.atomic.exact import exact_law
from privcalc.losses.term import DirectedMembers
from privcalc.record import record

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.losses.atomic.exact import Outcome
    from privcalc.losses.law import LossLaw


@record
class KeyMembers(DirectedMembers):
    """Keys that have many records, with the noise of all of them, or keys that have none.

    Attributes:
        old: the law of the noise, the same for both orders.
        mass: a lower bound on the probability that a new key shows.
        remove: see `DirectedMembers`.
    """

    by_order: ClassVar[bool] = False
    old: LossLaw
    mass: Fraction
    remove: bool

    def chosen(self, c: float | None, *, remove: bool) -> LossLaw:
        """Return the noise at finite orders, and new keys at the infinite one."""
        if c is None or math.isfinite(c):
            return self.old
        return _shown(self.mass, 0 * self.mass, remove=remove)


@record
class CountMembers(DirectedMembers):
    """A key with some count, which is published with one probability or another.

    Several uses may be the keys of one person, which are published together.

    Attributes:
        pairs: the probability with the record, and without it, of some counts; the first of them
            that of a count of 0.
        remove: see `DirectedMembers`.
    """

    adaptive: ClassVar[bool] = True
    at_once: ClassVar[bool] = True
    pairs: tuple[Outcome, ...]
    remove: bool

    def chosen(self, c: float | None, *, remove: bool) -> LossLaw:
        """Return the count of the largest divergence of order c + 1."""
        if c is None:
            return _shown(*self.pairs[-1], remove=remove)
        if math.isinf(c):
            return _shown(*self.pairs[0], remove=remove)
        p, q = np.array([tuple(map(float, each)) for each in self.pairs]).T
        if not remove:
            p, q = q, p
        with np.errstate(all="ignore"):
            parts = [
                np.where(a > 0.0, (c + 1.0) * np.log(a) - c * np.log(b), -np.inf)
                for a, b in ((p, q), (1.0 - p, 1.0 - q))
            ]
        sizes = np.logaddexp(*parts)
        finite = np.where(np.isfinite(sizes), sizes, -np.inf)
        return _shown(*self.pairs[int(np.argmax(finite))], remove=remove)


def _shown(p: Fraction, q: Fraction, *, remove: bool) -> LossLaw:
    """Return the law of a key that shows with probability p with the record, and q without."""
    pairs = [(p, q), (1 - p, 1 - q)]
    return exact_law(pairs if remove else [(b, a) for a, b in pairs])
