"""Rough transforms of cut laws on a grid, for searches only: nothing here is certified.

Wrong values cost width or time, never truth: what a certificate uses is evaluated again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.sampled.cut import TailSplitLaw
    from privcalc.numerics.arrays import Array, Integers

# Outcomes, in deviations of R below its mean and of W above its own, and their distance; where the
# means are so far apart that there were more of them, they are farther apart.
BELOW, ABOVE, STEP, MOST = 10.0, 14.0, 0.1, 4000
# Beyond this, powers count as infinite: made merely large, they would attract searches.
LARGEST = 690.0
# Laws with less than this beyond a level are not cut there.
NOTHING = 1e-36
# Transforms below this have underflowed, or may have.
LEAST = 1e-280
# Laws whose outcomes are remembered, and the work of one at all orders and levels.
MANY_LAWS, PER_LAW = 1000, 5000.0


@record
class Outcomes:
    """Outcomes of one law: weights under R, y, l, and the tails beyond the cell of each."""

    weights: Array
    y: Array
    loss: Array
    tail_r: Array
    tail_w: Array

    @classmethod
    def of(cls, law: TailSplitLaw) -> Outcomes:
        """Take cells of equal size around all means."""
        piece = law.normal
        step = max(STEP, (BELOW + law.farthest + ABOVE) / MOST)
        z = np.arange(-BELOW, law.farthest + ABOVE, step)
        y, loss, _ = law.losses(piece.mean + piece.deviation * z)
        tails = _tails(law, piece.mean + piece.deviation * (z + 0.5 * step))
        return cls(np.exp(-0.5 * z * z) * (step / math.sqrt(2.0 * math.pi)), y, loss, *tails)


@remembered(MANY_LAWS)
def _outcomes(law: TailSplitLaw) -> Outcomes:
    return Outcomes.of(law)


@record
class Tables:
    """Sums over all laws, at every order (rows) and every level (columns).

    Attributes:
        right: sum of n log A(c + 1).
        left: sum of n log of the whole transform at -w.
        rest: sum of n log(1 + J / A) at -w; not a number where J underflows.
        log_p: log P(no loss beyond the level).
        log_q: log Q of the same.
    """

    right: Array
    left: Array
    rest: Array
    log_p: Array
    log_q: Array

    @classmethod
    def of(cls, law: TailSplitLaw, count: int, orders: Array, levels: Array) -> Tables:
        """Evaluate one law, for the removing side at the orders and for the adding side alike."""
        charge(PER_LAW)
        found = _outcomes(law)
        index = np.clip(np.searchsorted(found.loss, levels) - 1, 0, len(found.loss) - 1)
        tail_r, tail_w = found.tail_r[index], found.tail_w[index]
        with np.errstate(all="ignore"):
            right = count * np.log1p(_below(found, law.rate, orders + 1.0, index))
            whole = _below(found, law.rate, -orders, index)
            terms = found.weights * np.exp(-np.minimum(orders[:, None] * found.loss, LARGEST))
            later = np.cumsum(terms[:, ::-1], axis=1)[:, ::-1]
            beyond = np.concatenate([later[:, 1:], np.zeros((len(orders), 1))], axis=1)[:, index]
            rest = count * np.log1p(beyond / (1.0 + whole))
            rest = np.where((beyond > LEAST) & (rest > 0.0), rest, np.nan)
            rest = np.where(np.isnan(rest) & (tail_r < NOTHING), 0.0, rest)
            log_p = count * np.log1p(
                -np.minimum((1.0 - law.rate) * tail_r + law.rate * tail_w, 1.0)
            )
            log_q = count * np.log1p(-np.minimum(tail_r, 1.0))
        return cls(right, count * np.log1p(whole), rest, log_p, log_q)

    def __add__(self, other: Tables) -> Tables:
        """Return the table of both."""
        return Tables(
            self.right + other.right,
            self.left + other.left,
            self.rest + other.rest,
            self.log_p + other.log_p,
            self.log_q + other.log_q,
        )


def _tails(law: TailSplitLaw, x: Array) -> tuple[Array, Array]:
    """Return the R- and W-masses to the right of places."""
    scale = law.normal.deviation * math.sqrt(2.0)
    r = [0.5 * math.erfc(each) for each in ((x - law.normal.mean) / scale).tolist()]
    w = [law.tail_of_w(each, right=True)[0] for each in x.tolist()]
    return np.array(r), np.array(w)


def _below(found: Outcomes, q: float, exponents: Array, index: Integers) -> Array:
    """Return A - 1 for each exponent and cut: the remainder form, summed once for all cuts."""
    e = exponents[:, None]
    sums = np.cumsum(_excess(e, found.loss, found.y) * found.weights, axis=1)[:, index]
    tail_r, tail_w = found.tail_r[index], found.tail_w[index]
    result: Array = sums - tail_r + e * q * (tail_r - tail_w)
    return result


def _excess(exponents: Array, loss: Array, y: Array) -> Array:
    """Return (1 + y)^a - 1 - a y, infinite where it is too large."""
    power = exponents * loss
    full = np.exp(np.minimum(power, LARGEST)) - 1.0 - exponents * y
    series = 0.5 * exponents * (exponents - 1.0) * loss**2 * (1.0 + (exponents + 1.0) * loss / 3.0)
    small = (np.abs(power) < 1e-3) & (np.abs(loss) < 1e-3)
    return np.where(power > LARGEST, np.inf, np.where(small, series, full))


def near_sums(law: TailSplitLaw, top: float, exponents: Array) -> Array:
    """Return A - 1 for a cut exactly at `top`: midpoints of cells that are graded towards it."""
    piece = law.normal
    z_top = (top - piece.mean) / piece.deviation
    low = min(z_top - 1.0, -BELOW)
    count = min(MOST, max(8, math.ceil((z_top - low) / STEP)))
    depth = np.linspace(STEP, z_top - low, count)
    edges = z_top - np.concatenate([[0.0], np.geomspace(1e-4, STEP, 30)[:-1], depth])
    z = 0.5 * (edges[1:] + edges[:-1])
    weights = np.exp(-0.5 * z * z) * -np.diff(edges) / math.sqrt(2.0 * math.pi)
    y, loss, _ = law.losses(piece.mean + piece.deviation * z)
    tail_r, tail_w = (float(each[0]) for each in _tails(law, np.array([top])))
    e = exponents[:, None]
    with np.errstate(all="ignore"):
        sums = (_excess(e, loss, y) * weights).sum(axis=1)
    result: Array = sums - tail_r + exponents * law.rate * (tail_r - tail_w)
    return result


def far_sums(law: TailSplitLaw, top: float, orders: Array) -> Array:
    """Return J at each order, cells graded from `top`; not a number where it underflows."""
    piece = law.normal
    z_top = (top - piece.mean) / piece.deviation
    edges = z_top + np.concatenate([[0.0], np.geomspace(1e-5, 14.0, 130)])
    z = 0.5 * (edges[1:] + edges[:-1])
    weights = np.exp(-0.5 * z * z) * np.diff(edges) / math.sqrt(2.0 * math.pi)
    loss = law.losses(piece.mean + piece.deviation * z)[1]
    sums = (weights * np.exp(-np.minimum(orders[:, None] * loss, 740.0))).sum(axis=1)
    return np.where(sums > LEAST, sums, np.nan)
