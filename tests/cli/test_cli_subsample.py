"""The command `subsample`: what it prints in each format, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.test_cli_schema import objects

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

GAUSSIAN = "gaussian:sigma=5"
ORDERS = "2,8,32,128,512"

Run = "Callable[..., Outcome]"


def test_reasons_stand_below_the_table(run: Callable[..., Outcome], tmp_path: Path) -> None:
    """Each column has its theorem, and what is left out has its reason."""
    done = run("subsample", GAUSSIAN, "--q", "0.001", "--orders", "2,8")
    for word in ("base", "lower", "tight", "upper", "exact", "transition"):
        assert any(line.startswith(f"{word} ") for line in done.stdout.splitlines())
    file = tmp_path / "pair.csv"
    file.write_text("0.2 0.3\n0.8 0.7\n")
    done = run("subsample", f"pmf:file={file}", "--q", "0.1", "--orders", "2,3")
    assert "have one privacy loss, and here they differ" in done.stdout
    done = run("subsample", GAUSSIAN, "--n", "10", "--m", "1", "--orders", "2")
    assert "proved for Poisson samples only" in done.stdout


def test_the_exact_epsilon_is_that_of_compose(run: Callable[..., Outcome]) -> None:
    """One question in two commands has one answer."""
    found = objects(run("subsample", GAUSSIAN, "--q", "0.001", "--delta", "1e-6", "--count",
                        "5000", "--json"))[1]  # fmt: skip
    [same] = objects(
        run("compose", f"{GAUSSIAN}@poisson:q=0.001@5000", "--delta", "1e-6", "--json")
    )
    assert found["result"]["epsilon"] == same["result"]["epsilon"]
    terse = run("subsample", GAUSSIAN, "--q", "0.001", "--delta", "1e-6", "--count", "5000", "-t")
    upper = same["result"]["epsilon"]["upper"]
    assert upper <= float(terse.stdout) <= upper * (1.0 + 1e-9)


def test_a_curve_alone(run: Callable[..., Outcome], tmp_path: Path) -> None:
    """A file of Renyi points has an upper bound, and no column that needs more."""
    file = tmp_path / "points.csv"
    file.write_text("order epsilon\n2 0.04\n8 0.16\n32 0.64\n")
    [found] = objects(
        run("subsample", f"rdp:file={file}", "--q", "0.01", "--orders", "2,8,32,64", "--json")
    )
    assert set(found["result"]) >= {"orders", "base", "upper"}
    assert not {"lower", "tight", "exact"} & set(found["result"])
    assert found["result"]["base"][3] == "Infinity"


def test_underflow_is_no_zero(run: Callable[..., Outcome]) -> None:
    """A divergence below the smallest double is at most that, and not at most 0."""
    [found] = objects(
        run("subsample", "rr:epsilon=1", "--q", "1e-170", "--orders", "2,1000", "--json")
    )
    assert all(bound["lower"] == 0.0 < bound["upper"] for bound in found["result"]["exact"])
    [none] = objects(run("subsample", "pure:epsilon=0", "--q", "0.1", "--orders", "2", "--json"))
    assert none["result"]["exact"] == [{"lower": 0.0, "upper": 0.0}]
    assert none["result"]["base"] == [0.0]


def test_what_is_said_of_the_transition(run: Callable[..., Outcome], tmp_path: Path) -> None:
    """The sentence fits the table above it."""
    file = tmp_path / "pair.csv"
    file.write_text("0.4 0.5\n0.4 0.5\n0.2 0\n")
    for spec, q, words in (
        (
            GAUSSIAN,
            "0.001",
            "about order 346.4; beyond it sampling takes off about log(1/q) = 6.908",
        ),
        (GAUSSIAN, "1", "none: every record is in the sample"),
        ("rr:p=0.6", "0.1", "none: sampling helps at every order"),
        (f"pmf:file={file}", "0.1", "none: divergences are infinite without sampling"),
        ("approx:epsilon=1,delta=0.1", "0.1", "none: divergences are infinite"),
    ):
        done = run("subsample", spec, "--q", q, "--orders", "2,3.5")
        line = next(x for x in done.stdout.splitlines() if x.startswith("transition"))
        assert line.split(maxsplit=1)[1] == words
