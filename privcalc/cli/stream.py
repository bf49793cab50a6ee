"""Standard input as SPEC: each line is a question of its own, answered as it arrives."""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from functools import partial
from typing import TYPE_CHECKING

from privcalc.cli.exit_status import ExitStatus
from privcalc.cli.failure import failure, shown
from privcalc.cli.output import Printer
from privcalc.cli.questions import question
from privcalc.cli.streams import complain
from privcalc.errors import SpecError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from privcalc.cli.output import Output
    from privcalc.render.report import Report
    from privcalc.spec.read import Question


# Longer than any question that is read; such a line is refused, and nothing after it is read.
MAX_LINE = 8_000_000


def answer_lines(
    ask: Callable[[Question], Sequence[Report]], output: Output, *, holes: bool = False
) -> ExitStatus:
    """Answer every line of standard input.

    A line that cannot be answered is reported on standard error, and the others go on. Answers to
    one question that follow one another, at several deltas for example, are one question again.

    Args:
        ask: answers one question.
        output: how to print.
        holes: whether specifications may have holes.

    Returns:
        ERROR if any line failed, else BUDGET if any check did, else OK.

    Raises:
        UsageError: there is no question. A check of nothing must not pass: the program before
            this one in the pipe may have failed.
    """
    printer = Printer(output)
    worst: ExitStatus | None = None
    before: Question | None = None
    for number, line in _lines():
        try:
            found = question(_decoded(line), holes=holes)
            # Only answers bring a relation; a text that is written twice is asked twice.
            if found.relation is not None and found == before:
                continue
            before = found
            reports = ask(found)
        # Whatever goes wrong with this line, an internal error too, says nothing about the next.
        except Exception as error:  # noqa: BLE001
            worst = ExitStatus.ERROR
            if complain(shown(failure(error, line=number), output.error_form)):
                continue
            # Nobody reads on, and there may be no end of lines.
            break
        status = printer.print(reports, line=number)
        worst = status if worst is None else max(worst, status)
    if worst is None:
        raise UsageError("no question on standard input")
    return worst


def _lines() -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, numbered from 1, without a byte order mark."""
    if sys.stdin is None:
        return
    for number, line in enumerate(iter(partial(sys.stdin.buffer.readline, MAX_LINE), b""), start=1):
        if len(line) == MAX_LINE:
            # The rest of it is no line of its own, and may have no end.
            yield number, line
            return
        if stripped := line.removeprefix(BOM_UTF8).strip():
            yield number, stripped


def _decoded(line: bytes) -> str:
    if len(line) == MAX_LINE:
        raise SpecError(f"a line has fewer than {MAX_LINE} bytes; nothing after this one is read")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise SpecError("not UTF-8 text", hint=f"byte {error.start + 1} of the line") from None
