"""The Typer application: reads any command line, explains what is wrong with it, or helps."""

# No postponed annotations: Typer reads them at run time.

import sys
from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, Signature
from typing import Annotated

import typer
from typer._click import Command
from typer._click.exceptions import (
    BadParameter,
    ClickException,
    NoArgsIsHelpError,
    NoSuchOption,
    UsageError,
)
from typer.models import OptionInfo

from privcalc import errors, package_data
from privcalc.cli import meant
from privcalc.cli.choices import SchemaName, Shell
from privcalc.cli.commands import COMMANDS, call, load
from privcalc.cli.docs.commands import parameters
from privcalc.cli.docs.help import BriefCommand, BriefGroup
from privcalc.cli.failure import ExitStatus, Failure, complain, shown, wanted_form
from privcalc.version import __version__


def print_version(value: bool) -> None:  # noqa: FBT001  (Typer calls it)
    """Print the version."""
    if value:
        _print_and_stop(f"privcalc {__version__}\n")


def print_language(name: str | None) -> None:
    """Print the specification language, or one mechanism or wrapper."""
    if name is not None:
        from privcalc.spec import describe

        text = describe.page(name) if name else describe.overview()
        _print_and_stop(text + "\n")


def print_schema(name: SchemaName | None) -> None:
    """Print a JSON Schema."""
    if name is not None:
        _print_and_stop(package_data.read("schema", f"{name.value}-v1.json"))


def print_completion(context: typer.Context, shell: Shell | None) -> None:
    """Print the completions for a shell."""
    if shell is not None:
        from privcalc.cli.docs.completions import completion

        _print_and_stop(completion(shell.value, context.command))


def print_full_help(context: typer.Context, value: bool) -> None:  # noqa: FBT001
    """Print all that there is to say of every option."""
    if value and isinstance(context.command, BriefGroup | BriefCommand):
        _print_and_stop(context.command.full_help(context) + "\n")


def _print_and_stop(text: str) -> None:
    sys.stdout.write(text)
    raise typer.Exit


# No postponed annotations: Typer reads them at run time.


HELP = """Certified differential-privacy accounting.

Describe in one line what was done with the data; every answer is a bracket that is proved to
contain the number.

\b
Examples:
  privcalc compose gaussian:sigma=1.1@poisson:q=256/60000@14063 --delta 1e-5
  privcalc calibrate laplace:scale=_@100 --epsilon 2 --delta 1e-6
  privcalc convert gaussian:sigma=2 --to tradeoff --plot
"""


def program(names: Iterable[str] = COMMANDS, arguments: Sequence[str] = ()) -> Command:
    """Return the parser of the command line, with some commands or with all.

    To load and describe a command takes milliseconds; a question needs one of them.

    Args:
        names: of the commands.
        arguments: the command line that will be parsed, for formats that repeat it.
    """
    app = typer.Typer(
        name="privcalc",
        cls=BriefGroup,
        help=HELP,
        rich_markup_mode=None,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(privcalc)
    for name in names:
        module = load(name)
        app.command(
            name,
            short_help=COMMANDS[name],
            cls=BriefCommand,
            epilog=module.EXAMPLES,
            no_args_is_help=True,
        )(_typed(getattr(module, name), arguments))
    return typer.main.get_command(app)


def _typed(function: Callable[..., int], arguments: Sequence[str]) -> Callable[..., int]:
    """Return a command as a function with the parameters that Typer reads."""

    def typed(**values: object) -> int:
        # What Typer has read and answered it hands on all the same.
        values.pop(FULL_HELP.name)
        return call(function, values, arguments)

    typed.__doc__ = function.__doc__
    vars(typed)["__signature__"] = Signature([*parameters(function), FULL_HELP])
    return typed


def _instead(
    flag: str, text: str, callback: Callable[..., None], metavar: str | None = None
) -> OptionInfo:
    """Declare an option that prints something, before anything else is read."""
    found: OptionInfo = typer.Option(
        flag, metavar=metavar, help=text, callback=callback, is_eager=True
    )
    return found


# Not handed on to the command.
FullHelp = Annotated[
    bool,
    typer.Option(
        "--help-all",
        help="Explain every option.",
        callback=print_full_help,
        is_eager=True,
        expose_value=False,
    ),
]
FULL_HELP = Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=FullHelp)
SCHEMA_HELP = f"Print a JSON Schema: {', '.join(SchemaName)}."
SPEC_HELP = "Explain the specification language, one name in it, or sampling."


def privcalc(
    *,
    version: Annotated[bool, _instead("--version", "Print the version.", print_version)] = False,
    help_spec: Annotated[
        str | None, _instead("--help-spec", SPEC_HELP, print_language, "[NAME]")
    ] = None,
    schema: Annotated[SchemaName | None, _instead("--schema", SCHEMA_HELP, print_schema)] = None,
    show_completion: Annotated[
        Shell | None,
        _instead("--show-completion", "Print the completions for a shell.", print_completion),
    ] = None,
    help_all: FullHelp = False,
) -> None:
    """Hold the options of the program itself; each prints something and stops."""


def run(arguments: list[str]) -> int:
    """Parse and run, without Typer's own handling of errors (it would exit 1 on a closed pipe)."""
    first = arguments[:1]
    command = program(first if first and first[0] in COMMANDS else COMMANDS, arguments)
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
        hint = meant.for_command(arguments) or hint
    elif message == "Missing option '--runs'":
        hint = "such as --runs geometric:mean=30"
    elif isinstance(error, BadParameter):
        hint = meant.for_value(message) or hint
    return Failure("usage", message[:1].lower() + message[1:], hint=hint)
