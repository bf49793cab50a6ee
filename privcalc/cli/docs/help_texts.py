"""What `--help` prints, written down: printing it so takes a fifth of the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer._click import Context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click import Command

# As wide as Typer makes it on a terminal of 80 columns and more.
WIDTH = 78


def help_texts(parser: Command) -> Iterator[tuple[str, str]]:
    """Yield the help of the program, which is named as no command is, then of each command."""
    root = Context(parser, info_name="privcalc", terminal_width=WIDTH, **parser.context_settings)
    yield "top-level", parser.get_help(root) + "\n"
    for name, command in vars(parser)["commands"].items():
        context = Context(command, parent=root, info_name=name, **command.context_settings)
        yield name, command.get_help(context) + "\n"
