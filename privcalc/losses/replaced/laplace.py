"""Replacing a record of a Poisson sample under Laplace noise (`losses/replaced/pair.py`).

Let e = sensitivity / scale. Where the noise z is positive, X' = -e is the least there is. With
u = X + e, from 0 to 2 e, the loss is log A(u) - log A(0), A(u) = 1 - q + q e^{u - e}, and minus
that, by symmetry, where the noise is negative. Under R, u has the density e^{-u/2} / 4 and an atom
of mass e^{-e} / 2 at 2 e, on either side.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.closed.laplace import LaplaceLaw
from privcalc.losses.concentration import pure_mu
from privcalc.losses.density import Density
from privcalc.losses.replaced.lattice import LEAST_SHIFT, replaced_convexity
from privcalc.losses.replaced.law import OppositeLaw
from privcalc.losses.replaced.mixtures import OppositePart
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.tails import sampled_loss
from privcalc.losses.tails import Tails
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array


@record
class ReplacedLaplaceLaw(OppositeLaw):
    """The pair of Laplace noise moved up and down, each mixed with itself in place.

    Attributes:
        base: the event's law for adding a record.
        q: sampling probability, 0 < q < 1.
    """

    base: LaplaceLaw
    q: float

    @property
    def half(self) -> float:
        """Return e."""
        return self.base.e

    @cached_property
    def max_loss(self) -> float:
        """Return log A(2 e) - log A(0) = log(1 + 2 q sinh(e) / A(0)), which atoms have."""
        e, q = self.base.e, self.q
        if e > 300.0:
            return sampled_loss(e, q) - sampled_loss(-e, q)
        return math.log1p(2.0 * q * math.sinh(e) / (1.0 - q + q * math.exp(-e)))

    @property
    def max_loss_error(self) -> float:
        """Return the roundings; those of e count by e times the slopes r(2 e) + r(0) <= 2.

        l e r / log A: r(2 e) e <= (1 + e) times the loss, as its slope in e is at least r(e).
        """
        e = self.base.e
        return UNIT * 32.0 + (self.base.max_loss_error + 4.0 * UNIT) * (2.0 + 2.0 * e)

    @property
    def anchors(self) -> tuple[float, ...]:
        """Return the two atoms, and 0, next to which a rare sample stays."""
        return (-self.max_loss, 0.0, self.max_loss)

    def whole_parts(self) -> tuple[OppositePart, ...]:
        """Return the density of u on either side."""
        density, end = Density(math.log(0.25), -0.5, 0.0), 2.0 * self.base.e
        return tuple(
            OppositePart(self.mixtures, density, 0.0, end, mirrored=False, flipped=flipped)
            for flipped in (False, True)
        )

    def atoms(self) -> tuple[tuple[float, float, bool], ...]:
        """Return those at 2 e."""
        e = self.base.e
        mass = max(0.5 * math.exp(-e), 1e-320)
        return (2.0 * e, mass, False), (2.0 * e, mass, True)

    def places(self, losses: Array) -> tuple[Array, float]:
        """Return u of losses >= 0, and by how much the loss of the rounded u may differ.

        u = log(1 + x), x = A(0) / b expm1(l) with b = q e^-e; the log of x is off by 16 units of
        its terms, u by min(1, x) times that and 4 units of itself, and the slope is r(u) <= 1.
        """
        e, q = self.base.e, self.q
        with np.errstate(divide="ignore"):
            log_rise = losses + np.log(-np.expm1(-losses))
        log_b = math.log(q) - e
        log_x = float(self.mixtures.log_factor(np.zeros(1))[0]) - log_b + log_rise
        u = np.logaddexp(0.0, log_x)
        terms = 2.0 * abs(log_b) + np.where(losses > 0.0, np.abs(log_rise), 0.0) + losses + 2.0
        moved = 16.0 * terms * np.minimum(1.0, np.exp(np.minimum(log_x, 0.0))) + 4.0 * u
        slope = 1.1 * self.mixtures.share(u)
        return u, UNIT * float((moved * np.minimum(slope, 1.0)).max(initial=0.0))

    def tails(self, losses: Array) -> Tails:
        """Return the masses of {u > u(l)} on the positive side, or by symmetry.

        Below 0, {L <= l} is the mirror image of {L >= -l}, under the other law.
        """
        up = losses >= 0.0
        above_p, above_q, below_p, below_q = (np.empty(losses.shape) for _ in range(4))
        error = np.empty(losses.shape)
        between_p, between_q = np.zeros((2, max(len(losses) - 1, 0)))
        between_error = np.full(between_p.shape, np.inf)
        shift = LEAST_SHIFT
        for side, sign in ((up, 1.0), (~up, -1.0)):
            if not side.any():
                continue
            order = slice(None) if sign > 0.0 else slice(None, None, -1)
            half = self._half(sign * losses[side][order])
            p = (half.above_p, half.below_p, np.asarray(half.between_p))
            q = (half.above_q, half.below_q, np.asarray(half.between_q))
            first, second = (p, q) if sign > 0.0 else ((q[1], q[0], q[2]), (p[1], p[0], p[2]))
            above_p[side], below_p[side] = first[0][order], first[1][order]
            above_q[side], below_q[side] = second[0][order], second[1][order]
            error[side] = np.asarray(half.error)[order]
            cells = side[1:] & side[:-1]
            between_p[cells], between_q[cells] = first[2][order], second[2][order]
            between_error[cells] = np.asarray(half.between_error)[order]
            shift = max(shift, half.shift)
        return Tails(
            above_p, above_q, below_p, below_q, error, shift, between_p, between_q, between_error
        )

    def _half(self, losses: Array) -> Tails:
        """Return the tails at increasing losses >= 0.

        On the positive side R{u > t} = e^{-t/2} / 2, W{u <= t} = e^{t/2 - e} / 2 with the negative
        side, and W' is e^-e R. Exponents are off by 2 units of e and t.
        """
        q, e = self.q, self.base.e
        u, moved = self.places(losses)
        top = u >= 2.0 * e
        t = np.minimum(u, 2.0 * e)
        less = math.exp(-e)
        above_r, below_w = 0.5 * np.exp(-0.5 * t), 0.5 * np.exp(0.5 * t - e)
        rise = -np.expm1(-0.5 * np.diff(t))
        between_r, between_w = above_r[:-1] * rise, below_w[1:] * rise
        above_r, below_w = np.where(top, 0.0, above_r), np.where(top, 1.0, below_w)
        slack = UNIT * (24.0 + 8.0 * e)
        rest = 1.0 - q
        return Tails(
            above_p=rest * above_r + q * (1.0 - below_w),
            above_q=(rest + q * less) * above_r,
            below_p=rest * (1.0 - above_r) + q * below_w,
            # Of W', what is left is at least a half.
            below_q=rest * (1.0 - above_r) + q * (1.0 - less * above_r),
            error=np.full(losses.shape, slack),
            shift=(moved + 8.0 * UNIT * e) * MARGIN + LEAST_SHIFT,
            between_p=rest * between_r + q * between_w,
            between_q=(rest + q * less) * between_r,
            between_error=np.where(top[1:], np.inf, slack + 4.0 * UNIT),
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by quadrature, or where M overflows by convexity."""
        double = LaplaceLaw(2.0 * self.base.e, self.base.error).renyi(c)[1]
        alone = sampled(self.base, self.q, remove=True).renyi(c)
        lower, upper = replaced_convexity(c, double, alone, self.q)
        upper = np.minimum(upper, c * self.max_loss * (1.0 + self.max_loss_error) * MARGIN)
        for i, abscissa in enumerate(c):
            try:
                low, high = self.real_order(float(abscissa))
            except NotCertifiedError:
                continue
            lower[i], upper[i] = max(lower[i], low), min(upper[i], high)
        return lower, upper

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return the mu that any pair with such a bounded loss has."""
        return 0.0, pure_mu(self.max_loss * (1.0 + self.max_loss_error))
