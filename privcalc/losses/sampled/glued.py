"""Samples of a fixed size: substitution pairs from add and remove halves.

Let (P, Q) dominate the event for replacing a record, in both orders at once (the relation is
symmetric, and so is the pair: its profile h satisfies h(a) = 1 - a + a h(1/a)). For a sample of a
fixed size that holds each record with probability q, the profile is at most

    H(a) = H_a((1 - q) Q + q P || Q) = q h(1 + (a - 1) / q)     for a >= 1,
    H(a) = H_a(P || (1 - q) P + q Q)                            for a < 1

(Zhu, Dong, Wang 2022, Proposition 29 and Corollary 31). H is convex, so it is the profile of a
pair: at a = 1 its slopes are h'(1) on the right and -1 + q h(1) - h'(1) on the left, and
2 h'(1) >= -1 + h(1), since Q(L > 0) = -h'(1) and, by symmetry, 2 Q(L > 0) + h(1) <= 1. The loss of
that pair above 0 is that of the sampled event for removing, below 0 that for adding, and the rest,
Q-mass Q(L = 0) + (1 - q) h(1), is an atom at 0.

For an event with a density the pair has certified quadrature. With X = log dW/dR under R and y = q
(e^X - 1) the pair has three kinds of outcomes: losses log(1 + y) of P-mass R (1 + y) and losses
-log(1 + y) of P-mass R, both where X > 0, and the loss 0 of what is left, 1 - E_R[2 + y; X > 0]. So
with a = s + 1

    M(s) - 1 = E_R[(1 + y)^a + (1 + y)^{1 - a} - 2 - y; X > 0]
             = E_R[(1 + y)^a - 1 - a y; X > 0] + E_R[(1 + y)^{1 - a} - 1 - (1 - a) y; X > 0],

the remainders of `losses/quadrature_nodes.py` for removing and for adding, each over X > 0 alone:
nothing cancels, and what is cut is charged by the same formula, as -R(out) + a q (R - W)(out) and
the same with 1 - a add up to -E_R[2 + y; out]. Where less than everything is cut, that is only what
lies above: below X = 0 there is nothing.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import MASS_ULPS, MOST_ANCHORS, AtomicLaw
from privcalc.losses.law import LawProperties, LossLaw, Sample, Tails
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.quadrature import (
    LARGEST_LOG_MGF,
    DecayingContour,
    IntegratedLaw,
    NodeWeights,
    RemainderSum,
    largest_y,
)
from privcalc.losses.quadrature_nodes import WeightedLosses, tilted_variation
from privcalc.losses.sampled.cut import AtomPowers, Atoms, Edged, EdgedLaw
from privcalc.losses.sampled.law import SampledLaw, sampled
from privcalc.losses.sampled.renyi import add_logs, from_excess
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.losses.sampled.parts import SampledPart
    from privcalc.losses.sampled.renyi import Logs
    from privcalc.numerics.arrays import Array, ComplexArray, Mask


@record
class GluedLaw(LossLaw):
    """The glued pair of two sampled laws.

    Attributes:
        up: the sampled event for removing: losses above 0 are its.
        down: the sampled event for adding: losses below 0 are its.
    """

    up: LossLaw
    down: LossLaw

    @property
    def infinity_mass(self) -> float:
        """Return P(L = +inf)."""
        return self.up.infinity_mass

    @property
    def infinity_mass_error(self) -> float:
        """Return the relative error of that."""
        return self.up.infinity_mass_error

    @property
    def lower_infinity_mass(self) -> float:
        """Return Q(L = -inf)."""
        return self.down.lower_infinity_mass

    @property
    def max_loss(self) -> float:
        """Return the largest finite loss."""
        return max(0.0, self.up.max_loss)

    @property
    def max_loss_error(self) -> float:
        """Return the relative error of that."""
        return self.up.max_loss_error

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Return the atom at 0 and those of the halves."""
        above = [loss for loss in self.up.atom_locations if loss > 0.0 and self._has_atoms(self.up)]
        below = [
            loss for loss in self.down.atom_locations if loss < 0.0 and self._has_atoms(self.down)
        ]
        return (*below, 0.0, *above) if len(below) + len(above) < MOST_ANCHORS else (0.0,)

    @staticmethod
    def _has_atoms(law: LossLaw) -> bool:
        return len(law.atom_locations) > 1

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by the excess of the halves over their losses on either side of 0.

        With f(r) = r^alpha - 1 - alpha (r - 1), E_Q f(dP/dQ) = int f''(a) (H(a) - (1 - a)_+) da.
        For a > 1 H is the profile of the sampled event for removing, whose part of the integral
        is that of E f(r) with r > 1: E_R[(1 + y)^alpha - 1 - alpha y; X > 0] with y = q (e^X - 1).
        For a < 1 it is that for adding, r = 1 / (1 + y) under Q = (1 + y) R:
        E_R[(1 + y) f(1 / (1 + y)); X > 0] = E_R[(1 + y)^-c - 1 + c y; X > 0]. The sum of the two is
        M - 1, as no mass is at infinity.
        """
        return from_excess(self._log_excess, c, *self.convexity(c))

    def convexity(self, c: Array) -> tuple[Array, Array]:
        """Bound K by those of the halves.

        M is at most the sum of e^K of both, and at least e^K of the one for removing less alpha:
        f <= alpha where r <= 1.
        """
        up, down = self.up.convexity(c), self.down.convexity(c)
        upper = np.logaddexp(up[1], down[1])
        upper = upper + 16.0 * UNIT * np.where(np.isfinite(upper), np.abs(upper), 0.0)
        if self.infinity_mass == self.lower_infinity_mass == 0.0:
            # e^K - alpha >= e^{K - 1e-15} for K > log alpha + 40.
            large = up[0] > np.log1p(c) + 40.0
            lower = np.where(large, up[0] * (1.0 - 4.0 * UNIT) - 1e-15, 0.0)
        else:
            lower = np.full(c.shape, -math.inf)
        return lower, upper

    @property
    def sample(self) -> Sample | None:
        """Return that of either half: M - 1 is part of the sum of both."""
        half = self.down.sample
        return None if half is None else replace(half, halves=2)

    def concentration(self, c: Array) -> Array:
        """Bound D_a / a at all orders by the event's, which the half for removing knows.

        By joint convexity H(a) <= q h(a) for a >= 1 and H(a) <= (1 - q) (1 - a) + q h(a) for
        a < 1, so that H <= h, and Renyi divergences increase with the profile.
        """
        whole = np.full(c.shape, np.inf)
        return np.maximum(self.up.concentration(whole), self.down.concentration(whole))

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return that of the half for removing.

        Its upper end is the event's, as H <= h, or belongs to the largest losses of both halves;
        its lower end is about the tests of small Q(z > x), whose losses are above 0.
        """
        return self.up.gaussian_range

    def _log_excess(self, c: float) -> Logs:
        if self.infinity_mass != 0.0 or self.lower_infinity_mass != 0.0:
            raise NotCertifiedError("only bounds are known on Renyi divergences of this sample")
        return add_logs([law.log_excess(c, positive=True) for law in (self.up, self.down)])

    def profile(self, epsilon: float) -> tuple[float, float] | None:
        """Return that of the sampled event for removing: epsilon is not negative."""
        return self.up.profile(epsilon)

    def tails(self, losses: Array) -> Tails:
        """Join the tails of the halves; what a half does not hold is 1 minus what it does.

        Such complements are off by the error of what they are the complement of.
        """
        positive = losses >= 0.0
        up = self.up.tails(np.maximum(losses, 0.0))
        down = self.down.tails(np.minimum(losses, -TINY_LOSS))
        finite_p, finite_q = 1.0 - self.infinity_mass, 1.0 - self.lower_infinity_mass
        error_up = np.broadcast_to(np.asarray(up.error, dtype=float), losses.shape)
        error_down = np.broadcast_to(np.asarray(down.error, dtype=float), losses.shape)
        above_p = np.where(positive, up.above_p, finite_p - down.below_p)
        above_q = np.where(positive, up.above_q, finite_q - down.below_q)
        below_p = np.where(positive, finite_p - up.above_p, down.below_p)
        below_q = np.where(positive, finite_q - up.above_q, down.below_q)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.where(
                positive,
                np.maximum(1.0 / below_p, 1.0 / below_q),
                np.maximum(1.0 / above_p, 1.0 / above_q),
            )
        error = np.where(positive, error_up, error_down) + 4.0 * UNIT
        error = error + self.infinity_mass_error
        error = error * np.where(share > 1.0, share, 1.0)
        between = _between(up, down, positive)
        return Tails(above_p, above_q, below_p, below_q, error, max(up.shift, down.shift), *between)


