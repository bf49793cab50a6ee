"""The command `select`: formats, thresholds, refusals, and what is imported."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.select_answers import ALWAYS, GAUSSIAN, GEOMETRIC
from tests.cli.test_cli_process import HEAVY, modules
from tests.cli.test_cli_schema import objects, validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome
THRESHOLDS = (
    "--thresholds", "--epsilon-q", "1.5", "--delta", "1e-6", "--runs", "geometric:mean=10",
)  # fmt: skip


class TestFormats:
    def test_csv(self, run: Callable[..., Outcome]) -> None:
        """A row for each number."""
        done = run("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-6,1e-8", "--format", "csv")
        assert done.status == 0
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert {row["at"] for row in rows} == {"1e-6", "1e-8"}
        assert {row["given"] for row in rows} == {"delta"}
        names = {row["quantity"] for row in rows}
        assert ALWAYS | {"epsilon", "base_epsilon", "rdp", "liu_talwar"} <= names
        answer = next(row for row in rows if row["quantity"] == "epsilon")
        assert 1.7813 < float(answer["lower"]) < float(answer["upper"]) < 1.7896
        published = next(row for row in rows if row["quantity"] == "paper")
        assert published["lower"] == ""
        assert float(published["upper"]) == pytest.approx(2.288311, abs=6e-7)

    def test_markdown(self, run: Callable[..., Outcome]) -> None:
        """The tables and what is said below them."""
        done = run("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-6", "--format", "markdown")
        assert done.status == 0
        assert "| delta | method | upper bound | C |" in done.stdout
        assert "| 1e-6 | pointwise | " in done.stdout
        assert "- runs: geometric: mean 30, no run 0" in done.stdout

    def test_github(self, run: Callable[..., Outcome]) -> None:
        """One annotation for each answer."""
        done = run("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-6,1e-8", "--format", "github")
        assert done.status == 0
        assert done.stdout.count("::notice title=privacy::") == 2
        assert "epsilon in [1.788" in done.stdout

    def test_quiet_and_boxes(self, run: Callable[..., Outcome]) -> None:
        """Nothing with -q; a terminal gets boxes."""
        assert run("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-6", "-q").stdout == ""
        assert run("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-6", terminal=True).status == 0

    def test_methods_are_explained(self, run: Callable[..., Outcome]) -> None:
        """Under -v each method has its source."""
        done = run("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-6", "-v")
        for words in ("paper: as published", "Papernot, Steinke 2022", "Liu, Talwar 2019"):
            assert words in done.stderr

    def test_standard_input(self, run: Callable[..., Outcome]) -> None:
        """Each line is a question of its own, and a bad one does not stop the others."""
        lines = [GAUSSIAN, "nonsense", '{"type": "gaussian", "standard_deviation": 4.0}']
        done = run("select", "-", *GEOMETRIC, "--delta", "1e-6", "--json", stdin="\n".join(lines))
        assert done.status == 2
        first, second = (json.loads(line) for line in done.stdout.splitlines())
        assert first == second
        validator("result").validate(first)
        error = json.loads(done.stderr)
        validator("error").validate(error)
        assert error["line"] == 2
        done = run("select", "-", *GEOMETRIC, "--delta", "1e-6", "-t", stdin=f"{GAUSSIAN}\n")
        assert (done.status, len(done.stdout.split())) == (0, 1)

    def test_a_result_brings_its_relation(self, run: Callable[..., Outcome]) -> None:
        """What `compose` printed is the base of a selection."""
        line = run("compose", GAUSSIAN, "--delta", "1e-5", "--relation", "replace-one", "--json")
        done = run("select", "-", *GEOMETRIC, "--delta", "1e-6", "--json", stdin=line.stdout)
        [found] = objects(done)
        assert found["relation"] == "replace_one"
        assert found["query"] == {"delta": 1e-6}


class TestThresholds:
    def test_json(self, run: Callable[..., Outcome]) -> None:
        """Both points, the total, and the largest count of each candidate."""
        [found] = objects(
            run("select", "gaussian:sigma=20@_", "gaussian:sigma=1@_", *THRESHOLDS, "--json")
        )
        result = found["result"]
        assert found["query"] == {"delta": 1e-6, "epsilon_q": 1.5}
        assert set(result) == {"thresholds", "epsilon", "counts", "runs"}
        assert set(result["thresholds"]) == {"epsilon_1", "delta_1", "epsilon_hat"}
        assert result["thresholds"]["epsilon_hat"] == pytest.approx(1.66479, abs=6e-6)
        assert result["epsilon"]["upper"] == pytest.approx(2.28257, abs=6e-6)
        assert "lower" not in result["epsilon"]
        # The thresholds are those of a Gaussian with mu = 0.344346: n <= (mu sigma)^2 = 47.43.
        assert result["counts"] == [47, 0]

    def test_the_table(self, run: Callable[..., Outcome]) -> None:
        """The thresholds, what they mean, and what the paper would charge."""
        done = run("select", "gaussian:sigma=20@_", *THRESHOLDS)
        assert done.status == 0
        assert "gaussian:sigma=20@_: 47" in done.stdout
        assert "charges 2.74235 with epsilon_1 = 0.361035" in done.stdout
        assert float(run("select", *THRESHOLDS, "-t").stdout) == pytest.approx(2.28257, abs=6e-6)

    def test_without_candidates(self, run: Callable[..., Outcome]) -> None:
        """The thresholds stand by themselves."""
        [found] = objects(run("select", *THRESHOLDS, "--json"))
        assert found["result"]["counts"] == []


REFUSALS: list[tuple[tuple[str, ...], str]] = [
    ((GAUSSIAN, "--delta", "1e-6"), "missing option '--runs'"),
    ((GAUSSIAN, *GEOMETRIC), "--delta D or --epsilon E"),
    (GEOMETRIC, "--delta D or --epsilon E|needs a SPEC"),
    ((*GEOMETRIC, "--delta", "1e-6"), "needs a SPEC"),
    ((GAUSSIAN, *GEOMETRIC, "--delta", "2"), "between 0 and 1, got 2"),
    ((GAUSSIAN, *GEOMETRIC, "--epsilon", "-1"), "--epsilon"),
    ((GAUSSIAN, "--runs", "", "--delta", "1e-6"), "such as geometric:mean=30"),
    ((GAUSSIAN, "--runs", "zipf:mean=3", "--delta", "1e-6"), "got zipf"),
    ((GAUSSIAN, "--runs", "geometric", "--delta", "1e-6"), "either mean or gamma"),
    ((GAUSSIAN, "--runs", "geometric:", "--delta", "1e-6"), "--runs"),
    ((GAUSSIAN, "--runs", "geometric:mean=0.5", "--delta", "1e-6"), "mean must be > 1"),
    ((GAUSSIAN, "--runs", "geometric:mean=_", "--delta", "1e-6"), "--runs has a free parameter"),
    ((GAUSSIAN, "--runs", "geometric:mean=3,gamma=0.1", "--delta", "1e-6"), "either mean or gamma"),
    ((GAUSSIAN, "--runs", "geometric:n=3", "--delta", "1e-6"), "no parameter of geometric"),
    ((GAUSSIAN, "--runs", "geometric:mean=3@2", "--delta", "1e-6"), "one distribution"),
    ((GAUSSIAN, "--runs", "geometric:mean=3+geometric:mean=3", "--delta", "1e-6"), "--runs"),
    ((GAUSSIAN, "--runs", "tnb:mean=3", "--delta", "1e-6"), "shape"),
    ((GAUSSIAN, "--runs", "tnb:shape=-1,mean=3", "--delta", "1e-6"), "shape must be > -1"),
    ((GAUSSIAN, "--runs", "poisson:mean=0", "--delta", "1e-6"), "mean must be > 0"),
    ((GAUSSIAN, "--runs", "binomial:n=20,mean=21", "--delta", "1e-6"), "<= 20, got 21"),
    ((GAUSSIAN, "--runs", "fixed:n=0", "--delta", "1e-6"), "n must be >= 1"),
    ((GAUSSIAN, "--runs", "fixed:n=2.5", "--delta", "1e-6"), "whole number"),
    ((GAUSSIAN, "--runs", "distribution:file=./none.csv", "--delta", "1e-6"), "cannot be read"),
    (("gaussian:sigma=_", *GEOMETRIC, "--delta", "1e-6"), "calibrate"),
    (("gausian:sigma=4", *GEOMETRIC, "--delta", "1e-6"), "gaussian"),
    ((GAUSSIAN, *GEOMETRIC, "--delta", "0"), "no method proves a finite epsilon"),
    ((GAUSSIAN, *GEOMETRIC, "--delta", "1e-6", "--engine", "afa"), "afa"),
    ((GAUSSIAN, *GEOMETRIC, "--delta", "1e-6", "--epsilon-q", "2"), "without --thresholds"),
    ((*GEOMETRIC, "--delta", "1e-6", "--thresholds"), "--epsilon-q E and one --delta D"),
    ((*THRESHOLDS, "--delta", "1e-7"), "--epsilon-q E and one --delta D"),
    ((*THRESHOLDS, "--epsilon", "1"), "--epsilon-q E and one --delta D"),
    ((*THRESHOLDS[:-1], "poisson:mean=10"), "geometric, logarithmic and tnb runs"),
    ((GAUSSIAN, *THRESHOLDS), "leaves one count open"),
    (("gaussian:sigma=_@3", *THRESHOLDS), "leaves one count open"),
    (("gaussian:sigma=_@_", *THRESHOLDS), "leaves one count open"),
    (("pure:epsilon=0@_", *THRESHOLDS), "every count"),
]  # fmt: skip


class TestRefusals:
    @pytest.mark.parametrize(("arguments", "messages"), REFUSALS)
    def test_refusals(
        self, arguments: tuple[str, ...], messages: str, run: Callable[..., Outcome]
    ) -> None:
        """One line on standard error (and a caret), nothing printed, status 2."""
        done = run("select", *arguments)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith("privcalc: ")
        assert any(message in done.stderr for message in messages.split("|"))
        others = done.stderr.splitlines()[1:]
        assert all(line.startswith(("  ", "hint: ")) for line in others)
        done = run("select", *arguments, "--json")
        assert (done.status, done.stdout) == (2, "")
        [line] = done.stderr.splitlines()
        validator("error").validate(json.loads(line))

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ("1 0.5\n2 0.6\n", "add up to 1"),
            ("1 -0.5\n2 1.5\n", "line 1: a probability is in [0, 1], got -0.5"),
            ("1 0.5\n1 0.5\n", "line 2: 1 runs are given twice"),
            ("1.5 1\n", "line 1: a number of runs is whole"),
            ("2000000 1\n", "line 1: a number of runs is whole"),
            ("0 1\n", "at least one run"),
            ("1 half\n", "line 1: expected a number"),
            ("1 0.5 0.5\n", "line 1: expected two numbers"),
            ("", "no numbers"),
        ],
    )
    def test_bad_distributions(
        self, lines: str, message: str, run: Callable[..., Outcome], tmp_path: Path
    ) -> None:
        """What is wrong with a file is said in one line."""
        file = tmp_path / "runs.csv"
        file.write_text(lines)
        done = run("select", GAUSSIAN, "--runs", f"distribution:file={file}", "--delta", "1e-6")
        assert (done.status, done.stdout) == (2, "")
        [line] = done.stderr.splitlines()
        assert message in line

    def test_carets_point_into_the_runs(self, run: Callable[..., Outcome]) -> None:
        """The text shown is that of the option."""
        done = run("select", GAUSSIAN, "--runs", "tnb:shape=-1,mean=3", "--delta", "1e-6")
        _, text, caret = done.stderr.splitlines()
        assert text == "  tnb:shape=-1,mean=3"
        assert text[caret.index("^") :].startswith("-1")
        assert caret.count("^") == 2
        done = run("select", GAUSSIAN, "--runs", "zipf:mean=3", "--delta", "1e-6", "--json")
        error = json.loads(done.stderr)
        assert (error["text"], error["span"]) == ("zipf:mean=3", [0, 4])


class TestImports:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("select", "--help"),
            ("select", GAUSSIAN, "--runs", "zipf:mean=3", "--delta", "1e-6"),
            ("select", "gausian:sigma=4", *GEOMETRIC, "--delta", "1e-6"),
        ],
    )
    def test_nothing_heavy_without_a_number(self, arguments: tuple[str, ...]) -> None:
        """Help and errors in what was written need no numerics."""
        assert not modules(*arguments) & HEAVY

    @pytest.mark.slow
    def test_a_gaussian_base_needs_no_engine(self) -> None:
        """Its profile is a closed form."""
        loaded = modules("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-6", "--json")
        assert "privcalc.selection.pointwise" in loaded
        heavy = {"privcalc.engine.lattice", "privcalc.engine.profile", "privcalc.engine.inversion"}
        assert not loaded & heavy
        assert not loaded & {"rich", "scipy.optimize", "scipy.stats", "scipy.integrate"}

    @pytest.mark.slow
    def test_a_process_of_its_own(self) -> None:
        """The same bytes twice."""
        command = [sys.executable, "-m", "privcalc", "select", GAUSSIAN, *GEOMETRIC,
                   "--delta", "1e-6", "--json"]  # fmt: skip
        first, second = (
            subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
            for _ in range(2)
        )
        assert first == second
