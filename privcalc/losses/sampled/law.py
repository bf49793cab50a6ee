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
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.law import MASS_ULPS, MOST_UNITS, ContourLaw, LawProperties, LineLaw
from privcalc.losses.quadrature import (
    PER_SEARCHED,
    SEARCH,
    NodeSet,
    Normal,
    RemainderSum,
    SearchSums,
    equal_panels,
    on_part,
)
from privcalc.losses.sampled.decay import log_suprema
from privcalc.losses.sampled.parts import SampledPart
from privcalc.losses.sampled.tails import SampledTailLaw
from privcalc.numerics.normal import normal_tail
from privcalc.numerics.rounding import UNIT, log1p_with_error
from privcalc.numerics.sums import log_difference
from privcalc.numerics.work import charge
from privcalc.record import record, replace

if TYPE_CHECKING:
    from typing import Self, TypeAlias

    from privcalc.losses.atoms import AtomicLaw
    from privcalc.losses.law import LossLaw
    from privcalc.losses.sampled.parts import ExponentialSum
    from privcalc.numerics.rounding import Array

    # One, or one for each of many laws.
    Number: TypeAlias = float | Array
    from privcalc.losses.sampled.parts import MixturePart
    from privcalc.numerics.rounding import Array, ComplexArray


class TailSplitLaw(LineLaw):
    """A mixture (1 - rate) R + rate W against R, normal in a coordinate x in which 1 + y grows.

    Attributes:
        remove: whether the mixture is P: a = c + 1 + it, and the loss is log(1 + y); else R is P,
            a = -c - it, and the loss minus that.
        log_mass: log of the P-mass that the ends may leave out.
    """

    __slots__ = ()

    remove: bool
    log_mass: float

    @property
    @abstractmethod
    def rate(self) -> float:
        """Return the factor of W - R in y."""

    @property
    @abstractmethod
    def normal(self) -> Normal:
        """Return the whole normal density of x under R."""

    @property
    @abstractmethod
    def farthest(self) -> float:
        """Return by how many deviations the farthest part of W lies to the right of R."""

    @property
    def lines(self) -> bool:
        """Whether long phases may be summed on shifted lines."""
        return True

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """Return where the law itself is cut."""

    @abstractmethod
    def between(self, low: float, high: float) -> SampledPart | MixturePart:
        """Return the outcomes between two places."""

    def outside(self) -> tuple[float, float]:
        """Return the masses outside of the ends, under R and W."""
        (low, high), f = self.ends, self.normal
        r = normal_tail(f.mean - low, f.mean, f.deviation)[0]
        r += normal_tail(high - f.mean, f.mean, f.deviation)[0]
        return r, self.tail_of_w(low, right=False)[0] + self.tail_of_w(high, right=True)[0]

    @property
    def log_truncated_mass(self) -> float:
        """Return the log of a bound on the P-mass outside of the ends."""
        return self.log_mass + 1e-9

    def truncated(self, log_mass: float) -> Self:
        """Cut so that the P-mass outside is at most exp(log_mass)."""
        return replace(self, log_mass=min(log_mass, math.log(0.01)))

    def part(self) -> SampledPart | MixturePart:
        """Return the outcomes between the ends."""
        return self.between(*self.ends)

    def losses(self, x: Array) -> tuple[Array, Array, Array]:
        """Return y, log(1 + y), and a bound on the latter's absolute error."""
        return self.part().losses(x)

    def on_contour(self, c: float, t_max: float, log_error: float) -> QuadratureContour:
        """Build certified nodes for |t| <= t_max.

        Raises:
            NotCertifiedError: M(c) overflows, or the quadrature is too long.
        """
        log_mgf = self.cumulants(c)[0]
        if not math.isfinite(log_mgf):
            raise NotCertifiedError(
                f"the moment generating function overflows at order {c + 1.0:.6g}"
            )
        nodes = NodeSet.placed(
            self.part(),
            (c + 1.0 if self.remove else -c, t_max),
            log_error + log_mgf - math.log(2.0),
            remainder=True,
            out=self.outside(),
            rate=self.rate,
        )
        return QuadratureContour(self, c, nodes)

    @cached_property
    def _search(self) -> SearchSums:
        """Return outcomes on a fixed rule, and what searches ask of them again and again."""
        part = self.part()
        return SearchSums(on_part(part, *equal_panels(part), 0.0))

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Estimate K, K', K'' at c, using E_R y = 0 against cancellation."""
        charge(SEARCH + PER_SEARCHED * self._search.size)
        a, sign = (c + 1.0, 1.0) if self.remove else (-c, -1.0)
        log_mgf, first, second = (float(each) for each in self._search.cumulants(a))
        return log_mgf, sign * first, second

    @abstractmethod
    def tail_of_w(self, x: float, *, right: bool) -> tuple[float, float]:
        """Return the W-mass on one side of a place, and its relative error."""

    def tails_of_w(self, x: Array) -> Array:
        """Return about the W-masses to the right of places."""
        return np.array([self.tail_of_w(each, right=True)[0] for each in x.tolist()])

    @abstractmethod
    def place(self, level: float) -> float:
        """Return about the x at which log(1 + y) is a level > 0."""

    @abstractmethod
    def variance(self, largest: float) -> float:
        """Return about the variance of y under R, exponents cut off at `largest`."""


