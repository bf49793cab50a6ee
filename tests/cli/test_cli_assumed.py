"""What was left out is said: each number of each format that rests on an assumed sensitivity."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.compose import compose
from privcalc.cli.output import DOCUMENTS
from privcalc.commands.options import option
from privcalc.record import replace
from privcalc.spec import registry
from privcalc.spec.parse import parse
from privcalc.spec.tree import Leaf

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

SPEC = "gaussian:sigma=9"
# Every command, with every kind of answer that it has, of one noise whose sensitivity is left out.
FORMATS = option("compose", "format_").choices


def answered(run: Callable[..., Outcome], line: str, *more: str, stdin: str = "") -> Outcome:
    """Return what a line prints, if it answers."""
    done = run(*shlex.split(line), *more, stdin=stdin)
    assert done.status in (0, 1), done.stderr
    return done


@pytest.mark.parametrize("form", [each for each in FORMATS if each not in DOCUMENTS])
def test_streams_say_so_for_each_answer(form: str, run: Callable[..., Outcome]) -> None:
    """Standard input asks many questions, of which each has its own sensitivity."""
    asked = f"{SPEC}\npure:epsilon=1\n{SPEC},sensitivity=3\n"
    done = answered(run, "compose - --delta 1e-5 --format", form, stdin=asked)
    assert done.stdout.count("assumed)") == {"json": 0, "statement": 2}.get(form, 1)
    if form == "json":
        found = [json.loads(each)["assumed"] for each in done.stdout.splitlines()]
        assert [len(each) for each in found] == [1, 0, 0]
    assert done.stderr == ""


# What the bound of one record is called, where it is no sensitivity.
OTHERS = {"thresholded_counts": ("keys",), "posterior_regression": ("row_norm", "response")}


def leaf_of(entry: registry.Entry) -> Leaf:
    """Return the mechanism of an example, which is the first that stands in it."""
    tree = parse(entry.example).tree
    while not isinstance(tree, Leaf):
        tree = tree.events[0] if hasattr(tree, "events") else tree.event
    return tree


@pytest.mark.parametrize("entry", registry.mechanisms(), ids=lambda entry: entry.name)
def test_a_bound_of_one_record_is_declared_as_one(entry: registry.Entry) -> None:
    """Where the cost moves with a sensitivity, or what stands for it, tables have to name it."""
    declared = tuple(each.name for each in entry.parameters if each.contribution)
    named = tuple(each.name for each in entry.parameters if each.name == "sensitivity")
    # The noise of a staircase is scaled to its sensitivity: what it costs is the epsilon.
    expected = () if entry.name == "staircase" else OTHERS.get(entry.name, named)
    assert declared == expected
    if "sensitivity" not in named:
        return
    written = dict(leaf_of(entry).parameters)
    if written.get("steps"):
        written |= {"steps": 4, "participations": 1, "separation": 1}
    costs = []
    for value in (1, 3):
        order = [each.name for each in entry.parameters]
        values = {**written, "sensitivity": value}
        parameters = tuple((name, values[name]) for name in order if name in values)
        tree = replace(leaf_of(entry), parameters=parameters)
        costs.append(compose(tree, deltas=(0.01,)).answers[0].bound)
    assert (costs[0] == costs[1]) is (entry.name == "staircase")


def notes_of(done: Outcome) -> list[str]:
    """Return the notes and hints on standard error."""
    lines = done.stderr.splitlines()
    return [line for line in lines if "note: " in line or line.startswith("hint: ")]


def test_what_a_note_says_to_write_is_what_clipped_sums_cost(run: Callable[..., Outcome]) -> None:
    """With sensitivity=2 the noise counts for half; with sensitivity=1 the answer stays."""
    asked = ("--delta", "1e-3", "--relation", "replace-one", "-t")
    plain, one, two, half = (
        run("compose", text, *asked)
        for text in (
            "gaussian:sigma=9",
            "gaussian:sigma=9,sensitivity=1",
            "gaussian:sigma=9,sensitivity=2",
            "gaussian:sigma=4.5,sensitivity=1",
        )
    )
    assert plain.stdout == one.stdout
    assert two.stdout == half.stdout != one.stdout
    assert not notes_of(two)


def test_the_same_is_said_once_of_a_stream(run: Callable[..., Outcome]) -> None:
    """Of a thousand lines the first has the note, with its number."""
    asked = "pure:epsilon=1\n" + "gaussian:sigma=9@wor:q=0.1\n" * 5 + "laplace:scale=9@wor:q=0.1\n"
    done = answered(run, "compose - --delta 1e-3 --json", stdin=asked)
    notes = [each for each in done.stderr.splitlines() if "note: " in each]
    assert [each.split(" is assumed")[0] for each in notes] == [
        "privcalc: line 2: note: sensitivity 1",
        "privcalc: line 7: note: sensitivity 1",
    ]


def test_an_answer_is_a_question_with_what_it_assumed(run: Callable[..., Outcome]) -> None:
    """The next command in a pipe reads it, and assumes the same."""
    first = answered(run, f"compose {SPEC} --delta 1e-5 --json")
    second = answered(run, "compose - --delta 1e-5 --json", stdin=first.stdout)
    assert second.stdout == first.stdout
