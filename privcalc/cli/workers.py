"""Several processes that answer the questions of one stream or sweep, in the order of these.

Questions are dealt in turn, and answers collected in the same turn: each process answers its own in
order, so that no answer has to be told apart. The questions that are under way are few.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from multiprocessing import get_context
from queue import Full, Queue
from threading import Thread
from typing import TYPE_CHECKING, Generic, TypeVar

from privcalc.cli.failure import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from multiprocessing.connection import Connection

# What is asked, beside its number: a text, or why there is none; and what is answered.
_Text = TypeVar("_Text")
_Found = TypeVar("_Found")

# Questions under way for each process: a slow one delays the others by no more than these.
AHEAD = 64
# Other systems do not let a process that has loaded their libraries go on as two.
FORKS = sys.platform == "linux"


def answer_in_order(
    answer: Callable[[int, _Text], _Found],
    asked: Iterable[tuple[int, _Text]],
    jobs: int,
    emit: Callable[[_Found], bool],
) -> None:
    """Answer questions with so many processes, and emit the answers in the order of the questions.

    Args:
        answer: what answers one of them.
        asked: the questions, each with its number, read as they are needed.
        jobs: the number of processes.
        emit: prints an answer, and says whether to go on.

    Raises:
        Exception: what `emit` or the questions raise, or a process ended before it had answered.
    """
    context = get_context("fork") if FORKS else get_context("spawn")
    ends: list[Connection] = []
    processes = []
    for _ in range(jobs):
        here, there = context.Pipe()
        # An end that another process holds open would hide that this one is gone.
        inherited = (*ends, here) if FORKS else ()
        process = context.Process(target=_work, args=(answer, there, inherited), daemon=True)
        process.start()
        there.close()
        ends.append(here)
        processes.append(process)
    dealt: Queue[Connection | None] = Queue(maxsize=AHEAD * jobs)
    collector = _Collector(dealt, emit)
    # Started after all processes are: a thread would not go on in them.
    collector.start()
    try:
        for number, each in enumerate(asked):
            end = ends[number % jobs]
            # A process that is gone is missed by who waits for its answer.
            with suppress(OSError):
                end.send(each)
            dealt.put(end)
            if collector.stopped:
                break
        dealt.put(None)
        collector.join()
    except KeyboardInterrupt:
        for process in processes:
            process.terminate()
        with suppress(Full):
            dealt.put(None, timeout=1.0)
        collector.join(timeout=1.0)
        if collector.is_alive():
            # It waits for a reader of standard output, which nothing ends.
            os._exit(ExitStatus.INTERRUPTED)
        raise
    finally:
        for process in processes:
            process.terminate()
    if collector.error is not None:
        raise collector.error


class _Collector(Thread, Generic[_Found]):
    """Collects answers in turn and prints them, while questions are still being read."""

    def __init__(self, dealt: Queue[Connection | None], emit: Callable[[_Found], bool]) -> None:
        super().__init__(daemon=True)
        self._dealt, self._emit = dealt, emit
        self.stopped = False
        self.error: BaseException | None = None

    def run(self) -> None:
        """Go on until there are no more; after an error only take what was dealt."""
        while (end := self._dealt.get()) is not None:
            # Taken even where nobody listens any more, so that its process does not wait for that.
            try:
                printed = self._next(end)
                if not self.stopped:
                    self.stopped = not self._emit(printed)
            except BaseException as error:  # noqa: BLE001  (raised where the questions are read)
                self._fail(error)

    @staticmethod
    def _next(end: Connection) -> _Found:
        try:
            printed: _Found = end.recv()
        except (EOFError, OSError):
            words = "a process that answers questions ended before it had; is memory short?"
            raise RuntimeError(words) from None
        return printed

    def _fail(self, error: BaseException) -> None:
        self.stopped, self.error = True, self.error or error


def _work(
    answer: Callable[[int, _Text], _Found], end: Connection, inherited: Iterable[Connection]
) -> None:
    """Answer questions until there are no more."""
    for other in inherited:
        other.close()
    # Ctrl-C reaches all processes of a terminal; the first of them decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        while True:
            end.send(answer(*end.recv()))
