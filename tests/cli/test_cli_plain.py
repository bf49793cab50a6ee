"""Plain command lines mean without Typer what they mean with it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from privcalc.cli import app, program
from privcalc.cli.app import read_plainly
from privcalc.cli.output import OUTPUT, read_output
from privcalc.commands.command import COMMANDS, load
from privcalc.commands.options import FLAG
from tests.transcripts import HERE, entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Outcome

# Lines that are refused by what is in them, not by how their options are written.
MISTAKES = [
    line.split()
    for name in ("slips", "refusals")
    for line in (each.line for each in entries(HERE / f"{name}.txt")[::9])
    if not set("'\"<") & set(line) and read_plainly(line.split()) is not None
]
LEFT_TO_TYPER = [
    "",
    "compose",
    "cmpose gaussian:sigma=1",
    "--json compose gaussian:sigma=1",
    "compose --delta 1e-5",
    "compose gaussian:sigma=1 --delta",
    "compose gaussian:sigma=1 --delta --json",
    "compose gaussian:sigma=1 --delta=",
    "compose gaussian:sigma=1 --delta -1",
    "compose gaussian:sigma=1 --dlta 1e-5",
    "compose gaussian:sigma=1 --json=1",
    "compose gaussian:sigma=1 -tv",
    "compose gaussian:sigma=1 -- laplace:scale=1",
    "compose gaussian:sigma=1 --max-epsilon 1 --max-epsilon 2",
    "compose gaussian:sigma=1 --relation Add_or_remove_one",
    "compose gaussian:sigma=1 --format jsn",
    "compose gaussian:sigma=1 --help",
    "subsample gaussian:sigma=1 laplace:scale=1 --q 0.1",
    "subsample gaussian:sigma=1 -q 0.1",
    "select gaussian:sigma=1 --delta 1e-5",
]


@pytest.mark.slow
def test_mistakes_are_told_alike(
    run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong in a specification, or in a number, is said in the same words by both ways."""
    assert len(MISTAKES) > 20
    quick = [run(*words) for words in MISTAKES]
    monkeypatch.setattr(app, "read_plainly", lambda _: None)
    assert [run(*words) for words in MISTAKES] == quick


def test_what_is_not_plain_is_left_to_typer() -> None:
    """No line that Typer refuses, or reads in its own way, is answered without it."""
    assert [line for line in LEFT_TO_TYPER if read_plainly(line.split()) is not None] == []


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Let commands keep what they are called with, and do nothing."""
    calls: list[dict[str, object]] = []

    def record(command: Any, values: dict[str, object], arguments: list[str]) -> int:
        assert list(arguments) == arguments
        defaults = {each.name: command.default(each.name) for each in command.options}
        flags = dict.fromkeys(defaults.keys() & {"exit_zero", "thresholds"}, False)
        calls.append(defaults | flags | (read_output.__kwdefaults__ or {}) | values)
        return 0

    monkeypatch.setattr(app, "answer", record)
    return calls


def random_lines() -> Iterator[list[str]]:
    """Draw lines of known options, in any order, some more often than they are taken."""
    rng = random.Random(5)
    for _ in range(100):
        name = rng.choice(list(COMMANDS))
        words = [name]
        rows = [*load(name).options, *OUTPUT]
        for each in [*rng.choices(rows, k=rng.randrange(6)), rows[0]]:
            value = rng.choice(each.choices or ("1e-5", "x=1,y", "-", "é"))
            flag = rng.choice(each.flags)
            if each.positional or each.kind == FLAG:
                words.append(value if each.positional else flag)
            elif flag.startswith("--") and rng.random() < 0.3:
                words.append(f"{flag}={value}")
            else:
                words += [flag, value]
        yield words + (["--runs", "fixed:n=2"] if name == "select" else [])


def test_arguments_are_read_alike(called: list[dict[str, object]]) -> None:
    """Both ways call the same function with the same values of the same types."""
    plain = 0
    for words in random_lines():
        if read_plainly(words) is None:
            continue
        plain += 1
        assert app.main(words) == program.run(words, app.answer) == 0
        quick, full = called[-2:]
        assert quick == full, words
        assert [*map(type, quick.values())] == [type(full[name]) for name in quick]
    assert plain > 40
