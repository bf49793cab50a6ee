"""The command `select`: its answers in each format, and what it refuses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from tests.cli.select_answers import ALWAYS, GAUSSIAN, GEOMETRIC, in_order, one
from tests.cli.test_cli_schema import objects

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome


class TestAnswers:
    def test_the_table(self, run: Callable[..., Outcome]) -> None:
        """Every method is a row, with its constant and, under -v, what it buys."""
        done = run("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-6", "-v")
        assert done.status == 0
        rows = [line.split() for line in done.stdout.splitlines()]
        shown = {row[1]: row[2:] for row in rows if len(row) == 5 and row[0] == "1e-6"}
        assert float(shown["paper"][0]) == pytest.approx(2.288311, abs=6e-7)
        assert float(shown["paper"][1]) == pytest.approx(1.052523, abs=6e-7)
        assert float(shown["paper"][2]) == 30
        assert float(shown["tight"][0]) == pytest.approx(1.886770, abs=6e-7)
        assert float(shown["tight"][1]) == pytest.approx(0.650983, abs=6e-7)
        assert float(shown["tight"][2]) == pytest.approx(193, abs=1)
        assert shown["pointwise"][1:] == ["-", "-"]
        assert 1.7886 <= float(shown["pointwise"][0]) <= 1.7896
        assert float(shown["RDP"][0]) == pytest.approx(2.555103, abs=1e-4)
        assert "Liu-Talwar" in shown
        [gain] = [line for line in done.stdout.splitlines() if line.startswith("gain")]
        assert "6.43 times as many candidates" in gain

    def test_json(self, run: Callable[..., Outcome]) -> None:
        """One object, with the selection as a part of the specification."""
        arguments = ("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-6", "--json")
        [found] = objects(run(*arguments))
        assert found["command"] == "select"
        assert found["text"] == "gaussian:sigma=4@select:runs=geometric,mean=30"
        assert found["spec"]["type"] == "repeat_and_select"
        assert found["relation"] == "add_or_remove_one"
        assert found["query"] == {"delta": 1e-6}
        # One run is as narrow as was asked, the best of several is not.
        assert found["method"]["tolerance_met"] is False
        result = found["result"]
        in_order(result)
        assert set(result["methods"]) == ALWAYS | {"rdp", "liu_talwar"}
        assert result["epsilon"]["upper"] == min(result["methods"].values())
        assert result["runs"] == {"family": "geometric", "mean": 30.0, "no_run": 0.0}
        base = result["base_epsilon"]
        assert base["lower"] == pytest.approx(1.060702, abs=6e-7)
        [alone] = objects(run("compose", GAUSSIAN, "--delta", "1e-6", "--json"))
        assert base == alone["result"]["epsilon"]
        assert run(*arguments).stdout == run(*arguments).stdout

    def test_pure_base_at_delta_zero(self, run: Callable[..., Outcome]) -> None:
        """Ten expected runs of a base that is 0.5-DP are not 1.5-DP, but better."""
        arguments = ("approx:epsilon=0.5,delta=0", "--runs", "geometric:mean=10", "--delta", "0")
        result = one(run, *arguments)
        assert result["epsilon"]["upper"] == pytest.approx(1.312547, abs=6e-7)
        assert result["methods"]["pure"] == pytest.approx(1.312547, abs=6e-7)
        assert result["methods"]["paper"] == pytest.approx(1.5, abs=6e-7)
        # (1 + w) e^0.5 / (1 + ...): the closed form, w = 9.
        e = math.exp(0.5)
        closed = 0.5 + 2.0 * math.log((1.0 + 10.0 * e) / (1.0 + e + 9.0))
        assert closed <= result["epsilon"]["upper"] <= closed * (1.0 + 1e-8)
        terse = float(run("select", *arguments, "-t").stdout)
        assert result["epsilon"]["upper"] <= terse <= result["epsilon"]["upper"] * (1.0 + 1e-9)

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

    def test_delta_at_epsilon(self, run: Callable[..., Outcome]) -> None:
        """Delta at the epsilon of a delta is that delta."""
        epsilon = one(run, GAUSSIAN, *GEOMETRIC, "--delta", "1e-6")["epsilon"]["upper"]
        result = one(run, GAUSSIAN, *GEOMETRIC, "--epsilon", repr(epsilon))
        in_order(result, "delta")
        assert result["delta"]["upper"] == pytest.approx(1e-6, rel=1e-2)
        assert result["delta"]["lower"] == pytest.approx(1e-6, rel=1e-2)
        assert "candidates" not in result
        two = one(run, GAUSSIAN, *GEOMETRIC, "--epsilon", "2")
        assert two["methods"]["paper"] == pytest.approx(2.125294e-4, rel=3e-7)
        assert two["methods"]["tight"] == pytest.approx(8.678535e-8, rel=3e-7)

    @pytest.mark.slow
    def test_several_questions(self, run: Callable[..., Outcome]) -> None:
        """Deltas come first, then epsilons; each is answered as if it were alone."""
        found = objects(
            run("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-4,1e-8", "--epsilon", "2", "--json")
        )
        assert [each["query"] for each in found] == [
            {"delta": 1e-4}, {"delta": 1e-8}, {"epsilon": 2.0},
        ]  # fmt: skip
        first, second, third = (each["result"] for each in found)
        assert first["epsilon"]["upper"] < second["epsilon"]["upper"]
        in_order(third, "delta")
        alone = one(run, GAUSSIAN, *GEOMETRIC, "--delta", "1e-8")
        for name in ("paper", "tight", "rdp"):
            assert second["methods"][name] == alone["methods"][name]
        assert second["epsilon"]["upper"] == pytest.approx(alone["epsilon"]["upper"], rel=1e-4)
        terse = run("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-4,1e-8", "--epsilon", "2", "-t")
        uppers = first["epsilon"]["upper"], second["epsilon"]["upper"], third["delta"]["upper"]
        for word, upper in zip(terse.stdout.split(), uppers, strict=True):
            assert upper <= float(word) <= upper * (1.0 + 1e-9)

    def test_several_specs_are_one_sum(self, run: Callable[..., Outcome]) -> None:
        """One run may do several things."""
        whole = one(run, f"{GAUSSIAN}+laplace:scale=5", *GEOMETRIC, "--delta", "1e-6")
        assert one(run, GAUSSIAN, "laplace:scale=5", *GEOMETRIC, "--delta", "1e-6") == whole
        assert whole["epsilon"]["upper"] > 1.79
        in_order(whole)

    @pytest.mark.slow
    def test_a_base_that_tells_orders_apart(self, run: Callable[..., Outcome]) -> None:
        """Under -v both directions are shown, and the answer is the worse one."""
        text = "gaussian:sigma=21.1@poisson:q=16384/50000@250"
        done = run("select", text, *GEOMETRIC, "--delta", "1e-6", "--json", "-v")
        result = objects(done)[0]["result"]
        in_order(result)
        assert result["methods"]["paper"] == pytest.approx(2.2555, abs=1e-3)
        shown = [
            float(line.split("[")[1].split("]")[0].split(",")[1])
            for line in done.stderr.splitlines()
            if line.strip().startswith(("remove:", "add:"))
        ]
        assert len(shown) == 2
        assert max(shown) == pytest.approx(result["epsilon"]["upper"], rel=1e-4)

    @pytest.mark.slow
    def test_a_base_known_by_its_curve(self, run: Callable[..., Outcome]) -> None:
        """There is an upper end and no lower one."""
        result = one(run, "zcdp:rho=0.1", *GEOMETRIC, "--delta", "1e-6")
        assert "lower" not in result["epsilon"]
        in_order(result)

    @pytest.mark.slow
    def test_other_relations(self, run: Callable[..., Outcome]) -> None:
        """Samples without replacement replace a record."""
        [found] = objects(
            run("select", "gaussian:sigma=1@wor:q=0.5", *GEOMETRIC, "--delta", "1e-6", "--json")
        )
        assert found["relation"] == "replace_one"
        in_order(found["result"])
        [found] = objects(
            run("select", GAUSSIAN, *GEOMETRIC, "--delta", "1e-6", "--relation", "replace-one",
                "--json")
        )  # fmt: skip
        assert found["relation"] == "replace_one"
        assert found["result"]["methods"]["paper"] == pytest.approx(2.288311, abs=6e-7)


class TestRuns:
    @pytest.mark.few(2)
    @pytest.mark.parametrize(
        ("runs", "others", "more"),
        [
            ("geometric:mean=30", ("geometric:gamma=1/30", "tnb:shape=1,mean=30"), {"rdp"}),
            ("logarithmic:mean=30", ("tnb:shape=0,mean=30",), {"rdp"}),
            ("tnb:shape=-0.5,mean=30", ("tnb:shape=-0.5,gamma=1/3481",), {"rdp"}),
            ("poisson:mean=10", (), {"rdp"}),
            ("binomial:n=20,mean=10", ("binomial:n=20,p=0.5", "binomial:p=50%,n=20"),
             {"rdp", "composition"}),
            ("fixed:n=3", (), {"composition"}),
        ],
    )  # fmt: skip
    def test_families(
        self, runs: str, others: tuple[str, ...], more: set[str], run: Callable[..., Outcome]
    ) -> None:
        """By the mean or by the own parameter of a family: the same answer."""
        result = one(run, GAUSSIAN, "--runs", runs, "--delta", "1e-6")
        in_order(result)
        assert ALWAYS | more <= set(result["methods"])
        assert result["runs"]["family"] == runs.split(":", maxsplit=1)[0]
        for other in others:
            same = one(run, GAUSSIAN, "--runs", other, "--delta", "1e-6")
            for name in ("paper", "tight", "pointwise"):
                assert same["methods"][name] == pytest.approx(result["methods"][name], abs=1e-4)
            assert same["runs"]["mean"] == pytest.approx(result["runs"]["mean"], rel=1e-9)

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

    def test_very_many_runs(self, run: Callable[..., Outcome]) -> None:
        """A mean of a billion, a delta of 1e-16."""
        result = one(run, GAUSSIAN, "--runs", "geometric:mean=1e9", "--delta", "1e-7")
        in_order(result)
        assert result["epsilon"]["lower"] > 0.999 * result["epsilon"]["upper"]
        # delta / mean = 1e-16.
        base = one(run, GAUSSIAN, *GEOMETRIC, "--delta", "1e-16")["base_epsilon"]["upper"]
        constant = result["constants"]["tight"]
        assert result["methods"]["tight"] == pytest.approx(constant + base, abs=1e-9)

    def test_runs_that_cannot_be_bounded_say_infinity(self, run: Callable[..., Outcome]) -> None:
        """No ratio bounds a fixed number of runs; other methods do."""
        result = one(run, GAUSSIAN, "--runs", "fixed:n=2", "--delta", "1e-6")
        assert result["methods"]["paper"] == result["methods"]["tight"] == "Infinity"
        # Both runs published: a Gaussian of mu sqrt(2) / 4.
        assert result["methods"]["composition"] == pytest.approx(1.543630, abs=1e-5)


def test_columns_of_methods_are_explained(run: Callable[..., Outcome]) -> None:
    """Below the tables stands what a run, an upper bound and C are; candidates are for -v."""
    line = ("--runs", "geometric:mean=30", "--delta", "1e-6")
    printed = run("select", "gaussian:sigma=4", *line).stdout
    for name in ("one run", "upper bound", "C"):
        assert f"\n{name}  " in printed
    assert "candidates" not in printed
    assert "\ncandidates  " in run("select", "gaussian:sigma=4", *line, "-v").stdout
