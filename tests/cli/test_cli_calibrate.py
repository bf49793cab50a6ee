"""The command `calibrate`: its answers in each format, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
from typing import TYPE_CHECKING, Any

import mpmath
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

    def test_the_bare_number(self, run: Callable[..., Outcome]) -> None:
        """-t prints the sufficient value alone."""
        done = run("calibrate", DP_SGD, *TARGET, "-t")
        assert float(done.stdout) == one(run, DP_SGD, *TARGET)["result"]["sufficient"]

    def test_a_count(self, run: Callable[..., Outcome]) -> None:
        """Whole numbers are neighbours, and the specification has the sufficient one."""
        found = one(run, "gaussian:sigma=1@poisson:q=0.01@_", "--epsilon", "2", "--delta", "1e-5")
        assert found["result"]["parameter"] == "count"
        assert found["result"]["insufficient"] == found["result"]["sufficient"] + 1
        assert found["spec"]["count"] == found["result"]["sufficient"] == 1202
        assert found["query"] == {"delta": 1e-5, "epsilon": 2.0}

    @pytest.mark.parametrize(
        ("option", "budget", "mu"),
        [
            ("--mu", 0.5, 0.5),
            ("--rho", 0.125, 0.5),
            ("--advantage", 0.1, None),
        ],
    )
    def test_other_targets(
        self, run: Callable[..., Outcome], option: str, budget: float, mu: float | None
    ) -> None:
        """Noise of one Gaussian release is known in closed form for each target."""
        if mu is None:
            with mpmath.workdps(40):
                mu = float(2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf(budget)))
        found = one(run, "gaussian:sigma=_", option, repr(budget))["result"]
        assert found["sufficient"] == pytest.approx(1.0 / mu, rel=2e-9)
        assert found["sufficient"] >= 1.0 / mu * (1.0 - 1e-15)

    def test_a_sample_of_nobody(self, run: Callable[..., Outcome]) -> None:
        """Where one record in the sample is too much, none is sufficient."""
        found = one(run, "gaussian:sigma=1@wor:n=5,m=_", "--epsilon", "1", "--delta", "1e-5")
        assert found["result"]["sufficient"] == 0
        assert found["result"]["insufficient"] == 1

    def test_no_false_positives(self, run: Callable[..., Outcome]) -> None:
        """At false positive rate 0 the power of approx is its delta."""
        found = one(run, "approx:epsilon=1,delta=_", "--tpr", "0.5", "--fpr", "0")
        assert found["result"]["sufficient"] == pytest.approx(0.5, rel=2e-9)
        for delta, words in (("0.1", "every epsilon"), ("0.6", "no epsilon")):
            spec = f"approx:epsilon=_,delta={delta}"
            done = run("calibrate", spec, "--tpr", "0.5", "--fpr", "0")
            assert done.status == 2
            assert words in done.stderr

    def test_true_positive_rate(self, run: Callable[..., Outcome]) -> None:
        """Phi(Phi^-1(fpr) + mu) is the power of a Gaussian release."""
        found = one(run, "gaussian:sigma=_", "--tpr", "0.1", "--fpr", "0.01")
        with mpmath.workdps(40):
            quantile = [mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(p) - 1) for p in (0.1, 0.01)]
            sigma = float(1 / (quantile[0] - quantile[1]))
        assert found["result"]["sufficient"] == pytest.approx(sigma, rel=1e-8)
        assert found["query"] == {"fpr": 0.01, "tpr": 0.1}

    def test_several_holes(self, run: Callable[..., Outcome]) -> None:
        """Values keep their ratio, and are listed in order of appearance."""
        found = one(run, "gaussian:sigma=_", "gaussian:sigma=_", "--ratio", "1,2", "--mu", "1")
        first, second = found["result"]["values"]
        assert second == pytest.approx(2.0 * first, rel=1e-12)
        assert first == pytest.approx(math.sqrt(1.25), rel=1e-8)
        assert "sigma=1.11" in found["text"]

    def test_no_lower_end(self, run: Callable[..., Outcome]) -> None:
        """What is known from above only has a sufficient value and no other."""
        done = run("calibrate", "zcdp:rho=_", "--epsilon", "1", "--delta", "1e-6")
        assert "insufficient" not in done.stdout
        assert "no rho is proved to miss the target" in done.stderr
        found = one(run, "zcdp:rho=_", "--epsilon", "1", "--delta", "1e-6")
        assert "insufficient" not in found["result"]
        assert found["method"]["tolerance_met"] is False


class TestSweeps:
    SWEEP = ("--sweep", "q=0.001..0.1/3log")

    @pytest.mark.slow
    def test_json(self, run: Callable[..., Outcome]) -> None:
        """Each point is an object of its own, with the value of the other parameter."""
        found = objects(run("calibrate", DP_SGD, *TARGET, *self.SWEEP, "--json"))
        assert [each["query"]["q"] for each in found] == [0.001, 0.01, 0.1]
        noise = [each["result"]["sufficient"] for each in found]
        assert noise == sorted(noise)
        assert noise[1] == one(run, DP_SGD, *TARGET)["result"]["sufficient"]

    def test_table_and_csv(self, run: Callable[..., Outcome]) -> None:
        """The other parameter is the first column."""
        question = ("calibrate", "gaussian:sigma=_@poisson:q=0.5", *TARGET, *self.SWEEP)
        assert "q      certified sigma" in run(*question).stdout
        text = run(*question, "--format", "csv").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        assert {row["given"] for row in rows} == {"q"}
        assert [row["at"] for row in rows if row["quantity"] == "sufficient"] == [
            "0.001",
            "0.01",
            "0.1",
        ]

    def test_points_without_a_value_are_named(self, run: Callable[..., Outcome]) -> None:
        """They do not end the sweep."""
        done = run(
            "calibrate", "gaussian:sigma=_+pure:epsilon=1", *TARGET, "--sweep", "epsilon=1..4/2log"
        )
        assert done.status == 0
        assert "epsilon=4" in done.stderr
        assert "is composed with" in done.stderr
        [found] = objects(
            run(
                "calibrate", "gaussian:sigma=_+pure:epsilon=1", *TARGET,
                "--sweep", "epsilon=1..4/2log", "--json",
            )
        )  # fmt: skip
        assert found["query"] == {"delta": 1e-5, "epsilon": 3.0, "swept_epsilon": 1.0}

    def test_a_sweep_without_any_value(self, run: Callable[..., Outcome]) -> None:
        """It is an error with the limit."""
        done = run(
            "calibrate", "gaussian:sigma=_+pure:epsilon=1", *TARGET, "--sweep", "epsilon=4..8/2log"
        )
        assert done.status == 2
        assert done.stdout == ""
        assert "at least" in done.stderr


class TestStreams:
    def test_lines(self, run: Callable[..., Outcome]) -> None:
        """Each line is a question; a bad one is named and the others go on."""
        lines = "gaussian:sigma=_\ngaussian:sigma=1\nlaplace:scale=_\n"
        done = run("calibrate", "-", "--mu", "1", "-t", stdin=lines)
        assert done.status == 2
        assert len(done.stdout.splitlines()) == 2
        assert "line 2" in done.stderr

    def test_json_in(self, run: Callable[..., Outcome]) -> None:
        """The JSON twin has holes, too."""
        spec = '{"type": "gaussian", "standard_deviation": "_"}'
        assert float(run("calibrate", spec, "--mu", "1", "-t").stdout) == pytest.approx(
            1.0, rel=2e-9
        )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gaussian:sigma=_",), "needs a target"),
        (("gaussian:sigma=_", "--delta", "1e-5"), "--delta alone"),
        (("gaussian:sigma=_", "--epsilon", "1"), "needs --delta"),
        (("gaussian:sigma=_", "--tpr", "0.5"), "needs --fpr"),
        (("gaussian:sigma=_", "--mu", "1", "--rho", "1"), "two targets"),
        (("gaussian:sigma=_", "--mu", "1", "--delta", "0.1"), "says nothing"),
        (("gaussian:sigma=_", "--advantage", "1.5"), "between 0 and 1"),
        (("gaussian:sigma=_", "--mu", "-1"), ">= 0"),
        (("gaussian:sigma=_", "--mu", "0"), "does not look at the data"),
        (("gaussian:sigma=_", "--epsilon", "1", "--delta", "0"), "delta > 0"),
        (
            ("gaussian:sigma=_", "--epsilon", "99.9999999999999999%", "--delta", "0"),
            "meets epsilon 99.9999999999999999% at delta 0:",
        ),
        (("gaussian:sigma=_", "--epsilon", "0", "--delta", "1e-5"), "--advantage"),
        (("gaussian:sigma=_", "--epsilon", "1", "--delta", "1"), "delta < 1"),
        (("gaussian:sigma=1", "--mu", "1"), "write _"),
        (("gaussian:sigma=_", "laplace:scale=_", "--mu", "1"), "--ratio 1,1"),
        (("gaussian:sigma=_", "laplace:scale=_", "--mu", "1", "--ratio", "1"), "2 free parameters"),
        (("gaussian:sigma=_", "--mu", "1", "--ratio", "1,0"), "> 0"),
        (("gaussian:sigma=_", "laplace:scale=_", "--mu", "1", "--ratio", "1,2", "-t"), "several"),
        (("rr:p=_", "--mu", "1"), "one way"),
        (("staircase:epsilon=1,gamma=_", "--mu", "1"), "one way"),
        (("gaussian:sigma=1@_", "--epsilon", "0.1", "--delta", "1e-5"), "count=1"),
        (("gaussian:sigma=_+pure:epsilon=9", *TARGET), "is composed with"),
        ((DP_SGD, *TARGET, "--sweep", "q"), "NAME=LOW..HIGH/N"),
        ((DP_SGD, *TARGET, "--sweep", "q=0.1..0.01/5log"), "LOW < HIGH"),
        ((DP_SGD, *TARGET, "--sweep", "q=0.01..0.1/1log"), "2 to 1000"),
        ((DP_SGD, *TARGET, "--sweep", "rho=0.01..0.1/3log"), "rho"),
        ((DP_SGD, *TARGET, "--sweep", "sigma=0.01..0.1/3log"), "sigma"),
        (("-", "--mu", "1", "--sweep", "q=0.01..0.1/3log"), "one specification"),
        (
            ("gaussian:sigma=_", *TARGET, "--sweep", "delta=0.01..0.1/3log"),
            "nothing but the free parameter",
        ),
    ],
)
def test_refusals(run: Callable[..., Outcome], arguments: tuple[str, ...], words: str) -> None:
    """One clear line, exit status 2, and nothing on standard output."""
    done = run("calibrate", *arguments)
    assert done.status == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert "internal" not in done.stderr
    first = done.stderr.splitlines()[0]
    assert first.startswith("privcalc: ")


class TestRemedies:
    @pytest.mark.parametrize(
        "check",
        [
            ("gaussian:sigma=1@poisson:q=0.01@1000", "--delta", "1e-5", "--max-epsilon", "1"),
            ("gaussian:sigma=1@poisson:q=0.01@1000", "--epsilon", "1", "--max-delta", "1e-5"),
        ],
    )
    def test_a_failing_check_names_the_noise(
        self, run: Callable[..., Outcome], check: tuple[str, ...]
    ) -> None:
        """The named noise fits."""
        failed = run("compose", *check)
        assert failed.status == 1
        last = failed.stdout.splitlines()[-1]
        assert last.endswith(" would fit")
        noise = last.rpartition("sigma=")[2].split()[0]
        assert run("compose", check[0].replace("sigma=1", f"sigma={noise}"), *check[1:]).status == 0

    def test_all_noise_together(self, run: Callable[..., Outcome]) -> None:
        """Several mechanisms are scaled by one factor."""
        failed = run(
            "compose", "gaussian:sigma=1+laplace:scale=2", "--delta", "1e-5", "--max-epsilon", "1"
        )
        factor = float(failed.stdout.rpartition("times ")[2].split()[0])
        spec = f"gaussian:sigma={factor!r}+laplace:scale={2.0 * factor!r}"
        assert run("compose", spec, "--delta", "1e-5", "--max-epsilon", "1").status == 0

    @pytest.mark.dear("spec1-8.22e-22-0.09324584302574684")
    @pytest.mark.parametrize(
        ("spec", "delta", "budget"),
        [
            (
                (
                    "laplace:noise_multiplier=1.7976931348623157e308@8"
                    "+noisy-screening:sigma=2.48,threshold=19.796947503096376,votes=1"
                    "+gdp:mu=0.7548328792799682@3"
                ),
                "7.72e-16",
                "367/466",
            ),
            (
                (
                    "laplace:noise_multiplier=598904735258994458842302392517581403242493"
                    "+bernoulli-pair:p=1e-300,other_p=1.48e-05+randomized-response:p=9.9e-06,categories=3"
                    "+laplace:scale=0.737%"
                ),
                "8.22e-22",
                "0.09324584302574684",
            ),
        ],
    )
    def test_noise_at_the_end_of_the_doubles(
        self, run: Callable[..., Outcome], spec: str, delta: str, budget: str
    ) -> None:
        """What cannot be scaled any further gets no hint, but its verdict."""
        done = run("compose", spec, "--delta", delta, "--max-epsilon", budget)
        assert done.status == 1
        assert f"budget {budget}" in done.stdout

    def test_an_order_is_no_noise(self, run: Callable[..., Outcome]) -> None:
        """The order of a proof is left alone, and another engine gets no hint."""
        rdp = "rdp:order=10,epsilon=0.1"
        check = ("--delta", "1e-5", "--max-epsilon", "2")
        failed = run("compose", f"{rdp}+gaussian:sigma=1", *check)
        sigma = failed.stdout.rpartition("sigma=")[2].split()[0]
        assert run("compose", f"{rdp}+gaussian:sigma={sigma}", *check).status == 0
        for arguments in (
            ("rdp:order=10,epsilon=1", "--delta", "1e-5", "--max-epsilon", "1"),
            ("gaussian:sigma=1@10", *check, "--engine", "rdp"),
        ):
            assert "would fit" not in run("compose", *arguments).stdout

    def test_no_remedy(self, run: Callable[..., Outcome]) -> None:
        """Without noise, where none helps, or of very many mechanisms, nothing is suggested."""
        many = "+".join(f"gaussian:sigma={10 + k}" for k in range(51))
        for spec in ("pure:epsilon=2", "gaussian:sigma=1+pure:epsilon=2", many):
            failed = run("compose", spec, "--delta", "1e-5", "--max-epsilon", "1")
            assert failed.status == 1
            assert "would fit" not in failed.stdout


def test_help_needs_no_numbers() -> None:
    """Help and usage errors load no numpy."""
    for arguments in (("calibrate", "--help"), ("calibrate", "gaussian:sigma=_")):
        assert not {"numpy", "scipy", "rich"} & modules(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        "gaussian:sigma=_@select:runs=geometric,mean=30",
        "gaussian:sigma=4@select:runs=geometric,mean=_",
        "gaussian:sigma=4@select:runs=geometric,gamma=_",
    ],
)
def test_holes_of_selections(run: Callable[..., Outcome], spec: str) -> None:
    """Noise of the base and the number of runs may be the hole."""
    found = one(run, spec, "--epsilon", "2", "--delta", "1e-6")
    assert found["result"]["epsilon"]["upper"] <= 2.0
    text = found["text"]
    done = run("compose", text, "--delta", "1e-6", "--max-epsilon", "2")
    assert done.status == 0


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

    def test_what_a_table_says(self, run: Callable[..., Outcome]) -> None:
        """The budget of each row, or where it is asked; both where there are several of both."""
        words = ("calibrate", self.SPEC, "--epsilon")
        budgets = run(*words, "1,2", "--delta", "1e-5").stdout
        assert "\nmax_epsilon  certified sigma" in budgets
        assert "target  epsilon <= max_epsilon at delta 1e-5" in budgets
        places = run(*words, "1", "--delta", "1e-5,1e-6").stdout
        assert "\ndelta  certified sigma" in places
        assert "target  epsilon <= 1 at each delta" in places
        both = run(*words, "1,2", "--delta", "1e-5,1e-6").stdout
        assert both.count("max_epsilon at delta 1e-") == 2
        assert "target  epsilon <= max_epsilon at each delta" in both

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--epsilon", "1,x", "--delta", "1e-5"), "--epsilon takes a number"),
            (("--epsilon", "1,", "--delta", "1e-5"), "--epsilon has an empty place"),
            (("--epsilon", "1,0", "--delta", "1e-5"), "epsilon 0 at delta 1e-5"),
            (("--epsilon", "1", "--delta", "1e-5,2"), "--delta must be between 0 and 1, got 2"),
            (("--epsilon", "1,2", "--mu", "1", "--delta", "1e-5"), "are two targets"),
            (("--mu", "1,2", "--sweep", "count=1..10/3log"), "--sweep goes with one target"),
            (("--mu", ",".join(map(str, range(1, 1002)))), "at most 1000 targets"),
        ],
    )
    def test_refusals(
        self, arguments: tuple[str, ...], message: str, run: Callable[..., Outcome]
    ) -> None:
        """What is wrong with one is said before anything is printed."""
        done = run("calibrate", self.SPEC, *arguments)
        assert (done.status, done.stdout) == (2, "")
        assert message in done.stderr

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
