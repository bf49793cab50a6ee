"""Sampled laws with atoms beside a density, and sampled Gaussians that are cut for a tail split.

Edges. In e^{itl} a density is only seen at its edges when t is large. On the path of
`losses/sampled/parts.py`, up from one edge and down to the other, it decays; the number of nodes
does not grow with t where each stretch of t is twice as long as the one before.

A cut. Of the law of `losses/sampled/law.py`, with x = log dW/dR, the part A = [low, top] and the
part J = (top, far] of the outcomes; with a = s + 1 on the removing side and a = -u on the adding
one,

    A(a) = E_R[(1 + y)^a; low <= x <= top],      J(u) = E_R[(1 + y)^{-u}; top < x <= far].

The cut is a choice, so that its ends are exact doubles.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.quadrature import (
    LOSS_UNITS,
    NodeSet,
)
from privcalc.losses.sampled.law import QuadratureContour, TailSplitLaw
from privcalc.losses.sampled.parts import ShiftedPart
from privcalc.numerics.fourier import PHASE_ULPS, progression_sums, run_sums, sum_units
from privcalc.numerics.normal import log_tail, normal_tail
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound, log1p_with_error
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.losses.quadrature import Normal
    from privcalc.losses.sampled.parts import MixturePart, SampledPart
    from privcalc.numerics.rounding import Array, ComplexArray

# Transforms below this are not told from what underflowed.
LEAST = 1e-280
# Largest t l up to which phases are summed on the real line alone; where they are longer, up to
# PLAIN, and then on shifted lines, which have about so many nodes.
LONG, PLAIN, ON_SHIFTED = 2000.0, 80.0, 150.0
# What all terms together that underflow amount to is below this.
UNDERFLOW = 1e-300


@record
class CutLaw:
    """A Poisson-sampled Gaussian, or a group of records of one, cut at `top`.

    Attributes:
        law: the whole law.
        low: outcomes below are left out.
        top: where it is cut.
        far: outcomes beyond are left out of J; at least `top`, and no more where there is no J.
    """

    law: TailSplitLaw
    low: float
    top: float
    far: float

    @property
    def piece(self) -> Normal:
        """Return the density of x under R."""
        return self.law.normal

    @property
    def part(self) -> SampledPart | MixturePart:
        """Return the part A."""
        return self.between(self.low, self.top)

    def between(self, low: float, high: float) -> SampledPart | MixturePart:
        """Return the outcomes between two places."""
        return self.law.between(low, high)

    @property
    def top_loss(self) -> float:
        """Return about the loss at the cut."""
        return float(self.part.losses(np.array([self.top]))[1][0])

    @property
    def whole(self) -> bool:
        """Whether nothing is cut off but what is left out."""
        return self.alone

    @property
    def alone(self) -> bool:
        """Whether there is no J beside A."""
        return self.top >= self.far

    @property
    def mass_beyond(self) -> float:
        """Return an upper bound on the P-mass above `top`, for removing; 1e-300 for underflow."""
        w, error = self.law.tail_of_w(self.top, right=True)
        r = exp_bound(log_tail((self.top - self.piece.mean) / self.piece.deviation * (1.0 - 1e-12)))
        rate = self.law.rate
        return ((1.0 - rate) * r + rate * w * (1.0 + error) + 1e-300) * MARGIN

    @property
    def tails(self) -> tuple[float, float, float]:
        """Return R(x > top), W(x > top) and a bound on their relative error.

        Raises:
            NotCertifiedError: they are too near the end of the range of doubles.
        """
        piece = self.piece
        r, r_error = normal_tail(self.top - piece.mean, piece.mean, piece.deviation)
        w, w_error = self.law.tail_of_w(self.top, right=True)
        error = max(r_error, w_error)
        if not (min(r, w) > LEAST and error < 1e-6):
            raise NotCertifiedError("the tail beyond the split is too small, or too inexact")
        return r, w, error

    @property
    def _outside(self) -> tuple[float, float, float]:
        """Return R and W outside [low, top], and their relative error."""
        piece = self.piece
        r, w, error = self.tails
        low_r, r_error = normal_tail(piece.mean - self.low, piece.mean, piece.deviation)
        low_w, w_error = self.law.tail_of_w(self.low, right=False)
        return r + low_r, w + low_w, (max(error, r_error, w_error) + 2.0 * UNIT) * MARGIN

    @property
    def log_below(self) -> float:
        """Return an upper bound on log R(x < low); there P <= R, as e^x < 1."""
        piece = self.piece
        return log_tail((piece.mean - self.low) / piece.deviation * (1.0 - 1e-12))

    @property
    def log_far(self) -> float:
        """Return an upper bound on log R(x > far)."""
        piece = self.piece
        return log_tail((self.far - piece.mean) / piece.deviation * (1.0 - 1e-12))

    def near(self, c: float, t_max: float, log_error: float, *, remove: bool) -> QuadratureContour:
        """Prepare A(c + 1 + it), or A(-(c + it)) for adding, to an absolute quadrature error."""
        exponent = c + 1.0 if remove else -c
        r, w, relative = self._outside
        nodes = NodeSet.placed(
            self.part,
            (exponent, t_max),
            log_error,
            remainder=True,
            out=(r, w),
            rate=self.law.rate,
            out_error=relative,
        )
        law = self.law if remove else replace(self.law, remove=False)
        return QuadratureContour(law, c, nodes)

    def contour(
        self, c: float, t_max: float, log_error: float, *, remove: bool
    ) -> QuadratureContour | PowerPart:
        """Prepare the same; where phases are long, as a sum of powers."""
        if self.law.lines and t_max * max(self.top_loss, -math.log1p(-self.law.rate)) > LONG:
            exponent, ends = c + 1.0 if remove else -c, (self.low, self.top)
            return PowerPart(self, exponent, ends, t_max, log_error, remove=remove)
        return self.near(c, t_max, log_error, remove=remove)

    def beyond(self, c: float, t_max: float, log_error: float, *, remove: bool) -> PowerPart:
        """Prepare J(c + 1 + it), or J(-(c + it)) for adding, to an absolute quadrature error."""
        exponent, ends = c + 1.0 if remove else -c, (self.top, self.far)
        return PowerPart(self, exponent, ends, t_max, log_error, remove=remove)


class PowerPart:
    """E_R[(1 + y)^a; low < x <= high], a = e + it, or e - it for adding: positive weights.

    On the real line for short phases, and for groups; elsewhere, where they are long, block by
    block of t, each twice as long as the last, on a shifted line (`losses/sampled/parts.py`).

    Rounding on the real line: exp of log_w + e l is off by the errors of the exponent, `jitter`
    units from x and the density and LOSS_UNITS of e l, and 16 more; the phases by PHASE_ULPS,
    LOSS_UNITS of t l and t times what x moved; the sum by a unit a term.
    """

    def __init__(
        self,
        cut: CutLaw,
        exponent: float,
        ends: tuple[float, float],
        t_max: float,
        log_error: float,
        *,
        remove: bool,
    ) -> None:
        """Place the nodes of the real line, and sum up what the errors depend on."""
        part = cut.between(*ends)
        self._path = part, exponent
        self._log_error, self._direction = log_error, 1.0 if remove else -1.0
        longest = float(part.losses(np.array(ends[1:]))[1][0])
        short = not cut.law.lines or t_max * longest <= LONG
        self._plain_to = t_max if short else PLAIN / longest
        nodes = NodeSet.placed(
            part,
            (exponent, self._plain_to),
            log_error,
            remainder=False,
        )
        _, _, loss, jitter, moved = nodes.outcomes
        self._loss, self._tilted = loss, nodes.tilted
        loss = np.abs(loss)
        units = 16.0 + PHASE_ULPS + sum_units(len(loss)) + 3.0 * jitter
        units = units + LOSS_UNITS * abs(nodes.exponent) * loss
        self._noise = UNIT * float((self._tilted * units).sum()) + UNDERFLOW + nodes.quadrature
        self._phase_noise = UNIT * float((self._tilted * (LOSS_UNITS * loss + moved)).sum())

    @property
    def size(self) -> int:
        """Return the number of nodes that every t costs, about."""
        return len(self._tilted)

    @property
    def mgf_range(self) -> tuple[float, float]:
        """Return bounds on the value at t = 0, the lower one perhaps 0."""
        total = float(run_sums(self._tilted)[0])
        return max(0.0, total - self._noise * MARGIN), (total + self._noise) * MARGIN

    def progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return the values and bounds on their absolute errors at t = k step, k < count."""
        first = min(count, int(self._plain_to / step) + 1)
        signed = self._direction * self._loss
        values = [progression_sums(step, first, signed, self._tilted)]
        t = step * np.arange(first)
        errors = [(self._noise + t * self._phase_noise) * MARGIN]
        while first < count:
            block = min(first, count - first)
            times = (first * step, (first + block) * step)
            whole, exponent = self._path
            part = ShiftedPart(cast("SampledPart", whole), exponent, times, self._log_error)
            found = part.progression(step, first, block)
            values.append(found if self._direction > 0.0 else found.conj())
            errors.append(np.full(block, part.error))
            first += block
        return np.concatenate(values), np.concatenate(errors)

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return the logs, and their errors; less 1 a power is off by a unit of both more."""
        value, error = self.progression(step, count)
        return log1p_with_error(value - 1.0, error + UNIT * (1.0 + np.abs(value)))
