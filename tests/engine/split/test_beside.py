"""Rare samples beside few listed losses: truths, other engines, and the certificate by itself."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from privcalc.engine.arbiter import certified_epsilon
from privcalc.engine.composition import Composition
from privcalc.engine.mollified.answer import mollified_epsilon
from privcalc.engine.source import Deltas
from privcalc.engine.split import beside
from privcalc.engine.split.beside import (
    Mixture,
    Shifted,
    applies,
    beside_delta,
    beside_epsilon,
)
from privcalc.engine.split.choice import Tuning
from privcalc.engine.split.total import Split
from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed
from privcalc.losses.atomic.atoms import AtomicLaw, two_point
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.sampled.law import sampled
from tests.engine.split.cases import meet, relative


def response(epsilon: float) -> AtomicLaw:
    """Return randomised response."""
    return two_point(Enclosed.of(epsilon))


# Just above the largest sum, 1.85, one contour for all is 3e-6 wide.
WORST = Composition.of(
    [(sampled(GaussianLaw(1.0), 5.65e-5, remove=True), 649), (response(0.37), 5)]
)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def _two_samples(sigma: float, q: float, size: float, uses: int, epsilon: float) -> float:
    """Return delta of two samples and randomised responses, from the outputs of both.

    The sum over all outputs of (P - e^epsilon Q)_+, the last sample integrated in closed form.
    """
    mu, chance = 1.0 / sigma, 1.0 / (1.0 + math.exp(-size))
    points, weights = np.polynomial.legendre.leggauss(40)
    z = np.concatenate([-12.0 + 0.1 * k + 0.05 * (1.0 + points) for k in range(320)])
    plain = np.tile(0.05 * weights, 320) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    grown = plain * (1.0 - q + q * np.exp(mu * z - 0.5 * mu * mu))
    total = 0.0
    for outputs in itertools.product((0, 1), repeat=uses):
        ones = sum(outputs)
        p = chance**ones * (1.0 - chance) ** (uses - ones)
        other = chance ** (uses - ones) * (1.0 - chance) ** ones
        a, b = p * grown, math.exp(epsilon) * other * plain
        odds = (b / a - 1.0 + q) / q
        place = np.where(odds > 0.0, np.log(np.maximum(odds, 1e-300)) / mu + 0.5 * mu, -40.0)
        over, tilted = ndtr(-place), ndtr(mu - place)
        total += float((a * ((1.0 - q) * over + q * tilted) - b * over).sum())
    return total


@pytest.mark.parametrize("epsilon", [0.9, 1.3, 1.4])
@pytest.mark.parametrize("cell", [(0.8, 0.05, 0.5, 3), (1.3, 0.002, 0.3, 4)])
def test_two_samples_beside_randomised_responses(
    cell: tuple[float, float, float, int], epsilon: float
) -> None:
    """Below the largest sum, near it and above; the truth is a sum over all outputs."""
    sigma, q, size, uses = cell
    truth = _two_samples(sigma, q, size, uses, epsilon)
    laws = [(sampled(GaussianLaw(1.0 / sigma), q, remove=True), 2), (response(size), uses)]
    found = beside_delta(Composition.of(laws), epsilon, 1e-6).bound
    assert found.lower is not None
    assert found.lower <= truth * (1.0 + 1e-9)
    assert truth * (1.0 - 1e-9) <= found.upper
    assert relative(found) <= 1e-6


def test_just_above_a_sum() -> None:
    """The lattice and one contour agree with it, and are wide."""
    delta = 1.14e-11
    mine = beside_epsilon(WORST, delta, delta, 1e-9).bound
    assert relative(mine) <= 1e-9
    assert meet(mine, mollified_epsilon(WORST, delta, delta, 1e-9).bound)
    assert meet(mine, certified_epsilon(WORST, delta, 1e-3, engine="fft").bound)
    again = certified_epsilon(WORST, delta, 1e-9)
    assert relative(again.bound) <= 1e-9
    assert meet(mine, again.bound)


@pytest.mark.parametrize("seed", range(1, 13))
def test_random_mixtures_agree_with_one_contour(seed: int) -> None:
    """Two listed laws, at deltas from 1e-12 to 1e-4."""
    draw = random.Random(seed)
    rate = math.exp(draw.uniform(-9.0, -5.0))
    gaussian = sampled(GaussianLaw(draw.uniform(0.4, 1.4)), rate, remove=True)
    terms = [
        (gaussian, draw.randint(50, 3000)),
        (response(draw.uniform(0.1, 0.8)), draw.randint(1, 4)),
        (response(draw.uniform(0.1, 0.8)), draw.randint(1, 2)),
    ]
    delta = 10.0 ** draw.uniform(-12.0, -4.0)
    composition = Composition.of(terms)
    mine = beside_epsilon(composition, delta, delta, 1e-9).bound
    assert relative(mine) <= 1e-9
    assert meet(mine, mollified_epsilon(composition, delta, delta, 1e-9).bound)


@pytest.mark.parametrize(
    "tuning",
    [Tuning(move=0.7), Tuning(move=1.4), Tuning(shift=0.8), Tuning(shift=1.2), Tuning(refine=1.5)],
    ids=str,
)
def test_choices_do_not_matter(tuning: Tuning) -> None:
    """Levels, abscissas and steps are free."""
    base = beside_epsilon(WORST, 1e-9, 1e-9, 1e-9).bound
    assert meet(base, beside_epsilon(WORST, 1e-9, 1e-9, 1e-9, tuning).bound)


def test_epsilon_and_delta_are_inverse() -> None:
    """Delta at the ends of the bracket is on either side of the target."""
    found = beside_epsilon(WORST, 1e-9, 1e-9, 1e-9).bound
    assert found.lower is not None
    above, below = (beside_delta(WORST, e, 1e-9).bound for e in (found.lower, found.upper))
    assert below.lower is not None
    assert below.lower <= 1e-9 <= above.upper


class _Falling:
    """Samples whose delta is e^{-9 epsilon}, known exactly."""

    fastest = 9.0

    def deltas(self, epsilons: Any, log_scale: float) -> Deltas:
        """Return it."""
        exact = np.exp(-9.0 * epsilons - log_scale)
        return Deltas(np.full(len(epsilons), log_scale), exact, exact, exact, {})


def _bounds(terms: Any, outside: float, loss_error: float) -> tuple[float, float]:
    known: Any = _Falling()
    made = tuple(Shifted(loss, mass, above, known) for loss, mass, above in terms)
    found = Mixture(made, 0.0, loss_error, 0.0, outside).deltas(np.array([1.2]), 0.0)
    return float(found.lower[0]), float(found.upper[0])


def _truth(rows: dict[float, float], moved: float = 0.0) -> float:
    return sum(mass * math.exp(-9.0 * (1.2 - loss - moved)) for loss, mass in rows.items())


def test_sums_below_the_last_that_is_looked_at_count() -> None:
    """They cost no more than it, and are missed if they are dropped."""
    truth = _truth({0.5: 0.2, 0.1: 0.3, 0.0: 0.5})
    lower, upper = _bounds([(0.5, 0.2, 0.2), (0.1, 0.3, 0.8)], 0.0, 0.0)
    assert lower <= truth <= upper <= 1.1 * truth
    assert _bounds([(0.5, 0.2, 0.2), (0.1, 0.3, 0.3)], 0.0, 0.0)[1] < truth


def test_sums_that_are_left_out_count_by_their_mass() -> None:
    """They are missed if they are dropped."""
    truth = _truth({1.1: 1e-4, 0.5: 0.2, 0.1: 0.3})
    terms = [(0.5, 0.2, 0.2), (0.1, 0.3, 0.3)]
    lower, upper = _bounds(terms, 1e-4, 0.0)
    assert lower <= truth <= upper <= 1.2 * truth
    assert _bounds(terms, 0.0, 0.0)[1] < truth


def test_errors_of_the_sums_count() -> None:
    """On either side; without them the truth is missed."""
    rows = {0.5: 0.2, 0.1: 0.3}
    terms = [(loss, mass, mass) for loss, mass in rows.items()]
    least, most = _truth(rows, -1e-3), _truth(rows, 1e-3)
    lower, upper = _bounds(terms, 0.0, 1e-3)
    assert lower <= least < most <= upper
    lower, upper = _bounds(terms, 0.0, 0.0)
    assert least < lower <= upper < most


def test_what_does_not_apply() -> None:
    """No listed losses, too many of them, a record that is added, nothing sampled."""
    samples, other = sampled(GaussianLaw(1.0), 1e-3, remove=True), response(0.3)
    assert applies(Composition.of([(samples, 10), (other, 3)]))
    for terms in (
        [(samples, 10)],
        [(other, 3)],
        [(samples, 10), (other, 3000)],
        [(sampled(GaussianLaw(1.0), 1e-3, remove=False), 10), (other, 3)],
    ):
        assert not applies(Composition.of(terms))
        with pytest.raises(NotCertifiedError):
            beside_delta(Composition.of(terms), 1.0, 1e-9)


def test_too_many_sums_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any of them is worked out."""
    monkeypatch.setattr(beside, "MOST_TERMS", 1)
    monkeypatch.setattr(Split, "make", None)
    with pytest.raises(NotCertifiedError, match="too many sums"):
        beside_delta(WORST, 0.9, 1e-9)
