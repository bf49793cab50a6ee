"""Completions in the three shells themselves: a line is typed, and the tabulator key pressed."""

from __future__ import annotations

import json
import shutil
from itertools import takewhile
from pathlib import Path

import pytest

from tests.cli.shells import fish, typed

ROWS = (Path(__file__).parent / "completions.jsonl").read_text(encoding="utf-8").splitlines()
# What is typed, how far it is kept, and what may follow there.
POSITIONS = [(row["typed"], row["kept"], row["next"]) for row in map(json.loads, ROWS)]


def needs(shell: str) -> None:
    """Skip a test where a shell is missing."""
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")


def after(line: str, kept: str, words: list[str]) -> str:
    """Return the line once the key has completed a word, or as much as all words share."""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*words, strict=False))
    shared = "".join(letters[0] for letters in same)
    typed_so_far = line.rpartition(" ")[2].strip("'")
    return line + shared[len(typed_so_far) - len(kept) :] if words else line


@pytest.mark.dear("zsh]")
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_shells_that_are_typed_into(shell: str, tmp_path: Path) -> None:
    """Each offers what may follow, and puts in what all of it begins with, and nothing else."""
    needs(shell)
    (tmp_path / "curve.csv").touch()
    answers = typed(shell, [line for line, _, _ in POSITIONS], tmp_path)
    for (line, kept, words), (offered, found) in zip(POSITIONS, answers, strict=True):
        # bash is given what follows the last of its own separators, zsh what is completed.
        ends = [next((w for w in words if each.endswith(w)), each) for each in offered]
        assert sorted(ends) == words, (line, offered)
        # What is complete is followed by a space, and in bash by the quote that was open.
        assert found.rstrip("' =") == after(line, kept, words).rstrip("' ="), line
        assert "\n" not in found


def test_fish(tmp_path: Path) -> None:
    """It offers whole words."""
    needs("fish")
    (tmp_path / "curve.csv").touch()
    answers = fish([line for line, _, _ in POSITIONS], tmp_path)
    for (line, kept, words), offered in zip(POSITIONS, answers, strict=True):
        assert offered == sorted(kept + word for word in words), line


@pytest.mark.slow
def test_sweep_has_no_action_in_zsh(tmp_path: Path) -> None:
    """What it takes is no list of words, and nothing is offered in its place."""
    needs("zsh")
    line = "privcalc calibrate gaussian:sigma=_ --sweep q"
    assert typed("zsh", [line, line + "=1:2"], tmp_path) == [([], line), ([], line + "=1:2")]
    assert "NAME=LOW..HIGH/N: '" in _text("_privcalc")


def test_every_name_is_explained_in_fish(tmp_path: Path) -> None:
    """--help-spec takes each mechanism and wrapper by each of its names, and each topic."""
    from privcalc.spec.describe import TOPICS
    from privcalc.spec.entry import word_text
    from privcalc.spec.events.history import OPACUS
    from privcalc.spec.registry import mechanisms, wrappers

    needs("fish")
    (offered,) = fish(["privcalc --help-spec "], tmp_path)
    entries = (*mechanisms(), OPACUS, *wrappers())
    names = {word_text(name) for each in entries for name in each.spellings}
    assert set(offered) == {*names, *TOPICS}


def _text(name: str) -> str:
    from tests.conftest import ROOT

    return (ROOT / "privcalc" / "cli" / "completions" / name).read_text(encoding="utf-8")
