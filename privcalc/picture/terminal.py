"""A picture in characters: marks where something is proved, dots that join them, a shaded band."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, floor, log10
from textwrap import wrap
from typing import TYPE_CHECKING

from privcalc.record import record
from privcalc.render.words import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.picture.picture import Curve, Picture

# On a screen of 24 lines this is left by all that stands around it. What is higher than half of its
# width is no longer seen at once.
LOWEST, ASPECT = 13, 0.5
NARROWEST, WIDEST = 40, 120
# Rows for each tick of the vertical axis.
FOR_TICK = 2.5

# Of one curve after another: a proved upper end, and a lower end that is not in the same place.
UPPER, LOWER = "*#x@", "o=+%"
BAND, GUESS = ":", "\\"
# Joins points; nothing is proved there.
JOINING = "."


def draw(picture: Picture, *, columns: int, lines: int = 0) -> Iterator[str]:
    """Draw a picture in so many columns, and in as many of so many lines as its width needs."""
    columns = min(max(columns, NARROWEST), WIDEST)
    x, y = _scales(picture)
    below = [line for remark in picture.remarks for line in wrap(remark, columns)]
    # The labels of both axes, the horizontal one, its ticks, and a line of marks for each curve.
    around = 4 + len(picture.curves) + len(below)
    height = max(min(lines - around, round(ASPECT * columns)), LOWEST)
    rows = {round(p * (height - 1)): label for p, label in y.ticks(max(6, int(height / FOR_TICK)))}
    margin = max(map(len, rows.values()), default=0)
    width = columns - margin - 3
    canvas = _canvas(picture, x, y, (width, height))
    yield picture.y.label
    for row in range(height - 1, -1, -1):
        label = rows.get(row, "")
        text = "".join(canvas[row]).rstrip()
        yield f"{label:>{margin}} {'+' if label else '|'}{text}"
    places = {round(place * (width - 1)): label for place, label in x.ticks(width // 10)}
    ruler = "".join("+" if column in places else "-" for column in range(width))
    yield f"{'':>{margin}} '{ruler}"
    yield " " * (margin + 2) + _labels(places, width)
    yield picture.x.label.rjust(columns - 1)
    yield from _legend(picture, {mark for row in canvas for mark in row})
    yield from below


def _scales(picture: Picture) -> tuple[Scale, Scale]:
    points = [point for curve in picture.curves for point in curve.points]
    places = [0.0, 1.0] if picture.unit else [point.x for point in points]
    ends = [end for p in points for end in (p.lower, p.upper) if end is not None]
    return (
        Scale.around(places, logarithmic=picture.x.logarithmic),
        Scale.around(places if picture.unit else ends, logarithmic=picture.y.logarithmic),
    )


def _canvas(picture: Picture, x: Scale, y: Scale, size: tuple[int, int]) -> list[list[str]]:
    """Return the rows of characters from the lowest on."""
    width, height = size
    canvas = [[" "] * width for _ in range(height)]
    if picture.unit:
        for column in range(width):
            canvas[round((1 - column / (width - 1)) * (height - 1))][column] = GUESS
    placed = [_placed(curve, x, y, size) for curve in picture.curves]
    for curve in placed:
        _join(canvas, curve)
    # Marks last: what is proved hides what joins it.
    for index, curve in reversed(list(enumerate(placed))):
        for column, low, high in curve:
            if low is not None and low >= 0.0:
                canvas[round(low)][column] = LOWER[index % len(LOWER)]
            if high is not None:
                canvas[round(high)][column] = UPPER[index % len(UPPER)]
    return canvas


Placed = list[tuple[int, float | None, float | None]]


def _placed(curve: Curve, x: Scale, y: Scale, size: tuple[int, int]) -> Placed:
    """Return the column of each point, and the rows of both ends."""
    width, height = size

    def row(end: float | None) -> float | None:
        # 0 is below any logarithmic axis.
        below = y.logarithmic and end is not None and end <= 0.0
        return end if end is None else -1.0 if below else y.place(end) * (height - 1)

    return [(round(x.place(p.x) * (width - 1)), row(p.lower), row(p.upper)) for p in curve.points]


def _join(canvas: list[list[str]], curve: Placed) -> None:
    """Draw lines between neighbouring points, and the band between the lines."""
    for (left, *start), (right, *end) in pairwise(curve):
        for column in range(left, right + 1):
            share = (column - left) / max(right - left, 1)
            rows = [
                None if a is None or b is None else round(a + share * (b - a))
                for a, b in zip(start, end, strict=True)
            ]
            low, high = rows
            if low is not None and high is not None:
                for row in range(max(low + 1, 0), high):
                    canvas[row][column] = BAND
            for each in rows:
                if each is not None and each >= 0:
                    canvas[each][column] = JOINING


def _labels(places: dict[int, str], width: int) -> str:
    """Return the labels below the ticks, each centred where it fits, none upon another."""
    line = ""
    for column, label in sorted(places.items()):
        start = max(min(column - len(label) // 2, width - len(label)), 0)
        if not line or start > len(line):
            line = line.ljust(start) + label
    return line


def _legend(picture: Picture, seen: set[str]) -> Iterator[str]:
    """Name the marks that can be seen: one line for all of one curve, or a line for each."""
    names = {BAND: "between", GUESS: "random guess"}
    others = [f"{mark} {name}" for mark, name in names.items() if mark in seen]
    curves = []
    for index, curve in enumerate(picture.curves):
        high, low = (each[index % len(each)] for each in (UPPER, LOWER))
        ends = [f"{high} at most"] * (high in seen) + [f"{low} at least"] * (low in seen)
        # Lower ends that have no mark of their own stand where the upper ones do, or are 0.
        if low not in seen and (curve.narrow or all(point.lower for point in curve.points)):
            ends = [f"{high} both ends"]
        curves.append(("" if len(picture.curves) == 1 else f"{curve.name}: ") + "  ".join(ends))
    yield "  ".join([*curves[:1], *others])
    yield from curves[1:]


# Smaller or larger ranges have too few doubles for ticks. What differs by so little, in
# relation to itself, is flat: the labels of its ticks would be alike.
TINY, HUGE, FLAT = 1e-290, 1.7e308, 1e-9


@record
class Scale:
    """Numbers from `low` to `high` along an axis of length 1; a logarithmic one has no 0."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def around(cls, values: Sequence[float], *, logarithmic: bool) -> Scale:
        """Return the scale that finite numbers fill; positive ones if it is logarithmic."""
        inside = [value for value in values if value > 0.0 or not logarithmic]
        low, high = min(inside), max(inside)
        if high - low < max(TINY, FLAT * max(abs(low), abs(high))):
            # A flat curve stands in the middle. No curve is as large as the doubles go.
            low, high = (low - 1.0, high + 1.0) if abs(low) < 1.0 else (low / 2.0, high * 1.5)
            low, high = max(min(low, high), -HUGE), min(max(low, high), HUGE)
        # A part of a decade is read more easily with its own ticks.
        return cls(low, high, logarithmic and high / 10.0 >= low > 0.0)

    def place(self, value: float) -> float:
        """Return where a number stands, in [0, 1]: what lies outside stands at the end."""
        if self.logarithmic and value <= 0.0:
            return 0.0
        low, value, high = map(self._along, (self.low, value, self.high))
        return min(max((value - low) / (high - low), 0.0), 1.0)

    def _along(self, value: float) -> float:
        """Return what grows evenly along the axis; halves, as the range itself may overflow."""
        return log10(value) if self.logarithmic else value / 2

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return at most so many round numbers on the axis: the place and the label of each."""
        if not self.logarithmic:
            found = _multiples(self.low, self.high, most)
            return [(self.place(each), number(each)) for each in found]
        powers = [int(k) for k in _multiples(log10(self.low), log10(self.high), most, least=1.0)]
        if len(powers) > 1:
            return [(self.place(10.0**k), f"1e{k}" if k else "1") for k in powers]
        # One power of ten alone is no scale.
        first = floor(log10(self.low))
        wide = (float(f"{digit}e{k}") for k in range(first, first + 3) for digit in (1, 2, 5))
        inside = [each for each in wide if self.low <= each <= self.high]
        return [(self.place(each), number(each)) for each in inside][:most]


def _multiples(low: float, high: float, most: int, least: float = 1e-300) -> list[float]:
    """Return the multiples between two numbers of the least round step that gives so few."""
    step = max((high / most - low / most) / 2.0, least)
    while True:
        power = 10.0 ** floor(log10(step))
        step = next(f * power for f in (1.0, 2.0, 5.0, 10.0) if f * power >= step * (1.0 - 1e-9))
        first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
        if last - first < most:
            return [float(f"{k * step:.12g}") for k in range(first, last + 1)]
        step *= 1.5
