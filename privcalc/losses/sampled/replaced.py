"""Poisson sampling where a record is replaced: the pair of two opposite records, for each noise.

Fix a sample T of the other records, and let R, W and W' be the event's outputs on T, on T with the
record, and on T with the other record in its place. The coin of that place comes up with
probability q, so that the two outputs are (1 - q) R + q W and (1 - q) R + q W'. Let G(y) be the
largest W(A) over (randomised) sets of outcomes A with R(A) <= y, for the pair that dominates adding
a record. Then W(A) <= G(R(A)) and, by the complement of A, W'(A) >= 1 - G(1 - R(A)), hence for
every a >= 0

    H_a = sup_A P(A) - a Q(A) <= max_y (1 - q) (1 - a) y + q G(y) - a q (1 - G(1 - y)).

Nothing but these two inequalities ties W to W', and one triple attains both, for every y by the
same sets A = [0, y]: R uniform on [0, 1], W of density G'(y), which falls, and W' of density
G'(1 - y), which grows. So P = (1 - q) R + q W and Q = (1 - q) R + q W' of that triple, where the
likelihood ratio falls in y, have the right side as their profile, for all a. Averaging over T keeps
the bound (H_a is jointly convex). The pair dominates every step, hence adaptive compositions (Zhu,
Dong, Wang 2022, Theorem 10); it is symmetric.

In words: take the log-ratio X = log dW/dR in falling order of its R-quantiles, and X' = log dW'/dR
the other way round. Where noise of a symmetric density is added to a number, and a larger output
never has a smaller ratio X, that is W = R + 1 against W' = R - 1: two records that pull as far as
they may in opposite directions, which exist. (Lebeda, Regehr, Kamath, Steinke 2024 leave open
whether the opposite pair is the worst for Gaussian noise in several dimensions; the argument above
needs no dimension, since W and W' are bounded by their tests against R alone.)

Tails under Gaussian noise, and the integers' version of it: X = u - h with h = D^2 / (2 v), where u
is D / v times the noise under R, whose law is symmetric. The opposite record has X' = -u - h. With
A(u) = 1 - q + q e^{u - h} the loss is L = log A(u) - log A(-u), odd and increasing in u, and

    L = l   at   u = l / 2 + asinh((1 - q) e^h / q sinh(l / 2)):

e^l = (1 - q + b e^u) / (1 - q + b e^-u), b = q e^-h, is b (w - 1/w) = 2 (1 - q) sinh(l / 2) for
e^u = e^{l / 2} w.

For Gaussian noise W and W' are N(mu, 1) and N(-mu, 1) against R = N(0, 1); u = mu z for the output
z.

For Laplace noise, let e = sensitivity / scale. Where the noise z is positive, X' = -e is the least
there is. With u = X + e, from 0 to 2 e, the loss is log A(u) - log A(0), A(u) = 1 - q + q e^{u -
e}, and minus that, by symmetry, where the noise is negative. Under R, u has the density e^{-u/2} /
4 and an atom of mass e^{-e} / 2 at 2 e, on either side.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.errors import NotCertifiedError, UnsupportedError
from privcalc.losses.atomic.atoms import MOST_ANCHORS, AtomicLaw
from privcalc.losses.concentration import pure_mu
from privcalc.losses.law import MOST_UNITS, Density, LossLaw, Piece, Tails
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.sampled.law import DEFAULT_LOG_MASS, sampled
from privcalc.losses.sampled.opposite import Mixtures, OppositeLaw, OppositePart, replaced_atoms
from privcalc.losses.sampled.tails import sampled_loss
from privcalc.losses.term import Term
from privcalc.numerics.normal import short_intervals
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# asinh(x) is log(2 x) to less than a unit beyond e^25.
LARGE_LOG = 25.0
# No displacement is reported as 0: an atom at a tested loss may be counted on either side.
LEAST_SHIFT = 1e-300


@record
class ReplacedLinearLaw(LossLaw):
    """The pair for noise whose log-ratio is linear in it; subclasses bring the masses.

    Attributes:
        base: the event's law for adding a record.
        q: sampling probability, 0 < q < 1.
    """

    base: GaussianLaw | DiscreteGaussianLaw
    q: float

    max_loss: ClassVar[float] = math.inf

    @cached_property
    def half(self) -> float:
        """Return h, off by 12 units."""
        if isinstance(self.base, GaussianLaw):
            return 0.5 * self.base.mu * self.base.mu
        return float(self.base.shift**2 / (2 * self.base.variance))

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Return 0, next to which a rare sample stays, and the losses of the event's atoms."""
        u = np.array([self.half - anchor for anchor in self.base.atom_locations])
        if not len(u):
            return (0.0,)
        found = Mixtures(self.q, self.half).logs(u, mirrored=True)[0]
        return tuple(sorted({0.0, *map(float, found)})[:MOST_ANCHORS])

    def places(self, losses: Array) -> tuple[Array, float]:
        """Return u of each loss, and by how much the loss of the rounded u may differ from it.

        The logs of the argument x of asinh are off by 20 units of their terms, which moves asinh by
        x / sqrt(1 + x^2) <= min(1, x) times that, and its own rounding by 8 units of itself. The
        slope of the loss in u is r(u) + r(-u) with r = q e^{u - h} / A(u), at most 2; a tenth is
        added for the way.
        """
        q, h = self.q, self.half
        size = np.abs(losses)
        with np.errstate(divide="ignore"):
            log_sinh = 0.5 * size + np.log(-np.expm1(-size)) - math.log(2.0)
        shift = math.log1p(-q) - math.log(q) + h
        log_x = shift + log_sinh
        x = np.exp(np.minimum(log_x, LARGE_LOG + 1.0))
        rise = np.where(log_x > LARGE_LOG, log_x + math.log(2.0), np.arcsinh(x))
        places = np.sign(losses) * (0.5 * size + rise)
        terms = abs(math.log1p(-q)) + abs(math.log(q)) + h + size
        terms = terms + np.where(size > 0.0, np.abs(log_sinh), 0.0)
        moved = 20.0 * (terms + 1.0) * np.minimum(x, 1.0) + 8.0 * np.abs(places)
        slope = np.exp(self._log_share(places)) + np.exp(self._log_share(-places))
        shifted = 1.1 * UNIT * float((moved * slope).max(initial=0.0))
        return np.maximum.accumulate(places), shifted

    def _log_share(self, u: Array) -> Array:
        """Return log of r(u) = q e^{u - h} / (1 - q + q e^{u - h})."""
        log_w = math.log(self.q) + (u - self.half)
        share: Array = log_w - np.logaddexp(math.log1p(-self.q), log_w)
        return share

    def concentration(self, c: Array) -> Array:
        """Return four times the event's: the divergence is convex, and W from W' twice as far."""
        return 4.0 * self.base.concentration(c)

    @property
    def _double(self) -> GaussianLaw | DiscreteGaussianLaw:
        """Return the law of W against W'."""
        if isinstance(self.base, GaussianLaw):
            return GaussianLaw(2.0 * self.base.mu, self.base.error)
        return DiscreteGaussianLaw(self.base.variance, 2 * self.base.shift)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by that of W against W', and of removing a record."""
        alone = sampled(self.base, self.q, remove=True)
        return replaced_convexity(c, self._double.renyi(c)[1], alone.renyi(c), self.q)


