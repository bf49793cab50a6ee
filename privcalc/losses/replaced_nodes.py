"""Certified nodes for two opposite records: P = (1 - q) R + q W against Q = (1 - q) R + q W'.

In the coordinate u of `losses/replaced_lattice.py` and `losses/replaced_laplace.py`, with
b = q e^-h, and k = 1 where X' = -u - h, k = 0 where X' = -h, let 1 + y = A(u) = 1 - q + b e^u and
1 + y' = A'(u) = 1 - q + b e^{-ku}. Under Q the ratio is dP/dQ = A / A' = 1 + Y, so that with
a = c + 1 + it, as E_R y = E_R y' = 0,

    M - 1 = E_Q[(1 + Y)^a - 1 - a Y] = E_R[A^a A'^(1 - a) - 1 - a y - (1 - a) y'],

where nothing cancels, as in `losses/nodes.py`. With F(s) = (1 + s y)^a (1 + s y')^(1 - a) the
bracket is F(1) - F(0) - F'(0), the integral of (1 - s) F''(s) over [0, 1], and

    F''(s) = a (a - 1) (y - y')^2 (1 + s y)^(a - 2) (1 + s y')^(-1 - a).

So on rectangles |Re u| in [low, high], |Im u| <= d the bounds of `losses/quadrature.py` on both
factors bound it, their arguments adding up, with

    |y - y'| = b |e^u - e^{-ku}| <= b min(e^high + e^{-k low}, (1 + k) |u| e^{max(high, -k low)}).

A flipped part is one where P and Q have exchanged their roles: a and 1 - a do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.nodes import NodeSet
from privcalc.losses.quadrature import (
    Integrand,
    certified_panels,
    log_density_supremum,
    mixture_range,
)
from privcalc.numerics.gauss_legendre import POINTS, composite_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.log_ratio import Piece
    from privcalc.numerics.arrays import Array


@dataclass(frozen=True, slots=True)
class Part:
    """Outcomes whose density under R, in u, is one piece, between two finite ends.

    Attributes:
        piece: the density.
        low: where the part begins.
        high: where it ends.
        mirrored: whether X' = -u - h (k = 1), and not -h.
        flipped: whether the outcomes have -L for L.
    """

    piece: Piece
    low: float
    high: float
    mirrored: bool
    flipped: bool = False


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class OppositeIntegrand(Integrand):
    """f(u) times A^a A'^(1 - a), or that remainder, on one part."""

    half: float
    mirrored: bool
    flipped: bool

    def _log_supremum(self, low: Array, high: Array, height: Array) -> Array:
        k = 1.0 if self.mirrored else 0.0
        log_f = log_density_supremum(self.piece, low, high, height)
        first = mixture_range(self.q, low - self.half, high - self.half, height)
        other = mixture_range(self.q, -k * high - self.half, -k * low - self.half, k * height)
        powers = [self.exponent, 1.0 - self.exponent]
        if self.flipped:
            powers.reverse()
        log_g = self.t_max * (first[2] + other[2])
        for power, (largest, smallest, _) in zip(powers, (first, other), strict=True):
            used = power - 2.0 if self.remainder else power
            log_g = log_g + used * (largest if used >= 0.0 else smallest)
        if self.remainder:
            modulus = math.hypot(self.exponent, self.t_max) * math.hypot(
                self.exponent - 1.0, self.t_max
            )
            radius = np.maximum(np.abs(low), np.abs(high)) + height
            reach = np.maximum(high, -k * low)
            apart = np.minimum(
                np.logaddexp(high, -k * low),
                np.log((1.0 + k) * radius) + np.maximum(reach, 0.0),
            )
            log_y = math.log(self.q) - self.half + apart
            log_g = log_g + 2.0 * log_y + math.log(0.5 * modulus + 1e-300)
        result: Array = log_f + log_g
        return result


def opposite_nodes(
    mixtures: Mixtures,
    parts: Sequence[Part],
    atoms: Sequence[tuple[float, float, bool]],
    *,
    c: float,
    t_max: float,
    log_target: float,
    remainder: bool,
    out: tuple[float, float],
) -> NodeSet:
    """Place certified nodes under Q.

    Args:
        mixtures: A and A'.
        parts: the densities.
        atoms: places u, masses under R, and whether they are flipped; not mirrored.
        c: order minus 1.
        t_max: the nodes are to hold for |t| up to that.
        log_target: log of the error that each part, and leaving out faint nodes, may add.
        remainder: whether M - 1 is integrated, or M.
        out: Q- and P-mass outside of the parts.

    Raises:
        NotCertifiedError: too many panels would be needed.
    """
    exponent = c + 1.0
    log_w: list[Array] = []
    losses: list[Array] = []
    shake: list[Array] = []
    shift: list[Array] = []
    error = 0.0
    for part in parts:
        if not part.high > part.low:
            continue
        piece = part.piece
        integrand = OppositeIntegrand(
            piece,
            mixtures.q,
            exponent,
            t_max,
            remainder,
            mixtures.half,
            part.mirrored,
            part.flipped,
        )
        centres, halves, bound = certified_panels(integrand, part.low, part.high, log_target)
        u, log_weights = composite_rule(centres, halves)
        log_density = piece.constant + (piece.slope - 0.5 * piece.curvature * u) * u
        terms = abs(piece.constant) + (abs(piece.slope) + piece.curvature * np.abs(u)) * np.abs(u)
        moved = 2.0 * np.repeat(np.abs(centres) + halves, POINTS)
        # The two mixtures have logs of slope at most 1; the remainder is a square near u = 0.
        steep = np.abs(piece.slope - piece.curvature * u) + 2.0 + 2.0 * abs(exponent)
        steep = steep + 2.0 / np.maximum(np.abs(u), 1e-200)
        loss, off, relative, log_q = mixtures.logs(u, mirrored=part.mirrored)
        if part.flipped:
            loss, log_q = -loss, log_q + loss
        units = 10.0 * (terms + np.abs(log_weights) + 1.0) + moved * steep
        shake.append(units + (2.0 * abs(exponent) + 1.0) * off + 6.0 * relative)
        shift.append(off + 2.0 * moved)
        log_w.append(log_weights + log_density + log_q)
        losses.append(loss)
        error += bound
    for place, mass, flipped in atoms:
        loss, off, relative, log_q = mixtures.logs(np.array([place]), mirrored=False)
        if flipped:
            loss, log_q = -loss, log_q + loss
        log_w.append(math.log(mass) + log_q)
        losses.append(loss)
        shake.append(64.0 + 8.0 * abs(place) + (2.0 * abs(exponent) + 1.0) * off + 6.0 * relative)
        shift.append(off + 8.0 * abs(place))
    if not losses:
        raise NotCertifiedError("nothing is left to integrate")
    loss = np.concatenate(losses)
    with np.errstate(over="ignore"):
        y = np.expm1(loss)
    nodes = NodeSet(
        np.concatenate(log_w),
        y,
        loss,
        np.concatenate(shake),
        np.concatenate(shift),
        exponent,
        t_max,
        error,
        out,
        1.0,
    )
    return nodes.pruned(math.exp(log_target) * 0.1, remainder=remainder)
