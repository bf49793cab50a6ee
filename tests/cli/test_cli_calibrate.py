"""The command `calibrate`: its answers in each format, and what it refuses."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

import privcalc
from tests.cli.test_cli_process import modules
from tests.cli.test_cli_schema import objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

DP_SGD = "gaussian:sigma=_@poisson:q=0.01@1000"
TARGET = ("--epsilon", "3", "--delta", "1e-5")


def one(run: Callable[..., Outcome], *arguments: str) -> dict[str, Any]:
    """Return the one answer to a question."""
    [found] = objects(run("calibrate", *arguments, "--json"))
    return found


class TestAnswers:
    @pytest.mark.slow
    def test_both_values_are_judged_as_compose_judges_them(
        self, run: Callable[..., Outcome]
    ) -> None:
        """The sufficient value is within the budget for certain, the other one above it."""
        result = one(run, DP_SGD, *TARGET)["result"]
        assert result["parameter"] == "sigma"
        assert 0.0 < result["sufficient"] - result["insufficient"] <= 1e-8 * result["sufficient"]
        for name, status in (("sufficient", 0), ("insufficient", 1)):
            spec = DP_SGD.replace("_", f"{result[name]!r}")
            check = run("compose", spec, "--delta", "1e-5", "--max-epsilon", "3")
            assert check.status == status

    def test_the_check_in_the_table_passes(self, run: Callable[..., Outcome]) -> None:
        """The last line of the table is the command that checks it."""
        for arguments in (
            (DP_SGD, *TARGET),
            ("gaussian:sigma=_", "--advantage", "0.1"),
            ("gaussian:sigma=_", "--epsilon", "1", "--delta", "1e-6", "--relation", "replace-one"),
        ):
            done = run("calibrate", *arguments)
            last = done.stdout.rstrip("\n").splitlines()[-1]
            word, command = last.split(maxsplit=1)
            assert word == "check"
            program, *rest = shlex.split(command)
            assert program == "privcalc"
            assert run(*rest).status == 0


class TestStreams:
    def test_lines(self, run: Callable[..., Outcome]) -> None:
        """Each line is a question; a bad one is named and the others go on."""
        lines = "gaussian:sigma=_\ngaussian:sigma=1\nlaplace:scale=_\n"
        done = run("calibrate", "-", "--mu", "1", "-t", stdin=lines)
        assert done.status == 2
        assert len(done.stdout.splitlines()) == 2
        assert "line 2" in done.stderr


def test_help_needs_no_numbers() -> None:
    """Help and usage errors load no numpy."""
    for arguments in (("calibrate", "--help"), ("calibrate", "gaussian:sigma=_")):
        assert not {"numpy", "scipy", "rich"} & modules(*arguments)


class TestLists:
    """Several targets at once: one answer for each, as if asked alone."""

    SPEC = "gaussian:sigma=_"

    @pytest.mark.parametrize(
        ("arguments", "alone"),
        [
            (
                ("--epsilon", "0.1,1,10", "--delta", "1e-5"),
                [("--epsilon", e, "--delta", "1e-5") for e in ("0.1", "1", "10")],
            ),
            (
                ("--epsilon", "1", "--epsilon", "10", "--delta", "1e-5,1e-6"),
                [("--epsilon", e, "--delta", d) for d in ("1e-5", "1e-6") for e in ("1", "10")],
            ),
            (
                ("--delta", "1e-5", "--epsilon", "2", "--delta", "0.1%"),
                [("--epsilon", "2", "--delta", d) for d in ("1e-5", "0.1%")],
            ),
            (("--rho", "0.1,1/2"), [("--rho", "0.1"), ("--rho", "1/2")]),
            (("--mu", "0.1,2"), [("--mu", "0.1"), ("--mu", "2")]),
            (("--advantage", "0.1,0.2"), [("--advantage", "0.1"), ("--advantage", "0.2")]),
            (
                ("--tpr", "0.3,0.5", "--fpr", "0.1,0.2"),
                [("--tpr", t, "--fpr", f) for f in ("0.1", "0.2") for t in ("0.3", "0.5")],
            ),
        ],
    )
    def test_each_is_what_it_is_alone(
        self,
        arguments: tuple[str, ...],
        alone: list[tuple[str, ...]],
        run: Callable[..., Outcome],
    ) -> None:
        """JSON has an object a line, -t a number a line; a table has a row for each."""
        each = [run("calibrate", self.SPEC, *words, "--json").stdout for words in alone]
        together = run("calibrate", self.SPEC, *arguments, "--json")
        assert together.status == 0, together.stderr
        assert together.stdout == "".join(each)
        terse = run("calibrate", self.SPEC, *arguments, "-t").stdout.split()
        assert [float(word) for word in terse] == [
            json.loads(line)["result"]["sufficient"] for line in each
        ]
        table = run("calibrate", self.SPEC, *arguments).stdout
        for line in each:
            assert any(f"{json.loads(line)['result']['sufficient']:.10g}" in row
                       for row in table.splitlines()[4:])  # fmt: skip
        assert table.splitlines()[0].split() == ["spec", self.SPEC]
        assert "check" not in table
        rows = run("calibrate", self.SPEC, *arguments, "--format", "csv").stdout.splitlines()
        places = {tuple(row.split(",")[3:5]) for row in rows[1:]}
        assert len(places) == len(alone)

    def test_each_line_of_standard_input(self, run: Callable[..., Outcome]) -> None:
        """Every question has all targets."""
        done = run(
            "calibrate", "-", "--mu", "0.5,1", "-t", stdin="gaussian:sigma=_\nlaplace:scale=_\n"
        )
        assert len(done.stdout.split()) == 4
        assert done.stdout.split()[:2] == ["2", "1"]

    def test_the_library(self) -> None:
        """A tuple of answers, each with its query."""
        found = privcalc.calibrations(self.SPEC, epsilon=[0.1, 1], delta="1e-5,1e-6")
        assert [each.query for each in found] == [
            {"delta": d, "epsilon": e} for d in (1e-5, 1e-6) for e in (0.1, 1.0)
        ]
        for each in found:
            query = each.query
            alone = privcalc.calibrate(self.SPEC, epsilon=query["epsilon"], delta=query["delta"])
            assert each.to_dict() == alone.to_dict()

    @pytest.mark.parametrize(
        ("target", "check"),
        [
            (("--mu", "0.5"), "--to gdp --max-mu 0.5"),
            (("--rho", "1/8"), "--to zcdp --max-rho 1/8"),
            (("--rho", "0.1"), "--to zcdp --max-rho 0.1"),
            (("--advantage", "0.1"), "--epsilon 0 --max-delta 0.1"),
        ],
    )
    def test_the_check_that_is_printed_passes(
        self, target: tuple[str, str], check: str, run: Callable[..., Outcome]
    ) -> None:
        """The line names a command that compares with the target, and it is within."""
        table = run("calibrate", "gaussian:sigma=_@3", *target).stdout
        [line] = [row for row in table.splitlines() if row.startswith("check")]
        assert line.endswith(check)
        done = run(*shlex.split(line)[2:])
        assert (done.status, "within budget" in done.stdout) == (0, True)
