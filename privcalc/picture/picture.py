"""Picture: the curves of an answer, with both ends of every point, before anything is drawn."""

from __future__ import annotations

from importlib.util import find_spec
from math import isfinite, isinf
from pathlib import Path
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.errors import UsageError
from privcalc.record import record
from privcalc.render.assumptions import NAME, assumptions, sampling_name
from privcalc.render.report import Estimate, OneSided
from privcalc.render.words import remarks, title, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from privcalc.render.report import Number, Quantity, Report, Row

FORMATS = (".svg", ".png", ".pdf")

# What axes and curves are called, where it is not their name.
LABELS = {
    "alpha": "false positive rate (alpha)",
    "beta": "false negative rate (beta)",
    "orders": "order",
    "renyi_epsilon": "Renyi divergence",
    "base_epsilon": "one run",
    "base_delta": "one run",
    "base": "without sampling",
    "upper": "any mechanism with that curve",
    "exact": "sampled",
    "tight": "sampled",
}
# Lower ends below this part of all upper ones are left out of a logarithmic axis, which would be
# theirs for the most part.
BELOW = 0.1
# A band so wide, against its upper end, is more than a line.
VISIBLE = 0.02

NO_CURVE = (
    "a picture needs a curve, and this is one number: give several deltas or epsilons, or"
    " ask for a profile, a trade-off curve, Renyi divergences or a sweep"
)
SEVERAL = "a picture has one curve: ask for several deltas, or several epsilons"

# Remarks without which a picture would say something else.
EXPLAINED = ("target", "runs", "filter", "caution")


@record
class Point:
    """One place of a curve and what is proved there: either end may be missing, not both."""

    x: float
    lower: float | None
    upper: float | None


@record
class Curve:
    """Points of one quantity that can be drawn, at increasing places.

    A narrow one is known from both sides everywhere, no further apart than a line is wide.
    """

    name: str
    points: tuple[Point, ...]
    narrow: bool


@record
class Axis:
    """One axis: what it shows, and whether it is logarithmic."""

    label: str
    logarithmic: bool


