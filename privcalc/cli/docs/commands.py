"""The commands and options as plain data: their declarations, and what the parser makes of them."""

from __future__ import annotations

import re
from inspect import signature
from typing import TYPE_CHECKING, get_type_hints

from privcalc.cli import options as declared
from privcalc.cli.output import OPTIONS, Output, read_output
from privcalc.record import record, replace
from privcalc.spec.entry import word_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from inspect import Parameter as Argument

    from typer._click import Command as Parser

    from privcalc.spec.entry import Entry, Parameter


@record
class Option:
    """One option.

    Attributes:
        flags: its spellings, short ones first.
        metavar: what its value is called, or "" for a flag.
        help: its help text.
        choices: the values it takes, if they are few.
        offers: what completions offer for its value.
        default: what holds without it, or "".
        output: whether it is about the output, as all commands have it.
        lines: what each of the offers is, if that is said.
    """

    flags: tuple[str, ...]
    metavar: str
    help: str
    choices: tuple[str, ...]
    offers: tuple[str, ...]
    default: str
    output: bool = False
    lines: tuple[str, ...] = ()

    @property
    def takes_call(self) -> bool:
        """Whether its value is a call, of which its help lists the forms."""
        return bool(_patterns(self))

    @property
    def short(self) -> tuple[str, ...]:
        """Spellings with one dash."""
        return tuple(flag for flag in self.flags if not flag.startswith("--"))

    @property
    def long(self) -> tuple[str, ...]:
        """Spellings with two dashes."""
        return tuple(flag for flag in self.flags if flag.startswith("--"))


@record
class Command:
    """One command, or the program itself (name "").

    Attributes:
        name: as it is typed.
        summary: one line.
        options: in the order of the help.
        takes_spec: whether its arguments are specifications.
    """

    name: str
    summary: str
    options: tuple[Option, ...]
    takes_spec: bool


@record
class Call:
    """What can be called, NAME:KEY=VALUE,..., and with what.

    Attributes:
        kind: "" for a mechanism, "@" for a wrapper, "=" for the value of an option.
        names: its spellings, the one to offer first.
        keys: of its parameters.
        values: for a key the words that its value may be; FILES for the name of a file.
        line: what it is, in a few words.
    """

    kind: str
    names: tuple[str, ...]
    keys: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    line: str = ""


# No word of the language: stands for all files.
FILES = ("/",)


@record
class Program:
    """Everything that completions offer.

    Attributes:
        options: of the program itself.
        commands: in the order of the help.
        calls: mechanisms, wrappers, and what `--runs` takes.
    """

    options: tuple[Option, ...]
    commands: tuple[Command, ...]
    calls: tuple[Call, ...]

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the words that a call of one kind begins with."""
        return tuple(call.names[0] for call in self.calls if call.kind == kind)


def program(parser: Parser) -> Program:
    """Read the parser and the registry."""
    from privcalc.spec.describe import TOPICS
    from privcalc.spec.events.history import OPACUS
    from privcalc.spec.registry import mechanisms, wrappers

    commands = tuple(_command(name, command) for name, command in _commands(parser))
    calls = [_call(entry) for entry in (*mechanisms(), OPACUS, *wrappers())]
    for command in commands:
        for option in command.options:
            calls += _patterns(option)
    # The option that explains a name takes all of them.
    every = {name: call.line for call in calls if call.kind != "=" for name in call.names} | TOPICS
    own = [
        replace(o, offers=(*every,), lines=(*every.values(),)) if "--help-spec" in o.long else o
        for o in options(parser)
    ]
    return Program(tuple(own), commands, tuple(calls))


def _call(entry: Entry) -> Call:
    """Return how a mechanism or wrapper is called."""
    others = (word_text(name) for name in entry.spellings if word_text(name) != entry.spelling)
    return Call(
        "@" if entry.kind == "wrapper" else "",
        (entry.spelling, *others),
        tuple(each.spelling for each in entry.parameters),
        {each.spelling: words for each in entry.parameters if (words := _words(each))},
        entry.line,
    )


def _words(parameter: Parameter) -> tuple[str, ...]:
    """Return the words that a value may be, or none where it is a number."""
    fixed = {"flag": ("true", "false"), "path": FILES}
    return fixed.get(parameter.kind, tuple(word_text(word) for word in parameter.choices))


def _patterns(option: Option) -> list[Call]:
    """Return the calls that the help of an option lists, such as `tnb:shape=S,mean=M`."""
    found = re.findall(r"(?<![@\w])([a-z]+):([a-z]+=[A-Z]+(?:,[a-z]+=[A-Z]+)*)", option.help)
    calls = []
    for name, text in found:
        pairs = dict(pair.split("=") for pair in text.split(","))
        files = {key: FILES for key, value in pairs.items() if value == "FILE"}
        calls.append(Call("=", (name,), tuple(pairs), files))
    return calls


def _commands(root: object) -> Iterator[tuple[str, object]]:
    for name, command in vars(root)["commands"].items():
        if not command.hidden:
            yield name, command


def _command(name: str, command: object) -> Command:
    parts = vars(command)
    arguments = [p for p in parts["params"] if p.param_type_name == "argument"]
    takes_spec = any("SPEC" in (argument.metavar or "") for argument in arguments)
    return Command(name, parts["short_help"].rstrip("."), options(command), takes_spec)


def options(command: object) -> tuple[Option, ...]:
    """Return the options of a command as data, in the order of the help."""
    found = [
        _option(parameter)
        for parameter in vars(command)["params"]
        if parameter.param_type_name == "option" and not parameter.hidden
    ]
    return (*found, Option(("-h", "--help"), "", "Show the help and exit.", (), (), ""))


def _option(parameter: object) -> Option:
    parts = vars(parameter)
    choices = tuple(str(choice) for choice in getattr(parts["type"], "choices", ()))
    default = "" if parts["is_flag"] or parts["default"] is None else str(parts["default"])
    flags = tuple(sorted(parts["opts"], key=len))
    # A choice has no metavar of its own: --show-completion takes a COMPLETION.
    metavar = "" if parts["is_flag"] else parts["metavar"] or flags[-1].split("-")[-1].upper()
    output = parts["name"] in OPTIONS
    return Option(
        flags,
        metavar,
        parts["help"],
        choices,
        FILES if metavar == "FILE" else choices,
        default,
        output,
    )


def parameters(function: Callable[..., int]) -> list[Argument]:
    """Return what Typer reads of a command: options of the output in the place of `output`.

    Functions name their declarations without loading them, which plain questions do not need.
    """
    names = {"options": declared, "Output": Output}
    found = []
    for each in (function, read_output):
        hints = get_type_hints(each, localns=names, include_extras=True)
        found += [p.replace(annotation=hints[p.name]) for p in signature(each).parameters.values()]
    return [each for each in found if each.annotation is not Output]
