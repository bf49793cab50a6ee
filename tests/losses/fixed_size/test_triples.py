"""Time values of triples, their order and their curvature, against sums over the plane."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privcalc.losses.fixed_size.triples import curvature, directions, poisson_values, time_values
from tests.truths import triples

CASES = [(0.1, 1.0), (0.01, 0.5), (0.3, 1.5), (0.02, 0.25)]


def losses_for(q: float, mu: float) -> np.ndarray:
    """Return losses on either side of 0, where there is something."""
    unit = q * mu
    up = np.array([0.2, 0.5, 1.0, 2.0, 4.0]) * unit
    return np.concatenate([-up[::-1], [0.0], up])


@pytest.mark.parametrize(("q", "mu"), CASES)
@pytest.mark.parametrize("y", [0.1, 0.6, 1.0])
def test_time_values_enclose_those_of_the_plane(q: float, mu: float, y: float) -> None:
    """Both sides are as near as cells are narrow."""
    losses = losses_for(q, mu)
    below, above = time_values(q, mu, y, losses, fine=0.02, under=0.02)
    truth = triples.time_values(q, triples.family(y, mu), losses)
    slack = 3e-5 * q
    assert (below <= truth + slack).all()
    assert (truth <= above + slack).all()
    assert (above - below <= 2e-4 * above.max()).all()


@pytest.mark.parametrize(("q", "mu"), CASES)
def test_values_of_removing_enclose_those_of_the_plane(q: float, mu: float) -> None:
    """R has c = b; to rounding the two sides are one."""
    losses = losses_for(q, mu)
    below, above = poisson_values(q, mu, losses)
    truth = triples.time_values(q, (mu, 0.0, mu), losses)
    assert below == pytest.approx(truth, rel=1e-3, abs=3e-5 * q)
    assert above == pytest.approx(below, rel=1e-10, abs=1e-13)


def test_no_triple_exceeds_removing_above_and_adding_below() -> None:
    """For a >= 1 the largest profile is that of R, for a <= 1 that of A."""
    rng = np.random.default_rng(1)
    for _ in range(12):
        q, mu = float(rng.choice([0.02, 0.2])), float(rng.choice([0.5, 1.2]))
        losses = losses_for(q, mu)
        truth = triples.time_values(q, triples.random_sides(rng, mu), losses)
        most = poisson_values(q, mu, np.abs(losses))[1] * np.exp(np.minimum(losses, 0.0))
        assert (truth <= most * (1.0 + 1e-3) + 2e-4 * q).all()


@pytest.mark.parametrize(("q", "mu"), CASES)
@pytest.mark.parametrize(("low", "high"), [(0.0, 0.04), (0.3, 0.4), (0.8, 1.0), (1.0, 1.17)])
def test_second_derivatives_are_at_least_minus_the_bound(
    q: float, mu: float, low: float, high: float
) -> None:
    """In tau = y^{1/2}: that of h for a < 1, and of -h for a > 1, by differences of fine values."""
    losses = losses_for(q, mu)
    bound = curvature(q, mu, losses, low, high)
    taus = np.linspace(math.sqrt(low), math.sqrt(high), 5)
    values = []
    for tau in taus.tolist():
        if tau == 0.0:
            values.append(poisson_values(q, mu, losses)[0])
        else:
            below, above = time_values(q, mu, tau * tau, losses, fine=0.004, under=0.004)
            # The mean of chords and of Jensen's values, weighted, is right to a higher order.
            values.append((2.0 * below + above) / 3.0)
    width = taus[1] - taus[0]
    second = np.diff(np.array(values), 2, axis=0) / width**2
    signed = np.where(losses > 0.0, -second, second)
    noise = 1e-7 * q / width**2
    assert (signed.min(axis=0) >= -bound - noise).all()


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("spread", [0.0, 0.3, 2.0])
def test_directions_have_the_mean_one(spread: float, *, above: bool) -> None:
    """E is a likelihood ratio: its mean is 1, of masses that add up to 1; it is 1 of no spread."""
    values, mass = directions(spread, 0.02, 9.0, above=above)
    assert mass.sum() == pytest.approx(1.0, rel=1e-12)
    assert (values * mass).sum() == pytest.approx(1.0, rel=1e-9)
    # Its second moment is e^(spread^2), which chords are above, and means of cells below.
    second = float((values * values * mass).sum()) - np.exp(spread * spread)
    assert second >= -1e-12 if above else second <= 1e-12
