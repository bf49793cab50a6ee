"""Plain aligned columns, for pipes and logs: no boxes, nothing wrapped, nothing imported.

A terminal that is too narrow for boxes gets lines that fit: headings in several lines, and where
that is not enough each row as a list of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Verdict
from privcalc.render.grid import Grid, grids
from privcalc.render.words import assumptions, remarks, title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from privcalc.render.report import Report

    _Row = tuple[str, ...]

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
    first = reports[0]
    yield from facts((("spec", title(reports)), *assumptions(first)), colour=colour, width=width)
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
    """Put what is said of each name beside it, in as many lines as that takes."""
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
