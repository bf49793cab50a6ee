"""Standard input as SPEC: each line is a question of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from privcalc.cli import lines
from privcalc.cli.lines import name_and_text, without_comment
from privcalc.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from tests.fake_accounting import FakeAccounting

LINES = "gaussian:sigma=2\n\n  pure:epsilon=1  \r\n"


def test_output_of_json_is_accepted(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """The output of one run is the input of the next, with its relation."""
    first = run("compose", "-", "--delta", "1e-5", "--json", "--relation", "replace-one",
                stdin=LINES)  # fmt: skip
    second = run("compose", "-", "--delta", "1e-5", "--json", stdin=first.stdout)
    assert second == first
    assert accounting.calls[-1]["relation"] is Relation.REPLACE_ONE


@pytest.mark.slow
def test_specification_too_long_for_text_comes_back(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """JSON may be longer than text; of a printed answer the specification counts, not its text."""
    event = {"type": "gaussian", "standard_deviation": 2.0}
    twin = json.dumps({"type": "composed", "events": [event] * 60_000})
    first = run("compose", "-", "--delta", "1e-5", "--json", stdin=twin + "\n")
    second = run("compose", "-", "--delta", "1e-5", "--json", stdin=first.stdout)
    assert (first.status, second) == (0, first)
    assert accounting.calls[0]["tree"] == accounting.calls[1]["tree"]
    outcome = run("compose", json.loads(first.stdout)["text"], "--delta", "1e-5")
    assert outcome.status == 2
    assert "at most 1,000,000 characters" in outcome.stderr
    assert len(outcome.stderr) < 400


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


@pytest.mark.parametrize("stdin", ["", " \n\r\n\t\n", "\ufeff\n", "\x1c\x1f\u2028\n"])
def test_empty_input(stdin: str, run: Callable[..., Outcome]) -> None:
    """A check of nothing does not pass, and what is blank is no question."""
    for budget in ((), ("--max-epsilon", "1", "-q")):
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


def test_a_decided_check_is_narrow_enough(
    run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """No warning of a wide bracket where nothing narrower was asked for."""
    accounting.tolerance_met = False
    check = ("compose", "gaussian:sigma=2", "--delta", "1e-5", "--max-epsilon")
    assert "warning" not in run(*check, "1").stderr
    assert "warning" not in run(*check, "3").stderr
    assert "warning" in run(*check, "2.3").stderr


def test_endless_line_is_refused(
    run: Callable[..., Outcome], accounting: FakeAccounting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before memory ends, blank or not, and what follows is not read as a line."""
    assert accounting.calls == []
    monkeypatch.setattr(lines, "MAX_LINE", 40)
    for filler in ("x", " ", "\0"):
        stdin = f"pure:epsilon=1\npure:epsilon=1{filler * 100}pure:epsilon=2\npure:epsilon=3\n"
        outcome = run("compose", "-", "--delta", "1e-5", "-t", stdin=stdin)
        assert (outcome.status, outcome.stdout) == (2, "2.5\n")
        assert outcome.stderr == (
            "privcalc: line 2: a line has fewer than 40 bytes; nothing after this one is read\n"
        )


def test_stops_where_nobody_reads_the_errors() -> None:
    """Bad lines without an end are not read for ever once standard error is closed."""
    arguments = [sys.executable, "-m", "privcalc", "compose", "-", "--delta", "1e-5"]
    reading, writing = os.pipe()
    os.close(reading)
    bad = b"x\n" * 10
    done = subprocess.run(arguments, input=bad, stderr=writing, timeout=60, check=False)
    os.close(writing)
    assert done.returncode == 2


