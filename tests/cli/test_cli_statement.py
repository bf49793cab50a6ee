"""Statements: two sentences and a table that say all that a reader needs to check the number."""

from __future__ import annotations

import json
import re
import shlex
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from privcalc import __version__
from privcalc.render.neighbours import unit
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


@pytest.mark.parametrize(
    ("spec", "stated"),
    [
        ("zcdp:rho=0.5@3", True),
        ("pure:epsilon=1+(gdp:mu=1+rdp:order=2,epsilon=1)@2", True),
        ("gaussian:sigma=3", False),
        ("zcdp:rho=0.5+gaussian:sigma=3", False),
        ("pure:epsilon=1@poisson:q=0.1", False),
    ],
)
def test_sampling_of_guarantees(spec: str, stated: bool, run: Callable[..., Outcome]) -> None:
    """Whether every step used every record is known where there is a mechanism, and said in CSV."""
    question = ("compose", spec, "--delta", "1e-5", "--format")
    rows = table(run(*question, "statement").stdout)
    assert rows["sampling"].startswith("as stated (") == stated
    assert (",as stated," in run(*question, "csv").stdout) == stated


@pytest.mark.few(2)
@pytest.mark.parametrize("line", QUESTIONS)
def test_a_statement_says_all(line: str, run: Callable[..., Outcome]) -> None:
    """Two sentences, then the table; the command in it prints the same statement."""
    words = line.split()
    done = run(*words, "--format", "statement")
    # What a replaced record changes is said of any format.
    said = "zcdp" in line or "replace-one" in line
    # So is that the best of several runs is known between two ends only.
    wide = "privcalc: warning: the bracket of epsilon at delta 0 is wider than the tolerance"
    errors = re.sub(rf"^{wide}.*\n", "", done.stderr) if "approx" in line else done.stderr
    assert (done.status, "" if said else errors) == (0, "")
    sentences, blank, *_ = done.stdout.splitlines()
    assert blank == ""
    assert len(re.findall(r"\.(?: |$)", sentences)) == 2
    rows = table(done.stdout)
    answer = json.loads(run(*words, "--json").stdout.splitlines()[0])
    assert rows["mechanism"] == f"`{answer['text']}`"
    assert rows["relation"].startswith(answer["relation"].replace("_", "-"))
    stated = "zcdp" in line or "approx" in line
    sampling = "as stated (the guarantees take it into account)"
    assert rows["sampling"] == (sampling if stated else "none (every step uses every record)")
    assert rows["proved by"] == f"privcalc {__version__}, engine {answer['method']['engine']}"
    assert rows["unit of privacy"] in sentences
    assert rows["relation"] in sentences
    command = shlex.split(rows["command"].strip("`"))
    assert run(*command[1:]).stdout == done.stdout


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


def test_several_numbers_stand_in_the_table(run: Callable[..., Outcome]) -> None:
    """A sentence names one number only where there is one."""
    text = run(*QUESTIONS[-1].split(), "--format", "statement").stdout
    assert {"epsilon at delta 1e-5", "epsilon at delta 1e-6"} <= table(text).keys()
    assert text.startswith("Of the mechanism `gaussian:sigma=3@10` the numbers in the table")


def test_rivals_are_no_part_of_it(run: Callable[..., Outcome]) -> None:
    """Of a selection the price and the distribution of the runs are stated."""
    rows = table(run(*QUESTIONS[6].split(), "--format", "statement").stdout)
    assert {"epsilon at delta 0", "one run at delta 0", "runs"} <= rows.keys()
    assert not {"paper", "tight", "candidates.paper"} & {key.split(" at ")[0] for key in rows}


def test_a_verdict_is_stated(run: Callable[..., Outcome]) -> None:
    """With its status."""
    done = run(*QUESTIONS[0].split(), "--max-epsilon", "0.1", "--format", "statement")
    assert done.status == 1
    assert table(done.stdout)["budget"].startswith("over budget: epsilon >= ")


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


def test_sampling_is_stated(run: Callable[..., Outcome]) -> None:
    """With what is assumed of it, and that it is no shuffling."""
    line = "compose gaussian:sigma=9@poisson:q=1% --delta 1e-3 --format statement"
    text = run(*line.split()).stdout
    words = "Poisson where sampled (each record joins each batch independently; not shuffling)"
    assert table(text)["sampling"] == words
    assert words in text.splitlines()[0]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("spec", "sampling", "unit"),
    [
        (
            "gaussian:sigma=3@batches:t=10+gaussian:sigma=3@poisson:q=0.1",
            (
                "Poisson at @poisson (each record joins each batch independently) and shuffled"
                " batches of fixed size at @batches (each pass goes through the records in an order"
                " that is drawn anew)"
            ),
            "one record",
        ),
        (
            "gaussian-mixture:sigma=2,sensitivities=0,1,2,probabilities=0.81,0.18,0.01@100",
            (
                "drawn contributions in the mixture (how much a record contributes is drawn anew in"
                " every use, as the probabilities say)"
            ),
            (
                "one record (a record being what the mixture draws the part of, such as all data of"
                " one person)"
            ),
        ),
        (
            "matrix-gaussian:sigma=9,strategy=banded,steps=20,participations=2,separation=10",
            (
                "planned participations in matrix-gaussian (each record joins at most as many"
                " steps, and as far apart, as participations and separation say; of samples, by"
                " lot)"
            ),
            "one record",
        ),
        (
            "gaussian:sigma=1@poisson:q=0.001,max=1200,n=1000000@100",
            (
                "Poisson with a cap where sampled (each record joins each batch independently, and"
                " a batch of more than max is cut to max by lot; not shuffling)"
            ),
            "one record",
        ),
    ],
)
def test_words_of_sampling(
    spec: str, sampling: str, unit: str, run: Callable[..., Outcome]
) -> None:
    """Every kind that occurs is named, and a cap, and what a mixture draws."""
    text = run("compose", spec, "--delta", "1e-5", "--format", "statement").stdout
    rows = table(text)
    assert (rows["sampling"], rows["unit of privacy"]) == (sampling, unit)
    assert sampling in text.splitlines()[0]


def test_neighbours_of_a_group(run: Callable[..., Outcome]) -> None:
    """They differ in as many records as the unit of privacy has."""
    line = "compose gaussian:sigma=9@group:k=3 --delta 1e-3 --format statement"
    rows = table(run(*line.split()).stdout)
    assert rows["unit of privacy"] == "3 records together"
    assert rows["relation"] == "add-or-remove-one, 3 times (one data set has 3 records more)"


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


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("compose gdp:mu=1 --delta 1e-5 --engine afa", "an estimate only"),
        ("compose gdp:mu=1 --delta 0", "finite"),
        ("compose gdp:mu=1 --delta 1e-5 -t", "-t prints a bare number"),
        ("compose gdp:mu=1 --delta 1e-5 --json", "--json contradicts"),
    ],
)
def test_what_is_no_guarantee_is_not_stated(
    line: str, words: str, run: Callable[..., Outcome]
) -> None:
    """One line says why, and nothing is printed."""
    done = run(*line.split(), "--format", "statement")
    assert (done.status, done.stdout) == (2, "")
    assert words in done.stderr


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
