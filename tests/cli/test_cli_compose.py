"""The command `compose`: what it asks, and what it prints in each format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from privcalc.relation import Relation
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from tests.fake_accounting import FakeAccounting

GAUSSIAN = "gaussian:sigma=2"
INVERSION = "characteristic-function inversion (engine contour)"


class TestQuestion:
    def test_passes_everything_on(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """Options reach the accounting function with their values."""
        run("compose", GAUSSIAN, "--delta", "1e-5,1e-8", "--delta", "1/1000", "--epsilon", "2",
            "--relation", "replace-one", "--tolerance", "1e-6", "--engine", "contour",
           "--max-epsilon", "3", "--max-delta", "0.1")  # fmt: skip
        assert accounting.calls == [
            {
                "tree": parse(GAUSSIAN).tree,
                "relation": Relation.REPLACE_ONE,
                "deltas": (1e-5, 1e-8, 1e-3),
                "epsilons": (2.0,),
                "tolerance": 1e-6,
                "engine": "contour",
                "max_epsilon": 3.0,
                "max_delta": 0.1,
            }
        ]

    def test_several_specifications_are_one_sum(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """Sums inside the arguments are flattened."""
        run("compose", "pure:epsilon=1+pure:epsilon=2", GAUSSIAN, "--delta", "1e-5")
        tree = parse(f"pure:epsilon=1+pure:epsilon=2+{GAUSSIAN}").tree
        assert accounting.calls[0]["tree"] == tree

    def test_object_brings_its_relation(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """A printed result is a question under its relation; its query is ignored."""
        printed = run("compose", GAUSSIAN, "--delta", "1e-5", "--relation", "replace-one", "--json")
        run("compose", printed.stdout, "--epsilon", "1")
        assert accounting.calls[1]["relation"] is Relation.REPLACE_ONE
        assert accounting.calls[1]["deltas"] == ()
        same = ("compose", printed.stdout, "--epsilon", "1", "--relation")
        assert run(*same, "replace-one").status == 0
        other = run(*same, "replace-special")
        assert (other.status, len(accounting.calls)) == (2, 3)
        assert "holds under replace-one, and --relation says replace-special" in other.stderr

    def test_objects_with_different_relations_have_no_sum(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """They are refused: under one relation they would be other guarantees."""
        one = run("compose", GAUSSIAN, "--relation", "replace-one", "--json").stdout
        other = run("compose", GAUSSIAN, "--relation", "replace-special", "--json").stdout
        outcome = run("compose", one, other)
        assert outcome.status == 2
        assert "different relations, replace-one and replace-special, and have" in outcome.stderr
        assert run("compose", one, other, "--relation", "replace-one").status == 2
        assert run("compose", one, GAUSSIAN, one).status == 0
        assert accounting.calls[-1]["relation"] is Relation.REPLACE_ONE

    @pytest.mark.parametrize("name", ["replace-one", "replace_one", "REPLACE-ONE", "Replace_One"])
    def test_relation_in_any_spelling(
        self, name: str, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """A relation is accepted as JSON prints it, and in capitals."""
        assert run("compose", GAUSSIAN, "--relation", name).status == 0
        assert accounting.calls[0]["relation"] is Relation.REPLACE_ONE

    def test_options_for_several_values_are_repeatable(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """Only options with one value are refused the second time; flags say nothing new."""
        outcome = run("compose", GAUSSIAN, "--delta", "1e-5", "--delta", "1e-6", "-t", "-t")
        assert outcome.status == 0
        assert accounting.calls[0]["deltas"] == (1e-5, 1e-6)


class TestTable:
    def test_colour_marks_the_verdict_only_on_request(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """A pipe has no escape sequences unless they are asked for."""
        assert accounting.calls == []
        check = ("compose", GAUSSIAN, "--delta", "1e-5", "--max-epsilon", "3")
        assert "\x1b" not in run(*check).stdout
        coloured = run(*check, "--color", "always").stdout
        assert "\x1b[32mwithin budget" in coloured
        assert "\x1b[1mdelta" in coloured


class TestOtherFormats:
    def test_quiet(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """Only the exit status speaks."""
        accounting.tolerance_met = False
        outcome = run("compose", GAUSSIAN, "--delta", "1e-5", "--max-epsilon", "1", "-q")
        assert outcome == type(outcome)(1, "", "")


class TestTalk:
    def test_notes_stand_below_their_direction(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """Each is said once for each direction, and one warning for each answer is enough."""
        accounting.tolerance_met = False
        accounting.notes = ("contour: few uses", "contour: few uses")
        outcome = run("compose", GAUSSIAN, "--delta", "1e-5", "-v", "-t")
        assert outcome.stderr.splitlines()[1:] == [
            f"  remove: [2.25, 2.5], {INVERSION}, aliasing 1e-12",
            "    contour: few uses",
            f"  add: [2.25, 2.5], {INVERSION}, aliasing 1e-12",
            "    contour: few uses",
            (
                "privcalc: warning: the bracket of epsilon at delta 1e-5 is wider than the "
                "tolerance: relative width 0.1"
            ),
            "privcalc: note: sensitivity 1 (assumed)",
        ]

    def test_wide_bracket_is_a_warning(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """The tolerance is a wish: status 0, and one line on standard error."""
        accounting.tolerance_met = False
        accounting.notes = ("few compositions of a small sample",)
        outcome = run("compose", GAUSSIAN, "--delta", "1e-5", "--json")
        assert outcome.status == 0
        assert json.loads(outcome.stdout)["method"]["tolerance_met"] is False
        assert outcome.stderr == (
            "privcalc: warning: the bracket of epsilon at delta 1e-5 is wider than the tolerance: "
            "relative width 0.1; -v says why\n"
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--file", "x.toml"), "--file has what is done with the data, and the budget"),
        (("--json", "--format", "csv"), "--json contradicts --format csv"),
        (("--json", "-t", "--delta", "1e-5"), "-t prints a bare number"),
        (("-t",), "add --delta D or --epsilon E"),
        (("-t", "--delta", "1e-5", "--engine", "afa"), "-t prints a proved number"),
        (("--max-epsilon", "3"), "--max-epsilon needs the delta"),
        (("--max-epsilon", "3", "--epsilon", "1"), "--max-epsilon needs the delta"),
        (("--max-delta", "1e-5"), "--max-delta needs the epsilon"),
        (("--max-epsilon", "3", "--delta", "1e-5", "--engine", "afa"), "a budget check needs"),
        (("--max-delta", "2", "--epsilon", "1"), "--max-delta must be between 0 and 1, got 2"),
        (("--delta", "x"), "--delta takes a number"),
        (("--delta", "--json"), "--delta has no value: --json follows it"),
        (("--delta", "1", "--relation", "-t"), "--relation has no value: -t follows it"),
        (("--relation", "replace-on"), "'replace-on' is no relation; did you mean replace-one?"),
        (("--relation", "bounded"), "is no relation; known: add-or-remove-one, replace-one,"),
        (("--max-epsilon", "3", "--max-epsilon", "300"), "--max-epsilon is given twice"),
        (("--max-delta", "0.1", "--max-delta=0.1"), "--max-delta is given twice"),
        (("--tolerance", "1e-6", "--tolerance", "1e-3"), "--tolerance is given twice"),
        (("--engine", "afa", "--engine", "auto"), "--engine is given twice"),
        (("--relation", "replace-one") * 2, "--relation is given twice"),
        (("--format", "csv", "--format", "json"), "--format is given twice"),
        (("--delta", "1e-5", "--tolerance", "-1"), "--tolerance must be > 0 and < 1, got -1"),
    ],
)
def test_refuses(
    arguments: tuple[str, ...],
    message: str,
    run: Callable[..., Outcome],
    accounting: FakeAccounting,
) -> None:
    """Options that do not fit together are refused before anything is computed."""
    outcome = run("compose", GAUSSIAN, *arguments)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert message in outcome.stderr
    assert accounting.calls == []
