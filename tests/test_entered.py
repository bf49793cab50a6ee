"""A question walks through few files: those that it needs, and no more than are written down."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Files of which a function is executed, and modules that are loaded, at most. What is below is a
# reason to lower the number.
MOST = {"closed form": (38, 51), "DP-SGD": (57, 74)}


@pytest.mark.dear("DP-SGD]")
@pytest.mark.parametrize("question", MOST)
def test_few_files_are_entered(question: str) -> None:
    """Whoever follows a question from its line to its bracket opens no more."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.entered", "--one", question],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded, *files = done.stdout.splitlines()
    assert len(files) <= MOST[question][0], files
    assert int(loaded) <= MOST[question][1]
