"""The five commands: options in one file, what is asked and reported in its twin."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privcalc.cli.output import OPTIONS, read_output
from privcalc.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

# Each is a function of the same name in a module of the same name; the order is that of the help.
COMMANDS = {
    "compose": "What the whole costs: epsilon, delta or the profile.",
    "convert": "One guarantee in another language.",
    "subsample": "What sampling buys: the amplified Renyi curve.",
    "select": "The best of a random number of runs: private selection.",
    "calibrate": "The value of a hole that meets a target.",
}


def load(name: str) -> ModuleType:
    """Return the module of a command: a question needs one of them."""
    return import_module(f"{__name__}.{name}")


def call(
    function: Callable[..., int], values: dict[str, Any], arguments: Sequence[str] = ()
) -> int:
    """Answer a command.

    Args:
        function: the command.
        values: what its options are; those that have a default may be left out.
        arguments: the command line, for formats that repeat it.
    """
    output = read_output(**{name: values[name] for name in OPTIONS & values.keys()})
    output = replace(output, command=tuple(arguments))
    own = {name: value for name, value in values.items() if name not in OPTIONS}
    return function(output=output, **own)
