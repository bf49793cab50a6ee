"""A command: one function and the names of its options, for the command line and for Python.

What is given is read once, by the table of options. What comes of that answers one question after
another: the only one, each line of standard input, or each value of a sweep.
"""

from __future__ import annotations

import re
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any

from privcalc.bounds import Bound
from privcalc.commands.options import TEXTS, Option, option
from privcalc.commands.questions import joined, relation_in_force, unstated
from privcalc.commands.values import is_several
from privcalc.errors import DomainError, UsageError
from privcalc.record import record, replace
from privcalc.render.words import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from privcalc.commands.result import Result, Results
    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.spec.read import Question

    # What was read, by the name of the option.
    Values = dict[str, Any]

# Each is a command in a module of that name; the order is that of the help.
COMMANDS = {
    "compose": "The privacy cost of a composition: epsilon, delta or the profile.",
    "convert": "One guarantee in another language.",
    "subsample": "What sampling buys: the amplified Renyi curve.",
    "select": "The best of a random number of runs: private selection.",
    "calibrate": "The value of a free parameter that meets a target.",
    "audit": "An attack's record: what it refutes, and the epsilon it shows.",
}
# What a line of the command line says besides its question, or what has a way of its own in Python.
ON_LINES = (
    *("spec", "specs", "max_epsilon", "max_delta", "max_rho", "max_mu", "max_advantage"),
    *("exit_zero", "sweep", "file", "certificate", "thresholds", "epsilon_q"),
    *("data_dependent", "filter_"),
)
# Choices that are no certified answers.
NO_ANSWERS = ("afa", "dp-event")


def limited(values: Values) -> Values:
    """Return the budgets among values: of epsilon, delta, rho, mu, an advantage."""
    return {name: value for name, value in values.items() if name.startswith("max_")}


def load(name: str) -> Command:
    """Return a command: a question needs one of them."""
    found: Command = getattr(import_module(f"privcalc.commands.{name}"), name)
    return found


