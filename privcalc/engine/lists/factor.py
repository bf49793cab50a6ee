"""Lists as factors on a line: what is no Gaussian is a list, and multiplies the line's transform.

The product of two measures has the product of their transforms, so that all that is proved of a sum
over the nodes of a line (`inversion/line_sum.py`) holds for lines and lists together: aliasing
with the joint K(c'), and truncation by the lines' decay, as |phi| of a list is at most 1. Both
sides of a tail split are such sums, and so is what a spread of the lists is from below: H has the
same form for the reversed pair, as e^{-y} H(-y) = H(y).

Nodes. All lists have one step a, and a line with lists has W = 2 pi / h = N a: the nodes kh are
those of a transform of N points, one period of each list. h is rounded to a number of few bits, so
that nodes are exact; the losses are then on a lattice of the step 2 pi / (N h), which displaces
them by a part 2^-31 of their distance from the origin.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.composition import Composition
from privcalc.engine.lists.sums import Spread
from privcalc.errors import NotCertifiedError
from privcalc.losses.law import ContourLaw, LineLaw, LossLaw
from privcalc.numerics.fourier import fast_size, transform_error
from privcalc.numerics.rounding import MARGIN, UNIT, few_bits
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from fractions import Fraction

    from privcalc.engine.lists.losses import LossList
    from privcalc.losses.law import LossLaw, Tails
    from privcalc.numerics.rounding import Array, ComplexArray, Mask

# P-mass of one use that may be above a list, where delta is not far smaller.
LOG_LOST, BELOW_DELTA = -100.0, -30.0
# Bits of a step: multiples up to 2^20 are exact.
BITS = 33
STRETCH = 2.0 ** (2 - BITS)
# Work for a point of a transform.
PER_POINT = 0.4
# Losses are looked for between these magnitudes.
SMALLEST_LOSS, LARGEST_LOSS = 1e-18, 1e7
# P-mass below the range of a law, over all its uses.
LOG_LOW_MASS = -50.0
# Of each scale of one law, and of one of so many laws that looking takes long.
CELLS, FEW_CELLS, MANY = 300, 80, 50
REFINEMENTS, PARTS = 2, 24
# Part of tilted mass that may be moved up to the first point of a list, over all uses.
LIGHT = 1e-14
# Units of work of one law, and what part of them one in closed form takes.
PER_SKETCH, CLOSED_FORM = 40_000.0, 0.25


@record
class Sketch:
    """Cells of one law, each with its mean loss log(P / Q) and the log of its P-mass."""

    low: float
    high: float
    median: float
    losses: Array
    log_masses: Array

    def tilted(self, c: float) -> tuple[float, float, float]:
        """Return log E e^{cL} and the mean and variance of the law tilted by c."""
        exponent = self.log_masses + c * self.losses
        top = float(exponent.max())
        weights = np.exp(exponent - top)
        total = float(weights.sum())
        mean = float((weights * self.losses).sum()) / total
        variance = float((weights * (self.losses - mean) ** 2).sum()) / total
        return top + math.log(total), mean, variance

    @property
    def reversed(self) -> Sketch:
        """The same of the pair in the other order."""
        masses = (self.log_masses - self.losses)[::-1]
        return Sketch(-self.high, -self.low, -self.median, -self.losses[::-1], masses)

    def floor(self, c: float, share: float) -> float:
        """Return a loss below which less than this share of the tilted mass is, if moved there."""
        masses = np.logaddexp.accumulate(self.log_masses)
        weights = masses + c * self.losses - self.tilted(c)[0]
        first = int(np.argmax(weights > math.log(share)))
        return float(self.losses[first - 2]) if first > 2 else self.low


def sketch(law: LossLaw, log_drop: float, count: int, size: int = CELLS) -> Sketch:
    """Look at a law: leave out the P-mass e^{log_drop} above, and less below."""
    from privcalc.losses.cells import cells

    known = law.properties
    charge(PER_SKETCH * (CLOSED_FORM if known.renyi_in_closed_form else known.tail_cost))
    ladder = np.geomspace(SMALLEST_LOSS, LARGEST_LOSS, 220)
    grid = np.concatenate([-ladder[::-1], [0.0], ladder])
    tails = law.tails(grid)
    log_low = LOG_LOW_MASS - math.log(count)
    drop, low_mass = math.exp(max(log_drop, -690.0)), math.exp(log_low)
    whole = float(tails.below_p[-1])
    high = _first(law, grid, tails, lambda t: t.above_p <= drop)
    if high is None:
        raise NotCertifiedError(f"losses beyond {LARGEST_LOSS:g} are too likely")
    low = _first(law, grid, tails, lambda t: t.below_p > low_mass * whole, left=True)
    median = _first(law, grid, tails, lambda t: t.below_p >= 0.5 * whole)
    if low is None or median is None:
        raise NotCertifiedError("the law has no finite losses to speak of")
    low, median, high = min(low, high), min(median, high), max(high, low)
    points = spaced(low, median, high, size)
    found = cells(law, points)
    p, q = found.p, found.q
    keep = p > 0.0
    if not keep.any():
        return Sketch(low, high, median, np.array([median]), np.zeros(1))
    # Where Q underflows, the middle of the cell stands for its mean.
    with np.errstate(divide="ignore"):
        mean = np.where(q[keep] > 0.0, np.log(p[keep]) - np.log(q[keep]), np.inf)
    left, right = points[:-1][keep], points[1:][keep]
    losses = np.where(np.isfinite(mean), np.clip(mean, left, right), 0.5 * (left + right))
    return Sketch(low, high, median, losses, np.log(p[keep]))


def spaced(low: float, median: float, high: float, count: int) -> Array:
    """Return points from below `low` to `high`, dense around the median at every scale."""
    span = max(high - low, SMALLEST_LOSS)
    near = span * np.geomspace(1e-9, 1.0, count)
    points = np.concatenate([median - near, [median], median + near])
    points = np.concatenate([points, np.linspace(low, high, count)])
    below = low - max(1e-9 * span, 4e-16 * abs(low))
    return np.unique(np.concatenate([[below], points[(points >= low) & (points <= high)], [high]]))


def _first(
    law: LossLaw,
    grid: Array,
    tails: Tails,
    holds: Callable[[Tails], Mask],
    *,
    left: bool = False,
) -> float | None:
    """Return about the first point of the line where a monotone condition holds.

    With `left` the last point where it does not hold is returned.
    """
    found = np.flatnonzero(holds(tails))
    if not len(found):
        return None
    index = int(found[0])
    low, high = float(grid[max(index - 1, 0)]), float(grid[index])
    for _ in range(REFINEMENTS):
        points = np.linspace(low, high, PARTS)
        inside = np.flatnonzero(holds(law.tails(points)))
        index = int(inside[0]) if len(inside) else PARTS - 1
        low, high = float(points[max(index - 1, 0)]), float(points[index])
    return low if left else high


class ListLaw(LineLaw):
    """A law that is a list, or will be: until then there is a sketch for searches.

    Attributes:
        law: what the list is above.
        seen: its sketch.
        found: the list.
    """

    def __init__(self, law: LossLaw, seen: Sketch, found: LossList | None = None) -> None:
        """Take all three."""
        self.law, self.seen, self.found = law, seen, found
        self._contour: tuple[float, ListContour] | None = None

    @property
    def max_loss(self) -> float:
        """Return the largest loss of the sketch."""
        return self.seen.high

    @property
    def log_truncated_mass(self) -> float:
        """Return that of what is above the list."""
        lost = self.found.lost if self.found else 0.0
        return math.log(lost * MARGIN) if lost > 0.0 else -math.inf

    @property
    def reverse_direction(self) -> ListLaw:
        """The list of the pair in the other order."""
        return ListLaw(self.law, self.seen.reversed, self.found.reversed if self.found else None)

    def tails(self, losses: Array) -> Tails:
        """Return those of the law."""
        return self.law.tails(losses)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return those of the law."""
        return self.law.renyi(c)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return those of the sketch."""
        return self.seen.tilted(c)

    def on_contour(self, c: float, t_max: float, log_error: float) -> ListContour:
        """Tilt the list.

        Raises:
            NotCertifiedError: there is no list.
        """
        del t_max, log_error
        if self.found is None:
            raise NotCertifiedError("a law that is a list has no transform before it is one")
        if self._contour is None or self._contour[0] != c:
            self._contour = c, ListContour(self.found, c)
        return self._contour[1]

    @cached_property
    def masses(self) -> tuple[float, float, float]:
        """The P- and Q-mass of the list, and the relative error of both."""
        if self.found is None:
            raise NotCertifiedError("a law that is a list has no masses before it is one")
        points = self.found.lattice.points
        q = self.found.masses * np.exp(-points)
        units = UNIT * (len(points) + 16.0 + 8.0 * float(np.abs(points).max()))
        return float(self.found.masses.sum()), float(q.sum()), units + self.found.lattice.error


class ListContour(ContourLaw):
    """A list on Re s = c."""

    def __init__(self, found: LossList, c: float) -> None:
        """Tilt; K is off by what its weights are off by, and 16 units of itself."""
        from privcalc.engine.lists.losses import tilted

        self._list, self._tilted = found, tilted(found, c)
        self.missing = self._tilted.missing + self._tilted.relative
        self.slack = self._tilted.slack + STRETCH * found.reach
        self._k_error = 1.01 * self._tilted.relative + 16.0 * UNIT * (
            1.0 + abs(self._tilted.log_mgf)
        )
        self._k_error += UNIT * len(found.masses)

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K at t = 0, which is what a line asks before its nodes are known."""
        if t.any():
            raise NotCertifiedError("a list has its transform at equal steps")
        phi: ComplexArray = np.full(len(t), self._tilted.weights.sum(), np.complex128)
        wrong = UNIT * 2.0 * len(self._tilted.weights) + self._tilted.relative
        return self._logs(phi, np.full(len(t), wrong), t)

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K at t = k step by a transform of the tilted list.

        The sum of the moduli of its inputs is 1; see `transform_error`.
        """
        lattice = self._tilted.lattice
        own = float(lattice.step)
        points = round(2.0 * math.pi / (step * own))
        if count == 1 or points < 1:
            return self.log_mgf(step * np.arange(count))
        charge(PER_POINT * (points + len(self._tilted.weights)))
        # Losses are on a lattice of the step that belongs to the nodes.
        stretched = 2.0 * math.pi / (step * points)
        moved = self._tilted.c * (stretched - own)
        weights = self._tilted.weights * np.exp(moved * lattice.indices)
        folded = np.bincount(np.arange(lattice.count) % points, weights, points)
        half = np.conj(np.fft.rfft(folded))
        # The nodes beyond half of a period are those before it, conjugate.
        index = np.arange(count) % points
        upper = index > points // 2
        phi = half[np.where(upper, points - index, index)]
        phi = np.where(upper, np.conj(phi), phi)
        first = float(lattice.origin) + stretched * lattice.first
        turns = step * first * np.arange(count)
        wraps = 1.0 + lattice.count / points
        wrong = transform_error(points) + 3.0 * UNIT * wraps + self._tilted.relative
        return self._logs(phi, np.full(count, wrong), turns)

    def _logs(self, phi: ComplexArray, wrong: Array, turns: Array) -> tuple[ComplexArray, Array]:
        """Return K + log phi, and its error, as `ContourLaw.log_mgf` has it.

        Where phi is within 4 of its errors of 0, 4 errors stand for it: at most 9 of them away.
        """
        size = np.abs(phi)
        known = size >= 4.0 * wrong
        value = np.where(known, phi, 4.0 * wrong)
        relative = np.where(known, wrong / np.where(known, size, 1.0), 2.25)
        logs = np.log(value)
        total = logs + self._tilted.log_mgf + 1j * turns
        error = np.log1p(relative * MARGIN) + self._k_error
        return total, error + UNIT * (8.0 * np.abs(logs) + 8.0 * np.abs(turns) + 8.0)


@record
class Lists:
    """What the lists of a composition come to on a line.

    Attributes:
        spread: of all uses.
        step: of their lattice; 0 for none.
    """

    spread: Spread
    step: float

    @classmethod
    def of(cls, terms: tuple[tuple[LossLaw, int], ...]) -> Lists:
        """Add up all lists."""
        variance = step = 0.0
        for law, count in terms:
            if not isinstance(law, ListLaw) or law.found is None:
                continue
            variance += count * law.found.variance
            step = float(law.found.lattice.step)
        return cls(Spread(variance * MARGIN), step)

    @staticmethod
    def missing(uses: Iterable[tuple[ContourLaw, int]]) -> float:
        """Bound what errors of masses cost, over e^{K(c) - c epsilon}."""
        return MARGIN * sum(n * each.missing for each, n in uses if isinstance(each, ListContour))

    @staticmethod
    def slack(uses: Iterable[tuple[ContourLaw, int]]) -> float:
        """Bound the displacement of all losses together."""
        return MARGIN * sum(n * each.slack for each, n in uses if isinstance(each, ListContour))

    def fitted(self, step: float) -> float:
        """Return a step h of nodes, at most the one given, for which W is a multiple of a."""
        if self.step == 0.0:
            return step
        points = fast_size(math.ceil(2.0 * math.pi / (self.step * step)))
        return few_bits(2.0 * math.pi / (self.step * points), BITS)

    def check(self, c: float) -> None:
        """Say whether a line may run there.

        Raises:
            NotCertifiedError: it may not.
        """
        if not self.spread.known_at(c):
            raise NotCertifiedError("the lattice is too coarse for the tilt of the line")


@remembered(8)
def rough(
    composition: Composition, log_lost: float, *, lines: bool = True, split: bool = False
) -> Composition:
    """Return the same with sketches of all laws that are to be lists, and lines as they are.

    Args:
        composition: laws, or what this returned.
        log_lost: log of the P-mass that all may leave out above.
        lines: whether lines stay.
        split: whether laws with a tail split do, too.
    """
    log_lost -= math.log(max(sum(count for _, count in composition), 1))
    terms: list[tuple[LossLaw, int]] = []
    size = CELLS if len(composition.terms) <= MANY else FEW_CELLS
    for each, count in composition:
        law = each.law if isinstance(each, ListLaw) else each
        stays = (lines and law.properties.line) or (split and law.properties.supports_tail_split)
        terms.append((law if stays else ListLaw(law, sketch(law, log_lost, count, size)), count))
    return Composition(tuple(terms), composition.curves, composition.reverse)


def beside_lines(log_delta: float) -> float:
    """Return log of the P-mass that lists beside lines may leave out: they serve many deltas."""
    return min(LOG_LOST, log_delta + BELOW_DELTA)


# Points of a list beside lines, and the least width of log delta that is wished for there, or that
# over how much log delta changes on the way to epsilon.
MOST_POINTS, LEAST_WIDTH = 2.0**20, 2e-7
# Part of a width that a spread may cost.
SHARE = 0.5


@record
class Wanted:
    """What lists are made for.

    Attributes:
        c: the largest tilt of a line.
        slope: -d log delta / d epsilon, about.
        epsilon: where.
        width: of log delta, that may be made.
        whole: whether all of a list matters, and not only what does under the tilt.
    """

    c: float
    slope: float
    epsilon: float
    width: float
    whole: bool = False

    def step(self, sketched: Sequence[tuple[ListLaw, int]]) -> Fraction:
        """Return the step of all lists."""
        from privcalc.engine.lists.losses import common_step, step_near, unit_for

        uses = sum(count for _, count in sketched)
        width = max(self.width, LEAST_WIDTH * max(1.0, self.slope * self.epsilon))
        unit = unit_for(SHARE * width / self.slope, self.slope)
        unit = min(unit, unit_for(math.inf, self.c))
        least = max(law.seen.high - law.seen.low for law, _ in sketched) / MOST_POINTS
        laws = [(law.law, count) for law, count in sketched]
        return common_step(laws, least) or step_near(laws, max(unit / math.sqrt(uses), least))


def sketched(composition: Composition) -> list[tuple[ListLaw, int]]:
    """Return the laws that are to be lists."""
    return [(law, count) for law, count in composition if isinstance(law, ListLaw)]


def listed(composition: Composition, wanted: Wanted) -> Composition:
    """Return what `rough` returned with lists in the place of sketches."""
    laws = sketched(composition)
    if not laws:
        return composition
    from privcalc.engine.lists.losses import discretised, origin_of

    step, uses = wanted.step(laws), sum(count for _, count in laws)
    terms: list[tuple[LossLaw, int]] = []
    for law, count in composition:
        if isinstance(law, ListLaw):
            low = law.seen.low if wanted.whole else law.seen.floor(wanted.c, LIGHT / uses)
            found = discretised(law.law, origin_of(law.law), step, low, law.seen.high)
            terms.append((ListLaw(law.law, law.seen, found), count))
        else:
            terms.append((law, count))
    return Composition(tuple(terms), composition.curves, composition.reverse)
