"""What follows of a sampled law from the tails of the base.

R and W are the base's outputs without and with the record, X = log dW/dR; the base's own loss for
adding the record is -X. Sampling turns X into (`losses/sampled/law.py`)

    remove: P = (1 - q) R + q W, Q = R:   L = l(X) = log(1 - q + q e^X),
    add:    P = R, Q = (1 - q) R + q W:   L = -l(X).

l increases, from log(1 - q) to infinity, with slope l' = q e^X / (1 - q + q e^X) in [0, 1], so
every set {L > l} is a set {X > x} or {X < x}, whose masses under R and W the base's tails give, and
P and Q are sums of these with positive weights. Outcomes of R alone have the finite loss
log(1 - q), up to its sign; those of W alone have none: mass q at +inf for remove, at -inf for add.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.law import MASS_ULPS, MOST_ANCHORS, LossLaw, Tails
from privcalc.losses.sampled.parts import y_and_loss
from privcalc.numerics.normal import pure_mu
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.losses.sampled.renyi import Logs
    from privcalc.numerics.rounding import Array, Mask

# No displacement is reported as 0: an atom at a tested loss may be counted on either side.
LEAST_SHIFT = 1e-300


@record
class LossThresholds:
    """Where the losses of a sampled law lie in X, its log-ratio.

    Attributes:
        x: the solutions of l(x) = loss; -inf at and below the floor log(1 - q).
        moved: by how much the loss that belongs to the rounded x may differ from the given one.
        slope: l'(x), which turns displacements of X into displacements of the loss.
    """

    x: Array
    moved: Array
    slope: Array


def thresholds(losses: Array, q: float) -> LossThresholds:
    """Solve log(1 - q + q e^x) = loss, that is x = loss - log q + log w, for 0 < q < 1.

    w = q - (1 - q) expm1(-loss) is the slope l' as well, and off by 10 units of its terms: that
    much is the loss displaced by it, and by w times 9 units of the terms of x.
    """
    floor, log_q = math.log1p(-q), math.log(q)
    with np.errstate(all="ignore"):
        rise = -(1.0 - q) * np.expm1(-np.maximum(losses, floor))
        slope = np.where(losses > floor, np.clip(q + rise, 0.0, 1.0), 0.0)
        x = losses - log_q + np.log(slope)
        terms = np.abs(losses) + abs(log_q) + np.abs(np.log(slope)) + np.abs(x)
        moved = 10.0 * (q + np.abs(rise)) + np.where(slope > 0.0, 9.0 * slope * terms, 0.0)
    return LossThresholds(x, UNIT * moved * MARGIN, slope)


def sampled_tails(base: LossLaw, q: float, losses: Array, *, remove: bool) -> Tails:
    """Return the tails of the sampled law, 0 < q < 1; `base` is the event's law for adding.

    For remove {L > l} = {X > x} = {base loss < -x}, and for add {L > l} = {X < x(-l)} =
    {base loss > -x(-l)}. The base's masses are those of sets displaced by its `shift` in X, hence
    by at most slope times that in L (the slope grows by at most e^shift over the way). At and
    beyond the floor there is no x: all the base is on one side.

    The masses are (1 - q) r + q w, with 1 - q and the products and sums rounded once each.
    """
    charge(2e3 + 0.5 * len(losses))
    places = thresholds(losses if remove else -losses, q)
    inside = places.x > -math.inf
    points = -places.x[inside]
    order = slice(None, None, -1 if remove else 1)
    points = np.maximum.accumulate(points[order]) if len(points) else np.zeros(1)
    tails = base.tails(points)
    m = base.infinity_mass
    error = np.broadcast_to(np.asarray(tails.error, dtype=float), points.shape)
    best = int(np.argmin(error))

    # The outcomes of larger L, and the rest: under R with the outcomes of R alone, and under W.
    up_r, down_r = (tails.below_p, tails.above_p) if remove else (tails.above_p, tails.below_p)
    up_w, down_w = (tails.below_q, tails.above_q) if remove else (tails.above_q, tails.below_q)
    all_r, all_w = float((up_r + down_r)[best]) + m, float((up_w + down_w)[best])
    # For remove all losses lie above the floor; for add below minus the floor.
    alone_up, alone_down = (0.0, m) if remove else (m, 0.0)
    filled = _Filled(inside, order)
    above_r = filled.with_rest(up_r + alone_up, all_r if remove else 0.0)
    below_r = filled.with_rest(down_r + alone_down, 0.0 if remove else all_r)
    above_w = filled.with_rest(up_w, all_w if remove else 0.0)
    below_w = filled.with_rest(down_w, 0.0 if remove else all_w)
    above_m = (1.0 - q) * above_r + q * above_w
    below_m = (1.0 - q) * below_r + q * below_w
    slope = float(places.slope.max(initial=0.0)) * math.exp(min(tails.shift, 600.0))
    moved = float(places.moved.max(initial=0.0))
    between_r = between_m = between_error = None
    r, w, wrong = tails.between_p, tails.between_q, tails.between_error
    if r is not None and w is not None and wrong is not None and inside.any():
        between_r = filled.cells(r, 0.0)
        between_m = filled.cells((1.0 - q) * r + q * w, 0.0)
        between_error = filled.cells(wrong + 8.0 * UNIT, np.inf)
    return Tails(
        above_p=above_m if remove else above_r,
        above_q=above_r if remove else above_m,
        below_p=below_m if remove else below_r,
        below_q=below_r if remove else below_m,
        error=filled.with_rest(error, float(error[best]))
        + (base.infinity_mass_error + 12.0 * UNIT),
        shift=(moved + tails.shift * min(slope, 1.0)) * MARGIN + LEAST_SHIFT,
        between_p=between_m if remove else between_r,
        between_q=between_r if remove else between_m,
        between_error=between_error,
    )


@record
class _Filled:
    """Puts values at the points inside the support back among all points."""

    inside: Mask
    order: slice

    def with_rest(self, values: Array, rest: float) -> Array:
        """Put the values back, and `rest` at the points outside the support."""
        full = np.full(len(self.inside), rest)
        if self.inside.any():
            full[self.inside] = values[self.order]
        return full

    def cells(self, values: Array, rest: float) -> Array:
        """Put the values of the cells between those points back among all cells."""
        full = np.full(max(len(self.inside) - 1, 0), rest)
        full[self.inside[1:] & self.inside[:-1]] = values[self.order]
        return full


@record
class SampledTailLaw(LossLaw):
    """One direction of a sampled pair whose base is known by its tails.

    Attributes:
        base: the law of the event for adding a record.
        reverse: its law for removing one; where the pair is symmetric, the same.
        q: sampling probability, 0 < q < 1.
        remove: which of the two directions.
    """

    base: LossLaw
    reverse: LossLaw
    q: float
    remove: bool

    @property
    def reverse_direction(self) -> LossLaw | None:
        """Return the other direction, of an event that is one pair in both."""
        return replace(self, remove=not self.remove) if self.base == self.reverse else None

    @property
    def infinity_mass(self) -> float:
        """Return the mass q of the outcomes of W alone, for remove."""
        return self.q * self.base.lower_infinity_mass if self.remove else 0.0

    @property
    def lower_infinity_mass(self) -> float:
        """Return the same for add, where it is Q's."""
        return 0.0 if self.remove else self.q * self.base.lower_infinity_mass

    @property
    def infinity_mass_error(self) -> float:
        """Return the roundings of the product and of the mass itself."""
        if self.infinity_mass == 0.0:
            return 0.0
        return (MASS_ULPS + 4.0) * UNIT + self.reverse.infinity_mass_error

    @property
    def _extreme(self) -> tuple[float, float]:
        """Return the end of the support of X where the loss is largest, and its relative error."""
        if self.remove:
            top = self.reverse
            if top.max_loss > -math.inf or self.base.infinity_mass == 0.0:
                return top.max_loss, top.max_loss_error
            return -math.inf, 0.0
        if self.base.infinity_mass > 0.0:
            return -math.inf, 0.0
        return -self.base.max_loss, self.base.max_loss_error

    @property
    def max_loss(self) -> float:
        """Return the largest finite loss: that of the base mapped, or minus the floor for add."""
        x, _ = self._extreme
        if x == math.inf:
            return math.inf if self.remove else -math.inf
        loss = float(y_and_loss(np.array([x]), self.q)[1][0])
        return loss if self.remove else -loss

    @property
    def max_loss_error(self) -> float:
        """Return the roundings; |d log l(x) / d log x| <= 1 + |x|."""
        x, error = self._extreme
        size = abs(x) if math.isfinite(x) else 0.0
        return 32.0 * UNIT + (1.0 + size) * error

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Return the base's atoms mapped, and the floor, next to which a rare sample stays."""
        sign, atoms = (1.0 if self.remove else -1.0), -np.array(self.base.atom_locations)
        mapped = {sign * math.log1p(-self.q), *(sign * y_and_loss(atoms, self.q)[1]).tolist()}
        return tuple(sorted(mapped)) if len(mapped) <= MOST_ANCHORS else ()

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K: exactly for the bases that know how, else by convexity.

        With a mass m at infinity K is that of the finite losses, and may be negative: M(c) is at
        least (1 - m)^(c + 1), by Hoelder's inequality for a Q-mass of at most 1.
        """
        from privcalc.losses.sampled.renyi import from_excess

        lower, upper = from_excess(self.log_excess, c, *self.convexity(c))
        m = self.infinity_mass
        if m > 0.0:
            lower = (c + 1.0) * math.log1p(-min(m * (1.0 + 1e-12), 1.0 - UNIT)) * (1.0 + 1e-12)
        return lower, np.maximum(upper, lower)

    def log_excess(self, c: float, *, positive: bool = False) -> Logs:
        """Return bounds on log(M(c) - 1), or on that part of it where X > 0.

        Raises:
            NotCertifiedError: masses are at infinity.
        """
        from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
        from privcalc.losses.sampled.renyi import listed_excess

        remove = self.remove
        if isinstance(self.base, DiscreteGaussianLaw):
            return self.base.sampled_excess(self.q, c, remove=remove, positive=positive)
        laws = self.base, self.reverse
        return listed_excess(laws, self.q, c, remove=remove, likelier=positive or None)

    def convexity(self, c: Array) -> tuple[Array, Array]:
        """Return bounds on K from the base's alone."""
        from privcalc.losses.sampled.renyi import convexity_bracket

        base = self.reverse if self.remove else self.base
        masses = (self.base.infinity_mass, self.base.lower_infinity_mass)
        return convexity_bracket(self.q, c, base.renyi(c), masses, remove=self.remove)

    def concentration(self, c: Array) -> Array:
        """Bound D_a / a at orders up to c + 1.

        For removing P = (1 - q) R + q W, and the base is (W, R): the first part has divergence 0
        from R, the second the base's. For adding, where the base is (R, W), joint convexity gives
        no more than the base's.
        """
        base = self.reverse if self.remove else self.base
        known = base.concentration(c)
        if not self.remove:
            return known
        from privcalc.losses.sampled.renyi import mixed_concentration

        rho = np.stack([np.zeros(c.shape), np.where(np.isfinite(known), known, 1.0)])
        mixed = mixed_concentration(np.array([1.0 - self.q, self.q]), rho, c)
        return np.where(np.isfinite(known), mixed, np.inf)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Bound the least mu: trade-off functions know no direction.

        The sampled pair has profiles below the base's by joint convexity, so that the base's mu is
        enough; where both directions have bounded losses, so is that of their bound. Where the
        mixture has an infinite loss against R, as W has, the mixture is q W at least.
        """
        low, high = self.reverse.gaussian_range
        if self.infinity_mass > 0.0 or self.lower_infinity_mass > 0.0:
            return 0.0, math.inf
        both = self, replace(self, remove=not self.remove)
        ends = [(one.max_loss, one.max_loss_error) for one in both]
        largest = max(loss + abs(loss) * error * 1.01 for loss, error in ends)
        if math.isinf(largest):
            return low, high
        return 0.0, min(high, pure_mu(max(0.0, largest)))

    def tails(self, losses: Array) -> Tails:
        """Return the tails that follow from the base's."""
        return sampled_tails(self.base, self.q, losses, remove=self.remove)
