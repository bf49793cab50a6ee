"""Tables: aligned columns for pipes and logs, boxes, Markdown; and the safe number alone.

All are made of the grids of an answer: a header and rows of text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict, round_up
from privcalc.errors import UsageError
from privcalc.render.assumptions import assumptions
from privcalc.render.report import End, Estimate, OneSided
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
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Number, Quantity, Report, Row

    _Columns = list[tuple[str, list[str]]]
    _Cells = tuple[str, ...]

_GAP = "  "
_BOLD, _DIM = "1", "2"
_COLOURS = {
    **dict.fromkeys((Verdict.WITHIN, Verdict.COMPATIBLE), "32"),
    **dict.fromkeys((Verdict.EXCEEDED, Verdict.REFUTED), "31"),
    Verdict.UNDECIDED: "33",
}


def lines(reports: Sequence[Report], *, colour: bool = False) -> Iterator[str]:
    """Render the answers to one question; verdicts stand last."""
    spec = title(reports)
    about = (*names(reports), *([("spec", spec)] if spec else []), *assumptions(reports))
    for index, line in enumerate(aligned(about)):
        yield _painted(line, _DIM if index else _BOLD, colour=colour)
    for grid in grids(reports):
        yield ""
        header, *rows = aligned(grid)
        yield _painted(header, _BOLD, colour=colour)
        yield from rows
    below = remarks(reports)
    if below:
        yield ""
        yield from (_painted(line, _DIM, colour=colour) for line in aligned(below))
    yield from verdicts(reports, colour=colour)


def verdicts(reports: Sequence[Report], *, colour: bool = False) -> Iterator[str]:
    """Render the outcomes of budget checks, below an empty line."""
    checks = [report.check for report in reports if report.check is not None]
    yield from [""] if checks else []
    for check in checks:
        yield _painted(check.sentence, _COLOURS[check.verdict], colour=colour)


def _painted(text: str, style: str, *, colour: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if colour else text


def aligned(rows: Sequence[_Cells]) -> Iterator[str]:
    """Pad cells to columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield _GAP.join(padded).rstrip()


_STYLES = {"32": "green", "31": "bold red", "33": "yellow"}


def boxed(reports: Sequence[Report], *, colour: bool, width: int) -> str:
    """Render the answers to one question in boxes, with headings broken that do not fit.

    Where the terminal is too narrow for the numbers, lines are longer: no number is ever cut.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(
        file=sys.stdout,
        width=width,
        no_color=not colour,
        color_system="standard" if colour else None,
        force_terminal=colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as capture:
        name = f"{reports[0].name}: " if reports[0].name else ""
        heading = f"{name}{title(reports) or reports[0].command}"
        console.print(Text(heading, style="bold"), soft_wrap=True)
        for grid in grids(reports):
            table = Table(box=box.ROUNDED, show_edge=True)
            needed = 1
            for name, *cells in zip(*grid, strict=True):
                longest = max(map(len, (*name.split(), *cells)))
                table.add_column(Text(name), justify="right", min_width=longest)
                needed += longest + 3
            for row in grid[1:]:
                table.add_row(*(Text(cell, no_wrap=True) for cell in row))
            console.print(table, width=max(width, needed), crop=False)
        for name, words in assumptions(reports):
            console.print(Text(f"{name}: {words}", style="dim"))
        for name, words in remarks(reports):
            console.print(Text(f"{name}: {words}", style="dim"), soft_wrap=True)
        for report in reports:
            if report.check is not None:
                style = _STYLES[_COLOURS[report.check.verdict]]
                console.print(Text(report.check.sentence, style=style), soft_wrap=True)
    return capture.get()


def markdown_lines(reports: Sequence[Report]) -> Iterator[str]:
    """Render the answers to one question as tables, assumptions and verdicts."""
    name = f"{reports[0].name}: " if reports[0].name else ""
    yield f"**{name}`{title(reports) or reports[0].command}`**"
    for grid in grids(reports):
        yield ""
        yield markdown_row(grid[0])
        yield markdown_row(("---:",) * len(grid[0]))
        yield from map(markdown_row, grid[1:])
    yield ""
    yield from (f"- {': '.join(pair)}" for pair in (*assumptions(reports), *remarks(reports)))
    for report in reports:
        if report.check is not None:
            word = VERDICTS[report.check.verdict]
            yield f"- **{word}**{report.check.sentence.removeprefix(word)}"


def markdown_row(cells: tuple[str, ...]) -> str:
    """Return a row of a table."""
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
    ends = [value for value in report.result.values() if isinstance(value, End)]
    if ends:
        return short_exponent(one_sided(ends[0]))
    values = [value for value in report.result.values() if isinstance(value, Bound)]
    if not values or isinstance(next(iter(report.result.values())), list):
        raise UsageError("-t prints one number: give --delta or --epsilon, and no --engine afa")
    upper = values[0].upper if values[0].exact is None else values[0].exact
    return short_exponent(round_up(upper))


def grids(reports: Sequence[Report]) -> Iterator[tuple[_Cells, ...]]:
    """Put successive answers with the same columns into one grid: a header, and rows of text."""
    # What was asked at a delta stands before the curve of which it is made.
    asked = sorted(reports, key=lambda report: report.place is None)
    tables = [table for report in asked for table in _tables(report)]
    for header, group in groupby(tables, key=lambda table: tuple(name for name, _ in table)):
        rows = [row for table in group for row in zip(*(cells for _, cells in table), strict=True)]
        yield (header, *_in_one_notation(header, rows))


def _tables(report: Report) -> Iterator[_Columns]:
    """Yield the columns of each table of an answer, the place of the question first."""
    for keys in report.tables or (tuple(report.result),):
        shown = {name: report.result[name] for name in keys}
        last = shown[keys[-1]]
        if report.closing and isinstance(last, list):
            shown[keys[-1]] = [*last, *report.closing]
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


def _in_one_notation(header: _Cells, rows: Sequence[_Cells]) -> Iterator[_Cells]:
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
