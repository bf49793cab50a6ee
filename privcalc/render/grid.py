"""Grid: the rows and columns that the table formats share."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.record import record
from privcalc.render.report import Estimate, OneSided
from privcalc.render.words import COLUMNS, METHODS, NONE, UNKNOWN, named, number, one_sided
from privcalc.render.written import written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Named, Number, Quantity, Report, Row


@record
class Grid:
    """A header and rows of equally many cells, all of them text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def grids(reports: Sequence[Report]) -> Iterator[Grid]:
    """Put successive answers with the same columns into one grid."""
    tables = [table for report in reports for table in _tables(report)]
    for header, group in groupby(tables, key=_header):
        yield Grid(header, tuple(row for table in group for row in _rows(table)))


def boxed_width(reports: Sequence[Report]) -> int:
    """Return how many columns the boxed tables of these answers need."""
    return max(
        sum(
            max(len(cell) for cell in column) + 3
            for column in zip(grid.header, *grid.rows, strict=True)
        )
        + 1
        for grid in grids(reports)
    )


@record
class _Table:
    """The part of one answer that stands in one table."""

    place: tuple[str, float] | None
    result: Mapping[str, Quantity | Estimate]
    headings: Mapping[str, str]


def _tables(report: Report) -> Iterator[_Table]:
    for names in report.tables or (tuple(report.result),):
        shown = {name: report.result[name] for name in names}
        last = shown[names[-1]]
        if report.closing and isinstance(last, list):
            shown[names[-1]] = [*last, *report.closing]
        yield _Table(report.place, shown, report.headings)


def _rivals(table: _Table) -> dict[str, Named] | None:
    """Return the columns of a table whose rows are methods; None for any other table."""
    columns = {k: v for k, v in table.result.items() if isinstance(v, Mapping)}
    return columns if len(columns) == len(table.result) > 1 else None


def _header(table: _Table) -> tuple[str, ...]:
    names = [] if table.place is None else [table.place[0]]
    if rivals := _rivals(table):
        return (*names, "method", *(COLUMNS.get(name, name) for name in rivals))
    for name, quantity in table.result.items():
        if isinstance(quantity, Estimate):
            names.append(f"{name} (estimate, not certified)")
        elif isinstance(quantity, Mapping):
            names += [METHODS.get(each, each) for each in quantity]
        elif isinstance(quantity, str):
            names.append(name)
        else:
            names += _headings(table.headings.get(name, name), _first(quantity))
    return tuple(names)


def _headings(name: str, value: Number | Row | str | None) -> list[str]:
    if isinstance(value, dict):
        return [heading for key, part in value.items() for heading in _headings(key, part)]
    if isinstance(value, Bound):
        return [f"{name} at least", f"{name} at most"]
    return [COLUMNS.get(name, name)]


def _rows(table: _Table) -> Iterator[tuple[str, ...]]:
    place = () if table.place is None else (written(table.place[1]),)
    if rivals := _rivals(table):
        for method in next(iter(rivals.values())):
            cells = (column.get(method, NONE) for column in rivals.values())
            yield (*place, METHODS.get(method, method), *(named(cell) for cell in cells))
        return
    columns: list[list[tuple[str, ...]]] = [_cells(value) for value in table.result.values()]
    for parts in zip(*columns, strict=True):
        yield place + tuple(cell for part in parts for cell in part)


def _cells(quantity: Quantity | Estimate) -> list[tuple[str, ...]]:
    if isinstance(quantity, Estimate):
        return [(number(quantity.value),)]
    if isinstance(quantity, Mapping):
        return [tuple(named(value) for value in quantity.values())]
    if isinstance(quantity, list):
        return [_cell(value) for value in quantity]
    return [(quantity,)] if isinstance(quantity, str) else [_cell(quantity)]


def _cell(value: Number | Row | str) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, dict):
        return tuple(cell for part in value.values() for cell in _cell(part))
    if isinstance(value, Bound):
        lower, upper = value.decimals()
        return lower or UNKNOWN, upper
    if isinstance(value, OneSided):
        return (one_sided(value),)
    return (written(value),)


def _first(quantity: Number | list[Number | Row]) -> Number | Row | None:
    if isinstance(quantity, list):
        return quantity[0] if quantity else None
    return quantity
