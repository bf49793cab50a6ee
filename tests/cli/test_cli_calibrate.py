"""The command `calibrate`: `compose` agrees with what it finds, and lists are many questions."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

import privcalc
from tests.cli.test_cli_schema import result

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

DP_SGD = "gaussian:sigma=_@poisson:q=0.01@1000"
TARGET = ("--epsilon", "3", "--delta", "1e-5")


class TestAnswers:
    @pytest.mark.slow
    def test_both_values_are_judged_as_compose_judges_them(
        self, run: Callable[..., Outcome]
    ) -> None:
        """The sufficient value is within the budget for certain, the other one above it."""
        found = result(run, "calibrate", DP_SGD, *TARGET)
        assert found["parameter"] == "sigma"
        assert 0.0 < found["sufficient"] - found["insufficient"] <= 1e-8 * found["sufficient"]
        for name, status in (("sufficient", 0), ("insufficient", 1)):
            spec = DP_SGD.replace("_", f"{found[name]!r}")
            check = run("compose", spec, "--delta", "1e-5", "--max-epsilon", "3")
            assert check.status == status

    @pytest.mark.parametrize(
        ("target", "check"),
        [
            (
                "--epsilon 1 --delta 1e-6 --relation replace-one",
                "--relation replace-one --delta 1e-6 --max-epsilon 1",
            ),
            ("--mu 0.5", "--to gdp --max-mu 0.5"),
            ("--rho 1/8", "--to zcdp --max-rho 1/8"),
            ("--advantage 0.1", "--epsilon 0 --max-delta 0.1"),
        ],
    )
    def test_the_check_that_is_printed_passes(
        self, target: str, check: str, run: Callable[..., Outcome]
    ) -> None:
        """The last line names a command that compares with the target, and it is within."""
        table = run("calibrate", "gaussian:sigma=_@3", *target.split()).stdout
        line = table.splitlines()[-1]
        assert line.startswith("check   privcalc ")
        assert line.endswith(check)
        done = run(*shlex.split(line)[2:])
        assert (done.status, "within budget" in done.stdout) == (0, True)


class TestLists:
    """Several targets at once: one answer for each, as if asked alone."""

    SPEC = "gaussian:sigma=_"

    @pytest.mark.dear("--tpr 0.3,0.5 --fpr 0.1,0.2-alone2]")
    @pytest.mark.parametrize(
        ("together", "alone"),
        [
            (
                "--epsilon 1 --delta 1e-5,1e-6 --epsilon 10",
                [f"--epsilon {e} --delta {d}" for d in ("1e-5", "1e-6") for e in ("1", "10")],
            ),
            ("--rho 0.1,1/2", ["--rho 0.1", "--rho 1/2"]),
            (
                "--tpr 0.3,0.5 --fpr 0.1,0.2",
                [f"--tpr {t} --fpr {f}" for f in ("0.1", "0.2") for t in ("0.3", "0.5")],
            ),
        ],
    )
    def test_each_is_what_it_is_alone(
        self, together: str, alone: list[str], run: Callable[..., Outcome]
    ) -> None:
        """An answer follows the other."""
        answers = run("calibrate", self.SPEC, *together.split(), "--json")
        each = [run("calibrate", self.SPEC, *words.split(), "--json").stdout for words in alone]
        assert (answers.status, answers.stdout) == (0, "".join(each))

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
