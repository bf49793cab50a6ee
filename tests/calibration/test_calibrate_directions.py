"""Which way the cost goes with each parameter; filled trees, and grids."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privcalc.accounting.compose import compose
from privcalc.calibration.holes import Decimals
from privcalc.spec import registry
from privcalc.spec.parse import parse
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

if TYPE_CHECKING:
    from privcalc.bounds import Bound

# A specification for each parameter that declares a direction, and values in increasing order.
_LADDERS = """
gaussian.standard_deviation gaussian:sigma={}@2 0.3 0.9 1.0 4.0 50.0
gaussian.variance gaussian:variance={},sensitivity=2 0.5 2.0 9.0 100.0
gaussian.rho gaussian:rho={} 0.01 0.3 0.5 2.0
gaussian.sensitivity gaussian:sigma=2,sensitivity={} 0.1 1.0 1.1 9.0
gaussian_mixture.standard_deviation
    gaussian-mixture:sigma={},sensitivities=0,1,3,probabilities=0.6,0.3,0.1 0.3 1.0 1.1 50.0
gaussian.noise_multiplier gaussian:noise_multiplier={}@poisson:q=0.1 0.5 1.0 1.1 9.0
matrix_gaussian.standard_deviation
    matrix-gaussian:sigma={},strategy=banded,steps=50,bands=10@poisson:q=0.1 0.9 1.0 1.1 9.0
matrix_gaussian.sensitivity
    matrix-gaussian:sigma=9,strategy=tree,steps=9,sensitivity={} 0.1 1.0 1.1 9.0
matrix_gaussian.steps
    matrix-gaussian:sigma=9,strategy=banded,steps={},participations=3,separation=7 1 2 7 8 30 1000
matrix_gaussian.participations
    matrix-gaussian:sigma=9,strategy=tree,steps=64,participations={},separation=8 1 2 3 8
laplace.scale laplace:scale={}@poisson:q=0.3 0.3 0.9 1.0 4.0 50.0
laplace.epsilon laplace:epsilon={} 0.1 0.5 1.0 3.0
laplace.sensitivity laplace:scale=2,sensitivity={} 0.1 1.0 1.1 9.0
laplace.noise_multiplier laplace:noise_multiplier={} 0.5 1.0 1.1 9.0
truncated_laplace.bound truncated-laplace:scale=2,bound={} 1.5 4 4.1 20
truncated_laplace.sensitivity truncated-laplace:scale=2,bound=9,sensitivity={} 0.1 1.0 1.1 8.9
thresholded_counts.threshold thresholded-counts:scale=2,threshold={} 1 5 9 9.5 20 30
thresholded_counts.keys thresholded-counts:noise=gaussian,sigma=4,threshold=25,keys={} 1 2 3 10
gnmax.standard_deviation gnmax:sigma={}@poisson:q=0.1 1.5 2 2.1 30
gnss.standard_deviation gnss:sigma={},delta=1e-5 2 3 3.1
gnss.beta gnss:sigma=5,beta={} 0.001 0.01 0.011
noisy_screening.standard_deviation noisy-screening:sigma={},threshold=4.5,votes=9 3 3.1 5 20
noisy_screening.votes noisy-screening:sigma=3,threshold=4.5,votes={} 1 3 4 9 30
above_threshold.threshold_noise svt:threshold_noise={},query_noise=8,cutoff=2 0.5 1 1.1 9
above_threshold.query_noise svt:noise=gaussian,threshold_noise=4,query_noise={},length=20 1 2 2.1 30
above_threshold.threshold
    svt:noise=gaussian,threshold_noise=4,query_noise=12,threshold={} -10 0 5 40
above_threshold.cutoff svt:threshold_noise=4,query_noise=8,cutoff={} 1 2 5
above_threshold.length svt:noise=gaussian,threshold_noise=4,query_noise=8,length={} 1 2 30 1000000
above_threshold.sensitivity svt:threshold_noise=4,query_noise=8,sensitivity={} 0.1 1 1.1 9
posterior_regression.precision ops:gamma={},lambda=90,n=99 0.1 1 1.1 9
posterior_regression.regularization ops:gamma=1,lambda={},n=99 9 90 91 999
posterior_regression.records ops:gamma=1,lambda=90,n={} 1 2 99 1000000
posterior_regression.row_norm ops:gamma=1,lambda=90,n=99,row_norm={} 0.1 1 1.1 3
posterior_regression.response ops:gamma=1,lambda=90,n=99,response={} 0.1 1 1.1 9
ptr.false_positive
    ptr:test=(gaussian:sigma=8),mechanism=(gaussian:sigma=4),false_positive={},mode=max
    0 1e-09 1.1e-09 0.1
ptr.threshold
    ptr:test=(gaussian:sigma=8),mechanism=(gaussian:sigma=4),threshold={},mode=bit 0 20 21 90
