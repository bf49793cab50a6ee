"""Compositions of discrete Gaussians: brackets against direct summation over integer outputs."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from privcalc.accounting.compose import compose
from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
from privcalc.spec.parse import parse
from tests.oracles.exact import gaussian_delta
from tests.oracles.store import folder
from tests.truths.brute import BruteForce, TooManyOutcomesError
from tests.truths.brute_pairs import discrete_gaussian

# Sigma as a decimal, sensitivity and count.
Term = dict[str, Any]

ROWS: list[dict[str, Any]] = json.loads((folder / "discrete_gaussian.json").read_text())["rows"]
# What brute force leaves out at the ends, and more.
ERROR = 1e-60


def law(sigma: str | float, shift: int = 1) -> DiscreteGaussianLaw:
    """Return the law of noise whose sigma is the decimal written."""
    return DiscreteGaussianLaw(Fraction(str(sigma)) ** 2, shift)


def composition(terms: list[Term]) -> Composition:
    """Return the laws of an oracle's terms."""
    return Composition.of((law(one["sigma"], one["sensitivity"]), one["count"]) for one in terms)


def total_of(terms: list[Term], most: int = 200_000) -> BruteForce:
    """Write out all outcomes."""
    parts = [
        (discrete_gaussian(mpmath.mpf(one["sigma"]), one["sensitivity"]), one["count"])
        for one in terms
    ]
    return BruteForce(parts, most=most)


@pytest.mark.few(9)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['text']} {row['epsilon']}")
def test_brackets_contain_sums_to_30_digits(row: dict[str, Any]) -> None:
    """Delta and epsilon contain the direct sum's number."""
    laws = composition(row["terms"])
    truth, epsilon = mpmath.mpf(row["delta"]), row["epsilon"]
    bound = certified_delta(laws, epsilon, 1e-9).bound
    assert bound.lower is not None
    assert bound.lower <= truth <= bound.upper
    assert bound.width <= 1e-6 * bound.upper
    bound = certified_epsilon(laws, float(truth), 1e-9).bound
    assert bound.lower is not None
    # The nearest double to delta moves epsilon by less than 1e-13.
    assert bound.lower <= epsilon * (1.0 + 1e-13) + 1e-13
    assert bound.upper >= epsilon * (1.0 - 1e-13) - 1e-13
    assert bound.width <= 1e-6 * bound.upper + 1e-12


@pytest.mark.parametrize("sigma", ["0.05", "0.1", "0.2", "0.37"])
@pytest.mark.parametrize("count", [1, 4])
def test_narrow_noise_is_its_direct_sum(sigma: str, count: int) -> None:
    """Nearly deterministic outputs."""
    terms = [Term(sigma=sigma, sensitivity=1, count=count)]
    total = total_of(terms)
    laws = composition(terms)
    top = float(law(sigma).lattice[0]) * count
    for epsilon in (0.25, 0.6 * top, 0.999 * top):
        truth = total.delta(epsilon)
        bound = certified_delta(laws, epsilon, 1e-9).bound
        assert bound.lower is not None
        assert bound.lower <= truth + ERROR
        assert truth - ERROR <= bound.upper
        assert bound.width <= 1e-6 * bound.upper


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
            assert bound.width <= (2e-2 if narrow else 1e-6) * bound.upper
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
        assert best.width <= 1e-6 * best.upper + 1e-12, terms
        assert best.lower is not None
        total = total_of(terms)
        assert total.delta(best.upper) <= delta * (1 + 1e-12), terms
        if best.lower > 0.0:
            assert total.delta(best.lower) >= delta * (1 - 1e-12), terms


@pytest.mark.slow
def test_a_census_of_many_variances() -> None:
    """130 releases over ten rational variances, near the continuous formula, off by a little.

    One law has the roots of other variances, so that no lattice is shared.
    """
    rng = random.Random(2020)
    variances = sorted({Fraction(rng.randint(3, 4000), rng.randint(1, 60)) for _ in range(60)})[::6]
    counts, delta = [13] * 10, 1e-10
    exact = [DiscreteGaussianLaw(v, 1) for v in variances]
    roots = [law(repr(math.sqrt(v))) for v in variances]
    found = [
        certified_epsilon(Composition.of(zip(laws, counts, strict=True)), delta, 1e-9).bound
        for laws in (exact, roots)
    ]
    assert max(bound.width / bound.upper for bound in found) <= 1e-6
    # The roots are off by 1e-16.
    found[0].intersection(found[1])
    with mpmath.workdps(30):
        precision = mpmath.fsum(
            count / mpmath.mpf(v) for v, count in zip(map(float, variances), counts, strict=True)
        )
        assert abs(gaussian_delta(precision, mpmath.mpf(found[0].upper)) / delta - 1) < 0.5


@pytest.mark.dear("discrete-gaussian:sigma=20000@1000000-1e-06-1e-05]")
@pytest.mark.parametrize(
    ("text", "delta", "most"),
    [
        ("discrete-gaussian:sigma=0.2@1000000", 1e-9, 1e-6),
        ("discrete-gaussian:sigma=0.3@5+discrete-gaussian:sigma=0.7@3", 1e-9, 1e-6),
        ("discrete-gaussian:sigma=20000@1000000", 1e-6, 1e-5),
        ("discrete-gaussian:sigma=20000,sensitivity=10000", 1e-6, 1e-6),
        ("discrete-gaussian:sigma=1@100", 1e-280, 1.0),
        ("discrete-gaussian:sigma=0.1@10", 1e-6, 1.0),
    ],
)
def test_extremes(text: str, delta: float, most: float) -> None:
    """Narrow and wide noise, many uses and tiny deltas give brackets, wide ones if need be."""
    bound = compose(parse(text).tree, deltas=[delta]).answers[0].proved
    assert 0.0 < bound.upper < math.inf
    assert bound.width <= most * bound.upper


@pytest.mark.slow
def test_rows_are_what_direct_summation_gives() -> None:
    """Every row of the smaller compositions is worked out again."""
    found = 0
    for row in ROWS:
        try:
            total = total_of(row["terms"], 4000)
        except TooManyOutcomesError:
            continue
        # What is left out at the ends counts e^epsilon times.
        if row["epsilon"] <= 40.0:
            found += 1
            assert abs(total.delta(row["epsilon"]) / mpmath.mpf(row["delta"]) - 1) < 1e-28
    assert found > 20
