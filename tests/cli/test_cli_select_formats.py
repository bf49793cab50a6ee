"""The command `select`: formats, thresholds, refusals, and what is imported."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.select_answers import GAUSSIAN, GEOMETRIC
from tests.cli.test_cli_process import HEAVY, modules
from tests.cli.test_cli_schema import objects, validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome


class TestFormats:
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


class TestRefusals:
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
