"""Gaussian and finite pairs by their profiles, and numbers of runs, for the tests of constants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_ndtr

if TYPE_CHECKING:
    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array

MU = 0.25


class Profile:
    """A base mechanism with the Gaussian profile in closed form, without certificate."""

    def __init__(self, mu: float = MU) -> None:
        """Take the distance of the means."""
        self.mu = mu

    @property
    def reverse(self) -> Profile:
        """Return the same: the pair is symmetric."""
        return self

    @property
    def infinity_mass(self) -> float:
        """Return 0."""
        return 0.0

    @property
    def largest(self) -> float:
        """Return infinity."""
        return math.inf

    @property
    def renyi(self) -> RenyiCurve | None:
        """Return nothing."""
        return None

    def upper(self, logs: Array) -> Array:
        """Return the Gaussian H_{e^x}."""
        first = log_ndtr(-logs / self.mu + self.mu / 2.0)
        second = logs + log_ndtr(-logs / self.mu - self.mu / 2.0)
        value: Array = np.exp(first) * -np.expm1(second - first)
        return value

    def lower(self, logs: Array) -> None:
        """Return nothing."""
        del logs

    def epsilon(self, delta: float) -> float:
        """Invert by bisection."""
        left, right = -10.0, 60.0
        for _ in range(90):
            middle = 0.5 * (left + right)
            enough = float(self.upper(np.array([middle]))[0]) <= delta
            left, right = (left, middle) if enough else (middle, right)
        return right


GAUSSIAN = Profile()


RUNS: list[tuple[str, dict[str, Any]]] = [
    ("geometric", {"mean": 6.0}),
    ("logarithmic", {"mean": 4.0}),
    ("tnb", {"shape": -0.5, "mean": 3.0}),
    ("tnb", {"shape": 5.0, "gamma": 0.3}),
    ("poisson", {"mean": 3.0}),
    ("binomial", {"n": 5, "p": 0.4}),
    ("binomial", {"n": 4, "mean": 3.9}),
    ("distribution", {"probabilities": (0.1, 0.2, 0.3, 0.4)}),
    ("distribution", {"probabilities": (0.0, 0.01) + (0.0,) * 20 + (0.99,)}),
    ("distribution", {"probabilities": (0.0, 0.0, 0.7, 0.0, 0.3)}),
    ("fixed", {"n": 3}),
]
