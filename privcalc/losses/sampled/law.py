"""Loss laws of a Poisson-sampled Gaussian mechanism, and of samples of finitely many outcomes.

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
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from privcalc.losses.atomic.atoms import MASS_ULPS, AtomicLaw
from privcalc.losses.law import MOST_UNITS, LawProperties
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.quadrature import Normal
from privcalc.losses.sampled.line import TailSplitLaw
from privcalc.losses.sampled.normal_excess import mixture_excess, sampled_ratio
from privcalc.losses.sampled.parts import SampledPart, outside
from privcalc.losses.sampled.renyi import listed_excess
from privcalc.losses.sampled.tails import SampledTailLaw
from privcalc.numerics.log_sums import log_difference
from privcalc.numerics.normal import normal_tail
from privcalc.numerics.rounding import UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from typing import TypeAlias

    from privcalc.losses.law import LogRatio, LossLaw
    from privcalc.losses.sampled.mixture_sums import ExponentialSum
    from privcalc.numerics.arrays import Array

    # One, or one for each of many laws.
    Number: TypeAlias = float | Array

# Cut of an unbounded piece when nobody asked for one: mass below 1e-60.
DEFAULT_LOG_MASS = -140.0
# Relative error of a mass that comes without one.
OTHER_ERROR = MASS_ULPS * UNIT
# Masses below this have lost digits.
LEAST_NORMAL = 2.3e-308


@record
class SampledLaw(TailSplitLaw, SampledTailLaw):
    """One direction of a sampled Gaussian; X may be cut to [low, high].

    Attributes:
        log_mass: log of the P-mass that the cut may drop.
    """

    log_mass: float = DEFAULT_LOG_MASS

    properties = LawProperties(line=True, sampled_gaussian=True, supports_tail_split=True)

    @property
    def log_truncated_mass(self) -> float:
        """Return the log of a bound on the P-mass outside the cut.

        `cut_ends` chooses normal quantiles z with exp(-z^2/2)/2 equal to a quarter of the mass
        (four tails for remove, two for add), and P(N > z) <= exp(-z^2/2)/2 for z >= 0.
        """
        return self.log_mass + 1e-9

    def truncated(self, log_mass: float) -> SampledLaw:
        """Cut X so that the P-mass outside is at most exp(log_mass)."""
        return replace(self, log_mass=min(log_mass, math.log(0.01)))

    @property
    def rate(self) -> float:
        """Return q."""
        return self.q

    @cached_property
    def normal(self) -> Normal:
        """Return the density of X under R."""
        mu = cast("GaussianLaw", self.base).mu
        return Normal.of(-0.5 * mu * mu, mu)

    @property
    def reverse_direction(self) -> None:
        """Say that there is none: what is cut under P is not what is under Q."""
        return None

    @property
    def farthest(self) -> float:
        """Return the deviation: under W the mean of X is its square larger."""
        return self.normal.deviation

    @property
    def ends(self) -> tuple[float, float]:
        """Return the ends of X after the cut."""
        mean, s = self.normal.mean, self.normal.deviation
        low, high = cut_ends(mean, s, self.q, self.log_mass, remove=self.remove)
        return float(low), float(high)

    def between(self, low: float, high: float) -> SampledPart:
        """Return the outcomes of X between two places."""
        return SampledPart(self.normal, low, high, self.q)

    def tail_of_w(self, x: float, *, right: bool) -> tuple[float, float]:
        """Return the W-mass on one side of a place; the shifted mean is off as the piece's is."""
        mean = self.normal.mean + self.normal.deviation**2
        return normal_tail(x - mean if right else mean - x, mean, self.normal.deviation)

    def place(self, level: float) -> float:
        """Return about the x whose loss log(1 - q + q e^x) is the level > 0."""
        q = self.q
        return math.log1p(math.expm1(level) / q) if level < 600.0 else level - math.log(q)

    def variance(self, largest: float) -> float:
        """Return q^2 (e^{s^2} - 1)."""
        return self.q**2 * math.expm1(min(self.normal.deviation**2, largest))

    def outside(self) -> tuple[float, float]:
        """Return the masses of what was cut."""
        return outside(self.normal.mean, self.normal.deviation, *self.ends)

    def log_excess(self, c: float, *, positive: bool = False) -> tuple[float, float]:
        """Return bounds on log(M(c) - 1), or on that part of it where X > 0.

        For removing all but a bounded part is there, which is taken off.

        Raises:
            NotCertifiedError: there are too many outcomes.
        """
        if not positive:
            return mixture_excess(self.mixture, c, remove=self.remove)
        if not self.remove:
            return listed_excess((self.base,) * 2, self.q, c, remove=False, likelier=True)
        rest = listed_excess((self.base,) * 2, self.q, c, remove=True, likelier=False)
        return log_difference(mixture_excess(self.mixture, c, remove=True), rest)

    @cached_property
    def mixture(self) -> ExponentialSum:
        """Return dM/dR of a standard normal output."""
        return sampled_ratio(self.normal.deviation, self.q)


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
    if q == 1.0:
        return (reverse or event) if remove else event
    of_one_kind = event.sampled(q, remove=remove)
    if of_one_kind is not None:
        return of_one_kind
    if isinstance(event, GaussianLaw) and event.error <= MOST_UNITS * UNIT:
        return SampledLaw(event, event, q, remove)
    ratio = event.log_ratio()
    if ratio is None:
        return SampledTailLaw(event, reverse or event, q, remove)
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
        if 0.0 <= r < LEAST_NORMAL and x > 0.0:
            # The ratio of masses that underflow says nothing; log w/r does.
            loss = x + math.log(q + (1.0 - q) * math.exp(-x))
        else:
            y = q * math.expm1(x) if abs(x) < 1.0 else q * ((w - r) / r)
            loss = math.log1p(y) if abs(y) < 0.5 else math.log(mixture / r)
        losses.append(loss if remove else -loss)
        without = max(r, math.ulp(0.0))
        masses.append(mixture if remove else without)
        others.append(without if remove else mixture)
    alone = ratio.without_only if q == 1.0 else 0.0
    lost = q * ratio.with_only
    rounded = not exact or Fraction(q) * Fraction(ratio.with_only) != Fraction(lost)
    error = reverse.infinity_mass_error if reverse.infinity_mass == ratio.with_only else OTHER_ERROR
    error += 3.0 * UNIT if rounded else 0.0
    above, below = (lost, alone) if remove else (alone, lost)
    own = error if remove else event.infinity_mass_error
    return AtomicLaw(
        tuple(losses),
        tuple(masses),
        above,
        below,
        lower_masses=tuple(others),
        infinity_mass_error=own if above > 0.0 else 0.0,
    )


def cut_ends(
    mean: Number, s: Number, q: Number, log_mass: float, *, remove: bool
) -> tuple[Number, Number]:
    """Return ends of X beyond which the P-mass is at most exp(log_mass); of one law, or of many.

    Under R, X is N(mean, s^2), and under W it is N(mean + s^2, s^2) (that is what dW/dR = e^X
    says). P(outside) is at most R(X < low) + R(X > high) + q W(X > high) for remove, where also
    q W(X < low) <= R(X < low) is counted (e^X < 1 there, as low < mean < 0).
    """
    quarter = log_mass - math.log(4.0)
    z = quantile(quarter)
    low, high = mean - z * s, mean + z * s
    if remove:
        high = np.maximum(high, mean + s * s + quantile(quarter - np.log(q)) * s)
    return low, high


def quantile(log_tail: Number) -> Number:
    """Return z >= 0 with exp(-z^2/2)/2 <= exp(log_tail)."""
    return np.sqrt(np.maximum(0.0, -2.0 * (log_tail + math.log(2.0)))) * (1.0 + 1e-14)
