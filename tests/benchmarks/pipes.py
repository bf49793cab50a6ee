"""Random results of every command piped into every command: the guarantee, or a refusal.

Run `python -m tests.benchmarks.pipes --n 200 --seed 1`; with `--from` and `--into` it is one pair.
It asks what `tests/cli/test_cli_pipes.py` does, in this process, of more results and others. It
prints every fault and one line a pair; the exit status is 1 if there is any fault.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import sys
import time
import traceback
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING

from privcalc.cli.app import main as command_line
from tests.cli.test_cli_pipes import COMMANDS, check_pipe, next_command, results
from tests.conftest import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.test_cli_pipes import Printed


def run(*arguments: str, stdin: str | bytes = b"", terminal: bool = False) -> Outcome:
    """Run the command line in this process."""
    del terminal
    content = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(content))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = command_line(arguments)
    finally:
        sys.stdin = before
    return Outcome(int(status), _written(out), _written(err))


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def faults(command: str, following: str, number: int, seed: str) -> int:
    """Pipe so many results of one command into another; print the faults and return their number.

    Every result has a source of chance of its own, so that a fault is found again by its seed.
    """
    start, slowest, answered, found = time.process_time(), 0.0, 0, 0
    for index in range(number):
        name = f"{seed} {command} {following} {index}"
        rng = random.Random(name)
        before = time.process_time()
        stream: Iterator[Printed] = results(command, rng, run, plain=following == "select")
        try:
            options = next_command(following, rng)
            answered += check_pipe(next(stream), following, options, run)
        except Exception:  # noqa: BLE001  (an internal error is a fault, too)
            found += 1
            print(f"fault: {name}\n{traceback.format_exc(limit=-1)}", flush=True)
        slowest = max(slowest, time.process_time() - before)
    print(
        f"{command} into {following}: {number} results, {answered} answered,"
        f" {number - answered - found} refused, {found} faults;"
        f" {time.process_time() - start:.0f} s, the slowest {slowest:.1f} s",
        flush=True,
    )
    return found


def main() -> int:
    """Ask every pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--from", dest="command", choices=COMMANDS)
    parser.add_argument("--into", dest="following", choices=COMMANDS)
    options = parser.parse_args()
    os.environ["NO_COLOR"] = "1"
    total = sum(
        faults(command, following, options.n, options.seed)
        for command in COMMANDS
        for following in COMMANDS
        if options.command in (None, command) and options.following in (None, following)
    )
    print(f"{total} faults")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
