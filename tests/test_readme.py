"""The README is true: its console blocks run and print what they show."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
# How far an error term may lie from the one shown: they measure how the work was divided.
FACTOR = 100.0
# The file that commands of README read.
(BUDGET,) = re.findall(r"^```toml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
MARK = "---- next command ----"


def commands(block: str) -> list[tuple[str, str]]:
    """Split a block into commands and what they print."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def same(expected: object, found: object, *, term: bool = False) -> bool:
    """Compare JSON key by key: brackets to 1e-9, error terms to a factor, the rest exactly."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return list(expected) == list(found) and all(
            same(expected[key], found[key], term=term or key == "terms") for key in expected
        )
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(same, expected, found))
    if isinstance(expected, float) and isinstance(found, float):
        if term and expected > 0:
            return expected / FACTOR <= found <= expected * FACTOR
        return math.isclose(expected, found, rel_tol=1e-9)
    return type(expected) is type(found) and expected == found


def same_line(expected: str, found: str) -> bool:
    """Compare one line: exactly, but for JSON and bare numbers, whose last digits may differ.

    The last of sixteen digits depends on the processor; all of them are certified.
    """
    if expected.startswith("{"):
        return same(json.loads(expected), json.loads(found))
    if re.fullmatch(r"\d+\.\d{11,}", expected):
        return math.isclose(float(expected), float(found), rel_tol=1e-9)
    return expected == found


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Make `privcalc` mean the package under test."""
    script = tmp_path / "privcalc"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m privcalc "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return f"{tmp_path}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_console_block(block: str, path: str, tmp_path: Path) -> None:
    """Each command prints the lines below it, on either stream."""
    (tmp_path / "privacy.toml").write_text(BUDGET, encoding="utf-8")
    shown = commands(block)
    # The mark must not change $?, which a block may show.
    script = "\n".join(f"{command}\n(s=$?; echo '{MARK}'; exit $s)" for command, _ in shown)
    done = subprocess.run(
        ["bash", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        # Blocks may write files.
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
    )
    printed = done.stdout.split(f"{MARK}\n")
    for (command, expected), found in zip(shown, printed[: len(shown)], strict=True):
        lines, found_lines = expected.splitlines(), found.splitlines()
        assert len(lines) == len(found_lines), f"{command}\n{found}"
        for line, found_line in zip(lines, found_lines, strict=True):
            assert same_line(line, found_line), f"{command}\n{found}"


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        ({"terms": {"aliasing": 1e-12}}, {"terms": {"aliasing": 3e-11}}, True),
        ({"terms": {"aliasing": 1e-12}}, {"terms": {"aliasing": 1e-9}}, False),
        ({"terms": {"aliasing": 1e-12}}, {"terms": {"rounding": 1e-12}}, False),
        ({"terms": {"dropped": 0.0}}, {"terms": {"dropped": 1e-300}}, False),
        ({"upper": 2.0}, {"upper": 2.000000001}, True),
        ({"upper": 2.0}, {"upper": 2.00000001}, False),
        ({"upper": 2.0, "lower": 1.0}, {"lower": 1.0, "upper": 2.0}, False),
        ({"tolerance_met": True}, {"tolerance_met": 1}, False),
        ([1.0], [1.0, 2.0], False),
    ],
)
def test_comparison_notices(shown: object, printed: object, equal: bool) -> None:
    """Invented numbers do not pass, and neither does another structure."""
    assert same(shown, printed) is equal


def test_first_command_is_the_main_job() -> None:
    """The first block installs and asks the question that the project is measured by."""
    first = re.search(r"^```sh\n(.*?)\n```$", README, re.MULTILINE | re.DOTALL)
    assert first is not None
    assert first[1] == (
        "pip install . && "
        "privcalc compose gaussian:sigma=1.1@poisson:q=256/60000@14063 --delta 1e-5"
    )


@pytest.mark.parametrize("words", ["10,000 characters", "a wider bracket is still a certified one"])
def test_says_what_the_limits_are(words: str) -> None:
    """Limits are stated where people look first."""
    assert words in " ".join(README.split())


@pytest.mark.parametrize("words", ["steps = epochs x n / b", "Poisson sampling is not shuffling"])
def test_says_what_people_get_wrong(words: str) -> None:
    """Two mistakes give numbers that are much too small."""
    assert words in README
