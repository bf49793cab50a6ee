"""Statements: two sentences and a table that say all that a reader needs to check the number."""

from __future__ import annotations

import json
import re
import shlex
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

QUESTIONS = [
    "compose gaussian:sigma=3@10 --delta 1e-5",
    "compose gaussian:sigma=3@10 --epsilon 1",
    "compose gaussian:sigma=3 laplace:scale=9 --delta 1e-6 --relation replace-one",
    "convert zcdp:rho=0.5 --delta 1e-9",
]


def table(text: str) -> dict[str, str]:
    """Return the rows of the table by name."""
    rows = re.findall(r"^\| ([^|]*) \| (.*) \|$", text, re.MULTILINE)
    return {name: value.replace("\\|", "|") for name, value in rows}


@pytest.mark.parametrize("line", QUESTIONS)
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
