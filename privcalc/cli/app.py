"""The Typer application, and the one place where an outcome becomes an exit status."""

# No postponed annotations: Typer reads them at run time.

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError, UsageError

from privcalc.cli import compose
from privcalc.cli.exit_status import ExitStatus
from privcalc.cli.failure import Failure, failure, shown, wanted_form, wants_traceback
from privcalc.cli.options import SchemaName, Shell
from privcalc.cli.topics import print_completion, print_language, print_schema, print_version

HELP = """Certified differential-privacy accounting.

Describe what touched the data in one line; every answer is a bracket that is proved to contain
the number.

\b
  privcalc compose gaussian:sigma=1.1@poisson:q=256/60000@14063 --delta 1e-5
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
app.command(
    "compose",
    short_help="What the whole costs: epsilon, delta or the profile.",
    epilog=compose.EXAMPLES,
    no_args_is_help=True,
)(compose.compose)


@app.callback()
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
    _open_closed_streams()
    try:
        status = _run(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_output()
        return ExitStatus.OK
    except KeyboardInterrupt:
        _abandon_output()
        return ExitStatus.INTERRUPTED
    except NoArgsIsHelpError as error:
        sys.stderr.write(f"{error.message}\n")
        return ExitStatus.ERROR
    except ClickException as error:
        problem = _usage(error)
    except Exception as error:  # noqa: BLE001  (an uncaught one would exit 1: over budget)
        if isinstance(error, OSError):
            _abandon_output()
        problem = failure(error)
        if problem.code == "internal" and wants_traceback(arguments):
            traceback.print_exc()
    else:
        return status
    sys.stderr.write(shown(problem, wanted_form(arguments)) + "\n")
    return ExitStatus.ERROR


def _run(arguments: list[str]) -> int:
    """Parse and run, without Typer's own handling of errors (it would exit 1 on a closed pipe)."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("privcalc", _with_optional_name(arguments)) as context:
            return int(command.invoke(context) or ExitStatus.OK)
    except typer.Exit as stop:
        return stop.exit_code


def _with_optional_name(arguments: list[str]) -> list[str]:
    """Give `--help-spec` its optional NAME in the form that Typer can read."""
    if "--help-spec" not in arguments:
        return arguments
    place = arguments.index("--help-spec")
    name = arguments[place + 1 : place + 2]
    if name and name[0].startswith("-"):
        name = []
    rest = arguments[place + 1 + len(name) :]
    return [*arguments[:place], f"--help-spec={''.join(name)}", *rest]


def _usage(error: ClickException) -> Failure:
    """Put a usage error of the parser into one line."""
    path = error.ctx.command_path if isinstance(error, UsageError) and error.ctx else "privcalc"
    message = " ".join(error.format_message().split()).rstrip(".")
    return Failure("usage", message[:1].lower() + message[1:], hint=f"see {path} --help")


def _open_closed_streams() -> None:
    """Give a caller that closed a stream one that goes nowhere."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  (until the process ends)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115


def _abandon_output() -> None:
    """Let what is still buffered go nowhere, so that the interpreter can flush it at its end."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        # Standard output is no file (a test), or there is none: nothing will be flushed.
        return
