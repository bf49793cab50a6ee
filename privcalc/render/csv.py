"""CSV in the long form: one row per number, the same columns for every command.

Numbers are written in full (they read back as the same doubles), infinity as `Infinity`; a cell
that does not apply is empty. What is proved from above is in `upper` and from below in `lower`; a
number that bounds nothing (a count, the value of a hole) is in `value`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.render.report import Estimate, OneSided
from privcalc.render.words import number
from privcalc.render.written import least

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.render.report import Named, Number, Quantity, Report, Row

HEADER = (
    "spec",
    "relation",
    "sampling",
    "given",
    "at",
    "quantity",
    "lower",
    "upper",
    "value",
    "estimate",
    "engine",
    "tolerance_met",
    "budget",
    "verdict",
)


def header() -> str:
    """Return the first line."""
    return _joined(HEADER)


def lines(report: Report) -> Iterator[str]:
    """Render one answer."""
    method = report.method
    # Of several kinds the sample is that of one; the specification says which.
    alone = report.sample and " and " not in report.sampling
    sampling = f"{report.sampling}, {report.sample}" if alone else report.sampling
    before = (report.text, report.relation.text, sampling)
    after = [method.engine, "true" if method.tolerance_met else "false", "", ""]
    if report.check is not None:
        after[2:] = [number(least(report.check.budget)), report.check.verdict.value]
    for given, at, name, value in numbers(report):
        quantity = f"{name} ({report.caution})" if report.caution else name
        # A part that is named was not checked itself, nor asked of that engine.
        rest = ("",) * len(after) if given == "name" else after
        yield _joined((*before, given, at, quantity, *_ends(value), *rest))


def numbers(report: Report) -> Iterator[tuple[str, str, str, Number | Estimate]]:
    """Yield (given, at, quantity, value); a summary is given nothing.

    The first column of a curve, and the first entry of a row, say where the rest is.
    """
    given, at = ("", "")
    if report.place is not None:
        given, at = report.place[0], number(report.place[1])
    first = next(iter(report.result))
    places = report.result[first]
    for name, value in report.result.items():
        if isinstance(value, Mapping):
            yield from ((given, at, *found) for found in _named(name, value))
        elif isinstance(value, list):
            yield from _column(name, value, first, places) if name != first else _rows(value)
        # A number that belongs to a curve as a whole is not one of its points.
        elif not isinstance(places, list) and not isinstance(value, str):
            yield given, at, name, value


def _named(name: str, numbers: Named) -> Iterator[tuple[str, Number]]:
    """Rival methods have names of their own; everything else is a part of something."""
    before = "" if name == "methods" else f"{name}."
    for key, value in numbers.items():
        if not isinstance(value, str):
            yield f"{before}{key}", value


def _column(
    name: str, values: list[Number | Row], first: str, places: Quantity | Estimate
) -> Iterator[tuple[str, str, str, Number | Estimate]]:
    """Yield a column beside its first one, a table of rows, or a list that is numbered."""
    yield from _rows(values)
    beside = places if isinstance(places, list) else list(range(1, len(values) + 1))
    given = first if isinstance(places, list) else "number"
    for place, found in zip(beside, values, strict=False):
        if isinstance(place, float | int) and not isinstance(found, dict):
            yield given, number(place), name, found


def _rows(rows: list[Number | Row]) -> Iterator[tuple[str, str, str, Number | Estimate]]:
    for row in rows:
        if isinstance(row, dict):
            (given, at), *rest = row.items()
            if isinstance(at, float | str):
                place = at if isinstance(at, str) else number(at)
                numbers = ((name, found) for name, found in rest if not isinstance(found, str))
                yield from ((given, place, name, found) for name, found in numbers)


def _ends(value: Number | Estimate) -> tuple[str, str, str, str]:
    if isinstance(value, Estimate):
        return "", "", "", number(value.value)
    if isinstance(value, Bound):
        lower, upper = value.printed
        return "" if lower is None else number(lower), number(upper), "", ""
    if isinstance(value, OneSided):
        end = number(value.printed)
        return ("", end, "", "") if value.is_upper else (end, "", "", "")
    return "", "", number(value), ""


def _joined(cells: tuple[str, ...]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(cells)
    return buffer.getvalue()
