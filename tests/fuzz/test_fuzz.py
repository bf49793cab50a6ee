"""Whatever is written, the answer is one: never a traceback, a NaN or a bracket upside down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fuzz.judge import Done, campaign, faults, run
from tests.fuzz.lines import Line, line_of

if TYPE_CHECKING:
    from pathlib import Path

# Of the lines that each test runs; a failure prints it with the number of the line, and
# `python -m tests.fuzz SEED NUMBER` shows that line.
SEED = 36
FEW, MANY = 100, 20_000
# Processor time of one line. What takes longer is left to the tests of work.
SECONDS = 1.0
ALL = Line(["compose", "pure:epsilon=1", "--delta", "0", "--json"])


def _clean(numbers: range, directory: Path) -> None:
    """Run lines, and show what is wrong with any of them."""
    print(f"seed {SEED}, lines {numbers.start} to {numbers.stop}")
    report = campaign(SEED, numbers, SECONDS, directory)
    print(f"exit statuses {report.statuses}, stopped {report.late}")
    for number, line, wrong in report.found:
        print(f"python -m tests.fuzz {SEED} {number}", line, *wrong, sep="\n  ")
    assert not report.found
    # A generator of which nothing is answered, or nothing refused, tests nothing.
    assert min(report.statuses[0], report.statuses[2]) > 0.1 * len(numbers)


def test_few_lines(tmp_path: Path) -> None:
    """Each ends with an answer, or with one error that says what is wrong."""
    _clean(range(FEW), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_many_lines(part: int, tmp_path: Path) -> None:
    """So does each of 20,000, in parts that may run side by side."""
    size = MANY // 8
    _clean(range(FEW + part * size, FEW + (part + 1) * size), tmp_path)


def test_lines_repeat() -> None:
    """A line is the same wherever it is drawn, so that a number says which one it was."""
    assert all(line_of(SEED, number) == line_of(SEED, number) for number in range(40))


@pytest.mark.parametrize(
    ("status", "stdout", "stderr", "said"),
    [
        (0, '{"epsilon": NaN}\n', "", "no JSON: the constant NaN"),
        (0, '{"x": {"lower": 2, "upper": 1.5}}\n', "", "inverted"),
        (0, '{"x": [{"lower": "Infinity", "upper": 3}]}\n', "", "inverted"),
        (0, '{"schema": 1}\n', "", "result: "),
        (1, "", "privcalc: no such thing\n", "exit status 1 with an error"),
        (2, "", "", "0 errors"),
        (2, "", "privcalc: one\nprivcalc: two\n", "2 errors"),
        (2, "1.5\n", '{"schema": "privcalc/error/v1"}\n', "an error and an answer"),
        (2, "", '{"schema": "privcalc/error/v1", "code": "x"}\n', "error: "),
        (2, "", "privcalc: internal error: KeyError: 3\n", "internal error"),
        (2, "", "Traceback (most recent call last)\nprivcalc: error\n", "Traceback"),
        (3, "", "privcalc: a message\n", "exit status 3"),
        (0, "1.0000000000000000e\n", "", "broken number"),
        (0, "", "about nan\n", "has nan"),
    ],
)
def test_faults_are_seen(status: int, stdout: str, stderr: str, said: str) -> None:
    """The judge notices each kind of fault."""
    found = faults(ALL, Done(status, stdout, stderr, 0.0))
    assert any(said in each for each in found), found


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (
            "table",
            "delta  epsilon lower bound  epsilon upper bound\n1e-5   2.0000               1.9999\n",
        ),
        ("csv", "spec,lower,upper\nx,1e-3,0.9e-3\n"),
    ],
)
def test_inverted_rows_are_seen(form: str, text: str) -> None:
    """In tables and CSV as well; and the same the right way round is no fault."""
    line = Line(["compose", "x", "--format", form])
    assert "inverted" in faults(line, Done(0, text, "", 0.0))[0]
    turned = text.replace("2.0000", "1.0000").replace("1e-3", "1e-4")
    assert faults(line, Done(0, turned, "", 0.0)) == []


def test_what_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers, verdicts, refusals and streams of both are not complained of."""
    monkeypatch.chdir(tmp_path)
    pure = "pure:epsilon=1"
    toml = f'[budget]\nepsilon = 0.5\ndelta = 0\n[[mechanism]]\nname = "x"\nspec = "{pure}"\n'
    for line, status in (
        (ALL, 0),
        (Line(["compose", pure, "--delta", "0", "--max-epsilon", "0.5"]), 1),
        (Line(["compose", "nan"]), 2),
        (Line(["compose", "-", "--delta", "0", "--json"], stdin=b"pure:epsilon=1\nx\n"), 2),
        (Line(["compose", pure, "--delta", "0", "--sweep", "epsilon=-1,1,-2", "--json"]), 2),
        (Line(["compose", "--file", "a.toml", "--json"], files={"a.toml": toml.encode()}), 1),
        (Line([]), 2),
    ):
        done = run(line, SECONDS)
        assert (done.status, faults(line, done)) == (status, []), done
    assert not list(tmp_path.iterdir())


def test_late_lines_are_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that takes too long is given up, and not judged."""
    monkeypatch.chdir(tmp_path)
    done = run(Line(["compose", "gaussian:sigma=1@poisson:q=0.01@1000"]), 0.001)
    assert (done.status, faults(ALL, done)) == (None, [])
