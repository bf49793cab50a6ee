"""One ordered pair (P, Q) of neighbours: H_a(P || Q) at every a > 0, with both ends.

Privacy profiles are known at epsilon >= 0, which is a = e^epsilon >= 1. For a < 1,

    H_a(P || Q) = 1 - a + a H_{1/a}(Q || P),

and (Q, P) is the pair of the reverse direction: (P, Q) dominates for adding a record if and only
if (Q, P) does for removing one (Zhu, Dong, Wang 2022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound, Proof
from privcalc.engine.certified import CLOSED, Certified
from privcalc.engine.many import ManyDeltas
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import OutOfWorkError
from privcalc.tradeoff.convex_minimum import Brackets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privcalc.engine.composition import Composition
    from privcalc.engine.terms import Realized
    from privcalc.numerics.arrays import Array

# Brackets of delta are asked for at this part of the tolerance of a trade-off, and will do at that.
WISH, ENOUGH = 0.1, 0.25
# Points farther out are not looked at: e^log overflows.
LARGEST_LOG = 700.0
# Which of all known points beyond a question's own are looked at, too, counted outward.
OUTWARD = np.array([0, 1, 4, 16, 64, 256])
UNKNOWN = Certified(Bound(1.0, 0.0), CLOSED)


class Profile:
    """The brackets of delta of one direction that have been asked for so far."""

    def __init__(self, laws: Realized, tolerance: float, engine: str) -> None:
        """Take the laws of a direction; tolerances are relative widths."""
        laws = laws.for_curves
        self.upper = _many(laws.upper, tolerance, engine)
        self.both = laws.lower is not None
        self._lower: ManyDeltas | None = self.upper
        if laws.lower is not laws.upper:
            self._lower = None
            if laws.lower is not None:
                self._lower = _many(laws.lower, tolerance, engine)
        self.mass: Bound = laws.upper.infinity_mass()
        self.lower_mass = 0.0 if laws.lower is None else laws.lower.infinity_mass().lower or 0.0
        self.largest = laws.upper.max_loss().upper
        self._known: dict[float, tuple[float, float]] = {}
        self._proofs: dict[float, Proof] = {}

    def ask(self, epsilons: Iterable[float]) -> None:
        """Bracket delta at epsilons >= 0 that are not known yet."""
        new = sorted({float(epsilon) for epsilon in epsilons}.difference(self._known))
        if not new:
            return
        uppers = _brackets(self.upper, new)
        self._proofs.update((e, each.proof) for e, each in zip(new, uppers, strict=True))
        if self._lower is self.upper:
            self._known.update((e, _ends(each)) for e, each in zip(new, uppers, strict=True))
            return
        lowers = [UNKNOWN] * len(new) if self._lower is None else _brackets(self._lower, new)
        for epsilon, above, below in zip(new, uppers, lowers, strict=True):
            high = above.bound.upper
            self._known[epsilon] = min(_ends(below)[0], high), high

    @property
    def given_up(self) -> bool:
        """Whether some brackets were left wide, for they would have been expensive."""
        return self.upper.given_up or (self._lower is not None and self._lower.given_up)

    def proof(self, epsilon: float) -> Proof:
        """Return what proved the upper end at an epsilon that was asked for."""
        return self._proofs[float(epsilon)]

    def known(self) -> list[float]:
        """Return the epsilons that were asked for, in any order."""
        return list(self._known)

    def ends(self, epsilons: Iterable[float]) -> tuple[Array, Array]:
        """Return both ends of delta at epsilons that were asked for."""
        table = np.array([self._known[float(e)] for e in epsilons]).reshape(-1, 2)
        return table[:, 0], table[:, 1]


def _many(composition: Composition, tolerance: float, engine: str) -> ManyDeltas:
    return ManyDeltas(
        composition, WISH * tolerance, engine=engine, width=ENOUGH * tolerance, of_mass=True
    )


def _brackets(curve: ManyDeltas, epsilons: list[float]) -> list[Certified]:
    """Return brackets of delta; where nothing is proved, 0 and 1."""
    try:
        return curve.brackets(epsilons)
    except OutOfWorkError:
        return [UNKNOWN] * len(epsilons)
    except NotCertifiedError:
        if len(epsilons) == 1:
            return [UNKNOWN]
    return [_brackets(curve, [epsilon])[0] for epsilon in epsilons]


def _ends(found: Certified) -> tuple[float, float]:
    return found.bound.lower or 0.0, found.bound.upper


class OrderedPair:
    """(P, Q), known by the profile of (P, Q) and that of (Q, P)."""

    def __init__(self, forward: Profile, reverse: Profile) -> None:
        """Take both profiles; they may be the same."""
        self.forward = forward
        self.reverse = reverse
        self.logs: Array = np.zeros(0)

    def ask(self, logs: Iterable[float]) -> None:
        """Bracket H_a at log a, of any sign."""
        points = [x for x in logs if abs(x) <= LARGEST_LOG]
        self.forward.ask(x for x in points if x >= 0.0)
        self.reverse.ask(-x for x in points if x < 0.0)
        known = [x for x in self.forward.known() if x <= LARGEST_LOG]
        known += [-x for x in self.reverse.known() if 0.0 < x <= LARGEST_LOG]
        self.logs = np.sort(known)

    def proof(self, log: float) -> Proof:
        """Return what proved the upper end at a log that was asked for."""
        return self.forward.proof(log) if log >= 0.0 else self.reverse.proof(-log)

    @property
    def given_up(self) -> bool:
        """Whether some brackets were left wide, for they would have been expensive."""
        return self.forward.given_up or self.reverse.given_up

    def around(self, points: Iterable[float]) -> Array:
        """Return points that were asked for, with some of those known on either side of them."""
        own = np.array(sorted({x for x in points if abs(x) <= LARGEST_LOG}))
        before = int(np.searchsorted(self.logs, own[0])) - 1 - OUTWARD
        after = int(np.searchsorted(self.logs, own[-1], side="right")) + OUTWARD
        left = self.logs[before[before >= 0]]
        right = self.logs[after[after < len(self.logs)]]
        return np.concatenate([left[::-1], own, right])

    def power_form(self, alpha: float, logs: Array) -> Brackets:
        """Bracket g(a) = H_a + a alpha, whose infimum is the power at alpha.

        Rounding: an exponential is off by 4 units, and each sum of positive terms by a few; 1 - a
        is formed by expm1. The ends are moved by 16 units.
        """
        low, high = self._deltas(logs)
        behind = logs < 0.0
        a = np.exp(logs)
        rest = np.where(behind, -np.expm1(np.minimum(logs, 0.0)), 0.0)
        factor = np.where(behind, a, 1.0)
        low = rest + factor * low + a * alpha
        high = rest + factor * high + a * alpha
        return Brackets(logs, low * (1.0 - 16.0 * UNIT), high * (1.0 + 16.0 * UNIT))

    def error_form(self, alpha: float, logs: Array) -> Brackets:
        """Bracket g(a) - 1 = H_a - 1 + a alpha, whose infimum is minus the type II error.

        For a < 1 this is a (H_{1/a}(Q || P) - (1 - alpha)), which has no cancellation but that of
        the difference. The ends are moved by 16 units of all terms.
        """
        low, high = self._deltas(logs)
        behind = logs < 0.0
        a = np.exp(logs)
        factor = np.where(behind, a, 1.0)
        minus = np.where(behind, a * (1.0 - alpha), 1.0)
        plus = np.where(behind, 0.0, a * alpha)
        slack = 16.0 * UNIT * (factor * high + minus + plus)
        return Brackets(
            logs, factor * low - minus + plus - slack, factor * high - minus + plus + slack
        )

    def _deltas(self, logs: Array) -> tuple[Array, Array]:
        """Return both ends of H_a(P || Q) for a >= 1, and of H_{1/a}(Q || P) for a < 1."""
        behind = logs < 0.0
        low, high = np.empty(len(logs)), np.empty(len(logs))
        low[behind], high[behind] = self.reverse.ends(-logs[behind])
        low[~behind], high[~behind] = self.forward.ends(logs[~behind])
        return low, high
