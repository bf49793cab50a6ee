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


@pytest.mark.slow
def test_any_relation_may_be_asked(run: Callable[..., Outcome]) -> None:
    """What is sampled is read under add-or-remove-one, whatever is asked about the run."""
    text = history([[2.0, 0.01, 100]])
    for relation in ("add-or-remove-one", "replace-one"):
        asked = ("--delta", "1e-5", "--relation", relation, "-t")
        same = run("compose", "gaussian:noise_multiplier=2@poisson:q=0.01@100", *asked)
        assert run("compose", "-", *asked, stdin=text).stdout == same.stdout
        assert run("compose", text, *asked).stdout == same.stdout


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
