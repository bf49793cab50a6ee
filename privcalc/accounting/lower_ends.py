"""Lower ends where several mechanisms fit the description: the best of them, each by itself.

"At least" means that some mechanism that fits the description does cost this much. An envelope of
many is no mechanism once it is used twice; a member of it is, with one pair of neighbouring data
sets. Which member costs most depends on the question. It is about that of the Renyi order which is
best for the question, and a search over orders around that one finds better ones where uses are
few; whatever it finds is proved by itself.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.accountants import best_order
from privcalc.engine.planner import StoppingRule, certified_delta, certified_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import share, spend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.composition import Composition
    from privcalc.engine.terms import Realized
    from privcalc.exact import Enclosed

# Factors of the order that are tried, and of the search around the best of them, where the outcomes
# of all members can be listed; 0 is for the symmetric member. Elsewhere the first alone.
FACTORS = (
    1.0,
    0.0,
    *(2.0**power for power in (0.3, -0.3, 0.6, -0.6, 1.0, -1.0, -3.0)),
    -0.25,
    -0.5,
    -1.0,
    -2.0,
    -4.0,
)
FINER = (1.4, 1.2, 1.1, 1.05, 1.02, 1.01)
# Of more outcomes each trial would take its time, and orders say more.
MOST_OUTCOMES = 20_000
# Units of work for a trial, whatever else it takes.
PER_TRIAL = 1e4
# The search needs no more digits than this.
ROUGH = 1e-4
# Less mass at infinity is where a list was cut.
CUT = 1e-60
# So many members serve all of a profile: more where the outcomes of all can be listed.
MOST_MEMBERS, MOST_LISTED = 4, 20


def lower_end(
    part: Realized,
    quantity: str,
    at: Enclosed,
    *,
    tolerance: float,
    engine: str,
    stop: StoppingRule | None = None,
) -> Bound | None:
    """Prove a lower end of one direction; None where none is known.

    Args:
        part: the compositions of the direction.
        quantity: "epsilon" at a delta, or "delta" at an epsilon.
        at: that delta or epsilon.
        tolerance: target relative width.
        engine: the engine to ask.
        stop: when a wider bracket will do.
    """
    if part.lower is None:
        return None
    stop = stop or StoppingRule()

    def solved(composition: Composition, wish: float = tolerance) -> Bound:
        """Return one mechanism's bracket, whose lower end is 0 where nothing is proved."""
        solve = certified_epsilon if quantity == "epsilon" else certified_delta
        try:
            return solve(composition, at, wish, engine=engine, stop=stop).bound
        except NotCertifiedError:
            return Bound(math.inf, 0.0)

    whole = quantity == "epsilon" and at.high == 0
    if whole and part.approached:
        return solved(part.upper)
    if whole or not part.choices or part.alone:
        return reduce(Bound.maximum, map(solved, _either(part.lower)))
    start = _start(part, quantity, at)
    listed = engine == "auto" and part.by_order and _few(part.member(start))
    # Some member may lose as much to infinity as all together.
    last = (math.inf,) if part.upper.infinity_mass().upper > CUT else ()
    if not listed:
        plain = (None,) if any(members.both for members, _ in part.choices) else ()
        return reduce(Bound.maximum, [solved(part.member(c)) for c in (start, *plain, *last)])
    rough = max(ROUGH, tolerance)
    known: dict[float, float] = {}

    def value(factor: float) -> float:
        if factor not in known:
            spend(PER_TRIAL)
            member = part.member(start * factor if factor else None)
            known[factor] = solved(member, rough).lower or 0.0
        return known[factor]

    best = max((*FACTORS, *last), key=value)
    for factor in FINER:
        best = max((best, best / factor, best * factor), key=value)
    return solved(part.member(start * best if best else None))


def _either(lower: Composition) -> list[Composition]:
    """Return a composition below, and another on the same side that may be nearer."""
    other = lower.alternative_dominating_pair()
    return [lower] if other is None else [lower, other]


def _few(composition: Composition) -> bool:
    """Say whether all uses together have few outcomes, so that each trial takes little."""
    found = 1
    for law, count in composition:
        listed = law.properties.listed
        if listed == 0 or count > MOST_OUTCOMES:
            return False
        found *= math.comb(count + listed - 1, count)
    return found <= MOST_OUTCOMES


def _start(part: Realized, quantity: str, at: Enclosed) -> float:
    """Return about the best order minus 1; where no work is left for that, any will do."""
    if part.by_order:
        with suppress(NotCertifiedError):
            return best_order(part.upper, quantity, at.nearest()[0])
    return 1.0


def lower_profile(
    part: Realized, epsilons: Sequence[float], tolerance: float, engine: str
) -> list[float | None]:
    """Prove lower ends of delta at many epsilons; None where none is known.

    Each member of an envelope proves one everywhere, best where its order is: a few of them, spread
    over the orders that are best for the epsilons, and at each epsilon the largest.
    """
    from privcalc.engine.profile import profile_at

    if part.lower is None:
        return [None] * len(epsilons)
    lowers: list[float | None] = [None] * len(epsilons)
    members = _spread(part, part.lower, epsilons)
    for number, composition in enumerate(members):
        rough = max(ROUGH, tolerance) if len(members) > 1 else tolerance
        try:
            with share(len(members) - number):
                found = tuple(profile_at(composition, epsilons, rough, engine=engine))
        except NotCertifiedError:
            continue
        lowers = [
            max((low for low in (known, each.bound.lower) if low is not None), default=None)
            for known, each in zip(lowers, found, strict=True)
        ]
    return lowers


def _spread(part: Realized, lower: Composition, epsilons: Sequence[float]) -> list[Composition]:
    """Return the compositions to ask."""
    if not part.choices or part.alone or not part.by_order:
        return _either(lower)
    listed = _few(lower)
    points = sorted(set(epsilons))
    most = min(len(points), MOST_LISTED if listed else MOST_MEMBERS)
    places = np.linspace(0, len(points) - 1, most).round().astype(int)
    best = dict.fromkeys(best_order(part.upper, "delta", points[place]) for place in places)
    plain = [part.member(None)] if any(members.both for members, _ in part.choices) else []
    return [*([lower] if listed else []), *plain, *(part.member(c) for c in best)]
