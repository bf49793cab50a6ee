"""The formats for programs: JSON, with the keys in the order of the schema, and CSV.

CSV has the long form: one row per number, the same columns for every command. Every row names the
specification, and describes a long one; JSON has the whole. Numbers are written in full (they read
back as the same doubles), infinity as `Infinity`; a cell that does not apply is empty. What is
proved from above is in `upper` and from below in `lower`; a number that bounds nothing (a count,
the value of a free parameter) is in `value`. What was fixed in addition to the place of a number,
such as the delta of a sweep, is in `query`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.exact import Written
from privcalc.render.assumptions import NAME, STATED, assumed, sensitivities, stated
from privcalc.render.report import Estimate, OneSided
from privcalc.render.words import least, number, title
from privcalc.spec.json import to_json
from privcalc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.accounting.directions import Method
    from privcalc.render.report import Named, Number, Quantity, Report, Row

SCHEMA = "privcalc/result/v1"


def json_line(report: Report) -> str:
    """Render one answer. The same question gives the same bytes."""
    return dumps(as_object(report))


def as_object(report: Report) -> dict[str, object]:
    """Return the answer as plain data: no key is null, nothing depends on the host."""
    method = report.method
    data: dict[str, object] = {
        "schema": SCHEMA,
        "version": __version__,
        "command": report.command,
        **({"name": report.name} if report.name else {}),
        "spec": to_json(report.spec),
        "text": report.text,
        "relation": report.relation.value,
        "assumed": assumed(report),
        "query": dict(report.query),
        "result": dict(report.result),
        "method": {
            "engine": method.engine,
            "proof": method.proof.words,
            "tolerance_met": method.tolerance_met,
            "terms": dict(method.terms),
            **_renyi(method),
            **({"kind": method.kind} if method.kind else {}),
            **({"theorems": dict(method.theorems)} if method.theorems else {}),
        },
    }
    if report.reasons:
        data["reasons"] = list(report.reasons)
    if report.caution:
        data["caution"] = report.caution
    if report.check is not None:
        check = report.check
        data["check"] = {check.name: least(check.budget), "verdict": check.verdict.value}
    return data


def _renyi(method: Method) -> dict[str, object]:
    """Return the Renyi order behind an upper end, where it is one that proved it."""
    if method.order is None:
        return {}
    return {"order": method.order, "conversion": method.conversion}


def dumps(data: object) -> str:
    """Write plain data and brackets as JSON on one line."""
    return json.dumps(encoded(data), allow_nan=False)


def encoded(value: object) -> object:
    """Replace what JSON has no form for; the rest is plain data.

    Infinity is a string because readers turn the bare word, or null, into something that a
    budget check takes for a small number (jq: `null <= 3` is true).
    """
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Written):
        # Of a query, which is not read again: the nearest double.
        return float(value)
    if isinstance(value, Bound):
        lower, upper = value.printed
        ends = {"upper": upper} if lower is None else {"lower": lower, "upper": upper}
        return encoded(ends)
    if isinstance(value, Estimate):
        return {"estimate": encoded(value.value)}
    if isinstance(value, OneSided):
        return encoded(value.printed)
    if isinstance(value, Mapping):
        return {key: encoded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    return value


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
    "query",
    "name",
    NAME,
)


def csv_header() -> str:
    """Return the first line."""
    return _joined(HEADER)


def csv_lines(report: Report) -> Iterator[str]:
    """Render one answer."""
    method = report.method
    # Of several kinds the sample is that of one; the specification says which.
    alone = report.sample and " and " not in report.sampling
    sampling = f"{report.sampling}, {report.sample}" if alone else report.sampling
    before = (title([report]), report.relation.text, STATED if stated(report) else sampling)
    # The last column: columns that programs know by their number stay where they are.
    said = sensitivities([report])
    after = [method.engine, "true" if method.tolerance_met else "false", "", ""]
    if report.check is not None:
        after[2:] = [number(least(report.check.budget)), report.check.verdict.value]
    for given, at, name, value in numbers(report):
        # What else was fixed, such as the delta of a sweep.
        fixed = {key: found for key, found in report.query.items() if key != given}
        asked = " ".join(f"{key}={number(found)}" for key, found in fixed.items())
        quantity = f"{name} ({report.caution})" if report.caution else name
        # A part that is named was not checked itself, nor asked of that engine.
        rest = ("",) * len(after) if given == "name" else after
        rest = (*rest, asked, report.name, said)
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
    """Baselines have names of their own; everything else is a part of something."""
    before = "" if name == "methods" else f"{name}."
    for key, value in numbers.items():
        if not isinstance(value, str):
            yield f"{before}{key}", value


def _column(
    name: str, values: list[Number | Row], first: str, places: Quantity | Estimate
) -> Iterator[tuple[str, str, str, Number | Estimate]]:
    """Yield a column with its first one, a table of rows, or a list that is numbered."""
    yield from _rows(values)
    firsts = places if isinstance(places, list) else list(range(1, len(values) + 1))
    given = first if isinstance(places, list) else "number"
    for place, found in zip(firsts, values, strict=False):
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
    import csv
    import io

    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(cells)
    return buffer.getvalue()
