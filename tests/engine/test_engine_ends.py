"""Engines where little is asked, or nothing is known or left, against closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from privcalc.bounds import Bound, Proof
from privcalc.engine import accountants, planner
from privcalc.engine.accountants import LevyInversion
from privcalc.engine.certified import Certified, Deltas, bracket
from privcalc.engine.composition import Composition
from privcalc.engine.inversion.tail_lines import Frame, make_line
from privcalc.engine.inversion.tail_search import Parts
from privcalc.engine.lists.factor import sketch
from privcalc.engine.planner import Question
from privcalc.engine.terms import _last, _members, sampled_term
from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed
from privcalc.losses.atoms import AtomicLaw, two_point
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.law import Alone, Term
from privcalc.renyi.curve import LinearCurve
from tests.truths import normal_delta

if TYPE_CHECKING:
    from privcalc.engine.certified import Source
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array

GAUSSIAN = Composition.of([(GaussianLaw(1.0), 1)])
CURVE = Composition((), ((LinearCurve(0.5), 1),))
NOTHING = AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
LEAKY = two_point(Enclosed.of(0.5), Enclosed.of(0.25))


def test_inversions_at_the_ends_of_delta() -> None:
    """An infinite loss that is likelier than delta has no epsilon; one above H_1 has 0."""
    source = LevyInversion(GAUSSIAN)
    assert source.epsilon(float(normal_delta(1.0, 0.0)) + 1e-6) == 0.0
    assert source.delta(source.epsilon(1e-3)) == pytest.approx(1e-3, rel=1e-6)
    assert normal_delta(1.0, source.epsilon(1e-3)) == pytest.approx(1e-3, rel=1e-6)
    leaky = LevyInversion(Composition.of([(LEAKY, 1), (GaussianLaw(1.0), 1)]))
    assert leaky.epsilon(0.2) == math.inf


def test_laws_without_finite_losses() -> None:
    """Certain disclosure has no sketch, and its mass at infinity is all that there is."""
    certain = AtomicLaw((), (), 1.0, 1.0)
    with pytest.raises(NotCertifiedError):
        sketch(certain, -50.0, 1)
    for laws in ([(certain, 1)], [(certain, 3), (LEAKY, 2)]):
        mass = Composition.of(laws).infinity_mass()
        assert mass.upper == 1.0
        assert mass.lower is not None
        assert 1.0 - 1e-9 <= mass.lower <= 1.0


@pytest.mark.dear("other1]")
@pytest.mark.parametrize("other", [NOTHING, GaussianLaw(1.0)])
def test_an_epsilon_beyond_the_largest_double(other: LossLaw) -> None:
    """Only what is lost for certain is left, in either order, where no loss is as large."""
    composition = Composition.of([(LEAKY, 1), (other, 1)])
    epsilon = Enclosed(Fraction(10) ** 308, Fraction(10) ** 309)
    found = planner.certified_delta(composition, epsilon)
    assert found.bound.lower is not None
    assert 0.25 * (1.0 - 1e-12) <= found.bound.lower <= 0.25
    assert 0.25 <= found.bound.upper <= 0.25 * (1.0 + 1e-12)


@pytest.mark.parametrize(
    ("laws", "expected"),
    [
        (Bound(0.5, 0.125), Bound(0.25, 0.125)),
        (Bound(0.5), Bound(0.25)),
        (Bound(0.5, 0.375), Bound(0.25, 0.25)),
        (Bound(0.125, 0.0), Bound(0.125, 0.0)),
    ],
)
def test_a_smaller_upper_end_keeps_the_lower_one(
    monkeypatch: pytest.MonkeyPatch, laws: Bound, expected: Bound
) -> None:
    """The end by orders is taken with the lower end of the laws, if there is one."""
    orders = Certified(Bound(0.25), Proof.RENYI)
    monkeypatch.setattr(Question, "renyi", lambda _: orders)
    monkeypatch.setattr(accountants, "rough", lambda *_: 0.0)
    monkeypatch.setattr(Composition, "rdp_tighter_than_pld", property(lambda _: True))
    found = planner.sharpened(Question(GAUSSIAN, epsilon=1.0), Certified(laws, Proof.INVERSION))
    assert found.bound == expected


def test_orders_of_what_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the curve says nothing a cut law does; a curve alone has none."""

    def nothing(*_: Any, **__: Any) -> Any:
        raise NotCertifiedError("nothing is known")

    monkeypatch.setattr(accountants, "curve_log_delta", nothing)
    for epsilon in (0.5, 2.0):
        found = accountants.renyi_delta(GAUSSIAN, epsilon).bound
        assert normal_delta(1.0, epsilon) <= found.upper <= 1.0
        assert found.lower is None
    with pytest.raises(NotCertifiedError, match="nothing is known"):
        accountants.renyi_delta(CURVE, 0.5)


def test_a_source_that_proves_nothing_is_refused() -> None:
    """The term that is too large is named, and none where there are no terms."""

    class Blind:
        proof, pad = Proof.INVERSION, 0.0

        def __init__(self, terms: dict[str, Array]) -> None:
            self._terms = terms

        def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
            del log_scale
            one = np.ones(len(epsilons))
            return Deltas(0.0 * one, np.full(len(epsilons), np.nan), one, one, self._terms)

    for terms, words in (
        ({}, "cannot be brought below delta"),
        ({"rounding": np.array([3.0]), "aliasing": np.array([1.0])}, r"rounding error .* \(3 of"),
    ):
        with pytest.raises(NotCertifiedError, match=words):
            bracket(cast("Source", Blind(terms)), 1.0, 1e-9)


def test_terms_without_lower_ends() -> None:
    """Lower ends are asked of terms that have them; a law is its own and only choice."""
    upper = Term(GaussianLaw(1.0))
    assert _members(Term.of(NOTHING)) == Alone(NOTHING)
    with pytest.raises(AssertionError, match="there is no lower end"):
        _members(upper)
    with pytest.raises(AssertionError, match="there is no lower end"):
        _last([(upper, 1)])


def test_lines_where_moments_overflow() -> None:
    """E e^(c L) of Gaussian noise is e^(c (c + 1) mu^2 / 2): no double at c = 1e200."""
    frame = Frame(
        Parts((), tuple((law, law, count) for law, count in GAUSSIAN.lines)), (), 1.0, -10.0, 1e-9
    )
    with pytest.raises(NotCertifiedError, match="aliasing error"):
        make_line(frame, 1e200, 0.0, right=True)
    assert Parts.of(CURVE) is None


def test_groups_of_samples_that_are_too_large() -> None:
    """Of 65 records the mixture has too many parts to be added up."""
    found = sampled_term([NOTHING], 65, (0.5, True), remove=True, attained=True)
    assert found is None
