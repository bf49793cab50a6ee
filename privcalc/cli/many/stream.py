"""Standard input as SPEC: each question is answered as it arrives, and none waits for all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from privcalc.cli.exit_status import ExitStatus
from privcalc.cli.failure import failure, shown
from privcalc.cli.many.lines import questions
from privcalc.cli.output import Printed, Printer
from privcalc.cli.progress import Progress, lines_of_input
from privcalc.errors import SpecError, UsageError
from privcalc.record import record
from privcalc.reporting.questions import question

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from privcalc.cli.many.lines import Asked
    from privcalc.cli.output import Output
    from privcalc.reporting.questions import Asking
    from privcalc.spec.read import Question


@record
class Answering:
    """How one question of many is answered, by whichever process.

    Attributes:
        ask: answers it.
        output: how to print.
        holes: whether specifications may have holes.
    """

    ask: Asking
    output: Output
    holes: bool

    def __call__(self, line: int, text: str | SpecError) -> Printed:
        """Return all that is to be printed of a question, or of what is wrong with it."""
        try:
            asked = question(_readable(text), holes=self.holes, relation=self.ask.relation)
            return Printer(self.output).rendered(self.ask(asked), line=line, text=asked.text)
        # Whatever goes wrong with it, an internal error too, says nothing about the next.
        except Exception as error:  # noqa: BLE001
            said = shown(failure(error, line=line), self.output.error_form)
            return Printed((), (said,), ExitStatus.ERROR, line=line)


def answer_questions(answer: Answering, *, jobs: int = 1) -> ExitStatus:
    """Answer every question on standard input.

    One that cannot be answered is reported on standard error, and the others go on. Answers to
    one question that follow one another, at several deltas for example, are one question again.

    Args:
        answer: what answers one of them.
        jobs: the number of processes that do so.

    Returns:
        ERROR if any question failed, else BUDGET if any check did, else OK.

    Raises:
        UsageError: there is no question. A check of nothing must not pass: the program before
            this one in the pipe may have failed.
    """
    printer = Printer(answer.output)
    worst: list[ExitStatus] = []
    quiet = answer.output.quiet or sys.stdout.isatty()
    with Progress(lines_of_input, shown=not quiet) as progress:

        def emit(printed: Printed) -> bool:
            """Print an answer; say whether anybody reads on."""
            heard = printer.emit(printed)
            worst[:] = [max([printed.status, *worst])]
            progress.reach(printed.line or 0)
            # Where nobody reads what is wrong with questions, there may be no end of them.
            return heard or printed.status is not ExitStatus.ERROR

        asked = _distinct(questions())
        if jobs > 1:
            from privcalc.cli.many.workers import answer_in_order

            answer_in_order(answer, asked, jobs, emit)
        else:
            for line, text in asked:
                if not emit(answer(line, text)):
                    break
    if not worst:
        raise UsageError("no question on standard input")
    return worst[0]


def _readable(text: str | SpecError) -> str:
    """Return the text of a question, or raise why there is none."""
    if isinstance(text, SpecError):
        raise text
    return text


def _distinct(asked: Iterable[Asked]) -> Iterator[Asked]:
    """Leave out answers about the guarantee that the answer before them is about."""
    before: Question | None = None
    for line, text in asked:
        found = _answered(text)
        if found is None or found != before:
            yield line, text
        before = found


def _answered(text: str | SpecError) -> Question | None:
    """Return the guarantee of an answer; None of any other question.

    A text, or an event of another library, that is written twice is asked twice.
    """
    if isinstance(text, SpecError) or '"schema"' not in text:
        return None
    try:
        found = question(text, holes=True)
    except Exception:  # noqa: BLE001  (who answers it says what is wrong)
        return None
    return found if found.printed else None
