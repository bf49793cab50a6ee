"""Lists of losses: atoms, lattices and Laplace noise, used a few times or many, by their truths."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta, certified_epsilon
from tests.engine.inversion.listed_cases import compositions, enumerated, random_law

if TYPE_CHECKING:
    from privcalc.bounds import Bound

# Truths from enumeration of all outcomes in extended precision, expansions of Laplace sums in 50
# digits, and contours over the atoms themselves in extended precision, at two abscissas.
TRUTHS: list[tuple[str, float, dict[str, str]]] = [
    (
        "discrete-gaussian:sigma=2@poisson:q=0.01@1000",
        1e-06,
        {"remove": "0.720916056740211", "add": "0.665531416833374"},
    ),
    (
        "discrete-gaussian:sigma=0.5@poisson:q=0.3@4",
        1e-06,
        {"remove": "18.0584306992972", "add": "1.41472228436952"},
    ),
    (
        "discrete-gaussian:sigma=2@poisson:q=0.01@100000",
        1e-06,
        {"remove": "8.98484724878859", "add": "8.88291463784203"},
    ),
    ("laplace:scale=1@3", 0.01, {"both": "2.921500621653"}),
    ("gaussian:sigma=5@400+rr:p=0.52@400", 1e-12, {"both": "38.9809100098318"}),
]


def epsilon(composition: Composition, delta: float, tolerance: float = 1e-6) -> Bound:
    """Bracket epsilon."""
    return certified_epsilon(composition, delta, tolerance).bound


def holds(bound: Bound, truth: str, width: float) -> None:
    """Assert that a bracket holds a truth of so many digits, and is narrow."""
    assert bound.lower is not None
    digits = len(truth.replace(".", "").lstrip("0"))
    half = mpf(truth) * mpf(10) ** (1 - digits)
    assert bound.lower <= mpf(truth) + half
    assert mpf(truth) - half <= bound.upper
    assert bound.width <= width * bound.upper


@pytest.mark.parametrize(("text", "delta", "truths"), TRUTHS)
def test_the_truth_is_inside(text: str, delta: float, truths: dict[str, str]) -> None:
    """Brackets hold independent truths, to a relative width of 1e-6."""
    found = compositions(text)
    assert found.keys() == truths.keys()
    for name, truth in truths.items():
        holds(epsilon(found[name], delta), truth, 1e-6)


def test_many_laws_at_once() -> None:
    """Nine laws, each used once or twice: every product with one of them rounds, too."""
    rng = random.Random(4)
    composition = Composition.of([(random_law(rng, 2), rng.choice((1, 1, 2))) for _ in range(9)])
    with mp.workdps(40), np.errstate(all="ignore"):
        bound = certified_delta(composition, 1.25, 1e-6).bound
        truth = enumerated(composition, 1.25)
        assert bound.lower is not None
        assert bound.lower <= truth <= bound.upper
        assert bound.width <= 1e-6 * bound.upper
