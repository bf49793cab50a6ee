"""Loss laws of a Poisson-sampled mechanism whose base has a density.

R and W are the base's outputs without and with the record, X = log dW/dR under R and
y = q (e^X - 1), so that dP/dQ is 1 + y or its inverse. These pairs dominate the sampled mechanism
in each direction for every base, reversible or not: H_a((1 - q) R + q W || R) and
H_a(R || (1 - q) R + q W) are both monotone in the base's profile, and joint convexity takes care of
the other records in the sample (Zhu, Dong, Wang 2022, Theorem 11, with R and W in these roles):

    remove: P = (1 - q) R + q W, Q = R:   L = log(1 + y),   M(s) = E_R (1 + y)^(s + 1)
    add:    P = R, Q = (1 - q) R + q W:   L = -log(1 + y),  M(s) = E_R (1 + y)^(-s)

Both are E_R (1 + y)^a with a = s + 1 or a = -s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.losses.atoms import MASS_ULPS, AtomicLaw
from privcalc.losses.nodes import NodeSet, y_and_loss
from privcalc.losses.quadrature import WIDEST_PANEL, first_panels
from privcalc.losses.sampled_contour import SampledContour
from privcalc.losses.sampled_profile import sampled_profile
from privcalc.losses.sampled_range import sampled_concentration, sampled_range
from privcalc.losses.sampled_renyi import convexity_bracket, from_excess, sampled_excess
from privcalc.losses.sampled_tails import SampledTailLaw, sampled_anchors, sampled_tails
from privcalc.losses.variation import tilted_variation
from privcalc.numerics.gauss_legendre import composite_rule
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.losses.log_ratio import LogRatio, Piece
    from privcalc.losses.tails import Tails
    from privcalc.numerics.arrays import Array, ComplexArray

# Cut of an unbounded piece when nobody asked for one: mass below 1e-60.
DEFAULT_LOG_MASS = -140.0
# Sums of tilted weights stay finite below this; K beyond it is reported as infinite.
LARGEST_LOG_MGF = 600.0
# Relative error of a mass that comes without one.
OTHER_ERROR = MASS_ULPS * UNIT


@dataclass(frozen=True)
class SampledLaw:
    """One direction of a sampled pair; density pieces of X may be cut to [low, high].

    Attributes:
        base: the law of the event for adding a record, which is the same for removing one.
        ratio: the law of X under R, at least one density piece, no singular parts.
        q: sampling probability, 0 < q < 1.
        remove: which of the two directions.
        log_mass: log of the P-mass that the cut of unbounded pieces may drop.
    """

    base: LossLaw
    ratio: LogRatio
    q: float
    remove: bool
    log_mass: float = DEFAULT_LOG_MASS

    infinity_mass: ClassVar[float] = 0.0
    infinity_mass_error: ClassVar[float] = 0.0
    lattice: ClassVar[None] = None
    lower_infinity_mass: ClassVar[float] = 0.0
    cheap_orders: ClassVar[bool] = False

    @property
    def log_dropped_mass(self) -> float:
        """Return the log of a bound on the P-mass outside the cut.

        `interval` chooses normal quantiles z with exp(-z^2/2)/2 equal to a quarter of the mass
        (four tails for remove, two for add), and P(N > z) <= exp(-z^2/2)/2 for z >= 0.
        """
        unbounded = any(not piece.bounded for piece in self.ratio.pieces)
        return self.log_mass + 1e-9 if unbounded else -math.inf

    @property
    def max_loss(self) -> float:
        """Return the largest finite loss: -log(1 - q) for add, unbounded for a normal base."""
        x = self._extreme
        if abs(x) == math.inf:
            return math.inf if self.remove else -math.log1p(-self.q)
        y = self.q * math.expm1(x)
        loss = math.log1p(y) if y > -0.5 else math.log((1.0 - self.q) + self.q * math.exp(x))
        return loss if self.remove else -loss

    @property
    def _extreme(self) -> float:
        """Return the end of the support of X where the loss is largest."""
        if self.remove:
            return max([p.high for p in self.ratio.pieces] + [x for x, _, _ in self.ratio.atoms])
        return min([p.low for p in self.ratio.pieces] + [x for x, _, _ in self.ratio.atoms])

    @property
    def max_loss_error(self) -> float:
        """Return the roundings of the elementary functions and of the base's largest loss.

        |d log(1 + q expm1 x) / d log x| <= 1 + |x| relative to its value.
        """
        x = self._extreme
        return 8.0 * UNIT * (2.0 + (abs(x) if math.isfinite(x) else 0.0))

    def profile(self, epsilon: float) -> tuple[float, float] | None:
        """Bound delta of one use; None where only the tails can tell."""
        return sampled_profile(self.base, self.q, epsilon, remove=self.remove)

    @property
    def anchors(self) -> tuple[float, ...]:
        """Return the base's atoms after sampling, and the floor of an unbounded base."""
        floor = any(not piece.bounded for piece in self.ratio.pieces)
        return sampled_anchors(self.base.anchors, self.q, remove=self.remove, floor=floor)

    def tails(self, losses: Array) -> Tails:
        """Return the tails that follow from the base's (`losses/sampled_tails.py`)."""
        return sampled_tails(self.base, self.q, losses, remove=self.remove)

    def truncated(self, log_mass: float) -> SampledLaw:
        """Cut unbounded pieces so that the P-mass outside is at most exp(log_mass)."""
        return replace(self, log_mass=min(log_mass, math.log(0.01)))

    def interval(self, piece: Piece) -> tuple[float, float]:
        """Return the ends of the piece after the cut.

        Under R, X is N(mean, s^2), and under W it is N(mean + s^2, s^2) (that is what dW/dR = e^X
        says). P(outside) is at most R(X < low) + R(X > high) + q W(X > high) for remove, where
        also q W(X < low) <= R(X < low) is counted (e^X < 1 there, as low < mean < 0).
        """
        if piece.bounded:
            return piece.low, piece.high
        s, mean = piece.deviation, piece.mean
        quarter = self.log_mass - math.log(4.0)
        z = _quantile(quarter)
        low, high = mean - z * s, mean + z * s
        if self.remove:
            high = max(high, mean + s * s + _quantile(quarter - math.log(self.q)) * s)
        return low, high

    @cached_property
    def _search_nodes(self) -> tuple[Array, Array, Array]:
        """Return log weights under R, y and l = log(1 + y) on a fixed rule, for searches only."""
        log_w, xs = [], []
        for piece in self.ratio.pieces:
            low, high = self.interval(piece)
            width = WIDEST_PANEL
            if piece.curvature > 0.0:
                width = min(width, 2.2 / math.sqrt(piece.curvature))
            count = first_panels(low, high, width)
            halves = np.full(count, (high - low) / (2.0 * count))
            x, log_weights = composite_rule(low + halves * (2.0 * np.arange(count) + 1.0), halves)
            xs.append(x)
            log_w.append(
                log_weights + piece.constant + (piece.slope - 0.5 * piece.curvature * x) * x
            )
        for x_atom, mass, _ in self.ratio.atoms:
            xs.append(np.array([x_atom]))
            log_w.append(np.array([math.log(mass)]))
        x = np.concatenate(xs)
        y, loss = y_and_loss(x, self.q)
        return np.concatenate(log_w), y, loss

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K, K', K'' at c, using E_R y = 0 against cancellation."""
        return cumulants_of(*self._search_nodes, c, remove=self.remove)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by certified quadrature of the whole law, or by convexity where that fails."""
        return from_excess(self.log_excess, c, *self.convexity(c))

    def log_excess(self, c: float, *, positive: bool = False) -> tuple[float, float]:
        """Return bounds on log(M(c) - 1), or on that part of it where X > 0.

        Raises:
            NotCertifiedError: the quadrature is too long.
        """
        return sampled_excess(self.ratio, self.q, c, remove=self.remove, positive=positive)

    def convexity(self, c: Array) -> tuple[Array, Array]:
        """Return bounds on K from the base's alone."""
        return convexity_bracket(self.q, c, self.base.renyi(c), (0.0, 0.0), remove=self.remove)

    def concentration(self, c: Array) -> Array:
        """Bound D_a / a at orders up to c + 1 by the base's (see `losses/sampled_range.py`)."""
        return sampled_concentration(self.base, self.q, c, remove=self.remove)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Bound the least mu: sampling does not increase that of the base."""
        return sampled_range(self.base, self, replace(self, remove=not self.remove))

    def on_contour(self, c: float, t_max: float, log_error: float) -> SampledContour:
        """Build certified nodes for |t| <= t_max."""
        return SampledContour(self, c, self.nodes(c, t_max, log_error))

    def nodes(
        self,
        c: float,
        t_max: float,
        log_error: float,
        *,
        remainder: bool = True,
        below: float = math.inf,
    ) -> NodeSet:
        """Return certified nodes of the outcomes with y <= below."""
        ratio = below / self.q
        place = math.log1p(ratio) if -1.0 < ratio < math.inf else math.inf
        return NodeSet.build(self, c, t_max, log_error, remainder=remainder, below=place)

    def tilted_atoms(self, exponent: float) -> list[float]:
        """Return the logs of the masses of atoms under R times (1 + y)^exponent."""
        losses = y_and_loss(np.array([x for x, _, _ in self.ratio.atoms]), self.q)[1]
        return [
            math.log(r) + exponent * float(loss)
            for (_, r, _), loss in zip(self.ratio.atoms, losses, strict=True)
        ]

    def variation(self, exponent: float) -> float:
        """Bound the total variation of the tilted density (`losses/variation.py`)."""
        return tilted_variation(self, exponent)

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points from the fixed rule of the searches."""
        log_w, _, loss = self._search_nodes
        a = z + 1.0 if self.remove else -z
        value: ComplexArray = np.log(np.exp(np.outer(a, loss) + log_w).sum(axis=1))
        return value

    def log_ratio(self) -> None:
        """Return None: sampling twice is sampling once with the product of the probabilities."""
        return


