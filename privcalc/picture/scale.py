"""Scale: where a number stands on an axis of a terminal, and where its ticks are."""

from __future__ import annotations

from math import ceil, floor, isclose, log10
from typing import TYPE_CHECKING

from privcalc.record import record
from privcalc.render.words import number

if TYPE_CHECKING:
    from collections.abc import Sequence

# What is smaller, or larger, has no room for ticks among the doubles.
TINY, HUGE = 1e-290, 1.7e308


@record
class Scale:
    """Numbers from `low` to `high` along an axis of length 1, low < high.

    Attributes:
        low: the number at 0.
        high: the number at 1.
        logarithmic: both are positive, and equal ratios are equally long.
    """

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def around(cls, values: Sequence[float], *, logarithmic: bool) -> Scale:
        """Return the scale that finite numbers fill; positive ones if it is logarithmic."""
        kept = [value for value in values if value > 0.0 or not logarithmic]
        low, high = min(kept), max(kept)
        if logarithmic and log10(high) - log10(low) < 1.0:
            # A part of a decade is read more easily with its own ticks.
            return cls.around(kept, logarithmic=False)
        if low == high or high - low < TINY:
            # A flat curve stands in the middle. No curve is as large as the doubles go.
            low, high = (low - 1.0, high + 1.0) if abs(low) < 1.0 else (low / 2.0, high * 1.5)
            low, high = max(min(low, high), -HUGE), min(max(low, high), HUGE)
        return cls(low, high, logarithmic)

    def place(self, value: float) -> float:
        """Return where a number stands, in [0, 1]: what lies outside stands at the end."""
        if self.logarithmic:
            if value <= 0.0:
                return 0.0
            # Differences of logs do not overflow, as a ratio of 1 to 1e-300 and less would.
            found = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        else:
            # Halves, because the range itself may overflow.
            found = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return min(max(found, 0.0), 1.0)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return at most so many round numbers on the axis: the place and the label of each."""
        if self.logarithmic:
            first, last = ceil(log10(self.low) - 1e-9), floor(log10(self.high) + 1e-9)
            if last <= first:
                # One power of ten alone is no scale.
                wide = (f"{digit}e{k}" for k in range(first - 1, last + 2) for digit in (1, 2, 5))
                inside = (float(each) for each in wide if self.low <= float(each) <= self.high)
                return [(self.place(each), number(each)) for each in inside][:most]
            step = _round_step((last - first) / max(most - 1, 1), least=1.0)
            powers = range(first - first % -int(step), last + 1, int(step))
            return [(self.place(10.0**k), f"1e{k}" if k else "1") for k in powers]
        # The least round step that does not give too many.
        step = _round_step((self.high / most - self.low / most) / 2.0)
        while True:
            first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
            if last - first < most:
                break
            step = _round_step(step * 1.5)
        return [(self.place(k * step), _label(k, step)) for k in range(first, last + 1)]


def _round_step(least_step: float, least: float = 1e-300) -> float:
    """Return the least 1, 2 or 5 times a power of ten that is not below a number."""
    wanted = max(least_step, least)
    power = 10.0 ** floor(log10(wanted))
    for factor in (1.0, 2.0, 5.0):
        if factor * power > wanted or isclose(factor * power, wanted):
            return factor * power
    return 10.0 * power


def _label(multiple: int, step: float) -> str:
    return number(float(f"{multiple * step:.12g}"))
