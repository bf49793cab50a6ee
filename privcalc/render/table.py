"""Boxed tables for a terminal, where headings are broken that do not fit; rich draws them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from privcalc.bounds import Verdict
from privcalc.render.assumptions import assumptions
from privcalc.render.plain import grids
from privcalc.render.words import remarks, title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.render.report import Report

_STYLES = {Verdict.WITHIN: "green", Verdict.EXCEEDED: "bold red", Verdict.UNDECIDED: "yellow"}


def render(reports: Sequence[Report], *, colour: bool, width: int) -> str:
    """Render the answers to one question; verdicts stand last.

    Args:
        reports: the answers.
        colour: whether to use any.
        width: of the terminal. Where it is too narrow for the numbers, lines are longer: no number
            is ever cut.
    """
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
        console.print(Text(f"{name}{title(reports)}", style="bold"), soft_wrap=True)
        for grid in grids(reports):
            table = Table(box=box.ROUNDED, show_edge=True)
            needed = 1
            for name, *cells in zip(grid.header, *grid.rows, strict=True):
                longest = max(map(len, (*name.split(), *cells)))
                table.add_column(Text(name), justify="right", min_width=longest)
                needed += longest + 3
            for row in grid.rows:
                table.add_row(*(Text(cell, no_wrap=True) for cell in row))
            console.print(table, width=max(width, needed), crop=False)
        for name, words in assumptions(reports):
            console.print(Text(f"{name}: {words}", style="dim"))
        for name, words in remarks(reports):
            console.print(Text(f"{name}: {words}", style="dim"), soft_wrap=True)
        for report in reports:
            if report.check is not None:
                style = _STYLES[report.check.verdict]
                console.print(Text(report.check.sentence, style=style), soft_wrap=True)
    return capture.get()
