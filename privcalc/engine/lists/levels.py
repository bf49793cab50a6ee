"""From loss laws to the list of their composition, in levels.

A composition of many uses has a loss far wider than one use, and needs no finer lattice than its
own width asks for. So laws of large counts are composed a few uses at a time, coarsened, and
composed again: cost and error grow with the logarithm of the count. Coarsening from step to m step
adds about (m step)^2 / 4 to the variance of every use that is left; the steps are chosen such that
each level adds the same.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.engine.lists.losses import discretised, tilted
from privcalc.engine.lists.sketch import LIGHT
from privcalc.engine.lists.steps import common_step, gap_of, origin_of
from privcalc.engine.lists.transform import PER_LEVEL, coarsen, compose, per_point
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.lists.losses import Tilted
    from privcalc.engine.lists.sketch import Scales, Sketch
    from privcalc.losses.law import LossLaw

# Points of one transform that a plan aims at; windows are about 20 deviations wide.
MOST_POINTS = 2**20
WINDOW = 22.0
MOST_LEVELS = 7
# See `plan_journey`.
COST = 0.9
FEW, FEWER, FINE = 0.8, 0.25, 1e-7
# What is known of H needs tau times the tilt below this.
LARGEST_TILT = 0.9


@record
class Route:
    """How one law gets to the final lattice: its first step, and the factors on the way."""

    origin: Fraction
    step: Fraction
    uses: tuple[int, ...]
    factors: tuple[int, ...]


@record
class Journey:
    """What was seen of the laws of a composition, and the route of each.

    Attributes:
        sketches: of each law.
        scales: of the total loss.
        routes: of each law.
        width: about the width of the bracket of epsilon that this can give at best.
    """

    sketches: tuple[Sketch, ...]
    scales: Scales
    routes: tuple[Route, ...]
    width: float

    @property
    def work(self) -> float:
        """Return what a point costs in the last transform and in those of all levels."""
        levels = sum(len(route.uses) for route in self.routes)
        return per_point(len(self.routes)) + PER_LEVEL * levels


def plan_journey(
    composition: Composition,
    sketches: tuple[Sketch, ...],
    scales: Scales,
    tolerance: float,
    most_points: float,
) -> Journey:
    """Choose steps and levels for a relative width of epsilon near the tolerance, if affordable.

    Upper and lower ends differ by about 0.9 (c + 1) sum over levels of uses step^2: three times
    tau^2 = uses step^2 / 4 times the density at epsilon (`spread.py`), and the mean of what the
    spread adds.
    """
    step = common_step(composition.terms, WINDOW * scales.deviation / most_points)
    if step is not None:
        routes = tuple(Route(origin_of(law), step, (), ()) for law, _ in composition)
        return Journey(sketches, scales, routes, 0.0)
    counts = [count for _, count in composition]
    largest = max(counts)
    width = tolerance * scales.size
    deviation = max(scales.deviation, 1e-300)
    span = max(each.high - each.low for each in sketches)
    best = (math.inf, 1.0, 1)
    for levels in range(1, MOST_LEVELS + 1):
        share = largest ** (1.0 / levels)
        if levels > 1 and share < 8.0:
            break
        wanted = math.sqrt(width / COST / ((scales.c + 1.0) * levels))
        wanted = min(wanted, 2.0 * LARGEST_TILT / ((scales.c + 1.0) * math.sqrt(levels)))
        # In the last transform all laws take part.
        last_uses = sum(min(count, max(share, 1.0)) for count in counts)
        affordable = WINDOW * deviation * math.sqrt(last_uses) / most_points
        affordable = max(affordable, span * math.sqrt(largest) / most_points)
        unit = max(wanted, affordable)
        error = unit * unit * levels
        # Every level brings rounding of its own: where much is asked, fewer are better.
        if error < (FEWER if tolerance < FINE else FEW) * best[0]:
            best = (error, unit, levels)
        if affordable <= wanted:
            break
    _, unit, levels = best
    share = max(2, math.ceil(largest ** (1.0 / levels)))
    # What is left for the last transform, in which all laws take part.
    last_uses = sum(_chain(count, share)[1] for _, count in composition)
    final = unit / math.sqrt(last_uses)
    lead = max(
        range(len(counts)),
        key=lambda j: (
            bool(composition.terms[j][0].atom_locations),
            counts[j] * scales.deviations[j] ** 2,
        ),
    )
    chosen = _final_step(composition.terms[lead], Fraction(final), share)
    routes = tuple(_route(law, count, chosen, share) for law, count in composition)
    return Journey(sketches, scales, routes, COST * (scales.c + 1.0) * levels * unit * unit)


def _chain(count: int, share: int) -> tuple[tuple[int, ...], int]:
    """Return how often a law is composed with itself before each coarsening, and what is left."""
    uses = []
    while count > share:
        uses.append(share)
        count //= share
    return tuple(uses), count


def _factor(uses: int) -> int:
    """Return the odd number nearest to the square root: steps grow as the deviation does."""
    return max(1, 2 * round((math.sqrt(uses) - 1.0) / 2.0) + 1)


def _final_step(term: tuple[LossLaw, int], final: Fraction, share: int) -> Fraction:
    """Return the final step, such that the leading law has its atoms on every lattice."""
    law, count = term
    uses, _ = _chain(count, share)
    product = math.prod(tuple(_factor(each) for each in uses))
    gap = gap_of(law)
    if gap is not None and gap > final:
        return gap / math.ceil(gap / final)
    if gap is not None and gap > final / product:
        # At least the first lattice has them.
        return gap / math.ceil(gap / final * product) * product
    return final


def _route(law: LossLaw, count: int, final: Fraction, share: int) -> Route:
    uses, _ = _chain(count, share)
    factors = tuple(_factor(each) for each in uses)
    return Route(origin_of(law), final / math.prod(factors), uses, factors)


def compose_levels(
    composition: Composition, journey: Journey, log_drop: float, *, floor: bool = False
) -> Tilted:
    """Return the list of a whole composition.

    It counts P-mass of about e^{log_drop} as infinite loss for each window it uses. With `floor` it
    proves lower ends only; there is one level.
    """
    c = journey.scales.c
    uses = sum(count for _, count in composition)
    parts: list[tuple[Tilted, int]] = []
    for (law, count), seen, route in zip(
        composition, journey.sketches, journey.routes, strict=True
    ):
        low = seen.floor(c, LIGHT / uses)
        found = discretised(law, route.origin, route.step, low, seen.high, floor=floor)
        parts += _levels(tilted(found, c), count, route, log_drop)
    return compose(parts, log_drop)


def _levels(first: Tilted, count: int, route: Route, log_drop: float) -> list[tuple[Tilted, int]]:
    """Return lists on the final lattice, with counts, that make up `count` uses of one."""
    items = [(first, count)]
    for level, (uses, factor) in enumerate(zip(route.uses, route.factors, strict=True)):
        align = math.prod(route.factors[level:])
        following = []
        for each, left in items:
            whole, rest = divmod(left, uses)
            for power, times in ((uses, whole), (rest, 1)):
                if power > 0 and times > 0:
                    drop = log_drop - math.log(times)
                    composed = compose([(each, power)], drop, align)
                    following.append((coarsen(composed, factor), times))
        items = following
    return items