class QuadratureContour(ContourLaw):
    """A mixture whose loss is log(1 + y), or minus that, from one node set."""

    def __init__(self, law: TailSplitLaw, c: float, nodes: NodeSet) -> None:
        """Take the nodes of M - 1 at c."""
        self.law, self.c = law, c
        self._sum = RemainderSum(c, nodes, remove=law.remove)

    @property
    def size(self) -> int:
        """Return the number of nodes that every t costs."""
        return self._sum.size

    def minus_one_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return the sums over the nodes."""
        return self._sum.minus_one_progression(step, count)

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) and a bound on its error."""
        return log1p_with_error(*self._sum.minus_one(t))

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K and its error at t = k step, k < count."""
        return log1p_with_error(*self.minus_one_progression(step, count))

    @cached_property
    def mgf_range(self) -> tuple[float, float]:
        """Return certified bounds on M(c) > 0."""
        value, error = self._sum.minus_one(np.zeros(1))
        m, slack = 1.0 + float(value[0].real), float(error[0])
        return (m - slack) * (1.0 - 1e-12), (m + slack) * (1.0 + 1e-12)

    def log_decay(self, t: float) -> float:
        """Bound log |phi| beyond t by cells."""
        if not self.mgf_range[0] > 0.0:
            return 0.0
        part, times = self.law.part(), np.array([t])
        return float(log_suprema(part, self._sum.nodes.exponent, self.mgf_range, times)[0])


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

    def tails_of_w(self, x: Array) -> Array:
        """Return about the W-masses to the right of places."""
        z = (x - self.normal.mean) / self.normal.deviation - self.normal.deviation
        return np.array([0.5 * math.erfc(each) for each in (z * math.sqrt(0.5)).tolist()])

    def place(self, level: float) -> float:
        """Return about the x whose loss log(1 - q + q e^x) is the level > 0."""
        q = self.q
        return math.log1p(math.expm1(level) / q) if level < 600.0 else level - math.log(q)

    def variance(self, largest: float) -> float:
        """Return q^2 (e^{s^2} - 1)."""
        return self.q**2 * math.expm1(min(self.normal.deviation**2, largest))

    def log_excess(self, c: float, *, positive: bool = False) -> tuple[float, float]:
        """Return bounds on log(M(c) - 1), or on that part of it where X > 0.

        For removing all but a bounded part is there, which is taken off.

        Raises:
            NotCertifiedError: there are too many outcomes.
        """
        from privcalc.losses.sampled.renyi import listed_excess, mixture_excess

        if not positive:
            return mixture_excess(self.mixture, c, remove=self.remove)
        if not self.remove:
            return listed_excess((self.base,) * 2, self.q, c, remove=False, likelier=True)
        rest = listed_excess((self.base,) * 2, self.q, c, remove=True, likelier=False)
        return log_difference(mixture_excess(self.mixture, c, remove=True), rest)

    @cached_property
    def mixture(self) -> ExponentialSum:
        """Return dM/dR of a standard normal output."""
        from privcalc.losses.sampled.renyi import sampled_ratio

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
    if q == 1.0:
        return (reverse or event) if remove else event
    if q > 0.0 and isinstance(event, GaussianLaw) and event.error <= MOST_UNITS * UNIT:
        return SampledLaw(event, event, q, remove)
    from privcalc.losses.atoms import AtomicLaw, ProvedLaw

    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    of_one_kind = event.sampled(q, remove=remove)
    if of_one_kind is not None:
        return of_one_kind
    pair = event.atoms if isinstance(event, ProvedLaw) else event
    if isinstance(pair, AtomicLaw) and (pair.lower_masses or not pair.losses):
        return _sampled_atoms(pair, reverse or event, q, remove=remove, exact=exact)
    return SampledTailLaw(event, reverse or event, q, remove)


def _sampled_atoms(
    event: AtomicLaw, reverse: LossLaw, q: float, *, remove: bool, exact: bool
) -> AtomicLaw:
    """Map atoms of masses r, w: P-mass (1 - q) r + q w for remove, r for add, and their log-ratio.

    Outcomes of R alone have w = 0. Those of W alone have mass q in the mixture and none in R: an
    infinite loss for remove, and lost to P for add.

    Rounding: r and w carry up to 20 units, and so does their mixture. Where the loss comes from x,
    off by 32 units of itself, y = q expm1(x) is off by less than 60 for |x| < 1, and log1p(y) by
    little more; elsewhere w - r, or the mixture over r, is off by 50 units, absolutely, and the
    loss is of order 1. The mass of W alone is the infinite loss of the law for removing, which says
    how exact it is; where only the law for adding is at hand, and that has another mass, it is
    taken to be no better than other masses.
    """
    from privcalc.losses.atoms import AtomicLaw

    without_only, with_only = event.infinity_mass, event.lower_infinity_mass
    ratios = [-loss for loss in event.losses]
    atoms = list(zip(ratios, event.masses, event.lower_masses, strict=True))
    if without_only > 0.0:
        atoms.append((-math.inf, without_only, 0.0))
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
    lost = q * with_only
    rounded = not exact or Fraction(q) * Fraction(with_only) != Fraction(lost)
    error = reverse.infinity_mass_error if reverse.infinity_mass == with_only else OTHER_ERROR
    error += 3.0 * UNIT if rounded else 0.0
    above, below = (lost, 0.0) if remove else (0.0, lost)
    own = error if remove else event.infinity_mass_error
    return AtomicLaw(
        tuple(losses),
        tuple(masses),
        above,
        below,
        lower_masses=tuple(others),
        infinity_mass_error=own if above > 0.0 else 0.0,
        moved=event.moved,
    )


def cut_ends(
    mean: Number, s: Number, q: Number, log_mass: float, *, remove: bool
) -> tuple[Number, Number]:
    """Return ends of X beyond which the P-mass is at most exp(log_mass); of one law, or of many.

    Each of four tails for removing, and of two for adding, gets a quarter, and P(N > z) is at most
    e^{-z^2/2} / 2.

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