def cumulants_of(
    log_w: Array, y: Array, loss: Array, c: float, *, remove: bool
) -> tuple[float, float, float]:
    """Return K, K', K'' at c from weights under R, y and l = log(1 + y), E_R y being 0."""
    a = c + 1.0 if remove else -c
    with np.errstate(over="ignore", invalid="ignore"):
        w = np.exp(log_w)
        wy = np.where(loss < 300.0, w * y, 0.0)
        exponent = a * loss
        shift = max(0.0, float((log_w + exponent).max()))
        if shift > 300.0:
            tilted = np.exp(log_w + exponent - shift)
            total = float(tilted.sum())
            mean = float((tilted * loss).sum()) / total
            variance = float((tilted * (loss - mean) ** 2).sum()) / total
            log_mgf = shift + math.log(total)
            if log_mgf > LARGEST_LOG_MGF:
                log_mgf = math.inf
            return log_mgf, mean if remove else -mean, variance
        tilted = np.exp(log_w + exponent)
        near = np.abs(exponent) + np.abs(loss) < 1e-3
        square = 0.5 * a * (a - 1.0) * loss**2 * (1.0 + (a + 1.0) * loss / 3.0)
        body = np.where(near, w * square, tilted - w - a * wy)
        m1 = float(body.sum())
        first = float((tilted * loss - wy).sum()) / (1.0 + m1)
        second = float((tilted * loss * loss).sum()) / (1.0 + m1) - first * first
    return math.log1p(m1), first if remove else -first, second


