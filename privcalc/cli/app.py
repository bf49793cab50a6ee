"""A command line becomes an exit status: read without Typer where it is plain, and answered.

To load Typer takes as long as half of numpy. `help/option-table.txt` says what a plain line may
have in it, written by the generator of documents from the declarations of the options.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from privcalc import package_data
from privcalc.cli import choices
from privcalc.cli.commands import COMMANDS, call, load
from privcalc.cli.failure import (
    ExitStatus,
    abandon_output,
    complain,
    failure,
    open_closed_streams,
    shown,
    wanted_form,
    wants_traceback,
)
from privcalc.cli.output import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def read_plainly(
    arguments: Sequence[str],
) -> tuple[Callable[..., int], dict[str, object]] | None:
    """Return the function that a command line asks for and its arguments.

    None where Typer has to say what is meant or wrong: an option that is unknown, or is given
    twice, or has no value or one that begins as options do; a name that is no choice; a SPEC that
    is missing or one too many.
    """
    name, words = "".join(arguments[:1]), iter(arguments[1:])
    if name not in COMMANDS:
        return None
    table = package_data.read("cli", "help", "option-table.txt").splitlines()
    rows = [line.split() for line in table if line.startswith(f"{name} ")]
    known = {option: (parameter, kind) for _, option, parameter, kind in rows}
    found: dict[str, Any] = {}
    for word in words:
        option, joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word == "-" or word[:1] not in ("-", ""):
            option, value = "SPEC", word
        parameter, kind = known.get(option, ("", ""))
        if kind == "flag":
            read: object = None if joined else True
        else:
            if option != "SPEC":
                value = value if joined else next(words, "")
                # A number below zero is no option, but a value that was forgotten looks like one.
                value = "" if value.startswith("-") else value
            read = _read(kind, value) if value else None
        if read is None or (parameter in found and kind != "texts"):
            return None
        found[parameter] = [*found.get(parameter, ()), read] if kind == "texts" else read
    function = getattr(load(name), name)
    needed = {parameter for parameter, _ in known.values()} - function.__kwdefaults__.keys()
    if "--file" in known and "file" not in found:
        # A file has what is else written as SPEC.
        needed.add(known["SPEC"][0])
    return (function, found) if needed <= found.keys() | OPTIONS else None


def _read(kind: str, value: str) -> object:
    """Return a value as the function takes it: text, or one of a choice; None if it is neither."""
    if kind in ("text", "texts"):
        return value
    return next((each for each in getattr(choices, kind, ()) if each.value == value), None)


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
    except Exception as error:  # noqa: BLE001  (an uncaught one would exit 1: over budget)
        if isinstance(error, OSError):
            abandon_output()
        problem = failure(error)
        if problem.code == "internal" and wants_traceback(arguments):
            from traceback import format_exc

            complain(format_exc().rstrip("\n"))
        complain(shown(problem, wanted_form(arguments)))
        return ExitStatus.ERROR
    return status


def _run(arguments: list[str]) -> int:
    """Read what is asked, the quick way or with Typer, and answer it."""
    plain = read_plainly(arguments)
    if plain is None:
        from privcalc.cli.program import run

        return run(arguments)
    function, values = plain
    return call(function, values, arguments)
