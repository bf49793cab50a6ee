"""The search of a calibration: neighbouring values of which one is proved, and the next is not.

Values are positions on a grid, turned so that the cost grows with the position. What a position
costs is compared with the budget as the excess log(mu) - log(mu of the budget), mu being that of
normal laws with the same quantity, less in square that of the rest of the composition: nearly
linear in the log of the value, so that inverse interpolation converges in a few steps. Verdicts
never rest on that: a value is sufficient, or not, by the ends of its own bracket.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from privcalc.bounds import Verdict
from privcalc.errors import DomainError, NotCertifiedError, UnsupportedError
from privcalc.numerics.work import left, share, trying
from privcalc.record import field, mutable, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.accounting.directions import Method
    from privcalc.bounds import Bound
    from privcalc.calibration.holes import Unknown
    from privcalc.calibration.target import CalibrationTarget
    from privcalc.relation import Relation

# Which end of the bracket is compared with the budget.
End = Literal["upper", "lower", "middle"]
# Where brackets are wider than this on the scale of the excess, that is enough to know.
WIDEST = 5.0


def log_value(value: float) -> float:
    """Return the log of a value; 0, the one whole number without, stands where 1/2 would."""
    return math.log(value) if value > 0 else math.log(0.5)


@record
class Probe:
    """What one value costs.

    Attributes:
        position: of the value.
        value: t.
        x: its log, turned as the position is.
        bound: the bracket of the quantity, or None where nothing is certified.
        method: how that was obtained.
        excess: for each end of the bracket; positive where it is above the budget.
        error: why nothing is certified.
    """

    position: int
    value: float
    x: float
    bound: Bound | None
    method: Method | None
    excess: dict[End, float]
    error: NotCertifiedError | None = None

    @property
    def width(self) -> float:
        """The width of the bracket on the scale of the excess; 0 where it has no two ends."""
        if self.bound is None or self.bound.lower is None or math.isinf(self.bound.upper):
            return 0.0
        return min(self.excess["upper"] - self.excess["lower"], WIDEST)

    @property
    def open(self) -> float:
        """What the bracket leaves open on the scale of the excess; infinity without two ends."""
        return self.excess["upper"] - self.excess["lower"]


# Of brackets that are wider than this, relatively, the upper end stands for both.
NARROW = 0.1
# Less than this part of mu^2 is not told from the rest of the composition.
LEAST_SHARE = 1e-9
# Where the first value is out of range, these multiples of it are tried, and these values.
SCATTER = (1.0, 1e-2, 1e2, 1e-4, 1e4, 1e-8, 1e8, 1e-16, 1e16)


@mutable
class ValueSearch:
    """Probes of one question at one tolerance.

    Attributes:
        unknown: the number that is wanted.
        target: what it has to meet.
        relation: the neighbouring relation.
        tolerance: that of every probe.
        slope: about the growth of the excess with x.
        rest: log(mu) of the composition without the part with the unknown, about.
        each: the work that each probe may take, or all that is left where that is less.
        far: called once when several steps towards cheaper values were not enough; it may raise.
        dearest: the work that a probe took at most.
    """

    unknown: Unknown
    target: CalibrationTarget
    relation: Relation
    tolerance: float
    slope: float = 1.0
    rest: float = -math.inf
    each: float = math.inf
    far: Callable[[], None] | None = None
    probes: dict[int, Probe] = field(factory=dict)
    low: int = 0
    high: int = 0
    dearest: float = 0.0

    def __post_init__(self) -> None:
        """Turn the range."""
        ends = (self.unknown.lowest, self.unknown.highest)
        self.low, self.high = sorted(self.unknown.sign * end for end in ends)

    def start(self, x: float) -> None:
        """Probe a first value; where it is out of range, look around.

        Raises:
            DomainError: no value that was tried is in range.
            UnsupportedError: the specification is not supported.
        """
        refused: DomainError | None = None
        for place in (*(x + math.log(factor) for factor in SCATTER), *map(math.log, SCATTER)):
            try:
                self.probe(self.position(place))
            except DomainError as error:
                refused = refused or error
            else:
                return
        if refused is not None:
            raise refused

    def position(self, x: float) -> int:
        """Return the last position in range with at most this x."""
        value = math.exp(min(max(self.unknown.sign * x, -700.0), 700.0))
        grid = self.unknown.grid
        found = grid.below(value) if self.unknown.sign > 0 else -grid.above(value)
        return min(max(found, self.low), self.high)

    def probe(self, position: int) -> Probe:
        """Return what the value at a position costs."""
        if position not in self.probes:
            self.probes[position] = self._ask(position)
        return self.probes[position]

    def sides(self, end: End) -> tuple[Probe | None, Probe | None]:
        """Return the costliest value within the budget and the cheapest one beyond.

        Where the cost is not quite monotone, or noise makes it seem so, nothing cheaper than the
        first was found to be beyond.
        """
        beyond = [p for p in self.probes.values() if p.excess[end] > 0.0]
        first = min((p.position for p in beyond if p.bound is not None), default=self.high + 1)
        inside = [p for p in self.probes.values() if p.excess[end] <= 0.0 and p.position < first]
        good = max(inside, key=lambda p: p.position, default=None)
        least = self.low - 1 if good is None else good.position
        outside = [p for p in beyond if p.position > least]
        return good, min(outside, key=lambda p: p.position, default=None)

    def nearest(self) -> tuple[Probe | None, Probe | None]:
        """Return the costliest value that is proved to keep the budget, and the next one beyond.

        Of brackets of several widths: that of a cheaper value may say less.
        """
        kept = [p for p in self.probes.values() if p.excess["upper"] <= 0.0]
        good = max(kept, key=lambda p: p.position, default=None)
        least = self.low - 1 if good is None else good.position
        beyond = [p for p in self.probes.values() if p.position > least and p not in kept]
        return good, min(beyond, key=lambda p: p.position, default=None)

    def root(self, end: End) -> float | None:
        """Return about the x where the excess is 0: inverse interpolation of the nearest probes.

        What decides a budget may be a wide bracket. Costs grow with x: where a costlier value seems
        to cost no more, the wider bracket of the two misleads.
        """
        probes = [p for p in self.probes.values() if math.isfinite(p.excess[end] + p.x)]
        known = [
            p
            for p in probes
            if not any(
                (q.x - p.x) * (q.excess[end] - p.excess[end]) <= 0.0 and q.open < p.open
                for q in probes
                if q is not p
            )
        ]
        known.sort(key=lambda p: abs(p.excess[end]))
        if not known:
            return None
        (x, y), *others = [(p.x, p.excess[end]) for p in known[:3]]
        if not others or not (others[0][1] - y) * (others[0][0] - x) > 0.0:
            return x - y / self.slope
        (x1, y1), *third = others
        inverse = (x1 - x) / (y1 - y)
        self.slope = 1.0 / inverse
        found = x - y * inverse
        if third and (third[0][1] - y1) * (third[0][0] - x1) > 0.0 and third[0][1] != y:
            x2, y2 = third[0]
            curve = ((x2 - x1) / (y2 - y1) - inverse) / (y2 - y)
            found += curve * y * y1
        return found

    def whole_slope(self) -> float:
        """Return about the growth of upper ends between the cheapest and the costliest probe."""
        known = [p for p in self.probes.values() if math.isfinite(p.excess["upper"] + p.x)]
        low, high = (best(known, key=lambda p: p.x) for best in (min, max))
        rise = high.excess["upper"] - low.excess["upper"]
        return rise / (high.x - low.x) if rise > 0.0 else self.slope

    def narrowed(self, probe: Probe) -> Probe:
        """Return a probe with a narrow bracket, where that says the same of the budget."""
        if probe.method is None or probe.method.tolerance_met:
            return probe
        other = self._ask(probe.position, decide=False)
        same = all((probe.excess[end] > 0.0) == (other.excess[end] > 0.0) for end in probe.excess)
        return other if same else probe

    def _ask(self, position: int, *, decide: bool = True) -> Probe:
        value = self.unknown.grid.value(self.unknown.sign * position)
        x = self.unknown.sign * log_value(value)
        tree = self.unknown.tree_at(value)
        before = left()
        try:
            # Where nothing is left, a probe is still asked: little answers are free.
            parts = before / self.each if self.each > 0.0 else 1.0
            with share(max(1.0, parts)), trying(self.unknown.words(value)):
                bound, method = self.target.ask(tree, self.relation, self.tolerance, decide=decide)
        except NotCertifiedError as error:
            nothing: dict[End, float] = {"upper": math.inf, "lower": -math.inf, "middle": math.inf}
            return Probe(position, value, x, None, None, nothing, error)
        finally:
            if before < math.inf:
                self.dearest = max(self.dearest, before - left())
        budget = self.target.budget
        verdict = bound.verdict(budget)
        missed = verdict is Verdict.EXCEEDED
        excess: dict[End, float] = {
            "upper": self._excess(bound.upper, above=verdict is not Verdict.WITHIN),
            "lower": -math.inf,
        }
        if bound.lower is not None:
            excess["lower"] = self._excess(bound.lower, above=missed)
        narrow = bound.lower is not None and bound.within_tolerance(NARROW, 0.0)
        middle = 0.5 * (bound.upper + (bound.lower or 0.0)) if narrow else bound.upper
        known = verdict is Verdict.WITHIN or (not missed and middle <= budget)
        excess["middle"] = self._excess(middle, above=not known)
        return Probe(position, value, x, bound, method, excess)

    def _excess(self, value: float, *, above: bool) -> float:
        """Compare an end with the budget; the sign is that of the verdict on the bracket."""
        budget = self.target.budget
        about = 0.0
        if value != budget:
            about = self._log_part(value) - self._log_part(budget)
        return max(about, 1e-300) if above else min(about, 0.0)

    def _log_part(self, value: float) -> float:
        """Return about half the log of mu^2 less that of the rest."""
        whole = self.target.log_mu(value)
        if not -math.inf < self.rest < math.inf or not math.isfinite(whole):
            return whole
        share = -math.expm1(min(2.0 * (self.rest - whole), 0.0))
        return whole + 0.5 * math.log(max(share, LEAST_SHARE))


MOST_PROBES = 150
# Values are near enough that are apart by no more than this part of what brackets leave open (less
# for a sufficient value, which is what is used), or by so little that it takes narrow ones to say
# more. Where the next value is not certified at all, those within JUMP are.
PART, PART_OF_UPPER, SMALL, JUMP = 0.02, 0.0002, 5e-8, 1e-3
# How far a search goes beyond where it thinks the answer is, and at first at most, in logs; and
# where it has no idea, as a multiple of the excess, which doubles.
BEYOND, FIRST_STEP, BLIND = 1.1, 1.5, 2.0
# Where an answer takes so much that few can be had, each is to be within the budget, so that it
# goes this part of the way only, and CLOSE to it is near enough.
INSIDE, BETWEEN, CLOSE = 0.75, 0.4, 0.001
# Of wide brackets a first search is not for values nearer to each other.
LEAST_STEP = 0.1
# Refusals of values on one side after which the last good one is taken for the end of the range.
MOST_REFUSALS = 12
# Logs that differ by less are next to each other.
LITTLE = 1e-8


@mutable
class Crossing:
    """One way to neighbouring values on either side of the budget: what it tried so far.

    Attributes:
        search: knows what values cost.
        end: the end of the bracket that is compared with the budget.
        near: values whose logs differ by no more are near enough.
        spared: the work that is to be left, where answers are dear; None where they are not.
        beyond: how far it goes beyond where it thinks the answer is.
    """

    search: ValueSearch
    end: End
    near: float = 0.0
    spared: float | None = None
    beyond: float = BEYOND
    step: float = FIRST_STEP
    blind: float = BLIND
    creep: int = 1
    steps: list[float] = field(factory=list)
    down: int = 0
    refusals: int = 0

    @property
    def dear_upper(self) -> bool:
        """Whether each of few answers is to be within the budget."""
        return self.spared is not None and self.end == "upper"

    def solve(
        self, close: Callable[[Probe, Probe], bool] | None = None
    ) -> tuple[Probe | None, Probe | None]:
        """Find neighbours with the end of the bracket within the budget, and above it.

        Args:
            close: whether two such are near enough, also where they are no neighbours.

        Returns:
            Both; None for what the range does not have.
        """
        search, end = self.search, self.end
        while len(search.probes) < MOST_PROBES:
            good, bad = search.sides(end)
            if self._spent(good, bad):
                break
            if good is not None and bad is not None:
                if self._wide(good, bad) or bad.position - good.position <= 1 or left() <= 0.0:
                    break
                if bad.x - good.x <= self.near or (close is not None and close(good, bad)):
                    break
                search.probe(self.between(good, bad))
            elif (end == "lower" and left() <= 0.0) or not self.extend(good, bad):
                break
        return search.sides(end)

    def _spent(self, good: Probe | None, bad: Probe | None) -> bool:
        """Say whether another dear answer would say little, or leave too little work."""
        if self.spared is None:
            return False
        wanted, enough = (good if self.end == "upper" else bad), self.spared
        *_, last = self.search.probes.values()
        if self.end == "upper" and last is good:
            enough += self.search.dearest
        if wanted is None:
            return self.end == "lower" and left() < enough
        return abs(wanted.excess[self.end]) < CLOSE or left() < enough

    def between(self, good: Probe, bad: Probe) -> int:
        """Choose a position strictly between two: where the root seems to be, or the middle.

        As in Brent's method the middle it is where steps do not shrink, or lead out.
        """
        found = self.search.root(self.end)
        if found is None or not good.x - LITTLE <= found <= bad.x + LITTLE:
            self.steps = []
            return self._middle(good, bad)
        # Half of what is near enough away from either, so that one more may be the last.
        gap, near = bad.x - good.x, self._near_enough(good, bad)
        away = 0.5 * min(max(self.near, near if gap > near else 0.0), gap)
        found = min(max(found, good.x + away), bad.x - away)
        if self.dear_upper:
            found = good.x + BETWEEN * (found - good.x)
        nearest = min(good, bad, key=lambda p: abs(p.excess[self.end]))
        self.steps.append(abs(found - nearest.x))
        if len(self.steps) > 2 and self.steps[-1] > max(0.5 * self.steps[-3], LITTLE):
            self.steps = []
            return self._middle(good, bad)
        return self._clip(found, good.position + 1, bad.position - 1)

    def extend(self, good: Probe | None, bad: Probe | None) -> bool:
        """Probe beyond what is known, on the side where nothing is; False at the end of it."""
        up = bad is None
        base = good if up else bad
        if base is None:
            raise AssertionError("a search starts with a probe")
        search = self.search
        end = search.high if up else search.low
        if base.position == end or not math.isfinite(base.x):
            return False
        if not up:
            self.down += 1
            if self.down == 3 and search.far is not None:
                far, search.far = search.far, None
                far()
        position = self._beyond(base, up=up)
        try:
            search.probe(position)
        except (DomainError, UnsupportedError):
            self._refused(base, position, up=up)
        return True

    def _refused(self, base: Probe, position: int, *, up: bool) -> None:
        """Take note of a value that is out of range, and of what that leaves."""
        search = self.search
        self.refusals += 1
        value = search.unknown.grid.value(search.unknown.sign * position)
        x = search.unknown.sign * log_value(value)
        self.step = min(0.5 * abs(x - base.x), self.step)
        end = base.position if self.refusals > MOST_REFUSALS else position - (1 if up else -1)
        if up:
            search.high = end
        else:
            search.low = end

    def _beyond(self, base: Probe, *, up: bool) -> int:
        """Choose a position on one side of all that is known."""
        search, direction = self.search, 1 if up else -1
        excess = abs(base.excess[self.end])
        found = search.root(self.end) if math.isfinite(excess) else None
        if found is not None and (found - base.x) * direction > 0.0:
            part = INSIDE if up and self.dear_upper else self.beyond
            least = LEAST_STEP if self.end == "middle" and base.width > NARROW else 0.0
            distance = min(max(part * abs(found - base.x), least), self.step)
        else:
            # Brackets of several widths may not fit together, but each says about how far it is.
            distance = min(self.blind * max(excess, LITTLE), self.step)
            self.blind *= 2.0
        self.step *= 2.0
        position = search.position(base.x + direction * distance)
        if (position - base.position) * direction <= 0:
            position = base.position + direction
        return position

    def _wide(self, good: Probe, bad: Probe) -> bool:
        """Say whether the brackets are so wide that a smaller gap would mean nothing.

        At a jump they are not: there one of the two is far from the budget.
        """
        gap, width = bad.x - good.x, max(good.width, bad.width)
        if bad.bound is None:
            return gap <= JUMP
        if max(-good.excess[self.end], bad.excess[self.end]) > width:
            return False
        return gap <= self._near_enough(good, bad)

    def _near_enough(self, good: Probe, bad: Probe) -> float:
        """Return the gap that is small in comparison with what brackets leave open."""
        part = PART_OF_UPPER if self.end == "upper" else PART
        slope = abs(self.search.slope)
        left_open = max(good.width, bad.width) / slope if slope else 0.0
        return max(part * left_open, min(0.2 * left_open, SMALL))

    def _middle(self, good: Probe, bad: Probe) -> int:
        x = 0.5 * (good.x + bad.x)
        if not math.isfinite(x):
            return (good.position + bad.position) // 2
        return self._clip(x, good.position + 1, bad.position - 1)

    def _clip(self, x: float, first: int, last: int) -> int:
        """Round to a position inside; at its edges go further in with each time."""
        position = self.search.position(x)
        if first < position < last:
            self.creep = 1
            return position
        inward, self.creep = self.creep - 1, 4 * self.creep
        if position <= first:
            return min(first + inward, last)
        return max(last - inward, first)
