"""Lower ends are those of mechanisms that exist, and numbers are asked where they were written."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from mpmath import exp, mpf

from privcalc.accounting import lower_ends
from privcalc.accounting.convert import delta_of
from privcalc.accounting.directions import divergences
from privcalc.accounting.lower_ends import lower_end, lower_profile
from privcalc.bounds import Bound
from privcalc.engine.composition import Composition
from privcalc.engine.terms import Realized
from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.law import Members
from privcalc.record import record
from tests.pairs import two_point
from tests.truths import hockey_stick, normal_delta

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array

DELTA = 1e-3


@record
class Weak(Members):
    """One mechanism that costs less than the law above it, as if there were others."""

    law: LossLaw

    def member(self, c: float | None) -> LossLaw:
        """Return it."""
        del c
        return self.law


def responses_delta(epsilon: float, uses: int, at: float) -> mpf:
    """Add up the outcomes of randomized responses."""
    p = 1 / (1 + exp(-mpf(epsilon)))
    ways = [
        (math.comb(uses, k) * p**k * (1 - p) ** (uses - k), k, math.comb(uses, k))
        for k in range(uses + 1)
    ]
    return hockey_stick(((q, n * p ** (uses - k) * (1 - p) ** k) for q, k, n in ways), exp(mpf(at)))


def apart() -> dict[str, tuple[Realized, Any]]:
    """Return directions whose ends are far apart, with the profile of what is below."""
    above, below = GaussianLaw(2.0), GaussianLaw(1.0)
    strong, weak = two_point(0.5), two_point(0.125)
    return {
        "two laws": (
            Realized(Composition(((above, 1),)), Composition(((below, 1),))),
            lambda epsilon: normal_delta(1.0, epsilon),
        ),
        "listed members": (
            Realized(Composition(((strong, 3),)), Composition(((weak, 3),)), ((Weak(weak), 3),)),
            lambda epsilon: responses_delta(0.125, 3, epsilon),
        ),
        "members with noise": (
            Realized(Composition(((above, 2),)), Composition(((below, 2),)), ((Weak(below), 2),)),
            lambda epsilon: normal_delta(math.sqrt(2.0), epsilon),
        ),
    }


@pytest.mark.dear("listed members]")
@pytest.mark.parametrize("name", apart())
def test_lower_ends_are_those_of_what_is_below(name: str) -> None:
    """No lower end is above the cost of the mechanism that proves it, whatever is above that."""
    part, truth = apart()[name]
    for epsilon in (0.0, 0.1, 0.3):
        at = Enclosed.of(epsilon)
        found = lower_end(part, "delta", at, tolerance=1e-6, engine="auto")
        assert found is not None
        assert found.lower is not None
        assert 0.999 * truth(epsilon) <= found.lower <= truth(epsilon)
    for epsilon, lower in zip(
        (0.1, 0.3), lower_profile(part, (0.1, 0.3), 1e-6, "auto"), strict=True
    ):
        assert lower is not None
        assert 0.999 * truth(epsilon) <= lower <= truth(epsilon)
    found = lower_end(part, "epsilon", Enclosed.of(DELTA), tolerance=1e-6, engine="auto")
    assert found is not None
    assert found.lower is not None
    assert truth(found.lower) >= DELTA
    assert truth(found.lower * 1.001) <= DELTA


def test_a_lower_end_that_is_not_proved_is_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of what no engine answers."""

    def fails(*_: object, **__: object) -> None:
        raise NotCertifiedError("it takes too much work")

    monkeypatch.setattr(lower_ends, "certified_delta", fails)
    part, _ = apart()["members with noise"]
    found = lower_end(part, "delta", Enclosed.of(0.1), tolerance=1e-6, engine="auto")
    assert found == Bound(math.inf, 0.0)


@pytest.mark.parametrize(("first", "ends"), [(2.1, (0.0, 1.0)), (math.nextafter(2.1, 0), (1, 1))])
def test_divergences_at_an_order_between_two_doubles(
    first: float, ends: tuple[float, float]
) -> None:
    """One that jumps between the order that was written and the double next to it shows there.

    The double 2.1 is above the decimal. A divergence that is 1 from this double on may be 0 at the
    decimal, or 1; what is 1 from the double before on is 1 there.
    """

    def cumulant(c: Array) -> Array:
        return c * (c + 1.0 >= first)

    def stated(c: Array, _: object) -> Array:
        return cumulant(c)

    above = SimpleNamespace(
        infinite_divergence=lambda: False, renyi_curve=lambda: SimpleNamespace(stated=stated)
    )
    part = SimpleNamespace(upper=above, lower=None, renyi_lower=cumulant)
    part.for_divergences = part
    (bound,) = divergences(cast("Realized", part), [2.1])
    assert bound.lower == pytest.approx(ends[0], abs=1e-12)
    assert bound.upper == pytest.approx(ends[1], abs=1e-12)


def test_a_profile_of_two_laws_has_the_ends_of_both() -> None:
    """Each end is that of its own law, when it is asked again, too."""
    part, below = apart()["two laws"]
    solved = delta_of(part, 1e-9, "auto")
    for _ in range(2):
        for epsilon in (0.0, 0.5):
            bound = solved(epsilon)
            assert bound.lower is not None
            assert bound.lower <= below(epsilon) <= bound.lower * (1.0 + 1e-6)
            truth = normal_delta(2.0, epsilon)
            assert truth <= bound.upper <= truth * (1.0 + 1e-6)
    alone = delta_of(Realized(part.upper, None), 1e-9, "auto")
    assert [alone(epsilon).lower for epsilon in (0.0, 0.5)] == [None, None]
