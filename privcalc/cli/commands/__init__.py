"""The five commands, each in a file that has its options, and what they all do alike.

What a command asks and reports is in its twin in `reporting/`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from privcalc.cli.failure import ExitStatus, complain
from privcalc.cli.output import DOCUMENTS, OPTIONS, Printer, read_output
from privcalc.errors import UsageError
from privcalc.record import replace
from privcalc.relation import Relation
from privcalc.reporting.questions import joined, read_delta, read_epsilon, summed_by_braces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from privcalc.cli.output import Output
    from privcalc.reporting.budget import Budget
    from privcalc.reporting.questions import Asking

Found = TypeVar("Found")

# Each is a function of the same name in a module of the same name; the order is that of the help.
COMMANDS = {
    "compose": "The privacy cost of a composition: epsilon, delta or the profile.",
    "convert": "One guarantee in another language.",
    "subsample": "What sampling buys: the amplified Renyi curve.",
    "select": "The best of a random number of runs: private selection.",
    "calibrate": "The value of a free parameter that meets a target.",
}


def load(name: str) -> ModuleType:
    """Return the module of a command: a question needs one of them."""
    return import_module(f"{__name__}.{name}")


def call(
    function: Callable[..., int], values: dict[str, Any], arguments: Sequence[str] = ()
) -> int:
    """Answer a command.

    Args:
        function: the command.
        values: what its options are; those that have a default may be omitted.
        arguments: the command line, for formats that repeat it.
    """
    output = read_output(**{name: values[name] for name in OPTIONS if name in values})
    output = replace(output, command=tuple(arguments))
    own = {name: value for name, value in values.items() if name not in OPTIONS}
    return function(output=output, **own)


def answered(
    specs: Sequence[str],
    ask: Asking,
    output: Output,
    *,
    holes: bool = False,
    exit_zero: bool = False,
    places: Sequence[Sequence[float]] | None = None,
    sweep: str | None = None,
) -> ExitStatus:
    """Answer the sum of the specifications, or where SPEC is `-` each line of standard input.

    Args:
        specs: as written.
        ask: answers a question.
        output: how to print.
        holes: whether specifications may have holes.
        places: where numbers are asked for, which are a curve where one kind of place has several;
            None where each answer is a curve already.
        sweep: values of one number, as written, each of which is asked about.
        exit_zero: whether a budget that is not satisfied is no failure; an error is one still.
    """
    if sweep is not None:
        from privcalc.cli.sweeping import answer_sweep

        return forgiven(answer_sweep(specs, sweep, ask, output, free=holes), exit_zero=exit_zero)
    if output.plot and places is not None and "-" in specs:
        _check_curve(places)
    return forgiven(_status(specs, ask, output, holes=holes), exit_zero=exit_zero)


def relation_named(name: str | None) -> Relation | None:
    """Return the relation that an option names."""
    return None if name is None else Relation(name.replace("-", "_"))


def read_budget(
    *, estimate: bool = False, places: Mapping[str, bool], **given: str | None
) -> Budget | None:
    """Read the budget options; None where there is none.

    Args:
        estimate: whether the engine gives an estimate only.
        places: whether any delta and any epsilon was given.
        given: each option as it was written, by its keyword.
    """
    written = {name: text for name, text in given.items() if text is not None}
    if not written:
        return None
    from privcalc.reporting.budget import Budget

    # A delta and an advantage are probabilities.
    read = {"max_delta": read_delta, "max_advantage": read_delta}
    budget = Budget(
        **{
            name: read.get(name, read_epsilon)(f"--{name.replace('_', '-')}", text)
            for name, text in written.items()
        }
    )
    for limit, needed in (("epsilon", "delta"), ("delta", "epsilon")):
        if f"max_{limit}" in written and not places[needed]:
            raise UsageError(
                f"--max-{limit} needs the {needed} at which it holds: "
                f"add --{needed} {needed[0].upper()}"
            )
    if estimate:
        raise UsageError(
            "--engine afa gives an estimate without certificate; a budget check needs a proof"
        )
    return budget


def _check_curve(places: Sequence[Sequence[float]]) -> None:
    """Refuse pictures of what is no curve, once and not for each line of standard input."""
    from privcalc.picture.picture import NO_CURVE, SEVERAL

    kinds = [set(each) for each in places if each]
    if len(kinds) > 1:
        raise UsageError(SEVERAL)
    if not any(len(each) > 1 for each in kinds):
        raise UsageError(NO_CURVE)


def check_swept(places: Sequence[Sequence[float]], sweep: str) -> None:
    """Refuse a sweep over anything but one number at each value.

    Args:
        places: the deltas and the epsilons that are asked about.
        sweep: as it was written.
    """
    asked = sum(map(len, places))
    if asked == 1:
        return
    name = sweep.partition("=")[0].strip().lower()
    hint = _LISTS.get(name, "") if not asked else "one of them for each command"
    listed = ", not with a list" if asked else ""
    raise UsageError(f"--sweep goes with one --delta D or one --epsilon E{listed}", hint=hint)


# What is no number of a specification where it is asked about.
_LISTS = {
    "delta": "deltas that are asked about are a list: --delta 1e-8,1e-7",
    "epsilon": "epsilons that are asked about are a list: --epsilon 1,2",
    "eps": "epsilons that are asked about are a list: --epsilon 1,2",
}


def forgiven(status: ExitStatus, *, exit_zero: bool) -> ExitStatus:
    """Return the status, in which a budget that is not satisfied may be no failure."""
    return ExitStatus.OK if exit_zero and status is ExitStatus.BUDGET else status


def watching(work: Callable[[], Found], output: Output) -> Found:
    """Work, and where a person waits for it show after a second how far it is."""
    if output.quiet or sys.stderr is None or not sys.stderr.isatty():
        return work()
    from privcalc.cli.progress import Progress

    with Progress(shown=True):
        return work()


def _status(
    specs: Sequence[str],
    ask: Asking,
    output: Output,
    *,
    holes: bool,
) -> ExitStatus:
    if "-" not in specs:
        if output.jobs > 1:
            raise UsageError("--jobs says nothing to one question; it goes with - and --sweep")
        if len(specs) > 1 and not output.quiet and (said := summed_by_braces(specs)):
            complain(f"privcalc: note: {said}")
        asked = joined(specs, holes=holes, relation=ask.relation)
        return Printer(output).print(watching(lambda: ask(asked), output))
    if output.plot_file is not None:
        raise UsageError("--plot-file draws one question; - may ask many")
    if output.format in DOCUMENTS:
        raise UsageError(f"--format {output.format} is one document; - may ask many questions")
    if len(specs) > 1:
        raise UsageError("- reads whole questions from standard input; it stands alone")
    if sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(
            "standard input is a terminal: - reads questions from a pipe or a file, one on each "
            "line (for example: privcalc compose - --delta 1e-6 < specs.txt)"
        )
    from privcalc.cli.many import Answering, answer_questions

    return answer_questions(Answering(ask, output, holes), jobs=output.jobs)
