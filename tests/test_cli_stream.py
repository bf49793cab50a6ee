"""Standard input as SPEC: each line is a question of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from privcalc.bounds import Bound
from privcalc.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from tests.fake_accounting import FakeAccounting

LINES = "gaussian:sigma=2\n\n  pure:epsilon=1  \r\n"


def test_answers_each_line(run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
    """Blank lines are no questions."""
    outcome = run("compose", "-", "--delta", "1e-5", "--json", stdin=LINES)
    texts = [json.loads(line)["text"] for line in outcome.stdout.splitlines()]
    assert texts == ["gaussian:sigma=2", "pure:epsilon=1"]
    assert (outcome.status, len(accounting.calls)) == (0, 2)


def test_output_of_json_is_accepted(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """The output of one run is the input of the next, with its relation."""
    first = run("compose", "-", "--delta", "1e-5", "--json", "--relation", "replace-one",
                stdin=LINES)  # fmt: skip
    second = run("compose", "-", "--delta", "1e-5", "--json", stdin=first.stdout)
    assert second == first
    assert accounting.calls[-1]["relation"] is Relation.REPLACE_ONE


def test_specification_too_long_for_text_comes_back(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """JSON may be longer than text; of a printed answer the specification counts, not its text."""
    event = {"type": "gaussian", "standard_deviation": 2.0}
    twin = json.dumps({"type": "composed", "events": [event] * 800})
    first = run("compose", "-", "--delta", "1e-5", "--json", stdin=twin + "\n")
    second = run("compose", "-", "--delta", "1e-5", "--json", stdin=first.stdout)
    assert (first.status, second) == (0, first)
    assert accounting.calls[0]["tree"] == accounting.calls[1]["tree"]
    outcome = run("compose", json.loads(first.stdout)["text"], "--delta", "1e-5")
    assert outcome.status == 2
    assert "at most 10000 characters" in outcome.stderr


def test_bad_line_is_reported_and_the_rest_goes_on(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """The status is 2 at the end; the error names the line and points at the fault."""
    assert accounting.calls == []
    stdin = "gaussian:sgma=2\n{\npure:epsilon=1\ngaussian:sigma=_\n"
    outcome = run("compose", "-", "--delta", "1e-5", "--json", stdin=stdin)
    assert outcome.status == 2
    assert [json.loads(line)["text"] for line in outcome.stdout.splitlines()] == ["pure:epsilon=1"]
    errors = [json.loads(line) for line in outcome.stderr.splitlines()]
    assert [(error["line"], error["code"]) for error in errors] == [
        (1, "spec"), (2, "spec"), (4, "spec"),
    ]  # fmt: skip
    assert errors[0]["span"] == [9, 13]


def test_bad_line_as_text(run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
    """Without --json the error is shown with carets."""
    assert accounting.calls == []
    outcome = run("compose", "-", "--delta", "1e-5", stdin="pure:epsilon=1\ngaussian:sgma=2\n")
    assert outcome.status == 2
    assert outcome.stderr == (
        "privcalc: line 2: gaussian has no parameter sgma\n"
        "  gaussian:sgma=2\n"
        "           ^^^^\n"
        "hint: did you mean sigma?\n"
    )


def test_bytes_that_are_no_text(run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
    """A line that is not UTF-8 is a bad line like any other."""
    assert accounting.calls == []
    outcome = run("compose", "-", "--delta", "1e-5", "-t", stdin=b"\xff\xfe\npure:epsilon=1\n")
    assert (outcome.status, outcome.stdout) == (2, "2.5\n")
    assert outcome.stderr == "privcalc: line 1: not UTF-8 text\nhint: byte 1 of the line\n"


def test_internal_error_of_one_line(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """A fault of the program on one line is reported as such, with status 2."""
    accounting.error = ZeroDivisionError("float division by zero")
    outcome = run("compose", "-", "--delta", "1e-5", "--json", stdin="pure:epsilon=1\n")
    assert outcome.status == 2
    assert json.loads(outcome.stderr)["code"] == "internal"


def test_budget_of_each_line(run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
    """A failed check gives status 1; a bad line outweighs it."""
    assert accounting.calls == []
    check = ("compose", "-", "--delta", "1e-5", "--max-epsilon", "1", "-q")
    assert run(*check, stdin=LINES).status == 1
    assert run(*check, stdin=LINES + "x\n").status == 2


def test_csv_has_one_header(run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
    """The header is printed once."""
    assert accounting.calls == []
    outcome = run("compose", "-", "--delta", "1e-5", "--format", "csv", stdin=LINES)
    assert outcome.stdout.count("spec,relation") == 1
    assert len(outcome.stdout.splitlines()) == 3


def test_tables_are_set_apart(run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
    """A blank line stands between the answers to two questions."""
    assert accounting.calls == []
    outcome = run("compose", "-", "--delta", "1e-5", stdin=LINES)
    assert "2.5\n\nspec      pure:epsilon=1\n" in outcome.stdout


@pytest.mark.parametrize("stdin", ["", "\n", " \n\r\n\t\n", "\ufeff", "\ufeff\n"])
@pytest.mark.parametrize("budget", [(), ("--max-epsilon", "1"), ("--max-epsilon", "1", "-q")])
def test_empty_input(stdin: str, budget: tuple[str, ...], run: Callable[..., Outcome]) -> None:
    """A check of nothing does not pass, and nothing is no question."""
    outcome = run("compose", "-", "--delta", "1e-5", *budget, stdin=stdin)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert outcome.stderr == "privcalc: no question on standard input\n"


def test_terminal_is_refused(run: Callable[..., Outcome]) -> None:
    """The program does not wait for a person to type specifications."""
    outcome = run("compose", "-", "--delta", "1e-5", terminal=True)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("privcalc: standard input is a terminal: ")
    assert outcome.stderr.count("\n") == 1


def test_byte_order_mark_is_skipped(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """Some editors put one at the start of a file."""
    assert accounting.calls == []
    assert run("compose", "-", "--delta", "1e-5", "-t", stdin="\ufeff" + LINES).status == 0
    assert run("compose", "\ufeffpure:epsilon=1", "--delta", "1e-5", "-t").status == 0


def test_comment_is_no_repetition(run: Callable[..., Outcome]) -> None:
    """A line that begins with # is refused in plain words."""
    outcome = run("compose", "-", "--delta", "1e-5", stdin="# sigma=1\n")
    assert outcome.status == 2
    assert outcome.stderr.endswith("hint: a specification has no comments\n")


