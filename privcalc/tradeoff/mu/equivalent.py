"""mu of Gaussian differential privacy: at one epsilon, and the smallest one for all of them.

A mechanism is mu-GDP where its profile is below that of N(mu, 1) against N(0, 1) at every real
epsilon, in every direction (Dong, Roth, Su 2022). Negative epsilons of one direction are positive
ones of the other, for the mechanism as for the normal laws, whose directions are the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Proof
from privcalc.errors import DomainError
from privcalc.numerics.normal import least_mu
from privcalc.record import record
from privcalc.renyi.concentrated import normal_mu
from privcalc.tradeoff.mu.caps import gaussian_cap, gaussian_floor
from privcalc.tradeoff.mu.search import MuSearch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.engine.terms import Realized

# Relative widths of deltas that are asked for everywhere, and where that is not enough.
COARSE, FINE = 3e-7, 1e-9
# Floors and caps that agree so well are equal but for rounding.
SAME = 1e-12


@record
class GaussianEquivalent:
    """The smallest mu.

    Attributes:
        mu: its bracket; the upper end is infinite where nothing finite is proved, and there is no
            lower end where only bounds on the mechanism are known.
        at_epsilon: where the profile comes nearest to that of the lower end; infinity where it does
            so as epsilon grows.
        proof: what proved most values of the profile that the search looked at last.
    """

    mu: Bound
    at_epsilon: float
    proof: Proof = Proof.CLOSED_FORM


def mu_at(epsilon: float, delta: Bound) -> Bound:
    """Bracket the mu whose Gaussian profile passes through delta at epsilon.

    It grows with delta, so that each end of delta gives one.

    Args:
        epsilon: >= 0.
        delta: within [0, 1].

    Raises:
        DomainError: epsilon negative or not finite.
    """
    if not 0.0 <= epsilon < math.inf:
        raise DomainError(f"epsilon must be >= 0 and finite, got {epsilon!r}")
    upper = least_mu(epsilon, delta.upper)
    if delta.lower is None:
        return Bound(upper)
    return Bound(upper, min(upper, least_mu(epsilon, delta.lower, above=False)))


def smallest_mu(
    directions: Mapping[str, Realized], tolerance: float, engine: str = "auto"
) -> GaussianEquivalent:
    """Bracket the smallest mu such that the composition is mu-GDP.

    The lower end is that of one epsilon, or of the limit of large ones (`gaussian_range`). For the
    upper one, Gaussian guarantees add up as squares (Dong, Roth, Su 2022, Corollary 3.3); or the
    tests are bounded by finitely many points of the profile, up to the largest loss, or up to where
    `LargeEpsilons` takes over.

    Args:
        directions: compositions of each direction.
        tolerance: relative width wished for.
        engine: as for `certified_delta`.
    """
    parts = list(directions.values())
    lowers = [part.lower for part in parts if part.lower is not None]
    if max(part.upper.infinity_mass().upper for part in parts) > 0.0:
        certain = any((lower.infinity_mass().lower or 0.0) > 0.0 for lower in lowers)
        return GaussianEquivalent(Bound(math.inf, math.inf if certain else None), math.inf)
    if any(part.upper.curves and math.isinf(part.upper.max_loss().upper) for part in parts):
        # Of tests at large epsilon nothing is known, from either side.
        return GaussianEquivalent(Bound(math.inf), math.inf)
    normal = normal_mu(parts)
    if normal is not None:
        return GaussianEquivalent(normal, math.inf)
    cap = max(gaussian_cap(part.upper) for part in parts)
    floor = max((gaussian_floor(lower) for lower in lowers), default=0.0)
    if floor >= cap * (1.0 - SAME):
        return GaussianEquivalent(Bound(cap, min(floor, cap)), math.inf)
    searches = [MuSearch(part, max(tolerance, COARSE), engine) for part in parts]
    _find(searches, floor, cap, tolerance)
    upper = min(cap, max(search.upper for search in searches))
    if not lowers:
        worst = max(searches, key=lambda each: each.best)
        return GaussianEquivalent(Bound(upper), worst.place, worst.served)
    proved = [(floor, math.inf), *(search.proved() for search in searches)]
    lower, at = max(proved, key=lambda each: each[0])
    return GaussianEquivalent(Bound(upper, lower), at, searches[-1].served)


def _find(searches: list[MuSearch], floor: float, cap: float, tolerance: float) -> None:
    """Search one direction after the other, each no further than where another is worse."""
    for search in searches:
        search.start()
    best = max(floor, *(search.best for search in searches))
    for search in searches:
        search.close(best, tolerance)
    for search in sorted(searches, key=lambda each: -each.best):
        if math.isinf(search.far.mu):
            search.approach()
            continue
        search.refine(best, cap, tolerance)
        best = max(best, search.best)
        wide = best * (1.0 + tolerance) < min(search.upper, cap) and tolerance < COARSE
        # Where wide deltas took the slow engine, narrow ones take minutes.
        if wide and not search.slow:
            search.sharpen(max(tolerance, FINE))
            search.refine(best, cap, tolerance)
            best = max(best, search.best)
