"""Several processes that answer the questions of one stream or sweep, in the order of these."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from privcalc.cli.failure import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What is asked, beside its number: a text, or why there is none; and what is answered.
_Text = TypeVar("_Text")
_Found = TypeVar("_Found")

# Questions under way for each process: a slow one delays the others by no more than these.
AHEAD = 64
# Other systems do not let a process that has loaded their libraries go on as two.
FORKS = sys.platform == "linux"
# What answers a question, in a process that does so.
_answer: Callable[[int, Any], Any]


def answer_in_order(
    answer: Callable[[int, _Text], _Found],
    asked: Iterable[tuple[int, _Text]],
    jobs: int,
    emit: Callable[[_Found], bool],
) -> None:
    """Answer questions with so many processes, and emit the answers in the order of the questions.

    Questions are read here and answers printed by a thread, so that none waits for the next
    question.

    Args:
        answer: what answers one of them.
        asked: the questions, each with its number, read as they are needed.
        jobs: the number of processes.
        emit: prints an answer, and returns whether to go on.

    Raises:
        Exception: what `emit` or the questions raise, or a process ended before it had answered.
    """
    dealt: Queue[Future[_Found] | None] = Queue(maxsize=AHEAD * jobs)
    ended: list[BaseException | None] = []
    context = get_context("fork" if FORKS else "spawn")
    pool = ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(answer,))
    collector = Thread(target=_collect, args=(dealt, ended, emit), daemon=True)
    try:
        # All processes are there before the thread is, which would not go on in them.
        pool.submit(int).result()
        collector.start()
        for number, text in asked:
            if ended:
                break
            dealt.put(_submitted(pool, number, text))
        dealt.put(None)
        collector.join()
    except KeyboardInterrupt:
        _end(pool)
        collector.join(timeout=1.0)
        if collector.is_alive():
            # It waits for a reader of standard output, which nothing ends.
            os._exit(ExitStatus.INTERRUPTED)
        raise
    finally:
        _end(pool)
    if ended and ended[0] is not None:
        raise ended[0]


def _collect(
    dealt: Queue[Future[_Found] | None],
    ended: list[BaseException | None],
    emit: Callable[[_Found], bool],
) -> None:
    """Print answers in turn, until there are no more."""
    # Taken even where nobody listens any more, so that the reader does not wait for that.
    while (future := dealt.get()) is not None:
        try:
            if not ended and not emit(future.result()):
                ended.append(None)
        except BrokenProcessPool:
            words = "a process that answers questions ended before it had; is memory short?"
            ended.append(RuntimeError(words))
        except BaseException as error:  # noqa: BLE001  (raised where the questions are read)
            ended.append(error)


def _submitted(pool: ProcessPoolExecutor, number: int, text: object) -> Future[Any]:
    """Return the answer to come, or why there will be none: printed in its turn."""
    try:
        return pool.submit(_work, number, text)
    except BrokenProcessPool as error:
        failed = Future[Any]()
        failed.set_exception(error)
        return failed


def _end(pool: ProcessPoolExecutor) -> None:
    """End the processes, whatever they are at, and wait until the pool knows of it.

    A pool that is still at it when the interpreter ends closes what the interpreter writes to.
    """
    for process in active_children():
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)


def _begin(answer: Callable[[int, Any], Any]) -> None:
    """Begin in a process of the pool."""
    global _answer  # noqa: PLW0603  (sent once, and not with each question)
    _answer = answer
    # Ctrl-C reaches all processes of a terminal; the first of them decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(number: int, text: object) -> Any:  # noqa: ANN401
    return _answer(number, text)