# No loss of the lower half is nearer to 0.
TINY_LOSS = 1e-300


def _between(
    up: Tails, down: Tails, positive: Mask
) -> tuple[Array | None, Array | None, Array | None]:
    """Return the masses of cells that lie in one half, where both halves know theirs."""
    if up.between_p is None or up.between_q is None or up.between_error is None:
        return None, None, None
    if down.between_p is None or down.between_q is None or down.between_error is None:
        return None, None, None
    above, below = positive[:-1], ~positive[1:]
    error = np.where(above, up.between_error, np.where(below, down.between_error, np.inf))
    return (
        np.where(above, up.between_p, down.between_p),
        np.where(above, up.between_q, down.between_q),
        error,
    )


# Beyond this tilted weights are not formed.
LARGEST = 300.0


@record
class GluedDensityLaw(EdgedLaw, GluedLaw, IntegratedLaw):
    """The glued pair of a sampled law with density, which may be cut at a loss and its negative.

    Attributes:
        up: the sampled event for removing, whose cut is the cut of both halves.
        down: the sampled event for adding.
        one_release: whether what sees a sample is one release with Gaussian noise, whose mean does
            not depend on other outputs for the same sample.
    """

    up: SampledLaw
    down: SampledLaw
    one_release: bool = False

    properties = LawProperties(cf_valid_for_all_t=True, has_atoms=True, has_atoms_and_edges=True)
    halves = 2

    @property
    def rate(self) -> float:
        """The sampling probability."""
        return self.up.rate

    @cached_property
    def middle(self) -> tuple[float, float]:
        """Return bounds on the mass of the loss 0, which no cut and no tilt changes.

        The delta of the half for removing at 0 is q h, h = W(X > 0) - R(X > 0), and W(X > 0) =
        R(X < 0) by symmetry. So R(X > 0) = (1 - h - R(X = 0)) / 2 and 1 - E_R[2 + y; X > 0] =
        R(X = 0) + (1 - q) h. The mass of atoms is off by MASS_ULPS units.

        Raises:
            NotCertifiedError: that delta is not known.
        """
        found = self.up.profile(0.0)
        if found is None:
            raise NotCertifiedError("the profile of what is sampled is not known at 0")
        q = self.up.q
        equal = math.fsum(r for x, r, _ in self.up.ratio.atoms if x == 0.0)
        low, high = (equal + (1.0 - q) * (each / q) for each in found)
        slack = UNIT * (8.0 + MASS_ULPS)
        return low * (1.0 - slack), high * (1.0 + slack)

    @property
    def still(self) -> float:
        """Return about the P-mass of the atoms."""
        atoms = self.atom_outcomes(0.0)
        return self.middle[1] + float((np.exp(atoms.log_w) * (2.0 + atoms.y)).sum())

    def edged(self, c: float) -> Edged:
        """Return the halves to the powers (1 + y)^(c + 1) and (1 + y)^-c, and the loss 0."""
        low, high = self.middle
        zero, mass = np.zeros(1), np.array([0.5 * (low + high)])
        atoms, densities = Atoms(zero, mass, zero, np.array([0.5 * (high - low)]) + UNIT * mass), []
        variation = 0.0
        for exponent, sign in ((c + 1.0, 1.0), (-c, -1.0)):
            atoms = atoms.with_others(Atoms.of(self.atom_outcomes(exponent), exponent, sign))
            densities += [AtomPowers(part, exponent, sign) for part in self.parts()]
            variation += tilted_variation(self.parts(), exponent)
        return Edged(atoms, tuple(densities), variation * MARGIN)

    @property
    def log_truncated_mass(self) -> float:
        """Return the log of a bound on the P-mass of what was cut, E_R[2 + y; out].

        The cut of the half for removing has R(out), q W(out) <= e^{log_mass} / 4, and 1 + y =
        1 - q + q e^X.
        """
        return self.up.log_truncated_mass

    def truncated(self, log_mass: float) -> GluedDensityLaw:
        """Cut an unbounded density so that the P-mass outside is at most exp(log_mass)."""
        return replace(self, up=self.up.truncated(log_mass))

    def uses_together(self, count: int, *, alone: bool, rough: bool) -> LossLaw | None:
        """Return the game of so many uses, where a step is one release with Gaussian noise.

        Of several releases for the same sample the later ones may depend on what came out of the
        first, and no triple of means stands for all of them: two with mu cost more than one with
        2^(1/2) mu, as may what is only known to be mu-GDP.
        """
        from privcalc.losses.fixed_size.laws import FixedSizeUses, Step

        if not (self.one_release and isinstance(self.up.base, GaussianLaw)):
            return None
        step = Step(self.up.q, self.up.base.mu, self.up.base.error)
        if not step.in_reach(count):
            return None
        law = FixedSizeUses(self, step, count, rough)
        return law if alone else law.listed()

    def parts(self, below: float = math.inf) -> tuple[SampledPart, ...]:
        """Return the outcomes with a density, 0 < X and y <= below."""
        parts = (replace(part, low=max(part.low, 0.0)) for part in self.up.parts(below))
        return tuple(part for part in parts if part.low < part.high)

    def atom_outcomes(self, exponent: float, below: float = math.inf) -> WeightedLosses:
        """Return the atoms with 0 < X and y <= below; their errors cover (1 + y)^exponent."""
        atoms = self.up.atom_outcomes(exponent, below)
        return WeightedLosses(*(column[atoms.loss > 0.0] for column in atoms))

    def outside(self) -> tuple[float, float]:
        """Return the masses above the cut under R and W, where X > 0 anyway."""
        masses = [replace(part, low=-math.inf).outside() for part in self.up.parts()]
        return math.fsum(r for r, _ in masses), math.fsum(w for _, w in masses)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K, K', K'' at c.

        With l = log(1 + y) the remainders add up to 4 e^{l/2} sinh((c + 1) l / 2) sinh(c l / 2).
        """
        log_w, _, loss, *_ = self._search_outcomes
        charge(600.0 + 0.5 * len(loss))
        with np.errstate(over="ignore"):
            top = float((log_w + (c + 1.0) * loss).max())
            shift = top if top > LARGEST else 0.0
            up, down = (np.exp(log_w + a * loss - shift) for a in (c + 1.0, -c))
            if shift > 0.0:
                total = float((up + down).sum())
                log_mgf = shift + math.log(total)
                log_mgf = log_mgf if log_mgf <= LARGEST_LOG_MGF else math.inf
            else:
                rise = up * -np.expm1(-(c + 1.0) * loss) * -np.expm1(-c * loss)
                log_mgf = math.log1p(float(rise.sum()))
                total = math.exp(log_mgf)
            first = float((up * -np.expm1(-(2.0 * c + 1.0) * loss) * loss).sum()) / total
            second = float(((up + down) * loss * loss).sum()) / total - first * first
        return log_mgf, first, second

    def on_contour(self, c: float, t_max: float, log_error: float) -> GluedContour:
        """Build certified nodes for |t| <= t_max."""
        sums = tuple(
            RemainderSum(c, self.nodes(c, t_max, log_error, remove=way), remove=way)
            for way in (True, False)
        )
        return GluedContour(self, c, sums)

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points from the fixed rule of the searches."""
        log_w, y, loss, *_ = self._search_outcomes
        powers = np.exp(np.outer(z + 1.0, loss) + log_w) + np.exp(np.outer(-z, loss) + log_w)
        with np.errstate(over="ignore"):
            rest = float((np.exp(log_w) * (2.0 + y)).sum())
        value: ComplexArray = np.log(1.0 - rest + powers.sum(axis=1))
        return value


