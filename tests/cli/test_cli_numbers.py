"""Numbers on the command line: the notation of the specification language, and ranges."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privcalc.commands.values import (
    read_delta,
    read_epsilon,
    read_number,
    read_tolerance,
    split,
)
from privcalc.errors import DomainError, PrivcalcError, UsageError
from privcalc.exact import exact
from privcalc.render.words import written
from privcalc.spec.parse import parse
from privcalc.spec.tree import Leaf


def test_ends_of_the_ranges() -> None:
    """The ends are allowed, and minus zero is zero."""
    assert read_delta("--delta", "0") == 0.0
    assert read_delta("--delta", "1") == 1.0
    assert math.copysign(1.0, read_epsilon("--epsilon", "-0")) == 1.0
    with pytest.raises(DomainError, match="must be >= 0, got -1"):
        read_epsilon("--epsilon", "-1")
    for end in ("0", "1"):
        with pytest.raises(DomainError, match=f"--tolerance must be > 0 and < 1, got {end}"):
            read_tolerance("--tolerance", end)


def test_comma_lists_keep_their_order() -> None:
    """No place of one is empty."""
    assert split("--delta", "1e-5, 1e-8,1e-12") == ["1e-5", "1e-8", "1e-12"]
    with pytest.raises(UsageError, match="empty place"):
        split("--delta", "1e-5,,1e-8")


NUMBERS = st.one_of(
    st.floats(0.0, 1e300).map(repr),
    st.tuples(st.integers(1, 10**9), st.integers(1, 10**9)).map(lambda pair: "{}/{}".format(*pair)),
    st.floats(0.0, 1e6).map(lambda value: f"{value!r}%"),
    st.text("0123456789_.eE+-/%", max_size=12),
)


@given(NUMBERS)
def test_agrees_with_the_specification_language(text: str) -> None:
    """What a specification takes as a number the command line takes, as the same double."""
    try:
        tree = parse(f"pure:epsilon={text}").tree
    except PrivcalcError:
        return
    if isinstance(tree, Leaf) and isinstance(tree.parameters[0][1], float):
        assert read_number("--x", text) == tree.parameters[0][1]


@pytest.mark.parametrize(
    ("text", "number", "shown"),
    [
        ("1/60000", Fraction(1, 60_000), "1/60000"),
        (" 1/4 ", Fraction(1, 4), "1/4"),
        ("0.1%", Fraction(1, 1000), "0.1%"),
        ("1/3%", Fraction(1, 300), "1/3%"),
        ("1e-05", Fraction(1, 100_000), "1e-5"),
        ("0.25", Fraction(1, 4), "0.25"),
    ],
)
def test_ratios_keep_their_text_and_value(text: str, number: Fraction, shown: str) -> None:
    """What was written as a ratio or a percentage is shown so, and stands for the same number."""
    value = read_number("--x", text)
    assert (exact(value), written(value)) == (number, shown)
    assert repr(value) == repr(float(number))
