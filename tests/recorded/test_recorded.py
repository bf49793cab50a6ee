"""Hundreds of lines print what they printed before, and end with the same status."""

from __future__ import annotations

import pytest

from tests.recorded.__main__ import alike, answer, recorded

RECORDED = recorded()
# A few of all are asked each time.
EVERY = 40
LINES = [
    pytest.param(line, marks=() if number % EVERY == 0 else pytest.mark.slow, id=line[:80])
    for number, line in enumerate(RECORDED)
]


@pytest.mark.parametrize("line", LINES)
def test_the_answer_is_the_recorded_one(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and statuses are the same, and numbers as good as equal."""
    monkeypatch.setenv("COLUMNS", "100")
    status, out, err = answer(line)
    before = RECORDED[line]
    assert status == before[0]
    assert alike(before[1], out), out
    assert alike(before[2], err), err


def test_differences_are_seen() -> None:
    """Of words at once, and of numbers from the seventh digit on."""
    assert alike("epsilon 1.2345678", "epsilon 1.2345679")
    assert not alike("epsilon 1.2345", "epsilon 1.2346")
    assert not alike("epsilon 1.2345", "delta 1.2345")
    assert not alike("delta 1.2e-20", "delta 1.3e-20")
    assert alike("truncation 1.2e-20, epsilon 1", "truncation 3e-21, epsilon 1")