def test_what_is_said_names_the_line(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """Warnings, failed checks and details of a stream say whose they are."""
    accounting.tolerance_met = False
    accounting.bound = Bound(2.5, 0.5)
    arguments = ("compose", "-", "--delta", "1e-5", "--max-epsilon", "1", "-t", "-v")
    lines = run(*arguments, stdin=LINES).stderr.splitlines()
    assert lines[0].startswith("line 1: epsilon at delta 1e-5: engine contour")
    for number in (1, 3):
        said = [line for line in lines if line.startswith(f"privcalc: line {number}: ")]
        assert [line.split(": ")[2].split()[0] for line in said] == ["warning", "undecided"]


def test_a_decided_check_is_narrow_enough(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """No warning of a wide bracket where nothing narrower was asked for."""
    accounting.tolerance_met = False
    check = ("compose", "gaussian:sigma=2", "--delta", "1e-5", "--max-epsilon")
    assert "warning" not in run(*check, "1").stderr
    assert "warning" not in run(*check, "3").stderr
    assert "warning" in run(*check, "2.3").stderr


def test_stands_alone(run: Callable[..., Outcome]) -> None:
    """Standard input cannot be a part of a sum."""
    outcome = run("compose", "-", "pure:epsilon=1")
    assert outcome.status == 2
    assert "stands alone" in outcome.stderr
