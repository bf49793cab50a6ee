"""A command line becomes an exit status: read without Typer where it is plain, and answered.

To load Typer takes as long as half of numpy: what it would read in the same way is read here, from
the table of options.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

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
from privcalc.cli.options import FLAG, TEXTS, keywords, option
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
    function = getattr(load(name), name)
    own = [option(name, each) for each in (*keywords(function), *OPTIONS) if each != "output"]
    known = {"SPEC" if each.positional else flag: each for each in own for flag in each.flags}
    if "--q" in known:
        # -q is likely a mistake, which Typer's reader explains.
        del known["-q"]
    found: dict[str, Any] = {}
    for word in words:
        flag, joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word == "-" or word[:1] not in ("-", ""):
            flag, value = "SPEC", word
        elif flag in known and known[flag].kind != FLAG:
            value = value if joined else next(words, "")
            # A number below zero is no option, but a value that was forgotten looks like one.
            value = "" if value.startswith("-") else value
        each = known.get(flag)
        if each is None or (each.name in found and each.kind != TEXTS):
            return None
        if each.kind == FLAG and not joined:
            found[each.name] = True
        elif not value or each.kind == FLAG or (each.choices and value not in each.choices):
            return None
        else:
            found[each.name] = [*found.get(each.name, ()), value] if each.kind == TEXTS else value
    needed = {each.name for each in own} - function.__kwdefaults__.keys()
    if "--file" in known and "file" not in found:
        # A file has what is else written as SPEC.
        needed.add(known["SPEC"].name)
    return (function, found) if needed <= {*found, *OPTIONS} else None


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
