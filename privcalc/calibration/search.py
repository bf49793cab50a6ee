"""The search of a calibration: neighbouring values of which one is proved, and the next is not.

Values are positions on a grid, turned so that the cost grows with the position. What a position
costs is compared with the budget as the excess log(mu) - log(mu of the budget), mu being that of
normal laws with the same quantity, of whose square that of what stands beside is taken away:
nearly linear in the log of the value, so that inverse interpolation converges in a few steps.
Verdicts never rest on that: a value is sufficient, or not, by the ends of its own bracket.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.bounds import Verdict
from privcalc.calibration.probe import Probe, log_value
from privcalc.errors import DomainError, NotCertifiedError
from privcalc.numerics.work import share
from privcalc.record import field, mutable

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.calibration.holes import Unknown
    from privcalc.calibration.probe import End
    from privcalc.calibration.target import CalibrationTarget
    from privcalc.relation import Relation


# Of brackets that are wider than this, relatively, the upper end stands for both.
NARROW = 0.1
# Less than this part of mu^2 is not told from what stands beside.
LEAST_SHARE = 1e-9
# Where the first value is out of range, these multiples of it are tried, and these values.
SCATTER = (1.0, 1e-2, 1e2, 1e-4, 1e4, 1e-8, 1e8, 1e-16, 1e16)


@mutable
class Search:
    """Probes of one question at one tolerance.

    Attributes:
        unknown: the number that is wanted.
        target: what it has to meet.
        relation: the neighbouring relation.
        tolerance: that of every probe.
        slope: about the growth of the excess with x.
        beside: log(mu) of what stands beside the part with the unknown, about.
        parts: each probe may take one of so many equal parts of the work that is left.
        far: called once when several steps towards cheaper values were not enough; it may raise.
    """

    unknown: Unknown
    target: CalibrationTarget
    relation: Relation
    tolerance: float
    slope: float = 1.0
    beside: float = -math.inf
    parts: int = 1
    far: Callable[[], None] | None = None
    probes: dict[int, Probe] = field(factory=dict)
    low: int = 0
    high: int = 0

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
        try:
            with share(self.parts):
                bound, method = self.target.ask(tree, self.relation, self.tolerance, decide=decide)
        except NotCertifiedError as error:
            nothing: dict[End, float] = {"upper": math.inf, "lower": -math.inf, "middle": math.inf}
            return Probe(position, value, x, None, None, nothing, error)
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
        """Return about half the log of mu^2 less that of what stands beside."""
        whole = self.target.log_mu(value)
        if not -math.inf < self.beside < math.inf or not math.isfinite(whole):
            return whole
        share = -math.expm1(min(2.0 * (self.beside - whole), 0.0))
        return whole + 0.5 * math.log(max(share, LEAST_SHARE))
