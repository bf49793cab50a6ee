"""Samples in which a record is replaced: by an opposite one, of a fixed size, and with a cap.

Poisson sampling. The largest profile is that of (1 - q) R + q W against (1 - q) R + q W', with R
and W for the event without and with the record, and W' the mirror image of W (`opposite` in
`losses/cells.py`, where it is proved). Where noise of a symmetric density is added to a number, and
a larger output never has a smaller ratio of W to R, that is W = R + 1 against W' = R - 1: two
records that pull as far as they may in opposite directions, which exist. (Lebeda, Regehr, Kamath,
Steinke 2024 leave open whether the opposite pair is the worst for Gaussian noise in several
dimensions; the argument needs no dimension, since W and W' are bounded by their tests against R.)

A fixed size. Let (P, Q) dominate the event for replacing a record, in both orders at once (the
relation is symmetric, and so is the pair: its profile h satisfies h(a) = 1 - a + a h(1/a)). For a
sample that holds each record with probability q, the profile is at most

    H(a) = H_a((1 - q) Q + q P || Q) = q h(1 + (a - 1) / q)     for a >= 1,
    H(a) = H_a(P || (1 - q) P + q Q)                            for a < 1

(Zhu, Dong, Wang 2022, Proposition 29 and Corollary 31). H is convex, so it is the profile of a
pair: at a = 1 its slopes are h'(1) on the right and -1 + q h(1) - h'(1) on the left, and
2 h'(1) >= -1 + h(1), since Q(L > 0) = -h'(1) and, by symmetry, 2 Q(L > 0) + h(1) <= 1. The loss of
that pair above 0 is that of the sampled event for removing, below 0 that for adding, and the rest,
Q-mass Q(L = 0) + (1 - q) h(1), is an atom at 0.

A cap. Of the n records of the larger data set each is drawn with probability q, and of more than B
that are drawn a random B are kept; the sum of what is kept is published with N(0, 1). The record in
question adds +mu, each of the others -mu. Let s ~ Binomial(n - 1, q) of the others be drawn.
Without the record the output is N(-mu min(s, B), 1). With it, and s < B, it is that, or with
probability q N(-mu (s - 1), 1); with it, and s >= B, with probability q B / (s + 1) the record
takes the place of another, N(-mu (B - 2), 1). So both laws are mixtures of unit normals at
multiples of mu. Which of finitely many intervals the output is in is post-processing, and the
likeliest intervals together are tests, whose pair is dominated by the two mixtures
(`likeliest_law`), and composes: a lower end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.cells import glued as glued_list
from privcalc.losses.cells import listed, lower_law, opposite, upper_law
from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.law import MOST_ANCHORS, MOST_UNITS, LawProperties, LossLaw, Tails, Term
from privcalc.losses.profiles import likeliest_law
from privcalc.losses.sampled.law import SampledLaw, sampled
from privcalc.losses.sampled.renyi import add_logs, from_excess, opposite_excess
from privcalc.losses.sampled.tails import SampledTailLaw
from privcalc.losses.shuffled import TRUNCATED, window
from privcalc.numerics.normal import lower_tails, short_intervals
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.sampled.renyi import Logs
    from privcalc.numerics.rounding import Array, Mask


@record
class ReplacedNoise(LossLaw):
    """Opposite records of a sample with noise of a symmetric density.

    Attributes:
        base: the event's law for adding a record.
        q: sampling probability, 0 < q < 1; it may be off by 2 units.
    """

    base: GaussianLaw | DiscreteGaussianLaw
    q: float

    max_loss: ClassVar[float] = math.inf
    properties: ClassVar[LawProperties] = LawProperties(symmetric=True)

    def tails(self, losses: Array) -> Tails:
        """Return those of Gaussian noise; of discrete noise lists have them.

        With R = N(0, 1), the loss log(1 - q + q e^{mu z - mu^2/2}) - log(1 - q + q e^{-mu z -
        mu^2/2}) increases with z, and is l where mu z = l/2 + asinh(k sinh(l/2)), k = e^{mu^2/2}
        (1 - q) / q. So L > l is beyond z, of known mass under R and N(+-mu, 1). The slope of l in
        mu z is 2 / (1 + k cosh(l/2) / sqrt(1 + (k sinh(l/2))^2)): by that times 4 units of its
        terms is l displaced as mu z is rounded, and its own terms change by no more than r = max(1,
        q / (1 - q)) times the relative error of q, and by mu z + mu^2 times that of mu. Masses
        are off by r times that of q, and as those of `GaussianLaw`.
        """
        if not isinstance(self.base, GaussianLaw):
            raise NotImplementedError
        charge(0.5 * len(losses))
        q, mu, off = self.q, self.base.mu, 1.1 * self.base.error
        log_k = math.log1p(-q) - math.log(q) + 0.5 * mu * mu
        with np.errstate(divide="ignore"):
            half = 0.5 * np.abs(losses)
            log_s = log_k + half + np.log(-0.5 * np.expm1(-2.0 * half))
        s = np.exp(np.minimum(log_s, 300.0))
        rise = np.where(log_s > 20.0, log_s + math.log(2.0), np.arcsinh(s))
        z = np.copysign(half + rise, losses) / mu
        # k cosh(l/2) over the root, which is at most 1 / tanh(l/2).
        steep = np.exp(np.minimum(log_k + half, 300.0)) * (0.5 + 0.5 * np.exp(-2.0 * half))
        slope = 2.0 / (1.0 + steep / np.hypot(1.0, s))
        terms = 4.0 + abs(math.log(q)) + mu * mu + 4.0 * half + 2.0 * rise
        ratio = max(1.0, q / (1.0 - q))
        moved = slope * (4.0 * UNIT * terms + off * (mu * np.abs(z) + mu * mu))
        size = 1.0 + mu + np.abs(z)
        r, w, other = (self._masses(z, mean) for mean in (0.0, mu, -mu))
        p_masses, q_masses = (
            [(1.0 - q) * x + q * y for x, y in zip(r, each, strict=True)] for each in (w, other)
        )
        units = 16.0 * UNIT * ratio
        return Tails(
            p_masses[0],
            q_masses[0],
            p_masses[1],
            q_masses[1],
            error=units + 6.0 * UNIT * size * size + off * mu * size,
            shift=float(moved.max(initial=0.0)) * MARGIN + 4.0 * UNIT * ratio,
            between_p=p_masses[2],
            between_q=q_masses[2],
            between_error=units
            + off * mu * size[1:]
            + np.maximum(np.maximum(r[3], w[3]), other[3]),
        )

    @staticmethod
    def _masses(z: Array, mean: float) -> tuple[Array, Array, Array, Array]:
        between, error = short_intervals(z, mean)
        smaller, left = lower_tails(-np.abs(z - mean)), z < mean
        larger = 1.0 - smaller
        above, below = np.where(left, larger, smaller), np.where(left, smaller, larger)
        return above, below, between, error

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by that of W against W', and by the sampled event's for removing.

        By joint convexity M <= 1 - q + q e^{K of W against W'}. With 1 + y = dP/dR, and dQ/dR at
        least 1 - q, M <= (1 - q)^-c E_R (1 + y)^{c + 1}. Where dP/dR > 1 it is above dQ/dR, which
        is below 1 there, so that M >= E_R (1 + y)^{c + 1} - 1. Of Gaussian noise it is known by
        cells.
        """
        base, q = self.base, self.q
        double: LossLaw
        if isinstance(base, GaussianLaw):
            double = GaussianLaw(2.0 * base.mu, base.error)
        else:
            double = DiscreteGaussianLaw(base.variance, 2 * base.shift)
        alone = sampled(base, q, remove=True).renyi(c)
        floor = -c * math.log1p(-q)
        convex = np.logaddexp(math.log1p(-q), math.log(q) + double.renyi(c)[1])
        above = np.minimum(convex, alone[1] + floor)
        size = np.where(np.isfinite(above), np.abs(above) + floor + abs(math.log(q)), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = alone[0] + np.log(-np.expm1(-alone[0]))
            below = below - 16.0 * UNIT * (1.0 + np.abs(below) + alone[0])
        # An infinite lower end is as certain as it was.
        below = np.where(alone[0] > 1.0, np.where(np.isinf(alone[0]), np.inf, below), 0.0)
        ends = np.maximum(below, 0.0), above + 16.0 * UNIT * (1.0 + size)
        if not isinstance(base, GaussianLaw) or base.error > MOST_UNITS * UNIT:
            return ends
        return from_excess(lambda each: opposite_excess(q, base.mu, each), c, *ends)

    def concentration(self, c: Array) -> Array:
        """Return four times the event's: the divergence is convex, and W from W' twice as far."""
        return 4.0 * self.base.concentration(c)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return mu and 2 mu: by convexity the pair is no worse than W and W'.

        The tests z > x have P(z > x) >= q P(N > x - mu) and Q(z > x) <= P(N > x); in compositions
        the same is true of sums of the z, as under Q each is stochastically smaller than under R.
        That is what a lower end has to say (`losses/law.py`).
        """
        if not isinstance(self.base, GaussianLaw):
            return 0.0, math.inf
        return self.base.mu * (1.0 - 8.0 * UNIT), 2.0 * self.base.mu * (1.0 + 8.0 * UNIT)


def replaced(
    event: LossLaw, reverse: LossLaw, q: float, *, exact: bool, opposite_records: bool
) -> LossLaw | Term:
    """Return what is known of a Poisson-sampled event for replacing a record.

    A record that has no influence may be replaced, too: then (P, Q) is the pair for removing one,
    which a mechanism attains where no more is known. The profile grows with q: a sample at a lower
    rate is a mixture of one at the higher rate and of none.

    Args:
        event: the event's law for adding a record.
        reverse: its law for removing one.
        q: sampling probability, 0 <= q < 1.
        exact: whether q is exact, and not rounded (then at most 1/2).
        opposite_records: whether a mechanism that fits the event's description has two records
            whose outputs are W and W'.
    """
    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    below, above = reverse, reverse
    if isinstance(reverse, GaussianLaw | LaplaceLaw) and reverse.error > MOST_UNITS * UNIT:
        below, above = reverse.ends
    if isinstance(below, GaussianLaw) and isinstance(above, GaussianLaw) and opposite_records:
        found = ReplacedNoise(above, q)
        return found if below is above else Term(found, ReplacedNoise(below, q))
    low, high = (q, q) if exact else (q * (1.0 - 2.0 * UNIT), q * (1.0 + 2.0 * UNIT))
    upper = upper_law(opposite(listed(above, above=True), high, above=True))
    if opposite_records:
        return Term(upper, lower_law(opposite(listed(below, above=False), low, above=False)))
    return Term(upper, sampled(event, q, remove=True, exact=exact, reverse=reverse))


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
        above = [loss for loss in self.up.atom_locations if loss > 0.0]
        below = [loss for loss in self.down.atom_locations if loss < 0.0]
        return (*below, 0.0, *above) if len(below) + len(above) < MOST_ANCHORS else (0.0,)

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
        halves = [law for law in (self.up, self.down) if isinstance(law, SampledTailLaw)]
        if len(halves) < 2 or self.infinity_mass != 0.0 or self.lower_infinity_mass != 0.0:
            raise NotCertifiedError("only bounds are known on Renyi divergences of this sample")
        return add_logs([law.log_excess(c, positive=True) for law in halves])

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


@record
class GluedDensityLaw(GluedLaw):
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
        return law if alone else law.listed


def glued(event: LossLaw, q: float, *, exact: bool = True) -> LossLaw:
    """Return the law for replacing a record; `event` is the event's law for replacing one.

    Args:
        event: law of a symmetric pair.
        q: probability that a record is in the sample, 0 <= q < 1.
        exact: whether q is exact, and not rounded (then at most 1/2).
    """
    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    if isinstance(event, AtomicLaw) and event.lower_masses:
        return glued_list(event, q)
    up = sampled(event, q, remove=True, exact=exact)
    down = sampled(event, q, remove=False, exact=exact)
    if isinstance(up, SampledLaw) and isinstance(down, SampledLaw):
        return GluedDensityLaw(up, down)
    return GluedLaw(up, down)


# How far apart edges of intervals are, and how far beyond the outermost places that matter they go.
SPACED, BEYOND = 0.05, 9.0
# Relative error that is allowed for probabilities.
SLACK = 1e-8
# The most that the double for q may move them.
MOST_OFF = 1e-6
# Of more different sums, or where the cap binds less often than this, others that add nothing cost
# more in all that was tried.
MOST_SUMS, LEAST_BINDING = 400, 0.05
MOST_EDGES, FARTHEST = 4_000, 1e4
# Work of a normal tail.
PER_TAIL = 0.3


@remembered(30)
def opposite_law(
    mu: float, sample: tuple[float, int, int], other: LossLaw, *, remove: bool
) -> LossLaw | None:
    """Return a law below that of the sample whose other records pull the other way.

    Where the cap nearly always binds this is about the upper end that is proved of all data sets;
    where it does not, s itself is noise, and others that add nothing cost more.

    Rounding. Places are counted from -mu B, so that those that matter are small multiples. z = mu
    place - edge is off by 3 units of its terms, which moves the log of a normal tail by (|z| + 1)
    times that. The mass between two edges is the difference of the tails on its own side, of which
    the larger exceeds the smaller by a factor of at least 1 + SPACED / 2, so that relative errors
    grow by 2 / SPACED + 1 at most. All of it is far below SLACK, by which masses under P are
    lowered and those under Q raised; what the window of s truncates is added to the latter. The
    double for q is off by 2 units, which moves q^s (1 - q)^(n - 1 - s) by s of these and by
    n - 1 - s times those of 1 - q, that is 2 q / (1 - q) units, and the chance of no change by as
    much once: that is added to SLACK, and refused beyond MOST_OFF.

    Args:
        mu: what one record adds, in deviations of the noise; or a little less.
        sample: q in (0, 1] to 2 units, B < n, and n.
        other: the law of a record among others that add nothing, which is below as well.
        remove: whether P has the record.

    Returns:
        The law, with `other` beside it; None where it would prove less for certain.
    """
    q, most, size = sample
    if not 0.0 < q <= 1.0:
        return None
    everybody: tuple[Array, Array, float] = np.array([size - 1.0]), np.ones(1), 0.0
    drawn, masses, wrong = window(size - 1, q, 1.0 - q) if q < 1.0 else everybody
    free = drawn < most
    binding = float(masses[~free].sum())
    off = 0.0
    if q < 1.0:
        rest = size - 1.0 - float(drawn[0])
        off = 2.0 * UNIT * (float(drawn[-1]) + 1.0 + (rest + 2.0) * q / (1.0 - q)) * MARGIN
    if not off < MOST_OFF:
        return None
    if binding < LEAST_BINDING or int(free.sum()) > MOST_SUMS or not wrong < 1e-9:
        return None
    # Places are counted from B others, in multiples of mu, upward.
    places, without, with_it = _mixtures(drawn, masses, (q, most))
    last = 2.0 if not free.any() else min(float(places.max()), 3.0 + BEYOND / mu)
    edges = np.arange(-BEYOND, last * mu + BEYOND, SPACED)
    charge(PER_TAIL * len(edges) * len(places) * 2.0)
    if len(edges) > MOST_EDGES or not mu * float(places.max()) < FARTHEST:
        return None
    between = _masses(mu * places[:, None] - edges)
    have: Array = with_it @ between
    have_not: Array = without @ between
    pair = (have, have_not) if remove else (have_not, have)
    return likeliest_law(pair, SLACK + off, 2.0 * TRUNCATED, other)


def _masses(z: Array) -> Array:
    """Return the masses that normals have before, between and beyond edges; a row for each.

    Args:
        z: how far each mean is above each of the increasing edges.
    """
    from scipy.special import ndtr

    below, above = ndtr(-z), ndtr(z)
    inner = np.where(z[:, 1:] > 0.0, np.diff(below, axis=1), -np.diff(above, axis=1))
    return np.concatenate([below[:, :1], inner, above[:, -1:]], axis=1)


def _mixtures(drawn: Array, masses: Array, sample: tuple[float, int]) -> tuple[Array, Array, Array]:
    """Return the places of normals, and their weights without the record and with it."""
    q, most = sample
    kept = np.minimum(drawn, most)
    free = drawn < most
    chance = np.where(free, q, q * most / (drawn + 1.0))
    moved = np.where(free, 1.0, 2.0)
    places = most - kept
    low, high = int(places.min()), int((places + moved).max())
    without, with_it = np.zeros(high - low + 1), np.zeros(high - low + 1)
    at = (places - low).astype(np.intp)
    np.add.at(without, at, masses)
    np.add.at(with_it, at, masses * (1.0 - chance))
    np.add.at(with_it, at + moved.astype(np.intp), masses * chance)
    return np.arange(low, high + 1.0), without, with_it
