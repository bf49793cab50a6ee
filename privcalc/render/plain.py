"""Tables as text: aligned columns for pipes and logs, Markdown, and the safe number alone.

Nothing is boxed or broken, and little imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict, round_up
from privcalc.errors import UsageError
from privcalc.render.assumptions import assumptions
from privcalc.render.grid import grids
from privcalc.render.words import VERDICTS, names, number, remarks, short_exponent, title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Report

_GAP = "  "
_BOLD, _DIM = "1", "2"
_COLOURS = {Verdict.WITHIN: "32", Verdict.EXCEEDED: "31", Verdict.UNDECIDED: "33"}


def lines(reports: Sequence[Report], *, colour: bool = False) -> Iterator[str]:
    """Render the answers to one question; verdicts stand last."""
    about = (*names(reports), ("spec", title(reports)), *assumptions(reports))
    for index, line in enumerate(aligned(about)):
        yield _painted(line, _DIM if index else _BOLD, colour=colour)
    for grid in grids(reports):
        yield ""
        header, *rows = aligned([grid.header, *grid.rows])
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


def aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Pad cells to columns."""
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
