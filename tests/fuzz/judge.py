"""Runs a command line in this process, and says what is wrong with what it printed.

Nothing here knows what the right numbers are: only what no answer and no refusal may look like.
"""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import re
import signal
import sys
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from xml.etree import ElementTree as ET

from privcalc.cli.app import main
from privcalc.numerics.work import allowance
from tests.cli.test_cli_schema import validator
from tests.fuzz.lines import Line, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# A number that breaks off after its exponent has begun; a word such as 1e5e5 is no number at all.
BROKEN = re.compile(r"(?<![\w.])-?[0-9]+(?:\.[0-9]+)?e(?![-+]?[0-9]|[a-z])|[0-9]e[-+](?![0-9])")
NAN = re.compile(r"(?<![a-z])nan(?![a-z])", re.IGNORECASE)
INSIDE = ("Traceback (most recent", "internal error", "RuntimeWarning", "DeprecationWarning")
SAID = "privcalc: "
# What is said of an answer is no error: that it is wide, or why, or over a budget.
REMARK = re.compile(r"privcalc: (?:line \d+: )?(?:warning: |note: |over budget: |undecided: )")


class TooLongError(BaseException):
    """A line took more processor time than it may have here; nobody may catch it."""


@dataclass
class Done:
    """What a line did.

    Attributes:
        status: the exit status, or None if it took too long.
        stdout: what it printed.
        stderr: what it complained of.
        seconds: processor time.
    """

    status: int | None
    stdout: str
    stderr: str
    seconds: float


