"""The command `select`: its answers in each format, and what it refuses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from tests.cli.select_answers import GAUSSIAN, in_order, one
from tests.cli.test_cli_schema import objects

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome


class TestAnswers:
    def test_a_guarantee_at_two_points(self, run: Callable[..., Outcome], tmp_path: Path) -> None:
        """One point is for the constant, the other for the tail: delta / mean."""
        file = tmp_path / "points.csv"
        file.write_text("epsilon delta\n0.4 1e-2\n1.5 1e-8\n")
        base = f"profile:file={file}"
        result = one(run, base, "--runs", "geometric:mean=30", "--delta", "1e-6")
        in_order(result)
        # Each point by itself: epsilon_hat + 2 max(epsilon_1, log(1 + w delta_1)).
        by_hand = 1.5 + 2.0 * max(0.4, math.log1p(29.0 * 1e-2))
        assert result["methods"]["tight"] <= by_hand + 1e-9
        assert result["methods"]["tight"] >= 1.5
        for point in ("approx:epsilon=0.4,delta=1e-2", "approx:epsilon=1.5,delta=1e-8"):
            other = run("select", point, "--runs", "geometric:mean=30", "--delta", "1e-6", "--json")
            if other.status == 0:
                [found] = objects(other)
                assert result["epsilon"]["upper"] < float(found["result"]["epsilon"]["upper"])


class TestRuns:
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
        self, lines: str, same: str | None, run: Callable[..., Outcome], tmp_path: Path
    ) -> None:
        """Probabilities from a file are the family that they are of."""
        file = tmp_path / "runs.csv"
        file.write_text(lines)
        result = one(run, GAUSSIAN, "--runs", f"distribution:file={file}", "--delta", "1e-6")
        in_order(result)
        assert result["runs"]["family"] == "distribution"
        if same is None:
            assert result["runs"]["no_run"] == pytest.approx(0.25)
            assert result["runs"]["mean"] == pytest.approx(1.75)
            return
        known = one(run, GAUSSIAN, "--runs", same, "--delta", "1e-6")
        assert result["runs"]["mean"] == pytest.approx(known["runs"]["mean"])
        for name in ("tight", "pointwise", "composition"):
            ours, theirs = (float(each["methods"][name]) for each in (result, known))
            assert ours == pytest.approx(theirs, rel=1e-4)
