"""Picture: the curves of an answer, with both ends of every point, before anything is drawn."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from itertools import accumulate
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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from privcalc.render.report import Number, Quantity, Report, Row

FORMATS = (".svg", ".png", ".pdf")

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
"""What axes and curves are called, where it is not their name."""

FALLS = frozenset({("epsilon", "delta"), ("delta", "epsilon"), ("alpha", "beta")})
RISES = frozenset({("orders", "renyi_epsilon"), ("orders", "exact"), ("orders", "base")})
"""Which quantity never rises, or never falls, with the place that it is asked at."""

BELOW = 0.1
"""Lower ends below this part of all upper ones are left out of a logarithmic axis, which would be
theirs for the most part."""

VISIBLE = 0.02
"""A band so wide, against its upper end, is more than a line."""

NO_CURVE = (
    "a picture needs a curve, and this is one number: give several deltas or epsilons, or"
    " ask for a profile, a trade-off curve, Renyi divergences or a sweep"
)
SEVERAL = "a picture has one curve: ask for several deltas, or several epsilons"

EXPLAINED = ("target", "runs", "filter", "caution")
"""Remarks without which a picture would say something else."""


@record
class Point:
    """One place of a curve and what is proved there: either end may be missing, not both."""

    x: float
    lower: float | None
    upper: float | None


@record
class Curve:
    """Points of one quantity, at increasing places.

    Attributes:
        name: for the legend.
        points: those that can be drawn.
        narrow: whether both ends are known everywhere, and no further apart than a line is wide.
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
    """All that a picture shows.

    Attributes:
        title: the specification.
        facts: pairs of a word and a sentence: the relation, the sampling, the target.
        x: the horizontal axis.
        y: the vertical axis.
        curves: at least one, with at least one point each.
        unit: whether both axes are [0, 1], with the line of random guesses: 1 - x.
        remarks: what cannot be seen: ends that are missing, and points that lie outside.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    unit: bool
    remarks: tuple[str, ...]


def check_file(name: str, option: str = "--plot-file") -> None:
    """Refuse a file that cannot be drawn, before anything is computed.

    Args:
        name: of the file.
        option: what the file was given to.

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
    first = reports[0]
    place = first.place[0] if first.place else ""
    columns = first.result
    if "sufficient" in columns:
        # The value that is wanted lies between these two.
        parameter = str(first.result["parameter"])
        brackets = tuple((_place(each), _between(each)) for each in reports)
        return _picture(reports, place, parameter, [(parameter, brackets)])
    found = [
        (name, tuple((_place(each), each.result[name]) for each in reports))
        for name, value in columns.items()
        if isinstance(value, Bound)
    ]
    if not found:
        raise UsageError("a picture shows what is proved; these numbers have no certificate")
    return _picture(reports, place, found[0][0], found)


