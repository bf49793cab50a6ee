"""What private selection needs to know of the number K of runs: its law, by phi(z) = E[z^K]."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from privcalc.bounds import Bound
from privcalc.selection.runs.points import least_count

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.selection.base.pair import Base


class Runs(Protocol):
    """The law of K, which does not depend on the data.

    What is stated here holds unless a family knows better: no run is certain not to happen, any
    number of runs may, and nothing is published that is not tight.

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

    def at_most(self, k: float) -> Bound:
        """Return both ends of P(K <= k)."""
        ...

    def quantile(self, p: float) -> float:
        """Return the least k for which P(K <= k) >= p, up to rounding.

        Raises:
            DomainError: p is not in (0, 1].
        """
        return least_count(self, p)

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
