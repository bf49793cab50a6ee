"""The two mixtures of opposite records: P = (1 - q) R + q W against Q = (1 - q) R + q W'.

In the coordinate u of `losses/replaced/lattice.py` and `losses/replaced/laplace.py`, with
b = q e^-h, and k = 1 where X' = -u - h, k = 0 where X' = -h, let 1 + y = A(u) = 1 - q + b e^u and
1 + y' = A'(u) = 1 - q + b e^{-ku}. Under Q the ratio is dP/dQ = A / A' = 1 + Y, so that with
a = c + 1 + it, as E_R y = E_R y' = 0,

    M - 1 = E_Q[(1 + Y)^a - 1 - a Y] = E_R[A^a A'^(1 - a) - 1 - a y - (1 - a) y'],

where nothing cancels, as in `losses/quadrature/nodes.py`. With
F(s) = (1 + s y)^a (1 + s y')^(1 - a) the bracket is F(1) - F(0) - F'(0), the integral of
(1 - s) F''(s) over [0, 1], and

    F''(s) = a (a - 1) (y - y')^2 (1 + s y)^(a - 2) (1 + s y')^(-1 - a).

So on rectangles |Re u| in [low, high], |Im u| <= d the bounds of `losses/quadrature/panels.py` on
both factors bound it, their arguments adding up, with

    |y - y'| = b |e^u - e^{-ku}| <= b min(e^high + e^{-k low}, (1 + k) |u| e^{max(high, -k low)}).

A flipped part is one where P and Q have exchanged their roles: a and 1 - a do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.losses.quadrature.part import Outcomes, Part, Range, mixture_range
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.density import Density
    from privcalc.numerics.arrays import Array


@record
class Mixtures:
    """The two mixtures A and A' in terms of u.

    Attributes:
        q: sampling probability, 0 < q < 1.
        half: h, off by 12 units.
    """

    q: float
    half: float

    def log_factor(self, x: Array) -> Array:
        """Return log(1 - q + q e^{x - h})."""
        result: Array = np.logaddexp(math.log1p(-self.q), math.log(self.q) + (x - self.half))
        return result

    def logs(self, u: Array, *, mirrored: bool) -> tuple[Array, Array, Array, Array]:
        """Return the loss, its absolute and relative errors in units, and log of A or A' under Q.

        For |u|, since a mirrored loss is odd: Y = b e^|u| (1 - e^{-(1 + k) |u|}) / A', whose log is
        off by 12 units of its terms and 16 of h; L = log(1 + Y) by min(1, Y) times that and 4
        units. Relative to L that is no more: Y <= (1 + Y) log(1 + Y).
        """
        size = np.abs(u)
        log_other = self.log_factor(-size if mirrored else np.zeros_like(size))
        with np.errstate(divide="ignore"):
            log_rise = np.log(-np.expm1(-(2.0 if mirrored else 1.0) * size))
        log_y = math.log(self.q) - self.half + size + log_rise - log_other
        loss = np.logaddexp(0.0, log_y)
        terms = abs(math.log(self.q)) + 2.0 * self.half + size - np.maximum(log_rise, -1e3)
        relative = 12.0 * (terms + np.abs(log_other) + 2.0)
        off = relative * np.minimum(1.0, np.exp(np.minimum(log_y, 0.0))) + 4.0 * loss
        signed = np.sign(u) * loss if mirrored else loss
        log_q = np.where(u < 0.0, self.log_factor(size), log_other) if mirrored else log_other
        return signed, off, relative + 4.0, log_q

    def share(self, x: Array) -> Array:
        """Return q e^{x - h} / (1 - q + q e^{x - h})."""
        log_w = math.log(self.q) + (x - self.half)
        result: Array = np.exp(log_w - self.log_factor(x))
        return result

    def outcomes(
        self,
        u: Array,
        log_w: Array,
        jitter: Array,
        moved: Array,
        exponent: float,
        *,
        mirrored: bool,
        flipped: bool,
    ) -> Outcomes:
        """Return outcomes under Q, with the errors of the mixtures added to those of u.

        Args:
            u: places.
            log_w: log weights under R.
            jitter: relative change of weight times integrand that an error of u makes, in units.
            moved: error of the loss that it makes, in units.
            exponent: of the power of 1 + Y that the errors are to cover.
            mirrored: whether k = 1.
            flipped: whether the outcomes have -L for L.
        """
        loss, off, relative, log_q = self.logs(u, mirrored=mirrored)
        if flipped:
            loss, log_q = -loss, log_q + loss
        with np.errstate(over="ignore"):
            y = np.expm1(loss)
        jitter = jitter + (2.0 * abs(exponent) + 1.0) * off + 6.0 * relative
        return Outcomes(log_w + log_q, y, loss, jitter, moved + off)


@record
class OppositePart(Part):
    """Outcomes whose density under R, in u, is one exponential, between two finite ends.

    Attributes:
        mixtures: A and A'.
        density: under R.
        low: where the part begins.
        high: where it ends.
        mirrored: whether X' = -u - h (k = 1), and not -h.
        flipped: whether the outcomes have -L for L.
    """

    mixtures: Mixtures
    density: Density
    low: float
    high: float
    mirrored: bool
    flipped: bool = False

    # Two mixtures bend where one does.
    search_width: ClassVar[float] = 1.0

    @property
    def _k(self) -> float:
        return 1.0 if self.mirrored else 0.0

    def factors(
        self, low: Array, high: Array, height: Array, exponent: float, *, path: bool
    ) -> list[tuple[float, Range]]:
        """Return A and A' with the powers a and 1 - a, or the other way round."""
        q, h, k = self.mixtures.q, self.mixtures.half, self._k
        power = 1.0 - exponent if self.flipped else exponent
        return [
            (power, mixture_range(q, low - h, high - h, height, path=path)),
            (1.0 - power, mixture_range(q, -k * high - h, -k * low - h, k * height, path=path)),
        ]

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Bound |y - y'| (see the module)."""
        k = self._k
        radius = np.maximum(np.abs(low), np.abs(high)) + height
        reach = np.maximum(np.maximum(high, -k * low), 0.0)
        apart = np.minimum(np.logaddexp(high, -k * low), np.log((1.0 + k) * radius) + reach)
        log_y: Array = math.log(self.mixtures.q) - self.mixtures.half + apart
        return log_y

    def outcomes(self, x: Array, log_weights: Array, reach: Array, exponent: float) -> Outcomes:
        """Return the outcomes under Q at nodes, which are off by 2 units of their reach.

        The two mixtures have logs of slope at most 1; the remainder is a square near u = 0.
        """
        density = self.density
        moved = 2.0 * reach
        steep = np.abs(density.log_slope(x)) + 2.0 + 2.0 * abs(exponent)
        steep = steep + 2.0 / np.maximum(np.abs(x), 1e-200)
        own = 10.0 * (density.terms(x) + np.abs(log_weights) + 1.0) + moved * steep
        log_w = log_weights + density.log_density(x)
        return self.mixtures.outcomes(
            x, log_w, own, 2.0 * moved, exponent, mirrored=self.mirrored, flipped=self.flipped
        )

    def tilted(self, x: Array, exponent: float) -> tuple[Array, list[Array]]:
        """Return log g with g = f A^a A'^(1 - a) / (r + k r'), and the terms of its slope.

        With the shares r = (log A)' and r' of A and A'(-u), of which one grows and the other falls,
        r_u = r (1 - r):

            (log g)' = (log f)' + a r - (1 - a) k r' - s,    s = 1 - r for k = 0,
            s = (r (1 - r) - r' (1 - r')) / (r + r') = (r - r') / (r + r') - (r - r') for k = 1.
        """
        mixtures, k = self.mixtures, self._k
        a = 1.0 - exponent if self.flipped else exponent
        r, opposite = mixtures.share(x), k * mixtures.share(-x)
        log_g = self.density.log_density(x) + a * mixtures.log_factor(x)
        log_g = log_g + (1.0 - a) * mixtures.log_factor(-k * x) - np.log(r + opposite)
        terms = [self.density.log_slope(x), a * r, (a - 1.0) * opposite]
        if self.mirrored:
            return log_g, [*terms, -(r - opposite) / (r + opposite), r - opposite]
        return log_g, [*terms, r - 1.0]
