"""Tables as text: aligned columns for pipes and logs, Markdown, and the safe number alone.

Nothing is boxed or wrapped, and little imported. A terminal that is too narrow for boxes gets lines
that fit: headings in several lines, and where that is not enough each row as a list of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict, round_up
from privcalc.errors import UsageError
from privcalc.record import record
from privcalc.render.assumptions import assumptions
from privcalc.render.report import Estimate, OneSided
from privcalc.render.words import (
    COLUMNS,
    METHODS,
    NONE,
    UNKNOWN,
    VERDICTS,
    named,
    names,
    number,
    one_sided,
    remarks,
    short_exponent,
    title,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from privcalc.render.report import Named, Number, Quantity, Report, Row

    _Row = tuple[str, ...]


@record
class Grid:
    """A header and rows of equally many cells, all of them text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def grids(reports: Sequence[Report]) -> Iterator[Grid]:
    """Put successive answers with the same columns into one grid."""
    tables = [table for report in reports for table in _tables(report)]
    for header, group in groupby(tables, key=_header):
        rows = [row for table in group for row in _rows(table)]
        yield Grid(header, tuple(_in_one_notation(header, rows)))


def _in_one_notation(header: tuple[str, ...], rows: Sequence[_Row]) -> Iterator[_Row]:
    """Yield rows in which both ends of a number have exponents if any row has one.

    Places, where numbers are asked for, stay as they were written. No digit changes.
    """
    names = [re.sub(" (lower|upper) bound$", "", heading) for heading in header]
    given = {names[0]} if names[0] == header[0] else set()
    mixed = {
        name
        for row in rows
        for name, cell in zip(names, row, strict=True)
        if name not in given and _EXPONENT.fullmatch(cell)
    }
    for row in rows:
        yield tuple(
            _with_exponent(cell) if name in mixed and _DECIMAL.fullmatch(cell) else cell
            for name, cell in zip(names, row, strict=True)
        )


_EXPONENT, _DECIMAL = re.compile(r"-?[0-9.]+e-?[0-9]+"), re.compile(r"-?[0-9]*\.?[0-9]+")


def _with_exponent(cell: str) -> str:
    """Write a decimal with an exponent, all its digits kept; nothing else is 0."""
    number = Decimal(cell)
    return cell if number == 0 else f"{number:e}".replace("e+", "e")


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
    for columns in report.tables or (tuple(report.result),):
        shown = {name: report.result[name] for name in columns}
        last = shown[columns[-1]]
        if report.closing and isinstance(last, list):
            shown[columns[-1]] = [*last, *report.closing]
        yield _Table(report.place, shown, report.headings)


def _baselines(table: _Table) -> dict[str, Named] | None:
    """Return the columns of a table whose rows are methods; None for any other table."""
    columns = {k: v for k, v in table.result.items() if isinstance(v, Mapping)}
    return columns if len(columns) == len(table.result) > 1 else None


def _header(table: _Table) -> tuple[str, ...]:
    names = [] if table.place is None else [table.place[0]]
    if baselines := _baselines(table):
        return (*names, "method", *(COLUMNS.get(name, name) for name in baselines))
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
        return [f"{name} lower bound", f"{name} upper bound"]
    return [COLUMNS.get(name, name)]


def _rows(table: _Table) -> Iterator[tuple[str, ...]]:
    place = () if table.place is None else (written(table.place[1]),)
    if baselines := _baselines(table):
        for method in next(iter(baselines.values())):
            cells = (column.get(method, NONE) for column in baselines.values())
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


_GAP = "  "
_BOLD, _DIM = "1", "2"
_COLOURS = {Verdict.WITHIN: "32", Verdict.EXCEEDED: "31", Verdict.UNDECIDED: "33"}


def lines(
    reports: Sequence[Report], *, colour: bool = False, width: int | None = None
) -> Iterator[str]:
    """Render the answers to one question; verdicts stand last.

    Args:
        reports: the answers.
        colour: whether to use any.
        width: of the terminal that lines are to fit, None where there is none.
    """
    about = (*names(reports), ("spec", title(reports)), *assumptions(reports))
    yield from facts(about, colour=colour, width=width)
    for grid in grids(reports):
        yield ""
        headings, rows = _fitted(grid, width)
        for index, line in enumerate(_aligned([*headings, *rows])):
            yield line if index >= len(headings) else _painted(line, _BOLD, colour=colour)
    below = remarks(reports)
    if below:
        yield ""
        yield from (_painted(line, _DIM, colour=colour) for line in _described(below, width))
    yield from verdicts(reports, colour=colour, width=width)


