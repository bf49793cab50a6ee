"""Compositions of discrete Gaussians against direct sums."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw
from tests.oracles.discrete_gaussian import Term, delta_of, total_of
from tests.oracles.store import folder

ROWS: list[dict[str, Any]] = json.loads((folder / "discrete_gaussian.json").read_text())["rows"]
NARROW = "0.512@1 0.713@2 0.977@10 1.131@7 1.317@20 1.729@3 2.311@3 2.917@5 3.119@8 4.337@2"
WIDE = (
    "2.6457513110645907@5 3.141592653589793@17 5.5@1 11.25@200 13.37@44 17.9123@90 21.99@3"
    " 27.4@150 33.3@80 48@120"
)
LATTICE = "0.5@1 0.7@20 0.9@100 1.1@7 1.3@200 1.7@31 2.3@3 2.9@55 3.1@80 4.3@12"


def law(sigma: str | float, shift: int = 1) -> DiscreteGaussianLaw:
    """Return the law of noise whose sigma is the decimal written."""
    return DiscreteGaussianLaw(Fraction(str(sigma)) ** 2, shift)


def composition(terms: list[Term]) -> Composition:
    """Return the laws of an oracle's terms."""
    return Composition.of((law(one["sigma"], one["sensitivity"]), one["count"]) for one in terms)


@pytest.mark.few(9)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['text']} {row['epsilon']}")
def test_brackets_contain_sums_to_30_digits(row: dict[str, Any]) -> None:
    """Delta and epsilon contain the direct sum's number."""
    laws = composition(row["terms"])
    truth, epsilon = mpmath.mpf(row["delta"]), row["epsilon"]
    bound = certified_delta(laws, epsilon, 1e-9).bound
    assert bound.lower is not None
    assert bound.lower <= truth <= bound.upper
    assert bound.width <= 1e-8 * bound.upper
    bound = certified_epsilon(laws, float(truth), 1e-9).bound
    assert bound.lower is not None
    # The nearest double to delta moves epsilon by less than 1e-13.
    assert bound.lower <= epsilon * (1.0 + 1e-13) + 1e-13
    assert bound.upper >= epsilon * (1.0 - 1e-13) - 1e-13
    assert bound.width <= 1e-8 * bound.upper + 1e-12


@pytest.mark.parametrize("sigma", ["0.05", "0.1", "0.2", "0.37"])
@pytest.mark.parametrize("count", [1, 4])
def test_narrow_noise_is_its_direct_sum(sigma: str, count: int) -> None:
    """Nearly deterministic outputs."""
    terms = [Term(sigma=sigma, sensitivity=1, count=count)]
    total = total_of(terms)
    laws = composition(terms)
    top = float(law(sigma).lattice[0]) * count
    for epsilon in (0.25, 0.6 * top, 0.999 * top):
        truth, error = delta_of(total, mpmath.mpf(epsilon))
        bound = certified_delta(laws, epsilon, 1e-9).bound
        assert bound.lower is not None
        assert bound.lower <= truth + error
        assert truth - error <= bound.upper
        assert bound.width <= 1e-8 * bound.upper


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigmas", "epsilon"),
    [
        (("0.7", "0.813", "0.977"), 3.0),
        *(
            pytest.param(("0.512", "0.713", "0.977"), epsilon, marks=pytest.mark.slow)
            for epsilon in (3.0, 30.0)
        ),
    ],
)
def test_few_draws_of_unrelated_steps(sigmas: tuple[str, ...], epsilon: float) -> None:
    """Three narrow laws without a common lattice: the sum over all outcomes, by mpmath."""
    terms = [
        Term(sigma=sigma, sensitivity=shift, count=count)
        for sigma, (shift, count) in zip(sigmas, ((1, 1), (2, 1), (1, 2)), strict=True)
    ]
    total, laws = total_of(terms), composition(terms)
    truth, error = delta_of(total, mpmath.mpf(epsilon))
    bound = certified_delta(laws, epsilon, 1e-9).bound
    assert bound.lower is not None
    assert bound.lower <= truth + error
    assert truth - error <= bound.upper
    assert bound.width <= 1e-8 * bound.upper
    ends = [certified_epsilon(laws, end, 1e-9).bound for end in (bound.upper, bound.lower)]
    assert (ends[0].lower or 0.0) <= epsilon * (1 + 1e-9)
    assert ends[1].upper >= epsilon * (1 - 1e-9)


def test_a_census_of_33_variances() -> None:
    """130 releases over 33 rational variances: sigmas are roots, so that no lattice is shared."""
    rng = random.Random(2020)
    variances = sorted({Fraction(rng.randint(3, 4000), rng.randint(1, 60)) for _ in range(60)})[:33]
    counts = [4] * 31 + [3] * 2
    assert sum(counts) == 130
    laws = Composition.of(
        (law(repr(math.sqrt(v))), count) for v, count in zip(variances, counts, strict=True)
    )
    exact = Composition.of(
        (DiscreteGaussianLaw(v, 1), count) for v, count in zip(variances, counts, strict=True)
    )
    both = laws, exact
    bounds = [certified_epsilon(each, 1e-10, 1e-9).bound for each in both]
    for bound in bounds:
        assert bound.lower is not None
        assert bound.width <= 1e-6 * bound.upper
    # The roots are off by 1e-16: their answers agree to much more than the width.
    assert bounds[0].intersection(bounds[1]).width <= 1e-6 * bounds[0].upper


@pytest.mark.dear("0.999")
@pytest.mark.few(2)
@pytest.mark.parametrize("delta", [0.999, 0.5, 0.2, 1e-30, 1e-100, 1e-280])
def test_large_and_tiny_deltas(delta: float) -> None:
    """Epsilon is bracketed from delta near 1 down to 1e-280, and delta at its ends straddles."""
    for pairs in (((1.0, 30), (2.0, 10)), ((0.3, 2),), ((9.0, 4),)):
        laws = Composition.of((law(sigma), count) for sigma, count in pairs)
        bound = certified_epsilon(laws, delta, 1e-9).bound
        assert bound.lower is not None
        assert (certified_delta(laws, bound.upper, 1e-9).bound.lower or 0.0) <= delta
        if bound.lower > 0.0:
            # Noise so narrow is the lattice's, whose errors are relative to the larger deltas.
            narrow = pairs[0][0] < 0.4 and delta < 1e-90
            assert bound.width <= (2e-2 if narrow else 1e-8) * bound.upper
            assert certified_delta(laws, bound.lower, 1e-9).bound.upper >= delta


@pytest.mark.slow
def test_random_compositions_are_their_direct_sums() -> None:
    """Both ends, on either side of the sum over all outcomes."""
    rng = random.Random(17)
    for _ in range(12):
        terms = [
            Term(
                sigma=rng.choice(("0.4", "0.55", "0.9", "1.25", "1.7")),
                sensitivity=rng.randint(1, 3),
                count=rng.randint(1, 4),
            )
            for _ in range(rng.randint(1, 2))
        ]
        delta = 10.0 ** -rng.uniform(0.5, 12.0)
        best = certified_epsilon(composition(terms), delta, 1e-9, engine="fft").bound
        assert best.width <= 1e-8 * best.upper + 1e-12, terms
        assert best.lower is not None
        total = total_of(terms)
        truth, error = delta_of(total, mpmath.mpf(best.upper))
        assert truth - error <= delta * (1 + 1e-12), terms
        if best.lower > 0.0:
            truth, error = delta_of(total, mpmath.mpf(best.lower))
            assert truth + error >= delta * (1 - 1e-12), terms
