"""The largest Renyi divergence of a noisy test of a count, order by order.

At each order one count or another is the worst (Zhu 2023, Theorem 4.3.1, with all counts). No one
pair has this curve, but divergences add up under adaptive composition order by order (Mironov 2017,
Proposition 1), so that it composes as it stands; many uses cost less by it than the law does, which
has the worst of all counts in every use.

In a Poisson sample the other records have a count t, and with the record it is at most r away: with
R and W for the tests without and with it the divergences of one order are

    remove: A1 = E_R (1 - q + q W/R)^(c+1),    add: A2 = E_R (1 - q + q W/R)^-c,

because (x, y) -> x^(c+1) y^-c is jointly convex and the other records are sampled in the same way
in both. The largest over all t, with the roles of R and W either way, bounds the sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.log_sums import log1p_bracket, log_loss_excess
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Probabilities of yes and no under P and Q, and the losses of yes and no.
Test = tuple[float, float, float, float, float, float]

# Errors of the probabilities and losses that are given, in units.
MASS_ULPS, LOSS_ULPS = 1.0, 8.0
# Orders times outcomes that are worked on at once; work for one.
CHUNK, PER_OUTCOME = 500_000, 1.0


@record
class ScreeningCurve:
    """The largest divergence of several tests, in either order, at each order by itself.

    Attributes:
        tests: each in one of its orders.
        q: probability that the record is in the sample; 1 where there is none.
        remove: whether P is the sample that may hold the record.
    """

    tests: tuple[Test, ...]
    q: float = 1.0
    remove: bool = True

    cheap = False
    convex = True
    piecewise = False
    corners = ()

    @property
    def limit(self) -> float:
        """Return the largest loss, rounded up."""
        _, losses, errors = _outcomes(self)
        return float((losses + errors).max())

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the constant line at the largest loss."""
        return self.limit, np.zeros(c.shape)

    def upper(self, c: Array) -> Array:
        """Return the largest K, rounded up.

        M - 1 is the sum of p h_c(l) over both outcomes (`numerics/log_sums.py`), none of them
        negative. A loss that is off by a part d of itself moves log h_c by at most 2 + c l or
        2 + |l| times d.
        """
        masses, losses, errors = _outcomes(self)
        charge(PER_OUTCOME * len(c) * masses.size)
        rows = max(1, CHUNK // masses.size)
        return np.concatenate(
            [
                self._largest(c[i : i + rows], masses, losses, errors)
                for i in range(0, max(1, len(c)), rows)
            ]
        )

    def _largest(self, c: Array, masses: Array, losses: Array, errors: Array) -> Array:
        column = c[:, None]
        logs = []
        for outcome in range(2):
            loss, log_mass = losses[:, outcome], np.log(masses[:, outcome])
            value, wrong = log_loss_excess(column, np.broadcast_to(loss, (len(c), len(loss))))
            steep = 2.0 + np.where(loss > 0.0, column * loss, np.abs(loss))
            wrong = wrong + steep * (errors[:, outcome] / np.abs(loss))
            wrong = wrong + UNIT * (4.0 + MASS_ULPS + 12.0 * np.abs(log_mass) + 2.0 * np.abs(value))
            logs.append(value + log_mass + wrong * MARGIN)
        top = np.logaddexp(*logs).max(axis=1)
        top = top + 8.0 * UNIT * (1.0 + np.abs(top))
        return log1p_bracket(top, top)[1]

    def lower(self, c: Array) -> Array | None:
        """Return None: no one pair attains all orders."""
        del c
        return None

    def estimate(self, c: Array) -> Array:
        """Return the upper bound."""
        return self.upper(c)

    def rough(self, c: Array) -> Array:
        """Return the upper bound: a sum over two outcomes of each test."""
        return self.upper(c)


@remembered(32)
def _outcomes(curve: ScreeningCurve) -> tuple[Array, Array, Array]:
    """Return P-masses, losses and bounds on their errors, of yes and no of each test and order.

    With x = log(W/R) and y = q (e^x - 1) the sampled loss is log(1 + y), or its negative. y is off
    by 8 + LOSS_ULPS (1 + |x|) units, and by 2 for a rounded difference, log(1 + y) by
    that times |y| / (1 + y) and 4 of itself. Mixtures of masses are off by 4 units.
    """
    rows = np.array(curve.tests)
    first, second, loss = rows[:, 0:2], rows[:, 2:4], rows[:, 4:6]
    w, r = np.concatenate([first, second]), np.concatenate([second, first])
    x = np.concatenate([loss, -loss])
    q = curve.q
    if q == 1.0:
        return w, x, LOSS_ULPS * UNIT * np.abs(x)
    y = q * np.expm1(x)
    sampled = np.log1p(y)
    wrong = (10.0 + LOSS_ULPS * (1.0 + np.abs(x))) * np.abs(y) / (1.0 + y)
    errors = UNIT * (wrong + 4.0 * np.abs(sampled)) * MARGIN
    if curve.remove:
        return ((1.0 - q) * r + q * w) * (1.0 + 8.0 * UNIT), sampled, errors
    return r, -sampled, errors
