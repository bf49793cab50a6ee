"""The formats for programs: JSON, with the keys in the order of the schema, CSV, and certificates.

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
from typing import TYPE_CHECKING, Any

from privcalc.bounds import Bound
from privcalc.exact import Written
from privcalc.render.assumptions import NAME, STATED, assumed, sensitivities, stated
from privcalc.render.notes import said
from privcalc.render.report import End, Estimate, OneSided
from privcalc.render.words import least, number, sample, title
from privcalc.spec.json import to_json
from privcalc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.accounting.directions import Direction, Method
    from privcalc.engine.certified import WholeLine
    from privcalc.render.report import Number, Quantity, Report, Row

SCHEMA = "privcalc/result/v1"
CERTIFICATE = "privcalc/certificate/v1"


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
        **(_stated(report) if report.text else {}),
        **({"evidence": dict(report.evidence)} if report.evidence else {}),
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
            **method.test,
        },
    }
    if notes := said(report):
        data["notes"] = notes
    if report.reasons:
        data["reasons"] = list(report.reasons)
    if report.caution:
        data["caution"] = report.caution
    if (check := report.check) is not None:
        budget = {check.name: least(check.budget)} if check.name else {}
        data["check"] = {**budget, "verdict": check.verdict.value}
    return data


def _stated(report: Report) -> dict[str, object]:
    """Return the specification, and what it assumes."""
    return {
        "spec": to_json(report.spec),
        "text": report.text,
        "relation": report.relation.value,
        "assumed": assumed(report),
    }


def _renyi(method: Method) -> dict[str, object]:
    """Return the Renyi order that proved an upper end, if one did."""
    found: dict[str, object] = {"order": method.order, "conversion": method.conversion}
    return {} if method.order is None else found


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
    if isinstance(value, End):
        return {"upper" if value.is_upper else "lower": encoded(value.printed)}
    if isinstance(value, OneSided):
        return encoded(value.printed)
    if isinstance(value, Mapping):
        return {key: encoded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    return value


HEADER = (
    *("spec", "relation", "sampling", "given", "at", "quantity", "lower", "upper", "value"),
    *("estimate", "engine", "tolerance_met", "budget", "verdict", "query", "name", NAME),
)


def csv_header() -> str:
    """Return the first line."""
    return _joined(HEADER)


def csv_lines(report: Report) -> Iterator[str]:
    """Render one answer."""
    method = report.method
    # Of several kinds the sample is that of one; the specification says which.
    alone = sample(report) and " and " not in report.sampling
    sampling = f"{report.sampling}, {sample(report)}" if alone else report.sampling
    before = (title([report]), report.relation.text, STATED if stated(report) else sampling)
    before = before if report.text else ("", "", "")
    said = sensitivities([report])
    after = [method.engine, "true" if method.tolerance_met else "false", "", ""]
    if report.check is not None:
        budget = number(least(report.check.budget)) if report.check.name else ""
        after[2:] = [budget, report.check.verdict.value]
    for given, at, name, value in numbers(report):
        # What else was fixed, such as the delta of a sweep.
        fixed = {key: found for key, found in report.query.items() if key != given}
        asked = " ".join(f"{key}={number(found)}" for key, found in fixed.items())
        quantity = f"{name} ({report.caution})" if report.caution else name
        # A part that is named was not checked itself, nor asked of that engine.
        rest = ("",) * len(after) if given == "name" else after
        cells = (*before, given, at, quantity, *_ends(value), *rest, asked, report.name, said)
        yield _joined(cells)


def numbers(report: Report) -> Iterator[tuple[str, str, str, Number | Estimate]]:
    """Yield (given, at, quantity, value); a summary is given nothing.

    The first column of a curve, and the first entry of a row, say where the rest is.
    """
    given, at = ("", "")
    if report.place is not None:
        given, at = report.place[0], number(report.place[1])
    first, places = next(iter(report.result.items()))
    for name, value in report.result.items():
        if isinstance(value, Mapping):
            # Baselines have names of their own; everything else is a part of something.
            before = "" if name == "methods" else f"{name}."
            named = [(key, each) for key, each in value.items() if not isinstance(each, str)]
            yield from ((given, at, f"{before}{key}", each) for key, each in named)
        elif isinstance(value, list):
            yield from _rows(value)
            if name != first:
                yield from _column(name, value, first, places)
        # A number that belongs to a curve as a whole is not one of its points.
        elif not isinstance(places, list) and not isinstance(value, str):
            yield given, at, name, value


def _column(
    name: str, values: list[Number | Row], first: str, places: Quantity | Estimate
) -> Iterator[tuple[str, str, str, Number | Estimate]]:
    """Yield a column with its first one, or a list that is numbered."""
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


def certificate(report: Report) -> str:
    """Return an answer as what a program that shares nothing with this one needs to prove it.

    It says what was asked, what was found, and for each direction which line was summed (or which
    theorem the bracket rests on). The values of a proof are not in it but for the error terms: a
    reader works them out. The digest is that of the text without it: one changed digit is a changed
    question or answer.
    """
    from hashlib import sha256

    data = {
        "schema": CERTIFICATE,
        "version": __version__,
        "spec": to_json(report.spec),
        "relation": report.relation.value,
        "query": {name: _written(value) for name, value in report.query.items()},
        "result": dict(report.result),
        "directions": {each.adjacency: _direction(each) for each in report.directions},
        "digest": "",
    }
    text = json.dumps(encoded(data), allow_nan=False, indent=2) + "\n"
    data["digest"] = f"sha256:{sha256(text.encode()).hexdigest()}"
    return json.dumps(encoded(data), allow_nan=False, indent=2) + "\n"


def _written(value: float) -> float | str:
    """Return a number as it was written, where a double is not that number."""
    return value.text or str(value.exact) if isinstance(value, Written) else value


def _direction(direction: Direction) -> dict[str, object]:
    """Return what proves the bracket of one direction."""
    method, evidence = direction.method, direction.evidence
    if evidence is None or not (evidence.line or evidence.split):
        return {"proof": method.proof.words, **_renyi(method)}
    found: dict[str, Any] = {"proof": evidence.proof.words}
    if evidence.line is not None:
        found["line"] = _line(evidence.line)
    elif (split := evidence.split) is not None:
        sides = (("right", split.right), ("left", split.left))
        lines = {side: _line(line) for side, line in sides if line is not None}
        found["split"] = {"level": split.level, **lines}
    return found | {"terms": dict(evidence.terms)}


def _line(line: WholeLine) -> dict[str, float]:
    """Return where a line is, and where its nodes end."""
    return {
        "abscissa": line.abscissa,
        "step": line.step,
        "nodes": line.nodes,
        # No payoff is smoothed any more; the format stays.
        "smoothing": 0.0,
        "right": line.right,
    }
