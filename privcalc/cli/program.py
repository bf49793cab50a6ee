"""The Typer application: reads any command line, explains what is wrong with it, or helps."""

from __future__ import annotations

import re
import sys
from inspect import Parameter, Signature
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer._click.exceptions import (
    BadParameter,
    ClickException,
    NoArgsIsHelpError,
    NoSuchOption,
    UsageError,
)
from typer._types import TyperChoice
from typer.core import TyperCommand, TyperGroup

from privcalc import errors
from privcalc.cli.failure import ExitStatus, Failure, complain, shown, wanted_form
from privcalc.cli.output import OUTPUT, read_output
from privcalc.commands import meant
from privcalc.commands.command import COMMANDS, load
from privcalc.commands.options import FLAG, TEXT, TEXTS, Option
from privcalc.commands.values import read_relation
from privcalc.opened import package_text
from privcalc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from typer._click import Command, Context

    from privcalc.commands.command import Command as Asked

    Answering = Callable[[Asked, dict[str, Any], Sequence[str]], int]

HELP = """Certified differential-privacy accounting.

Describe in one line what was done with the data; every answer is a bracket that is proved to
contain the number.

\b
Examples:
  privcalc compose gaussian:sigma=1.1@poisson:q=256/60000@14063 --delta 1e-5
  privcalc calibrate laplace:scale=_@100 --epsilon 2 --delta 1e-6
"""


# fmt: off
# Of the program itself; each prints something and stops. Commands have the last two as well.
PROGRAM = (
    Option("version", "", FLAG, "Print the version."),
    Option("help_spec", "[NAME]", TEXT,
        "Explain the specification language, one name in it, or sampling."),
    Option("schema", "", TEXT,
        "Print a JSON Schema: result, spec, error, certificate.",
        choices=("result", "spec", "error", "certificate")),
    Option("show_completion", "", TEXT,
        "Print the completions for a shell.", choices=("bash", "zsh", "fish")),
    Option("help_all", "", FLAG, "Explain every option."),
    Option("help", "", FLAG, "Show the help and exit.", short="h"),
)
# fmt: on


class Group(TyperGroup):
    """The program: its help is one screen, and `--help-all` has that of every command."""

    def get_help(self, ctx: Context) -> str:  # noqa: ARG002
        """Return one screen."""
        return package_text("cli", "help", "top-level.txt").rstrip("\n")

    def full_help(self, ctx: Context) -> str:
        """Return the help of every option of every command."""
        found = [super().get_help(ctx)]
        for name, command in self.commands.items():
            if isinstance(command, StrictCommand):
                inside = typer.Context(
                    command, parent=ctx, info_name=name, **command.context_settings
                )
                found.append(command.full_help(inside))
        return "\n\n".join(found)


