"""What all commands do alike once their options are read: ask, and print the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.cli.output import Printer
from privcalc.cli.questions import joined, reads_standard_input, refuse_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from privcalc.accounting.answer import Method
    from privcalc.cli.exit_status import ExitStatus
    from privcalc.cli.output import Output
    from privcalc.render.report import Report
    from privcalc.spec.read import Question


def answered(
    specs: Sequence[str],
    ask: Callable[[Question], Sequence[Report]],
    output: Output,
    *,
    holes: bool = False,
) -> ExitStatus:
    """Answer the sum of the specifications, or where SPEC is `-` each line of standard input."""
    if reads_standard_input(specs):
        from privcalc.cli.stream import answer_lines

        refuse_terminal()
        return answer_lines(ask, output, holes=holes)
    return Printer(output).print(ask(joined(specs, holes=holes)))


def proof(method: Method, query: dict[str, float]) -> tuple[tuple[str, str], ...]:
    """Name the Renyi order that proved an answer, where nothing better did."""
    if method.order is None:
        return ()
    from privcalc.render.words import renyi_remark
    from privcalc.render.written import written

    at = "".join(f"at {name} {written(value)}: " for name, value in query.items())
    return (("proof", at + renyi_remark(method.order, method.conversion)),)
