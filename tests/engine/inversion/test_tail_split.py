"""The split at the largest loss: truths, and choices that change nothing."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from privcalc.engine.certified import brackets
from privcalc.engine.composition import Composition
from privcalc.engine.inversion.solve import TailSplit
from privcalc.engine.inversion.tail_search import Parts
from privcalc.engine.planner import certified_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.sampled.law import sampled
from tests.engine.inversion.sampled_cases import TRUTHS, delta_by, holds, tuned, uses, written
from tests.truths import meet, relative

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize("row", TRUTHS["cells"], ids=str)
def test_every_row_is_bracketed_to_all_its_digits(row: dict[str, Any]) -> None:
    """One contour for the whole law in balls gave these; so many uses cost digits."""
    way = TailSplit(uses(row["sigma"], row["q"], row["count"]))
    found = way.epsilon(row["delta"], row["delta"], 1e-9)
    assert holds(found.bound, row["epsilon"])
    assert relative(found.bound) <= (1e-6 if row["count"] < 1e9 else 1e-3)


@pytest.mark.parametrize("row", TRUTHS["mixed"], ids=str)
def test_different_laws_and_a_gaussian_whole(row: dict[str, Any]) -> None:
    """One cut for each sampled law; an unsampled Gaussian of that variance is a factor."""
    terms: list[Any] = [(written([sigma, q]), n) for sigma, q, n in row["sampled"]]
    if row["variance"]:
        terms.append((GaussianLaw(float(row["variance"] ** 0.5)), 1))
    found = TailSplit(Composition.of(terms)).epsilon(row["delta"], row["delta"], 1e-9)
    assert holds(found.bound, row["epsilon"])
    assert relative(found.bound) <= 1e-6


@pytest.mark.parametrize("move", [1.0, 0.7, 1.3])
@pytest.mark.parametrize("row", TRUTHS["pairs"], ids=str)
def test_two_uses_by_one_integral(row: dict[str, Any], move: float) -> None:
    """Delta of two laws, sampled or not, from an integral of closed forms in 30 digits."""
    composition = Composition.of([(written(row["first"]), 1), (written(row["second"]), 1)])
    smooth = row["second"][0] == "gaussian"
    if move != 1.0 and not smooth:
        return
    tolerance = 1e-9 if smooth else 1e-6
    found = delta_by(tuned(composition, move=move), float(row["epsilon"]), tolerance)
    assert holds(found.bound, row["delta"])
    assert relative(found.bound) <= 2.0 * tolerance


@pytest.mark.slow
@pytest.mark.dear("cell1]")
@pytest.mark.parametrize("cell", [(0.7, 1e-5, 100_000, 1e-8), (1.0, 1e-4, 10_000, 1e-12)])
def test_the_split_does_not_matter(cell: tuple[float, float, int, float]) -> None:
    """Level, abscissas and steps are choices: all brackets meet, and narrow ones stay narrow."""
    sigma, q, count, delta = cell
    composition = uses(sigma, q, count)
    base = TailSplit(composition).epsilon(delta, delta, 1e-9).bound
    changes: list[dict[str, float]] = [
        {"move": 0.7},
        {"move": 1.4},
        {"shift": 0.9},
        {"refine": 1.3},
        {"refine": 0.8},
    ]
    for change in changes:
        other = tuned(composition, **change).epsilon(delta, delta, 1e-9).bound
        assert meet(base, other), change
        assert relative(other) <= 1e-6, change


@pytest.mark.slow
def test_one_split_serves_its_neighbours() -> None:
    """As narrow some deviations away as at its epsilon, valid farther out, silent far away."""
    composition, centre = uses(0.4, 1e-5, 100_000), 1.0
    split = TailSplit(composition).near(centre, 1e-9, 3.0)

    def compare(epsilons: Any) -> list[float]:
        widths = []
        for epsilon, found in zip(epsilons, brackets(split, epsilons, 1e-9), strict=True):
            assert found is not None
            assert meet(found.bound, delta_by(TailSplit(composition), epsilon, 1e-9).bound)
            widths.append(relative(found.bound))
        return widths

    assert max(compare(centre + split.deviation * np.array([-3.0, -1.0, 0.6, 2.0]))) <= 1e-7
    assert min(compare(centre + split.deviation * np.array([8.0, 9.0]))) > 1e-7
    assert brackets(split, centre + split.deviation * np.array([40.0]), 1e-9) == [None]


def test_what_it_does_not_apply_to() -> None:
    """No sample at all, none of a Gaussian, records that are added, two directions at once."""
    add = sampled(GaussianLaw(1.0), 0.01, remove=False)
    bare = sampled(LaplaceLaw(1.0), 0.01, remove=True)
    remove = written([1.0, 0.01])
    for terms in ([(GaussianLaw(1.0), 3)], [(bare, 7)], [(add, 5)], [(add, 5), (remove, 5)]):
        composition = Composition.of(terms)
        assert Parts.of(composition) is None
        with pytest.raises(NotCertifiedError):
            TailSplit(composition).epsilon(1e-6, 1e-6, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_random_few_epochs(seed: int) -> None:
    """Sixty cells: at most 1e-8 wide, and inside what the lattice knows."""
    rng = random.Random(seed)
    sigma = rng.choice([0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.3, 2.0, 3.0])
    q = 10.0 ** rng.uniform(-7.0, -1.0)
    count = max(2, int(10.0 ** rng.uniform(-2.0, 2.0) / q))
    delta = 10.0 ** rng.uniform(-15.0, -4.0)
    composition = uses(sigma, q, count)
    found = certified_epsilon(composition, delta, 1e-9)
    theirs = certified_epsilon(composition, delta, 1e-3, engine="fft").bound
    assert meet(found.bound, theirs)
    assert relative(found.bound) <= 1e-6 or found.bound.upper == 0.0
