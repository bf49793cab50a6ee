"""What is under way, on standard error, where an answer takes long and a person is looking.

rich draws one line, and is loaded when a second has passed without an answer.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from threading import Timer
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
    """A line that is there between `begin` and the end of the block, where somebody watches."""

    def __init__(self, total: int | None = None, *, watched: bool) -> None:
        """Note the number of questions, 0 where it is unknown; None where there is only one."""
        self._watched, self._total = watched, total
        self._done, self._begun = 0, time.monotonic()
        self._timer: Timer | None = None
        self._live: Live | None = None

    def __enter__(self) -> Self:
        """Do nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        self._end()

    def begin(self) -> None:
        """Put the line up in a while."""
        if self._watched:
            timer = Timer(PATIENCE, self._start)
            timer.daemon = True
            # There may be no more threads: then nothing is shown.
            with suppress(RuntimeError):
                timer.start()
                self._timer = timer

    def over(self, questions: Iterable[_T]) -> Iterator[_T]:
        """Begin with the first of many questions, when all processes are there.

        A process that is forked while another thread runs may deadlock.
        """
        self.begin()
        yield from questions

    @contextmanager
    def next(self, done: int) -> Iterator[None]:
        """Take the line away while an answer is printed, the last of so many."""
        self._end()
        yield
        self._done = done
        self.begin()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._live is not None:
            self._live.stop()
        self._timer = self._live = None

    def _start(self) -> None:
        from rich.console import Console
        from rich.live import Live

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
        done = f"{self._done}/{self._total}" if self._total else f"{self._done} done"
        done = f"{part:.0%} of the work it may take" if self._total is None else done
        words = f"{done}, {time.monotonic() - self._begun:.0f} s{f' ({tried})' if tried else ''}"
        return Text(words, no_wrap=True, overflow="ellipsis")
