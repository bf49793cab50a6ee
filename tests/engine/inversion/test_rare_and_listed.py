"""Rare samples composed with a few randomised responses: integrals, and engines that meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.exact import Enclosed
from privcalc.losses.atomic.atoms import AtomicLaw, two_point
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.sampled.law import sampled
from tests.engine.inversion.sampled_cases import holds, relative


def response(epsilon: float) -> AtomicLaw:
    """Return randomised response."""
    return two_point(Enclosed.of(epsilon))


# Just above the largest sum of the responses, 1.85, all contours and lattices are wide.
WORST = Composition.of(
    [(sampled(GaussianLaw(1.0), 5.65e-5, remove=True), 649), (response(0.37), 5)]
)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("cell", "epsilon", "delta"),
    [
        ((0.8, 0.05, 0.5, 3), 0.9, "0.110602134902486"),
        ((0.8, 0.05, 0.5, 3), 1.3, "0.0441023484550419"),
        ((0.8, 0.05, 0.5, 3), 1.4, "0.0232218857432017"),
        ((1.3, 0.002, 0.3, 4), 0.9, "0.0282221939608255"),
        pytest.param((1.3, 0.002, 0.3, 4), 1.3, "4.75123708495746e-11", marks=pytest.mark.slow),
        ((1.3, 0.002, 0.3, 4), 1.4, "2.25334909443041e-13"),
    ],
)
def test_two_samples_with_randomised_responses(
    cell: tuple[float, float, float, int], epsilon: float, delta: str
) -> None:
    """Below the largest sum, near it and above.

    The truth is the sum over all responses of (P - e^epsilon Q)_+, integrated over the output of
    one sample in 40 digits, and over that of the other in closed form.
    """
    sigma, q, size, uses = cell
    laws = [(sampled(GaussianLaw(1.0 / sigma), q, remove=True), 2), (response(size), uses)]
    found = certified_delta(Composition.of(laws), epsilon, 1e-9).bound
    assert holds(found, delta)
    # Of few samples of a record, far out, the split has fewer digits.
    assert relative(found) <= (1e-8 if float(delta) > 1e-9 else 1e-4)


@pytest.mark.slow
def test_epsilon_and_delta_are_inverse() -> None:
    """Delta at the ends of the bracket is on either side of the target."""
    found = certified_epsilon(WORST, 1e-9, 1e-9).bound
    assert found.lower is not None
    above, below = (certified_delta(WORST, e, 1e-6).bound for e in (found.lower, found.upper))
    assert below.lower is not None
    assert below.lower <= 1e-9 <= above.upper
