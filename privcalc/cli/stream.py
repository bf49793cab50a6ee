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
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import active_children, get_context
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from privcalc.cli.failure import ExitStatus, Failure, complain, failure, shown
from privcalc.cli.output import Printed, Printer
from privcalc.cli.progress import Progress
from privcalc.commands.questions import joined, question
from privcalc.commands.sweep import read_sweep, swept
from privcalc.errors import DomainError, NotCertifiedError, SpecError, UsageError
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from privcalc.cli.output import Output
    from privcalc.commands.command import Asking
    from privcalc.commands.sweep import Swept
    from privcalc.render.report import Report

# What is asked, with its number: a text, or why there is none; and what is answered.
_Text = TypeVar("_Text")
_Found = TypeVar("_Found")


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
        return Printed((), (shown(problem, output.error_form),), ExitStatus.ERROR, line=line)


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
    with Progress(0, shown=not output.quiet) as progress:

        def emit(printed: Printed) -> bool:
            """Print an answer; say whether anybody reads on."""
            with progress.away():
                heard = printer.emit(printed)
            worst[:] = [max([printed.status, *worst])]
            progress.reach(printed.line or 0)
            # Where nobody reads what is wrong with questions, there may be no end of them.
            return heard or printed.status is not ExitStatus.ERROR

        asked = progress.over(distinct(questions()))
        _answer_all(partial(_answered, ask, output), asked, output.jobs, emit)
    if not worst:
        raise UsageError("no question on standard input")
    return worst[0]


@record
class Row:
    """What became of one value.

    Attributes:
        value: the value.
        reports: its answers.
        problem: why there is none, or None.
        unmet: whether that is an answer of a kind: no value of what is free meets the target.
    """

    value: float
    reports: tuple[Report, ...] = ()
    problem: Failure | None = None
    unmet: bool = False


def _row(ask: Asking, swept: Swept, _number: int, value: float) -> Row:
    """Return the answers at a value, or what is wrong with it."""
    try:
        found = ask(swept.question(value))
        return Row(value, tuple(swept.reports(value, found)))
    # Whatever goes wrong with it, an internal error too, says nothing about the next.
    except Exception as error:  # noqa: BLE001
        unmet = ask.holes and isinstance(error, DomainError | NotCertifiedError)
        return Row(value, problem=failure(error), unmet=unmet)


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
    with Progress(len(found.values), shown=not output.quiet) as progress:

        def keep(row: Row) -> bool:
            rows.append(row)
            progress.reach(len(rows))
            return True

        asked = progress.over(enumerate(found.values))
        jobs = min(output.jobs, len(found.values))
        _answer_all(partial(_row, ask, found), asked, jobs, keep)
    return _printed(rows, found, output)


def _printed(rows: Sequence[Row], found: Swept, output: Output) -> ExitStatus:
    """Print the table, and what is wrong with the values that are not in it."""
    reports = [report for row in rows for report in row.reports]
    missing = [(row, row.problem) for row in rows if row.problem is not None]
    status = Printer(output).print(reports) if reports else ExitStatus.ERROR
    known: set[str] = set()
    for row, problem in missing:
        if not reports and problem.message in known:
            # What is wrong with the whole question is said once.
            continue
        known.add(problem.message)
        place = f"{found.words(row.value)}: "
        if row.unmet and reports:
            if not output.quiet:
                complain(f"privcalc: warning: {place}{problem.message}")
            continue
        status = ExitStatus.ERROR
        said = replace(problem, message=f"{place}{problem.message}")
        if not complain(shown(said, output.error_form)):
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
# What answers a question, in a process that does so.
_answer: Callable[[int, Any], Any]


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
            words = "a worker process ended before it had answered; is memory short?"
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
