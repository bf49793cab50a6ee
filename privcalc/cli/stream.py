"""Many questions: those of standard input, and the values of a sweep, with one process or several.

Each has the work of a question of its own, and what is wrong with one says nothing about the next.
Answers come in the order of the questions: those of standard input as they arrive, and none waits
for all; those of a sweep together, for they are one table.
"""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import active_children, get_context
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from privcalc.cli.failure import ExitStatus, Failure, complain, failure, shown
from privcalc.cli.output import Printed, Printer
from privcalc.cli.progress import Progress
from privcalc.cli.sweep import read_sweep, swept
from privcalc.commands.questions import joined, question
from privcalc.errors import DomainError, NotCertifiedError, SpecError, UsageError
from privcalc.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from privcalc.cli.output import Output
    from privcalc.cli.sweep import Swept
    from privcalc.commands.command import Asking
    from privcalc.render.report import Report

    # What became of one value.
    Row = tuple[float, list[Report] | Failure]

# What is asked, with its number: a text, or why there is none; and what is answered.
_Text = TypeVar("_Text")
_Found = TypeVar("_Found")
# What no value of a free parameter meets, or is proved to meet.
UNMET = (DomainError.code, NotCertifiedError.code)


def _answered(ask: Asking, output: Output, line: int, text: str | SpecError) -> Printed:
    """Return all that is to be printed of a question of standard input, or what is wrong with it.

    Called in whichever process.
    """
    from privcalc.cli.lines import name_and_text

    name = ""
    try:
        if isinstance(text, SpecError):
            raise text  # noqa: TRY301  (said as what else is wrong)
        name, written = name_and_text(text)
        asked = question(written, holes=ask.holes, relation=ask.relation)
        name = name or asked.name
        reports = [replace(each, name=name) if name else each for each in ask(asked)]
        return Printer(output).rendered(reports, line=line, text=asked.text, name=name)
    # Whatever goes wrong with it, an internal error too, says nothing about the next.
    except Exception as error:  # noqa: BLE001
        problem = failure(error, line=line)
        if name:
            problem = replace(problem, message=f"{name}: {problem.message}")
        return Printed((), (shown(problem, output.format),), ExitStatus.ERROR, line=line)


def answer_questions(ask: Asking, output: Output) -> ExitStatus:
    """Answer every question on standard input.

    One that cannot be answered is reported on standard error, and the others go on. Answers to
    one question that follow one another, at several deltas for example, are one question again.

    Args:
        ask: answers one of them.
        output: how to print.

    Returns:
        ERROR if any question failed, else BUDGET if any check did, else OK.

    Raises:
        UsageError: there is no question. A check of nothing must not pass: the program before
            this one in the pipe may have failed.
    """
    from privcalc.cli.lines import distinct, questions

    printer = Printer(output)
    worst: list[ExitStatus] = []
    with Progress(0, watched=output.watched) as progress:

        def emit(printed: Printed) -> bool:
            """Print an answer; say whether anybody reads on."""
            with progress.next(printed.line or 0):
                heard = printer.emit(printed)
            worst[:] = [max([printed.status, *worst])]
            # Where nobody reads what is wrong with questions, there may be no end of them.
            return heard or printed.status is not ExitStatus.ERROR

        asked = progress.over(distinct(questions()))
        _answer_all(partial(_answered, ask, output), asked, output.jobs, emit)
    if not worst:
        raise UsageError("no question on standard input")
    return worst[0]


def _row(ask: Asking, swept: Swept, _number: int, value: float) -> Row:
    """Return a value and its answers, or why it has none."""
    try:
        return value, [*swept.reports(value, ask(swept.question(value)))]
    # Whatever goes wrong with it, an internal error too, says nothing about the next.
    except Exception as error:  # noqa: BLE001
        return value, failure(error)