@record
class Asking:
    """What answers a question: a command with the values of its options.

    Attributes:
        command: its name, by which another process finds it.
        values: its arguments but the question.
        hints: whether to say why an answer is wide, and what would fit a budget.
    """

    command: str
    values: Values
    hints: bool = True

    @property
    def relation(self) -> Relation | None:
        """The relation that is asked for, where one is."""
        return self.values.get("relation")

    @property
    def holes(self) -> bool:
        """Whether specifications may have free parameters."""
        return self.command == "calibrate"

    def asked(self, specs: Sequence[object]) -> Question:
        """Read specifications as one question; of evidence alone there may be none."""
        if self.command == "audit" and not specs:
            return unstated()
        return joined(specs, holes=self.holes, relation=self.relation)

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question, and explain what is wide."""
        from privcalc.accounting.realize import explaining

        relation = relation_in_force(self.relation, question.relation)
        function = load(self.command).function
        with explaining() as seen:
            known, limits = function.__kwdefaults__ or {}, limited(self.values)
            values = {k: v for k, v in self.values.items() if k not in limits or k in known}
            found = [*function(question, **{**values, "relation": relation})]
        reports = [
            replace(
                each,
                command=self.command,
                # Of another specification, with a sample say, the text says something else.
                written=question.text if each.spec is question.tree else "",
            )
            for each in found
        ]
        if limits:
            from privcalc.commands.budget import checked

            reports = [checked(each, limits) for each in reports]
        # Most answers need no words, and what finds them is not loaded.
        if not self.hints or all(map(_needs_none, reports)):
            return reports
        from privcalc.commands.reasons import explained

        engine = self.values.get("engine", "auto")
        if engine == "auto" and self.command == "compose":
            # calibrate decides with all engines; what one of them leaves open it would not see.
            from privcalc.commands.budget import fitted

            reports = [fitted(each, questions=len(reports)) for each in reports]
        return explained(reports, seen, engine)


def _needs_none(report: Report) -> bool:
    """Say whether nothing is to be explained for certain: the tolerance is that of all numbers."""
    if report.evidence:
        return True
    columns = (each if isinstance(each, list) else (each,) for each in report.result.values())
    uppers = (cell.upper for column in columns for cell in column if isinstance(cell, Bound))
    whole = report.command in ("compose", "convert") and report.method.tolerance_met
    return whole and not report.failed and all(map(isfinite, uppers))


class Command:
    """What `privcalc.compose` is, and what `privcalc compose` runs.

    Attributes:
        name: of the command.
        function: answers a question, given the values of options by their names.
        options: rows of the table, in the order of the help.
        needed: names of those that have to be given.
        defaults: values of those that are not given.
        text: the help: its first line, and what follows.
        examples: lines for the help.
        prepare: checks values that were read, and makes arguments of them.
        alone: checks what one answer in Python is about; returns further arguments.
    """

    def __init__(
        self,
        function: Callable[..., Iterable[Report]],
        options: str,
        *,
        examples: str,
        needed: str = "",
        prepare: Callable[[Values], Values] | None = None,
        alone: Callable[[Values], Values] | None = None,
    ) -> None:
        """Find the rows of the table."""
        self.name, self.function = function.__name__, function
        self.examples = f"\b\nExamples:\n{examples}"
        self.options = [option(self.name, each) for each in options.split()]
        self.needed = needed.split()
        self.defaults: Mapping[str, Any] = function.__kwdefaults__ or {}
        self.text = (function.__doc__ or "").partition("\n\n        >>>")[0]
        self.__doc__ = function.__doc__
        self._prepare, self._alone = prepare, alone

    def default(self, name: str) -> str | None:
        """Return a default as a text of the command line; None where nothing is to be read."""
        value = self.defaults.get(name)
        if isinstance(value, float):
            return number(value)
        return value if isinstance(value, str) else None

    def asking(self, given: Mapping[str, object], *, hints: bool = True, **more: object) -> Asking:
        """Read what is given, and return what answers a question.

        It is texts of the command line or objects of Python, by the names of options; what is None
        was not given. `hints` is as of `Asking`, and `more` are further arguments of the function.

        Raises:
            UsageError: something cannot be read, or does not go together.
            DomainError: a number is out of range.
        """
        values = {
            row.name: row.read(row.flags[-1], given[row.name])
            for row in self.options
            if row.read is not None and given.get(row.name) is not None
        }
        for limit, needed in (("max_epsilon", "delta"), ("max_delta", "epsilon")):
            if limit in values and values.get(needed) in (None, ()):
                flag, where = f"--{limit.replace('_', '-')}", f"--{needed} {needed[0].upper()}"
                both = [given.get(name) for name in ("max_epsilon", "max_delta")]
                hint = "" if None in both else "write --max-epsilon {} --delta {}".format(*both)
                words = f"{flag} needs the {needed} at which it holds: add {where}"
                raise UsageError(words, hint=hint)
        if self._prepare is not None:
            values = self._prepare(values)
        return Asking(self.name, {**values, **more}, hints)

    def __call__(self, *specs: object, **given: object) -> Result | Results:
        """Answer a question in Python: one answer, or one for each place of a list.

        Raises:
            PrivcalcError: of the kind that says what is wrong.
        """
        from privcalc.commands.result import Result, Results

        ask = self.in_python(given)
        reports = ask(ask.asked(specs))
        if any(is_several(given.get(row.name)) for row in self._places(given)):
            return Results(map(Result, reports))
        return Result(reports[-1])

    @property
    def public(self) -> Callable[..., Result | Results]:
        """The command as a function of Python: what `import privcalc` offers."""
        from inspect import Parameter, Signature, cleandoc
        from textwrap import fill

        def function(*specs: object, **given: object) -> Result | Results:
            return self(*specs, **given)

        parameters = [Parameter("specs", Parameter.VAR_POSITIONAL)]
        lines = ["*specs: what touched the data; several are one sum."]
        for row in (each for each in self.options if each.name not in ON_LINES):
            default = self.defaults.get(row.name) or None
            default = Parameter.empty if row.name in self.needed else default
            parameters.append(Parameter(row.name, Parameter.KEYWORD_ONLY, default=default))
            lines.append(f"{row.name}: {named(row.help.partition(' Repeatable')[0])}")
        listed = [fill(each, 94, subsequent_indent="    ") for each in lines]
        arguments = "\n".join(listed).replace("\n", "\n    ")
        function.__doc__ = f"{named(cleandoc(self.__doc__ or ''))}\n\nArgs:\n    {arguments}\n"
        function.__name__ = function.__qualname__ = self.name
        function.__module__ = "privcalc"
        vars(function)["__signature__"] = Signature(parameters)
        return function

    def in_python(self, given: Mapping[str, object]) -> Asking:
        """Read what a caller in Python gives, and return what answers a question.

        Raises:
            UsageError: as `asking`; or a name is none, or what is given is more than one question.
            DomainError: a number is out of range.
        """
        self._check(given)
        try:
            ask = self.asking(given)
            self._check_places(given, ask.values)
            more = self._alone(ask.values) if self._alone is not None else {}
        except (UsageError, DomainError) as error:
            error.args = (named(error.message), *error.args[1:])
            raise
        return Asking(self.name, {**ask.values, **more})

    def _check(self, given: Mapping[str, object]) -> None:
        """Refuse names, choices and several numbers that one answer does not have."""
        own = {row.name: row for row in self.options if row.name not in ON_LINES}
        for name in (each for each in given if each not in own):
            from privcalc.commands.meant import for_argument

            hint = named(for_argument(name, [*own], self.name))
            raise UsageError(f"{self.name} takes no {name}", hint=hint)
        for name in (each for each in self.needed if each in own and given.get(each) is None):
            hint = "such as runs='geometric:mean=30'"
            raise UsageError(f"{self.name} needs {name}", hint=hint)
        for name, row in own.items():
            # A choice that is no certified answer is none here; a default is not to be taken away.
            choices = [each for each in row.choices if each not in NO_ANSWERS]
            value = given.get(name)
            if choices and isinstance(value, str) and value.replace("_", "-") not in choices:
                raise UsageError(f"{name} is one of {', '.join(choices)}, got {value!r}")

    def _check_places(self, given: Mapping[str, object], values: Values) -> None:
        """Refuse several numbers, or places, that are no list of answers."""
        asked = [row.name for row in self._places(given) if values.get(row.name)]
        for name in asked:
            if len(values[name]) > 1 and not is_several(given[name]):
                words = f"{name} is a text with {len(values[name])} numbers; give a list of them"
                raise UsageError(words)
        if len(asked) > 1:
            raise UsageError("an answer is about a delta or an epsilon; ask for both in turn")

    def _places(self, given: Mapping[str, object]) -> list[Option]:
        """Return the options of which a list has an answer for each of its numbers."""
        one = ("ratio", "orders", "prior", *(() if self.name == "calibrate" else ("fpr",)))
        if given.get("to", "dp") != "dp":
            return []
        return [r for r in self.options if r.kind == TEXTS and r.name not in (*ON_LINES, *one)]


def command(options: str, **more: Any) -> Callable[[Callable[..., Iterable[Report]]], Command]:  # noqa: ANN401
    """Make a command of a function; see `Command`."""
    return lambda function: Command(function, options, **more)


def named(words: str) -> str:
    """Name options as Python does: --max-epsilon E is max_epsilon, --to dp is to='dp'."""
    words = re.sub(r"--to ([a-z]+)", r"to='\1'", words)
    return re.sub(r"--([a-z][a-z-]*)(?: [A-Z]\b)?", lambda found: found[1].replace("-", "_"), words)
