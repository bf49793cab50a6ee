"""The command `select`: what it answers by hand, and files of probabilities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.test_cli_process import modules
from tests.cli.test_cli_schema import objects, result

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

GAUSSIAN = "gaussian:sigma=4"
GEOMETRIC = ("--runs", "geometric:mean=30")


def in_order(result: dict[str, Any], quantity: str = "epsilon") -> None:
    """Check lower <= answer <= every method, and tight <= paper."""
    bound = result[quantity]
    methods = {name: float(value) for name, value in result["methods"].items()}
    assert bound.get("lower", 0.0) <= bound["upper"] <= min(methods.values())
    assert methods["tight"] <= methods["paper"]


@pytest.mark.slow
def test_a_guarantee_at_two_points(run: Callable[..., Outcome], tmp_path: Path) -> None:
    """One point is for the constant, the other for the tail: delta / mean."""
    file = tmp_path / "points.csv"
    file.write_text("epsilon delta\n0.4 1e-2\n1.5 1e-8\n")
    base = f"profile:file={file}"
    found = result(run, "select", base, "--runs", "geometric:mean=30", "--delta", "1e-6")
    in_order(found)
    # Each point by itself: epsilon_hat + 2 max(epsilon_1, log(1 + w delta_1)).
    by_hand = 1.5 + 2.0 * max(0.4, math.log1p(29.0 * 1e-2))
    assert found["methods"]["tight"] <= by_hand + 1e-9
    assert found["methods"]["tight"] >= 1.5
    for point in ("approx:epsilon=0.4,delta=1e-2", "approx:epsilon=1.5,delta=1e-8"):
        other = run("select", point, "--runs", "geometric:mean=30", "--delta", "1e-6", "--json")
        if other.status == 0:
            [alone] = objects(other)
            assert found["epsilon"]["upper"] < float(alone["result"]["epsilon"]["upper"])


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("lines", "same"),
    [
        ("runs,probability\n0,1/8\n1,3/8\n2,3/8\n3,1/8\n", "binomial:n=3,p=0.5"),
        ("3 0.25\n0 0.25\n1 0\n2 0.5\n", None),
        ("2 1\n", "fixed:n=2"),
    ],
)
def test_distributions(
    lines: str, same: str | None, run: Callable[..., Outcome], tmp_path: Path
) -> None:
    """Probabilities from a file are the family that they are of."""
    file = tmp_path / "runs.csv"
    file.write_text(lines)
    found = result(
        run, "select", GAUSSIAN, "--runs", f"distribution:file={file}", "--delta", "1e-6"
    )
    in_order(found)
    assert found["runs"]["family"] == "distribution"
    if same is None:
        assert found["runs"]["no_run"] == pytest.approx(0.25)
        assert found["runs"]["mean"] == pytest.approx(1.75)
        return
    known = result(run, "select", GAUSSIAN, "--runs", same, "--delta", "1e-6")
    assert found["runs"]["mean"] == pytest.approx(known["runs"]["mean"])
    for name in ("tight", "pointwise", "composition"):
        ours, theirs = (float(each["methods"][name]) for each in (found, known))
        assert ours == pytest.approx(theirs, rel=1e-4)


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
    lines: str, message: str, run: Callable[..., Outcome], tmp_path: Path
) -> None:
    """What is wrong with a file is said in one line."""
    file = tmp_path / "runs.csv"
    file.write_text(lines)
    done = run("select", GAUSSIAN, "--runs", f"distribution:file={file}", "--delta", "1e-6")
    assert (done.status, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert message in line


@pytest.mark.slow
def test_a_gaussian_base_needs_no_engine() -> None:
    """Its profile is a closed form."""
    loaded = modules("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-6", "--json")
    assert "privcalc.selection.pointwise" in loaded
    heavy = {"privcalc.engine.lattice", "privcalc.engine.profile", "privcalc.engine.inversion"}
    assert not loaded & heavy
    assert not loaded & {"rich", "scipy.optimize", "scipy.stats", "scipy.integrate"}
