"""Grid: the rows and columns that the table formats share."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.render.report import Estimate
from privcalc.render.words import UNKNOWN, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Quantity, Report


@dataclass(frozen=True, slots=True)
class Grid:
    """A header and rows of equally many cells, all of them text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def grids(reports: Sequence[Report]) -> Iterator[Grid]:
    """Put successive answers with the same columns into one grid."""
    for header, group in groupby(reports, key=_header):
        yield Grid(header, tuple(row for report in group for row in _rows(report)))


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


def _header(report: Report) -> tuple[str, ...]:
    names = list(report.query)
    for name, quantity in report.result.items():
        if isinstance(quantity, Estimate):
            names.append(f"{name} (estimate, not certified)")
        elif isinstance(_first(quantity), Bound):
            names += [f"{name} at least", f"{name} at most"]
        else:
            names.append(name)
    return tuple(names)


def _rows(report: Report) -> Iterator[tuple[str, ...]]:
    query = tuple(number(value) for value in report.query.values())
    columns: list[list[tuple[str, ...]]] = [_cells(value) for value in report.result.values()]
    for parts in zip(*columns, strict=True):
        yield query + tuple(cell for part in parts for cell in part)


def _cells(quantity: Quantity | Estimate) -> list[tuple[str, ...]]:
    if isinstance(quantity, Estimate):
        return [(number(quantity.value),)]
    if isinstance(quantity, list):
        return [_cell(value) for value in quantity]
    return [_cell(quantity)]


def _cell(value: Bound | float) -> tuple[str, ...]:
    if isinstance(value, Bound):
        lower, upper = value.decimals()
        return lower or UNKNOWN, upper
    return (number(value),)


def _first(quantity: Quantity) -> Bound | float | None:
    if isinstance(quantity, list):
        return quantity[0] if quantity else None
    return quantity
