"""The gate: all that touches the data, composed, against the budget of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict
from privcalc.cli.gate.file import STANDARD_INPUT, BudgetFile, Part, read_budget_file
from privcalc.cli.output import Printer
from privcalc.errors import FileError, PrivcalcError, UsageError
from privcalc.exact import distinct
from privcalc.record import replace
from privcalc.render.words import written
from privcalc.reporting.budget import Budget
from privcalc.reporting.convert import Converting, check_uses
from privcalc.reporting.questions import relation_in_force, summed

if TYPE_CHECKING:
    from privcalc.accounting.convert import Target
    from privcalc.cli.exit_status import ExitStatus
    from privcalc.cli.output import Output
    from privcalc.render.report import Report, Row
    from privcalc.reporting.compose import Composing
    from privcalc.reporting.questions import Asking


def check_file(file: str, ask: Composing, output: Output) -> ExitStatus:
    """Check the budget of a file, and print what each part costs by itself, and all together.

    Args:
        file: its name, or `-` for standard input.
        ask: what the command line asks: a relation, a tolerance, an engine for epsilon and mu.
        output: how to print.

    Raises:
        FileError: something in the file is wrong, or cannot be answered; it says in which line.
    """
    found = read_budget_file(file, ask.relation)
    try:
        whole = summed([part.question for part in found.parts])
        asked = relation_in_force(ask.relation, found.relation)
        relation = relation_in_force(asked, whole.relation)
        if relation is None:
            from privcalc.accounting.realize import default_relation

            relation = default_relation(whole.tree)
    except UsageError as error:
        raise FileError(error, found.file, None) from None
    ask = replace(ask, relation=relation)
    costs = _costs(found, _asking(found, ask, Budget()))
    try:
        report, *_ = _asking(found, ask, Budget(**{f"max_{found.quantity}": found.most}))(whole)
    except PrivcalcError as error:
        raise FileError(error, found.file, None) from None
    return Printer(output).print([_with_parts(report, found, costs)])


def _asking(found: BudgetFile, ask: Composing, budget: Budget) -> Asking:
    """Return what asks for the quantity of a budget, as `compose` or as `convert` does."""
    if found.delta is not None:
        return replace(ask, deltas=(found.delta,), budget=budget)
    to: Target = "zcdp" if found.quantity == "rho" else "gdp"
    check_uses(to, (), engine=ask.engine)
    return Converting(
        to=to,
        relation=ask.relation,
        tolerance=ask.tolerance,
        engine=ask.engine,
        limits=budget,
    )


def _costs(found: BudgetFile, ask: Asking) -> list[Bound]:
    """Return what each part costs by itself, at the delta and under the relation of the whole."""
    known: dict[object, Bound] = {}
    costs = []
    for part in found.parts:
        key = distinct(part.question.tree)
        if key not in known:
            known[key] = _cost(found, part, ask)
        costs.append(known[key])
    return costs


def _cost(found: BudgetFile, part: Part, ask: Asking) -> Bound:
    try:
        report, *_ = ask(part.question)
    except PrivcalcError as error:
        raise FileError(error, found.file, part.line) from None
    bound = report.result[found.quantity]
    if not isinstance(bound, Bound):
        raise TypeError("what has a budget is a bracket")
    return bound


def _with_parts(report: Report, found: BudgetFile, costs: list[Bound]) -> Report:
    """Put the parts into the answer for the whole, and point at the one that costs most."""
    name = found.quantity
    total, check = report.result[name], report.check
    if check is None or not isinstance(total, Bound):
        raise TypeError("a budget is checked")
    rows: list[Row] = [
        {"name": part.name, name: cost} for part, cost in zip(found.parts, costs, strict=True)
    ]
    most = max(range(len(costs)), key=lambda index: costs[index].upper)
    worst = found.parts[most]
    if check.verdict is not Verdict.WITHIN and len(costs) > 1:
        cost = costs[most].decimals()[1]
        words = f"{check.sentence}; {worst.name} costs most, {cost} by itself"
        check = replace(check, sentence=words)
    notes = [(part.name, part.note) for part in found.parts if part.note]
    return replace(
        report,
        command="compose",
        result={name: total, "mechanisms": rows},
        tables=(("mechanisms",),),
        closing=(
            {"name": "total", name: total},
            {"name": "budget", "at least": "", "at most": written(found.most)},
        ),
        remarks=(*report.remarks, *notes),
        check=check,
        # Nothing can be shown beside a line of a pipe.
        source=None if found.file == STANDARD_INPUT else (found.file, worst.line),
    )
