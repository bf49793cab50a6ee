"""Which value a calibration looks at next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.calibration.probe import log_value
from privcalc.errors import DomainError, UnsupportedError
from privcalc.numerics.work import left
from privcalc.record import field, mutable

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.calibration.probe import End, Probe
    from privcalc.calibration.search import Search

    Close = Callable[[Probe, Probe], bool]

MOST_PROBES = 150
# Where brackets are wide, by their excess, values that are so much nearer to each other are near
# enough: nearer for a sufficient value, which is what is used, and which gets so many probes MORE,
# as most brackets vary smoothly. Where the next value is not certified at all, those within JUMP
# are.
PART, PART_OF_UPPER, JUMP, MORE = 0.02, 0.002, 1e-3, 6
# They are to leave this part of the work to the search for an insufficient one.
RESERVE = 0.5
# How far a search goes beyond where it thinks the answer is, and at first at most, in logs; and
# where it has no idea, as a multiple of the excess, which doubles.
BEYOND, FIRST_STEP, BLIND = 1.1, 1.5, 2.0
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
    """

    search: Search
    end: End
    near: float = 0.0
    step: float = FIRST_STEP
    blind: float = BLIND
    creep: int = 1
    steps: list[float] = field(factory=list)
    down: int = 0
    refusals: int = 0

    def solve(self, close: Close | None = None) -> tuple[Probe | None, Probe | None]:
        """Find neighbours with the end of the bracket within the budget, and above it.

        Args:
            close: whether two such are near enough, also where they are no neighbours.

        Returns:
            Both; None for what the range does not have.
        """
        search, end = self.search, self.end
        more, reserve = MORE if end == "upper" else 0, RESERVE * left()
        while len(search.probes) < MOST_PROBES:
            good, bad = search.sides(end)
            if good is not None and bad is not None:
                wide = self._wide(good, bad)
                more -= wide
                if wide and (more < 0 or left() < reserve):
                    break
                if bad.position - good.position <= 1 or left() <= 0.0:
                    break
                if bad.x - good.x <= self.near or (close is not None and close(good, bad)):
                    break
                search.probe(self.between(good, bad))
            elif (end == "lower" and left() <= 0.0) or not self.extend(good, bad):
                break
        return search.sides(end)

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
            distance = min(BEYOND * abs(found - base.x), self.step)
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
        """Return the gap that is small beside what brackets leave open."""
        part = PART_OF_UPPER if self.end == "upper" else PART
        slope = abs(self.search.slope)
        return part * max(good.width, bad.width) / slope if slope else 0.0

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