def replaced_convexity(
    c: Array, double: Array, alone: tuple[Array, Array], q: float
) -> tuple[Array, Array]:
    """Return bounds on K from that of W against W', and from the sampled event's for removing.

    By joint convexity M <= 1 - q + q e^{K of W against W'}. With 1 + y = dP/dR, and dQ/dR at least
    1 - q, M <= (1 - q)^-c E_R (1 + y)^{c + 1}. Where dP/dR > 1 it is above dQ/dR, which is below 1
    there, so that M >= E_R (1 + y)^{c + 1} - 1; and M >= 1.
    """
    log_q, floor = math.log(q), -c * math.log1p(-q)
    convex = np.logaddexp(math.log1p(-q), log_q + double)
    above = np.minimum(convex, alone[1] + floor)
    size = np.where(np.isfinite(above), np.abs(above) + floor + abs(log_q), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = alone[0] + np.log(-np.expm1(-alone[0]))
        below = below - 16.0 * UNIT * (1.0 + np.abs(below) + alone[0])
    # An infinite lower end is as certain as it was.
    below = np.where(alone[0] > 1.0, np.where(np.isinf(alone[0]), np.inf, below), 0.0)
    return np.maximum(below, 0.0), above + 16.0 * UNIT * (1.0 + size)


@record
class ReplacedLatticeLaw(ReplacedLinearLaw):
    """The pair for Gaussian noise on the integers."""

    base: DiscreteGaussianLaw

    def tails(self, losses: Array) -> Tails:
        """Return the masses of the integers beyond D / v times which u(l) is.

        P and Q are about one set of integers, whatever the rounding of its end, by 16 units of its
        terms: that moves u by as much, and the loss by the slope, at most 2. Masses
        (1 - q) r + q w are off by 8 units.
        """
        q, base = self.q, self.base
        u, moved = self.places(losses)
        ends = np.floor(u * (base.v / base.shift)) + 1.0
        parts = [base.masses_around(ends, centre) for centre in (0, base.shift, -base.shift)]
        r, p, opposite = parts
        rest = 1.0 - q
        error = np.max([part.error for part in parts], axis=0)
        between_error = np.max([part.between_error for part in parts], axis=0)
        size = float(np.abs(u).max(initial=0.0)) + self.half
        return Tails(
            above_p=rest * r.above + q * p.above,
            above_q=rest * r.above + q * opposite.above,
            below_p=rest * r.below + q * p.below,
            below_q=rest * r.below + q * opposite.below,
            error=error + 12.0 * UNIT,
            shift=(moved + 32.0 * UNIT * size) * MARGIN + LEAST_SHIFT,
            between_p=rest * r.between + q * p.between,
            between_q=rest * r.between + q * opposite.between,
            between_error=between_error + 8.0 * UNIT,
        )


# Orders beyond which nothing is integrated: outputs times the slope of the log-ratio.
LARGEST_REACH = 1e4


@record
class ReplacedGaussianLaw(ReplacedLinearLaw, OppositeLaw):
    """The pair of N(mu, 1) and N(-mu, 1), each mixed with N(0, 1); |u| may be cut.

    Attributes:
        base: the event's law for adding a record.
        log_mass: log of the P-mass that the cut may drop.
    """

    base: GaussianLaw
    log_mass: float = DEFAULT_LOG_MASS

    @property
    def log_truncated_mass(self) -> float:
        """Return the log of a bound on the P-mass outside the cut (see `reach`)."""
        return self.log_mass + 1e-9

    def truncated(self, log_mass: float) -> ReplacedGaussianLaw:
        """Cut |u| so that the P-mass outside is at most exp(log_mass)."""
        return replace(self, log_mass=min(log_mass, math.log(0.01)))

    @cached_property
    def reach(self) -> float:
        """Return z such that P(|N| > z + mu) + ... is at most exp(log_mass).

        With P(N > z) <= e^{-z^2/2} / 2 = e^{log_mass} / 4: outside |output| <= z + mu are at most
        2 P(N > z) of R, and of W no more, on either side.
        """
        log_tail = self.log_mass - math.log(4.0)
        z = math.sqrt(max(0.0, -2.0 * (log_tail + math.log(2.0)))) * (1.0 + 1e-14)
        return z + self.base.mu

    def whole_parts(self) -> tuple[OppositePart, ...]:
        """Return the normal density of u = mu z, cut."""
        end = self.base.mu * self.reach
        density = Piece.normal(0.0, self.base.mu)
        return (OppositePart(self.mixtures, density, -end, end, mirrored=True),)

    def outside(self) -> tuple[float, float]:
        """Return the mass outside the cut, under P as under Q, by erfc."""
        z, mu, root = self.reach, self.base.mu, math.sqrt(2.0)
        away = math.erfc((z - mu) / root) + math.erfc((z + mu) / root)
        mass = (1.0 - self.q) * math.erfc(z / root) + 0.5 * self.q * away
        return mass, mass

    def tails(self, losses: Array) -> Tails:
        """Return the masses of the outputs z > u(l) / mu, one set for R, W and W'.

        The quotient is off by a unit and the error of mu: u, and the loss by its slope, is moved by
        as much. N(centre, 1) has a tail at centre -+ z, which is off by a unit of itself and the
        error of the centre: that changes a tail, or the mass of a cell, by at most (1 + |x|) times
        as much, relatively. Masses (1 - q) r + q w are off by 8 units.
        """
        from scipy.special import ndtr

        q, mu, wrong = self.q, self.base.mu, self.base.error
        u, moved = self.places(losses)
        z = u / mu
        size = 1.0 + mu + np.abs(z)
        centred = 1.1 * wrong * mu * size
        slope = min(2.0, 2.2 * float(np.exp(self._log_share(np.abs(u))).max(initial=0.0)))
        shift = (2.0 * UNIT + 1.01 * wrong) * float(np.abs(u).max(initial=0.0))
        cells = [short_intervals(z, centre) for centre in (0.0, mu, -mu)]
        r, w, other = (mass for mass, _ in cells)
        between = np.max([error for _, error in cells], axis=0)
        above_r, below_r = (1.0 - q) * ndtr(-z), (1.0 - q) * ndtr(z)
        return Tails(
            above_p=above_r + q * ndtr(mu - z),
            above_q=above_r + q * ndtr(-mu - z),
            below_p=below_r + q * ndtr(z - mu),
            below_q=below_r + q * ndtr(mu + z),
            error=UNIT * (20.0 + 6.0 * size * size) + centred,
            shift=(moved + slope * shift) * MARGIN + LEAST_SHIFT,
            between_p=(1.0 - q) * r + q * w,
            between_q=(1.0 - q) * r + q * other,
            between_error=between + 8.0 * UNIT + np.maximum(centred[1:], centred[:-1]),
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by quadrature over an interval that holds nearly all, or by convexity.

        What is beyond |u| = mu z adds at most (1 - q)^-c times 2 (1 - q) P(N > z) +
        q (e^{a c mu^2 / 2} P(N > z - a mu) + P(N > z)), a = c + 1: A' >= 1 - q, and
        A^a <= 1 - q + q e^{a (u - h)}.
        """
        lower, upper = super().renyi(c)
        for i, abscissa in enumerate(c):
            bounds = self._quadrature(float(abscissa))
            lower[i], upper[i] = max(lower[i], bounds[0]), min(upper[i], bounds[1])
        return lower, upper

    def _quadrature(self, c: float) -> tuple[float, float]:
        a, q, mu = c + 1.0, self.q, self.base.mu
        floor, log_tilt = -c * math.log1p(-q), 0.5 * a * c * mu * mu
        size = 2.0 * (50.0 + floor - 2.0 * math.log(q) - 2.0 * math.log(min(1.0, mu)))
        size += 2.0 * min(-a * math.log(q), log_tilt)
        z = math.sqrt(size + 2.0 * max(0.0, -math.log(c))) + a * mu
        if not z * max(mu, 1.0) < LARGEST_REACH:
            return 0.0, math.inf
        # The mass beyond z is that of a cut at z, whatever the masses of the parts.
        wide = replace(self, log_mass=min(-140.0, -0.5 * (z - mu) * (z - mu)))
        try:
            low, high = wide.real_order(c)
        except NotCertifiedError:
            return 0.0, math.inf
        # P(N > x) <= e^{-x^2 / 2} / 2; log(M + rest) <= log M + rest / M.
        z = wide.reach
        log_rest = max(-0.5 * z * z, log_tilt - 0.5 * (z - a * mu) ** 2) + math.log(2.0) + floor
        rest = math.exp(min(log_rest * (1.0 - 1e-9) - low, 700.0)) * (1.0 + 1e-9)
        return low, math.nextafter(high + rest, math.inf)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return mu and 2 mu: by convexity the pair is no worse than W and W'.

        The tests z > x have P(z > x) >= q P(N > x - mu) and Q(z > x) <= P(N > x); in compositions
        the same is true of sums of the z, as under Q each is stochastically smaller than under R.
        That is what a lower end has to say (`losses/law.py`).
        """
        return self.base.mu * (1.0 - 8.0 * UNIT), 2.0 * self.base.mu * (1.0 + 8.0 * UNIT)


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
    def atom_locations(self) -> tuple[float, ...]:
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


def replaced(
    event: LossLaw, reverse: LossLaw, q: float, *, exact: bool, opposite: bool
) -> LossLaw | Term:
    """Return the law of a Poisson-sampled event for replacing a record.

    A record that has no influence may be replaced, too: then (P, Q) is the pair for removing one,
    which a mechanism attains where no more is known.

    Noise of which the distance is less exact than the pair has room for is enclosed by that at the
    ends: the profile grows with G, and G with the distance.

    Args:
        event: the event's law for adding a record.
        reverse: its law for removing one.
        q: sampling probability, 0 <= q < 1.
        exact: whether q is exact, and not rounded (then at most 1/2).
        opposite: whether a mechanism that fits the event's description has two records whose
            outputs are W and W'.

    Raises:
        UnsupportedError: the law of X is known by its tails only.
    """
    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    if isinstance(event, GaussianLaw | LaplaceLaw) and event.error > MOST_UNITS * UNIT:
        below, above = (replaced(end, end, q, exact=exact, opposite=opposite) for end in event.ends)
        return Term(Term.of(above).upper, Term.of(below).lower)
    upper: LossLaw
    lower: LossLaw
    if isinstance(event, GaussianLaw):
        upper = lower = ReplacedGaussianLaw(event, q)
    elif isinstance(event, LaplaceLaw):
        upper = lower = ReplacedLaplaceLaw(event, q)
    elif isinstance(event, DiscreteGaussianLaw):
        upper = lower = ReplacedLatticeLaw(event, q)
    elif isinstance(event, AtomicLaw) and event.log_ratio() is not None:
        upper = replaced_atoms(event, q, exact=exact, above=True)
        lower = replaced_atoms(event, q, exact=exact, above=False) if opposite else upper
    else:
        raise UnsupportedError(
            "replacing a record of a Poisson sample is not available for this mechanism: its"
            " privacy loss is known by bounds only; pass --relation add-or-remove-one"
        )
    if opposite:
        return upper if upper == lower else Term(upper, lower)
    return Term(upper, sampled(event, q, remove=True, exact=exact, reverse=reverse))
