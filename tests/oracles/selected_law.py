"""Private selection from a finite base mechanism, from its definition: for tests only.

K runs, the best output in a fixed order of preference. P(A is among the y worst) = phi(P(y worst)),
from which the law of A follows by differences; no theorem about selection is used.
"""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.numerics.rounding import Array
    from privcalc.selection.base import Base


class PlainRuns:
    """A number of runs by the textbook formulas, in plain floating point with wide margins."""

    largest: float = math.inf

    def __init__(self, family: str, first: float, second: float = math.nan) -> None:
        """Take (eta, gamma), (mean,), (n, p) or (n,)."""
        self.family, self.first, self.second = family, first, second
        self.parameters: dict[str, float | str] = {}
        nothing = 0.0
        if family in {"geometric", "logarithmic", "tnb"}:
            eta, gamma = first, second
            self.parameters = {"shape": eta, "gamma": gamma}
            if eta == 0.0:
                mean = (1.0 / gamma - 1.0) / math.log(1.0 / gamma)
            else:
                mean = eta * (1.0 - gamma) / (gamma * (1.0 - gamma**eta))
        elif family == "poisson":
            mean, nothing = first, math.exp(-first)
        elif family == "binomial":
            mean, nothing, self.largest = first * second, (1.0 - second) ** first, first
        else:
            mean, self.largest = first, first
        self.mean = Bound(mean * (1.0 + 1e-14), mean * (1.0 - 1e-14))
        self.no_runs = Bound(nothing * (1.0 + 1e-14), nothing * (1.0 - 1e-14))

    def generating(self, z: float) -> float:
        """Return phi(z)."""
        a, b = self.first, self.second
        if self.family == "poisson":
            return math.exp(a * (z - 1.0))
        if self.family == "binomial":
            return float((1.0 - b + b * z) ** a)
        if self.family == "fixed":
            return float(z**a)
        if a == 0.0:
            return math.log(1.0 - (1.0 - b) * z) / math.log(b)
        return float(((1.0 - (1.0 - b) * z) ** -a - 1.0) / (b**-a - 1.0))

    def derivative(self, rest: float) -> float:
        """Return phi'(1 - rest)."""
        a, b = self.first, self.second
        if self.family == "poisson":
            return a * math.exp(-a * rest)
        if self.family == "binomial":
            return float(a * b * (1.0 - b * rest) ** (a - 1.0))
        if self.family == "fixed":
            return float(a * (1.0 - rest) ** (a - 1.0))
        return float(self.mean.upper * (b / (b + (1.0 - b) * rest)) ** (a + 1.0))

    def log_derivative(self, q: Array, rest: Array) -> tuple[Array, Array]:
        """Return ends of log phi'."""
        del q
        values = [self.derivative(float(r)) for r in rest]
        logs = np.array([math.log(v) if v > 0.0 else -math.inf for v in values])
        room = 1e-13 * (1.0 + np.abs(logs))
        return logs - room, logs + room

    def tight(self, forward: Base, backward: Base) -> float:
        """Not needed here."""
        raise NotImplementedError

    def paper(self, forward: Base, backward: Base) -> float:
        """Not needed here."""
        raise NotImplementedError


def selected(runs: PlainRuns, masses: Array) -> Array:
    """Return the law of the best output, from worst to best; P(K = 0) is left out."""
    below = np.minimum(1.0, np.append(0.0, np.cumsum(masses)))
    return np.diff(np.array([runs.generating(float(z)) for z in below]))


def orders(p: Array, q: Array) -> Iterator[tuple[Array, Array]]:
    """Yield both vectors in every order of preference."""
    for order in permutations(range(len(p))):
        index = list(order)
        yield p[index], q[index]


def hockey_stick(runs: PlainRuns, p: Array, q: Array, epsilon: float) -> float:
    """Return the largest H_{e^epsilon}(A || A'), epsilon >= 0, over all orders of preference."""
    factor = math.exp(epsilon)
    return max(
        float(np.maximum(selected(runs, a) - factor * selected(runs, b), 0.0).sum())
        for a, b in orders(p, q)
    )


def log_moment(runs: PlainRuns, p: Array, q: Array, c: float) -> float:
    """Return the largest log sum A^{c+1} A'^{-c} over all orders, K = 0 and infinity left out."""
    best = -math.inf
    for a, b in orders(p, q):
        first, second = selected(runs, a), selected(runs, b)
        keep = (first > 0.0) & (second > 0.0)
        exponents = (c + 1.0) * np.log(first[keep]) - c * np.log(second[keep])
        best = max(best, float(np.logaddexp.reduce(exponents)))
    return best
