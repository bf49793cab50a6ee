"""Commas: a list that people write is one, and what may be a decimal comma is never read as one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privcalc.commands.values import split
from privcalc.errors import UsageError
from privcalc.spec.hints import DECIMAL_POINT
from privcalc.spec.parse import parse
from privcalc.spec.syntax import decimal_comma

LISTS = (
    "1,2 1,50 8,3 0,1,2 0,5,10 0,1e-6,1e-5 0,0.1 0,0.01,0.5,0.9,1 1e-5,0 1%,5% 1/60000,1/50000 "
    "8,3,0 0.0,5 1.0,5e-5 100,200 1,10,100,1000 1,0"
)


def test_lists_are_lists() -> None:
    """What people write for several numbers is read as such."""
    for text in (*LISTS.split(), "0, 5"):
        assert decimal_comma(text) is None
        assert len(split("--x", text)) == text.count(",") + 1


@pytest.mark.parametrize(
    ("text", "place"),
    [
        *(
            (text, 1)
            for text in ("0,00001", "0,5,1", "1,5e-5", "2,5%", "1,000,000", "0, 05", "0,0")
        ),
        ("1e-5,0,05", 6),
        ("1/60,000", 4),
    ],
)
def test_what_may_be_a_decimal_comma_is_refused(text: str, place: int) -> None:
    """At the comma; neither of the readings is proposed."""
    assert decimal_comma(text) == place
    with pytest.raises(UsageError, match=r"^--x: a comma stands between") as caught:
        split("--x", text)
    assert (caught.value.text, caught.value.span) == (text, (place, place + 1))
    assert caught.value.hint == DECIMAL_POINT


@given(st.integers(0, 99), st.from_regex(r"[0-9]{1,6}", fullmatch=True))
def test_a_number_below_one_with_a_comma_is_never_two(whole: int, digits: str) -> None:
    """Whatever stands behind `0,`, or begins with a 0 behind a comma, is said to be one number."""
    for text in (f"0,{digits}", f"{whole},0{digits}"):
        assert decimal_comma(text) is not None


@given(st.lists(st.floats(0.001, 1e4).map(lambda x: f"{x:.3f}"), min_size=2, max_size=5))
def test_points_settle_it(items: list[str]) -> None:
    """Numbers with decimal points are a list, whatever they are."""
    assert decimal_comma(",".join(items)) is None


def test_lists_of_a_specification_stay() -> None:
    """A list of 0 and 1 is common there."""
    parse("gaussian-mixture:sigma=2,sensitivities=0,1,2,probabilities=0.9,0.05,0.05")
    parse("gaussian-mixture:sigma=2,sensitivities=0,1,probabilities=0.9,0.1")
