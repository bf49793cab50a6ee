"""Slips: two hundred lines that people type, each with the message that is printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from privcalc.errors import PrivcalcError
from privcalc.spec.read import read
from tests.cli.slips import arguments, slips, write_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

SLIPS = slips()


@pytest.mark.parametrize(("line", "message"), SLIPS, ids=[line for line, _ in SLIPS])
def test_the_message(
    line: str,
    message: str,
    run: Callable[..., Outcome],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is what the file has: nothing is answered, and one line says what was wrong."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    done = run(*arguments(line))
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr == message
    # One line of words; the text with its marks; one line with what to write.
    first, *rest = message.splitlines()
    assert first.startswith("privcalc: ")
    assert len(rest) in (0, 1, 3)
    assert not rest or rest[-1].startswith("hint: ")
    assert not rest[:-1] or (rest[0].startswith("  ") and rest[1].strip(" ^") == "")


def test_each_says_what_to_write() -> None:
    """A hint, or what is in parentheses, or the message itself."""
    silent = [
        line
        for line, message in SLIPS
        if not re.search(r"hint: |\((?!see )|did you mean|is written|with a minus", message)
    ]
    assert silent == ["privcalc compse"]


def test_what_is_said_to_be_written_can_be_read() -> None:
    """A hint that has a whole specification has one that is read."""
    found = 0
    for line, message in SLIPS:
        hints = re.findall(r"write ((?:gaussian|laplace|pure|gdp):[\w=.@/]+)(?=[ ,\n]|$)", message)
        for hint in hints:
            if "FILE" in hint or re.search(r"=[A-Z]", hint):
                continue
            try:
                read(hint)
            except PrivcalcError as error:
                pytest.fail(f"{line}: {hint}: {error}")
            found += 1
    assert found > 6
