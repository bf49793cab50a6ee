"""The commands and options as plain data, read from the parser of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click import Command as Parser


@record
class Option:
    """One option.

    Attributes:
        flags: its spellings, short ones first.
        metavar: what its value is called, or "" for a flag.
        help: its help text.
        choices: the values it takes, if they are few.
        default: what holds without it, or "".
    """

    flags: tuple[str, ...]
    metavar: str
    help: str
    choices: tuple[str, ...]
    default: str

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
class Program:
    """Everything that completions offer.

    Attributes:
        options: of the program itself.
        commands: in the order of the help.
        mechanisms: the words that a specification can begin with.
    """

    options: tuple[Option, ...]
    commands: tuple[Command, ...]
    mechanisms: tuple[str, ...]


def program(parser: Parser) -> Program:
    """Read the parser and the registry."""
    from privcalc.spec.describe import rows

    commands = tuple(_command(name, command) for name, command in _commands(parser))
    words = tuple(row.name for row in rows() if row.kind == "mechanism")
    return Program(_options(parser), commands, words)


def _commands(root: object) -> Iterator[tuple[str, object]]:
    for name, command in vars(root)["commands"].items():
        if not command.hidden:
            yield name, command


def _command(name: str, command: object) -> Command:
    parts = vars(command)
    arguments = [p for p in parts["params"] if p.param_type_name == "argument"]
    takes_spec = any("SPEC" in (argument.metavar or "") for argument in arguments)
    return Command(name, parts["short_help"].rstrip("."), _options(command), takes_spec)


def _options(command: object) -> tuple[Option, ...]:
    found = [
        _option(parameter)
        for parameter in vars(command)["params"]
        if parameter.param_type_name == "option" and not parameter.hidden
    ]
    return (*found, Option(("-h", "--help"), "", "Show the help and exit.", (), ""))


def _option(parameter: object) -> Option:
    parts = vars(parameter)
    choices = tuple(str(choice) for choice in getattr(parts["type"], "choices", ()))
    default = "" if parts["is_flag"] or parts["default"] is None else str(parts["default"])
    flags = tuple(sorted(parts["opts"], key=len))
    # A choice has no metavar of its own: --show-completion takes a COMPLETION.
    metavar = "" if parts["is_flag"] else parts["metavar"] or flags[-1].split("-")[-1].upper()
    return Option(flags, metavar, parts["help"], choices, default)
