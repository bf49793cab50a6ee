"""Histories of Opacus: read, merged, and refused where they say nothing."""

from __future__ import annotations

import json
import math
import pickle
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import privcalc
from privcalc.accounting.compose import compose
from privcalc.errors import SpecError
from privcalc.spec.parse import parse
from privcalc.spec.read import read
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

STEPS = [[1.1, 0.0042666, 5], [0.9, 0.01, 7], [1.1, 0.0042666, 100]]
TEXT = (
    "gaussian:noise_multiplier=1.1@poisson:q=0.0042666@105"
    "+gaussian:noise_multiplier=0.9@poisson:q=0.01@7"
)


def history(steps: object, mechanism: str = "rdp") -> str:
    """Return a history as Opacus has it."""
    return json.dumps({"history": steps, "mechanism": mechanism})


def test_equal_steps_are_merged(tmp_path: Path) -> None:
    """A history is a sum of sampled steps, wherever it stands; numbers are those written."""
    file = tmp_path / "history.json"
    file.write_text(json.dumps(json.loads(history(STEPS)), indent=2), encoding="utf-8")
    tree = parse(TEXT).tree
    assert read(history(STEPS)).tree == tree
    assert read(history(STEPS, "prv")).text == TEXT
    assert read(f"opacus:file={file}").tree == tree
    found = read(f"laplace:scale=2 + opacus:file={file} + Opacus:file={file}@3").tree
    assert found == parse(f"laplace:scale=2+{TEXT}+({TEXT})@3").tree
    assert (
        read(f"laplace:scale=2+(opacus:file={file})@group:k=2").tree
        == parse(f"laplace:scale=2+({TEXT})@group:k=2").tree
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (history([]), "the history is empty: no step was recorded"),
        ("{}", "an object of a specification has"),
        ('{"history": []}', "mechanism is one of"),
        ('{"history": []}', '"gdp", and is missing'),
        ('{"history": [], "mechanism": null}', '"gdp", got null'),
        (
            history([["1.1", 0.1, 5]]),
            r'\[0\]: expected a number for noise_multiplier, got "1',
        ),
        (history([[1.1, None, 5]]), "expected a number for sample_rate, got null"),
        (history([[1.1, 0.1, True]]), "expected a number for steps, got true"),
        (history([None]), r"steps\], got null"),
        (history([[1.1, 0.1]]), r"steps\], got a list of 2"),
        (history([[1.1, 0.1, 5, 6]]), r"steps\], got a list of 4"),
        (
            history([[1.1, 0.1, 5], [1e-320, 0.1, 5]]),
            r"\[1\]: noise_multiplier 1e-320 is out",
        ),
        (history(STEPS, "other"), 'mechanism is one of "rdp", "prv", "gdp", got "other"'),
        (history({}), "history is a list of steps, got an object"),
        (history([[1.1, 0.1]]), r"history\[0\]: expected \[noise_multiplier, sample_rate, steps\]"),
        (history([[1.1, 0.1, 5], [0, 0.1, 5]]), r"history\[1\]: noise_multiplier must be > 0"),
        (history([[1.1, 1.1, 5]]), r"history\[0\]: sample_rate must be in \[0, 1\], got 1.1"),
        (history([[1.1, 0.1, 0]]), "steps is a whole number >= 1, got 0"),
        (history([[1.1, 0.1, 2.5]]), "steps is a whole number >= 1, got 2.5"),
        (history([[1.1, 0.1, 10**300]]), "steps must be at most 1e15"),
        (history([[1.1, 0.1, 10**15], [1.1, 0.1, 1]]), r"history\[1\]: steps must be at most"),
        (history([["_", 0.1, 5]]), "expected"),
        (history([[True, 0.1, 5]]), "expected"),
        ('{"history": [[NaN, 0.1, 5]], "mechanism": "rdp"}', "NaN is not a number"),
        ('{"history": [[Infinity, 0.1, 5]], "mechanism": "rdp"}', "Infinity is not a number"),
        ('{"history": [[1, 0.1, 5]], "mechanism": "x"}', 'got "x"'),
    ],
)
def test_refuses(text: str, message: str) -> None:
    """What is no history says which entry, and why."""
    with pytest.raises(SpecError, match=message):
        read(text)


