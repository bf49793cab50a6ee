"""The search of a calibration: neighbouring values of which one is proved, and the next is not.

Values are positions on a grid, turned so that the cost grows with the position. What a position
costs is compared with the budget as the excess log(mu) - log(mu of the budget), mu being that of
normal laws with the same quantity: nearly linear in the log of the value, so that secants converge
in a few steps. Where they do not, or lead out, the middle is next. Verdicts never rest on that: a
value is sufficient, or not, by the ends of its own bracket.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from privcalc.bounds import Verdict
from privcalc.errors import DomainError, NotCertifiedError, UnsupportedError
from privcalc.numerics.work import QUESTION, charge, left, trying
from privcalc.record import field, mutable, record

if TYPE_CHECKING:
    from privcalc.accounting.directions import Method
    from privcalc.bounds import Bound
    from privcalc.calibration.holes import Unknown
    from privcalc.calibration.target import CalibrationTarget
    from privcalc.relation import Relation

# Which end of the bracket is compared with the budget.
End = Literal["upper", "lower"]
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
        whole: whether it had all the work that a question has; else it shows where others are.
        error: why nothing is certified.
    """

    position: int
    value: float
    x: float
    bound: Bound | None
    method: Method | None
    excess: dict[End, float]
    whole: bool = True
    error: NotCertifiedError | None = None

    @property
    def width(self) -> float:
        """The width of the bracket on the scale of the excess; 0 where it has no two ends."""
        return min(self.open, WIDEST) if math.isfinite(self.open) else 0.0

    @property
    def open(self) -> float:
        """What the bracket leaves open on the scale of the excess; infinity without two ends."""
        return self.excess["upper"] - self.excess["lower"]

    @property
    def far(self) -> bool:
        """Whether the value is known to be so far from the budget that no more is needed."""
        if self.bound is None:
            return False
        far = min(FAR, max(NEAR, FAR * self.open))
        lower, upper = self.excess["lower"], self.excess["upper"]
        return lower > far or upper > 2.0 * FAR or -math.inf < upper < -far


