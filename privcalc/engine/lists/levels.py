"""Compositions that are one list: made in levels, and where.

A composition of many uses has a loss far wider than one use, and needs no finer lattice than its
own width asks for. So laws of large counts are composed a few uses at a time, coarsened, and
composed again: cost and error grow with the logarithm of the count. Coarsening from step to m step
adds about (m step)^2 / 4 to the variance of every use that is left; the steps are chosen such that
each level adds the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.engine.certified import EPSILON_FLOOR
from privcalc.engine.inverse import log_delta_at, saddle
from privcalc.engine.lists.factor import LIGHT, rough, sketched
from privcalc.engine.lists.losses import (
    LatticeError,
    common_step,
    discretised,
    origin_of,
    step_near,
    tilted,
    unit_for,
)
from privcalc.engine.lists.sums import ListSource
from privcalc.engine.lists.transform import PER_LEVEL, coarsen, compose, per_point
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import left, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.engine.composition import Composition
    from privcalc.engine.lists.factor import ListLaw
    from privcalc.engine.lists.losses import Tilted

# Points of one transform that a plan aims at; windows are about 20 deviations wide.
MOST_POINTS = 2**20
WINDOW, FREE_POINTS, FINEST = 22.0, 2.0**14, 1e-4
MOST_LEVELS = 7
# So many times more uses, or fewer, may be composed at once than a plan asks for.
FARTHER = 1.4
# Every level brings rounding of its own: another one has to make the error so much smaller.
FEW = 0.8
# Part of delta that far outcomes, counted as infinite losses, may make up.
LOG_DROP = math.log(1e-11)
# Where delta is not known beforehand, outcomes of this mass are kept.
FIRST_LOG_DELTA, LEAST_LOG_DELTA = -80.0, -690.0
REFINEMENTS = 6
# A tilt that shrinks the loss to this part of the range of one law is made smaller, to this.
SHRUNK, LEAST_TILT = 1e-5, 1e-5
# So many points there may be, however little work is left; and of that one list may take so much.
FEWEST_POINTS, PART_OF_WORK = 2.0**13, 0.5
# Of more uses the rounding of transforms, some units for each use, leaves nothing of a lower end,
# and the upper one is above that of a Renyi order: so at delta 1e-5 with noise of four kinds.
MOST_USES = 1e9
# Where windows are too large, the lattice is made coarser, so many times.
COARSER = 6


@record
class Seen:
    """A composition of sketches with its saddle point: what the total loss looks like there.

    Attributes:
        sketches: see `rough`.
        c: the tilt.
        epsilon: about.
        log_delta: about.
        deviation: of the tilted loss.
        log_drop: log of the P-mass that may count as infinite loss.
    """

    sketches: Composition
    c: float
    epsilon: float
    log_delta: float
    deviation: float
    log_drop: float

    @classmethod
    def of(cls, composition: Composition, log_delta: float, epsilon: float | None = None) -> Seen:
        """Look at the laws at an epsilon, or at a delta.

        Where the tilted loss has shrunk to the largest one, more tilt only makes lattices finer.
        """
        log_drop = log_delta + LOG_DROP
        sketches = rough(composition, log_drop, lines=False)
        c = saddle(sketches, epsilon, None if epsilon is not None else log_delta)
        span = max(law.seen.high - law.seen.low for law, _ in sketched(sketches))
        deviation = _deviation(sketches, c)
        while not deviation > SHRUNK * span and c > LEAST_TILT:
            c *= 0.5
            deviation = _deviation(sketches, c)
        return cls(sketches, c, *log_delta_at(sketches, c), max(deviation, 1e-300), log_drop)

    @property
    def size(self) -> float:
        """Return epsilon, or what a width is compared with where that is near 0 or below."""
        return max(self.epsilon, 0.01 * self.deviation, EPSILON_FLOOR)

    def source(self, tolerance: float, most_points: int = MOST_POINTS) -> ListSource:
        """Return the list on the finest lattice whose windows are not too large.

        Args:
            tolerance: relative width wished for; what there is no work for is not tried.
            most_points: size of the largest transform that is aimed at.

        Raises:
            NotCertifiedError: the laws are too far apart for any lattice.
        """
        counts = [count for _, count in self.sketches]
        if sum(counts) > MOST_USES:
            raise NotCertifiedError("rounding leaves nothing of so many uses")
        share = self._plan(tolerance, most_points)[1]
        work = per_point(len(counts)) + PER_LEVEL * sum(len(_levels(n, share)) for n in counts)
        # The points of all first lists, over those of the largest transform.
        spans = [law.seen.high - self._low(law) for law, _ in sketched(self.sketches)]
        finer = math.sqrt(max(counts) / max(share, 1)) if share else 1.0
        work += sum(spans) * finer / max(WINDOW * self.deviation, max(spans) * finer)
        most, reason = min(most_points, max(FEWEST_POINTS, PART_OF_WORK * left() / work)), ""
        for trial in range(COARSER):
            if trial and left() <= 0.0:
                reason += ", and coarser lattices more work than a question may cost"
                break
            try:
                return ListSource(self._composed(*self._plan(tolerance, most / 2.0**trial)))
            except LatticeError as error:
                reason = str(error)
        raise NotCertifiedError(reason)

    def _plan(self, tolerance: float, most_points: float) -> tuple[Fraction, int]:
        """Choose the last step and the uses of a level, for a relative width, if affordable."""
        laws = sketched(self.sketches)
        step = common_step([(law.law, n) for law, n in laws], WINDOW * self.deviation / most_points)
        if step is not None:
            return step, 0
        counts = [count for _, count in laws]
        largest, span = max(counts), max(law.seen.high - self._low(law) for law, _ in laws)
        best, unit, chosen = math.inf, 1.0, 1.0
        for levels in range(1, MOST_LEVELS + 1):
            share = largest ** (1.0 / levels)
            if levels > 1 and share < 8.0:
                break
            wanted = unit_for(tolerance * self.size, self.c, levels)
            # In the last transform all laws take part; the first lattice is that of one use.
            last = math.sqrt(sum(min(count, max(share, 1.0)) for count in counts))
            first = last * math.sqrt(largest / share)
            size = max(WINDOW * self.deviation * last, span * first)
            # Near an atom epsilon is off by more, and small transforms cost nothing. But of losses
            # that are all but one even so many points would have indices beyond whole numbers.
            free = max(size / FREE_POINTS, FINEST * wanted)
            wanted, affordable = min(wanted, free), size / most_points
            error = levels * max(wanted, affordable) ** 2
            if error < FEW * best:
                best, unit, chosen = error, max(wanted, affordable), share
            if affordable <= wanted:
                break
        whole = max(2, math.ceil(chosen))
        routes = [_levels(count, whole) for count in counts]
        last = sum(
            n // math.prod(uses for uses, _ in route)
            for n, route in zip(counts, routes, strict=True)
        )
        coarser = [math.prod(factor for _, factor in route) for route in routes]
        return step_near([(law.law, n) for law, n in laws], unit / math.sqrt(last), coarser), whole

    def _low(self, law: ListLaw) -> float:
        """Return where the list of a law begins."""
        return law.seen.floor(self.c, LIGHT / sum(count for _, count in self.sketches))

    def _composed(self, last: Fraction, share: int) -> Tilted:
        """Return the list; P-mass of about e^{log_drop} is lost for each window that it uses."""
        parts: list[tuple[Tilted, int]] = []
        for law, count in sketched(self.sketches):
            low, levels = self._low(law), _levels(count, share)
            factors = [factor for _, factor in levels]
            origin, step = origin_of(law.law), last / math.prod(factors)
            found = discretised(law.law, origin, step, low, law.seen.high)
            items = [(tilted(found, self.c), count)]
            for level, (together, factor) in enumerate(levels):
                align, following = math.prod(factors[level:]), []
                for each, remaining in items:
                    whole, rest = divmod(remaining, together)
                    for n, times in ((together, whole), (rest, 1)):
                        if n > 0 and times > 0:
                            composed = compose([(each, n)], self.log_drop - math.log(times), align)
                            following.append((coarsen(composed, factor), times))
                items = following
            parts += items
        return compose(parts, self.log_drop)


def _levels(count: int, share: int) -> list[tuple[int, int]]:
    """Return how many uses make up one of the next level, and by how much that is coarsened.

    About `share` uses, none where that is 0; and a number that leaves no more than one use over,
    whose list is there, if one is near. Factors are odd, and steps grow as deviations.
    """
    found = []
    while 0 < share < count / FARTHER:
        near = range(math.ceil(share / FARTHER), math.floor(share * FARTHER) + 1)
        uses = min((n for n in near if count % n <= 1), key=lambda n: abs(n - share), default=share)
        found.append((uses, max(1, 2 * round((math.sqrt(uses) - 1.0) / 2.0) + 1)))
        count //= uses
    return found


def _deviation(sketches: Composition, c: float) -> float:
    return math.sqrt(max(sketches.cumulants(c)[2], 0.0))


# Two lists of one question share a look.
@remembered(4)
def seen(composition: Composition, log_delta: float | None, epsilon: float | None) -> Seen:
    """Look at the laws where delta or epsilon is given: what may be lost depends on delta there."""
    if log_delta is not None:
        return Seen.of(composition, log_delta)
    log_delta = FIRST_LOG_DELTA
    for _ in range(REFINEMENTS):
        found = Seen.of(composition, log_delta, epsilon)
        if found.log_delta >= log_delta - 1.0:
            break
        log_delta = max(found.log_delta, LEAST_LOG_DELTA)
    return found
