"""Lines print what they printed before, and end with the same status."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from privcalc.errors import PrivcalcError
from privcalc.spec.read import read
from tests.transcripts import FILES, HERE, alike, answer, entries, same

if TYPE_CHECKING:
    from tests.transcripts import Entry

SLIPS = [each for each in entries(HERE / "slips.txt") if each.status]
# Of files whose lines cost more a few lines are asked each time, and of others all.
DEAR = ("calibrate", "compose", "convert", "notes", "reasons", "select", "subsample")
EVERY, FIRST = 32, 4
ENTRIES = [
    pytest.param(
        each,
        marks=() if file.stem not in DEAR or k % EVERY == FIRST else pytest.mark.slow,
        id=f"{file.stem} {each.line[:80]}",
    )
    for file in FILES
    for k, each in enumerate(entries(file))
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_answer_is_that_of_before(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and statuses are the same, and numbers as good as equal."""
    monkeypatch.setenv("COLUMNS", "100")
    found = answer(entry.line)
    assert same(entry, found), found.written()


def test_differences_are_seen() -> None:
    """Of words at once, and of numbers from the seventh digit on."""
    assert alike("epsilon 1.2345678", "epsilon 1.2345679")
    assert not alike("epsilon 1.2345", "epsilon 1.2346")
    assert not alike("epsilon 1.2345", "delta 1.2345")
    assert not alike("delta 1.2e-20", "delta 1.3e-20")
    assert alike("truncation 1.2e-20, epsilon 1", "truncation 3e-21, epsilon 1")


def test_a_slip_is_one_message() -> None:
    """One line of words; the text with its marks; one line with what to write."""
    for slip in SLIPS:
        assert (slip.status, slip.out) == (2, ""), slip.line
        first, *rest = slip.err.splitlines()
        assert first.startswith("privcalc: "), slip.line
        assert len(rest) in (0, 1, 2, 3), slip.line
        assert len(rest) in (0, 2) or rest[-1].startswith("hint: "), slip.line
        assert not rest[:-1] or (rest[0].startswith("  ") and rest[1].strip(" ^") == ""), slip.line


def test_each_says_what_to_write() -> None:
    """A hint, or what is in parentheses, or the message itself."""
    told = re.compile(r"hint: |\((?!see )|did you mean|is written|only one of|with a minus")
    assert [each.line for each in SLIPS if not told.search(each.err)] == ["compse"]


def test_what_is_said_to_be_written_can_be_read() -> None:
    """A hint that has a whole specification has one that is read."""
    found = 0
    for each in SLIPS:
        hints = re.findall(r"write ((?:gaussian|laplace|pure|gdp):[\w=.@/]+)(?=[ ,\n]|$)", each.err)
        for hint in (x for x in hints if "FILE" not in x and not re.search(r"=[A-Z]", x)):
            try:
                read(hint)
            except PrivcalcError as error:
                pytest.fail(f"{each.line}: {hint}: {error}")
            found += 1
    assert found > 6
