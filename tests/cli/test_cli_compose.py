"""The command `compose`: what it asks, and what it prints in each format."""

from __future__ import annotations

import csv
import io
import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from privcalc import __version__
from privcalc.bounds import Bound
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


class TestJson:
    def test_keys_and_values(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """The object has the keys of the contract in their order, on one line."""
        accounting.sampling = "Poisson"
        outcome = run("compose", GAUSSIAN, "--delta", "1e-5", "--json")
        assert outcome.stdout == (
            f'{{"schema": "privcalc/result/v1", "version": "{__version__}", "command": "compose", '
            '"spec": {"type": "gaussian", "standard_deviation": 2.0}, "text": "gaussian:sigma=2", '
            '"relation": "add_or_remove_one", "assumed": [{"mechanism": "gaussian", '
            '"parameter": "sensitivity", "value": 1, "relation": "add_or_remove_one"}], '
            '"query": {"delta": 1e-05}, '
            '"result": {"epsilon": {"lower": 2.25, "upper": 2.5}}, '
            '"method": {"engine": "contour", "proof": "characteristic-function inversion", '
            '"tolerance_met": true, "terms": {"aliasing": 1e-12}}}'
            "\n"
        )
        assert (outcome.status, outcome.stderr) == (0, "")

    def test_one_line_for_each_answer(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """Deltas come before epsilons, in the order of the options."""
        assert accounting.calls == []
        outcome = run("compose", GAUSSIAN, "--epsilon", "1", "--delta", "1e-5,0", "--json")
        queries = [json.loads(line)["query"] for line in outcome.stdout.splitlines()]
        assert queries == [{"delta": 1e-5}, {"delta": 0.0}, {"epsilon": 1.0}]

    def test_infinity_is_a_string(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """No reader takes it for a small number."""
        accounting.bound = Bound(math.inf, math.inf)
        outcome = run("compose", GAUSSIAN, "--delta", "0", "--json")
        result = json.loads(outcome.stdout)["result"]
        assert result == {"epsilon": {"lower": "Infinity", "upper": "Infinity"}}

    def test_unknown_lower_end_is_left_out(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """No key is null."""
        accounting.bound = Bound(2.5)
        outcome = run("compose", GAUSSIAN, "--delta", "0", "--json")
        assert json.loads(outcome.stdout)["result"] == {"epsilon": {"upper": 2.5}}
        assert "null" not in outcome.stdout

    def test_profile(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """Without a query the answer is a curve of 21 points."""
        assert accounting.calls == []
        answer = json.loads(run("compose", GAUSSIAN, "--json").stdout)
        assert answer["query"] == {}
        assert len(answer["result"]["epsilon"]) == len(answer["result"]["delta"]) == 21

    def test_estimate(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """The published quadrature gives no bracket, and standard error says so."""
        assert accounting.calls == []
        outcome = run("compose", GAUSSIAN, "--delta", "1e-5", "--engine", "afa", "--json")
        assert json.loads(outcome.stdout)["result"] == {"epsilon": {"estimate": 2.375}}
        assert outcome.stderr == (
            "privcalc: warning: epsilon at delta 1e-5 is an estimate without certificate\n"
        )


class TestTable:
    def test_plain(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """Plain columns name the relation and the sampling."""
        accounting.sampling = "Poisson"
        outcome = run("compose", GAUSSIAN, "--delta", "1e-5,1e-12", "--epsilon", "2")
        assert outcome.stdout == (
            "spec         gaussian:sigma=2\n"
            "relation     add-or-remove-one (one data set has one record more)\n"
            "sensitivity  1 (assumed)\n"
            "sampling     Poisson where sampled "
            "(each record joins each batch independently; for shuffling see @batches)\n"
            "\n"
            "delta  epsilon lower bound  epsilon upper bound\n"
            "1e-5   2.25                 2.5\n"
            "1e-12  2.25                 2.5\n"
            "\n"
            "epsilon  delta lower bound  delta upper bound\n"
            "2        2.25               2.5\n"
        )

    def test_unknown_lower_end(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """Columns do not shift where the lower end is unknown."""
        accounting.bound = Bound(2.5)
        line = run("compose", GAUSSIAN, "--delta", "1e-5").stdout.splitlines()[-1]
        assert line.split() == ["1e-5", "unknown", "2.5"]

    def test_rounds_outward(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """Both ends are printed to the digits that tell them apart."""
        accounting.bound = Bound(2.381689726157, 2.381689726140)
        line = run("compose", GAUSSIAN, "--delta", "1e-5").stdout.splitlines()[-1]
        assert line.split() == ["1e-5", "2.381689726", "2.381689727"]

    def test_estimate_is_named_as_one(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """The column says that there is no certificate."""
        assert accounting.calls == []
        outcome = run("compose", GAUSSIAN, "--delta", "1e-5", "--engine", "afa")
        assert "epsilon (estimate, not certified)" in outcome.stdout

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
    def test_terse(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """The upper end alone, to ten digits and rounded up; the last of more are noise."""
        for bound, printed in (
            (Bound(2.3816897261570005, 2.375), "2.381689727"),
            (Bound(math.nextafter(2.381689726, 3.0), 2.375), "2.381689727"),
            (Bound.of(Fraction("2.381689726")), "2.381689726"),
            (Bound(2.5, 2.375), "2.5"),
            (Bound(2.0**-100), "7.888609053e-31"),
        ):
            accounting.bound = bound
            outcome = run("compose", GAUSSIAN, "--delta", "1e-5,1e-6", "-t")
            assert outcome.stdout == f"{printed}\n{printed}\n"

    def test_csv(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """One row for each number, the same columns always."""
        accounting.bound = Bound(math.inf, 2.25)
        outcome = run("compose", "gaussian:sigma=2,sensitivity=3", "--delta", "1e-5", "--epsilon",
                      "1", "--max-epsilon", "3", "--format", "csv")  # fmt: skip
        rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
        assert [(row["given"], row["at"], row["quantity"]) for row in rows] == [
            ("delta", "1e-5", "epsilon"),
            ("epsilon", "1", "delta"),
        ]
        assert rows[0]["spec"] == "gaussian:sigma=2,sensitivity=3"
        assert (rows[0]["lower"], rows[0]["upper"]) == ("2.25", "Infinity")
        assert (rows[0]["budget"], rows[0]["verdict"]) == ("3", "undecided")
        assert (rows[1]["budget"], rows[1]["verdict"]) == ("", "")

    def test_csv_profile(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """A curve has a row for each point."""
        assert accounting.calls == []
        outcome = run("compose", GAUSSIAN, "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
        assert len(rows) == 21
        assert rows[1]["at"] == "0.25"
        assert rows[1]["upper"] == "0.5"

    def test_markdown(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """A table, the assumptions and the verdict."""
        assert accounting.calls == []
        outcome = run("compose", GAUSSIAN, "--delta", "1e-5", "--max-epsilon", "3", "--format",
                      "markdown")  # fmt: skip
        assert outcome.stdout == (
            "**`gaussian:sigma=2`**\n"
            "\n"
            "| delta | epsilon lower bound | epsilon upper bound |\n"
            "| ---: | ---: | ---: |\n"
            "| 1e-5 | 2.25 | 2.5 |\n"
            "\n"
            "- relation: add-or-remove-one (one data set has one record more)\n"
            "- sensitivity: 1 (assumed)\n"
            "- sampling: none (every step uses every record)\n"
            "- **within budget**: epsilon <= 2.5 at delta 1e-5, budget 3\n"
        )

    def test_github(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """Annotations: an error where a check fails, else a notice."""
        assert accounting.calls == []
        options = ("--delta", "1e-5", "--format", "github")
        assert run("compose", "pure:epsilon=1%", *options).stdout == (
            "::notice title=privacy::epsilon in [2.25, 2.5] at delta 1e-5 "
            "(pure:epsilon=0.01; relation add-or-remove-one, sampling as stated)\n"
        )
        outcome = run("compose", GAUSSIAN, *options, "--max-epsilon", "1")
        assert outcome.stdout.startswith("::error title=privacy budget::over budget: epsilon >= ")
        assert run("compose", GAUSSIAN, "--format", "github").stdout.startswith("::notice")

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

    def test_verbose_shows_both_directions(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """Engine, error terms and directions are on standard error; the answer is unchanged."""
        assert accounting.calls == []
        plain = run("compose", GAUSSIAN, "--delta", "1e-5")
        outcome = run("compose", GAUSSIAN, "--delta", "1e-5", "-v")
        assert outcome.stdout == plain.stdout
        assert outcome.stderr == (
            f"epsilon at delta 1e-5: {INVERSION}, aliasing 1e-12\n"
            f"  remove: [2.25, 2.5], {INVERSION}, aliasing 1e-12\n"
            f"  add: [2.25, 2.5], {INVERSION}, aliasing 1e-12\n"
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
