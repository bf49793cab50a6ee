"""Fuzz the command line at length: `python -m tests.fuzz SEED FIRST LAST`.

One line of the campaign is shown with all that it prints by `python -m tests.fuzz SEED NUMBER`.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from pathlib import Path

from tests.fuzz.judge import campaign, faults, run
from tests.fuzz.lines import line_of

# Processor time of one line.
SECONDS = 6.0


def one(seed: int, number: int) -> None:
    """Show a line, what it prints, and what is wrong with it."""
    line = line_of(seed, number)
    done = run(line, 10 * SECONDS)
    print("privcalc", ascii(shlex.join(line.arguments)))
    for name, content in {"stdin": line.stdin, **line.files}.items():
        print(f"{name}: {content!r}")
    print(done.stdout, done.stderr, sep="\n")
    print(f"status {done.status}, {done.seconds:.2f} s", *faults(line, done), sep="\n")


def many(seed: int, first: int, last: int) -> None:
    """Run a campaign and show what was found."""
    with tempfile.TemporaryDirectory() as directory:
        report = campaign(seed, range(first, last), SECONDS, Path(directory))
    print(f"seed {seed}, lines {first} to {last}: {report.statuses}")
    print(f"slowest {report.slowest}")
    for number, line, wrong in report.found:
        print(f"{seed} {number}: {line.arguments!a}", line.stdin, line.files, sep="\n    ")
        print(f"    {wrong!a}")


if __name__ == "__main__":
    values = [int(each) for each in sys.argv[1:]]
    # Output is that of a terminal of 80 columns, whoever starts this.
    os.environ["COLUMNS"] = "80"
    if len(values) == 3:
        many(*values)
    else:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            one(*values)