# Differences of excesses that are a smaller part of the excess are taken for rounding.
ROUNDED = 1e-3
# Excesses that are far for wide brackets, and for narrow ones; there values are asked with this
# part of a question's work.
FAR, NEAR, PARTS = 0.3, 0.01, 16.0
# How the excess grows with x until two values tell: mu is in proportion to a noise multiplier.
USUAL = 1.0
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
        work: what one answer may cost.
        quick: whether answers are so dear that far from the budget little is asked first.
        slope: about the growth of the excess with x.
        narrowest: positions that were asked for narrow brackets.
        dearest: the work that an answer took, at most.
    """

    unknown: Unknown
    target: CalibrationTarget
    relation: Relation
    tolerance: float
    work: float = QUESTION
    quick: bool = True
    slope: float = USUAL
    probes: dict[int, Probe] = field(factory=dict)
    low: int = 0
    high: int = 0
    narrowest: set[int] = field(factory=set)
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
            if self.quick:
                before = left()
                found = self._ask(position, parts=PARTS)
                # What costs little is asked for at once, and so is what comes after a near value.
                self.quick = found.far and before - left() > self.work / PARTS**2
            if not self.quick:
                found = self._ask(position)
            self.probes[position] = found
        return self.probes[position]

    def sides(self, end: End) -> tuple[Probe | None, Probe | None]:
        """Return the costliest value within the budget and the cheapest one beyond.

        Where the cost is not quite monotone, or noise makes it seem so, nothing cheaper than the
        first was found to be beyond. Of a value without a lower end nothing is said of that.
        """
        probes = self.probes.values()
        known = [p for p in probes if p.excess[end] > -math.inf or p.excess["upper"] <= 0.0]
        beyond = [p for p in known if p.excess[end] > 0.0]
        first = min((p.position for p in beyond if p.bound is not None), default=self.high + 1)
        inside = [p for p in known if p.excess[end] <= 0.0 and p.position < first]
        good = max(inside, key=lambda p: p.position, default=None)
        least = self.low - 1 if good is None else good.position
        outside = [p for p in beyond if p.position > least]
        return good, min(outside, key=lambda p: p.position, default=None)

    def nearest(self) -> tuple[Probe | None, Probe | None]:
        """Return the costliest value that is proved to keep the budget, and the next one beyond.

        Of brackets of several widths: that of a cheaper value may say less. What was not asked is
        not proved.
        """
        kept = [p for p in self.probes.values() if p.excess["upper"] <= 0.0 and p.whole]
        good = max(kept, key=lambda p: p.position, default=None)
        least = self.low - 1 if good is None else good.position
        beyond = [p for p in self.probes.values() if p.position > least and p not in kept]
        bad = min(beyond, key=lambda p: p.position, default=None)
        if bad is None and good is not None and least < self.high:
            bad = self._unasked(least + 1)
        return good, bad

    def _unasked(self, position: int, error: NotCertifiedError | None = None) -> Probe:
        """Return what is known of a value without a bracket."""
        value = self.unknown.grid.value(self.unknown.sign * position)
        nothing: dict[End, float] = {"upper": math.inf, "lower": -math.inf}
        x = self.unknown.sign * log_value(value)
        return Probe(position, value, x, None, None, nothing, error=error)

    @property
    def rest(self) -> float:
        """How many answers can be had for the work that is left."""
        return left() / self.dearest if self.dearest > 0.0 else math.inf

    def root(self, end: End) -> float | None:
        """Return about the x where the excess is 0: inverse interpolation of the nearest probes.

        Costs grow with x: where a costlier value seems to cost no more, the wider bracket misleads.
        Where some had all their work, others say only how fast costs grow, if nothing else does.
        """
        every = [p for p in self.probes.values() if math.isfinite(p.excess[end] + p.x)]
        probes = [p for p in every if p.whole] or every
        known = [
            p
            for p in probes
            if not any(
                (q.x - p.x) * (q.excess[end] - p.excess[end]) < 0.0 and q.open < p.open
                for q in probes
            )
        ]
        known.sort(key=lambda p: abs(p.excess[end]))
        if not known:
            return None
        (x, y), *others = [(p.x, p.excess[end]) for p in known]
        # Next to each other they say nothing of what is far away.
        others = [(u, v) for u, v in others if (u - x) * (v - y) > ROUNDED * abs((u - x) * y)][:2]
        if not others:
            for p in every if self.slope == USUAL else ():
                if (p.x - x) * (p.excess[end] - y) > ROUNDED * abs((p.x - x) * y):
                    self.slope = (p.excess[end] - y) / (p.x - x)
            return x - y / self.slope
        (x1, y1), *third = others
        inverse = (x1 - x) / (y1 - y)
        self.slope = 1.0 / inverse
        found = x - y * inverse
        for x2, y2 in third:
            if (x2 - x1) * (y2 - y1) > 0.0:
                found += ((x2 - x1) / (y2 - y1) - inverse) / (y2 - y) * y * y1
        return found

    def narrow(self, probe: Probe) -> bool:
        """Ask for a narrow bracket where a wide one decided; say whether that is any narrower.

        It stands for the other where it says the same of the budget.
        """
        met = probe.method is None or probe.method.tolerance_met
        if met or probe.position in self.narrowest:
            return False
        self.narrowest.add(probe.position)
        other = self._ask(probe.position, decide=False)
        if any((probe.excess[end] > 0.0) != (other.excess[end] > 0.0) for end in probe.excess):
            return False
        self.probes[probe.position] = other
        return other.width < probe.width

    def settle(self, probe: Probe) -> bool:
        """Ask more of a value; say whether there is nothing more to be known of it."""
        if not probe.whole:
            self.probes[probe.position] = self._ask(probe.position)
            return False
        return probe.width <= FINE or self.rest < CHEAP or not self.narrow(probe)

    def _ask(self, position: int, *, parts: float = 1.0, decide: bool = True) -> Probe:
        value = self.unknown.grid.value(self.unknown.sign * position)
        x = self.unknown.sign * log_value(value)
        tree = self.unknown.tree_at(value)
        # Where far too much was spent, the search is refused, and not this value.
        charge(0.0)
        before = left()
        try:
            with trying(self.unknown.words(value)):
                bound, method = self.target.ask(
                    tree, self.relation, self.tolerance, decide=decide, work=self.work / parts
                )
        except NotCertifiedError as error:
            return self._unasked(position, error)
        finally:
            if before < math.inf and parts == 1.0:
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
        return Probe(position, value, x, bound, method, excess, parts == 1.0)

    def _excess(self, value: float, *, above: bool) -> float:
        """Compare an end with the budget; the sign is that of the verdict on the bracket."""
        budget = self.target.budget
        about = 0.0
        if value != budget:
            about = self.target.log_mu(value) - self.target.log_mu(budget)
        return max(about, 1e-300) if above else min(about, 0.0)


MOST_PROBES = 150
# Of wide brackets values are near enough that are apart by this part of what they leave open, and
# at most by so much; where so many answers can be had, by a smaller part, or by so little that no
# user sees it. As near to the budget is what proves something near enough. Where the next value has
# no bracket, those within JUMP are.
PART, MOST_APART, JUMP = 0.2, 0.02, 1e-3
CHEAP, CHEAP_PART, LEAST_APART = 8.0, 1e-4, 2e-7
# How far a search goes beyond where it thinks the answer is, and at first at most, in logs; where
# it has no idea, as a multiple of the excess, which doubles.
BEYOND, FIRST_STEP, BLIND = 1.1, 0.7, 2.0
# Each is to prove something: it goes this part of that beyond where the budget seems to be.
# The last one, as it is a guess, goes this part of the way to there farther, too.
BACK, LAST_BACK = 0.4, 0.1
# Brackets that are as narrow show on which side of the budget a value is, however near.
FINE = 1e-7
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
        spared: how many answers are to be left.
    """

    search: ValueSearch
    end: End
    near: float = 0.0
    spared: float = 0.0
    step: float = FIRST_STEP
    blind: float = BLIND
    creep: int = 1
    last: int | None = None
    steps: list[float] = field(factory=list)
    refusals: int = 0

    def solve(self) -> tuple[Probe | None, Probe | None]:
        """Find neighbours with the end of the bracket within the budget, and above it.

        Returns:
            Both; None for what the range does not have.
        """
        search, end = self.search, self.end
        while len(search.probes) < MOST_PROBES:
            good, bad = search.sides(end)
            proved = bad if end == "lower" else good
            if proved is not None and abs(proved.excess[end]) < self._near(proved.width):
                if search.settle(proved):
                    break
                continue
            if self._rest < 1.0 and (end == "lower" or (proved is not None and proved.whole)):
                break
            if good is not None and bad is not None:
                hasty = self._hasty(good, bad)
                if hasty is not None:
                    search.settle(hasty)
                    continue
                near = bad.x - good.x <= self.near or bad.position - good.position <= 1
                if not near and not self._wide(good, bad):
                    search.probe(self.between(good, bad))
                    continue
            elif self.extend(good, bad):
                continue
            if proved is None or proved.whole:
                break
            search.settle(proved)
        return search.sides(end)

    @property
    def _rest(self) -> float:
        """How many answers can be had, without those that are spared."""
        return self.search.rest - self.spared

    def _near(self, width: float) -> float:
        """Return the excess that is small for brackets of a width."""
        least = max(CHEAP_PART * width, LEAST_APART) if self._rest >= CHEAP else MOST_APART
        return min(PART * width, least)

    def safe(self, root: float) -> float:
        """Return an x that proves something, near where the end of the bracket is the budget."""
        search = self.search
        if not search.slope:
            return root
        nearest = min(search.probes.values(), key=lambda p: abs(p.x - root))
        back = BACK * self._near(nearest.width) / search.slope
        if self._rest < 2.0:
            back += LAST_BACK * abs(nearest.x - root)
        return root + math.copysign(back, 1 if self.end == "lower" else -1)

    def _hasty(self, good: Probe, bad: Probe) -> Probe | None:
        """Return the side that was asked for quickly, and seems to be on the other one."""
        root = self.search.root(self.end)
        if root is None or self._rest < 1.0:
            return None
        if root <= good.x and not good.whole:
            return good
        return bad if root >= bad.x and not bad.whole else None

    def between(self, good: Probe, bad: Probe) -> int:
        """Choose a position strictly between two: where the secant leads, or the middle."""
        found = self.search.root(self.end)
        if found is not None and good.x - LITTLE <= found <= bad.x + LITTLE:
            # Half of what is near enough away from either, so that one more may be the last.
            gap, near = bad.x - good.x, self._near_enough(good, bad)
            away = 0.5 * min(max(self.near, near if gap > near else 0.0), gap)
            found = min(max(found, good.x + away), bad.x - away)
            found = min(max(self.safe(found), good.x), bad.x)
            self.steps.append(min(found - good.x, bad.x - found))
            if len(self.steps) < 3 or self.steps[-1] <= max(0.5 * self.steps[-3], LITTLE):
                return self._clip(found, good.position + 1, bad.position - 1)
        self.steps = []
        middle = 0.5 * (good.x + bad.x)
        if not math.isfinite(middle):
            return (good.position + bad.position) // 2
        return self._clip(middle, good.position + 1, bad.position - 1)

    def extend(self, good: Probe | None, bad: Probe | None) -> bool:
        """Probe beyond what is known, on the side where nothing is; False at the end of it."""
        base, direction = (bad, -1) if good is None else (good, 1)
        if base is None:
            return False
        search = self.search
        end = search.high if direction > 0 else search.low
        if base.position == end or not math.isfinite(base.x):
            return False
        root = search.root(self.end)
        if root is not None and (root - base.x) * direction > 0.0:
            fine = base.width <= FINE
            distance = BEYOND * abs(root - base.x) if fine else abs(self.safe(root) - base.x)
            distance = max(distance, LITTLE)
        else:
            # Brackets of several widths may not fit together, but each says about how far it is.
            distance = self.blind * max(abs(base.excess[self.end]), LITTLE)
            self.blind *= 2.0
        distance = min(distance, self.step)
        self.step *= 2.0
        position = search.position(base.x + direction * distance)
        if (position - base.position) * direction <= 0:
            position = base.position + direction
        if position in search.probes:
            return False
        try:
            search.probe(position)
        except (DomainError, UnsupportedError):
            # It is out of range: go on from the other side of it.
            self.refusals += 1
            self.step = 0.5 * distance
            last = base.position if self.refusals > MOST_REFUSALS else position - direction
            if direction > 0:
                search.high = last
            else:
                search.low = last
        return True

    def _wide(self, good: Probe, bad: Probe) -> bool:
        """Return whether the brackets are so wide that a smaller gap would mean nothing.

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
        slope = abs(self.search.slope)
        return self._near(max(good.width, bad.width)) / slope if slope else 0.0

    def _clip(self, x: float, first: int, last: int) -> int:
        """Round to a position inside; at its edges go further in with each time."""
        position = self.search.position(x)
        if first < position < last:
            self.creep, self.last = 1, position
            return position
        # The side that was probed last is near; another is met for the first time.
        if self.last not in (first - 1 if position <= first else last + 1, None):
            self.creep = 1
        inward, self.creep = self.creep - 1, 4 * self.creep
        self.last = min(first + inward, last) if position <= first else max(last - inward, first)
        return self.last
