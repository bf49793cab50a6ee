"""What was left out is said: whatever rests on an assumed sensitivity declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.compose import compose
from privcalc.record import replace
from privcalc.spec import registry
from privcalc.spec.parse import parse
from privcalc.spec.tree import Leaf

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome


# What the bound of one record is called, where it is no sensitivity.
OTHERS = {
    "thresholded_counts": ("keys",),
    "posterior_regression": ("row_norm", "response"),
    "skellam": ("sensitivity", "l1", "l2"),
}


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
