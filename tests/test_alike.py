"""No two places of the tests have more than a dozen lines alike."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
MOST = 12


def alike(files: dict[str, str]) -> list[list[str]]:
    """Return the places where runs of more lines begin that other places have, too."""
    places = defaultdict(list)
    for name, text in files.items():
        lines = [(k, line.strip()) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
        for first in range(len(lines) - MOST):
            run = lines[first : first + MOST + 1]
            places[tuple(line for _, line in run)].append(f"{name}:{run[0][0]}")
    return [found for found in places.values() if len(found) > 1]


def test_what_is_alike_is_in_one_place() -> None:
    """A helper, a fixture or a table that two files need is imported by both."""
    files = {str(each.relative_to(HERE)): each.read_text("utf-8") for each in HERE.rglob("*.py")}
    assert alike(files) == []


def test_copies_are_found() -> None:
    """Wherever they are, and however far they are indented; twelve lines are not enough."""
    lines = [f"x_{k} = {k}" for k in range(MOST + 1)]
    files = {"a": "\n".join(["import math", *lines]), "b": "\n\n".join(f"  {x}" for x in lines)}
    assert alike(files) == [["a:2", "b:1"]]
    assert alike({"a": "\n".join(lines[1:]), "b": "\n".join(lines[1:])}) == []
