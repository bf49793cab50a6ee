"""A sampled Gaussian in two parts that overlap: its outcomes up to about a place, and the others.

With x = log dW/dR normal under R and 1 + y = 1 - q + q e^x, removing a record has M(s) = E_R
(1 + y)^(s + 1). For a weight V between 0 and 1 that grows with x,

    M = N + F,    N(s) = E_R (1 - V) (1 + y)^(s + 1),    F(s) = E_R V (1 + y)^(s + 1),

are transforms of measures, as if each use were said to be beyond the place with probability V. A
sharp cut has an edge, whose transform falls as 1 / t. V(x) = P(N < (x - place) / w), w = WIDTH, has
none: on the line x + i v, 0 <= v < pi, of the upper half plane

    |density| = e^{v^2 / (2 d^2)} density(x),      |V| <= e^{v^2 / (2 w^2)} V(x),
    |1 + y|^(c + 1) <= (1 + y(x))^(c + 1),         |(1 + y)^{it}| = e^{-t arg(1 + y)},

with arg in [0, v], d the deviation of x, and 1 - V like V. All is analytic there, so that the path
may be moved to Im x = LINE, where F falls with t as e^{-t arg}, and the trapezoid rule with step h
is off by no more than

    (e^{k (2 LINE)^2} + 1) F(c) / (e^{2 pi LINE / h} - 1),    k = 1 / (2 d^2) + 1 / (2 w^2),

at every t >= 0 (Trefethen and Weideman 2014, theorem 5.1, with Im x = 0 and 2 LINE < pi on both
sides of the path; these are two of its terms). The sum is over few nodes, whatever t is.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.contour import ContourLaw
from privcalc.losses.law import LawProperties
from privcalc.losses.rare import ONLY_MEASURE, ContourOnly, Measure
from privcalc.losses.sampled.damped import DampedPhases
from privcalc.losses.sampled.parts import y_and_loss
from privcalc.numerics.rounding import MARGIN, UNIT, few_bits
from privcalc.numerics.shifted_normal import real_tail, shifted_tail
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.law import Piece
    from privcalc.losses.sampled.law import SampledLaw
    from privcalc.numerics.arrays import Array, ComplexArray

# Of V, in x; and of the path.
WIDTH, LINE = 0.3, 0.6
# Log of the trapezoid rule's error, relative to the value at t = 0; what is further below the
# largest term than this is left out.
LOG_ERROR, LOG_LEFT_OUT = -42.0, -44.0
# Deviations of x below the mean, and above that of outcomes with the record, that are looked at;
# and tilts of so many times the variance, or so many deviations, but LEAST_TILTS.
BELOW, ABOVE, TILTS, STEEP = 10.0, 12.0, 12.0, 36.0
# Step of sums that are no bound.
ROUGH = 0.25
LEAST_TILTS = 3.0
# Of noisier laws the factors e^{k v^2} would cost digits, of others there would be too many nodes.
LEAST_DEVIATION, MOST_DEVIATION = 0.5, 10.0
# Errors are carried to first order: relative ones are at most this.
LARGEST_ERROR = 1e-6
# Beyond this the tail of the normal law leaves the doubles.
FAR = 37.0
# The least fall of the log of a density where it is no longer looked at.
LEAST_FALL = 0.5
# e^x is a double up to here.
LARGEST = 600.0


def rough_step(law: SampledLaw) -> float:
    """Return the distance of nodes that is enough for searches."""
    return ROUGH * min(law.normal.deviation, 1.0)


def smoothly_parted(law: SampledLaw, place: float) -> tuple[SmoothPart, SmoothPart]:
    """Return what is up to about a place, and what is beyond."""
    return SmoothPart(law, place, beyond=False), SmoothPart(law, place, beyond=True)


@record
class SmoothPart(ContourOnly, Measure):
    """N or F of a sampled Gaussian, for removing.

    Attributes:
        law: the whole.
        place: where V is 1/2.
        beyond: whether this is F.
    """

    law: SampledLaw
    place: float
    beyond: bool

    properties = LawProperties(cf_valid_for_all_t=True)

    @property
    def max_loss(self) -> float:
        """Return that of the whole."""
        return self.law.max_loss

    @property
    def normal(self) -> Piece:
        """Return the density of x under R."""
        return self.law.normal

    def turns(self, x: Array) -> Array:
        """Return the argument of the normal tail whose value the weight of this part is."""
        away = (x - self.place) / WIDTH
        return -away if self.beyond else away

    @property
    def extent(self) -> tuple[float, float]:
        """Return where x is looked at: what is outside matters to no tilt below `most_tilted`."""
        mean, d = self.normal.mean, self.normal.deviation
        tilts = min(TILTS, max(LEAST_TILTS, STEEP / d))
        return mean - BELOW * d, max(self.place, mean + tilts * d * d) + ABOVE * d

    @property
    def most_tilted(self) -> float:
        """Return c up to which the density of the tilted measure falls beyond the last x.

        The slope of the log of the density is -(x - mean) / d^2, that of 1 + y at most 1, and that
        of the weight at most -u / w for N (Mills: the hazard is above u), and 1e-9 for F.
        """
        x, normal = self.extent[1], self.normal
        fall = (x - normal.mean) / normal.deviation**2 - 1.0 - LEAST_FALL
        return fall - 1e-9 if self.beyond else fall + (x - self.place) / (WIDTH * WIDTH)

    def log_weights(self, x: Array) -> Array:
        """Return the log of the weight; where that underflows, of the density over u (Mills)."""
        u = self.turns(x)
        far = np.maximum(u, FAR)
        near = np.log(real_tail(np.minimum(u, FAR))[0])
        mills = -0.5 * far * far - np.log(far * math.sqrt(2.0 * math.pi))
        return np.where(u < FAR, near, mills)

    def log_densities(self, x: Array) -> Array:
        """Return the log of the density under R with the weight."""
        return self.normal.log_density(x) + self.log_weights(x)

    @cached_property
    def _rough(self) -> tuple[Array, Array]:
        """Losses on a grid, with the log of their masses."""
        x = np.arange(*self.extent, rough_step(self.law))
        return y_and_loss(x, self.law.q)[1], self.log_densities(x) + math.log(x[1] - x[0])

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K, K' and K'' at c, for searches."""
        losses, log_masses = self._rough
        exponents = log_masses + (c + 1.0) * losses
        top = float(exponents.max())
        if not (exponents[-1] < top + LOG_LEFT_OUT and c < self.most_tilted):
            return math.inf, 0.0, 0.0
        tilted = np.exp(exponents - top)
        total = float(tilted.sum())
        mean = float(tilted @ losses) / total
        variance = float(tilted @ (losses - mean) ** 2) / total
        return top + math.log(total), mean, variance

    def on_contour(self, c: float, t_max: float, log_error: float) -> ContourLaw:
        """Fix the abscissa; the sums hold for every t."""
        del t_max, log_error
        return SmoothContour(self, c)

    def tilted(self, c: float) -> tuple[DampedPhases, float, float, float]:
        """Return phases around a mean, over the mass; its log with a bound on its error; the mean.

        Raises:
            NotCertifiedError: nothing but the far end decides.
        """
        return _Line(self, c).tilted


