"""Why one number for a whole curve is large: what the same guarantee is at one delta.

mu and rho hold at every delta and every order. Where steps are sampled that is decided far below
any delta in use, or at orders that no delta asks for: by runs in which every sample had the record.
What is said beside such a number is proved, too: epsilon at one delta, from above, and what the
number alone has to say of that delta.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.accounting.compose import compose
from privcalc.bounds import Bound
from privcalc.errors import NotCertifiedError, UnsupportedError
from privcalc.record import record
from privcalc.spec.tree import Leaf

if TYPE_CHECKING:
    from privcalc.accounting.convert import Conversion

# mu = 3 tells two data sets apart with 93 % success, and rho = mu^2 / 2 is that of the same noise.
LARGE = {"mu": 3.0, "rho": 4.5}
# A delta that is in use; how well epsilon is known there; and how much less it has to say.
USUAL_DELTA, ROUGHLY, LESS = 1e-5, 1e-2, 1.5


@record
class AtOneDelta:
    """A number that holds at every delta, beside what is known at one.

    Attributes:
        delta: which.
        epsilon: an upper bound at delta.
        other: of mu, the smaller mu of which Gaussian noise has this epsilon there; of rho, the
            larger epsilon that it proves there.
    """

    delta: float
    epsilon: float
    other: float


def at_one_delta(found: Conversion) -> AtOneDelta | None:
    """Return what is known at one delta, where a mu or rho says much less; else None.

    Args:
        found: answers in the language of Gaussian or of concentrated differential privacy.
    """
    first, *others = found.answers
    name = "mu" if "mu" in first.result else "rho"
    number = first.result.get(name)
    if not isinstance(number, Bound) or not LARGE[name] < number.upper < math.inf:
        return None
    delta = next((each.query["delta"] for each in others), USUAL_DELTA)
    try:
        epsilon = _epsilon(found, delta)
        if not 0.0 < epsilon < math.inf:
            return None
        if name == "rho":
            other = _epsilon_of(number.upper, delta)
            return AtOneDelta(delta, epsilon, other) if other > LESS * epsilon else None
        from privcalc.tradeoff.mu import mu_at

        other = mu_at(epsilon, Bound(delta, delta)).upper
    except (NotCertifiedError, UnsupportedError):
        return None
    return AtOneDelta(delta, epsilon, other) if LESS * other < number.upper else None


def _epsilon(found: Conversion, delta: float) -> float:
    """Return an upper bound on epsilon of the specification at a delta."""
    asked = compose(found.tree, relation=found.relation, deltas=(delta,), tolerance=ROUGHLY)
    return asked.answers[0].proved.upper


def _epsilon_of(rho: float, delta: float) -> float:
    """Return epsilon of all that is rho-zCDP."""
    tree = Leaf("zcdp", (("rho", rho),))
    return compose(tree, deltas=(delta,), tolerance=ROUGHLY).answers[0].proved.upper
