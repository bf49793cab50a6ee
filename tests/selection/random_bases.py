"""Small bases, numbers of runs and a published bound, for the tests of methods of selection."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from privcalc.selection.distribution import make_runs
from privcalc.selection.methods import loss_bound, pure_epsilon
from tests.oracles.selected_law import PlainRuns
from tests.truths.finite_base import FiniteBase

if TYPE_CHECKING:
    import random

    from privcalc.numerics.rounding import Array
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs

DIGITS = 50
# Families of the truncated negative binomial law.
SHAPED = ("geometric", "logarithmic", "tnb")
# Rounding of the plain oracle.
ROOM = 1e-11

ALL_RUNS = (
    PlainRuns("geometric", 1.0, 0.2),
    PlainRuns("geometric", 1.0, 0.01),
    PlainRuns("logarithmic", 0.0, 0.05),
    PlainRuns("tnb", -0.5, 0.02),
    PlainRuns("tnb", 3.0, 0.3),
    PlainRuns("poisson", 0.4),
    PlainRuns("poisson", 6.0),
    PlainRuns("binomial", 5.0, 0.4),
    PlainRuns("binomial", 12.0, 0.9),
)


def of_the_program(plain: PlainRuns) -> Runs:
    """Return the same number of runs as the program makes it."""
    given: dict[str, Any] = {}
    if plain.family in SHAPED:
        given["gamma"] = plain.second
        if plain.family == "tnb":
            given["shape"] = plain.first
    elif plain.family == "poisson":
        given["mean"] = plain.first
    else:
        given["n"] = plain.first
        if plain.family == "binomial":
            given["p"] = plain.second
    return make_runs(plain.family, **given)


def pure(plain: PlainRuns, base: Base) -> float:
    """Return what is proved at delta 0."""
    runs = of_the_program(plain)
    return pure_epsilon(runs.tight(base, base.reverse), runs, base)


def published_pure_epsilon(runs: PlainRuns, base: Base) -> float:
    """Return f + (eta + 1) b, that is (eta + 2) epsilon_0; infinity for other numbers of runs.

    Papernot, Steinke 2022; Koskela, Redberg, Wang 2024, Corollary 5.3; 3 epsilon_0 for
    the geometric numbers of Liu, Talwar 2019, Theorem 1.3. It is never below `pure`.
    """
    f, b = loss_bound(base), loss_bound(base.reverse)
    if runs.family not in SHAPED or math.isinf(f):
        return math.inf
    return (f + (runs.first + 1.0) * b) * (1.0 + 1e-14)


def random_base(generator: random.Random, *, infinite: bool) -> FiniteBase:
    """Return a pair with four outcomes; two of them are infinite losses, or nearly."""
    size = 4
    p = np.array([generator.expovariate(1.0) for _ in range(size)])
    tilt = np.array([generator.uniform(-1.0, 1.0) for _ in range(size)])
    q = p * np.exp(generator.choice([0.1, 0.5, 2.0]) * tilt)
    if infinite:
        p[0] = 0.0 if generator.random() < 0.5 else p[0] * 0.02
        q[1] = 0.0
    return FiniteBase(p / p.sum(), q / q.sum())


def randomised_response(epsilon: float) -> FiniteBase:
    """Return the pair of randomised response."""
    high = 1.0 / (1.0 + math.exp(-epsilon))
    return FiniteBase([high, 1.0 - high], [1.0 - high, high])


class Flat:
    """A base whose profile is the same everywhere."""

    def __init__(self, height: float) -> None:
        """Take the height."""
        self.infinity_mass, self.largest = height, math.inf

    def upper(self, logs: Array) -> Array:
        """Return it."""
        return np.full(len(logs), self.infinity_mass)


def flat(height: float) -> Base:
    """Return such a base."""
    return cast("Base", Flat(height))


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
