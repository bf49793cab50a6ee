"""What `--help` prints, written down: printing it so takes a fifth of the time."""

from __future__ import annotations

from enum import EnumType
from typing import TYPE_CHECKING, Annotated, get_args, get_origin

from typer._click import Context

from privcalc.cli.commands import load
from privcalc.cli.parameters import parameters

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


def plain_options(parser: Command) -> Iterator[str]:
    """Yield a line for every option that is read without Typer: its command, parameter and kind."""
    for name, command in vars(parser)["commands"].items():
        hints = {each.name: each.annotation for each in parameters(getattr(load(name), name))}
        flags = {flag for each in command.params for flag in each.opts}
        for each in command.params:
            if each.name not in hints:
                continue
            kind = _kind(hints[each.name])
            spelled = ["SPEC"] if each.param_type_name == "argument" else each.opts
            for flag in spelled:
                # -q beside --q is likely a mistake, which Typer's reader explains.
                if f"-{flag}" not in flags:
                    yield f"{name} {flag} {each.name} {kind}\n"


def _kind(hint: object) -> str:
    """Name the type of a parameter: `flag`, `text`, `texts`, or the class of its choices."""
    plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    parts = {plain, *get_args(plain)}
    chosen = next((each for each in parts if isinstance(each, EnumType)), None)
    if chosen is not None:
        return chosen.__name__
    return "flag" if plain is bool else "texts" if list[str] in parts else "text"