class StrictCommand(TyperCommand):
    """A command that refuses a second value of an option, where the last would win silently."""

    def get_help(self, ctx: Context) -> str:  # noqa: ARG002
        """Return one screen."""
        return package_text("cli", "help", f"{self.name}.txt").rstrip("\n")

    def full_help(self, ctx: Context) -> str:
        """Return the help of every option."""
        return super().get_help(ctx)

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Check the options as written, then read them."""
        names = {name for each in self.get_params(ctx) for name in (*each.opts, each.name)}
        for before, word in pairwise(args):
            if before == "-q" and "--q" in names and word[:1].isdecimal():
                raise errors.UsageError(f"-q is --quiet and takes no value; write --q {word}")
        values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        options = [each for each in order if each.param_type_name == "option"]
        for each in dict.fromkeys(options):
            if vars(each)["is_flag"]:
                continue
            _check_value(each.opts[0], values[str(each.name)], names)
            if options.count(each) > 1 and not vars(each)["multiple"]:
                raise errors.UsageError(f"{each.opts[0]} is given twice; it takes one value")
        return super().parse_args(ctx, args)


def _check_value(flag: str, value: object, names: set[str | None]) -> None:
    """Refuse an option as the value of another: the value was forgotten."""
    for each in value if isinstance(value, list | tuple) else (value,):
        if isinstance(each, str) and each.startswith("-") and each.partition("=")[0] in names:
            raise errors.UsageError(f"{flag} has no value: {each} follows it")


# The names under which shells look for completions.
COMPLETIONS = {"bash": "privcalc.bash", "zsh": "_privcalc", "fish": "privcalc.fish"}


def _language(name: str) -> str:
    from privcalc.spec import describe

    return f"{describe.page(name) if name else describe.overview()}\n"


# What is printed in place of an answer, before anything else is read.
INSTEAD: dict[str, Callable[[Any, Any], str]] = {
    "version": lambda _context, _: f"privcalc {__version__}\n",
    "help_spec": lambda _context, name: _language(name),
    "schema": lambda _context, name: package_text("schema", f"{name}-v1.json"),
    "show_completion": lambda _context, shell: package_text(
        "cli", "completions", COMPLETIONS[shell]
    ),
    "help_all": lambda context, _: f"{context.command.full_help(context)}\n",
}


def _instead(name: str) -> Callable[[typer.Context, Any], None]:
    """Return what Typer calls with the value of an option that prints something and stops."""

    def stop(context: typer.Context, value: str | bool | None) -> None:  # noqa: FBT001
        if value is not None and value is not False:
            sys.stdout.write(INSTEAD[name](context, value))
            raise typer.Exit

    return stop


ANSWERED_HERE = [each for each in PROGRAM if each.name in INSTEAD]


def program(
    names: Iterable[str] = COMMANDS, arguments: Sequence[str] = (), answer: Answering | None = None
) -> Command:
    """Return the parser of the command line, with some commands or with all.

    To load and describe a command takes milliseconds; a question needs one of them.

    Args:
        names: of the commands.
        arguments: the command line that will be parsed, for formats that repeat it.
        answer: answers a line, of which this only reads what it says.
    """
    app = typer.Typer(
        name="privcalc",
        cls=Group,
        help=HELP,
        rich_markup_mode=None,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_with_signature(lambda **_: None, map(_parameter, ANSWERED_HERE)))
    for name in names:
        found = load(name)
        app.command(
            name,
            short_help=COMMANDS[name],
            cls=StrictCommand,
            epilog=found.examples,
            no_args_is_help=True,
        )(_typed(found, arguments, answer))
    return typer.main.get_command(app)


def _typed(
    command: Asked, arguments: Sequence[str], answer: Answering | None
) -> Callable[..., int]:
    """Return a command as a function with the parameters that Typer reads."""

    def typed(**values: object) -> int:
        # What Typer has read and answered it hands on all the same.
        values.pop("help_all")
        given = {name: value for name, value in values.items() if value is not None}
        return ExitStatus.OK if answer is None else answer(command, given, arguments)

    typed.__doc__ = command.text
    return _with_signature(typed, _parameters(command))


def _with_signature(
    function: Callable[..., Any], parameters: Iterable[Parameter]
) -> Callable[..., Any]:
    vars(function)["__signature__"] = Signature([*parameters])
    return function


def _parameters(command: Asked) -> Iterator[Parameter]:
    """Yield what Typer reads of a command, and then of the output."""
    for each in command.options:
        default = Parameter.empty if each.name in command.needed else command.default(each.name)
        yield _parameter(each, default)
    defaults = read_output.__kwdefaults__ or {}
    for each in OUTPUT:
        yield _parameter(each, defaults[each.name])
    yield _parameter(ANSWERED_HERE[-1])


def _parameter(row: Option, default: object = None) -> Parameter:
    """Return a row of the table as a parameter that Typer understands."""
    needed = default is Parameter.empty
    kind: Any = bool if row.kind == FLAG else list[str] if row.kind == TEXTS else str
    if row.kind == FLAG:
        default = False
    elif default is None:
        kind |= None
    settings: dict[str, Any] = {"help": row.help, "metavar": row.metavar or None}
    if row.choices and row.read is not read_relation:
        settings["click_type"] = TyperChoice([*row.choices])
    if row.positional:
        info = typer.Argument(**settings, show_default=False)
    else:
        if row in ANSWERED_HERE:
            settings |= {"callback": _instead(row.name), "is_eager": True}
        info = typer.Option(*row.flags[::-1], **settings, show_default=not needed)
    annotation: Any = Annotated[kind, info]
    return Parameter(row.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def run(arguments: list[str], answer: Answering) -> int:
    """Parse and run, without Typer's own handling of errors (it would exit 1 on a closed pipe)."""
    first = arguments[:1]
    command = program(first if first and first[0] in COMMANDS else COMMANDS, arguments, answer)
    try:
        with command.make_context("privcalc", _with_optional_name(arguments)) as context:
            return int(command.invoke(context) or ExitStatus.OK)
    except typer.Exit as stop:
        return stop.exit_code
    except NoArgsIsHelpError as error:
        complain(error.message)
    except ClickException as error:
        complain(shown(_usage(error, arguments), wanted_form(arguments)))
    return ExitStatus.ERROR


def _with_optional_name(arguments: list[str]) -> list[str]:
    """Give `--help-spec` its optional NAME in the form that Typer can read; refuse a second."""
    option = next((word for word in arguments if word.partition("=")[0] == "--help-spec"), None)
    if option is None:
        return arguments
    place = arguments.index(option)
    before, rest = arguments[:place], arguments[place + 1 :]
    if option == "--help-spec":
        named = bool(rest) and not rest[0].startswith("-")
        option = f"{option}={rest.pop(0) if named else ''}"
    words = [word for word in rest if not word.startswith("-")]
    if words and all(word.startswith("-") for word in before):
        raise errors.UsageError(f"--help-spec takes one NAME, and {words[0]!r} follows it")
    return [*before, option, *rest]


def _usage(error: ClickException, arguments: Sequence[str]) -> Failure:
    """Put a usage error of the parser into one line."""
    context = error.ctx if isinstance(error, UsageError) else None
    message = " ".join(error.format_message().split()).rstrip(".")
    hint = f"see {context.command_path if context else 'privcalc'} --help"
    if isinstance(error, NoSuchOption):
        if context and context.parent is None:
            hint = f"options stand after the command: privcalc COMMAND SPEC {error.option_name}"
        message = error.message
        params = context.command.params if context else []
        hint = (
            meant.for_option(
                error.option_name,
                [name for each in params for name in each.opts],
                str(context.info_name) if context and context.parent else "",
            )
            or hint
        )
    elif context and context.parent is None and message.startswith("No such command"):
        hint = meant.for_command(arguments, COMMANDS) or hint
    elif message == "Missing option '--runs'":
        hint = "such as --runs geometric:mean=30"
    elif isinstance(error, BadParameter):
        value, *choices = re.findall(r"'([\w-]+)'", message.partition(": ")[2]) or [""]
        hint = meant.for_value(value, choices) or hint
    return Failure("usage", message[:1].lower() + message[1:], hint=hint)
