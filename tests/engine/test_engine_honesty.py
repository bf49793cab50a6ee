"""Honesty: brackets of different tolerances nest, different contours overlap, lies are caught."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.realize import realize
from privcalc.engine.inversion import certificate, tail_lines
from privcalc.engine.inversion.decaying import DECAYING
from privcalc.engine.planner import certified_epsilon
from privcalc.errors import DisagreementError, NotCertifiedError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.random_specs import random_spec

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.engine.composition import Composition

TOLERANCES = (1e-6, 1e-8, 1e-11)
SPECS = 500
BATCH = 5
# The other batches are slow tests.
BY_DEFAULT = 1


def directions(text: str) -> list[Composition]:
    """Return the compositions of a specification under its default relation."""
    found = realize(parse(text).tree, Relation.ADD_OR_REMOVE_ONE)
    return [direction.upper for direction in found.values()]


def inside(inner: Bound, outer: Bound) -> bool:
    """Say whether one bracket lies in another."""
    if inner.lower is None or outer.lower is None:
        return inner.upper <= outer.upper and outer.lower is None
    return outer.lower <= inner.lower and inner.upper <= outer.upper


def overlap(a: Bound, b: Bound) -> bool:
    """Say whether two brackets share a point."""
    return max(a.lower or 0.0, b.lower or 0.0) <= min(a.upper, b.upper)


def faults(text: str, delta: float) -> list[str]:
    """Return what is wrong with the brackets of one specification, in words."""
    found = []
    for laws in directions(text):
        # Brackets of lists carry their rounding, and need not nest.
        if not laws.line:
            continue
        try:
            bounds = [
                certified_epsilon(laws, delta, tolerance, engine="contour").bound
                for tolerance in TOLERANCES
            ]
        except NotCertifiedError:
            continue
        except DisagreementError as error:
            found.append(f"{text} at {delta}: {error}")
            continue
        for i, outer in enumerate(bounds):
            for j, inner in enumerate(bounds[i + 1 :], i + 1):
                met = outer.within_tolerance(TOLERANCES[i], 1e-12)
                # What rounding limits need not become narrower with the tolerance.
                met &= inner.within_tolerance(TOLERANCES[j], 1e-12)
                # What costs nothing has more digits than the tolerance asks for.
                met &= inner.width <= outer.width
                if met and not inside(inner, outer):
                    found.append(f"{text} at {delta}: {inner} is not inside {outer}")
                if not overlap(inner, outer):
                    found.append(f"{text} at {delta}: {inner} and {outer} are disjoint")
        if bounds[1].upper > 0.0:
            try:
                other = DECAYING.epsilon(laws, delta, delta, 1e-8, shift=0.83, refine=1.37)
            except NotCertifiedError:
                continue
            if not overlap(other.bound, bounds[1]):
                found.append(f"{text} at {delta}: contours give {other.bound} and {bounds[1]}")
    return found


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(batch, marks=() if batch < BY_DEFAULT else pytest.mark.slow)
        for batch in range(SPECS // BATCH)
    ],
)
def test_brackets_nest_and_contours_overlap(batch: int) -> None:
    """Brackets at 1e-6, 1e-8 and 1e-11 are nested, and a second contour's bracket overlaps."""
    rng = random.Random(1000 + batch)
    wrong: list[str] = []
    for _ in range(BATCH):
        text, delta = random_spec(rng)
        wrong += faults(text, delta)
    assert wrong == []


@pytest.mark.slow
def test_zeroed_aliasing_bound_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the right aliasing bound set to 0 the same check finds disjoint or unnested brackets."""

    def no_aliasing(*_: float) -> float:
        return -1e300

    monkeypatch.setattr(certificate, "log_right", no_aliasing)
    monkeypatch.setattr(tail_lines, "log_payoff_supremum", no_aliasing)
    wrong = []
    for delta in (1e-8, 1e-12, 1e-30):
        for text in (
            "gaussian:sigma=1@poisson:q=0.01@1000",
            "gaussian:sigma=0.8@poisson:q=0.001@100000",
            "gaussian:sigma=0.6@poisson:q=0.02@5000",
        ):
            wrong += faults(text, delta)
    assert wrong