def run(line: Line, seconds: float) -> Done:
    """Run a line in the current directory, and stop it after so much processor time."""
    for name, content in line.files.items():
        Path(name).write_bytes(content)
    held, other = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(each, "utf-8", newline="") for each in (held, other))
    before, stdin = time.process_time(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(line.stdin))
    status: int | None = None
    try:
        with redirect_stdout(out), redirect_stderr(err), limited(seconds), allowance(line.work):
            status = int(main(line.arguments))
    except TooLongError:
        pass
    finally:
        sys.stdin = stdin
    taken = time.process_time() - before
    for name in line.files:
        Path(name).unlink()
    out.flush()
    err.flush()
    said, complained = (each.getvalue().decode() for each in (held, other))
    return Done(status, said, complained, taken)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise an exception when so much processor time is used."""

    def stop(*_: object) -> NoReturn:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    # What is raised while garbage is collected is lost where others watch that.
    gc.disable()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def faults(line: Line, done: Done) -> list[str]:
    """Return what is wrong, in a word or two each; what took too long is not judged."""
    if done.status is None:
        return []
    found = _of_status(line, done)
    both = done.stdout + done.stderr
    found += [f"has {words!r}" for words in INSIDE if words in both]
    written = line.written
    if NAN.search(both) and not NAN.search(written):
        found.append("has nan")
    if BROKEN.search(done.stdout) and not BROKEN.search(written):
        found.append(f"has a broken number {BROKEN.search(done.stdout)!r}")
    form = _form(line)
    if form == "json" and done.stdout:
        found += _of_json(done.stdout)
    if form == "csv" and done.stdout:
        found += _of_rows(list(csv.reader(io.StringIO(done.stdout))), "lower", "upper")
    if form == "table" and done.stdout:
        found += _of_table(done.stdout)
    if form == "junit" and done.stdout:
        found += _of_document(done.stdout)
    return found


def _of_document(stdout: str) -> list[str]:
    """Say whether a report is no XML, or counts what is not there."""
    try:
        root = ET.fromstring(stdout)  # noqa: S314  (it was written here)
    except ET.ParseError as error:
        return [f"no XML: {error}"]
    counted = root.get("tests"), root.get("failures")
    there = len([*root.iter("testcase")]), len([*root.iter("failure")])
    return [] if counted == tuple(map(str, there)) else [f"counts {counted} of {there}"]


def _form(line: Line) -> str:
    """Return the format that is asked for, where the arguments say so plainly."""
    words = line.arguments
    if words[:1] not in (["compose"], ["convert"], ["calibrate"], ["select"], ["subsample"]):
        return ""
    if any(word in ("-h", "--help", "--help-all", "-t", "--terse", "--plot") for word in words):
        return ""
    if "dp-event" in words:
        return ""
    chosen = [words[k + 1] for k, word in enumerate(words[:-1]) if word == "--format"]
    if "--json" in words:
        chosen.append("json")
    return chosen[0] if len(set(chosen)) == 1 else "" if chosen else "table"


def _of_status(line: Line, done: Done) -> list[str]:
    """Say whether the exit status goes with what was printed: 2 with one error and no answer."""
    said = [row for row in done.stderr.splitlines() if row.startswith(SAID)]
    errors = [row for row in said if not REMARK.match(row)]
    rows = [row for row in done.stderr.splitlines() if row.startswith(('{"schema"', "::error"))]
    errors += [row for row in rows if row.startswith("::") or '"privcalc/error/v1"' in row]
    found = []
    for row in errors:
        if row.startswith("{"):
            found += [f"error: {each}" for each in _invalid(row, "error")]
        elif len(row) < len(SAID) + 5:
            found.append(f"an error that says nothing: {row!r}")
    if done.status not in (0, 1, 2):
        found.append(f"exit status {done.status}")
    if line.streams:
        if (done.status == 2) != bool(errors):
            found.append(f"exit status {done.status} with {len(errors)} errors")
    elif done.status == 2:
        if done.stdout:
            found.append("an error and an answer")
        # Without any argument there is help, which is no error.
        if len(errors) != 1 and not done.stderr.startswith("Usage:"):
            found.append(f"{len(errors)} errors: {errors!r}")
    elif errors:
        found.append(f"exit status {done.status} with an error: {errors!r}")
    return found


def _of_json(stdout: str) -> list[str]:
    return [each for row in stdout.splitlines() for each in _invalid(row, "result")]


def _invalid(row: str, schema: str) -> list[str]:
    """Return what is wrong with one object."""
    try:
        value = json.loads(row, parse_constant=_constant)
    except ValueError as error:
        return [f"no JSON: {error}"]
    found = [f"{schema}: {each.message[:200]}" for each in validator(schema).iter_errors(value)]
    return found + _inverted(value)


def _constant(name: str) -> NoReturn:
    raise ValueError(f"the constant {name}")


def _inverted(value: Any) -> list[str]:
    """Return the brackets in an object whose lower end is above the upper one."""
    if isinstance(value, list):
        return [each for part in value for each in _inverted(part)]
    if not isinstance(value, dict):
        return []
    found = [each for part in value.values() for each in _inverted(part)]
    low, high = value.get("lower"), value.get("upper")
    first, second = _number(low), _number(high)
    if first is not None and second is not None and first > second:
        found.append(f"inverted: {value}")
    return found


def _number(value: Any) -> float | None:
    """Return a number of an answer; None of what is none."""
    if value in ("Infinity", "-Infinity"):
        return float(value)
    return value if isinstance(value, int | float) else None


def _of_table(stdout: str) -> list[str]:
    """Return the rows of a table whose lower end is above the upper one."""
    found = []
    for block in stdout.split("\n\n"):
        rows = [re.split(r"  +", row.strip()) for row in block.splitlines()]
        for k, header in enumerate(rows[0] if rows else []):
            if header.endswith("lower bound"):
                other = header.removesuffix("lower bound") + "upper bound"
                found += _of_rows(rows, header, other, place=k)
    return found


def _of_rows(rows: list[list[str]], low: str, high: str, place: int | None = None) -> list[str]:
    """Return what is inverted in two columns of a table with a header."""
    if not rows or high not in rows[0]:
        return []
    first = rows[0].index(low) if place is None else place
    second = rows[0].index(high)
    found = []
    for row in rows[1:]:
        if len(row) != len(rows[0]):
            continue
        try:
            ends = float(row[first]), float(row[second])
        except ValueError:
            continue
        found += [] if ends[0] <= ends[1] else [f"inverted: {row}"]
    return found


@dataclass
class Report:
    """What a campaign has found.

    Attributes:
        found: number of the line, the line, and what was wrong with it.
        late: numbers of the lines that took too long.
        statuses: how many lines ended so.
        slowest: seconds and number.
    """

    found: list[tuple[int, Line, list[str]]]
    late: list[int]
    statuses: dict[int | None, int]
    slowest: list[tuple[float, int]]


def campaign(seed: int, numbers: range, seconds: float, directory: Path) -> Report:
    """Run lines with these numbers in a directory of their own."""
    report, here = Report([], [], {}, []), Path.cwd()
    os.chdir(directory)
    try:
        for number in numbers:
            line = line_of(seed, number)
            done = run(line, seconds)
            report.statuses[done.status] = report.statuses.get(done.status, 0) + 1
            report.slowest = sorted([*report.slowest, (done.seconds, number)])[-20:]
            if done.status is None:
                report.late.append(number)
            if wrong := faults(line, done):
                report.found.append((number, line, wrong))
    finally:
        os.chdir(here)
    return report
