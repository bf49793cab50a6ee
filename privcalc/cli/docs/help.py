"""What `--help` prints: one screen of 80 x 24, examples first; `--help-all` says the rest.

It is written down, too: printing that takes a fifth of the time.
"""

from __future__ import annotations

import inspect
import re
from enum import EnumType
from shutil import get_terminal_size
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Annotated, get_args, get_origin

from typer._click import Context
from typer.core import TyperGroup

from privcalc.cli.commands import load
from privcalc.cli.docs.commands import options, parameters
from privcalc.cli.options import StrictCommand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typer._click import Command

    from privcalc.cli.docs.commands import Option

# One line of a screen of 24 stays for the prompt.
COLUMNS, LINES = 78, 23
EXAMPLES = 3
_NAMES = 20
# Choices that are longer are named, not listed; formats are what people look for.
_CHOICES, _FORMATS = 44, 54
# Narrower ones have no room next to names, and no screen of 24 lines is enough.
_NARROW = 60


class BriefGroup(TyperGroup):
    """The program: its help is one screen, and `--help-all` has that of every command."""

    def get_help(self, ctx: Context) -> str:
        """Return one screen."""
        return brief(self, ctx)

    def full_help(self, ctx: Context) -> str:
        """Return what there is to say."""
        found = [super().get_help(ctx)]
        for name, command in self.commands.items():
            if isinstance(command, BriefCommand):
                inside = Context(command, parent=ctx, info_name=name, **command.context_settings)
                found.append(command.full_help(inside))
        return "\n\n".join(found)


class BriefCommand(StrictCommand):
    """A command the help of which is one screen."""

    def get_help(self, ctx: Context) -> str:
        """Return one screen."""
        return brief(self, ctx)

    def full_help(self, ctx: Context) -> str:
        """Return what there is to say of every option."""
        return super().get_help(ctx)


def brief(command: Command, context: Context) -> str:
    """Return the help of a command, or of the program, as it fits the terminal."""
    width = min(context.terminal_width or get_terminal_size().columns - 2, COLUMNS)
    found = [option for option in options(command) if not {"--help", "--help-all"} & {*option.long}]
    asked = [option for option in found if not option.output]
    output = _listed("Output:", [option for option in found if option.output], width)
    lines = [*_top(command, context, width)]
    end = wrap(_end(context), width)
    commands = [*_commands(command, width)]
    room = LINES - len(lines) - len(commands) - len(output) - len(end) - 2
    # As many options as have room get a line each: the fewer, the longer the list of names.
    kept = next(
        n
        for n in range(len(asked), -1, -1)
        if n == 0 or n + len(_listed("More:", asked[n:], width)) <= room
    )
    if width < _NARROW or not kept:
        kept = len(asked)
    rows = [line for option in asked[:kept] for line in _row(option, width)]
    rest = _listed("More:", asked[kept:], width)
    return "\n".join([*lines, *commands, "Options:", *rows, *rest, *output, "", *end])


def _top(command: Command, context: Context, width: int) -> Iterator[str]:
    """Yield the usage, what the command does, and examples."""
    parts = vars(command)
    yield f"Usage: {' '.join([context.command_path, *command.collect_usage_pieces(context)])}"
    yield ""
    text = inspect.cleandoc(parts["help"] or "").partition("\f")[0]
    first = " ".join(text.split("\n\n")[0].split())
    yield from wrap(first, width)
    yield ""
    yield "Examples:"
    # Those of the program stand in its help, those of a command below it.
    shown = re.findall(r"^ *(privcalc .*(?:(?<=\\)\n.*)*)", parts["epilog"] or text, re.MULTILINE)
    kept: list[str] = []
    for example in shown:
        if len(kept) + len(example.splitlines()) <= EXAMPLES:
            kept += example.splitlines()
    yield from (f"  {line}" for line in kept)
    yield ""


def _commands(command: Command, columns: int) -> Iterator[str]:
    """Yield the commands of the program, each with its line."""
    found = vars(command).get("commands", {})
    if found:
        yield "Commands:"
        width = max(map(len, found))
        for name, each in found.items():
            head = f"  {name:<{width}}  "
            indent = " " * len(head)
            text = head + vars(each)["short_help"]
            yield from (
                [text] if columns >= _NARROW else wrap(text, columns, subsequent_indent=indent)
            )
        yield ""


def _row(option: Option, width: int) -> list[str]:
    """Return the line of one option: the first sentence of its help, as far as there is room.

    In a narrow terminal the sentence stands below the name.
    """
    value = "|".join(option.choices)
    value = value if value and len(value) < _NAMES else option.metavar
    name = ", ".join((*option.short, *option.long)) + f" {value}".rstrip()
    sentence = re.split(r"(?<=[.]) ", option.help)[0]
    if width < _NARROW:
        indent = " " * 6
        below = wrap(sentence, width, initial_indent=indent, subsequent_indent=indent)
        return [f"  {name}", *below]
    head = f"  {name:<{_NAMES}}"
    return [f"{head}  {shorten(sentence, max(width - len(head) - 2, 20), placeholder=' ...')}"]


def _listed(title: str, found: Sequence[Option], width: int) -> list[str]:
    """Return the names of options in a paragraph, with what they take."""
    words = []
    for option in found:
        # `~` holds together what no line break may part.
        name = option.short[0] if option.short else option.long[0]
        value = "|".join(option.choices)
        most = _FORMATS if option.output else _CHOICES
        value = value if value and len(value) <= most else option.metavar
        words.append(f"{name}~{value}" if value else name)
    lines = wrap(", ".join(words), width - 11, break_on_hyphens=False, break_long_words=False)
    heads = [title, *([""] * len(lines))]
    return [f"{h:<9}{line.replace('~', ' ')}" for h, line in zip(heads, lines, strict=False)]


def _end(context: Context) -> str:
    if context.parent is None:
        return "COMMAND --help shows its options, privcalc --help-spec how SPEC is written."
    return "--help-all explains every option, privcalc --help-spec how SPEC is written."


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
                # -q where there is --q is likely a mistake, which Typer's reader explains.
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
