"""A sweep from the command line: each value is answered as a line of standard input is.

It has the work of a question of its own, in one process or in several, and what is wrong with one
value says nothing about the next. All are answered before the first is printed: they are one table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.cli.failure import ExitStatus, Failure, complain, failure, shown
from privcalc.cli.output import Printer
from privcalc.cli.progress import Progress
from privcalc.errors import DomainError, NotCertifiedError, UsageError
from privcalc.record import record, replace
from privcalc.reporting.questions import joined
from privcalc.reporting.sweep import read_sweep, swept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.cli.output import Output
    from privcalc.render.report import Report
    from privcalc.reporting.questions import Asking
    from privcalc.reporting.sweep import Swept


@record
class Row:
    """What became of one value.

    Attributes:
        text: the value, as written.
        reports: its answers.
        problem: why there is none, or None.
        unmet: whether that is an answer of a kind: no value of what is free meets the target.
    """

    text: str
    reports: tuple[Report, ...] = ()
    problem: Failure | None = None
    unmet: bool = False


@record
class Answering:
    """How one value of a sweep is answered, by whichever process.

    Attributes:
        ask: answers it.
        swept: the specification, and where values are put.
    """

    ask: Asking
    swept: Swept

    def __call__(self, _number: int, text: str) -> Row:
        """Return the answers at a value, or what is wrong with it."""
        try:
            found = self.ask(self.swept.question(text))
            return Row(text, tuple(self.swept.reports(text, found)))
        # Whatever goes wrong with it, an internal error too, says nothing about the next.
        except Exception as error:  # noqa: BLE001
            unmet = self.swept.free and isinstance(error, DomainError | NotCertifiedError)
            return Row(text, problem=failure(error), unmet=unmet)


def answer_sweep(
    specs: Sequence[str], sweep: str, ask: Asking, output: Output, *, free: bool
) -> ExitStatus:
    """Answer a question for each of several values of one number, as one table.

    Args:
        specs: the specifications, of which the sum is asked about.
        sweep: as it was written.
        ask: answers a question; one number each time.
        output: how to print.
        free: whether what is written `_` in the specification is wanted, and not swept.

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
    found = swept(located, read_sweep(sweep), asked=ask.relation, free=free)
    rows: list[Row] = []
    with Progress(len(found.values), shown=not output.quiet) as progress:

        def keep(row: Row) -> bool:
            rows.append(row)
            progress.reach(len(rows))
            return True

        answer, texts = Answering(ask, found), progress.over(enumerate(found.values))
        if output.jobs > 1:
            from privcalc.cli.workers import answer_in_order

            answer_in_order(answer, texts, min(output.jobs, len(found.values)), keep)
        else:
            for number, text in texts:
                keep(answer(number, text))
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
        place = f"{found.words(row.text)}: "
        if row.unmet and reports:
            if not output.quiet:
                complain(f"privcalc: warning: {place}{problem.message}")
            continue
        status = ExitStatus.ERROR
        said = replace(problem, message=f"{place}{problem.message}")
        if not complain(shown(said, output.error_form)):
            break
    return status
