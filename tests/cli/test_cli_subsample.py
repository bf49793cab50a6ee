"""The command `subsample`: what it prints in each format, and what it refuses."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

import pytest

from tests.cli.test_cli_schema import objects

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

GAUSSIAN = "gaussian:sigma=5"
ORDERS = "2,8,32,128,512"

Run = "Callable[..., Outcome]"


def test_the_curve(run: Callable[..., Outcome]) -> None:
    """All columns of a Gaussian, to the digits that tables show."""
    done = run("subsample", GAUSSIAN, "--q", "0.001", "--orders", ORDERS)
    assert done.status == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    start = rows.index(["order", "base", "lower", "tight", "upper"])
    shown = {row[0]: row[1:] for row in rows[start + 1 : start + 6]}
    base, lower, tight, upper = zip(*(map(float, row) for row in shown.values()), strict=True)
    assert base == pytest.approx([0.04, 0.16, 0.64, 2.56, 10.24], rel=1e-9)
    assert [f"{x:.6e}" for x in tight] == [
        "4.081077e-08", "1.632836e-07", "6.537832e-07", "2.625585e-06", "3.318728e+00",
    ]  # fmt: skip
    assert [f"{x:.6e}" for x in upper] == [
        "4.081077e-08", "1.722749e-07", "8.317189e-07", "5.487210e-06", "3.320876e+00",
    ]  # fmt: skip
    assert all(a <= b <= c for a, b, c in zip(lower, tight, upper, strict=True))
    assert ["order", "exact", "lower", "bound", "exact", "upper", "bound"] in rows


@pytest.mark.slow
def test_tables_fit_eighty_columns(run: Callable[..., Outcome]) -> None:
    """Tables, not the sentences around them, at every kind of order and size."""
    for arguments in (
        (GAUSSIAN, "--q", "0.001", "--orders", "1.0625,2,1000000"),
        ("rr:p=0.9", "--q", "1e-3", "--delta", "1e-30", "--count", "1_000"),
        ("gaussian:sigma=50", "--n", "60000", "--m", "256", "--delta", "1e-5"),
    ):
        done = run("subsample", *arguments)
        assert done.status == 0, done.stderr
        header = next(i for i, x in enumerate(done.stdout.splitlines()) if x.startswith("order"))
        tables = [x for x in done.stdout.splitlines()[header:] if x[:1].isdigit()]
        assert len(tables) >= 3
        assert max(map(len, tables)) <= 80
    boxed = run("subsample", GAUSSIAN, "--q", "0.001", "--orders", "1.0625", terminal=True)
    assert boxed.status == 0


def test_verbose_shows_the_published_bound(run: Callable[..., Outcome]) -> None:
    """The theorem as it was printed stands on standard error."""
    done = run("subsample", GAUSSIAN, "--q", "0.001", "--orders", ORDERS, "-v")
    lines = done.stderr.splitlines()
    at = next(i for i, line in enumerate(lines) if "as published" in line)
    shown = [float(line.split()[-1]) for line in lines[at + 1 : at + 6]]
    assert shown == pytest.approx(
        [4.081077e-8, 1.812588e-7, 1.007142e-6, 8.164929e-6, 3.320878], rel=3e-7
    )


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


def test_json(run: Callable[..., Outcome]) -> None:
    """The curve is one object, and every delta another; columns that do not apply are left out."""
    done = run("subsample", GAUSSIAN, "--q", "0.001", "--orders", "2,2.5", "--delta", "1e-5,1e-8",
               "--count", "1000", "--json")  # fmt: skip
    curve, first, second = objects(done)
    assert curve["query"] == {"sampling_probability": 0.001, "count": 1000}
    assert curve["text"] == f"{GAUSSIAN}@poisson:q=0.001"
    assert first["text"] == second["text"] == f"{GAUSSIAN}@poisson:q=0.001@1000"
    assert list(curve["result"]) == [
        "orders", "base", "lower", "tight", "upper", "exact", "phase_transition_order",
    ]  # fmt: skip
    assert curve["method"]["engine"] == "rdp"
    assert set(curve["method"]["theorems"]) == {"base", "lower", "tight", "upper", "exact"}
    assert first["query"] == {"sampling_probability": 0.001, "count": 1000, "delta": 1e-5}
    assert second["query"]["delta"] == 1e-8
    for each in (first, second):
        methods, bound = each["result"]["methods"], each["result"]["epsilon"]
        assert bound["upper"] <= methods["rdp_best"] <= methods["rdp_classic"]
    [fixed] = objects(run("subsample", GAUSSIAN, "--n", "1000", "--m", "10", "--json"))
    assert fixed["relation"] == "replace_one"
    assert fixed["query"] == {"source_dataset_size": 1000, "sample_size": 10}
    assert fixed["text"] == f"{GAUSSIAN}@wor:n=1000,m=10"
    assert "tight" not in fixed["result"]
    [known] = objects(run("subsample", "zcdp:rho=0.02,xi=0.1", "--q", "0.01", "--json"))
    assert list(known["result"])[:3] == ["orders", "base", "upper"]
    [infinite] = objects(
        run("subsample", "approx:epsilon=1,delta=1e-6", "--q", "0.01", "--orders", "2", "--json")
    )
    assert infinite["result"]["upper"] == ["Infinity"]


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


@pytest.mark.slow
def test_csv_and_markdown_and_github(run: Callable[..., Outcome]) -> None:
    """The long form has a row for each number; the others show every table."""
    arguments = ("subsample", GAUSSIAN, "--q", "0.001", "--orders", "2,3", "--delta", "1e-5")
    done = run(*arguments, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["given"], row["at"], row["quantity"]) for row in rows[:2]] == [
        ("orders", "2", "base"), ("orders", "3", "base"),
    ]  # fmt: skip
    assert {row["quantity"] for row in rows} == {
        "base", "lower", "tight", "upper", "exact", "rdp_classic", "rdp_best", "epsilon",
    }  # fmt: skip
    assert all(row["sampling"] == "Poisson, q=0.001" for row in rows)
    lower = next(row for row in rows if row["quantity"] == "lower")
    assert lower["lower"]
    assert not lower["upper"]
    markdown = run(*arguments, "--format", "markdown").stdout
    assert "| order | base | lower | tight | upper |" in markdown
    assert "- tight: proved here" in markdown
    assert "RDP, best" in markdown
    github = run(*arguments, "--format", "github").stdout
    assert github.count("::notice") == 2
    assert "phase_transition_order" not in github
    curve = run("subsample", "zcdp:rho=0.1", "--q", "0.1", "--orders", "2,3", "--format", "github")
    assert "upper from " in curve.stdout


def test_standard_input(run: Callable[..., Outcome]) -> None:
    """Each line is a question of its own."""
    done = run("subsample", "-", "--q", "0.01", "--delta", "1e-5", "-t",
               stdin=f"{GAUSSIAN}\nrr:p=0.7\nnonsense\n")  # fmt: skip
    assert done.status == 2
    assert len(done.stdout.split()) == 2
    assert "line 3" in done.stderr


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


@pytest.mark.slow
def test_small_divergences_keep_their_digits(run: Callable[..., Outcome]) -> None:
    """Sigma = 50 at one in a hundred thousand, and orders up to a million."""
    [found] = objects(
        run("subsample", "gaussian:sigma=50", "--q", "1e-5", "--orders", "4,1000000", "--json")
    )
    assert found["result"]["tight"][0] == pytest.approx(8.001600277e-14, rel=1e-10)
    assert found["result"]["exact"][0]["lower"] == pytest.approx(8.001600277e-14, rel=1e-10)
    assert math.isfinite(found["result"]["tight"][1])
    assert found["result"]["tight"][1] <= found["result"]["base"][1] == pytest.approx(200.0)


def test_everything_sampled_with_infinite_losses(run: Callable[..., Outcome]) -> None:
    """At q = 1 the bounds are those of the mechanism: infinite, and numbers."""
    for spec in ("approx:epsilon=4,delta=1e-7", "pure:epsilon=1+approx:epsilon=1,delta=1e-9"):
        [found] = objects(run("subsample", spec, "--q", "1", "--orders", "2,5.5,8", "--json"))
        assert found["result"]["upper"] == found["result"]["base"] == ["Infinity"] * 3


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((GAUSSIAN,), "give --q Q, or --n N with --m M"),
        ((GAUSSIAN, "--q", "0.1", "--n", "5", "--m", "2"), "contradict each other"),
        ((GAUSSIAN, "--n", "5"), "--n N and --m M together"),
        ((GAUSSIAN, "--q", "1.5"), "--q must be between 0 and 1, got 1.5"),
        ((GAUSSIAN, "--n", "5", "--m", "6"), "--m must be at most --n, got 6 out of 5"),
        ((GAUSSIAN, "--n", "1e3", "--m", "6"), "digits"),
        ((GAUSSIAN, "--q", "0.1", "--orders", "1,2"), "orders > 1 and at most 1000000, got 1"),
        ((GAUSSIAN, "--q", "0.1", "--orders", "2,,3"), "empty place"),
        ((GAUSSIAN, "--q", "0.1", "--orders", "2000000"), "at most 1000000"),
        ((GAUSSIAN, "--q", "0.1", "--count", "5"), "add --delta D"),
        ((GAUSSIAN, "--q", "0.1", "-t"), "add --delta D"),
        ((GAUSSIAN, "--q", "0.1", "--delta", "1e-5", "--count", "0"), "at least 1"),
        ((GAUSSIAN, "--q", "0.1", "--delta", "2"), "between 0 and 1"),
        ((GAUSSIAN, "--q", "0.1", "--relation", "replace-one"), "not under replace-one"),
        (("gaussian:sigma=_", "--q", "0.1"), "calibrate"),
        ((f"{GAUSSIAN}@wor:q=0.1", "--q", "0.1"), "@poisson and @wor"),
        ((f"{GAUSSIAN}@group:k=2", "--q", "0.1"), "@group inside @poisson"),
        ((GAUSSIAN, "--q", "0.1", "--engine", "afa"), "afa"),
        ((GAUSSIAN, "--q", "0.1", "--engine", "fft"), "add --delta D"),
        ((GAUSSIAN, "-q", "0.1"), "--q 0.1"),
    ],
)
def test_refusals(arguments: tuple[str, ...], message: str, run: Callable[..., Outcome]) -> None:
    """One line on standard error, nothing printed, status 2."""
    done = run("subsample", *arguments)
    assert done.status == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.startswith("privcalc: ")