@record
class Picture:
    """All that a picture shows: what it assumes, curves, and remarks on what cannot be seen.

    If it is `unit`, both axes are [0, 1], with the line of random guesses: 1 - x.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    unit: bool
    remarks: tuple[str, ...]


def check_file(name: str, option: str = "--plot-file") -> None:
    """Refuse a file that cannot be drawn, given to an option, before anything is computed.

    Raises:
        UsageError: it ends in no known format, its folder is missing, or matplotlib is.
    """
    path = Path(name)
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{option} ends in {', '.join(FORMATS[:-1])} or .pdf, got {name}")
    if not path.parent.is_dir():
        raise UsageError(f"{option}: there is no folder {path.parent}")
    check_library(option)


def check_library(option: str) -> None:
    """Refuse to draw where matplotlib, which is an extra, is missing."""
    if find_spec("matplotlib") is None:
        raise UsageError(f"{option} needs matplotlib: pip install 'privcalc[plot]'")


def picture(reports: Sequence[Report]) -> tuple[Picture, list[Report]]:
    """Return the picture of the answers to one question, and the answers that are not in it.

    Raises:
        UsageError: they have no curve, or more than one.
    """
    curves = [report for report in reports if isinstance(next(iter(report.result.values())), list)]
    if len(curves) == 1:
        return _of_columns(curves[0]), [report for report in reports if report is not curves[0]]
    if curves or len({report.place and report.place[0] for report in reports}) > 1:
        raise UsageError(SEVERAL)
    if len({report.place for report in reports}) < 2:
        raise UsageError(NO_CURVE)
    return _of_places(reports), []


def _of_columns(report: Report) -> Picture:
    """Return the picture of an answer that is a curve: its first column is where."""
    (place, places), *columns = report.result.items()
    # Both ends of the exact curve say what these do.
    names = {name for name, _ in columns}
    hidden = {"lower", "tight"} if "exact" in names else {"lower"} if "tight" in names else set()
    found = [
        (name, tuple(zip(_plain(places), values, strict=True)))
        for name, values in columns
        if isinstance(values, list) and name not in hidden
    ]
    named = found[0][0] if len(found) == 1 else "renyi_epsilon"
    return _picture([report], place, named, found)


def _of_places(reports: Sequence[Report]) -> Picture:
    """Return the picture of answers to one question at several places."""
    place, columns = reports[0].place, reports[0].result
    name = place[0] if place else ""
    if "sufficient" in columns:
        # The value that is wanted lies between these two.
        parameter = str(columns["parameter"])
        brackets = tuple((_place(each), _between(each)) for each in reports)
        return _picture(reports, name, parameter, [(parameter, brackets)])
    proved = [key for key, value in columns.items() if isinstance(value, Bound)]
    found = [(key, tuple((_place(each), each.result[key]) for each in reports)) for key in proved]
    if not found:
        raise UsageError("a picture shows what is proved; these numbers have no certificate")
    return _picture(reports, name, found[0][0], found)


def _picture(
    reports: Sequence[Report],
    place: str,
    quantity: str,
    found: Sequence[tuple[str, Sequence[tuple[float, Quantity | Row | Estimate]]]],
) -> Picture:
    """Put curves on axes that fit them."""
    points = {name: _points(pairs) for name, pairs in found}
    everything = [point for each in points.values() for point in each]
    unit = place == "alpha"
    x_log = not unit and _logarithmic([point.x for point in everything])
    ends = [end for point in everything if isfinite(end := _end(point))]
    y_log = not unit and _logarithmic(ends, zeros=quantity == "delta")
    left = [p for p in everything if isinf(_end(p)) or (y_log and _end(p) <= 0.0)]
    drawn = {name: [p for p in each if p not in left] for name, each in points.items()}
    if y_log:
        drawn = _without_depths(drawn)
    curves = tuple(_curve(name, each, y_log) for name, each in drawn.items() if each)
    if not curves:
        raise UsageError("there is nothing to draw: every point is 0 or infinite")
    chosen = [pair for pair in (*assumptions(reports), *remarks(reports)) if pair[0] in EXPLAINED]
    return Picture(
        title=title(reports),
        facts=(*_assumed(reports), *chosen),
        x=Axis(LABELS.get(place, place), x_log),
        y=Axis(_quantity_label(reports[0], quantity), y_log),
        curves=curves,
        unit=unit,
        remarks=tuple(_unseen(curves, left, len(everything))),
    )


def _logarithmic(numbers: Sequence[float], *, zeros: bool = False) -> bool:
    """Return whether an axis is logarithmic: its numbers range over a power of ten or more.

    They are positive, unless zeros may be left out.
    """
    positive = [each for each in numbers if each > 0.0]
    enough = bool(positive) and (zeros or len(positive) == len(numbers))
    return enough and 10.0 * min(positive) <= max(positive)


def _quantity_label(report: Report, quantity: str) -> str:
    """Say what the vertical axis shows, and of a sweep where that was asked."""
    label = LABELS.get(quantity, quantity)
    if report.at is None:
        return label
    if "sufficient" in report.result:
        return f"{label} that meets the target"
    fixed = {k: v for k, v in report.query.items() if not k.startswith("swept_")}
    places = [f"{k} {written(v)}" for k, v in fixed.items() if (k, v) != report.at]
    return " at ".join([label, *places])


def _assumed(reports: Sequence[Report]) -> tuple[tuple[str, str], ...]:
    """Say what the curve assumes, on two lines: the height is for the curve."""
    facts = dict(assumptions(reports))
    given = f", {NAME} {facts[NAME]}" if NAME in facts else ""
    return ("relation", facts["relation"]), ("sampling", sampling_name(reports[0]) + given)


def _place(report: Report) -> float:
    return float(report.place[1]) if report.place else 0.0


def _plain(places: Quantity | Estimate) -> list[float]:
    rows = places if isinstance(places, list) else []
    return [float(each) for each in rows if isinstance(each, int | float)]


def _between(report: Report) -> Bound:
    ends = [report.result.get(name) for name in ("sufficient", "insufficient")]
    known = [float(end) for end in ends if isinstance(end, int | float)]
    return Bound(max(known), min(known))


def _points(pairs: Sequence[tuple[float, Number | Quantity | Row | Estimate]]) -> list[Point]:
    points = []
    for x, value in pairs:
        if isinstance(value, Bound):
            points.append(Point(x, *value.printed))
        elif isinstance(value, OneSided):
            end = value.printed
            points.append(Point(x, None, end) if value.is_upper else Point(x, end, None))
    return points


def _without_depths(drawn: Mapping[str, list[Point]]) -> dict[str, list[Point]]:
    """Lower ends far below every upper one to 0, which they are at least, too."""
    uppers = [p.upper for each in drawn.values() for p in each if p.upper is not None]
    floor = BELOW * min(uppers, default=0.0)

    def lifted(p: Point) -> Point:
        return Point(p.x, 0.0, p.upper) if p.lower is not None and p.lower < floor else p

    return {name: [*map(lifted, each)] for name, each in drawn.items()}


def _end(point: Point) -> float:
    """Return the upper end, or the only one.

    A lower end that has no place on the axis is drawn at the foot of the picture.
    """
    return point.upper if point.upper is not None else point.lower or 0.0


def _curve(name: str, points: Sequence[Point], logarithmic: bool) -> Curve:  # noqa: FBT001
    """Return a curve; how wide its band looks depends on the axis."""
    both = [(p.lower, p.upper) for p in points if p.lower is not None and p.upper is not None]
    most = max((upper for _, upper in both), default=0.0)
    close = all(b - a < VISIBLE * (b if logarithmic else most) or a == b for a, b in both)
    narrow = close and len(both) == len(points)
    return Curve(LABELS.get(name, name), tuple(sorted(points, key=lambda p: p.x)), narrow)


def _unseen(curves: Sequence[Curve], left: Sequence[Point], number: int) -> Iterator[str]:
    """Say which ends and points are not drawn, and where they are."""
    points = [point for curve in curves for point in curve.points]
    if any(not p.lower and p.upper for p in points if p.lower is not None):
        yield "a lower end that is not drawn lies below the picture"
    if any(p.lower is None or p.upper is None for p in points):
        yield "points without a band are proved from one side only"

    infinite = sum(isinf(_end(point)) for point in left)
    for count, where in ((infinite, "have no finite upper end"), (len(left) - infinite, "are 0")):
        if count:
            yield f"not drawn: {count} of {number} points, which {where}"
