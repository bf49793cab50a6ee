"""The tables of an answer: a header and rows of text, for every format that people read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.record import record
from privcalc.render.report import Estimate, OneSided
from privcalc.render.words import COLUMNS, METHODS, NONE, UNKNOWN, named, number, one_sided, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Number, Quantity, Report, Row

    _Columns = list[tuple[str, list[str]]]


@record
class Grid:
    """A header and rows of equally many cells, all of them text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def grids(reports: Sequence[Report]) -> Iterator[Grid]:
    """Put successive answers with the same columns into one grid."""
    tables = [table for report in reports for table in _tables(report)]
    for header, group in groupby(tables, key=lambda table: tuple(name for name, _ in table)):
        rows = [row for table in group for row in zip(*(cells for _, cells in table), strict=True)]
        yield Grid(header, tuple(_in_one_notation(header, rows)))


def _tables(report: Report) -> Iterator[_Columns]:
    """Yield the columns of each table of an answer, the place of the question first."""
    for names in report.tables or (tuple(report.result),):
        shown = {name: report.result[name] for name in names}
        last = shown[names[-1]]
        if report.closing and isinstance(last, list):
            shown[names[-1]] = [*last, *report.closing]
        if len(shown) > 1 and all(isinstance(each, Mapping) for each in shown.values()):
            columns = list(_by_method(shown))
        else:
            parts = (_columns(report.headings.get(k, k), v) for k, v in shown.items())
            columns = [column for part in parts for column in part]
        if report.place is not None:
            name, value = report.place
            columns.insert(0, (name, [written(value)] * len(columns[0][1])))
        yield columns


def _by_method(shown: Mapping[str, Quantity | Estimate]) -> Iterator[tuple[str, list[str]]]:
    """Yield the columns of a table that has a row for each method."""
    baselines = {name: each for name, each in shown.items() if isinstance(each, Mapping)}
    methods = list(next(iter(baselines.values())))
    yield "method", [METHODS.get(method, method) for method in methods]
    for name, numbers in baselines.items():
        yield COLUMNS.get(name, name), [named(numbers.get(method, NONE)) for method in methods]


def _columns(name: str, quantity: Quantity | Estimate) -> Iterator[tuple[str, list[str]]]:
    """Yield the columns of a quantity: two of a bracket, and of a row one for each of its cells."""
    if isinstance(quantity, Estimate):
        yield f"{name} (estimate, not certified)", [number(quantity.value)]
    elif isinstance(quantity, Mapping):
        yield from ((METHODS.get(key, key), [named(value)]) for key, value in quantity.items())
    else:
        values = quantity if isinstance(quantity, list) else [quantity]
        rows = [_cells(value) for value in values]
        for index, heading in enumerate(_headings(name, values[0] if values else "")):
            yield heading, [row[index] for row in rows]


def _headings(name: str, value: Number | Row | str) -> list[str]:
    if isinstance(value, dict):
        return [heading for key, part in value.items() for heading in _headings(key, part)]
    if isinstance(value, Bound):
        return [f"{name} lower bound", f"{name} upper bound"]
    return [COLUMNS.get(name, name)]


def _cells(value: Number | Row | str) -> list[str]:
    if isinstance(value, dict):
        return [cell for part in value.values() for cell in _cells(part)]
    if isinstance(value, Bound):
        lower, upper = value.decimals()
        return [lower or UNKNOWN, upper]
    if isinstance(value, OneSided):
        return [one_sided(value)]
    return [value if isinstance(value, str) else written(value)]


_EXPONENT, _DECIMAL = re.compile(r"-?[0-9.]+e-?[0-9]+"), re.compile(r"-?[0-9]*\.?[0-9]+")


def _in_one_notation(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> Iterator[tuple[str, ...]]:
    """Yield rows in which both ends of a number have exponents if any row has one.

    Places, where numbers are asked for, stay as they were written. No digit changes.
    """
    names = [re.sub(" (lower|upper) bound$", "", heading) for heading in header]
    mixed = {
        name
        for row in rows
        for name, cell in zip(names, row, strict=True)
        if _EXPONENT.fullmatch(cell) and not name == names[0] == header[0]
    }
    for row in rows:
        yield tuple(
            _with_exponent(cell) if name in mixed and _DECIMAL.fullmatch(cell) else cell
            for name, cell in zip(names, row, strict=True)
        )


def _with_exponent(cell: str) -> str:
    """Write a decimal with an exponent, all its digits included; nothing else is 0."""
    number = Decimal(cell)
    return cell if number == 0 else f"{number:e}".replace("e+", "e")
