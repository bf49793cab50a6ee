"""What is under way, on standard error, where an answer takes long and a person is looking.

rich draws one line, and is loaded when a second has passed without an answer.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager, suppress
from threading import Lock, Timer
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

    from rich.live import Live
    from rich.text import Text

_T = TypeVar("_T")

# Seconds: shorter waits need no explanation.
PATIENCE = 1.0


class Progress:
    """A line that is gone in the end; only a terminal sees it."""

    def __init__(self, total: int | None = None, *, shown: bool) -> None:
        """Note the number of questions, 0 where it is unknown, and whether a line is wanted."""
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._shown = shown and on_terminal and os.environ.get("TERM") != "dumb"
        self._total = total
        self._step, self._begun = 0, time.monotonic()
        self._timer: Timer | None = None
        self._live: Live | None = None
        # Held while the line is put up or taken away.
        self._lock = Lock()

    def __enter__(self) -> Self:
        """Begin with a question; many begin with the first of them, when all processes are there.

        A process that is forked while another thread runs may deadlock.
        """
        if self._total is None:
            self._wait()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        self._end()

    def over(self, questions: Iterable[_T]) -> Iterator[_T]:
        """Begin with the first of many questions."""
        self._wait()
        yield from questions

    def reach(self, step: int) -> None:
        """Show that so many steps are done."""
        self._step = step

    @contextmanager
    def away(self) -> Iterator[None]:
        """Take the line away while something else is printed."""
        waiting = self._timer is not None
        self._end()
        yield
        if waiting:
            self._wait()

    def _end(self) -> None:
        with self._lock:
            timer, self._timer = self._timer, None
            if self._live is not None:
                self._live.stop()
            self._live = None
        if timer is not None:
            timer.cancel()

    def _wait(self) -> None:
        """Put the line up in a while."""
        if self._shown:
            self._timer = Timer(PATIENCE, self._start)
            self._timer.daemon = True
            # There may be no more threads: then nothing is shown.
            with suppress(RuntimeError):
                self._timer.start()

    def _start(self) -> None:
        from rich.console import Console
        from rich.live import Live

        with self._lock:
            if self._timer is not None:
                self._live = Live(
                    console=Console(stderr=True),
                    get_renderable=self._words,
                    refresh_per_second=10,
                    transient=True,
                    redirect_stdout=False,
                    redirect_stderr=False,
                )
                self._live.start(refresh=True)

    def _words(self) -> Text:
        """Return how far it is, and what is being tried."""
        from rich.text import Text

        from privcalc.numerics.work import under_way

        part, tried = under_way()
        seconds = time.monotonic() - self._begun
        if self._total is None:
            words = f"{part:.0%} of the work it may take, {seconds:.0f} s"
        elif not self._total:
            words = f"{self._step} done, {seconds:.0f} s"
        else:
            done = min((self._step + part) / self._total, 1.0)
            words = f"{self._step}/{self._total}"
            words += f", about {seconds / done - seconds:.0f} s more" if done > 0.0 else ""
        return Text(f"{words}{f' ({tried})' if tried else ''}", no_wrap=True, overflow="ellipsis")
