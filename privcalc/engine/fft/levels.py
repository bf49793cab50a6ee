"""From loss laws to the lattice law of their composition, in levels.

A composition of many uses has a loss far wider than one use, and needs no finer lattice than its
own width asks for. So laws of large counts are composed a few uses at a time, coarsened, and
composed again: cost and error grow with the logarithm of the count. Coarsening from step to m step
adds about (m step)^2 / 6 to the variance of every use that is left; the steps are chosen such that
each level adds the same.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.engine.fft.lattice_law import coarsen, discretised, make_grid
from privcalc.engine.fft.transform import compose_lattice
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.fft.lattice_law import LatticeLaw, Side
    from privcalc.engine.fft.sketch import Scales, Sketch
    from privcalc.losses.law import LossLaw

# Points of one transform that a plan aims at; windows are about 20 deviations wide.
MOST_POINTS = 2**21
WINDOW = 22.0
MOST_LEVELS = 7
# See `plan_journey`.
COST = 0.8
FEW, FEWER, FINE = 0.8, 0.25, 1e-7


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


def plan_journey(
    composition: Composition,
    sketches: tuple[Sketch, ...],
    scales: Scales,
    tolerance: float,
    most_points: float,
) -> Journey:
    """Choose steps and levels for a relative width of epsilon near the tolerance, if affordable.

    Upper and lower ends differ by about 0.8 (c + 1) sum over levels of uses step^2: 2.1 times
    tau^2 = uses step^2 / 4 times the density at epsilon (`enumeration/spread.py`), and the mean
    of what the spread of the upper law adds.
    """
    shared = _shared_lattice(composition, scales, most_points)
    if shared is not None:
        return Journey(sketches, scales, shared, 0.0)
    counts = [count for _, count in composition]
    largest = max(counts)
    width = tolerance * max(scales.epsilon, 1e-3 * scales.deviation)
    deviation = max(scales.deviation, 1e-300)
    span = max(each.high - each.low for each in sketches)
    best = (math.inf, 1.0, 1)
    for levels in range(1, MOST_LEVELS + 1):
        share = largest ** (1.0 / levels)
        if levels > 1 and share < 8.0:
            break
        wanted = math.sqrt(width / COST / ((scales.c + 1.0) * levels))
        affordable = WINDOW * deviation * math.sqrt(max(share, 1.0)) / most_points
        affordable = max(affordable, 3.0 * span * math.sqrt(largest) / most_points)
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
    routes = tuple(
        _route(law, count, chosen, share, seen)
        for (law, count), seen in zip(composition, sketches, strict=True)
    )
    return Journey(sketches, scales, routes, COST * (scales.c + 1.0) * levels * unit * unit)


def _shared_lattice(
    composition: Composition, scales: Scales, most_points: float
) -> tuple[Route, ...] | None:
    """Return routes on the lattice that holds all losses exactly, if it is not too fine.

    The step is the greatest common divisor of the laws' steps; one transform does it all, and
    upper and lower laws differ by rounding only.
    """
    lattices = [law.lattice for law, _ in composition]
    step = Fraction(0)
    for lattice in lattices:
        if lattice is None:
            return None
        other = lattice[1]
        divisor = math.gcd(step.numerator * other.denominator, other.numerator * step.denominator)
        step = Fraction(divisor, step.denominator * other.denominator)
    if WINDOW * scales.deviation > float(step) * most_points:
        return None
    return tuple(Route(each[0], step, (), ()) for each in lattices if each is not None)


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
    gap = _gap(law)
    if gap is not None and gap > final:
        return gap / math.ceil(gap / final)
    if gap is not None and gap > final / product:
        # At least the first lattice has them.
        return gap / math.ceil(gap / final * product) * product
    return final


def _gap(law: LossLaw) -> Fraction | None:
    """Return the distance of two atoms that divides the distances of all, if there is one."""
    # Different numbers may be the same doubles.
    exact = sorted({Fraction(loss) for loss in law.atom_locations})
    if len(exact) < 2:
        return None
    gaps = [b - a for a, b in itertools.pairwise(exact)]
    least = min(gaps)
    spread = exact[-1] - exact[0]
    for parts in range(1, 5):
        unit = least / parts
        if all(abs(gap / unit - round(gap / unit)) * unit <= abs(spread) / 2**44 for gap in gaps):
            # The whole spread over a whole number, so that the last atom is met, too.
            return spread / round(spread / unit)
    return spread


def _route(law: LossLaw, count: int, final: Fraction, share: int, seen: Sketch) -> Route:
    uses, _ = _chain(count, share)
    factors = tuple(_factor(each) for each in uses)
    step = final / math.prod(factors)
    anchors = law.atom_locations
    origin = Fraction(anchors[0]) if anchors else Fraction(round(seen.median / float(step))) * step
    return Route(origin, step, uses, factors)


def compose_levels(
    composition: Composition, journey: Journey, side: Side, log_drop: float, *, floor: bool = False
) -> LatticeLaw:
    """Return the lattice law of a whole composition, a bound of one side.

    An upper law counts P-mass of about e^{log_drop} as infinite loss for each window it uses.
    """
    c = journey.scales.c
    parts: list[tuple[LatticeLaw, int]] = []
    for (law, count), seen, route, deviation in zip(
        composition, journey.sketches, journey.routes, journey.scales.deviations, strict=True
    ):
        grid = make_grid(route.origin, route.step, seen, deviation, c)
        first = discretised(law, grid, side, c, seen.tilted(c)[0], floor=floor)
        parts += _levels(first, count, route, log_drop)
    return compose_lattice(parts, log_drop)


def _levels(
    first: LatticeLaw, count: int, route: Route, log_drop: float
) -> list[tuple[LatticeLaw, int]]:
    """Return laws on the final lattice, with counts, that make up `count` uses of one."""
    items = [(first, count)]
    for level, (uses, factor) in enumerate(zip(route.uses, route.factors, strict=True)):
        align = math.prod(route.factors[level:])
        following = []
        for lattice, left in items:
            whole, rest = divmod(left, uses)
            for power, times in ((uses, whole), (rest, 1)):
                if power > 0 and times > 0:
                    drop = log_drop - math.log(times)
                    composed = compose_lattice([(lattice, power)], drop, align)
                    following.append((coarsen(composed, factor), times))
        items = following
    return items
