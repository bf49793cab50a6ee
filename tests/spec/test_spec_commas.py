"""Commas: a list that people write is one, and what may be a decimal comma is never read as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import privcalc
from privcalc.commands.check import FORM
from privcalc.commands.questions import summed_by_braces
from privcalc.commands.values import read_count, read_number, split
from privcalc.errors import SpecError, UsageError
from privcalc.spec.hints import DECIMAL_POINT
from privcalc.spec.parse import parse
from privcalc.spec.syntax import decimal_comma

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

LISTS = [
    "1,2", "1,2,3", "1,50", "8,3", "0,1,2", "0,5,10", "0,1e-6,1e-5", "1e-5,1e-6", "0,0.1", "0, 5",
    "0,0.01,0.5,0.9,1", "1e-5,0", "0.5,0", "1%,5%", "10,20", "1/60000,1/50000", "0,1e308", "8,3,0",
    "0.0,5", "1.0,5e-5", "100,200", "1,10,100,1000", "1,0",
]  # fmt: skip


@pytest.mark.parametrize("text", LISTS)
def test_lists_are_lists(text: str) -> None:
    """What people write for several numbers is read as such."""
    assert decimal_comma(text) is None
    assert len(split("--x", [text])) == text.count(",") + 1


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("0,00001", 1),
        ("0,5", 1),
        ("0,1", 1),
        ("0,01,0,05", 1),
        ("1e-5,0,05", 6),
        ("0,5,1", 1),
        ("1,5e-5", 1),
        ("1,0e-5", 1),
        ("2,5%", 1),
        ("1,000", 1),
        ("1,000,000", 1),
        ("1/60,000", 4),
        ("0, 05", 1),
        ("0,0", 1),
    ],
)
def test_what_may_be_a_decimal_comma_is_refused(text: str, place: int) -> None:
    """At the comma; neither of the readings is proposed."""
    assert decimal_comma(text) == place
    with pytest.raises(UsageError, match=r"^--x: a comma stands between") as caught:
        split("--x", [text])
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


@pytest.mark.parametrize("text", ["1,5", "-0,5", "0,01", "60,000", "256/60,000", "1,2,3", "x,5"])
def test_one_number(text: str) -> None:
    """Where no list stands, a comma is refused."""
    with pytest.raises(UsageError, match="takes a number") as caught:
        read_number("--x", text)
    assert caught.value.hint == DECIMAL_POINT
    with pytest.raises(UsageError, match="takes a whole number") as caught:
        read_count("--x", text)
    assert caught.value.hint == DECIMAL_POINT


@pytest.mark.parametrize(
    "text",
    [
        "gaussian:sigma=1,5",
        "laplace:scale=0,5@10",
        "gaussian:sigma=1.1@poisson:q=0,01@100",
        "gaussian:sigma=1.1@poisson:q=256/60,000",
        "gaussian:sigma=1.1@wor:n=60,000,m=256",
        "max(gaussian:sigma=1,5,pure:epsilon=1)",
        "gaussian-mixture:sigma=2,sensitivities=0,1,2,probabilities=0,81,0,18,0,01",
    ],
)
def test_values_of_a_specification(text: str) -> None:
    """The same inside a specification, marked where it stands."""
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert caught.value.hint == DECIMAL_POINT
    assert "," in text[slice(*caught.value.span)]


def test_lists_of_a_specification_stay() -> None:
    """A list of 0 and 1 is common there."""
    parse("gaussian-mixture:sigma=2,sensitivities=0,1,2,probabilities=0.9,0.05,0.05")
    parse("gaussian-mixture:sigma=2,sensitivities=0,1,probabilities=0.9,0.1")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("epsilon = 0,5", f"({FORM})"),
        ('epsilon = "0,5"', f"({DECIMAL_POINT})"),
        ("epsilon = 1/2", f"({FORM})"),
        ("epsilon: 0.5", f"({FORM})"),
        ("epsilon = three", f"({FORM})"),
    ],
)
def test_budget_files(line: str, hint: str, tmp_path: Path, run: Callable[..., Outcome]) -> None:
    """The line of a budget that is no number is named with what to write."""
    file = tmp_path / "privacy.toml"
    rest = '[[mechanism]]\nname = "a"\nspec = "gaussian:sigma=9"\n'
    file.write_text(f"[budget]\ndelta = 1e-5\n{line}\n{rest}", encoding="utf-8")
    done = run("compose", "--file", str(file))
    assert (done.status, done.stdout) == (2, "")
    assert f"{file}, line 3: " in done.stderr
    assert done.stderr.endswith(f"{hint}\n")


def test_the_library_too() -> None:
    """A text is read as on the command line, and the error has what to write."""
    for number in ("0,5", "1,5e-1"):
        with pytest.raises(UsageError) as caught:
            privcalc.compose("gaussian:sigma=1", epsilon=number)
        assert caught.value.hint == DECIMAL_POINT
    assert privcalc.compose("gaussian:sigma=1", epsilon="0.5").delta.upper < 0.25


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        (("gaussian:sigma=2@100", "gaussian:sigma=2@200"), "gaussian:sigma=2@100 + gaussian:"),
        (("pure:epsilon=1", "laplace:scale=1e-1", "laplace:scale=2"), "pure:epsilon=1 + laplace:"),
        (tuple(f"gdp:mu={k}" for k in range(1, 9)), "+ gdp:mu=4 + 4 more"),
        (("gaussian:sigma=2@100", "gaussian:sigma=3@200"), ""),
        (("gaussian:sigma=2@100", "gaussian:sigma=2@100"), ""),
        (("gaussian:sigma=2", "laplace:scale=2"), ""),
        (("gaussian:sigma=2",), ""),
    ],
)
def test_words_that_a_shell_may_have_made(specs: tuple[str, ...], said: str) -> None:
    """Of two that differ in one number it is said what is summed, and of no others."""
    found = summed_by_braces(specs)
    assert said in found
    assert bool(found) == bool(said)


def test_the_sum_is_said_once(run: Callable[..., Outcome]) -> None:
    """On standard error, beside the answer, and not where nothing is to be printed."""
    asked = ("compose", "gaussian:sigma=2@10", "gaussian:sigma=2@20", "--delta", "1e-5")
    done = run(*asked)
    assert done.status == 0
    assert done.stderr == (
        "privcalc: note: answered is the sum, gaussian:sigma=2@10 + gaussian:sigma=2@20; for an"
        " answer to each, pipe a line for each into -\n"
    )
    assert run(*asked, "-q").stderr == ""
    assert run(*asked[:2], *asked[3:]).stderr == ""
