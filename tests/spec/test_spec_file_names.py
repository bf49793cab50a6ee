"""Names of files: with a dot or a slash as they are, in quotes whatever people call them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privcalc.errors import SpecError
from privcalc.spec.entry import PATH
from privcalc.spec.json import from_json, to_json
from privcalc.spec.parse import parse
from privcalc.spec.registry import to_text
from privcalc.spec.tree import Leaf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome


def name_of(text: str) -> str:
    """Return the file of a lone mechanism."""
    tree = parse(text).tree
    assert isinstance(tree, Leaf)
    return str(dict(tree.parameters)["file"])


@pytest.mark.parametrize(
    ("written", "name", "canonical"),
    [
        ("t.csv", "t.csv", "t.csv"),
        ('"t.csv"', "t.csv", "t.csv"),
        ('"my table.csv"', "my table.csv", '"my table.csv"'),
        ('"run=3,@4+5.csv"', "run=3,@4+5.csv", '"run=3,@4+5.csv"'),
        (r'"C:\data\t.csv"', r"C:\data\t.csv", r'"C:\data\t.csv"'),
        ('"1.csv"', "1.csv", '"1.csv"'),
        ('"Zähler 東京.csv"', "Zähler 東京.csv", '"Zähler 東京.csv"'),
        ('"table"', "./table", "./table"),
        ('"_"', "./_", "./_"),
    ],
)
def test_names(written: str, name: str, canonical: str) -> None:
    """The name is what stands in the quotes, and the canonical text and JSON are read as it."""
    text = f"pmf:file={written}"
    assert name_of(text) == name
    tree = parse(f" {text} @ 3 + pure:epsilon=1").tree
    assert to_text(tree) == f"pmf:file={canonical}@3+pure:epsilon=1"
    assert parse(to_text(tree)).tree == tree
    assert from_json(json.loads(json.dumps(to_json(tree)))) == tree


@pytest.mark.slow
@pytest.mark.slow
@given(st.from_regex(PATH, fullmatch=True))
def test_any_name_comes_back(name: str) -> None:
    """Whatever a tree may have for a name is read again from text and JSON."""
    tree = from_json({"type": "pmf", "file": name})
    assert name_of(to_text(tree)) == name
    assert parse(to_text(tree)).tree == tree


def test_an_answer_goes_on(
    run: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file with a space is read, and the printed answer is asked about again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my table.csv").write_text("first,other\n0.6,0.4\n0.4,0.6\n", encoding="utf-8")
    asked = ("--epsilon", "0", "--json")
    first = run("compose", 'pmf:file="my table.csv"@2', *asked)
    assert json.loads(first.stdout)["text"] == 'pmf:file="my table.csv"@2'
    assert run("compose", "-", *asked, stdin=first.stdout) == first
    assert run("compose", json.loads(first.stdout)["text"], *asked) == first


@pytest.mark.parametrize("behind", ["(", " b", ":c", "=d"])
def test_long_words_are_refused_soon(behind: str) -> None:
    """What is looked at around a mistake is short, however long the text: this ends at once."""
    for before in ("gaussian:sigma=", "opacus:file=./"):
        with pytest.raises(SpecError):
            parse(f"{before}{'a' * 300_000}{behind}")
