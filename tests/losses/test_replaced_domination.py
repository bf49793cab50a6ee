"""The pair of two opposite records is above every mechanism in which one replaces another."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import linprog

from privcalc.engine.single import SingleUse
from privcalc.engine.source import bracket
from privcalc.losses.atomic.exact import exact_law
from privcalc.losses.sampled.opposite import opposite_outcomes, replaced_atoms
from tests.losses.opposite_pairs import asked, pair_of

if TYPE_CHECKING:
    from pathlib import Path

    from privcalc.losses.atomic.atoms import AtomicLaw

SCALES = np.exp(np.concatenate([np.linspace(-3.0, 3.0, 61), np.linspace(-0.2, 0.2, 41)]))


def random_masses(rng: np.random.Generator, size: int) -> list[Fraction]:
    """Return probabilities that are multiples of 1/512, some of them possibly 0."""
    parts = rng.multinomial(512, rng.dirichlet(np.full(size, 0.6)))
    return [Fraction(int(part), 512) for part in parts]


def power(plain: list[Fraction], other: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Return the corners of G: the largest W(A) at R(A) = y, by decreasing ratios."""
    kept = [(r, w) for r, w in zip(plain, other, strict=True) if r or w]
    kept.sort(key=lambda each: (each[0] == 0, each[1] / each[0] if each[0] else 0), reverse=True)
    corners = [(Fraction(0), sum((w for r, w in kept if r == 0), Fraction(0)))]
    for r, w in kept:
        if r:
            corners.append((corners[-1][0] + r, corners[-1][1] + w))
    return corners


def at(corners: list[tuple[Fraction, Fraction]], y: float) -> float:
    """Return G(y)."""
    return float(np.interp(y, [float(x) for x, _ in corners], [float(g) for _, g in corners]))


def worst_output(
    rng: np.random.Generator, plain: Any, corners: list[tuple[Fraction, Fraction]]
) -> Any:
    """Return an output law W with W(A) <= G(R(A)) for every A, extreme in a random direction."""
    size = len(plain)
    sets = [
        np.isin(np.arange(size), chosen).astype(float)
        for chosen in chain.from_iterable(combinations(range(size), k) for k in range(1, size))
    ]
    limits = [at(corners, float(plain @ each)) for each in sets]
    found = linprog(
        rng.normal(size=size), A_ub=np.array(sets), b_ub=limits,
        A_eq=np.ones((1, size)), b_eq=[1.0], bounds=(0.0, 1.0),
    )  # fmt: skip
    assert found.success
    return np.maximum(found.x, 0.0)


def upper_profile(law: AtomicLaw, a: float) -> float:
    """Return the hockey stick of an atomic law from both columns of its masses."""
    inside = [p - a * r for p, r in zip(law.masses, law.lower_masses, strict=True)]
    return law.infinity_mass + math.fsum(each for each in inside if each > 0.0)


@pytest.mark.parametrize("seed", range(40))
def test_random_mechanisms_are_below_the_pair(seed: int) -> None:
    """Random triples for each sample of the others: all that is known of them is the pair.

    The outputs R, W and W' on every sample of two other records are extreme points of what the
    base pair allows; the laws of the sampled mechanism are enumerated.
    """
    rng = np.random.default_rng(seed)
    size, outputs = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    plain, other = random_masses(rng, size), random_masses(rng, size)
    corners = power(plain, other)
    q = float(rng.choice([0.05, 0.3, 0.8]))
    law = event_law(plain, other)
    upper = replaced_atoms(law, q, exact=True, above=True)
    first, second = np.zeros(outputs), np.zeros(outputs)
    for taken in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = math.prod(q if each else 1.0 - q for each in taken)
        base = rng.dirichlet(np.full(outputs, 0.8))
        with_x, with_other = (worst_output(rng, base, corners) for _ in range(2))
        first += weight * ((1.0 - q) * base + q * with_x)
        second += weight * ((1.0 - q) * base + q * with_other)
    for a in SCALES:
        for p, r in ((first, second), (second, first)):
            seen = float(np.maximum(p - a * r, 0.0).sum())
            assert seen <= upper_profile(upper, a) + 1e-9 * (1.0 + a)


def event_law(plain: list[Fraction], other: list[Fraction]) -> AtomicLaw:
    """Return the law for adding the record."""
    return exact_law(list(zip(plain, other, strict=True)))


