"""A picture in characters: marks where something is proved, dots that join them, a shaded band."""

from __future__ import annotations

from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING

from privcalc.picture.picture import Scale
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.picture.picture import Curve, Picture

# On a screen of 24 lines this is left by all that stands around it. What is higher than half of its
# width is no longer seen at once.
LOWEST, ASPECT = 13, 0.5
NARROWEST, USUAL, WIDEST = 40, 80, 120
# Rows for each tick of the vertical axis.
FOR_TICK = 2.5


@record
class Marks:
    """The characters of a picture: those of all terminals, or finer ones.

    Attributes:
        upper: the mark of a proved upper end, of one curve after another.
        lower: the mark of a lower end, where it is not in the same place.
        between: what fills the band.
        joining: what joins points; nothing is proved there.
        guess: the line of random guesses.
        axes: vertical line, its tick, corner, horizontal line, its tick.
    """

    upper: str
    lower: str
    between: str
    joining: str
    guess: str
    axes: tuple[str, str, str, str, str]


FINE = Marks("●■▲◆", "○□△◇", "░", "·", "╲", ("│", "┤", "└", "─", "┬"))
PLAIN = Marks("*#x@", "o=+%", ":", ".", "\\", ("|", "+", "'", "-", "+"))


def draw(picture: Picture, *, columns: int, fine: bool, lines: int = 0) -> Iterator[str]:
    """Draw a picture.

    Args:
        picture: what to draw.
        columns: how wide the terminal is.
        fine: whether it shows more than ASCII.
        lines: how many it has, of which no more are taken than a picture of that width needs; it
            has as many as it has to.
    """
    marks = FINE if fine else PLAIN
    columns = min(max(columns, NARROWEST), WIDEST)
    x, y = _scales(picture)
    below = [line for remark in picture.remarks for line in _remark(remark, columns)]
    # The labels of both axes, the horizontal one, its ticks, and a line of marks for each curve.
    around = 4 + len(picture.curves) + len(below)
    height = max(min(lines - around, round(ASPECT * columns)), LOWEST)
    rows = {round(p * (height - 1)): label for p, label in y.ticks(max(6, int(height / FOR_TICK)))}
    margin = max(map(len, rows.values()), default=0)
    width = columns - margin - 3
    canvas = _canvas(picture, x, y, (width, height), marks)
    line, tick, corner, across, mark = marks.axes
    yield picture.y.label
    for row in range(height - 1, -1, -1):
        label = rows.get(row, "")
        text = "".join(canvas[row]).rstrip()
        yield f"{label:>{margin}} {tick if label else line}{text}"
    places = {round(place * (width - 1)): label for place, label in x.ticks(width // 10)}
    ruler = "".join(mark if column in places else across for column in range(width))
    yield f"{'':>{margin}} {corner}{ruler}"
    yield " " * (margin + 2) + _labels(places, width)
    yield picture.x.label.rjust(columns - 1)
    yield from _legend(picture, marks, {mark for row in canvas for mark in row})
    yield from below


def _remark(remark: str, columns: int) -> list[str]:
    return wrap(remark, columns, break_long_words=False) if columns < USUAL else [remark]


def _scales(picture: Picture) -> tuple[Scale, Scale]:
    if picture.unit:
        return Scale(0.0, 1.0, logarithmic=False), Scale(0.0, 1.0, logarithmic=False)
    points = [point for curve in picture.curves for point in curve.points]
    ends = [end for p in points for end in (p.lower, p.upper) if end is not None]
    return (
        Scale.around([point.x for point in points], logarithmic=picture.x.logarithmic),
        Scale.around(ends, logarithmic=picture.y.logarithmic),
    )


def _canvas(
    picture: Picture, x: Scale, y: Scale, size: tuple[int, int], marks: Marks
) -> list[list[str]]:
    """Return the rows of characters from the lowest on."""
    width, height = size
    canvas = [[" "] * width for _ in range(height)]
    if picture.unit:
        for column in range(width):
            canvas[round((1 - column / (width - 1)) * (height - 1))][column] = marks.guess
    placed = [_placed(curve, x, y, size) for curve in picture.curves]
    for curve in placed:
        _join(canvas, curve, marks)
    # Marks last: what is proved hides what joins it.
    for index, curve in reversed(list(enumerate(placed))):
        for column, low, high in curve:
            if low is not None and low >= 0.0:
                canvas[round(low)][column] = marks.lower[index % len(marks.lower)]
            if high is not None:
                canvas[round(high)][column] = marks.upper[index % len(marks.upper)]
    return canvas


Placed = list[tuple[int, float | None, float | None]]


def _placed(curve: Curve, x: Scale, y: Scale, size: tuple[int, int]) -> Placed:
    """Return the column of each point, and the rows of both ends."""
    width, height = size

    def row(end: float | None) -> float | None:
        if end is None or (y.logarithmic and end <= 0.0):
            # 0 is below any logarithmic axis.
            return None if end is None else -1.0
        return y.place(end) * (height - 1)

    return [(round(x.place(p.x) * (width - 1)), row(p.lower), row(p.upper)) for p in curve.points]


def _join(canvas: list[list[str]], curve: Placed, marks: Marks) -> None:
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
                    canvas[row][column] = marks.between
            for each in rows:
                if each is not None and each >= 0:
                    canvas[each][column] = marks.joining


def _labels(places: dict[int, str], width: int) -> str:
    """Return the labels below the ticks, each centred where there is room, none upon another."""
    line = ""
    for column, label in sorted(places.items()):
        start = max(min(column - len(label) // 2, width - len(label)), 0)
        if not line or start > len(line):
            line = line.ljust(start) + label
    return line


def _legend(picture: Picture, marks: Marks, seen: set[str]) -> Iterator[str]:
    """Name the marks that can be seen: one line for all of one curve, or a line for each."""
    names = {marks.between: "between", marks.guess: "random guess"}
    others = [f"{mark} {name}" for mark, name in names.items() if mark in seen]
    curves = []
    for index, curve in enumerate(picture.curves):
        high, low = (each[index % len(each)] for each in (marks.upper, marks.lower))
        ends = [f"{high} at most"] * (high in seen) + [f"{low} at least"] * (low in seen)
        # Lower ends that have no mark of their own stand where the upper ones do, or are 0.
        if low not in seen and (curve.narrow or all(point.lower for point in curve.points)):
            ends = [f"{high} both ends"]
        curves.append(("" if len(picture.curves) == 1 else f"{curve.name}: ") + "  ".join(ends))
    yield "  ".join([*curves[:1], *others])
    yield from curves[1:]
