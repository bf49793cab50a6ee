"""The one place where it is decided which method answers: what is asked, and when it stops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from privcalc.bounds import TOLERANCE, Bound, Proof
from privcalc.engine import planner
from privcalc.engine.certified import Certified
from privcalc.engine.planner import COARSE, FINE, Method, Plan, Question, StoppingRule, methods_of
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import allowance, charge
from tests.engine.inversion.listed_cases import composition_of

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition


QUESTION = Question(composition_of("gaussian:sigma=1@3"), 1e-6, 1e-6)


class Fake(Method):
    """A method that proves what it is told, around 1, for so much work."""

    def __init__(self, name: str, *widths: float, work: float = 1.0) -> None:
        """Take the width of each answer; infinite ones are refused."""
        self.name, self._widths, self._work = name, list(widths), work
        self.asked: list[float] = []

    def tolerance(self, composition: Composition, width: float) -> float:
        """Ask for what is wanted."""
        del composition
        return width

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Prove."""
        del question
        self.asked.append(tolerance)
        charge(self._work)
        width = self._widths.pop(0)
        if math.isinf(width):
            raise NotCertifiedError("there is none")
        return Certified(Bound(1.0 + width, 1.0), Proof.LATTICE)


def asked(
    monkeypatch: pytest.MonkeyPatch, *methods: Fake, stop: StoppingRule | None = None
) -> tuple[list[str], Certified]:
    """Return the names of the methods that were asked, and the answer."""
    monkeypatch.setattr(planner, "methods_of", lambda *_: list(methods))
    plan = Plan(QUESTION, TOLERANCE, stop or StoppingRule())
    for method, tolerance in plan.steps():
        plan.ask(method, tolerance)
    return [each.name for each in methods if each.asked], plan.answer()


def test_none_is_asked_after_one_that_meets_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order is that of the methods."""
    first, second = Fake("first", 1e-7), Fake("second", 1e-9)
    names, found = asked(monkeypatch, first, second)
    assert names == ["first"]
    assert found.bound.width == pytest.approx(1e-7)


def test_what_misses_is_followed_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets are intersected until the target is met."""
    first, failing, last = Fake("first", 1e-3), Fake("failing", math.inf), Fake("last", 1e-7)
    names, found = asked(monkeypatch, first, failing, last, Fake("none"))
    assert names == ["first", "failing", "last"]
    assert found.bound.width == pytest.approx(1e-7)
    assert any("failing: there is none" in note for note in found.notes)


def test_a_budget_is_decided_coarsely(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coarse bracket is asked for first, and then all digits."""
    found = asked(monkeypatch, coarse := Fake("coarse", 1e-4), stop=StoppingRule(budget=2.0))[1]
    assert coarse.asked == [COARSE]
    assert "decides the budget" in found.notes[-1]
    both = Fake("both", 1e-4, 1e-9)
    asked(monkeypatch, both, stop=StoppingRule(budget=1.0 + 1e-8))
    assert both.asked == [COARSE, TOLERANCE]


def test_what_takes_too_much_leaves_something_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """One is refused half of the work at the latest, and the last has all that is left."""
    huge, small = Fake("huge", 1e-9, work=4e6), Fake("small", 1e-3, work=4e6)
    with allowance(5e6):
        assert asked(monkeypatch, huge, small)[1].bound.width == pytest.approx(1e-3)


def test_what_answers_follows_from_what_the_composition_is() -> None:
    """A line, a list, one use, a game; many laws are one array on a line."""

    def names(text: str, engine: str = "auto") -> list[str]:
        return [type(each).__name__ for each in methods_of(composition_of(text), engine)]

    assert names("gaussian:sigma=1@3") == ["Line", "List"]
    assert names("laplace:scale=1@3") == ["List"]
    assert names("laplace:scale=1") == ["Single", "List"]
    assert names("gaussian:sigma=1@poisson:q=0.1@3") == ["Split", "Line", "List"]
    assert names("gaussian:sigma=1@poisson:q=0.1@3+laplace:scale=2", "contour") == ["Split", "Line"]
    assert names("laplace:scale=1", "fft") == ["List"]
    many = "+".join(f"gaussian:sigma={1 + k / 10}@poisson:q=0.1@20" for k in range(8))
    assert names(many) == ["Line", "Split", "List"]


def test_free_digits_are_asked_for() -> None:
    """Lines give all digits for nothing, and lists what is wanted."""
    line, _ = methods_of(composition_of("gaussian:sigma=1@3"))
    assert line.tolerance(composition_of("gaussian:sigma=1@3"), TOLERANCE) == FINE
    mixed = composition_of("gaussian:sigma=1@3+laplace:scale=2@3")
    assert FINE < line.tolerance(mixed, TOLERANCE) <= TOLERANCE
    found = line.solve(QUESTION, FINE).bound
    assert found.width <= FINE * found.upper
