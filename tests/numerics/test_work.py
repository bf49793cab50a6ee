"""How much work a question may cost: counted, shared, and refused where it is far too much."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.compose import compose
from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.accounting.select import select
from privcalc.commands.select import read_runs
from privcalc.errors import NotCertifiedError
from privcalc.numerics import work
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def counted() -> Iterator[list[float]]:
    """Count what is charged inside, without a limit of its own."""
    spent: list[float] = []
    with work.allowance(math.inf):
        yield spent
        allowed = work._current.get()
        assert allowed is not None
        spent.append(allowed.spent)


def test_work_is_refused_after_half_as_much_again() -> None:
    """What is over the allowance is allowed for a while, then it is an error with words."""
    with work.allowance(100.0):
        work.charge(130.0)
        assert work.left() == 0.0
        with pytest.raises(NotCertifiedError, match="ask for fewer values"):
            work.charge(20.0)
    work.charge(1e20)


def test_work_below_nothing_is_noticed() -> None:
    """By every test, whichever line charges it (`tests/conftest.py`)."""
    with work.allowance(100.0), pytest.raises(AssertionError, match="below 0"):
        work.charge(-1.0)


def test_an_inner_allowance_is_no_larger_than_the_outer() -> None:
    """Neither what is left of it, nor what is refused."""
    with work.allowance(100.0), work.allowance(1e6):
        assert work.left() == 100.0
        with pytest.raises(NotCertifiedError):
            work.charge(1000.0)


def test_shares_are_equal_and_refuse_nothing() -> None:
    """A share that is used up leaves the others theirs; the whole is what refuses."""
    with work.allowance(100.0):
        with work.share(4):
            assert work.left() == 25.0
            work.charge(40.0)
            assert work.left() == 0.0
        assert work.left() == 60.0
        with work.share(3):
            assert work.left() == 20.0
            with pytest.raises(NotCertifiedError):
                work.charge(130.0)


def test_what_is_remembered_is_forgotten_with_the_question() -> None:
    """Parts of a question share it; another question pays for it again."""
    asked = []

    @work.remembered(2)
    def found(number: int) -> int:
        work.charge(10.0)
        asked.append(number)
        return number

    for _ in range(2):
        with counted() as spent:
            assert [found(n) for n in (1, 1, 2)] == [1, 1, 2]
            with work.allowance(100.0), work.share(2):
                found(1)
        assert spent == [20.0]
    assert asked == [1, 2, 1, 2]
    with work.allowance(100.0):
        # The one that was asked for longest ago is forgotten.
        assert [found(n) for n in (1, 2, 1, 3, 1, 2)] == [1, 2, 1, 3, 1, 2]
    assert asked[4:] == [1, 2, 3, 2]


ASKED_AGAIN = [
    "rdp:order=8,epsilon=0.2",
    *(
        pytest.param(text, marks=pytest.mark.slow)
        for text in (
            "noisy-max:noise=gumbel,scale=3,candidates=3@5",
            "(laplace:scale=3@2)@poisson:q=0.2@5",
            "gaussian:sigma=4@select:runs=poisson,mean=3",
        )
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("text", ASKED_AGAIN)
def test_a_question_that_is_asked_again_costs_as_much(text: str) -> None:
    """Nothing of an earlier question is left: else the same question had two answers."""
    tree, runs = parse(text).tree, read_runs("geometric:mean=3")

    def questions() -> list[object]:
        return [
            compose(tree, deltas=[1e-5]).answers,
            convert(tree, ConversionQuery(to="rdp", orders=(2.0, 5.0))).answers,
            select(tree, runs, deltas=[1e-5]).answers,
        ]

    with counted() as first:
        answers = questions()
    with counted() as second:
        assert questions() == answers
    assert first == second
    assert first[0] > 0.0


@pytest.mark.slow
def test_a_selection_out_of_work_names_all_its_methods() -> None:
    """Both directions have the same methods, whether they were cut short or not."""
    tree = parse("gaussian:sigma=1@poisson:q=0.01").tree
    with work.allowance(1e5):
        found = select(tree, read_runs("geometric:mean=10"), deltas=[1e-6]).answers[0]
    assert {"paper", "tight", "pointwise", "rdp"} <= set(found.methods)
    assert found.bound.upper == min(found.methods.values()) < math.inf
