"""Two uses, of which one at least is a sampled Gaussian: integrals in 40 digits are the truth."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privcalc.engine.composition import Composition
from privcalc.engine.inversion.tail_split import TAIL_SPLIT
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.engine.profile import profile_at
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.sampled.law import sampled
from tests.engine.inversion.sampled_cases import TRUTHS, holds, meet, relative, written

CELLS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "oracles" / "two_uses.json").read_text()
)["cells"]
# Where only the lattice answers, far beyond all that matters; or just below the largest loss.
WIDTHS = {"29.5": 1e-6, "0.028": 2e-10}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def law(sigma: float, q: float, *, remove: bool = True) -> Any:
    """Return a law of a stored cell."""
    base = GaussianLaw(1.0 / sigma)
    return base if q == 1.0 else sampled(base, q, remove=remove)


@pytest.mark.dear("{'remove': True, 'first': [0.4")
@pytest.mark.few(2)
@pytest.mark.parametrize("row", CELLS, ids=str)
def test_delta_is_bracketed(row: dict[str, Any]) -> None:
    """In both directions, from delta 1e-100 to 0.3."""
    laws = [(law(*row[name], remove=row["remove"]), 1) for name in ("first", "second")]
    found = certified_delta(Composition.of(laws), float(row["epsilon"]), 1e-9).bound
    assert holds(found, row["delta"])
    assert relative(found) <= WIDTHS.get(row["epsilon"], 1e-10)


@pytest.mark.few(2)
@pytest.mark.parametrize("row", TRUTHS["pairs"], ids=str)
def test_the_truths_of_the_split(row: dict[str, Any]) -> None:
    """The tail split's pairs through the front door, to the digits that are asked for."""
    composition = Composition.of([(written(row["first"]), 1), (written(row["second"]), 1)])
    found = certified_delta(composition, float(row["epsilon"]), 1e-9)
    assert holds(found.bound, row["delta"])
    assert relative(found.bound) <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("draws", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_random_epsilons_belong_to_their_deltas(draws: int) -> None:
    """The brackets are narrow, and a delta at either end is on its side of the target."""
    rng = random.Random(4)
    for _ in range(draws):
        remove = rng.random() < 0.6
        pair = [
            law(rng.uniform(0.4, 4.0), 10.0 ** rng.uniform(-4, -0.5), remove=remove)
            for _ in range(2)
        ]
        delta = 10.0 ** rng.uniform(-12, -3)
        composition = Composition.of([(each, 1) for each in pair])
        found = certified_epsilon(composition, delta, 1e-9).bound
        assert found.lower is not None
        assert found.width <= max(1e-6 * found.upper, 1e-12)
        assert certified_delta(composition, found.lower, 1e-9).bound.upper >= delta
        assert (certified_delta(composition, found.upper, 1e-9).bound.lower or 0.0) <= delta


@pytest.mark.slow
def test_a_profile_is_narrow() -> None:
    """Brackets at several epsilons meet those of a contour."""
    composition = Composition.of([(law(0.7, 0.01), 2)])
    epsilons = [0.4, 0.8, 1.2]
    found = profile_at(composition, epsilons, 1e-9)
    assert max(relative(each.bound) for each in found) <= 1e-9
    again = TAIL_SPLIT.delta(composition, epsilons[1], 1e-3)
    assert meet(found[1].bound, again.bound)
