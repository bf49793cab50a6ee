"""Random specifications with random holes: `compose` has the last word at both values."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.calibrate import CalibrationTarget, calibrate
from privcalc.accounting.compose import compose
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import QUESTION, allowance, left
from privcalc.spec.parse import parse
from privcalc.spec.text import to_text
from tests.random_specs import log_uniform

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.spec.tree import Node

# Specifications with a place for the hole, the range of values that are put there, and whether they
# are whole; $-names are other random values.
HOLES = (
    ("gaussian:sigma={}@$count", 0.5, 300.0, False),
    ("gaussian:noise_multiplier={}@poisson:q=$q@$steps", 0.6, 20.0, False),
    ("gaussian:sigma=$sigma,sensitivity={}@$count", 0.01, 3.0, False),
    ("gaussian:sigma=$sigma@poisson:q={}@$steps", 1e-5, 0.2, False),
    ("gaussian:sigma=$sigma@poisson:q=$q@{}", 30.0, 1e5, True),
    ("laplace:scale={}@poisson:q=$q@$steps", 1.0, 50.0, False),
    ("laplace:scale={}", 0.1, 50.0, False),
    ("pure:epsilon={}@$few", 0.01, 1.0, False),
    ("rr:epsilon={},categories=3@$few", 0.01, 1.0, False),
    ("approx:epsilon=0.1,delta={}@$few", 1e-12, 1e-8, False),
    ("gdp:mu={}@$few", 0.01, 1.0, False),
    ("exponential:epsilon={}@$few", 0.01, 1.0, False),
    ("discrete-gaussian:sigma={}@$few", 4.0, 100.0, False),
    ("discrete-laplace:scale={}@$few", 1.0, 50.0, False),
    ("staircase:epsilon={}@$few", 0.01, 1.0, False),
    ("gaussian:sigma=20@$few@group:k={}", 1.0, 9.0, True),
    ("gaussian:sigma=$sigma@wor:n=2000,m={}", 2.0, 1500.0, True),
    ("gaussian:sigma=$sigma@wor:n={},m=20", 25.0, 5e4, True),
    ("gaussian:sigma={}@poisson:q=$q@$steps+laplace:scale=50@$few", 0.6, 20.0, False),
    ("gaussian:sigma=9@{}+laplace:scale=200@$few", 2.0, 2000.0, True),
)


def random_question(rng: random.Random, index: int) -> tuple[str, float, float]:
    """Return a specification with a hole, and a target that some value meets."""
    text, low, high, whole = HOLES[index % len(HOLES)]
    for name, value in {
        "$count": round(log_uniform(rng, 1.0, 1e5)),
        "$steps": round(log_uniform(rng, 100.0, 1e5)),
        "$few": round(log_uniform(rng, 1.0, 60.0)),
        "$sigma": log_uniform(rng, 0.7, 10.0),
        "$q": log_uniform(rng, 1e-4, 0.2),
    }.items():
        text = text.replace(name, repr(value))
    delta = log_uniform(rng, 1e-9, 1e-3)
    value = log_uniform(rng, low, high)
    known = parse(text.format(round(value) if whole else repr(value))).tree
    budget = asked(known, delta).upper
    return text.format("_"), float(f"{1.001 * budget:.6g}"), delta


def asked(tree: Node, delta: float) -> Bound:
    """Return what `compose` says by default."""
    bound = compose(tree, deltas=[delta]).answers[0].bound
    assert bound is not None
    return bound


def check(number: int) -> None:
    """Calibrate one random question, and check the result as a reader would."""
    rng = random.Random(number)
    try:
        text, budget, delta = random_question(rng, number)
    except NotCertifiedError:
        return
    if not 1e-6 < budget < 1e6:
        return
    label = f"{text} epsilon {budget} delta {delta}"
    target = CalibrationTarget("epsilon", budget, delta)
    with allowance(QUESTION):
        found = calibrate(parse(text).tree, target)
        finished = left() > 0.0
    again = asked(parse(to_text(found.tree)).tree, delta)
    # The search ends with a bracket that decides, and `compose` without a budget may have another.
    assert found.bound.intersection(again), label
    assert found.bound.upper <= budget, label
    assert again.upper <= budget, label
    assert found.insufficient_tree is not None, label
    assert found.insufficient is not None
    beyond = asked(parse(to_text(found.insufficient_tree)).tree, delta)
    assert beyond.lower is not None
    assert beyond.lower > budget, label
    if isinstance(found.sufficient, int):
        gap = abs(found.insufficient - found.sufficient) <= 1
    else:
        gap = abs(found.insufficient - found.sufficient) <= 1e-8 * found.sufficient
    assert found.method.tolerance_met == gap, label
    # A search that has used up its work ends where it stands.
    if finished and not gap and again.within_tolerance(1e-9, 0.0):
        # Narrow brackets leave a gap only where the cost hardly depends on the value.
        assert (beyond.upper - (again.lower or 0.0)) <= 1e-8 * budget, label
    # A jump of the cost takes bisection over ten digits, all else a few steps.
    assert found.asked <= (100 if "approx" in text else 30), label


@pytest.mark.parametrize(
    "number", [*range(11), pytest.param(11, marks=pytest.mark.slow), *range(12, 16), 18, 19]
)
def test_random_holes(number: int) -> None:
    """One of each kind of hole."""
    check(number)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20, 120))
def test_many_random_holes(number: int) -> None:
    """Five more of each kind."""
    check(number)
