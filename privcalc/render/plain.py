"""Plain aligned columns, for pipes and logs: no boxes, nothing wrapped, nothing imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Verdict
from privcalc.render.grid import Grid, grids
from privcalc.render.words import assumptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Report

_GAP = "  "
_COLOURS = {Verdict.WITHIN: "32", Verdict.EXCEEDED: "31", Verdict.UNDECIDED: "33"}


def lines(reports: Sequence[Report], *, colour: bool = False) -> Iterator[str]:
    """Render the answers to one question; verdicts stand last."""
    first = reports[0]
    facts = (("spec", first.text), *assumptions(first.relation, first.sampling))
    yield from _aligned([tuple(fact) for fact in facts])
    for grid in grids(reports):
        yield ""
        yield from table(grid)
    checks = [report.check for report in reports if report.check is not None]
    if checks:
        yield ""
    for check in checks:
        if colour:
            yield f"\x1b[{_COLOURS[check.verdict]}m{check.sentence}\x1b[0m"
        else:
            yield check.sentence


def table(grid: Grid) -> Iterator[str]:
    """Render one grid, each column as wide as its widest cell."""
    yield from _aligned([grid.header, *grid.rows])


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield _GAP.join(padded).rstrip()
