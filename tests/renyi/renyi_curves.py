"""Renyi curves in closed form or by summation, at 40 digits, for tests of sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from mpmath import mp, mpf

from privcalc.losses.law import RenyiCurve

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array


@dataclass(frozen=True, eq=False)
class ExactCurve(RenyiCurve):
    """A curve given as a function of mpmath numbers; its bounds are the neighbouring doubles.

    Attributes:
        cumulant: maps c to K(c).
        limit: D at order infinity.
        cheap: as claimed.
        known: what has been evaluated.
    """

    cumulant: Callable[[mpf], mpf]
    limit: float = math.inf
    cheap: bool = True
    known: dict[float, float] = field(default_factory=dict)

    def upper(self, c: Array) -> Array:
        """Return K rounded up."""
        return np.nextafter(self.nearest(c), np.inf)

    def lower(self, c: Array) -> Array | None:
        """Return K rounded down."""
        return np.nextafter(self.nearest(c), -np.inf)

    def nearest(self, c: Array) -> Array:
        """Return K to the nearest double."""
        values = []
        for each in c.tolist():
            if each not in self.known:
                with mp.workdps(40):
                    self.known[each] = float(self.cumulant(mpf(each)))
            values.append(self.known[each])
        return np.array(values)


@dataclass(frozen=True)
class Pair:
    """Two laws on the same few outcomes: without a record and with it; all masses positive."""

    without: tuple[mpf, ...]
    present: tuple[mpf, ...]

    def reverse(self) -> Pair:
        """Return the pair with the roles exchanged."""
        return Pair(self.present, self.without)

    def moment(self, order: mpf) -> mpf:
        """Return the mean of (present / without)^order under `without`."""
        return mp.fsum(
            b**order * a ** (1 - order) for a, b in zip(self.without, self.present, strict=True)
        )

    def curve(self) -> ExactCurve:
        """Return the curve of (present, without)."""
        limit = max(mp.log(b / a) for a, b in zip(self.without, self.present, strict=True))
        return ExactCurve(
            lambda c: mp.log(self.moment(c + 1)), math.nextafter(float(limit), math.inf)
        )

    def sampled(self, q: float, order: float) -> tuple[mpf, mpf]:
        """Return log A1 and log A2, from the definition."""
        with mp.workdps(40):
            rate, at = mpf(q), mpf(order)
            mixed = [a + rate * (b - a) for a, b in zip(self.without, self.present, strict=True)]
            return tuple(
                mp.log(
                    mp.fsum(
                        m**power * a ** (1 - power)
                        for a, m in zip(self.without, mixed, strict=True)
                    )
                )
                for power in (at, 1 - at)
            )


def gaussian(sigma: float) -> ExactCurve:
    """Return c (c + 1) / (2 sigma^2)."""
    return ExactCurve(lambda c: c * (c + 1) / (2 * mpf(sigma) ** 2))


def laplace(scale: float) -> ExactCurve:
    """Return the curve of the Laplace mechanism of sensitivity 1."""

    def cumulant(c: mpf) -> mpf:
        order, b = c + 1, mpf(scale)
        near = order / (2 * order - 1) * mp.exp(c / b)
        return mp.log(near + c / (2 * order - 1) * mp.exp(-order / b))

    return ExactCurve(cumulant, math.nextafter(1.0 / scale, math.inf))


def randomized_response(p: float) -> ExactCurve:
    """Return the curve of an answer that is true with probability p."""
    with mp.workdps(40):
        return Pair((1 - mpf(p), mpf(p)), (mpf(p), 1 - mpf(p))).curve()


def random_pair(rng: random.Random, *, symmetric: bool) -> Pair:
    """Return a pair on 2 to 5 outcomes; symmetric: each outcome has its mirror image."""
    with mp.workdps(40):
        size = rng.randint(2, 5)
        spread = rng.choice([0.01, 0.3, 1.0, 3.0])
        first = [mp.exp(rng.gauss(0.0, spread)) for _ in range(size)]
        second = [mp.exp(rng.gauss(0.0, spread)) for _ in range(size)]
        if symmetric:
            first, second = first + second, second + first
            if rng.random() < 0.5:
                shared = mp.exp(rng.gauss(0.0, 1.0))
                first, second = [*first, shared], [*second, shared]
        one, two = mp.fsum(first), mp.fsum(second)
        return Pair(tuple(a / one for a in first), tuple(b / two for b in second))
