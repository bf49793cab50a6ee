"""The command `compose`: what it asks, of text and of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from privcalc.relation import Relation
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from tests.fake_accounting import FakeAccounting

GAUSSIAN = "gaussian:sigma=2"


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
