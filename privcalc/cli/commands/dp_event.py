"""The target `dp-event` of `convert`: specifications as DpEvents of dp_accounting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.cli.answering import answered
from privcalc.cli.choices import Format
from privcalc.errors import UsageError
from privcalc.record import replace
from privcalc.reporting.convert import Writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.cli.exit_status import ExitStatus
    from privcalc.cli.output import Output
    from privcalc.relation import Relation


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
