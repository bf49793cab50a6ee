"""The two mixtures of opposite records: P = (1 - q) R + q W against Q = (1 - q) R + q W'.

In the coordinate u of `losses/sampled/replaced.py`, with b = q e^-h, and k = 1 where X' = -u - h, k
= 0 where X' = -h, let 1 + y = A(u) = 1 - q + b e^u and 1 + y' = A'(u) = 1 - q + b e^{-ku}. Under Q
the ratio is dP/dQ = A / A' = 1 + Y, so that with a = c + 1 + it, as E_R y = E_R y' = 0,

    M - 1 = E_Q[(1 + Y)^a - 1 - a Y] = E_R[A^a A'^(1 - a) - 1 - a y - (1 - a) y'],

where nothing cancels, as in `losses/quadrature_nodes.py`. With
F(s) = (1 + s y)^a (1 + s y')^(1 - a) the bracket is F(1) - F(0) - F'(0), the integral of
(1 - s) F''(s) over [0, 1], and

    F''(s) = a (a - 1) (y - y')^2 (1 + s y)^(a - 2) (1 + s y')^(-1 - a).

So on rectangles |Re u| in [low, high], |Im u| <= d the bounds of `losses/quadrature_nodes.py` on
both factors bound it, their arguments adding up, with

    |y - y'| = b |e^u - e^{-ku}| <= b min(e^high + e^{-k low}, (1 + k) |u| e^{max(high, -k low)}).

A flipped part is one where P and Q have exchanged their roles: a and 1 - a do.

For an event with finitely many losses the pair is found in exact arithmetic. G of `replaced.py` is
concave and piecewise linear: its corners are the sums of the masses under R and W of the outcomes
in falling order of X, and it starts at the mass of W alone. The doubles of a law are off by
`MASS_ULPS` units. Corners are moved by as much, up and to the left for the upper law, down and to
the right for the lower one; a corner is counted from the end of [0, 1] that is nearer, on either
axis, so that small masses keep their digits.

Moved up and to the left, each corner is above the straight piece of G on either side, so that the
polygon through all is above G; moved the other way it is below, because G is concave; and so is
its concave hull, which adds points of chords only. Everything else is exact: the rational masses
of the cells of [0, 1] between the corners and their mirror images.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.errors import NotCertifiedError, UnsupportedError
from privcalc.losses.atomic.atoms import MASS_ULPS, AtomicLaw
from privcalc.losses.atomic.exact import exact_law
from privcalc.losses.quadrature import QuadratureContour, QuadratureLaw
from privcalc.losses.quadrature_nodes import (
    DensityPart,
    MixtureRange,
    WeightedLosses,
    joined,
    mixture_range,
)
from privcalc.numerics.rounding import UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.atomic.exact import Outcome
    from privcalc.losses.law import Density
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
    ) -> WeightedLosses:
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
        return WeightedLosses(log_w + log_q, y, loss, jitter, moved + off)


@record
class OppositePart(DensityPart):
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
    ) -> list[tuple[float, MixtureRange]]:
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

    def outcomes(
        self, x: Array, log_weights: Array, reach: Array, exponent: float
    ) -> WeightedLosses:
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


Point = tuple[Fraction, Fraction]

# Relative error of a mass, and of the probability where it is a rounded product.
MASS_ERROR = Fraction(MASS_ULPS) * Fraction(UNIT)
RATE_ERROR = 2 * Fraction(UNIT)
ZERO, ONE = Fraction(0), Fraction(1)


def replaced_atoms(event: AtomicLaw, q: float, *, exact: bool, above: bool) -> AtomicLaw:
    """Return the law of a pair whose profile is no smaller, or no larger, than the true one.

    The profile increases with q: a sample at a lower rate is a mixture of one at the higher rate
    and of none.

    Args:
        event: the event's law for adding a record, with its masses under Q.
        q: sampling probability, 0 < q < 1.
        exact: whether q is exact.
        above: whether the upper law is asked for.
    """
    rate = Fraction(q)
    if not exact:
        rate *= 1 + RATE_ERROR if above else 1 - RATE_ERROR
    return exact_law(opposite_outcomes(_corners(event, above=above), rate))


def opposite_outcomes(corners: Sequence[Point], q: Fraction) -> list[Outcome]:
    """Return the masses under P and Q of the cells of [0, 1], for a concave G with such corners.

    Args:
        corners: points (y, G(y)) from y = 0, where G may be positive, to (1, 1).
        q: sampling probability.
    """
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(corners)]
    cuts = sorted({y for y, _ in corners} | {1 - y for y, _ in corners})
    jump = q * corners[0][1]
    outcomes = [(jump, ZERO), (ZERO, jump)]
    up, down = 0, len(slopes) - 1
    for left, right in pairwise(cuts):
        while corners[up + 1][0] <= left:
            up += 1
        while 1 - corners[down][0] <= left:
            down -= 1
        width, rest = right - left, (1 - q) * (right - left)
        outcomes.append((rest + q * width * slopes[up], rest + q * width * slopes[down]))
    return outcomes


def _corners(event: AtomicLaw, *, above: bool) -> list[Point]:
    """Return corners of a concave function that is no smaller, or no larger, than G."""
    ratio = event.log_ratio()
    if ratio is None:
        raise UnsupportedError("this privacy loss is known under one of its two laws only")
    atoms = sorted(ratio.atoms, reverse=True)
    plain = [Fraction(r) for _, r, _ in atoms] + [Fraction(ratio.without_only)]
    other = [Fraction(w) for _, _, w in atoms]
    alone = Fraction(ratio.with_only)
    # Sums up to each corner, and of what is beyond it.
    under_r = [ZERO, *accumulate(plain[:-1])]
    under_w = list(accumulate(other, initial=alone))
    beyond_r = list(accumulate(plain[::-1]))[::-1]
    beyond_w = [*list(accumulate(other[::-1]))[::-1], ZERO]
    if not plain[-1]:
        under_r[-1], under_w[-1], beyond_r[-1] = ONE, ONE, ZERO
    error = MASS_ERROR if above else -MASS_ERROR
    # Smaller y and larger G for the upper law.
    points = {
        (_moved(y, rest, -error), _moved(g, left, error))
        for y, rest, g, left in zip(under_r, beyond_r, under_w, beyond_w, strict=True)
    }
    points |= {(ONE, ONE)}
    return _hull(sorted(points), start=_moved(alone, 1 - alone, error))


def _moved(value: Fraction, rest: Fraction, error: Fraction) -> Fraction:
    """Return a number in [0, 1], known with what it misses to 1, changed by that relative error."""
    if value in (ZERO, ONE):
        return value
    moved = value * (1 + error) if value <= rest else 1 - rest * (1 - error)
    return min(max(moved, ZERO), ONE)


def _hull(points: Sequence[Point], *, start: Fraction) -> list[Point]:
    """Return the corners of the upper concave hull from (0, start) on, with distinct y."""
    highest: dict[Fraction, Fraction] = {ZERO: start}
    for y, g in points:
        highest[y] = max(g, highest.get(y, ZERO))
    kept: list[Point] = []
    for y, g in sorted(highest.items()):
        while len(kept) > 1 and _below(kept[-2], kept[-1], (y, g)):
            kept.pop()
        kept.append((y, g))
    return kept


def _below(a: Point, b: Point, c: Point) -> bool:
    """Say whether b is on or below the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


