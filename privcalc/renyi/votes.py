"""The Renyi divergences of noisy votes that are at hand, from those of all neighbouring votes.

Of classes with votes n_i the one with the largest n_i + N(0, sigma^2) is published. A neighbour has
one vote moved from one class to another. Class i wins with probability

    p_i = int phi(x) prod_{j != i} Phi(x + (n_i - n_j) / sigma) dx,

and the curve is the largest divergence of any neighbour, in both orders, at each order by itself.
It is about these votes, and no guarantee. (Papernot et al. 2018, Theorem 6, bounds one of the two
orders only: with sigma = 1.06, a majority of 9 and order 1.52 the other is 54 times as large.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.law import RenyiCurve
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

# Of the sum: its error is e^-40 of an integral, and its ends are so far beyond its top.
LOG_ERROR, REACH = 40.0, 10.0
# Work for one value.
PER_VALUE, PER_POWER = 0.25, 0.2
# Numbers that are formed at once.
AT_ONCE = 200_000


@record
class VotesCurve(RenyiCurve):
    """The largest divergences from one list of votes.

    Attributes:
        votes: of each class, at least 2, in decreasing order.
        sigma: standard deviation of the noise.
    """

    votes: tuple[int, ...]
    sigma: float

    @property
    def limit(self) -> float:
        """Return the largest loss, rounded up."""
        here, there, error = _chances(self)
        return float(np.abs(here - there).max(initial=0.0)) + 2.0 * error

    def upper(self, c: Array) -> Array:
        """Return the largest K, rounded up.

        Logarithms of chances are off by an error e, and K by (2 c + 1) e and what the sum is: 8
        units of the largest exponents and of the number of classes.
        """
        here, there, error = _chances(self)
        if not (len(here) and len(c)):
            # Without a vote there is none to be moved.
            return np.zeros(len(c))
        charge(PER_POWER * len(c) * here.size)
        rows = max(1, AT_ONCE // here.size)
        parts = (c[first : first + rows] for first in range(0, len(c), rows))
        return np.concatenate([self._largest(each, here, there, error) for each in parts])

    def _largest(self, c: Array, here: Array, there: Array, error: float) -> Array:
        found = np.zeros(len(c))
        column = c[:, None, None]
        for p, q in ((here, there), (there, here)):
            exponents = (column + 1.0) * p - column * q
            size = np.abs(exponents).max(axis=(1, 2)) * 4.0 + len(self.votes) + 8.0
            tops = exponents.max(axis=2)
            sums = np.exp(exponents - tops[:, :, None]).sum(axis=2)
            value = (tops + np.log(sums)).max(axis=1)
            slack = (2.0 * c + 1.0) * error + 8.0 * UNIT * size
            found = np.maximum(found, value + slack * MARGIN)
        return found


# More lines than one question can afford.
@remembered(5000)
def _chances(curve: VotesCurve) -> tuple[Array, Array, float]:
    """Return the log chances of each class, with these votes and with each neighbour's, of moves.

    By the trapezoidal rule with step h. On the line Im x = b the integrand is at most e^{m b^2 / 2}
    times that at Re x, m the number of classes, so that with b = 2 pi / (h m) the rule is off by
    less than 3 e^{-2 pi^2 / (h^2 m)} of the integral (Trefethen, Weideman 2014, Theorem 5.1). The
    logarithm of the integrand has a second derivative of at most -1, and its top where x is the sum
    of phi / Phi over m - 1 arguments: above 0, and at most 3 beyond the largest gap, where that
    quotient is below 0.005, if m <= 500. REACH beyond that, terms are below e^{-50} of the largest.

    A gap is off by 2 units, x + gap by 2 units of both, log Phi by 8 units of itself and the slope,
    at most 1 + |x + gap|, times that of its argument. The largest of these, over all terms that
    count, times m, bounds the error of the logarithm; those that do not are below e^-40. The others
    are within 50 of the largest, so that exp and its argument add 64 units, and the sum one a term.
    """
    from scipy.special import log_ndtr

    n = np.array(curve.votes, dtype=float)
    m, sigma = len(n), curve.sigma
    gaps = n[:, None] - n[None, :]
    farthest = float(n[0] - n[-1] + 2.0) / sigma
    h = math.sqrt(2.0 * math.pi**2 / (LOG_ERROR * m))
    charge(PER_VALUE * (farthest + 3.0 + 2.0 * REACH) / h * m * 5.0 * m)
    x = np.arange(-REACH, farthest + 3.0 + REACH, h)
    moves = np.array([(a, b) for a in range(m) for b in range(m) if a != b and n[a] >= 1.0])
    charge(PER_VALUE * len(x) * m * len(moves))
    logs = {d: log_ndtr(x + ((gaps + d) / sigma)[:, :, None]) for d in (-2, -1, 0, 1, 2)}
    base = -0.5 * x * x - 0.5 * math.log(2.0 * math.pi)
    apart = ~np.eye(m, dtype=bool)[:, :, None]
    whole = {d: np.where(apart, logs[d], 0.0).sum(axis=1) for d in (-1, 0, 1)}

    def integral(exponents: Array) -> Array:
        exponents = base + exponents
        tops = exponents.max(axis=-1)
        value: Array = tops + np.log(np.exp(exponents - tops[..., None]).sum(axis=-1) * h)
        return np.minimum(value, 0.0)

    here = integral(whole[0])
    there = np.empty((len(moves), m))
    more, less = (np.swapaxes(logs[d] - logs[0], 0, 1) for d in (1, -1))
    at_once = max(1, AT_ONCE // (m * len(x)))
    for first in range(0, len(moves), at_once):
        a, b = moves[first : first + at_once].T
        sums = whole[0] + more[a] + less[b]
        rows = np.arange(len(a))
        sums[rows, a] = whole[-1][a] - logs[-1][a, b] + logs[-2][a, b]
        sums[rows, b] = whole[1][b] - logs[1][b, a] + logs[2][b, a]
        there[first : first + at_once] = integral(sums)
    widest = farthest + REACH + 4.0
    error = UNIT * m * (96.0 + 16.0 * widest * widest) + 8.0 * math.exp(-LOG_ERROR)
    return np.broadcast_to(here, there.shape), there, error + UNIT * 8.0 * len(x)