def sampled(
    event: LossLaw,
    q: float,
    *,
    remove: bool,
    exact: bool = True,
    reverse: LossLaw | None = None,
) -> LossLaw:
    """Return the law of the Poisson-sampled event; `event` is its law for adding a record.

    Args:
        event: the event's law; a density has to be the same for adding and removing.
        q: sampling probability.
        remove: which direction.
        exact: whether q is exact, and not a rounded product (then at most 1/2).
        reverse: the event's law for removing; None where the pair is symmetric.
    """
    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    ratio = event.log_ratio()
    if ratio is None:
        return SampledTailLaw(event, reverse or event, q, remove)
    if ratio.pieces:
        return SampledLaw(event, ratio, q, remove)
    return _sampled_atoms(event, reverse or event, ratio, q, remove=remove, exact=exact)


def _sampled_atoms(
    event: LossLaw, reverse: LossLaw, ratio: LogRatio, q: float, *, remove: bool, exact: bool
) -> AtomicLaw:
    """Map atoms of masses r, w: P-mass (1 - q) r + q w for remove, r for add, and their log-ratio.

    Outcomes of R alone have w = 0. Those of W alone have mass q in the mixture and none in R: an
    infinite loss for remove, and lost to P for add. At q = 1 an outcome of R alone has no partner,
    and the roles at infinity are those of the event.

    Rounding: r and w carry up to 20 units, and so does their mixture. Where the loss comes from x,
    off by 32 units of itself, y = q expm1(x) is off by less than 60 for |x| < 1, and log1p(y) by
    little more; elsewhere w - r, or the mixture over r, is off by 50 units, absolutely, and the
    loss is of order 1. The mass of W alone is the infinite loss of the law for removing, which says
    how exact it is; where only the law for adding is at hand, and that has another mass, it is
    taken to be no better than other masses.
    """
    atoms = list(ratio.atoms)
    if ratio.without_only > 0.0 and q < 1.0:
        atoms.append((-math.inf, ratio.without_only, 0.0))
    losses, masses, others = [], [], []
    for x, r, w in atoms:
        mixture = (1.0 - q) * r + q * w
        y = q * math.expm1(x) if abs(x) < 1.0 else q * ((w - r) / r)
        loss = math.log1p(y) if abs(y) < 0.5 else math.log(mixture / r)
        losses.append(loss if remove else -loss)
        masses.append(mixture if remove else r)
        others.append(r if remove else mixture)
    alone = ratio.without_only if q == 1.0 else 0.0
    lost = q * ratio.with_only
    rounded = not exact or Fraction(q) * Fraction(ratio.with_only) != Fraction(lost)
    error = reverse.infinity_mass_error if reverse.infinity_mass == ratio.with_only else OTHER_ERROR
    error += 3.0 * UNIT if rounded else 0.0
    if remove:
        return AtomicLaw(
            tuple(losses),
            tuple(masses),
            lost,
            alone,
            lower_masses=tuple(others),
            infinity_mass_error=error if lost > 0.0 else 0.0,
        )
    return AtomicLaw(
        tuple(losses),
        tuple(masses),
        alone,
        lost,
        lower_masses=tuple(others),
        infinity_mass_error=event.infinity_mass_error if alone > 0.0 else 0.0,
    )


def _quantile(log_tail: float) -> float:
    """Return z >= 0 with exp(-z^2/2)/2 <= exp(log_tail)."""
    return math.sqrt(max(0.0, -2.0 * (log_tail + math.log(2.0)))) * (1.0 + 1e-14)