@record
class SmoothContour(ContourLaw):
    """The part on Re s = c."""

    law: SmoothPart
    c: float

    @cached_property
    def tilted(self) -> tuple[DampedPhases, float, float, float]:
        """See `SmoothPart.tilted`."""
        return self.law.tilted(self.c)

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c) alone."""
        if np.any(t != 0.0):
            raise NotCertifiedError(ONLY_MEASURE)
        _, log_mass, error, _ = self.tilted
        return np.full(len(t), log_mass + 0j), np.full(len(t), error)


class _Line:
    """The nodes x_k + i LINE of one abscissa."""

    def __init__(self, part: SmoothPart, c: float) -> None:
        """Keep those that matter.

        Raises:
            NotCertifiedError: those that do not are not known to be few.
        """
        normal = part.normal
        if not LEAST_DEVIATION <= normal.deviation <= MOST_DEVIATION:
            raise NotCertifiedError("there is too much noise for a smooth cut, or too little")
        self._part, self._c = part, c
        s = normal.deviation
        self._growth = LINE * LINE * (0.5 / (s * s) + 0.5 / (WIDTH * WIDTH)) * (1.0 + 1e-12)
        self._step = few_bits(2.0 * math.pi * LINE / (4.0 * self._growth - LOG_ERROR))
        first, last = part.extent
        x = self._step * np.arange(math.floor(first / self._step), math.ceil(last / self._step))
        logs = part.log_densities(x) + (c + 1.0) * y_and_loss(x, part.law.q)[1]
        largest = float(logs.max())
        kept = np.flatnonzero(logs > largest + LOG_LEFT_OUT)
        far_out = kept[-1] == len(x) - 1 or kept[0] == 0 or c >= part.most_tilted
        if far_out or not x[kept[-1]] < LARGEST:
            raise NotCertifiedError("a part of a sampled law is decided by outcomes far out")
        inside = slice(kept[0], kept[-1] + 1)
        self._x = x[inside]
        self._log_largest = largest + math.log(s * math.sqrt(2.0 * math.pi))
        # Those left out, over the largest term.
        terms = np.exp(logs - largest)
        self._outside = float(terms[: inside.start].sum() + terms[inside.stop :].sum()) * MARGIN
        self._outside += _series(float(logs[-1]) - largest, LEAST_FALL * self._step)
        self._outside += _series(float(logs[0]) - largest, self._fall(float(x[0])) * self._step)

    def _fall(self, x: float) -> float:
        """Return by how much the log of the density falls to the left of x, for each unit at least.

        That of R by (mean - x) / d^2; 1 + y falls, too; so does the weight of F, and that of N
        grows by 2 density(u) / w at most, where u <= 0.
        """
        part = self._part
        fall = (part.normal.mean - x) / part.normal.deviation**2
        if part.beyond:
            return fall
        u = (x - part.place) / WIDTH
        return fall - 2.0 * _density(u) / WIDTH if u <= 0.0 else -math.inf

    @property
    def tilted(self) -> tuple[DampedPhases, float, float, float]:
        """Return the sum over the nodes with its errors; see `SmoothPart.tilted`.

        Rounding, with z = x + i LINE: the deviation carries up to four units and the mean twelve of
        d^2, which changes |z - mean|^2 / (2 d^2) by 16 units of itself and 16 of |z - mean|; q a
        unit, and y 8 units of q (1 + e^x), so that the loss is off by 8 units of itself and of
        q (1 + e^x) / |1 + y|. Exponents are off by 8 units of their terms, exp and products by 16.
        """
        part, normal, c, q = self._part, self._part.normal, self._c, self._part.law.q
        z: ComplexArray = self._x + 1j * LINE
        away = z - normal.mean
        size, variance = np.abs(away), normal.deviation**2
        grown = np.exp(self._x)
        ratio = (1.0 - q) + q * grown * complex(math.cos(LINE), math.sin(LINE))
        losses = _losses(self._x, q, ratio)
        moved = UNIT * 8.0 * (np.abs(losses) + q * (1.0 + grown) / np.abs(ratio))
        exponents = (c + 1.0) * losses - 0.5 * away * away / variance
        top = float(exponents.real.max())
        weight, weight_error = shifted_tail(part.turns(self._x), LINE / WIDTH)
        if part.beyond:
            # Its argument is -(x + i LINE - place) / w.
            weight = np.conj(weight)
        plain: ComplexArray = np.exp(exponents - top)
        weights = plain * weight
        units = 8.0 * size**2 / variance + 16.0 * size + 8.0 * (c + 1.0) * np.abs(losses)
        units = UNIT * (units + 8.0 * abs(top) + 32.0) + (c + 1.0) * moved
        wrong = np.abs(weights) * units + np.abs(plain) * weight_error
        total = float(weights.real.sum())
        # Off the real line terms are e^{growth} times as large, at most.
        missed = self._outside * math.exp(self._growth + self._log_largest - top + 1e-6)
        lost = float(wrong.sum()) + UNIT * len(wrong) * float(np.abs(weights).sum()) + missed
        if not 0.0 < lost <= LARGEST_ERROR * total:
            raise NotCertifiedError("a part of a sampled law is lost in rounding errors")
        turns = 2.0 * math.pi * LINE / self._step * (1.0 - 1e-12)
        alias = (math.exp(4.0 * self._growth) + 1.0) / math.expm1(turns)
        relative = (lost / total + 2.0 * alias) * (1.0 + 1e-5)
        centre = float(np.real(weights @ losses.real)) / total
        log_mass = top + math.log(total) + math.log(self._step)
        log_mass -= 0.5 * math.log(2.0 * math.pi * variance)
        error = 2.0 * relative + UNIT * (8.0 * abs(top) + 8.0 * abs(log_mass) + 32.0)
        # Whatever S is off by, it is divided by a mass that is off by a part of itself.
        moduli = np.abs(weights)
        phases = DampedPhases.of(
            losses - centre,
            weights / total,
            (wrong + 2.0 * relative * moduli) / total * (1.0 + 1e-5),
            moved + 2.0 * UNIT * (np.abs(losses) + abs(centre)),
            (missed / total + 2.0 * alias) * (1.0 + 1e-5),
        )
        return phases, log_mass, error, centre


def _losses(x: Array, q: float, ratio: ComplexArray) -> ComplexArray:
    """Return log(1 + y) at x + i LINE, accurate where y is small."""
    turn = complex(math.cos(LINE), math.sin(LINE))
    # e^{x + iv} - 1 = (e^x - 1) e^{iv} + (e^{iv} - 1).
    away = complex(-2.0 * math.sin(0.5 * LINE) ** 2, math.sin(LINE))
    y = q * (np.expm1(x) * turn + away)
    square = 2.0 * y.real + y.real**2 + y.imag**2
    small = np.abs(y) < 0.5
    with np.errstate(all="ignore"):
        real = np.where(small, 0.5 * np.log1p(np.where(small, square, 0.0)), np.log(np.abs(ratio)))
    found: ComplexArray = real + 1j * np.arctan2(ratio.imag, ratio.real)
    return found


def _density(u: float) -> float:
    return math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)


def _series(log_term: float, fall: float) -> float:
    """Return the sum of what follows a term, each e^{-fall} of the last; see `_Line`.

    Raises:
        NotCertifiedError: they do not fall.
    """
    if not fall > 0.0:
        raise NotCertifiedError("a part of a sampled law is decided by outcomes far out")
    return math.exp(log_term - fall) / -math.expm1(-fall)