@pytest.mark.parametrize("seed", range(25))
def test_the_pair_is_the_best_test_of_the_two_inequalities(seed: int) -> None:
    """Its profile is max over y of (1 - q)(1 - a) y + q G(y) - a q (1 - G(1 - y)), exactly.

    The maximum of a concave, piecewise linear function is at a corner of G(y) or G(1 - y).
    """
    rng = np.random.default_rng(1000 + seed)
    size = int(rng.integers(2, 6))
    corners = power(random_masses(rng, size), random_masses(rng, size))
    q = Fraction(int(rng.integers(1, 64)), 64)
    pair = opposite_outcomes(corners, q)
    assert sum(p for p, _ in pair) == sum(r for _, r in pair) == 1
    assert sorted(pair) == sorted((r, p) for p, r in pair)

    def g(y: Fraction) -> Fraction:
        if y == 0:
            return corners[0][1]
        left, right = next((a, b) for a, b in pairwise(corners) if a[0] < y <= b[0])
        return left[1] + (y - left[0]) * (right[1] - left[1]) / (right[0] - left[0])

    places = {y for y, _ in corners} | {1 - y for y, _ in corners}
    for a in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(9, 8), Fraction(3), Fraction(40)):
        best = max((1 - q) * (1 - a) * y + q * g(y) - a * q * (1 - g(1 - y)) for y in places)
        assert sum(max(p - a * r, Fraction(0)) for p, r in pair) == best


@pytest.mark.parametrize("seed", range(10))
def test_doubles_are_enclosed(seed: int) -> None:
    """The laws below and above, from rounded masses, hold the exact pair between them."""
    rng = np.random.default_rng(2000 + seed)
    size = int(rng.integers(2, 7))
    plain, other = random_masses(rng, size), random_masses(rng, size)
    q = float(rng.choice([0.01, 0.4, 0.9]))
    pair = opposite_outcomes(power(plain, other), Fraction(q))
    law = event_law(plain, other)
    below, above = (replaced_atoms(law, q, exact=True, above=each) for each in (False, True))
    for a in SCALES:
        truth = float(sum(max(p - Fraction(a) * r, Fraction(0)) for p, r in pair))
        assert upper_profile(below, a) <= truth + 1e-15 * (1.0 + a)
        assert upper_profile(above, a) >= truth - 1e-15 * (1.0 + a)
        assert upper_profile(above, a) - upper_profile(below, a) <= 1e-13 * (1.0 + a)


@pytest.mark.parametrize("seed", range(8))
def test_adaptive_compositions_are_below_the_composed_pair(seed: int, tmp_path: Path) -> None:
    """Two steps, the second chosen by the answer of the first: tables written out."""
    rng = np.random.default_rng(3000 + seed)
    plain, other = random_masses(rng, 3), random_masses(rng, 3)
    corners = power(plain, other)
    rows = [f"{r} {w}" for r, w in zip(plain, other, strict=True)]
    (tmp_path / "pair.txt").write_text("\n".join(rows))
    q, outputs = 0.3, 3
    steps = []
    for _ in range(1 + outputs):
        base = rng.dirichlet(np.full(outputs, 0.8))
        pulled = [worst_output(rng, base, corners) for _ in range(2)]
        steps.append([(1.0 - q) * base + q * each for each in pulled])
    first, second = (
        np.concatenate([steps[0][k][y] * steps[1 + y][k] for y in range(outputs)]) for k in (0, 1)
    )
    text = f"pmf:file={tmp_path}/pair.txt@poisson:q=0.3@2"
    for epsilon in (0.0, 0.05, 0.2, 0.5, 1.0):
        a = math.exp(epsilon)
        seen = max(
            float(np.maximum(p - a * r, 0.0).sum()) for p, r in ((first, second), (second, first))
        )
        assert seen <= asked(text, epsilon=epsilon).upper + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_gaussian_noise_in_the_plane_is_below_the_opposite_pair(seed: int) -> None:
    """Any two records of norm at most 1, in two dimensions: sums over a fine grid."""
    rng = np.random.default_rng(4000 + seed)
    sigma = float(rng.uniform(0.3, 2.0))
    q = float(rng.choice([0.01, 0.2, 0.7]))
    grid = np.linspace(-1.0 - 8.0 * sigma, 1.0 + 8.0 * sigma, 700)
    x, y = np.meshgrid(grid, grid)
    cell = (grid[1] - grid[0]) ** 2

    def density(centre: Any) -> Any:
        square = (x - centre[0]) ** 2 + (y - centre[1]) ** 2
        return np.exp(-square / (2.0 * sigma * sigma)) / (2.0 * math.pi * sigma * sigma) * cell

    turns = rng.uniform(0.0, 2.0 * math.pi, 2)
    turns[1] = turns[0] + math.pi + rng.normal() * 0.7
    lengths = 1.0 - np.abs(rng.normal(size=2)) * rng.choice([0.0, 0.3])
    centres = [
        max(length, 0.0) * np.array([math.cos(t), math.sin(t)])
        for t, length in zip(turns, lengths, strict=True)
    ]
    first, other = ((1.0 - q) * density((0.0, 0.0)) + q * density(each) for each in centres)
    law = pair_of("gaussian", 1.0 / sigma, q)
    for epsilon in (0.0, 0.02, 0.2, 1.0, 2.0):
        seen = float(np.maximum(first - math.exp(epsilon) * other, 0.0).sum())
        assert seen <= bracket(SingleUse(law), epsilon, 0.0).bound.upper * (1.0 + 1e-4) + 1e-12