def test_an_empty_history_says_why() -> None:
    """The gdp accountant empties its history where the noise changes."""
    with pytest.raises(SpecError) as caught:
        read(history([], "gdp"))
    assert (
        "a gdp accountant drops its steps where the noise or the rate changes" in caught.value.hint
    )


class Bomb:
    """Runs when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Write a file."""
        return Path.touch, (Path("exploded"),)  # type: ignore[return-value]


def test_checkpoints_are_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of torch, of either kind, is refused with what to write; nothing in it runs."""
    monkeypatch.chdir(tmp_path)
    Path("old.pt").write_bytes(pickle.dumps(Bomb()))
    with zipfile.ZipFile("new.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Bomb()))
    for name in ("old.pt", "new.pt"):
        with pytest.raises(SpecError) as caught:
            read(f"opacus:file={name}")
        assert f"{name}" in str(caught.value)
        assert "checkpoints of torch are not loaded" in caught.value.hint
        assert "json.dump" in caught.value.hint
    assert not Path("exploded").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty.json is empty"),
        (b" \n", "empty.json is empty"),
        (b'{"history": [\n[1.1, 0.1 5]]}', "empty.json, line 2: not JSON"),
        (b'{"history": [], "mechanism": "rdp"}', "empty.json: the history is empty"),
        (b"[1.1, 0.1, 5]", "empty.json: a history is a JSON object"),
        (b"[[1.1, 0, 5, 2]]", "empty.json: a history is a JSON object"),
        (b"\xff", "not a text file"),
        (b"x" * 8_000_001, "JSON has at most"),
    ],
)
def test_files(
    content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong with a file is said beside its name, and the name is marked."""
    monkeypatch.chdir(tmp_path)
    Path("empty.json").write_bytes(content)
    text = "pure:epsilon=1+opacus:file=empty.json@3"
    with pytest.raises(SpecError, match=message) as caught:
        read(text)
    assert text[slice(*caught.value.span)] == "empty.json"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("opacus", "opacus needs file"),
        ("opacus:file=3", "file takes a file, got 3"),
        ("opacus:file=_", "file takes a file, got a free parameter"),
        ("opacus:steps=3", "opacus has no parameter steps"),
        ("opacus:file=/dev/zero", "it is no regular file"),
        ("opacus:file=./nowhere.json", "cannot be read"),
        ("gaussian:sigma=1@opacus:file=./h.json", "unknown wrapper: opacus"),
    ],
)
def test_refuses_a_call(text: str, message: str) -> None:
    """A call of it is checked as that of a mechanism."""
    with pytest.raises(SpecError, match=message):
        read(text)


def test_any_relation_may_be_asked(run: Callable[..., Outcome]) -> None:
    """What is sampled is read under add-or-remove-one, whatever is asked about the run."""
    text = history([[2.0, 0.01, 100]])
    for relation in ("add-or-remove-one", "replace-one"):
        asked = ("--delta", "1e-5", "--relation", relation, "-t")
        same = run("compose", "gaussian:noise_multiplier=2@poisson:q=0.01@100", *asked)
        assert run("compose", "-", *asked, stdin=text).stdout == same.stdout
        assert run("compose", text, *asked).stdout == same.stdout


def test_what_reads_a_history_may_go_on(run: Callable[..., Outcome]) -> None:
    """The answer has the steps themselves, and is read again without the file."""
    first = run("compose", history(STEPS), "--delta", "1e-5", "--json")
    again = run("compose", "-", "--delta", "1e-5", "--json", stdin=first.stdout)
    assert again == first
    assert json.loads(first.stdout)["text"] == TEXT


