"""What private selection needs to know of the number K of runs: its law, by phi(z) = E[z^K]."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.bounds import Bound

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array
    from privcalc.selection.base import Base


def canonical(q: Array, rest: Array) -> tuple[Array, Array]:
    """Return the pair with the larger of the two recomputed from the smaller, to 1 unit."""
    small = q <= rest
    return np.where(small, q, 1.0 - rest), np.where(small, 1.0 - q, rest)


def gaps(q: Array, rest: Array) -> Array:
    """Return q[i+1] - q[i] of canonical points, to 2 units of itself; 0 where it is negative.

    Differences of two q, and of two rests, that are the smaller ones are rounded once. Between a
    q and a rest, 1 - q - rest is (1/2 - q) + (1/2 - rest): three roundings of terms of one sign.
    """
    small = q <= rest
    across = (0.5 - q[:-1]) + (0.5 - rest[1:])
    result: Array = np.where(small[1:], np.diff(q), np.where(small[:-1], across, -np.diff(rest)))
    return np.maximum(result, 0.0)


class Runs(Protocol):
    """The law of K, which does not depend on the data.

    What is stated here holds unless a family knows better: there is a run for certain, there may be
    any number of them, and nothing is published that is not tight.

    Points of [0, 1] come as pairs (q, rest) with q + rest = 1 up to rounding, shape (n,). The
    smaller of the two is taken as exact and the other one recomputed, so that both ends of [0, 1]
    are resolved.
    """

    if TYPE_CHECKING:
        # Fields of some families, and the same for all laws of another.
        @property
        def family(self) -> str:
            """Return geometric, logarithmic, tnb, poisson, binomial, fixed or distribution."""

        @property
        def parameters(self) -> dict[str, float | str]:
            """Return the parameters that were given, under their long names."""

    @property
    def mean(self) -> Bound:
        """Return both ends of E[K]."""
        ...

    @property
    def no_runs(self) -> Bound:
        """Return both ends of P(K = 0)."""
        return Bound(0.0, 0.0)

    @property
    def largest(self) -> float:
        """Return the largest possible number of runs, or infinity."""
        return math.inf

    def log_derivative(self, q: Array, rest: Array) -> tuple[Array, Array]:
        """Return both ends of log phi'(q), which does not decrease; -infinity where phi' is 0."""
        ...

    def increments(self, q: Array, rest: Array) -> tuple[Array, Array]:
        """Return both ends of phi(q[i+1]) - phi(q[i]) for nondecreasing q, shape (n-1,)."""
        ...

    def more_than(self, k: float) -> float:
        """Return an upper bound on P(K > k)."""
        del k
        return 1.0

    def tight(self, forward: Base, backward: Base) -> float:
        """Return a certified upper end of sup log phi'(q) / phi'(q') over all tests.

        Args:
            forward: the base (P, Q); tests have q under P and q' under Q.
            backward: its reverse.
        """
        ...

    def paper(self, forward: Base, backward: Base) -> float:
        """Return the published constant, certified, at its best epsilon_1; at least `tight`."""
        return self.tight(forward, backward)
