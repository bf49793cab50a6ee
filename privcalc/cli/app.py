"""The one place where an outcome becomes an exit status."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from privcalc.cli.commands import call
from privcalc.cli.exit_status import ExitStatus
from privcalc.cli.failure import failure, shown, wanted_form, wants_traceback
from privcalc.cli.plain import read_plainly
from privcalc.cli.streams import abandon_output, complain, open_closed_streams

if TYPE_CHECKING:
    from collections.abc import Sequence


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
