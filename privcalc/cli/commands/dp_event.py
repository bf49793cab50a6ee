"""The target `dp-event` of `convert`: specifications as DpEvents of dp_accounting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.cli.answering import answered
from privcalc.cli.choices import Format
from privcalc.reporting.questions import relation_in_force
from privcalc.errors import UsageError
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.cli.exit_status import ExitStatus
    from privcalc.cli.output import Output
    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.spec.read import Question


@record
class Writing:
    """What is asked of every specification of one invocation."""

    relation: Relation | None

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        from privcalc.accounting.answer import Method
        from privcalc.accounting.realize import default_relation, sampling_words
        from privcalc.render.report import Report
        from privcalc.spec.events.to_event import event_text
        from privcalc.spec.registry import check_relation

        tree = question.tree
        relation = relation_in_force(self.relation, question.relation) or default_relation(tree)
        check_relation(tree, relation)
        return [
            Report(
                command="convert",
                spec=tree,
                relation=relation,
                sampling=sampling_words(tree),
                query={},
                result={"dp_event": event_text(tree, relation)},
                method=Method("closed-form", tolerance_met=True),
            )
        ]


def write_events(
    specs: Sequence[str], relation: Relation | None, output: Output, *, alone: bool
) -> ExitStatus:
    """Print each specification as a DpEvent, on a line of its own that can be read again.

    Args:
        specs: as they were given.
        relation: as the command line says.
        output: how to print.
        alone: whether no option was given that changes what is converted.

    Raises:
        UsageError: the format has no form for it.
    """
    if not alone:
        raise UsageError("--group, --filter and --data-dependent say nothing to --to dp-event")
    if output.format not in (Format.TABLE, Format.JSON):
        raise UsageError(f"--to dp-event prints a line, or --json; not {output.format.value}")
    if output.format is Format.TABLE:
        output = replace(output, terse=True)
    return answered(specs, Writing(relation), output)
