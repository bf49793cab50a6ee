"""What is under way, on standard error, where an answer takes long and a person is looking.

One line, drawn by a thread of its own, as the one that works may be in a library for seconds. It
has no colours and no escape sequences: it is written over, and taken away with spaces. Whoever
does not wait a second has it neither drawn nor loaded.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from _thread import allocate_lock, start_new_thread
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import Self

_T = TypeVar("_T")

# Shorter waits need no explanation. Then it is drawn so often.
PATIENCE, PAUSE = 1.0, 0.1
# Cells of the bar; with the words beside it there is room for a name.
BAR = 24


def watched() -> bool:
    """Say whether standard error is a terminal on which a line can be written over."""
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return on_terminal and os.environ.get("TERM") != "dumb"


class Progress:
    """A line that is gone in the end; only a terminal sees it."""

    def __init__(self, total: Callable[[], int | None] | None = None, *, shown: bool) -> None:
        """Note what is to be shown.

        Args:
            total: returns the number of questions, None where it is not known; None for one.
            shown: whether it is wanted.
        """
        self._shown = shown and watched()
        self._many = total is not None
        self._total = total() if self._shown and total is not None else None
        self._step = 0
        self._begun = self._due = 0.0
        self._drawn = ""
        # Held while the line is drawn, or has to be away; while there is a thread; while it draws.
        self._line, self._wanted, self._alive = allocate_lock(), allocate_lock(), allocate_lock()

    def __enter__(self) -> Self:
        """Begin with a question; many begin with the first of them, when all processes are there.

        A process that is made of one with a thread might never go on.
        """
        if not self._many:
            self._start()
        return self

    def over(self, questions: Iterable[_T]) -> Iterator[_T]:
        """Begin with the first of many questions."""
        self._start()
        yield from questions

    def reach(self, step: int) -> None:
        """Show that so many steps are done."""
        self._step = step

    @contextmanager
    def away(self) -> Iterator[None]:
        """Take the line away while something else is printed.

        Where answers are read on the same terminal, each of them is a sign of life.
        """
        if not self._shown:
            yield
            return
        with self._line:
            self._write("")
            yield
            if sys.stdout.isatty():
                self._due = time.monotonic() + PATIENCE

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the line away."""
        if self._wanted.locked():
            self._wanted.release()
            with self._alive:
                self._write("")

    def _start(self) -> None:
        if not self._shown:
            return
        self._begun = time.monotonic()
        self._due = self._begun + PATIENCE
        self._wanted.acquire()
        self._alive.acquire()
        try:
            start_new_thread(self._run, ())
        except RuntimeError:
            # There may be no more threads: then nothing is shown.
            self._wanted.release()
            self._alive.release()

    def _run(self) -> None:
        """Draw until nobody wants it any more."""
        wait = PATIENCE
        while not self._wanted.acquire(timeout=wait):
            wait = PAUSE
            # Standard error may be gone, and so may be the interpreter.
            with suppress(Exception), self._line:
                if time.monotonic() >= self._due:
                    self._write(self._words())
        self._wanted.release()
        self._alive.release()

    def _write(self, words: str) -> None:
        """Write words over those that are there."""
        if words == self._drawn:
            return
        blank = " " * max(len(self._drawn) - len(words), 0)
        with suppress(OSError):
            sys.stderr.write(f"\r{words}{blank}" + ("" if words else "\r"))
            sys.stderr.flush()
        self._drawn = words

    def _words(self) -> str:
        """Say how far it is, and what is being tried, on one line of the terminal."""
        from privcalc.numerics.work import under_way

        part, tried = under_way()
        seconds = time.monotonic() - self._begun
        if not self._many:
            words = f"{_bar(part)} {part:.0%} of the work it may take, {seconds:.0f} s"
        elif not self._total:
            words = f"{self._step} done, {seconds:.0f} s"
        else:
            done = min((self._step + part) / self._total, 1.0)
            words = f"{_bar(done)} {self._step}/{self._total}"
            words += f", about {seconds / done - seconds:.0f} s more" if done > 0.0 else ""
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        # What fills the last column may begin another line.
        return f"{words}{f' ({tried})' if tried else ''}"[: width - 1]


def _bar(part: float) -> str:
    """Draw a part of a whole."""
    fine = (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"
    full, empty = ("█", "░") if fine else ("#", "-")
    cells = round(part * BAR)
    return full * cells + empty * (BAR - cells)


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
