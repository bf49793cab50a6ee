"""Samples beside atoms and other laws, against sums of dense quadrature."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from privcalc.engine.certified import bracket
from privcalc.engine.composition import Composition
from privcalc.engine.inversion import solve
from privcalc.engine.inversion.tail_search import Parts, Search
from privcalc.engine.lists.factor import Wanted
from privcalc.engine.planner import certified_delta
from privcalc.exact import Enclosed
from privcalc.losses.atoms import AtomicLaw, two_point
from privcalc.losses.gaussian import GaussianLaw, UnequalGaussiansLaw
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from privcalc.record import replace
from tests.truths import gaussian_deltas

if TYPE_CHECKING:
    from privcalc.bounds import Bound

# Two losses with a likelihood ratio of their own in each order; a mass at infinity on both sides.
LOPSIDED = AtomicLaw(
    (math.log(3.0), math.log(0.7 / 0.9)), (0.3, 0.7), loss_units=4.0, lower_masses=(0.1, 0.9)
)
LOSING = two_point(Enclosed.of(0.5), Enclosed.of(0.125))
# mu of the noise, sampling probability, records; what stands beside it, with counts.
CASES: list[tuple[tuple[float, float, int], float, list[tuple[AtomicLaw, int]]]] = [
    ((1.0, 0.1, 1), 0.4, [(LOPSIDED, 2)]),
    ((1.5, 0.01, 1), 0.5, [(LOPSIDED, 1), (LOSING, 2)]),
    ((0.8, 0.05, 3), 0.4, [(LOPSIDED, 2)]),
    ((1.2, 0.01, 2), 0.3, [(LOSING, 1), (LOPSIDED, 1)]),
]


pytestmark = pytest.mark.usefixtures("quiet")


def group(mu: float, q: float, size: int, *, remove: bool) -> Any:
    """Return the law of a sample of some records of one group."""
    if size == 1:
        return sampled(GaussianLaw(mu), q, remove=remove)
    return GaussianMixtureLaw(mu, q, size, remove)


def composed(case: Any, *, remove: bool) -> Composition:
    """Return the composition of a case."""
    (mu, q, size), noise, atoms = case
    terms = [(group(mu, q, size, remove=remove), 1), (GaussianLaw(noise), 1), *atoms]
    return Composition.of(terms)


def truth(case: Any, epsilon: float, *, remove: bool) -> float:
    """Return the finite part of delta: over the output, and over all outcomes of atoms."""
    (mu, q, size), noise, atoms = case
    weights = [math.comb(size, j) * q**j * (1.0 - q) ** (size - j) for j in range(size + 1)]
    points, rule = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(-11.0, 11.0 + size * mu, 161)
    half = 0.5 * np.diff(edges)[:, None]
    z = (edges[:-1, None] + half * (1.0 + points)).ravel()
    density = (half * rule).ravel() * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    ratio = sum(w * np.exp(j * mu * z - 0.5 * (j * mu) ** 2) for j, w in enumerate(weights))
    p, loss = (density * ratio, np.log(ratio)) if remove else (density, -np.log(ratio))
    result = 0.0
    pairs = [zip(law.losses, law.masses, strict=True) for law, n in atoms for _ in range(n)]
    for outcome in itertools.product(*map(list, pairs)):
        mass = math.prod(each for _, each in outcome)
        beside = sum(each for each, _ in outcome)
        result += mass * float((p * gaussian_deltas(noise, epsilon - beside - loss)).sum())
    return result


def cut_at(case: Any, epsilon: float, level: float) -> Bound:
    """Bracket delta with the split at a level, and all of its terms."""
    sketched = Parts.of(composed(case, remove=True))
    assert sketched is not None
    parts = sketched.listed(Wanted(8.0, 3.0, epsilon, 1e-7, whole=True))
    choice = replace(Search(parts).at(epsilon, 0.0), level=level, left=4.0)
    log_delta = math.log(truth(case, epsilon, remove=True))
    split = solve.split(parts, choice, epsilon, log_delta, 1e-9)
    assert len(split.parts) == 3
    return bracket(split, epsilon, 1e-9).bound


@pytest.mark.parametrize("level", [0.2, 0.7])
@pytest.mark.parametrize("case", CASES)
def test_the_level_does_not_matter(case: Any, level: float) -> None:
    """Right, closed and left, with laws that are lopsided or lose mass to infinity beside."""
    bound, expected = cut_at(case, 1.5, level), truth(case, 1.5, remove=True)
    assert (bound.lower or 0.0) <= expected * (1.0 + 1e-11)
    assert expected * (1.0 - 1e-11) <= bound.upper
    assert bound.width <= 1e-5 * expected


@pytest.mark.slow
def test_groups_and_pairs_of_different_noise_stand_beside_atoms() -> None:
    """What cannot be cut is a list."""
    pair = UnequalGaussiansLaw(0.5, 1.44, 0.44)
    for law in (group(1.0, 0.01, 3, remove=True), pair):
        composition = Composition.of([(law, 1), (LOPSIDED, 1)])
        found = certified_delta(composition, 0.3, 1e-6).bound
        assert found.width <= 1e-5 * found.upper