def facts(
    pairs: Sequence[tuple[str, str]], *, colour: bool = False, width: int | None = None
) -> Iterator[str]:
    """Render what an answer is about, the specification first."""
    for index, line in enumerate(_described(pairs, width)):
        yield _painted(line, _DIM if index else _BOLD, colour=colour)


def verdicts(
    reports: Sequence[Report], *, colour: bool = False, width: int | None = None
) -> Iterator[str]:
    """Render the outcomes of budget checks, below an empty line."""
    checks = [report.check for report in reports if report.check is not None]
    if checks:
        yield ""
    for check in checks:
        for line in _wrapped(check.sentence, width):
            yield _painted(line, _COLOURS[check.verdict], colour=colour)


def _painted(text: str, style: str, *, colour: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if colour else text


def _described(facts: Sequence[tuple[str, str]], width: int | None) -> Iterator[str]:
    """Put what is said of each name to its right, in as many lines as that takes."""
    indent = max(len(name) for name, _ in facts) + len(_GAP)
    for name, words in facts:
        first, *others = _wrapped(words, width and width - indent)
        yield f"{name:{indent}}{first}"
        yield from (" " * indent + line for line in others)


def _wrapped(words: str, width: int | None) -> list[str]:
    """Break at spaces; a specification has none, and can be copied."""
    if width is None or len(words) <= width:
        return [words]
    from textwrap import wrap

    return wrap(words, max(width, 1), break_long_words=False, break_on_hyphens=False)


def _fitted(grid: Grid, width: int | None) -> tuple[list[_Row], list[_Row]]:
    """Return lines of headings, and rows, that fit."""
    columns = list(zip(grid.header, *grid.rows, strict=True))

    def room(widths: Iterable[int]) -> int:
        return sum(widths) + len(_GAP) * (len(columns) - 1)

    if width is None or room(max(map(len, column)) for column in columns) <= width:
        return [grid.header], list(grid.rows)
    widths = [max(map(len, (*name.split(), *cells))) for name, *cells in columns]
    if room(widths) <= width:
        pieces = [_wrapped(name, wide) for name, wide in zip(grid.header, widths, strict=True)]
        most = max(map(len, pieces))
        filled = ([*[""] * (most - len(words)), *words] for words in pieces)
        return list(zip(*filled, strict=True)), list(grid.rows)
    listed: list[_Row] = []
    for row in grid.rows:
        listed += [*zip(grid.header, row, strict=True), ("", "")]
    return [], listed[:-1]


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield _GAP.join(padded).rstrip()


def markdown_lines(reports: Sequence[Report]) -> Iterator[str]:
    """Render the answers to one question as tables, assumptions and verdicts."""
    first = reports[0]
    name = f"{first.name}: " if first.name else ""
    yield f"**{name}`{title(reports)}`**"
    for grid in grids(reports):
        yield ""
        yield _markdown_row(grid.header)
        yield _markdown_row(tuple("---:" for _ in grid.header))
        for row in grid.rows:
            yield _markdown_row(row)
    yield ""
    for name, words in assumptions(reports):
        yield f"- {name}: {words}"
    for name, words in remarks(reports):
        yield f"- {name}: {words}"
    for report in reports:
        if report.check is not None:
            word = VERDICTS[report.check.verdict]
            yield f"- **{word}**{report.check.sentence.removeprefix(word)}"


def _markdown_row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def terse_line(report: Report) -> str:
    """Return the upper end to ten digits, rounded up, or the sufficient value.

    An answer that is a DpEvent is its line.
    """
    event = report.result.get("dp_event")
    if isinstance(event, str):
        return event
    sufficient = report.result.get("sufficient")
    if isinstance(sufficient, int | float):
        return number(sufficient)
    values = [value for value in report.result.values() if isinstance(value, Bound)]
    if not values or isinstance(next(iter(report.result.values())), list):
        raise UsageError("-t prints one number: give --delta or --epsilon, and no --engine afa")
    upper = values[0].upper if values[0].exact is None else values[0].exact
    return short_exponent(round_up(upper))
