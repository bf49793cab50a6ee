"""Progress on standard error, where an answer takes long and a person is looking."""

from __future__ import annotations

import os
import stat
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from rich.progress import Progress as Bar

# Shorter waits need no explanation. Then it is shown so often.
PATIENCE, PAUSE = 1.0, 0.1


class Progress:
    """A bar that is gone in the end; only a terminal sees it."""

    def __init__(self, total: Callable[[], int | None], *, shown: bool) -> None:
        """Start the clock.

        Args:
            total: returns the number of steps, None where it is not known.
            shown: whether it is wanted.
        """
        self._shown = shown and sys.stderr is not None and sys.stderr.isatty()
        self._total = total() if self._shown else None
        self._due = time.monotonic() + PATIENCE
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def reach(self, step: int) -> None:
        """Show that so many steps are done."""
        if not self._shown or time.monotonic() < self._due:
            return
        if self._bar is None:
            self._bar = _bar()
            self._bar.start()
            self._bar.add_task("privcalc", total=self._total)
        self._bar.update(self._bar.task_ids[0], completed=step, refresh=True)
        self._due = time.monotonic() + PAUSE

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def _bar() -> Bar:
    """Return a bar that is drawn when something is done, and by no thread of its own."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    return Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
    )


def lines_of_input() -> int | None:
    """Count the lines of standard input that are still to be read, where it is a file."""
    try:
        file = sys.stdin.fileno()
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        place, lines = os.lseek(file, 0, os.SEEK_CUR), 0
        while block := os.pread(file, 1 << 20, place):
            place, lines = place + len(block), lines + block.count(b"\n")
    except (OSError, AttributeError, ValueError):
        # There is none, or it is no file, or the system cannot read without moving on.
        return None
    return lines
