"""Canonical text, and the caret lines under a mistake."""

from __future__ import annotations

import pytest

from privcalc.errors import SpecError
from privcalc.spec.carets import caret
from privcalc.spec.parse import parse
from privcalc.spec.text import to_text


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("gaussian:sigma=5.0", "gaussian:sigma=5"),
        ("Gaussian : standard-deviation = 1e-5", "gaussian:sigma=1e-05"),
        ("gaussian:sensitivity=2,sigma=1", "gaussian:sigma=1,sensitivity=2"),
        ("rr:p=75%", "randomized-response:p=0.75"),
        ("gaussian:sigma=1@poisson-sampled:q=1/4@1_000", "gaussian:sigma=1@poisson:q=0.25@1000"),
        ("((gaussian:sigma=1)+(pure:epsilon=1))", "gaussian:sigma=1+pure:epsilon=1"),
        (
            "((gaussian:sigma=1)+(pure:epsilon=1))@2",
            "(gaussian:sigma=1+pure:epsilon=1)@2",
        ),
        ("gaussian:sigma=1e16", "gaussian:sigma=1e+16"),
    ],
)
def test_canonical_text(written: str, canonical: str) -> None:
    """Short spellings, the order of the registry, no spaces, no parentheses that say nothing."""
    assert canonical == to_text(parse(written).tree)


def test_a_mistake_is_shown_with_a_caret_and_a_hint() -> None:
    """The four lines: message, specification, carets, hint."""
    with pytest.raises(SpecError) as caught:
        parse("gaussian:sigm=1@1000")
    assert caret(caught.value).split("\n") == [
        "gaussian has no parameter sigm",
        "  gaussian:sigm=1@1000",
        "           ^^^^",
        "hint: did you mean sigma?",
    ]


def test_tabs_and_wide_characters_keep_the_caret_in_place() -> None:
    """A tab is shown as a space, a control character as `?`; wide characters have two columns."""
    error = SpecError("bad", text="a\tb\x1b漢字c", span=(6, 7))
    assert caret(error).split("\n") == ["bad", "  a b?漢字c", "          ^"]
    assert caret(SpecError("bad", text="e\u0301x", span=(2, 3))).endswith("\n   ^")


def test_a_long_text_is_shown_around_the_span() -> None:
    """The window is at most 76 columns, and the caret stands under the fault."""
    text = "gaussian:sigma=1+" * 100 + "gaussian:sigma=-1" + "+gaussian:sigma=1" * 100
    with pytest.raises(SpecError) as caught:
        parse(text)
    _, shown, marks = caret(caught.value).split("\n")[:3]
    assert len(shown) <= 78
    assert shown.startswith("  ...")
    assert shown.endswith("...")
    assert shown[marks.index("^") : marks.rindex("^") + 1] == "-1"


def test_a_long_span_begins_in_the_window() -> None:
    """A fault longer than the window is marked from its first character on."""
    with pytest.raises(SpecError) as caught:
        parse("gaussian:sigma=1@" + "9" * 500)
    _, shown, marks = caret(caught.value).split("\n")[:3]
    assert shown[marks.index("^")] == "9"
    assert len(marks) <= 78


def test_the_end_of_a_text_is_marked_behind_it() -> None:
    """What is missing is marked where it should stand."""
    for count in (1, 50):
        text = "gaussian:sigma=1+" * count
        with pytest.raises(SpecError) as caught:
            parse(text)
        _, shown, marks = caret(caught.value).split("\n")[:3]
        assert len(marks) == len(shown) + 1


def test_an_error_without_a_text_has_no_caret() -> None:
    """An error about JSON is its message and hint."""
    assert caret(SpecError("bad", hint="good")) == "bad\nhint: good"
