"""The command `audit`: what it prints in each format, and what it refuses."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

import privcalc
from tests.cli.test_cli_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.conftest import Outcome

    Run = Callable[..., Outcome]

RUNS = ("--design", "runs", "--counts", "500,500,50,950")
ONE = ("--design", "one-run", "--canaries", "1000", "--guesses", "100", "--correct", "95")
REFUTED = (
    "no mechanism that meets gaussian:sigma=0.7 gives such evidence in more than 5 % of audits"
)


def data(run: Run, *words: str) -> tuple[dict[str, Any], int]:
    """Return the one object that is printed, and the exit status."""
    done = run("audit", *words, "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    validator("result").validate(found)
    return found, done.status


def scores(
    folder: Path, rows: Sequence[tuple[object, object]], header: str = "score,member"
) -> str:
    """Write scores, and return the name of the file."""
    file = folder / "scores.csv"
    file.write_text("\n".join([header, *(f"{a},{b}" for a, b in rows)]) + "\n")
    return str(file)


def test_a_specification_is_refuted(run: Run) -> None:
    """The table, the status, and the same as JSON."""
    done = run("audit", "gaussian:sigma=0.7", *RUNS, "--delta", "1e-5")
    assert done.status == 1
    assert "500 of 1000 members and 50 of 1000 others called members" in done.stdout
    assert "95 % (Fisher's product of exact binomial tests)" in done.stdout
    assert done.stdout.splitlines()[-1] == f"refuted: {REFUTED}"
    assert "\n1e-5   2.013" in done.stdout
    assert "  6.652487891  " in done.stdout
    found, status = data(run, "gaussian:sigma=0.7", *RUNS, "--delta", "1e-5")
    assert status == 1
    assert found["evidence"] == {
        "design": "runs", "true_positives": 500, "false_negatives": 500, "false_positives": 50,
        "true_negatives": 950,
    }  # fmt: skip
    assert found["query"] == {"delta": 1e-5, "confidence": 0.95}
    assert found["check"] == {"verdict": "refuted"}
    assert found["method"]["test"] == "fisher"
    result = found["result"]
    assert 2.0125 < result["epsilon"]["lower"] < 2.0136
    assert result["claimed_epsilon"]["upper"] == pytest.approx(6.652487890)
    assert 0.006 < result["p_value"]["upper"] < 0.01
    assert run("audit", "gaussian:sigma=0.7", *RUNS, "--exit-zero").status == 0


def test_a_specification_is_compatible(run: Run) -> None:
    """That is no proof of it, and of one run even less."""
    done = run("audit", "gaussian:sigma=0.5", *RUNS)
    assert done.status == 0
    assert (
        "compatible: the evidence does not refute gaussian:sigma=0.5; it is no proof" in done.stdout
    )
    done = run("audit", "gaussian:sigma=0.5", *ONE)
    assert "it is no proof of it, and one run sees gross errors only" in done.stdout


def test_evidence_alone(run: Run) -> None:
    """Nothing is said of a specification: not in tables, and not in data."""
    found, status = data(run, *ONE, "--delta", "1e-5")
    assert status == 0
    assert not {"spec", "text", "relation", "check"} & {*found}
    assert found["evidence"] == {
        "design": "one-run", "canaries": 1000, "guesses": 100, "correct": 95
    }  # fmt: skip
    assert found["result"]["epsilon"]["lower"] == pytest.approx(2.168867, abs=1e-5)
    done = run("audit", *ONE, "--delta", "1e-5", "-v")
    assert done.stdout.startswith("evidence    95 of 100 guesses about 1000 canaries are right")
    assert "epsilon at least 2.1651758 by the bound of Steinke" in done.stderr
    assert "published, not certified here" in done.stderr
    assert run("audit", *ONE, "--delta", "1e-5", "-t").stdout == "2.168867046\n"
    box = run("audit", *RUNS, "--delta", "1e-5", "-v").stderr
    assert all(word in box for word in ("0.06539048792", "0.468549173", "1.96924290", "64 cells"))


def test_a_largest_epsilon(run: Run) -> None:
    """It is refuted as (epsilon, delta) is; the status says so."""
    words = ("--delta", "1e-5", "--max-epsilon")
    found, status = data(run, *RUNS, *words, "2")
    assert (found["check"], status) == ({"max_epsilon": 2.0, "verdict": "refuted"}, 1)
    found, status = data(run, *RUNS, *words, "2.1")
    assert (found["check"], status) == ({"max_epsilon": 2.1, "verdict": "compatible"}, 0)
    done = run("audit", *RUNS, *words, "2", "-q")
    assert (done.status, done.stdout, done.stderr) == (1, "", "")
    assert "epsilon 2 at delta 1e-5" in run("audit", *RUNS, *words, "2").stdout
    assert run("audit", *RUNS, "--delta", "0", "--max-epsilon", "2").status == 1


def test_formats(run: Run) -> None:
    """Each names the evidence, and has the verdict."""
    line = ("audit", "gaussian:sigma=0.7", *RUNS, "--delta", "1e-5", "--format")
    markdown = run(*line, "markdown").stdout
    assert f"- **refuted**: {REFUTED}" in markdown
    assert "- evidence: 500 of 1000 members" in markdown
    assert run(*line, "github").stdout.startswith(
        f"::error title=privacy audit::refuted: {REFUTED[:20]}"
    )
    assert (
        "notice title=privacy audit::compatible"
        in run("audit", "gaussian:sigma=0.5", *RUNS, "--format", "github").stdout
    )
    junit = run(*line, "junit").stdout
    assert '<failure type="refuted"' in junit
    header, *rows = run(*line, "csv").stdout.splitlines()
    cells = [dict(zip(header.split(","), row.split(","), strict=False)) for row in rows]
    assert [(each["quantity"], bool(each["lower"]), bool(each["upper"])) for each in cells] == [
        ("epsilon", True, False), ("claimed_epsilon", False, True), ("p_value", False, True),
    ]  # fmt: skip
    assert {each["verdict"] for each in cells} == {"refuted"}
    alone = run("audit", *RUNS, "--delta", "1e-5", "--format", "github").stdout
    assert "epsilon at least 2.01" in alone
    assert (
        run("audit", *RUNS, "--delta", "1e-5", "--format", "csv").stdout.splitlines()[1][:3]
        == ",,,"
    )
    assert "one document" not in run(*line, "statement").stderr
    assert run(*line, "statement").status == 2
    assert run(*line, "gitlab").status == 2


def test_many_questions(run: Run) -> None:
    """A sweep says which noise is refuted; standard input has a specification a line."""
    words = ("audit", "gaussian:sigma=_", *RUNS, "--sweep", "0.5..1/3", "--format", "csv")
    verdicts = [line.split(",")[13] for line in run(*words).stdout.splitlines()[1:]]
    assert verdicts == ["compatible", "refuted", "refuted"]
    done = run("audit", "-", *RUNS, "--json", stdin="gaussian:sigma=1\nrr:epsilon=3\n")
    found = [json.loads(line)["check"]["verdict"] for line in done.stdout.splitlines()]
    assert (found, done.status) == (["refuted", "compatible"], 1)
    assert run("audit", "gaussian:sigma=1", "laplace:scale=2", *RUNS).status == 1


def test_scores(run: Run, tmp_path: Path) -> None:
    """A threshold makes counts of them, and without one there are ranks."""
    file = scores(tmp_path, [(i, 0) for i in range(100)] + [(i, 1) for i in range(60, 160)])
    words = ("--design", "runs", "--scores", file, "--delta", "0")
    found, _ = data(run, *words, "--threshold", "79.5")
    assert [found["evidence"][f"{each}_positives"] for each in ("true", "false")] == [80, 20]
    assert found["result"]["epsilon"]["lower"] == pytest.approx(1.03175, abs=2e-3)
    found, _ = data(run, *words)
    assert found["evidence"] == {"design": "runs", "members": 100, "others": 100}
    assert found["result"]["epsilon"]["lower"] == pytest.approx(2.236, abs=5e-3)
    assert found["method"]["test"] == "fisher-at-ranks"
    found, status = data(run, "gaussian:sigma=1", "--design", "runs", "--scores", file)
    assert (found["check"]["verdict"], status) == ("refuted", 1)
    one = ("--design", "one-run", "--scores", file, "--delta", "0", "--top", "60", "--bottom", "30")
    done = run("audit", *one, "--json")
    assert json.loads(done.stdout)["evidence"]["correct"] == 90
    # Exactly half of them are members.
    assert "exactly half of the canaries are members" in done.stderr
    assert "exactly half" in json.loads(done.stdout)["notes"][0]


def test_a_score_that_may_be_reversed(run: Run, tmp_path: Path) -> None:
    """It is said, and nothing is turned around."""
    done = run("audit", "--design", "runs", "--counts", "5,95,90,10", "--delta", "0")
    assert "called members less often than others" in done.stderr
    assert "\n0      0\n" in done.stdout
    file = scores(tmp_path, [(i, i < 20) for i in range(40)])
    assert run("audit", "--design", "runs", "--scores", file, "--delta", "0").status == 2
    file = scores(tmp_path, [(i, int(i < 20)) for i in range(40)])
    done = run("audit", "--design", "runs", "--scores", file, "--delta", "0")
    assert "less often" in done.stderr


LINES = {
    "": "audit needs --design runs (many trainings",
    "--design run --delta 0": "did you mean runs?",
    "--design runs": "takes either --counts TP,FN,FP,TN, or --scores FILE",
    "--design runs --counts 1,2,3,4": "add --delta D",
    "--design runs --counts 1,2,3 --delta 0": "four counts TP,FN,FP,TN, got 3",
    "--design runs --counts 1,2,3,-4 --delta 0": "from 0 to 1000000000000000, got -4",
    "--design runs --counts 1,2,3,4.5 --delta 0": "whole number from 0 to",
    "--design runs --counts 1,2,0,0 --delta 0": "needs runs with the record (TP + FN) and without",
    "--design runs --counts 0,0,1,1 --delta 0": "needs runs with the record (TP + FN) and without",
    "--design runs --counts 1,1,1,1 --delta 1": "--delta must be below 1",
    "--design runs --counts 1,1,1,1 --delta 2": "between 0 and 1",
    "--design runs --counts 1,1,1,1 --delta 0 --confidence 0.5": "above 0.5 and below 1",
    "--design runs --counts 1,1,1,1 --delta 0 --confidence 95": "such as 95%",
    "--design runs --counts 1,1,1,1 --delta 0 --threshold 3": "takes either",
    "--design runs --counts 1,1,1,1 --delta 0 --relation replace-one": "there is none",
    "--design runs --counts 1,1,1,1 --max-epsilon 3": "add --delta D",
    "--design runs --counts 1,1,1,1 --delta 0 --sweep sigma=1,2": "and there is none",
    "--design runs --guesses 3 --delta 0": "give --counts TP,FN,FP,TN of independent runs",
    "--design runs --counts 1,1,1,1 --top 3 --delta 0": "--top has no effect with --design runs",
    "--design one-run --counts 1,1,1,1 --delta 0": "within one run outcomes depend on each other",
    "--design one-run --scores s.csv --threshold 3 --delta 0": "the number of guesses random",
    "--design one-run --canaries 9 --guesses 4 --delta 0": "needs all of --canaries M",
    "--design one-run --canaries 9 --guesses 4 --correct 5 --delta 0": "<= M and V <= R",
    "--design one-run --canaries 3 --guesses 4 --correct 2 --delta 0": "got 3, 4 and 2",
    "--design one-run --canaries 3 --guesses 0 --correct 0 --delta 0": "need 1 <= R",
    "--design one-run --canaries 3 --guesses 3 --correct 2 --top 2 --delta 0": "takes either",
    "pure:epsilon=1 --design runs --counts 1,1,1,1 --delta 0 --max-epsilon 1": "two claims",
    "pure:epsilon=1 --design runs --counts 1,1,1,1 -t": "-t prints epsilon of the evidence",
    "pure:epsilon=_ --design runs --counts 1,1,1,1": "free parameter",
    "pure:epsilon=1 --design runs --counts 1,1,1,1 --fpr 0.1": "write --counts",
    "--design runs --counts 1,1,1,1 --delta 0 --level 0.05": "write --confidence",
    "pure:epsilon=1 --design runs --counts 1,1,1,1 --plot": "audit draws no picture",
    "--design runs --scores none.csv --delta 0": "cannot be read",
}  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_what_is_refused(line: str, run: Run) -> None:
    """One line says what, and what to write instead."""
    done = run("audit", *(line or "--delta 0").split())
    assert (done.status, done.stdout) == (2, "")
    assert LINES[line] in done.stderr
    assert done.stderr.startswith("privcalc: ")


FILES: list[tuple[list[tuple[object, object]], str, str]] = [
    ([("nan", 1)], "score,member", "line 2: expected a number and, after a comma, 1 for a member"),
    ([(1, 2)], "score,member", "line 2: expected a number"),
    ([(1, 0), (2, 1)], "member,score", "line 1: expected the header score,member"),
    ([(1, 0), (2, 0)], "score,member", "needs runs with the record (member 1) and without (0)"),
    ([], "score,member", "needs runs with the record"),
]


@pytest.mark.parametrize(("rows", "header", "words"), FILES)
def test_files_that_are_refused(
    rows: list[tuple[object, object]], header: str, words: str, run: Run, tmp_path: Path
) -> None:
    """A line that is none of both, another header, and one class alone."""
    file = scores(tmp_path, rows, header)
    done = run("audit", "--design", "runs", "--scores", file, "--delta", "0")
    assert done.status == 2
    assert words in done.stderr


def test_canaries_that_were_not_in_by_coins(run: Run, tmp_path: Path) -> None:
    """Far from half of them, and more guesses than canaries."""
    file = scores(tmp_path, [(i, int(i > 20)) for i in range(100)])
    words = ("audit", "--design", "one-run", "--scores", file, "--delta", "0")
    assert "they were not in by fair coins" in run(*words, "--top", "3").stderr
    assert "together from 1 to the number of canaries" in run(*words, "--top", "101").stderr
    assert "together from 1 to the number of canaries" in run(*words).stderr


ABSURD = {
    "--design runs --counts 0,5,0,5": 0.0,
    "--design runs --counts 5,0,5,0": 0.0,
    "--design runs --counts 1,0,0,1": 0.0,
    "--design runs --counts 1000000000,0,0,1000000000": 19.5,
    "--design runs --counts 1000000000000000,0,0,1000000000000000": 33.0,
    "--design runs --counts 0,1000000000,0,1000000000": 0.0,
    "--design one-run --canaries 1 --guesses 1 --correct 1": 0.0,
    "--design one-run --canaries 1 --guesses 1 --correct 0": 0.0,
    "--design one-run --canaries 1000 --guesses 1000 --correct 1000": 5.8,
    "--design one-run --canaries 1000000000 --guesses 1000000000 --correct 1000000000": 19.6,
    "--design one-run --canaries 1000000000 --guesses 1000000000 --correct 600000000": 0.405,
}


@pytest.mark.parametrize("line", ABSURD)
def test_absurd_evidence_has_an_answer(line: str, run: Run) -> None:
    """No counts, counts without an end, one guess, and no mistake."""
    done = run("audit", *line.split(), "--delta", "0", "-t")
    assert done.status == 0
    assert ABSURD[line] - 0.01 <= float(done.stdout) <= 1.05 * ABSURD[line] + 0.01


def test_in_python() -> None:
    """Counts in any form; the answer has the ends that are proved."""
    found = privcalc.audit(
        "gaussian:sigma=1", design="runs", counts=(500, 500, 50, 950), delta=1e-5
    )
    assert found.epsilon.lower is not None
    assert found.bound("p_value").upper < 1e-9
    assert (found.verdict, found.verdict.passes) == (privcalc.Verdict.REFUTED, False)
    assert found == privcalc.audit(
        "gaussian:sigma=1", design="runs", counts=" 500, 500,50,950", delta="1e-5", confidence="95%"
    )
    assert repr(found).startswith("<privcalc.Result gaussian:sigma=1: epsilon at least 2.01")
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    alone = privcalc.audit(design="one-run", canaries=1000, guesses=100, correct=95, delta=0)
    assert alone.text == ""
    assert "| 0 |" in alone._repr_markdown_()
    with pytest.raises(privcalc.UsageError, match="needs the delta of it"):
        privcalc.audit(design="runs", counts=(1, 2, 3, 4))
    with pytest.raises(privcalc.UsageError, match="four counts"):
        privcalc.audit(design="runs", counts=3, delta=0)  # type: ignore[arg-type]
    for answer in (alone, found):
        with pytest.raises(privcalc.SpecError, match="guarantees nothing"):
            privcalc.compose(answer, delta=0)
