"""What is proved of a profile between the points at which it is known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.chain import Steps, grouped_delta, replaced_delta


def response(epsilon: Any, loss: float) -> Any:
    """Return delta of randomized response, a line in e^epsilon: its own chord."""
    return max(mp.expm1(mpf(loss)) - mp.expm1(mpf(epsilon)), mpf(0)) / (1 + mp.exp(loss))


def gaussian(epsilon: Any, mu: float) -> Any:
    """Return delta of Gaussian noise."""
    x = mpf(epsilon)
    return mp.ncdf(mpf(mu) / 2 - x / mu) - mp.exp(x) * mp.ncdf(-mpf(mu) / 2 - x / mu)


PROFILES = [(response, 1.5), (response, 30.0), (gaussian, 1.0), (gaussian, 4.0)]


@pytest.mark.parametrize(("profile", "size"), PROFILES)
@pytest.mark.parametrize("count", [2, 5, 40])
def test_between_points_a_profile_is_below_its_chord(profile: Any, size: float, count: int) -> None:
    """At 40 digits; and no more than that where the profile is a line."""
    points = np.linspace(0.0, size if profile is response else 3.0 * size, count)
    truths = [profile(each, size) for each in points.tolist()]
    steps = Steps(points, np.array([math.nextafter(float(each), 2.0) for each in truths]))
    places = np.linspace(0.0, 1.1 * points[-1], 97)
    for epsilon, upper in zip(places.tolist(), steps.upper(places).tolist(), strict=True):
        truth = profile(epsilon, size)
        assert upper >= truth
        if profile is response:
            assert upper <= truth + mpf("1e-9")


def test_chains_of_two_and_three_steps() -> None:
    """Of Gaussian noise that moves on in one direction, by steps known at few points."""
    points = np.linspace(0.0, 6.0, 9)
    steps = Steps(points, np.array([float(gaussian(each, 1.0)) * (1.0 + 1e-12) for each in points]))
    for epsilon in (0.0, 0.7, 2.0, 4.0):
        assert replaced_delta(steps, steps, epsilon) >= gaussian(epsilon, 2.0)
        for records in (2, 3):
            assert grouped_delta(steps, records, epsilon) >= gaussian(epsilon, float(records))