# The quadrature error of a Renyi divergence, relative to what it is a bound of.
LOG_RELATIVE = -37.0


class OppositeLaw(QuadratureLaw):
    """A pair of mixtures A and A' in the coordinate u.

    Attributes:
        q: sampling probability, 0 < q < 1.
    """

    remove = True
    q: float

    @property
    @abstractmethod
    def half(self) -> float:
        """Return h, off by 12 units."""

    @cached_property
    def mixtures(self) -> Mixtures:
        """Return A and A'."""
        return Mixtures(self.q, self.half)

    @abstractmethod
    def whole_parts(self) -> tuple[OppositePart, ...]:
        """Return the densities between their ends."""

    def atoms(self) -> tuple[tuple[float, float, bool], ...]:
        """Return the places u, masses under R, and whether flipped; no atom is mirrored."""
        return ()

    @abstractmethod
    def places(self, losses: Array) -> tuple[Array, float]:
        """Return u of losses, and by how much the loss of the rounded u may differ."""

    def _place(self, y: float) -> float:
        """Return the u of a Y > 0; infinity for another, where nothing is cut."""
        if not 0.0 < y < math.inf:
            return math.inf
        return float(self.places(np.array([math.log1p(y)]))[0][0])

    def parts(self, below: float = math.inf) -> tuple[OppositePart, ...]:
        """Return the parts with Y <= below; flipped ones have all of them Y < 0."""
        place = self._place(below)
        return tuple(
            part if part.flipped else replace(part, high=min(part.high, max(place, part.low)))
            for part in self.whole_parts()
        )

    def atom_outcomes(self, exponent: float, below: float = math.inf) -> WeightedLosses:
        """Return the atoms with Y <= below, under Q; places are off by 8 units of themselves."""
        limit, nothing = self._place(below), np.zeros(0)
        outcomes = [
            self.mixtures.outcomes(
                nothing, nothing, nothing, nothing, exponent, mirrored=False, flipped=False
            )
        ]
        for place, mass, flipped in self.atoms():
            if flipped or place <= limit:
                u = np.array([place])
                moved = 8.0 * np.abs(u)
                outcomes.append(
                    self.mixtures.outcomes(
                        u,
                        np.log(np.array([mass])),
                        64.0 + moved,
                        moved,
                        exponent,
                        mirrored=False,
                        flipped=flipped,
                    )
                )
        return joined(outcomes)

    def on_contour(self, c: float, t_max: float, log_error: float) -> QuadratureContour:
        """Build certified nodes for |t| <= t_max."""
        return QuadratureContour(self, c, self.nodes(c, t_max, log_error))

    def real_order(self, c: float) -> tuple[float, float]:
        """Return bounds on log M(c), M being that of the parts and atoms, without cancellation.

        Raises:
            NotCertifiedError: M(c) overflows, or the quadrature is too long.
        """
        excess = max(self.cumulants(c)[0], 1e-300)
        contour = self.on_contour(c, 0.0, LOG_RELATIVE + min(0.0, math.log(excess)))
        value, error = contour.minus_one(np.zeros(1))
        middle, off = float(value[0].real), float(error[0])
        if not (off < math.inf and middle - off > -1.0):
            raise NotCertifiedError("the moment generating function is lost to rounding")
        low, high = math.log1p(middle - off), math.log1p(middle + off)
        return low - 8.0 * UNIT * abs(low), high + 8.0 * UNIT * abs(high)
