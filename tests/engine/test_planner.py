"""The one place where it is decided which method answers: what is asked, and when it stops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.realize import realize
from privcalc.bounds import TOLERANCE, Bound, Proof
from privcalc.engine import planner
from privcalc.engine.certified import Certified
from privcalc.engine.methods import METHODS, Prediction, Question, WholeLine, look_at, saddle_of
from privcalc.engine.planner import COARSE, FINE, FREE, GAIN, SPARE, Plan, StoppingRule
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import allowance, charge
from privcalc.relation import Relation
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.methods import Near

GAUSSIANS = realize(parse("gaussian:sigma=1@3").tree, Relation.ADD_OR_REMOVE_ONE)
QUESTION = Question(next(iter(GAUSSIANS.values())).upper, 1e-6, 1e-6)


class Fake:
    """A method that predicts what it is told, and proves what it is told."""

    def __init__(
        self, name: str, likely: Prediction, width: float, *, costly: bool = False
    ) -> None:
        """Take a prediction at the target, and the width of the answer around 1."""
        self.name, self.costly, self.refinable = name, costly, False
        self._likely, self._width = likely, width
        self.asked: list[float] = []

    def applies(self, composition: Composition) -> bool:
        """Apply to all."""
        return bool(composition.terms)

    def knows_more(self, composition: Composition) -> bool:
        """Know no more than others."""
        return not composition.terms

    def predict(self, question: Question, tolerance: float) -> Prediction:
        """Predict; more digits take more work."""
        del question
        return Prediction(self._likely.width, self._likely.work * math.sqrt(1e-6 / tolerance))

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Prove; infinite widths are refused."""
        del question
        self.asked.append(tolerance)
        charge(self._likely.work)
        if math.isinf(self._width):
            raise NotCertifiedError("there is none")
        return Certified(Bound(1.0 + self._width, 1.0), Proof.LATTICE)

    def near(self, question: Question, tolerance: float, reach: float, moves: int) -> Near | None:
        """Serve no neighbours."""
        del question, tolerance, reach, moves
        return None


def asked(
    monkeypatch: pytest.MonkeyPatch, *methods: Fake, stop: StoppingRule | None = None
) -> tuple[list[str], Certified]:
    """Return the names of the methods that were asked, and the answer."""
    monkeypatch.setattr(planner, "METHODS", methods)
    found = Plan(QUESTION, TOLERANCE, stop or StoppingRule()).answer()
    return [each.name for each in methods if each.asked], found


def test_the_cheapest_that_meets_the_target_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the narrowest, and none after it."""
    slow = Fake("slow", Prediction(1e-9, 5e6), 1e-9)
    cheap = Fake("cheap", Prediction(1e-7, 1e6), 1e-7)
    names, found = asked(monkeypatch, slow, cheap)
    assert names == ["cheap"]
    assert found.bound.width == pytest.approx(1e-7)


def test_else_the_narrowest_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """And others only where they are likely to be several times narrower."""
    wide = Fake("wide", Prediction(1e-2, 1e6), 1e-2)
    narrow = Fake("narrow", Prediction(1e-4, 5e6), 1e-4)
    near = Fake("near", Prediction(0.9e-4 / GAIN * 2.0, 5e6), 1e-5)
    assert asked(monkeypatch, wide, narrow)[0] == ["narrow"]
    names, found = asked(monkeypatch, wide, near)
    assert names == ["near"]
    assert found.bound.width == pytest.approx(1e-5)


def test_what_misses_is_followed_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions are no proof: brackets are intersected until the target is met."""
    first = Fake("first", Prediction(1e-8, 1e6), 1e-3)
    failing = Fake("failing", Prediction(1e-8, 2e6), math.inf)
    last = Fake("last", Prediction(1e-8, 3e6), 1e-7)
    names, found = asked(monkeypatch, first, failing, last)
    assert names == ["first", "failing", "last"]
    assert found.bound.width == pytest.approx(1e-7)
    assert any("failing: there is none" in note for note in found.notes)


def test_free_digits_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes less than FREE for FINE is asked with that, and all else with the target."""
    free = Fake("free", Prediction(1e-11, FREE / 100.0), 1e-11)
    asked(monkeypatch, free)
    assert free.asked == [FINE]
    dear = Fake("dear", Prediction(1e-8, FREE / 2.0), 1e-8)
    asked(monkeypatch, dear)
    assert dear.asked == [TOLERANCE]


def test_what_missed_its_width_is_made_finer_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lattice whose width is not what was planned; others do not improve by that."""
    lattice = Fake("lattice", Prediction(1e-7, 10.0 * FREE), 3e-6)
    asked(monkeypatch, lattice)
    assert lattice.asked == [1e-6]
    lattice.refinable, lattice.asked = True, []
    asked(monkeypatch, lattice)
    assert lattice.asked == [1e-6, pytest.approx(1e-6 / (3.0 * SPARE))]
    # A coarse bracket that is as narrow as was asked misses nothing.
    coarse = Fake("coarse", Prediction(1e-7, 10.0 * FREE), 2e-5)
    coarse.refinable = True
    asked(monkeypatch, coarse, stop=StoppingRule(budget=1.0 + 1e-5))
    assert coarse.asked[:2] == [COARSE, 1e-6]


def test_a_budget_is_decided_coarsely(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that takes long is asked for a coarse bracket first, and then for all digits."""
    dear = Fake("dear", Prediction(1e-8, 10.0 * FREE), 1e-4)
    found = asked(monkeypatch, dear, stop=StoppingRule(budget=2.0))[1]
    assert dear.asked == [COARSE]
    assert "decides the budget" in found.notes[-1]
    free = Fake("free", Prediction(1e-11, FREE / 100.0), 1e-11)
    asked(monkeypatch, dear, free, stop=StoppingRule(budget=1.0 + 1e-12))
    assert free.asked == [FINE]


def test_what_does_not_fit_the_work_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless there is nothing else."""
    huge = Fake("huge", Prediction(1e-9, 1e7), 1e-9)
    small = Fake("small", Prediction(1e-3, 1e6), 1e-3)
    with allowance(5e6):
        assert asked(monkeypatch, huge, small)[0] == ["small"]
    with allowance(5e6), pytest.raises(NotCertifiedError, match="more work"):
        asked(monkeypatch, huge)


def test_every_method_has_its_place() -> None:
    """Names are those of engines, but for divergences; each applies to something."""
    engines = {proof.engine for proof in Proof} | {"divergences"}
    assert {each.name for each in METHODS} <= engines
    applying = [type(each).__name__ for each in METHODS if each.applies(QUESTION.composition)]
    assert "WholeLine" in applying
    assert "Single" not in applying


def test_gaussians_fall_as_gaussians_do() -> None:
    """Their line is likely to have all digits, and has."""
    assert look_at(saddle_of(QUESTION)) < math.inf
    likely = WholeLine().predict(QUESTION, TOLERANCE)
    assert likely.width <= FINE
    found = WholeLine().solve(QUESTION, FINE).bound
    assert found.width <= FINE * found.upper