class GluedContour(DecayingContour):
    """M(c + it) of a glued pair: the remainders of its halves."""

    law: GluedDensityLaw

    def __init__(self, law: GluedDensityLaw, c: float, sums: tuple[RemainderSum, ...]) -> None:
        """Take the halves, that for removing first."""
        self.law, self.c, self._sums = law, c, sums

    @property
    def size(self) -> int:
        """Return the number of nodes that every t costs."""
        return sum(each.size for each in self._sums)

    def minus_one(self, t: Array) -> tuple[ComplexArray, Array]:
        """Add up the halves; the sum is off by a unit."""
        return _added([each.minus_one(t) for each in self._sums])

    def minus_one_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Add up the halves."""
        return _added([each.minus_one_progression(step, count) for each in self._sums])

    def _half(
        self, t_max: float, log_error: float, *, remove: bool, below: float = math.inf
    ) -> NodeWeights:
        nodes = self.law.nodes(
            self.c, t_max, log_error, remove=remove, remainder=False, below=below
        )
        return NodeWeights.of(nodes, 1.0 if remove else -1.0)

    def far(self) -> tuple[float, float]:
        """Return the atoms, and the variations of the densities of both halves."""
        edged = self.law.edged(self.c)
        masses = edged.atoms.masses + edged.atoms.wrong
        return float(masses.sum()) * MARGIN, edged.variation

    def without(self, rare: float, t_max: float, log_error: float) -> NodeWeights:
        """Leave out what lies above a y on the side of large losses."""
        below = largest_y(self._sums[0].nodes, rare * self.mgf_range[0])
        up = self._half(t_max, log_error, remove=True, below=below)
        down = self._half(t_max, log_error, remove=False)
        zero = np.zeros(1)
        return NodeWeights(
            np.concatenate([up.loss, down.loss, zero]),
            np.concatenate([up.weights, down.weights, [self.law.middle[0]]]),
            np.concatenate([up.units, down.units, zero]),
            np.concatenate([up.moved, down.moved, zero]),
            up.quadrature + down.quadrature,
        )


def _added(halves: list[tuple[ComplexArray, Array]]) -> tuple[ComplexArray, Array]:
    (up, up_error), (down, down_error) = halves
    rounding = UNIT * (np.abs(up) + np.abs(down))
    return up + down, (up_error + down_error + rounding) * MARGIN


def glued(event: LossLaw, q: float, *, exact: bool = True) -> LossLaw:
    """Return the law for replacing a record; `event` is the event's law for replacing one.

    Args:
        event: law of a symmetric pair.
        q: probability that a record is in the sample, 0 <= q < 1.
        exact: whether q is exact, and not rounded (then at most 1/2).
    """
    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    up = sampled(event, q, remove=True, exact=exact)
    down = sampled(event, q, remove=False, exact=exact)
    if isinstance(up, AtomicLaw) and isinstance(down, AtomicLaw) and isinstance(event, AtomicLaw):
        return _glued_atoms(event, up, down, q)
    if isinstance(up, SampledLaw) and isinstance(down, SampledLaw):
        return GluedDensityLaw(up, down)
    return GluedLaw(up, down)


def _glued_atoms(event: AtomicLaw, up: AtomicLaw, down: AtomicLaw, q: float) -> AtomicLaw:
    """Join the positive atoms of one law, the negative ones of the other, and the atom at 0.

    h(1) is the sum of p (1 - e^{-l}) over l > 0, and the infinite loss: no difference cancels.
    Losses that sampling brings below the smallest double are 0, and are counted there.
    """
    above = [
        (loss, p, r)
        for loss, p, r in zip(up.losses, up.masses, up.lower_masses, strict=True)
        if loss > 0.0
    ]
    below = [
        (loss, p, r)
        for loss, p, r in zip(down.losses, down.masses, down.lower_masses, strict=True)
        if loss < 0.0
    ]
    h = math.fsum(
        -p * math.expm1(-loss)
        for loss, p in zip(event.losses, event.masses, strict=True)
        if loss > 0.0
    )
    equal = math.fsum(p for loss, p in zip(event.losses, event.masses, strict=True) if loss == 0.0)
    hidden = math.fsum(
        p
        for law in (up, down)
        for loss, base, p in zip(law.losses, event.losses, law.masses, strict=False)
        if loss == 0.0 and base < 0.0
    )
    middle = equal + (1.0 - q) * (h + event.infinity_mass) + hidden
    atoms = above + ([(0.0, middle, middle)] if middle > 0.0 else []) + below
    return AtomicLaw(
        tuple(loss for loss, _, _ in atoms),
        tuple(p for _, p, _ in atoms),
        up.infinity_mass,
        down.lower_infinity_mass,
        lower_masses=tuple(r for _, _, r in atoms),
        infinity_mass_error=up.infinity_mass_error,
    )
