"""Statements: two sentences and a table that say all that a reader needs to check the number."""

from __future__ import annotations

import json
import re
import shlex
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from privcalc.render.assumptions import unit
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

QUESTIONS = [
    "compose gaussian:sigma=3@10 --delta 1e-5",
    "compose gaussian:sigma=3@10 --epsilon 1",
    "compose gaussian:sigma=3 laplace:scale=9 --delta 1e-6 --relation replace-one",
    "convert zcdp:rho=0.5 --delta 1e-9",
    "convert gaussian:sigma=3 --to gdp --group 3",
    "calibrate gaussian:sigma=_@10 --epsilon 2 --delta 1e-6",
    "select approx:epsilon=0.5,delta=0 --runs geometric:mean=10 --delta 0",
    "compose gaussian:sigma=3@10 --delta 1e-5,1e-6",
]


def table(text: str) -> dict[str, str]:
    """Return the rows of the table by name."""
    rows = re.findall(r"^\| ([^|]*) \| (.*) \|$", text, re.MULTILINE)
    return {name: value.replace("\\|", "|") for name, value in rows}


@pytest.mark.parametrize("line", QUESTIONS[:4])
def test_both_ends_are_rounded_outward(line: str, run: Callable[..., Outcome]) -> None:
    """What is stated contains the bracket, in the table and in the sentence."""
    words = line.split()
    text = run(*words, "--format", "statement").stdout
    name, ends = next(iter(json.loads(run(*words, "--json").stdout)["result"].items()))
    asked = words[words.index("--epsilon" if name == "delta" else "--delta") + 1]
    stated = next(value for key, value in table(text).items() if key.startswith(f"{name} at"))
    low, high = re.search(r"at least ([^,]+),", stated), re.search(r"at most (\S+)", stated)
    assert high is not None
    assert Fraction(high[1]) >= Fraction(ends["upper"])
    # Epsilon stands before delta, whichever of the two was asked for.
    pair = (asked, high[1]) if name == "delta" else (high[1], asked)
    assert f"is ({', '.join(pair)})-differentially private" in text.splitlines()[0]
    if low is None:
        assert "lower" not in ends
        assert f"how much smaller {name} may be" in text
    else:
        assert Fraction(low[1]) <= Fraction(ends["lower"])
        assert f"no {name} below {low[1]} holds" in text


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("gaussian:sigma=1@5", "one record"),
        ("gaussian:sigma=1@5@group:k=3", "3 records together"),
        ("(laplace:scale=1@group:k=2)@group:k=3", "6 records together"),
        (
            "laplace:scale=1@group:k=2+gaussian:sigma=1",
            "one person, with as many records in each part as @group says there, else one",
        ),
        ("ptr:test=(gaussian:sigma=8),mechanism=(gdp:mu=1),false_positive=1e-9", "one record"),
    ],
)
def test_unit_of_privacy(spec: str, words: str) -> None:
    """It is what all mechanisms protect."""
    assert unit(parse(spec).tree) == words


def test_rows_are_words(run: Callable[..., Outcome], tmp_path: Path) -> None:
    """Curves and parts of a sum are named as a reader without the tool names them."""
    line = "convert gaussian:sigma=3 --to rdp --orders 2 --format statement"
    curve = run(*line.split()).stdout
    assert "Renyi divergence at order 2" in table(curve)
    line = "subsample gaussian:sigma=5 --q 0.01 --orders 2 --format statement"
    rows = table(run(*line.split()).stdout)
    assert {"Renyi divergence without sampling at order 2", "sampled Renyi divergence"} <= {*rows}
    assert not {"base", "lower", "tight", "upper", "exact"} & {*rows}
    budget = tmp_path / "privacy.toml"
    budget.write_text(
        "[budget]\nepsilon = 3\ndelta = 1e-5\n"
        '[[mechanism]]\nname = "counts"\nspec = "pure:epsilon=1"\n',
        encoding="utf-8",
    )
    rows = table(run("compose", "--file", str(budget), "--format", "statement").stdout)
    assert "epsilon of counts at delta 1e-5" in rows


@pytest.mark.few(2)
@pytest.mark.parametrize("command", ["compose", "select --runs fixed:n=2", "convert --group 2"])
def test_a_line_of_a_pipe_can_be_asked_again(command: str, run: Callable[..., Outcome]) -> None:
    """Its command has the question in the place of -, under the relation that an answer brings."""
    words = [*command.split(), "-", "--delta", "1e-5", "--format=statement"]
    other = "compose pure:epsilon=0.5 --delta 0.1 --relation replace-one --json"
    brought = run(*other.split()).stdout
    for question in ("pure:epsilon=1\n", brought):
        done = run(*words, stdin=question)
        again = shlex.split(table(done.stdout)["command"].strip("`"))[1:]
        assert "-" not in again
        rows = [table(each.stdout) for each in (done, run(*again))]
        for each in rows:
            each.pop("command")
        assert rows[0] == rows[1]
        assert rows[0]["relation"].startswith("replace-one" if question == brought else "add-or")


def test_data_dependent_numbers_are_not_stated(
    tmp_path: object, run: Callable[..., Outcome]
) -> None:
    """They are no guarantee."""
    votes = f"{tmp_path}/votes.txt"
    with open(votes, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write("200 30 20\n")
    done = run(
        *f"convert gnmax:sigma=40 --data-dependent {votes} --delta 1e-5".split(),
        "--format",
        "statement",
    )
    assert (done.status, done.stdout) == (2, "")
    assert "a statement is about a guarantee" in done.stderr


@pytest.mark.parametrize("jobs", [("--jobs", "2"), ("--jobs=2",)])
def test_the_command_of_one_question_has_no_processes(
    jobs: tuple[str, ...], run: Callable[..., Outcome]
) -> None:
    """The command in a statement asks one question, and is accepted."""
    done = run("compose", "-", "--delta", "1e-5", "--format", "statement", *jobs,
               stdin="gaussian:sigma=5")  # fmt: skip
    command = "privcalc compose gaussian:sigma=5 --delta 1e-5 --format statement"
    assert f"| command | `{command} --relation add-or-remove-one` |" in done.stdout
