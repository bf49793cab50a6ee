"""The options of the program itself: each prints something, and nothing else is done."""

# No postponed annotations: Typer reads those of a callback at run time.

import sys

import typer

from privcalc import package_data
from privcalc.cli.choices import SchemaName, Shell
from privcalc.cli.docs.brief import BriefCommand, BriefGroup
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
        from privcalc.cli.docs import completion

        _print_and_stop(completion(shell.value, context.command))


def print_full_help(context: typer.Context, value: bool) -> None:  # noqa: FBT001
    """Print all that there is to say of every option."""
    if value and isinstance(context.command, BriefGroup | BriefCommand):
        _print_and_stop(context.command.full_help(context) + "\n")


def _print_and_stop(text: str) -> None:
    sys.stdout.write(text)
    raise typer.Exit
