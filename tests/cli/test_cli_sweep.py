"""Sweeps on the command line: each value is a question of its own, and all are one table."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

SPEC = "gaussian:sigma=1@poisson:q=1%@100"
AT = ("--delta", "1e-5")
# A command line, what is swept in it, and the same with one value in the place of a sweep.
SAME = [
    (("compose", SPEC, *AT), "sigma=1,2", ("compose", "gaussian:sigma=2@poisson:q=1%@100", *AT)),
    (("compose", SPEC, "--epsilon", "1"), "count=10..1000/3log",
     ("compose", "gaussian:sigma=1@poisson:q=1%@1000", "--epsilon", "1")),
    (("convert", "zcdp:rho=1", *AT), "rho=1..2/3", ("convert", "zcdp:rho=2", *AT)),
    (("convert", "gaussian:sigma=1@3", "--to", "gdp"), "sigma=1,4",
     ("convert", "gaussian:sigma=4@3", "--to", "gdp")),
    (("select", "pure:epsilon=_", "--runs", "geometric:mean=3", *AT), "0.5,1",
     ("select", "pure:epsilon=1", "--runs", "geometric:mean=3", *AT)),
    (("calibrate", "gaussian:sigma=_@10", "--mu", "1"), "count=5,20",
     ("calibrate", "gaussian:sigma=_@20", "--mu", "1")),
]  # fmt: skip

LAST = {"sigma=1,2": 2, "count=10..1000/3log": 1000, "rho=1..2/3": 2, "sigma=1,4": 4, "0.5,1": 1,
        "count=5,20": 20}  # fmt: skip


def objects(done: Outcome) -> list[dict[str, Any]]:
    """Return the answers of a run."""
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.few(2)
@pytest.mark.parametrize(("line", "sweep", "alone"), SAME)
def test_each_value_is_a_question(
    line: tuple[str, ...], sweep: str, alone: tuple[str, ...], run: Callable[..., Outcome]
) -> None:
    """The last answer of a sweep is that of its value alone, with the value beside the query."""
    found = objects(run(*line, "--sweep", sweep, "--json"))[-1]
    [one] = objects(run(*alone, "--json"))
    (name,) = found["query"].keys() - one["query"].keys()
    assert found["query"].pop(name) == LAST[sweep]
    assert found == one


@pytest.mark.few(2)
@pytest.mark.parametrize(("line", "sweep", "alone"), SAME)
def test_one_table(
    line: tuple[str, ...], sweep: str, alone: tuple[str, ...], run: Callable[..., Outcome]
) -> None:
    """The number that is swept stands first, and where it was asked below."""
    done = run(*line, "--sweep", sweep)
    assert done.status == 0
    paragraphs = done.stdout.split("\n\n")
    head, *rows = paragraphs[1].splitlines()
    name = sweep.partition("=")[0] if "=" in sweep else "epsilon"
    assert head.split()[0] == name
    assert len(rows) == (3 if "/3" in sweep else 2)
    assert "_" in paragraphs[0].splitlines()[0]
    if "--delta" in line:
        assert "delta 1e-5" in paragraphs[-1]
    assert alone[0] in line


def test_csv_and_markdown(run: Callable[..., Outcome]) -> None:
    """Rows name the value, and the specification with it."""
    text = run("compose", SPEC, *AT, "--sweep", "sigma=1,2", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["given"], row["at"], row["quantity"]) for row in rows] == [
        ("sigma", "1", "epsilon"),
        ("sigma", "2", "epsilon"),
    ]
    assert rows[1]["spec"] == "gaussian:sigma=2@poisson:q=0.01@100"
    text = run("compose", SPEC, *AT, "--sweep", "sigma=1,2", "--format", "markdown").stdout
    assert "| sigma | epsilon lower bound | epsilon upper bound |" in text
    assert "- at: delta 1e-5" in text
    assert text.startswith("**`gaussian:sigma=_@poisson:q=0.01@100`**")


def test_a_picture(run: Callable[..., Outcome]) -> None:
    """It says what is asked at which place; equal steps are drawn so."""
    text = run("compose", SPEC, *AT, "--sweep", "sigma=0.8..2/13", "--plot").stdout
    assert "\nepsilon at delta 1e-5\n" in text
    assert text.count("*") == 13 + 1
    assert text.splitlines()[-2].strip() == "sigma"
    done = run("calibrate", "gaussian:sigma=_@10", "--mu", "1", "--sweep", "count=1,50", "--plot")
    assert "\nsigma that meets the target\n" in done.stdout


@pytest.mark.parametrize("jobs", ["2", "3"])
def test_processes_give_the_same_bytes(jobs: str, run: Callable[..., Outcome]) -> None:
    """In the same order, errors too."""
    line = ("compose", SPEC, *AT, "--sweep", "q=0.1,2,0.2,0.3,7", "--json")
    alone, several = run(*line), run(*line, "--jobs", jobs)
    assert alone == several
    assert alone.status == 2
    assert alone.stdout.count("\n") == 3


def test_what_is_wrong_with_one_value(run: Callable[..., Outcome]) -> None:
    """It is said with the value; the others go on, and the status is that of an error."""
    done = run("compose", SPEC, *AT, "--sweep", "q=2,0.5", "-t", "--max-epsilon", "1000")
    assert (done.status, done.stdout.count("\n")) == (2, 1)
    assert done.stderr.startswith("privcalc: q=2: q must be in [0, 1], got 2\n")
    done = run("compose", SPEC, *AT, "--sweep", "q=2,0.5", "--json")
    assert json.loads(done.stderr)["message"] == "q=2: q must be in [0, 1], got 2"


def test_what_is_wrong_with_all_values(run: Callable[..., Outcome]) -> None:
    """It is said once."""
    done = run("convert", "zcdp:rho=_", "--to", "gdp", "--sweep", "1,2,3")
    assert (done.status, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("privcalc: rho=1: no finite mu")


def test_internal_errors_do_not_end_it(
    run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are errors of their value."""

    def broken(_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("privcalc.reporting.compose._result", broken)
    done = run("compose", "pure:epsilon=_", *AT, "--sweep", "1,2")
    assert done.status == 2
    assert done.stderr.startswith("privcalc: epsilon=1: internal error: ZeroDivisionError")


@pytest.mark.parametrize(("budget", "status"), [("3", 0), ("1.5", 1), ("0.5", 1)])
def test_budgets(budget: str, status: int, run: Callable[..., Outcome]) -> None:
    """Each value has a verdict of its own, and the status is the worst of them."""
    line = ("compose", "pure:epsilon=_", "--delta", "0", "--sweep", "1,2", "--max-epsilon", budget)
    done = run(*line)
    assert done.status == status
    verdicts = [each for each in done.stdout.splitlines() if "budget" in each]
    assert len(verdicts) == 2
    for value, line_of_it in zip((1, 2), verdicts, strict=True):
        assert line_of_it.startswith("within" if value <= float(budget) else "over")
        assert line_of_it.endswith(f"; at epsilon={value}")
        # Of each of many a hint would take its time.
        assert "would fit" not in line_of_it
    assert run(*line, "--exit-zero").status == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("compose - --delta 0.1 --sweep q=1,2", "one specification, not with -"),
        ("compose gdp:mu=1 --sweep mu=1,2", "one --delta D or one --epsilon E"),
        ("compose gdp:mu=1 --delta 0.1,0.2 --sweep mu=1,2", "not with a list"),
        ("compose gdp:mu=1 --delta 0.1 --epsilon 1 --sweep mu=1,2", "not with a list"),
        ("compose gdp:mu=1 --delta 0.1 --certificate x.json --sweep mu=1,2", "one question"),
        ("compose --file x.toml --sweep mu=1,2", "not with --file"),
        ("compose gdp:mu=1 --delta 0.1 --sweep mu=1,2 --format statement", "a statement is about"),
        ("convert gdp:mu=1 --to rdp --sweep mu=1,2", "--to rdp has none"),
        ("convert gdp:mu=1 --to risk --sweep mu=1,2", "--to risk has none"),
        ("convert gdp:mu=1 --to gdp --delta 0.1 --sweep mu=1,2", "a second mu"),
        ("convert gdp:mu=1 --sweep mu=1,2", "--to profile has none"),
        ("convert gaussian:sigma=1 --to zcdp --filter zcdp:rho=1 --sweep sigma=1", "a guarantee"),
        ("select gdp:mu=1 --runs fixed:n=2 --delta 0.1,0.2 --sweep mu=1,2", "not with a list"),
        ("select gdp:mu=1 --thresholds --epsilon-q 1 --runs fixed:n=2 --delta 0.1 --sweep mu=1,2",
         "says nothing to --thresholds"),
        ("calibrate gaussian:sigma=_@2 --mu 1,2 --sweep count=1,2", "one target"),
    ],
)  # fmt: skip
def test_refusals(line: str, words: str, run: Callable[..., Outcome]) -> None:
    """What a sweep does not go with is said before anything is worked out."""
    done = run(*line.split())
    assert (done.status, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert words in done.stderr