def answer_sweep(specs: Sequence[str], sweep: str, ask: Asking, output: Output) -> ExitStatus:
    """Answer a question for each of several values of one number, as one table.

    Args:
        specs: the specifications, of which the sum is asked about.
        sweep: as it was written.
        ask: answers a question; one number each time.
        output: how to print.

    Returns:
        ERROR if any value has no answer (but one that no value of what is wanted meets), else
        BUDGET if any check did not pass, else OK.

    Raises:
        UsageError: it is not said what is swept; or no value has an answer.
    """
    if "-" in specs:
        raise UsageError("--sweep goes with one specification, not with -")
    if output.format == "statement":
        raise UsageError("a statement is about one guarantee, and a sweep about many")
    located = joined(specs, holes=True, relation=ask.relation)
    found = swept(located, read_sweep(sweep), free=ask.holes)
    rows: list[Row] = []
    with Progress(len(found.values), watched=output.watched) as progress:

        def keep(row: Row) -> bool:
            rows.append(row)
            with progress.next(len(rows)):
                return True

        asked = progress.over(enumerate(found.values))
        jobs = min(output.jobs, len(found.values))
        _answer_all(partial(_row, ask, found), asked, jobs, keep)
    return _printed(rows, ask, found, output)


def _printed(rows: Sequence[Row], ask: Asking, found: Swept, output: Output) -> ExitStatus:
    """Print the table, and what is wrong with the values that are not in it."""
    missing = [(value, each) for value, each in rows if isinstance(each, Failure)]
    reports = [each for _, found in rows if not isinstance(found, Failure) for each in found]
    if not reports:
        # What is wrong with the whole question is said once.
        first = {problem.message: (value, problem) for value, problem in reversed(missing)}
        missing = [*first.values()][::-1]
    status = Printer(output).print(reports) if reports else ExitStatus.ERROR
    for value, problem in missing:
        message = f"{found.words(value)}: {problem.message}"
        # That no value of what is free meets the target is an answer of a kind.
        if reports and ask.holes and problem.code in UNMET:
            if not output.quiet:
                complain(f"privcalc: warning: {message}")
            continue
        status = ExitStatus.ERROR
        if not complain(shown(replace(problem, message=message), output.format)):
            break
    return status


def _answer_all(
    answer: Callable[[int, _Text], _Found],
    asked: Iterable[tuple[int, _Text]],
    jobs: int,
    emit: Callable[[_Found], bool],
) -> None:
    """Answer questions in turn, with several processes or here, until `emit` has enough."""
    if jobs > 1:
        _in_order(answer, asked, jobs, emit)
        return
    for number, text in asked:
        if not emit(answer(number, text)):
            return


# Questions under way for each process: a slow one delays the others by no more than these.
AHEAD = 64
# Other systems do not let a process that has loaded their libraries go on as two.
FORKS = sys.platform == "linux"


def _in_order(
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
    # Why it ended: None where nobody reads on.
    ended: list[BaseException | None] = []
    failed: list[BaseException | None] = []

    collector = Thread(target=_collect, args=(dealt, ended, emit), daemon=True)
    # Ctrl-C reaches all processes of a terminal; the first of them decides.
    ignoring = (signal.SIGINT, signal.SIG_IGN)
    context = get_context("fork" if FORKS else "spawn")
    pool = ProcessPoolExecutor(jobs, context, initializer=signal.signal, initargs=ignoring)
    try:
        # All processes are there before the thread is, which would not go on in them.
        pool.submit(int).result()
        collector.start()
        try:
            for number, text in asked:
                if ended:
                    break
                dealt.put(pool.submit(answer, number, text))
        except Exception as error:  # noqa: BLE001  (raised when the answers are printed)
            failed.append(error)
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
    first = [*ended, *failed, None][0]
    if first is not None:
        raise first


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
        except BaseException as error:  # noqa: BLE001  (raised where the questions are read)
            ended.append(error)


def _end(pool: ProcessPoolExecutor) -> None:
    """End the processes, whatever they are at, and wait until the pool knows of it.

    A pool that is still at it when the interpreter ends closes what the interpreter writes to.
    """
    for process in active_children():
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)
