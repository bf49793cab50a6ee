"""The parameters of commands, as Typer reads them."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, get_type_hints

from privcalc.cli import options
from privcalc.cli.output import Output, read_output

if TYPE_CHECKING:
    from collections.abc import Callable


def parameters(function: Callable[..., int]) -> list[Parameter]:
    """Return the parameters of a command, with the options of the output in place of `output`.

    Functions name their declarations without loading them, which plain questions do not need.
    """
    names = {"options": options, "Output": Output}
    found = []
    for each in (function, read_output):
        hints = get_type_hints(each, localns=names, include_extras=True)
        found += [p.replace(annotation=hints[p.name]) for p in signature(each).parameters.values()]
    return [each for each in found if each.annotation is not Output]
