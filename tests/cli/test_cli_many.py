"""Many questions: JSON on any number of lines, several processes, the same bytes."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from privcalc.cli import stream
from privcalc.cli.lines import questions
from privcalc.cli.output import Printed
from privcalc.errors import SpecError
from tests.conftest import process

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from tests.fake_accounting import FakeAccounting

ASK = ("compose", "-", "--delta", "1e-5")
TWIN = {"type": "self_composed", "count": 3, "event": {"type": "pure", "epsilon": 0.5}}
# Each of three questions in this form, one after the other.
FORMS: dict[str, Callable[[object], str]] = {
    "lines": lambda three: "".join(f"{json.dumps(each)}\n" for each in three),  # type: ignore[attr-defined]
    "jq": lambda three: "".join(f"{json.dumps(each, indent=2)}\n" for each in three),  # type: ignore[attr-defined]
    "tabs": lambda three: "\r\n".join(json.dumps(each, indent="\t") for each in three),  # type: ignore[attr-defined]
    "at the margin": lambda three: json.dumps(three, indent=0),
    "jq -s": lambda three: json.dumps(three, indent=2),
    "jq -s -c": json.dumps,
    "arrays": lambda three: f"{json.dumps(three[:1])}\n{json.dumps(three[1:], indent=1)}",  # type: ignore[index]
    "spread": lambda three: json.dumps(three).replace("{", "{\n\n ").replace(",", "\n,\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_json_in_every_form(
    form: str, run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """The same three answers, whatever printed the questions."""
    three = [TWIN, {"type": "gaussian", "standard_deviation": 2.0}, TWIN]
    done = run(*ASK, "--json", stdin=FORMS[form](three))
    assert (done.status, done.stderr) == (0, "")
    assert [json.loads(line)["spec"] for line in done.stdout.splitlines()] == three
    assert len(accounting.calls) == 3


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_the_list_of_an_event_is_one_question(
    indent: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins with the name of a module, and whoever reads it needs all of it."""
    event = ["dp_accounting.dp_event", "SelfComposedDpEvent", {"a": ["b", [1.0, 3]]}]
    text = json.dumps(event, indent=indent)
    for stdin, number in ((text, 1), (json.dumps([event, "x"], indent=indent), 2)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        (_, first), *rest = questions()
        assert isinstance(first, str)
        assert json.loads(first) == event
        assert len(rest) == number - 1


def test_any_text_is_read_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text is lost: what stands on a line is in a question or in an error of some line."""
    rng = random.Random(3)
    pieces = ['{"a": 1', "}", "[", "]", ",", '"x"', '"', "\n", " ", "\\", "pure", "1", ":", "\t{"]
    for _ in range(500):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 12)))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        found = list(questions())
        assert bool(found) == bool(text.strip()), text
        assert all(1 <= line <= text.count("\n") + 1 for line, _ in found)
        assert all(isinstance(each, SpecError) or each.strip() for _, each in found)


SPECS = [
    "pure:epsilon=1",
    "gaussian:sgma=1",
    "gaussian:sigma=2@3",
    '{"type": "pure",',
    ' "epsilon": 2}',
    "[",
    '"laplace:scale=3@5", {"type": "gaussian", "standard_deviation": 3}]',
    "zcdp:rho=0.1",
    "approx:epsilon=0.5,delta=1e-3",
    "gdp:mu=0.5@10",
]


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "arguments",
    [
        ("compose", "-", "--delta", "1e-5", "--json", "--max-epsilon", "2"),
        pytest.param(
            ("compose", "-", "--delta", "1/60000", "--format", "csv", "-v"), marks=pytest.mark.slow
        ),
        ("convert", "-", "--to", "rdp", "--orders", "2,8/3"),
    ],
)
def test_the_same_bytes_with_several_processes(arguments: tuple[str, ...]) -> None:
    """On both streams, in the same order, with the same status."""
    stdin = "\n".join(SPECS)
    one = process(*arguments, input=stdin)
    many = process(*arguments, "--jobs", "3", input=stdin)
    assert one.stdout
    assert (many.returncode, many.stdout) == (one.returncode, one.stdout)
    assert many.stderr == one.stderr


def doubled(line: int, text: str | SpecError) -> Printed:
    """Answer as a worker does, in no particular time."""
    if text == "end":
        os._exit(7)
    time.sleep(random.random() * 0.002)
    return Printed((f"{text}{text}",), (), 0, line=line)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("forks", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_order_is_kept(forks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long each answer takes, and however processes are started."""
    if forks and not stream.FORKS:
        pytest.skip("processes are not copied here")
    monkeypatch.setattr(stream, "FORKS", forks)
    found: list[str] = []

    def emit(printed: Printed) -> bool:
        found.extend(printed.lines)
        return True

    stream._in_order(doubled, ((n, str(n)) for n in range(300)), 3, emit)
    assert found == [f"{n}{n}" for n in range(300)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_failures_of_many_processes() -> None:
    """A process that ends early, a reader that is gone, questions that cannot be read."""
    found: list[str] = []

    def emit(printed: Printed) -> bool:
        found.extend(printed.lines)
        return len(found) < 5

    texts = ["end" if n == 40 else str(n) for n in range(2000)]
    with pytest.raises(RuntimeError, match="terminated abruptly"):
        stream._in_order(doubled, enumerate(texts), 2, lambda _: True)
    stream._in_order(doubled, enumerate(map(str, range(2000))), 2, emit)
    assert len(found) == 5

    def broken(_: Printed) -> bool:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        stream._in_order(doubled, enumerate(map(str, range(2000))), 2, broken)


@pytest.mark.slow
@pytest.mark.slow
def test_a_closed_pipe_and_an_answer_at_once() -> None:
    """Nobody waits for input that does not come, nor for a reader who is gone."""
    command = [sys.executable, "-m", "privcalc", *ASK, "-t", "--jobs", "2"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write("pure:epsilon=1\n")
        running.stdin.flush()
        assert running.stdout.readline() == "0.9999863212\n"
        running.stdout.close()
        running.stdin.write("pure:epsilon=1\n" * 9)
        running.stdin.close()
        assert running.wait(60) == 0
        assert running.stderr.read() == ""
