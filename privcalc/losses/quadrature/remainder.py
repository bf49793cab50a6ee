"""M(c + it) - 1 of a law from certified nodes, with all its errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.arrays import vertical
from privcalc.numerics.phases import PHASE_ULPS, block_sums, phase_sums, progression_sums
from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.losses.quadrature.nodes import NodeSet
    from privcalc.numerics.arrays import Array, ComplexArray, Mask

# Nodes with |a l| below this use the power series of the remainder.
SERIES_BELOW = 0.5
SERIES_TERMS = 17
# l = log(1 + y) is off by so many units of itself, beside what outcomes are charged for, and its
# product with an exponent or a t by one more: y = q expm1(x) by 9, which log1p multiplies by at
# most y / ((1 + y) log1p(y)) < 1.45 where y > -1/2, and adds 8; below, 1 - q + q e^x is off by 11,
# and |l| >= log 2.
LOSS_UNITS = 24.0


class RemainderSum:
    """M(c + it) - 1 from a node set."""

    def __init__(self, c: float, nodes: NodeSet, *, remove: bool) -> None:
        """Split the nodes into those summed by power series and those summed directly.

        Args:
            c: abscissa.
            nodes: of the exponent c + 1, or of -c.
            remove: which of the two.
        """
        self.c, self.nodes, self.remove = c, nodes, remove
        self._direction = 1.0 if remove else -1.0
        largest = math.hypot(max(abs(nodes.exponent), 1.0), nodes.t_max)
        small = largest * np.abs(nodes.outcomes.loss) < SERIES_BELOW
        self._prepare_series(small)
        self._prepare_direct(~small)

    def _prepare_series(self, small: Mask) -> None:
        """Sum sum_{k>=2} (a^k - a) m_k with m_k = sum w l^k / k!, as a (a - 1) sum_j r_j a^j.

        r_j = sum_{k >= j + 2} m_k, since a^k - a = a (a - 1) (1 + a + ... + a^{k - 2}).
        """
        nodes = self.nodes
        log_w, _, loss, jitter, _ = nodes.only(small)
        w = np.exp(log_w)
        moments, sizes = [], []
        term, size = w * loss, w * np.abs(loss) * (64.0 + len(w) + 3.0 * jitter)
        for k in range(2, SERIES_TERMS + 1):
            term, size = term * loss / k, size * np.abs(loss) / k
            moments.append(term.sum())
            sizes.append(size.sum())
        self._series = np.cumsum(np.array(moments)[::-1])
        self._series_noise = np.cumsum(np.array(sizes)[::-1]) * UNIT
        # What the series leaves out: (|a|^k + |a|) |l|^k / k! for k > SERIES_TERMS, below
        # 2.1 (A |l|)^(n + 1) / (n + 1)! with A = max(|a|, 1) and A |l| < 1/2.
        reach = math.hypot(max(abs(nodes.exponent), 1.0), nodes.t_max)
        order = SERIES_TERMS + 1
        self._series_rest = (
            2.1 * float((w * (reach * np.abs(loss)) ** order).sum()) / math.factorial(order)
        )

    def _prepare_direct(self, large: Mask) -> None:
        nodes = self.nodes
        log_w, y, loss, jitter, moved = nodes.only(large)
        self._loss, self._tilted = loss, nodes.tilted[large]
        w = np.exp(log_w)
        # w y in log space: y may be huge where w is tiny.
        wy = np.where(np.abs(y) < 1e200, w * y, np.exp(log_w + np.maximum(loss, 0.0)))
        self._weight, self._weight_y = float(w.sum()), float(wy.sum())
        charge = 16.0 + PHASE_ULPS + COMPLEX_TERM * len(w) + 3.0 * jitter
        exponent = abs(nodes.exponent)
        self._direct_noise = UNIT * float(
            (self._tilted * (charge + LOSS_UNITS * exponent * np.abs(loss))).sum()
            + (w * charge).sum()
        )
        self._direct_noise_y = UNIT * float((np.abs(wy) * (charge + 16.0)).sum())
        # The phase t l: t is off by no unit, x by what `moved` says.
        shaken = LOSS_UNITS * np.abs(loss) + moved
        self._phase_noise = UNIT * float((self._tilted * shaken).sum())

    @property
    def size(self) -> int:
        """Return the number of nodes that every t costs."""
        return len(self._loss) + SERIES_TERMS

    def minus_one(self, t: Array, sums: ComplexArray | None = None) -> tuple[ComplexArray, Array]:
        """Return M(c + it) - 1 and a bound on its absolute error, quadrature included.

        `sums` may give sum of tilted e^{itl} over the direct nodes, where it is known already.
        """
        nodes = self.nodes
        a = vertical(nodes.exponent, self._direction * t)
        modulus = np.abs(a)
        # For remove, a - 1 = c + it exactly; forming it from a would lose digits of a small c.
        a_minus_one = vertical(self.c, t) if self.remove else a - 1.0
        product = a * a_minus_one
        value = product * np.polyval(self._series, a)
        error = np.abs(product) * np.polyval(self._series_noise, modulus) + self._series_rest
        if len(self._loss):
            if sums is None:
                sums = phase_sums(t, self._direction * self._loss, self._tilted[:, None])[:, 0]
            value = value + sums - self._weight - a * self._weight_y
            error = error + self._direct_noise + modulus * self._direct_noise_y
            error = error + np.abs(t) * self._phase_noise
        out_r, out_w = nodes.out
        value = value - out_r + a * nodes.rate * (out_r - out_w)
        error = error + nodes.out_error * (out_r + modulus * nodes.rate * (out_r + out_w))
        return value, (error + 8.0 * UNIT * np.abs(value)) * MARGIN + nodes.quadrature * MARGIN

    def minus_one_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return M - 1 and its error at t = k step, k < count."""
        sums = None
        if len(self._loss):
            signed = self._direction * self._loss
            sums = progression_sums(0.0, step, count, signed, self._tilted[:, None])[:, 0]
        return self.minus_one(step * np.arange(count), sums)

    def minus_one_blocks(self, starts: Array, step: float, size: int) -> tuple[ComplexArray, Array]:
        """Return M - 1 and its error at t = start + k step, k < size; a row for each start."""
        t = starts[:, None] + step * np.arange(size)
        sums = None
        if len(self._loss):
            signed = self._direction * self._loss
            sums = block_sums(starts, step, size, signed, self._tilted).ravel()
        value, error = self.minus_one(t.ravel(), sums)
        return value.reshape(t.shape), error.reshape(t.shape)
