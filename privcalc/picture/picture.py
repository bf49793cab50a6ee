"""Picture: the curves of an answer, with both ends of every point, before anything is drawn."""

from __future__ import annotations

from math import ceil, floor, isclose, isfinite, isinf, log10
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, round_up
from privcalc.errors import UsageError
from privcalc.record import record
from privcalc.render.assumptions import NAME, assumptions
from privcalc.render.report import Estimate, OneSided
from privcalc.render.words import number, remarks, sampling_name, title, written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privcalc.render.report import Number, Quantity, Report, Row

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

LOGARITHMIC = frozenset({"delta", "orders"})
"""Quantities that range over powers of ten."""

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
        width: the largest distance of both ends, as a part of the upper one; where the axis is not
            logarithmic, as a part of the largest. None where an end is not known.
    """

    name: str
    points: tuple[Point, ...]
    width: float | None

    @property
    def narrow(self) -> bool:
        """Whether the band is no wider than a line."""
        return self.width is not None and self.width < VISIBLE


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
        remarks: what cannot be seen: how narrow the band is, and what lies outside.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    unit: bool
    remarks: tuple[str, ...]


def picture(reports: Sequence[Report]) -> tuple[Picture, list[Report]]:
    """Return the picture of the answers to one question, and the answers that are not in it.

    Raises:
        UsageError: they have no curve, or more than one.
    """
    curves = [report for report in reports if isinstance(_columns(report)[0][1], list)]
    if len(curves) == 1:
        return _of_columns(curves[0]), [report for report in reports if report is not curves[0]]
    if curves or len({report.place and report.place[0] for report in reports}) > 1:
        raise UsageError(SEVERAL)
    if len({report.place for report in reports}) < 2:
        raise UsageError(NO_CURVE)
    return _of_places(reports), []


def _of_columns(report: Report) -> Picture:
    """Return the picture of an answer that is a curve: its first column is where."""
    (place, places), *columns = _columns(report)
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
    columns = dict(_columns(first))
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
    report = reports[0]
    swept = report.at is not None
    points = {name: _monotone(_points(pairs), place, name) for name, pairs in found}
    everything = [point for each in points.values() for point in each]
    ends = [end for point in everything for end in _ends(point)]
    y_log = quantity in LOGARITHMIC or place == "orders" or (swept and _decades(ends))
    x_log = place in LOGARITHMIC or (swept and _decades([point.x for point in everything]))
    x_log = x_log and all(point.x > 0.0 for point in everything)
    y_log = y_log and any(end > 0.0 for end in ends)
    drawn = {name: [p for p in each if _drawable(p, y_log)] for name, each in points.items()}
    if y_log:
        drawn = _without_depths(drawn)
    curves = tuple(_curve(name, each, y_log) for name, each in drawn.items() if each)
    if not curves:
        raise UsageError("there is nothing to draw: every point is 0 or infinite")
    chosen = [pair for pair in (*assumptions(reports), *remarks(reports)) if pair[0] in EXPLAINED]
    left = [point for point in everything if not _drawable(point, y_log)]
    whole = "the upper" if y_log else "the largest"
    return Picture(
        title=title(reports),
        facts=(*_assumed(reports), *chosen),
        x=Axis(LABELS.get(place, place), x_log),
        y=Axis(_quantity_label(report, quantity), y_log),
        curves=curves,
        unit=place == "alpha",
        remarks=(*_widths(curves, whole), *_outside(left, len(everything))),
    )


def _decades(numbers: Sequence[float]) -> bool:
    """Say whether numbers range over a power of ten or more, and are positive."""
    return 0.0 < 10.0 * min(numbers, default=0.0) <= max(numbers, default=0.0)


def _quantity_label(report: Report, quantity: str) -> str:
    """Say what the vertical axis shows, and of a sweep where that was asked."""
    label = LABELS.get(quantity, quantity)
    if report.at is None:
        return label
    if "sufficient" in report.result:
        return f"{label} that meets the target"
    fixed = [f"{k} {written(v)}" for k, v in report.query.items() if (k, v) != report.at]
    kept = [each for each in fixed if not each.startswith("swept_")]
    return " at ".join([label, *kept])


def _assumed(reports: Sequence[Report]) -> tuple[tuple[str, str], ...]:
    """Say what the curve assumes, on two lines: the height is for the curve."""
    facts = dict(assumptions(reports))
    given = f", {NAME} {facts[NAME]}" if NAME in facts else ""
    return ("relation", facts["relation"]), ("sampling", sampling_name(reports[0]) + given)


def _columns(report: Report) -> list[tuple[str, Quantity | Estimate]]:
    return list(report.result.items())


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
    uppers: list[float | None] = []
    for point in points:
        known = [each for each in (point.upper, *uppers[-1:]) if each is not None]
        uppers.append(min(known, default=None))
    lowers: list[float | None] = []
    for point in reversed(points):
        known = [each for each in (point.lower, *lowers[-1:]) if each is not None]
        lowers.append(max(known, default=None))
    return [
        Point(point.x, lower, upper)
        for point, lower, upper in zip(points, reversed(lowers), uppers, strict=True)
    ]


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


def _ends(point: Point) -> list[float]:
    return [end for end in (point.lower, point.upper) if end is not None and isfinite(end)]


def _drawable(point: Point, logarithmic: bool) -> bool:  # noqa: FBT001
    """Say whether the upper end, or the only one, has a place on the axis.

    A lower end that has none is drawn at the foot of the picture, below which nothing is said.
    """
    end = point.lower if point.upper is None else point.upper
    return end is not None and isfinite(end) and (end > 0.0 or not logarithmic)


def _curve(name: str, points: Sequence[Point], logarithmic: bool) -> Curve:  # noqa: FBT001
    """Return a curve with the width of its band."""
    both = [(p.lower, p.upper) for p in points if p.lower is not None and p.upper is not None]
    most = max((upper for _, upper in both), default=0.0)
    widths = [(b - a) / ((b if logarithmic else most) or 1.0) for a, b in both]
    width = max(widths) if len(both) == len(points) else None
    return Curve(LABELS.get(name, name), tuple(sorted(points, key=lambda p: p.x)), width)


def _widths(curves: Sequence[Curve], whole: str) -> list[str]:
    """Say what is proved at the points, and how wide the bands are that look like lines."""
    known = [curve.width for curve in curves if curve.width is not None]
    said = []
    if known:
        widest = max(known)
        # Two roundings of the width are less than one part in a thousand billion.
        apart = f", at most {round_up(widest * (1 + 1e-12), 1)} of {whole} apart"
        words = apart if widest else " and equal"
        said.append(f"at the points both ends are proved{words if widest < VISIBLE else ''}")
    if any(not p.lower for c in curves for p in c.points if p.upper and p.lower is not None):
        said.append("a lower end that is not drawn lies below the picture")
    if len(known) < len(curves):
        said.append("points without a band are proved from one side only")
    return said


def _outside(left: Sequence[Point], number: int) -> list[str]:
    """Say how many points are not drawn, and where they are."""
    infinite = sum(isinf(point.upper or 0.0) for point in left)
    zero = len(left) - infinite
    said = []
    if infinite:
        said.append(f"not drawn: {infinite} of {number} points, which have no finite upper end")
    if zero:
        said.append(f"not drawn: {zero} of {number} points, which are 0")
    return said


# What is smaller, or larger, has no room for ticks among the doubles. What differs by so little, in
# relation to itself, is flat: the labels of its ticks would be alike.
TINY, HUGE, FLAT = 1e-290, 1.7e308, 1e-9


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
        if high - low < max(TINY, FLAT * max(abs(low), abs(high))):
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