def test_noise_that_changes_at_every_step() -> None:
    """Different steps, as a noise schedule makes them for each epoch, are answered."""
    steps = [[round(1.0 + 0.05 * i, 3), 0.01, 10] for i in range(20)]
    tree = read(history(steps)).tree
    (answer,) = compose(tree, deltas=[1e-5]).answers
    assert answer.bound is not None
    assert answer.bound.lower is not None
    assert answer.bound.width < 1e-4


@pytest.mark.parametrize("levels", [200, pytest.param(2_000, marks=pytest.mark.slow)])
def test_what_the_library_read_is_no_text_of_limited_length(levels: int) -> None:
    """Noise that decays in many levels: as one text, pickled, in a sum, and converted."""
    noise = [round(20.0 + (i + 1 / 3) / levels, 9) for i in range(levels)]
    spec = privcalc.from_opacus([(each, 1.0, 2) for each in noise])
    assert len(spec) > 10_000
    square = math.fsum(2 / each**2 for each in noise)
    spent = privcalc.compose(spec, delta=1e-5, tolerance=1e-9)
    assert spent.epsilon.upper == pytest.approx(
        privcalc.compose(f"gdp:mu={math.sqrt(square)!r}", delta=1e-5).epsilon.upper, rel=1e-9
    )
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301  (our own)
    again = privcalc.compose(pickle.loads(pickle.dumps(spec)), delta=1e-5, tolerance=1e-9)  # noqa: S301
    assert again.epsilon == spent.epsilon
    assert privcalc.convert(spec, to="zcdp").rho.upper == pytest.approx(square / 2, rel=1e-9)
    assert privcalc.compose(spec, "gaussian:sigma=1", delta=1e-5).epsilon.upper > (
        spent.epsilon.upper
    )


def test_long_events_too() -> None:
    """A DpEvent of many parts is no longer a text once it is read."""
    parts = ", ".join(f"GaussianDpEvent({30 + i / 400})" for i in range(400))
    spec = privcalc.from_dp_event(f"ComposedDpEvent([{parts}])")
    square = math.fsum((30 + i / 400) ** -2 for i in range(400))
    assert privcalc.convert(spec, to="gdp").mu.upper == pytest.approx(math.sqrt(square), rel=1e-9)


def test_a_real_run(tmp_path: Path) -> None:
    """Epsilon of a run with Opacus is not above what its own accountants say."""
    stored = json.loads((ROOT / "tests/oracles/opacus.json").read_text(encoding="utf-8"))
    file = tmp_path / "history.json"
    file.write_text(json.dumps(stored["state"]), encoding="utf-8")
    tree = read(f"opacus:file={file}").tree
    assert tree == read(json.dumps(stored["state"])).tree
    theirs = stored["epsilon"]
    deltas = [each["delta"] for each in theirs]
    for answer, own in zip(compose(tree, deltas=deltas).answers, theirs, strict=True):
        assert answer.bound is not None
        assert answer.bound.lower is not None
        # Its PRV accountant rounds up, and its Renyi accountant by much more.
        assert answer.bound.upper <= own["prv"] <= own["rdp"]
        assert answer.bound.lower > 0.9 * own["prv"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("opacus:ok.json", "write opacus:file=FILE"),
        ("pmf:dir/table.csv+pure:epsilon=1", "write pmf:file=FILE"),
        ("opacus:file", "write file=VALUE"),
        ("opacus:file=-", "standard input is - in the place of SPEC"),
        ("pmf:file=- + pure:epsilon=1", "standard input is -"),
        ("gaussian:sigma=-", "a value is a number"),
    ],
)
def test_a_file_without_its_key_or_name(text: str, hint: str) -> None:
    """What to write is what would be read."""
    with pytest.raises(SpecError) as caught:
        read(text)
    assert hint in caught.value.hint
