"""What the contract looks at: a law at single losses, and what bounds follow from its tails."""

from __future__ import annotations

import math
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from mpmath import mp, mpf

from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw
    from tests.losses.contract.law_truth import Truth

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Masses below may be lost to underflow.
FAINT = mpf("1e-299")
ORDERS = (2.0**-10, 0.25, 1.0, 3.5, 20.0)
# Q(L = -inf) has no stated error: it is as exact as P(L = inf), or as any mass.
LOWER_UNITS = 64.0


@record
class Subject:
    """A law under test.

    Attributes:
        law: the law.
        truth: what it is the law of, or None.
        opposite: the law of the other order of the neighbours, or None.
        own: whether it is the pair's own law, and not an upper bound.
        lower: where it is an upper bound, the law that proves lower ends, or None.
    """

    law: LossLaw
    truth: Truth | None = None
    opposite: LossLaw | None = None
    own: bool = True
    lower: LossLaw | None = None

    @property
    def exact(self) -> Truth | None:
        """Return the truth of the law itself, and not only of what it bounds."""
        return self.truth if self.own else None


class Row(NamedTuple):
    """The tails at one loss."""

    above_p: Any
    above_q: Any
    below_p: Any
    below_q: Any
    error: Any
    shift: Any

    def least(self, name: str) -> Any:
        """Return a lower bound of a mass."""
        return max(mpf(0), getattr(self, name) * (1 - self.error) - FAINT)

    def most(self, name: str) -> Any:
        """Return an upper bound of a mass."""
        return getattr(self, name) * (1 + self.error) + FAINT


# What was asked of the laws at hand, by their identity: laws of many atoms are slow to hash.
asked: dict[int, dict[Any, Any]] = {}


def remembered(
    make: Callable[Concatenate[LossLaw, _P], _T],
) -> Callable[Concatenate[LossLaw, _P], _T]:
    """Ask a law the same only once in one run of the clauses."""

    def ask(law: LossLaw, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        known = asked.setdefault(id(law), {})
        key = make, args
        if key not in known:
            known[key] = make(law, *args, **kwargs)
        found: _T = known[key]
        return found

    update_wrapper(ask, make)
    return ask


@remembered
def row(law: LossLaw, loss: float) -> Row:
    """Ask for the tails at one loss alone, where the stated errors are smallest."""
    found = law.tails(np.array([loss]))
    error = float(np.broadcast_to(np.asarray(found.error, dtype=float), (1,))[0])
    masses = (found.above_p, found.above_q, found.below_p, found.below_q)
    above_p, above_q, below_p, below_q = (mpf(float(x[0])) for x in masses)
    return Row(above_p, above_q, below_p, below_q, mpf(error), mpf(float(found.shift)))


@remembered
def thresholds(law: LossLaw) -> tuple[float, ...]:
    """Return losses at which a law is looked at: spread, at atoms and next to them, and far out."""
    scale = np.geomspace(1e-30, 690.0, 150)
    grid = np.concatenate([-scale[::-1], [0.0], scale])
    with np.errstate(all="ignore"):
        tails = law.tails(grid)
    inside = np.flatnonzero((tails.above_p > 1e-100) & (tails.below_p > 1e-100))
    found = {0.0}
    if len(inside):
        picked = grid[inside[np.unique(np.linspace(0, len(inside) - 1, 9).astype(int))]]
        found |= {float(x) for x in picked}
        # Short cells, too.
        found |= {float(x) * (1.0 + 2.0**-20) for x in picked[::3]}
        low, high = float(grid[inside[0]]), float(grid[inside[-1]])
        found |= {float(x) for x in np.linspace(low, high, 7)}
    places = [*law.atom_locations[:3], *law.atom_locations[-3:]]
    if math.isfinite(law.max_loss):
        places.append(law.max_loss)
        places.append(law.max_loss * (1.0 - 2.0**-30))
    for x in places:
        found |= {x, math.nextafter(x, math.inf), math.nextafter(x, -math.inf)}
    return tuple(sorted(x for x in found if abs(x) <= 700.0))


def epsilons(law: LossLaw) -> tuple[float, ...]:
    """Return the thresholds that are an epsilon."""
    return tuple(x for x in thresholds(law) if x >= 0.0)


def shown(x: Any) -> str:
    """Return 25 digits of a number."""
    return str(mp.nstr(x, 25))


def difference(before: Row, after: Row, name: str) -> tuple[Any, Any]:
    """Bound the mass between two losses by the tails above and below."""
    above, below = f"above_{name}", f"below_{name}"
    least = max(before.least(above) - after.most(above), after.least(below) - before.most(below))
    most = min(before.most(above) - after.least(above), after.most(below) - before.least(below))
    return max(mpf(0), least), most


def finite_delta(law: LossLaw, epsilon: float) -> tuple[Any, Any]:
    """Bound the finite part of delta by the tails.

    delta is the largest P(S) - e^eps Q(S): at least that of the displaced set, and at most
    that and the displacement times the mass.
    """
    seen = row(law, epsilon)
    a = mp.exp(mpf(epsilon))
    low = seen.least("above_p") - a * seen.most("above_q")
    high = seen.most("above_p") - a * seen.least("above_q")
    return max(mpf(0), low), max(mpf(0), high) + seen.shift
