"""What the terminal can show: boxes and colour."""

from __future__ import annotations

import os
import sys

from privcalc.cli.choices import ColorMode
from privcalc.record import record


@record
class Terminal:
    """How tables may look on standard output.

    Attributes:
        boxed: it is a terminal that a person reads.
        colour: colour is wanted.
        columns: how wide it is; a table that does not fit has no boxes, and is never cut.
    """

    boxed: bool
    colour: bool
    columns: int = 80


def terminal(mode: ColorMode) -> Terminal:
    """Decide from the option, then NO_COLOR, then FORCE_COLOR, then the terminal itself."""
    capable = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if mode is not ColorMode.AUTO:
        colour = mode is ColorMode.ALWAYS
    elif os.environ.get("NO_COLOR"):
        colour = False
    else:
        colour = capable or bool(os.environ.get("FORCE_COLOR"))
    if not capable:
        return Terminal(boxed=False, colour=colour)
    from shutil import get_terminal_size

    return Terminal(boxed=True, colour=colour, columns=get_terminal_size().columns)