def _picture(
    reports: Sequence[Report],
    place: str,
    quantity: str,
    found: Sequence[tuple[str, Sequence[tuple[float, Quantity | Row | Estimate]]]],
) -> Picture:
    """Put curves on axes that fit them."""
    points = {name: _monotone(_points(pairs), place, name) for name, pairs in found}
    everything = [point for each in points.values() for point in each]
    unit = place == "alpha"
    x_log = not unit and _logarithmic([point.x for point in everything])
    ends = [end for point in everything if isfinite(end := _end(point))]
    y_log = not unit and _logarithmic(ends, zeros=quantity == "delta")
    drawn = {name: [p for p in each if _drawable(p, y_log)] for name, each in points.items()}
    if y_log:
        drawn = _without_depths(drawn)
    curves = tuple(_curve(name, each, y_log) for name, each in drawn.items() if each)
    if not curves:
        raise UsageError("there is nothing to draw: every point is 0 or infinite")
    chosen = [pair for pair in (*assumptions(reports), *remarks(reports)) if pair[0] in EXPLAINED]
    left = [point for point in everything if not _drawable(point, y_log)]
    return Picture(
        title=title(reports),
        facts=(*_assumed(reports), *chosen),
        x=Axis(LABELS.get(place, place), x_log),
        y=Axis(_quantity_label(reports[0], quantity), y_log),
        curves=curves,
        unit=unit,
        remarks=(*_one_sided(curves), *_outside(left, len(everything))),
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
    if report.place is None:
        raise AssertionError("answers at several places have one each")
    return float(report.place[1])


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


def _monotone(points: Sequence[Point], place: str, name: str) -> list[Point]:
    """Return points with the ends that are proved of them by the others.

    What never rises is at most what it is at every smaller place, and at least what it is at every
    larger one: upper ends of the former and lower ends of the latter are ends here. So it is of
    delta over epsilon, as P(S) - e^epsilon Q(S) falls with epsilon for every set S; of epsilon over
    delta, its inverse; and of the errors of the best tests. Renyi divergences never fall with the
    order (van Erven and Harremoes 2014, Theorem 3): the same, read from the right.
    """
    found = sorted(points, key=lambda point: point.x)
    if (place, name) in FALLS:
        return _falling(found)
    return _falling(found[::-1])[::-1] if (place, name) in RISES else found


def _falling(points: Sequence[Point]) -> list[Point]:
    """Return points of what is no larger at each than at the one before it."""
    uppers = accumulate((p.upper for p in points), partial(_known, min))
    lowers = list(accumulate((p.lower for p in reversed(points)), partial(_known, max)))
    return [
        Point(point.x, lower, upper)
        for point, lower, upper in zip(points, reversed(lowers), uppers, strict=True)
    ]


def _known(better: Callable[..., float], first: float | None, second: float | None) -> float | None:
    """Return the better of two ends, either of which may be missing."""
    known = [end for end in (first, second) if end is not None]
    return better(known) if known else None


def _without_depths(drawn: Mapping[str, list[Point]]) -> dict[str, list[Point]]:
    """Lower ends far below every upper one to 0, which they are at least, too."""
    uppers = [p.upper for each in drawn.values() for p in each if p.upper is not None]
    floor = BELOW * min(uppers, default=0.0)
    return {
        name: [
            Point(p.x, 0.0, p.upper) if p.lower is not None and p.lower < floor else p for p in each
        ]
        for name, each in drawn.items()
    }


def _end(point: Point) -> float:
    """Return the upper end, or the only one."""
    return point.upper if point.upper is not None else point.lower or 0.0


def _drawable(point: Point, logarithmic: bool) -> bool:  # noqa: FBT001
    """Return whether the upper end, or the only one, has a place on the axis.

    A lower end that has none is drawn at the foot of the picture, below which nothing is said.
    """
    return isfinite(_end(point)) and (_end(point) > 0.0 or not logarithmic)


def _curve(name: str, points: Sequence[Point], logarithmic: bool) -> Curve:  # noqa: FBT001
    """Return a curve; how wide its band looks depends on the axis."""
    both = [(p.lower, p.upper) for p in points if p.lower is not None and p.upper is not None]
    most = max((upper for _, upper in both), default=0.0)
    close = all(b - a < VISIBLE * (b if logarithmic else most) or a == b for a, b in both)
    narrow = close and len(both) == len(points)
    return Curve(LABELS.get(name, name), tuple(sorted(points, key=lambda p: p.x)), narrow)


def _one_sided(curves: Sequence[Curve]) -> Iterator[str]:
    """Say which ends are not drawn."""
    points = [point for curve in curves for point in curve.points]
    if any(not p.lower and p.upper for p in points if p.lower is not None):
        yield "a lower end that is not drawn lies below the picture"
    if any(p.lower is None or p.upper is None for p in points):
        yield "points without a band are proved from one side only"


def _outside(left: Sequence[Point], number: int) -> Iterator[str]:
    """Say how many points are not drawn, and where they are."""
    infinite = sum(isinf(_end(point)) for point in left)
    for count, where in (
        (infinite, "which have no finite upper end"),
        (len(left) - infinite, "which are 0"),
    ):
        if count:
            yield f"not drawn: {count} of {number} points, {where}"
