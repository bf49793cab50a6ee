"""Markdown tables, for `>> "$GITHUB_STEP_SUMMARY"` and for notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.render.grid import grids
from privcalc.render.words import VERDICTS, assumptions, remarks, title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Report


def lines(reports: Sequence[Report]) -> Iterator[str]:
    """Render the answers to one question as tables, assumptions and verdicts."""
    first = reports[0]
    yield f"**`{title(reports)}`**"
    for grid in grids(reports):
        yield ""
        yield _row(grid.header)
        yield _row(tuple("---:" for _ in grid.header))
        for row in grid.rows:
            yield _row(row)
    yield ""
    for name, words in assumptions(first):
        yield f"- {name}: {words}"
    for name, words in remarks(reports):
        yield f"- {name}: {words}"
    for report in reports:
        if report.check is not None:
            word = VERDICTS[report.check.verdict]
            yield f"- **{word}**{report.check.sentence.removeprefix(word)}"


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