stability.threshold stability:scale=2,threshold={} 0 20 21 90
discrete_gaussian.sensitivity discrete-gaussian:sigma=3,sensitivity={} 1 2 3 10
discrete_gaussian.variance discrete-gaussian:variance={} 0.5 2 2.1 100
discrete_gaussian.rho discrete-gaussian:rho={},sensitivity=3 0.01 0.5 0.51 4
discrete_gaussian.clients discrete-gaussian:variance=0.5,clients={} 2 3 9 40
skellam.variance skellam:variance={} 0.5 2 2.1 100
skellam.standard_deviation skellam:sigma={},sensitivity=3 0.5 2 2.1 20
skellam.sensitivity skellam:variance=9,sensitivity={} 1 2 3 9
skellam.l1 skellam:variance=9,l1={},l2=3 1 2 3 9
skellam.l2 skellam:variance=9,l1=9,l2={} 1 1.5 2 3 9
binomial.n binomial:n={},p=0.3,sensitivity=3 40 80 81 900
binomial.sensitivity binomial:n=60,p=0.3,sensitivity={} 1 2 3 9
discrete_laplace.scale discrete-laplace:scale={},sensitivity=3 0.3 0.9 2 9
discrete_laplace.epsilon discrete-laplace:epsilon={},sensitivity=3 0.3 0.9 2
discrete_laplace.sensitivity discrete-laplace:scale=3,sensitivity={} 1 2 3 9
staircase.epsilon staircase:epsilon={},gamma=0.7 0.1 0.5 1 1.1 4
randomized_response.epsilon rr:epsilon={},categories=4 0.0 0.5 1 1.1 4
randomized_response.random rr:random={},categories=4 0.1 0.5 0.9 1.0
randomized_response.categories rr:epsilon=2,categories={} 2 3 7 100
exponential.epsilon exponential:epsilon={} 0.1 0.5 1 1.1 4
pure.epsilon pure:epsilon={} 0.0 0.5 1 1.1 4
approx.epsilon approx:epsilon={},delta=0.01 0.0 0.5 1 1.1 4
approx.delta approx:epsilon=1,delta={} 0.0 1e-06 0.1 0.9
gdp.mu gdp:mu={}@3 0.1 0.5 1 1.1 4
zcdp.rho zcdp:rho={} 0.01 0.1 0.11
zcdp.xi zcdp:rho=0.1,xi={} 0.0 0.1 0.11
zcdp.omega zcdp:rho=0.1,omega={} 2 5 5.1 30
rdp.order rdp:order={},epsilon=0.3 1.5 2 8 64
rdp.epsilon rdp:order=8,epsilon={} 0.01 0.1 0.11 2
noisy_max.standard_deviation noisy-max:sigma={},candidates=4 1 1.1 4 20
noisy_max.scale noisy-max:noise=gumbel,scale={},candidates=4 1 1.1 4 20
noisy_max.candidates noisy-max:sigma=3,candidates={} 1 2 5 1000
noisy_max.sensitivity noisy-max:noise=exponential,scale=3,candidates=4,sensitivity={} 0.5 1 1.1 5
clients_sampled.sampling_probability gaussian:sigma=2@clients:q={}@3 0.01 0.3 0.301 1.0
poisson_sampled.sampling_probability gaussian:sigma=1@poisson:q={} 0.001 0.1 0.11 0.9 1.0
sampled_without_replacement.sampling_probability gaussian:sigma=1@wor:q={} 0.001 0.1 0.11 0.9 1.0
sampled_without_replacement.source_dataset_size gaussian:sigma=1@wor:n={},m=5 5 6 50 1000000000
sampled_without_replacement.sample_size gaussian:sigma=1@wor:n=9,m={} 0 1 8 9
shuffled_reports.users rr:epsilon=1@shuffle:n={} 1 2 30 2000
randomly_allocated.steps gaussian:sigma=1@allocation:t={} 1 30 2000
group.records laplace:scale=9@group:k={} 1 2 3 40
"""


def _value(word: str) -> float | int:
    """Read a number, which is whole where it has no point."""
    return int(word) if word.lstrip("-").isdigit() else float(word)


def _ladders() -> dict[tuple[str, str], tuple[str, tuple[float | int, ...]]]:
    """Return them by mechanism and parameter."""
    found = {}
    for row in _LADDERS.replace("\n    ", " ").strip().splitlines():
        place, text, *values = row.split()
        name, _, parameter = place.partition(".")
        found[name, parameter] = text, tuple(map(_value, values))
    return found


LADDERS = _ladders()
# Declared too, and checked where private selection is.
ELSEWHERE = {
    ("repeat_and_select", "mean"),
    ("repeat_and_select", "gamma"),
    ("repeat_and_select", "probability"),
    ("discrete_gaussian", "standard_deviation"),
}
# Numbers that the cost does not follow, or is not known to.
_NOT_MONOTONE = """
bernoulli_pair: other_p p
binomial: p
discrete_laplace: bound
gaussian_pair: deviation mean other_deviation other_mean
gnss: delta epsilon
matrix_gaussian: bands separation
noisy_screening: threshold
partition_selection: delta epsilon
poisson_sampled: source_dataset_size truncated_batch_size
randomized_response: probability
randomly_allocated: participations
repeat_and_select: shape trials
shuffled_batches: batch_size source_dataset_size steps
stability: scale standard_deviation
staircase: gamma sensitivity
thresholded_counts: scale standard_deviation
truncated_laplace: scale
"""
NOT_MONOTONE = {
    (name, parameter)
    for name, _, rest in (row.partition(": ") for row in _NOT_MONOTONE.strip().splitlines())
    for parameter in rest.split()
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


@pytest.mark.dear("zcdp.omega]")
@pytest.mark.dear("gaussian.standard_deviation]")
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