class TestAnswersAsQuestions:
    """A printed answer is read as the guarantee that its numbers are about."""

    @pytest.mark.few(2)
    @pytest.mark.parametrize("arguments", [
        ("compose", "pure:epsilon=1", "--delta", "1e-5,1e-6", "--epsilon", "0.5"),
        ("convert", "gaussian:sigma=2", "--to", "gdp", "--delta", "1e-5,1e-6"),
        ("subsample", "pure:epsilon=1", "--q", "0.1", "--delta", "1e-5,1e-6"),
        ("select", "pure:epsilon=1", "--runs", "poisson:mean=2", "--delta", "1e-5,1e-6"),
    ])  # fmt: skip
    def test_one_guarantee_is_one_question(
        self, arguments: tuple[str, ...], run: Callable[..., Outcome]
    ) -> None:
        """Several answers about it follow one another, and are answered once."""
        first = run(*arguments, "--json")
        assert len(first.stdout.splitlines()) > 1
        done = run("compose", "-", "--delta", "1e-5", "-t", stdin=first.stdout)
        assert (done.status, len(done.stdout.split())) == (0, 1)

    def test_lines_of_text_and_other_answers_are_asked_each(
        self, run: Callable[..., Outcome], accounting: FakeAccounting
    ) -> None:
        """A text that is written twice is asked twice; another relation is another guarantee."""
        assert accounting.calls == []
        line = run("compose", "pure:epsilon=1", "--json").stdout
        other = run("compose", "pure:epsilon=1", "--json", "--relation", "replace-one").stdout
        for stdin, count in (
            ("pure:epsilon=1\n" * 2, 2),
            (line * 3, 1),
            (line + other + line, 3),
            (line + "pure:epsilon=1\n" + line, 3),
        ):
            done = run("compose", "-", "--delta", "1e-5", "-t", stdin=stdin)
            assert len(done.stdout.split()) == count

    @pytest.mark.slow
    def test_the_rounds_of_a_sample(self, run: Callable[..., Outcome]) -> None:
        """A budget that a million rounds exceed does not pass by way of one of them."""
        printed = run("subsample", "gaussian:sigma=1", "--q", "0.01", "--count", "1000000",
                      "--delta", "1e-5", "--json").stdout.splitlines()  # fmt: skip
        check = ("compose", "-", "--delta", "1e-5", "--max-epsilon", "5", "-q")
        assert [run(*check, stdin=line).status for line in printed] == [2, 1]


def test_answers_keep_their_names(run: Callable[..., Outcome]) -> None:
    """In the next pipe an answer is the same question at another delta."""
    named = 'train: gaussian:sigma=2 # a run\ngdp:mu=1\ntwin 2: {"type": "pure", "epsilon": 1}\n'
    for delta in ("1e-5", "1e-6"):
        named = run("compose", "-", "--delta", delta, "--json", stdin=named).stdout
        found = [json.loads(line).get("name") for line in named.splitlines()]
        assert found == ["train", None, "twin 2"]


@pytest.mark.parametrize(
    ("line", "name", "text"),
    [
        ("a: b:c=1", "a", "b:c=1"),
        ("a:b:c=1", "", ""),
        ("a : b:c=1", "a", "b:c=1"),
        ("ptr: test=(gaussian:sigma=8),mechanism=(gaussian:sigma=4)", "", ""),
        ("gaussian: laplace:scale=1", "gaussian", "laplace:scale=1"),
        ("a: b: c:d=1", "a", "b: c:d=1"),
        ("7: a:b=1", "", ""),
        ("a: [[1.1, 0.01, 5]]", "a", "[[1.1, 0.01, 5]]"),
        ("a: dp_accounting.GaussianDpEvent(1)", "a", "dp_accounting.GaussianDpEvent(1)"),
        ('{"a": "b: c:d"}', "", ""),
        (f"{'x' * 81}: a:b=1", "", ""),
    ],
)
def test_what_is_a_name(line: str, name: str, text: str) -> None:
    """It has a space behind its colon, and a question behind that."""
    assert name_and_text(line) == (name, text or line)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("a:b=1 #c", "a:b=1"),
        ("a:b=1\t# c # d", "a:b=1"),
        ("#", ""),
        ("a:b=1#c", "a:b=1#c"),
        ('a:file="b #c.json" # d', 'a:file="b #c.json"'),
        ('{"a": "b #c"}', '{"a": "b #c"}'),
        ("x: {'a': 'b #c'}  # d", "x: {'a': 'b #c'}"),
    ],
)
def test_what_is_a_comment(line: str, kept: str) -> None:
    """It has a space before it, and is in no quotes and no data."""
    assert without_comment(line) == kept
