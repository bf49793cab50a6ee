"""Which way the cost goes with each parameter; filled trees, grids, starts; random holes."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privcalc.accounting.calibrate import CalibrationTarget, calibrate
from privcalc.accounting.compose import compose
from privcalc.bounds import TOLERANCE
from privcalc.calibration.holes import Decimals
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import QUESTION, allowance, left
from privcalc.spec import registry
from privcalc.spec.parse import parse
from privcalc.spec.registry import to_text
from privcalc.spec.tree import (
    HOLE,
    Leaf,
    Wrapped,
    filled,
    holes,
    owner,
    value_at,
    without,
)
from tests.random_specs import log_uniform

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.spec.tree import Node

# How far apart the ends of two answers to one question may be, relative to them.
WIDTH = 1e-6
# A specification for each parameter that declares a direction, and values in increasing order.
LADDERS = {
    ("gaussian", "standard_deviation"): ("gaussian:sigma={}@2", (0.3, 0.9, 1.0, 4.0, 50.0)),
    ("gaussian", "sensitivity"): ("gaussian:sigma=2,sensitivity={}", (0.1, 1.0, 1.1, 9.0)),
    ("gaussian_mixture", "standard_deviation"): (
        "gaussian-mixture:sigma={},sensitivities=0,1,3,probabilities=0.6,0.3,0.1",
        (0.3, 1.0, 1.1, 50.0),
    ),
    ("gaussian", "noise_multiplier"): (
        "gaussian:noise_multiplier={}@poisson:q=0.1",
        (0.5, 1.0, 1.1, 9.0),
    ),
    ("matrix_gaussian", "standard_deviation"): (
        "matrix-gaussian:sigma={},strategy=banded,steps=50,bands=10@poisson:q=0.1",
        (0.9, 1.0, 1.1, 9.0),
    ),
    ("matrix_gaussian", "sensitivity"): (
        "matrix-gaussian:sigma=9,strategy=tree,steps=9,sensitivity={}",
        (0.1, 1.0, 1.1, 9.0),
    ),
    ("matrix_gaussian", "steps"): (
        "matrix-gaussian:sigma=9,strategy=banded,steps={},participations=3,separation=7",
        (1, 2, 7, 8, 30, 1000),
    ),
    ("matrix_gaussian", "participations"): (
        "matrix-gaussian:sigma=9,strategy=tree,steps=64,participations={},separation=8",
        (1, 2, 3, 8),
    ),
    ("laplace", "scale"): ("laplace:scale={}@poisson:q=0.3", (0.3, 0.9, 1.0, 4.0, 50.0)),
    ("laplace", "sensitivity"): ("laplace:scale=2,sensitivity={}", (0.1, 1.0, 1.1, 9.0)),
    ("laplace", "noise_multiplier"): ("laplace:noise_multiplier={}", (0.5, 1.0, 1.1, 9.0)),
    ("truncated_laplace", "bound"): ("truncated-laplace:scale=2,bound={}", (1.5, 4, 4.1, 20)),
    ("truncated_laplace", "sensitivity"): (
        "truncated-laplace:scale=2,bound=9,sensitivity={}",
        (0.1, 1.0, 1.1, 8.9),
    ),
    ("thresholded_counts", "threshold"): (
        "thresholded-counts:scale=2,threshold={}",
        (1, 5, 9, 9.5, 20, 30),
    ),
    ("thresholded_counts", "keys"): (
        "thresholded-counts:noise=gaussian,sigma=4,threshold=25,keys={}",
        (1, 2, 3, 10),
    ),
    ("gnmax", "standard_deviation"): ("gnmax:sigma={}@poisson:q=0.1", (1.5, 2, 2.1, 30)),
    ("gnss", "standard_deviation"): ("gnss:sigma={},delta=1e-5", (2, 3, 3.1)),
    ("gnss", "beta"): ("gnss:sigma=5,beta={}", (0.001, 0.01, 0.011)),
    ("noisy_screening", "standard_deviation"): (
        "noisy-screening:sigma={},threshold=4.5,votes=9",
        (3, 3.1, 5, 20),
    ),
    ("noisy_screening", "votes"): (
        "noisy-screening:sigma=3,threshold=4.5,votes={}",
        (1, 3, 4, 9, 30),
    ),
    ("above_threshold", "threshold_noise"): (
        "svt:threshold_noise={},query_noise=8,cutoff=2",
        (0.5, 1, 1.1, 9),
    ),
    ("above_threshold", "query_noise"): (
        "svt:noise=gaussian,threshold_noise=4,query_noise={},length=20",
        (1, 2, 2.1, 30),
    ),
    ("above_threshold", "threshold"): (
        "svt:noise=gaussian,threshold_noise=4,query_noise=12,threshold={}",
        (-10, 0, 5, 40),
    ),
    ("above_threshold", "cutoff"): ("svt:threshold_noise=4,query_noise=8,cutoff={}", (1, 2, 5)),
    ("above_threshold", "length"): (
        "svt:noise=gaussian,threshold_noise=4,query_noise=8,length={}",
        (1, 2, 30, 10**6),
    ),
    ("above_threshold", "sensitivity"): (
        "svt:threshold_noise=4,query_noise=8,sensitivity={}",
        (0.1, 1, 1.1, 9),
    ),
    ("posterior_regression", "precision"): ("ops:gamma={},lambda=90,n=99", (0.1, 1, 1.1, 9)),
    ("posterior_regression", "regularization"): ("ops:gamma=1,lambda={},n=99", (9, 90, 91, 999)),
    ("posterior_regression", "records"): ("ops:gamma=1,lambda=90,n={}", (1, 2, 99, 10**6)),
    ("posterior_regression", "row_norm"): (
        "ops:gamma=1,lambda=90,n=99,row_norm={}",
        (0.1, 1, 1.1, 3),
    ),
    ("posterior_regression", "response"): (
        "ops:gamma=1,lambda=90,n=99,response={}",
        (0.1, 1, 1.1, 9),
    ),
    ("ptr", "false_positive"): (
        "ptr:test=(gaussian:sigma=8),mechanism=(gaussian:sigma=4),false_positive={},mode=max",
        (0, 1e-9, 1.1e-9, 0.1),
    ),
    ("ptr", "threshold"): (
        "ptr:test=(gaussian:sigma=8),mechanism=(gaussian:sigma=4),threshold={},mode=bit",
        (0, 20, 21, 90),
    ),
    ("stability", "threshold"): ("stability:scale=2,threshold={}", (0, 20, 21, 90)),
    ("discrete_gaussian", "sensitivity"): (
        "discrete-gaussian:sigma=3,sensitivity={}",
        (1, 2, 3, 10),
    ),
    ("discrete_gaussian", "variance"): ("discrete-gaussian:variance={}", (0.5, 2, 2.1, 100)),
    ("discrete_gaussian", "rho"): ("discrete-gaussian:rho={},sensitivity=3", (0.01, 0.5, 0.51, 4)),
    ("discrete_laplace", "scale"): ("discrete-laplace:scale={},sensitivity=3", (0.3, 0.9, 2, 9)),
    ("discrete_laplace", "epsilon"): ("discrete-laplace:epsilon={},sensitivity=3", (0.3, 0.9, 2)),
    ("discrete_laplace", "sensitivity"): ("discrete-laplace:scale=3,sensitivity={}", (1, 2, 3, 9)),
    ("staircase", "epsilon"): ("staircase:epsilon={},gamma=0.7", (0.1, 0.5, 1, 1.1, 4)),
    ("randomized_response", "epsilon"): ("rr:epsilon={},categories=4", (0.0, 0.5, 1, 1.1, 4)),
    ("randomized_response", "categories"): ("rr:epsilon=2,categories={}", (2, 3, 7, 100)),
    ("exponential", "epsilon"): ("exponential:epsilon={}", (0.1, 0.5, 1, 1.1, 4)),
    ("pure", "epsilon"): ("pure:epsilon={}", (0.0, 0.5, 1, 1.1, 4)),
    ("approx", "epsilon"): ("approx:epsilon={},delta=0.01", (0.0, 0.5, 1, 1.1, 4)),
    ("approx", "delta"): ("approx:epsilon=1,delta={}", (0.0, 1e-6, 0.1, 0.9)),
    ("gdp", "mu"): ("gdp:mu={}@3", (0.1, 0.5, 1, 1.1, 4)),
    ("zcdp", "rho"): ("zcdp:rho={}", (0.01, 0.1, 0.11)),
    ("zcdp", "xi"): ("zcdp:rho=0.1,xi={}", (0.0, 0.1, 0.11)),
    ("rdp", "order"): ("rdp:order={},epsilon=0.3", (1.5, 2, 8, 64)),
    ("rdp", "epsilon"): ("rdp:order=8,epsilon={}", (0.01, 0.1, 0.11, 2)),
    ("noisy_max", "standard_deviation"): ("noisy-max:sigma={},candidates=4", (1, 1.1, 4, 20)),
    ("noisy_max", "scale"): ("noisy-max:noise=gumbel,scale={},candidates=4", (1, 1.1, 4, 20)),
    ("noisy_max", "candidates"): ("noisy-max:sigma=3,candidates={}", (1, 2, 5, 1000)),
    ("noisy_max", "sensitivity"): (
        "noisy-max:noise=exponential,scale=3,candidates=4,sensitivity={}",
        (0.5, 1, 1.1, 5),
    ),
    ("poisson_sampled", "sampling_probability"): (
        "gaussian:sigma=1@poisson:q={}",
        (1e-3, 0.1, 0.11, 0.9, 1.0),
    ),
    ("sampled_without_replacement", "sampling_probability"): (
        "gaussian:sigma=1@wor:q={}",
        (1e-3, 0.1, 0.11, 0.9, 1.0),
    ),
    ("sampled_without_replacement", "source_dataset_size"): (
        "gaussian:sigma=1@wor:n={},m=5",
        (5, 6, 50, 10**9),
    ),
    ("sampled_without_replacement", "sample_size"): ("gaussian:sigma=1@wor:n=9,m={}", (0, 1, 8, 9)),
    ("shuffled_reports", "users"): ("rr:epsilon=1@shuffle:n={}", (1, 2, 30, 2000)),
    ("randomly_allocated", "steps"): ("gaussian:sigma=1@allocation:t={}", (1, 30, 2000)),
    ("group", "records"): ("laplace:scale=9@group:k={}", (1, 2, 3, 40)),
}
# Declared too, and checked where private selection is.
ELSEWHERE = {
    ("repeat_and_select", "mean"),
    ("repeat_and_select", "gamma"),
    ("repeat_and_select", "probability"),
    ("discrete_gaussian", "standard_deviation"),
}
# Numbers that the cost does not follow, or is not known to.
NOT_MONOTONE = {
    ("truncated_laplace", "scale"),
    ("thresholded_counts", "standard_deviation"),
    ("thresholded_counts", "scale"),
    ("noisy_screening", "threshold"),
    ("gnss", "epsilon"),
    ("gnss", "delta"),
    ("stability", "scale"),
    ("stability", "standard_deviation"),
    ("partition_selection", "epsilon"),
    ("partition_selection", "delta"),
    ("randomized_response", "probability"),
    ("staircase", "gamma"),
    ("staircase", "sensitivity"),
    ("matrix_gaussian", "bands"),
    ("matrix_gaussian", "separation"),
    ("gaussian_pair", "mean"),
    ("gaussian_pair", "deviation"),
    ("gaussian_pair", "other_mean"),
    ("gaussian_pair", "other_deviation"),
    ("bernoulli_pair", "p"),
    ("bernoulli_pair", "other_p"),
    ("repeat_and_select", "shape"),
    ("repeat_and_select", "trials"),
    ("randomly_allocated", "participations"),
    ("shuffled_batches", "steps"),
    ("shuffled_batches", "batch_size"),
    ("shuffled_batches", "source_dataset_size"),
    ("poisson_sampled", "truncated_batch_size"),
    ("poisson_sampled", "source_dataset_size"),
}


def profile(text: str) -> list[Bound]:
    """Return delta at a few epsilons."""
    answers = compose(parse(text).tree, epsilons=[0.0, 0.7, 2.0, 5.0]).answers
    return [answer.bound for answer in answers if answer.bound is not None]


def test_every_number_is_decided_on() -> None:
    """A new parameter declares its direction, or is on the list of those that have none."""
    declared: set[tuple[str, str]] = set()
    silent: set[tuple[str, str]] = set()
    for each in (*registry.mechanisms(), *registry.wrappers()):
        for parameter in each.parameters:
            if parameter.kind in ("number", "integer"):
                (declared if parameter.cost else silent).add((each.name, parameter.name))
    assert declared == set(LADDERS) | ELSEWHERE
    assert silent == NOT_MONOTONE


@pytest.mark.few(5)
@pytest.mark.parametrize(("place", "ladder"), LADDERS.items(), ids=[".".join(k) for k in LADDERS])
def test_directions(place: tuple[str, str], ladder: tuple[str, tuple[float | int, ...]]) -> None:
    """From one value to the next no bracket of delta moves the wrong way, and some move."""
    name, parameter = place
    text, values = ladder
    found = registry.entry(name).parameter(parameter)
    assert found is not None
    rising = values if found.cost == "increases" else values[::-1]
    profiles = [profile(text.format(value)) for value in rising]
    for cheap, dear in pairwise(profiles):
        for low, high in zip(cheap, dear, strict=True):
            assert (low.lower or 0.0) <= high.upper
            if low.lower is None:
                # Of bounds, the bound itself is monotone, to rounding.
                assert low.upper <= high.upper * (1.0 + 1e-9)
        assert any(low.upper < high.upper for low, high in zip(cheap, dear, strict=True))


def test_discrete_gaussian_noise_is_not_quite_monotone() -> None:
    """Between two losses of the lattice a little more noise costs more, which its note says."""
    parameter = registry.entry("discrete_gaussian").parameter("standard_deviation")
    assert parameter is not None
    assert "not quite monotone" in parameter.cost_note
    less, more = (
        compose(parse(f"discrete-gaussian:sigma={sigma}").tree, epsilons=[1.50015]).answers[0].bound
        for sigma in (1.0, 1.0001)
    )
    assert less is not None
    assert more is not None
    assert less.upper < (more.lower or 0.0)


class TestFilled:
    """Putting values into trees."""

    TEXT = "(gaussian:sigma=2@poisson:q=0.1@10+laplace:scale=_)@_+pure:epsilon=0.1"

    def test_is_what_parsing_gives(self) -> None:
        """A filled tree is the tree of the text with numbers in place of holes."""
        tree = parse(self.TEXT).tree
        scale, count = holes(tree)
        expected = parse(self.TEXT.replace("scale=_", "scale=3.5").replace("@_", "@7")).tree
        assert filled(tree, {scale: 3.5, count: 7}) == expected

    def test_inside_a_parameter(self) -> None:
        """A hole of a specification that is itself a parameter is found and filled."""
        inner = Leaf("gaussian", (("standard_deviation", HOLE),))
        tree = Wrapped("group", (("records", 2),), Leaf("ptr", (("size", 1), ("test", inner))))
        (path,) = holes(tree)
        result = filled(tree, {path: 2.0})
        assert value_at(result, path) == 2.0
        assert owner(result, path) == Leaf("gaussian", (("standard_deviation", 2.0),))
        assert without(tree, path) is None


class TestGrid:
    """Decimals of ten digits, numbered."""

    @given(st.floats(1e-200, 1e200))
    def test_encloses_a_number(self, value: float) -> None:
        """The decimals below and above are neighbours, or the same."""
        grid = Decimals()
        below, above = grid.below(value), grid.above(value)
        assert grid.value(below) <= value <= grid.value(above)
        assert above - below in (0, 1)

    @given(st.integers(-(10**12), 10**12))
    def test_numbers_read_back(self, index: int) -> None:
        """A decimal has one number, and few digits."""
        grid = Decimals()
        value = grid.value(index)
        assert grid.below(value) == grid.above(value) == index
        assert value < grid.value(index + 1) <= value * (1.0 + 1.1e-9)
        assert float(f"{value:.10g}") == value


# Specifications with a place for the hole, the range of values that are put there, and whether they
# are whole; $-names are other random values.
HOLES = (
    ("gaussian:sigma={}@$count", 0.5, 300.0, False),
    ("gaussian:sigma=$sigma@poisson:q={}@$steps", 1e-5, 0.2, False),
    ("gaussian:sigma=$sigma@poisson:q=$q@{}", 30.0, 1e5, True),
    ("laplace:scale={}@poisson:q=$q@$steps", 1.0, 50.0, False),
    ("pure:epsilon={}@$few", 0.01, 1.0, False),
    ("rr:epsilon={},categories=3@$few", 0.01, 1.0, False),
    ("approx:epsilon=0.1,delta={}@$few", 1e-12, 1e-8, False),
    ("exponential:epsilon={}@$few", 0.01, 1.0, False),
    ("discrete-gaussian:sigma={}@$few", 4.0, 100.0, False),
    ("gaussian:sigma=20@$few@group:k={}", 1.0, 9.0, True),
    ("gaussian:sigma=$sigma@wor:n=2000,m={}", 2.0, 1500.0, True),
    ("gaussian:sigma={}@poisson:q=$q@$steps+laplace:scale=50@$few", 0.6, 20.0, False),
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
    assert again.upper <= budget * (1.0 + WIDTH), label
    assert found.insufficient_tree is not None, label
    assert found.insufficient is not None
    beyond = asked(parse(to_text(found.insufficient_tree)).tree, delta)
    assert beyond.lower is not None
    assert beyond.lower > budget * (1.0 - WIDTH), label
    if isinstance(found.sufficient, int):
        gap = abs(found.insufficient - found.sufficient) <= 1
        assert found.method.tolerance_met == gap, label
    else:
        apart = abs(found.insufficient - found.sufficient)
        gap = apart <= 1e-8 * found.sufficient
        assert found.method.tolerance_met == (apart <= TOLERANCE * found.sufficient), label
    # A search that has used up its work ends where it stands.
    if finished and not gap and again.within_tolerance(1e-9, 0.0):
        # Narrow brackets leave a gap only where the cost hardly depends on the value.
        assert (beyond.upper - (again.lower or 0.0)) <= 1e-8 * budget, label
    # A jump of the cost takes bisection over ten digits, all else a few steps.
    assert found.asked <= (100 if "approx" in text else 30), label


@pytest.mark.few(3)
@pytest.mark.parametrize("number", range(36))
def test_random_holes(number: int) -> None:
    """Three of each kind of hole."""
    check(number)
