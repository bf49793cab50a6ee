"""CSV in the long form: one row per number, the same columns for every command.

Numbers are written in full (they read back as the same doubles), infinity as `Infinity`; a cell
that does not apply is empty.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.render.report import Estimate
from privcalc.render.words import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from privcalc.render.report import Quantity, Report

HEADER = (
    "spec",
    "relation",
    "sampling",
    "given",
    "at",
    "quantity",
    "lower",
    "upper",
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
    before = (report.text, report.relation.text, report.sampling)
    after = [method.engine, "true" if method.tolerance_met else "false", "", ""]
    if report.check is not None:
        after[2:] = [number(report.check.budget), report.check.verdict.value]
    for given, at, quantity, value in _numbers(report.query, report.result):
        yield _joined((*before, given, number(at), quantity, *_ends(value), *after))


def _numbers(
    query: Mapping[str, float], result: Mapping[str, Quantity | Estimate]
) -> Iterator[tuple[str, float, str, Bound | float | Estimate]]:
    """Yield (given, at, quantity, value): the first column of a curve says where the rest is."""
    if query:
        ((given, at),) = query.items()
        for name, value in result.items():
            if not isinstance(value, list):
                yield given, at, name, value
        return
    given = next(iter(result))
    places = result[given]
    for name, values in result.items():
        if name != given and isinstance(places, list) and isinstance(values, list):
            # The first column of a curve is where it was asked: plain numbers.
            for place, found in zip(places, values, strict=True):
                if not isinstance(place, Bound):
                    yield given, place, name, found


def _ends(value: Bound | float | Estimate) -> tuple[str, str, str]:
    if isinstance(value, Estimate):
        return "", "", number(value.value)
    if isinstance(value, Bound):
        return "" if value.lower is None else number(value.lower), number(value.upper), ""
    return "", number(value), ""


def _joined(cells: tuple[str, ...]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(cells)
    return buffer.getvalue()
