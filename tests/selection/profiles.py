"""Gaussian and finite pairs by their profiles, and numbers of runs, for the tests of constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privcalc.selection.base import Base
from tests.truths import gaussian_deltas

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

MU = 0.25


class Profile(Base):
    """A base mechanism with the Gaussian profile in closed form, without certificate."""

    reverse = property(lambda self: self)

    def __init__(self, mu: float = MU) -> None:
        """Take the distance of the means."""
        self.mu = mu

    def upper(self, logs: Array) -> Array:
        """Return the Gaussian H_{e^x}."""
        return gaussian_deltas(self.mu, logs)


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
