"""The Typer application, and the one place where an outcome becomes an exit status."""

# No postponed annotations: Typer reads them at run time.

import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer
from typer._click import Command
from typer._click.exceptions import ClickException, NoArgsIsHelpError, UsageError

from privcalc import errors
from privcalc.cli.exit_status import ExitStatus
from privcalc.cli.failure import Failure, failure, shown, wanted_form, wants_traceback
from privcalc.cli.options import SchemaName, Shell
from privcalc.cli.streams import abandon_output, complain, open_closed_streams
from privcalc.cli.strict import StrictCommand
from privcalc.cli.topics import print_completion, print_language, print_schema, print_version

HELP = """Certified differential-privacy accounting.

Describe what touched the data in one line; every answer is a bracket that is proved to contain
the number.

\b
  privcalc compose gaussian:sigma=1.1@poisson:q=256/60000@14063 --delta 1e-5
"""

# Each is a function of the same name in a module of the same name; the order is that of the help.
COMMANDS = {
    "compose": "What the whole costs: epsilon, delta or the profile.",
    "convert": "One guarantee in another language.",
    "subsample": "What sampling buys: the amplified Renyi curve.",
    "select": "The best of a random number of runs: private selection.",
    "calibrate": "The value of a hole that meets a target.",
}


def program(names: Iterable[str] = COMMANDS) -> Command:
    """Return the parser of the command line, with some commands or with all.

    To load and describe a command takes milliseconds; a question needs one of them.
    """
    app = typer.Typer(
        name="privcalc",
        help=HELP,
        rich_markup_mode=None,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(privcalc)
    for name in names:
        module = import_module(f"privcalc.cli.commands.{name}")
        app.command(
            name,
            short_help=COMMANDS[name],
            cls=StrictCommand,
            epilog=module.EXAMPLES,
            no_args_is_help=True,
        )(getattr(module, name))
    return typer.main.get_command(app)


def privcalc(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True),
    ] = False,
    help_spec: Annotated[
        str | None,
        typer.Option(
            "--help-spec",
            metavar="[NAME]",
            help="Explain the specification language, or one mechanism or wrapper of it.",
            callback=print_language,
            is_eager=True,
        ),
    ] = None,
    schema: Annotated[
        SchemaName | None,
        typer.Option("--schema", help="Print a JSON Schema.", callback=print_schema, is_eager=True),
    ] = None,
    show_completion: Annotated[
        Shell | None,
        typer.Option(
            "--show-completion",
            help="Print the completions for a shell.",
            callback=print_completion,
            is_eager=True,
        ),
    ] = None,
) -> None:
    """Hold the options of the program itself; each prints something and stops."""


def main(arguments: Sequence[str]) -> int:
    """Run the command line; return the exit status. No exception leaves this function."""
    # numpy and scipy each start a BLAS thread pool when imported. Nothing here uses BLAS, and
    # without the pools a run takes half the time. The user's own setting holds.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    open_closed_streams()
    try:
        status = _run(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_output()
        return ExitStatus.OK
    except KeyboardInterrupt:
        abandon_output()
        return ExitStatus.INTERRUPTED
    except NoArgsIsHelpError as error:
        return _report(error.message)
    except ClickException as error:
        problem = _usage(error)
    except Exception as error:  # noqa: BLE001  (an uncaught one would exit 1: over budget)
        if isinstance(error, OSError):
            abandon_output()
        problem = failure(error)
        if problem.code == "internal" and wants_traceback(arguments):
            _report(traceback.format_exc().rstrip("\n"))
    else:
        return status
    return _report(shown(problem, wanted_form(arguments)))


def _report(text: str) -> ExitStatus:
    complain(text)
    return ExitStatus.ERROR


def _run(arguments: list[str]) -> int:
    """Parse and run, without Typer's own handling of errors (it would exit 1 on a closed pipe)."""
    first = arguments[:1]
    command = program(first if first and first[0] in COMMANDS else COMMANDS)
    try:
        with command.make_context("privcalc", _with_optional_name(arguments)) as context:
            return int(command.invoke(context) or ExitStatus.OK)
    except typer.Exit as stop:
        return stop.exit_code


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


def _usage(error: ClickException) -> Failure:
    """Put a usage error of the parser into one line."""
    path = error.ctx.command_path if isinstance(error, UsageError) and error.ctx else "privcalc"
    message = " ".join(error.format_message().split()).rstrip(".")
    return Failure("usage", message[:1].lower() + message[1:], hint=f"see {path} --help")
