"""What a privacy-loss law is: one direction of one dominating pair, seen by the engines.

L = log dP/dQ drawn from P. The central object is K(s) = log E_P[e^{sL}; L finite] on a vertical
line Re s = c: at real s it is Renyi DP of order s + 1, on the line it is what the Fourier
accountant integrates. Masses at infinity stay outside K.

On a vertical line (`LineLaw`) phi is the characteristic function of the tilted loss: what is known
of the Gaussian family, and of lists as factors beside it, is K there and a proved bound on |phi|.

`Tails` are the masses on both sides of given losses, all that the FFT engine knows of a law.
`RenyiCurve` is what stands in the place of a law where only divergences are known.

`Term` is one part of a composition in one direction: what proves its upper ends, and its lower
ones. Both are one law where the dominating pair is known and attained. Two laws enclose what is not
known exactly, or what no single mechanism attains. The law of an envelope, the largest profile of
several mechanisms at every epsilon by itself, proves upper ends of every composition. One use
attains each value of its profile, by one mechanism or another. Several uses of one mechanism attain
less: there a lower end comes from one member.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from privcalc.numerics.rounding import Array, ComplexArray

# Relative error of masses, in units: mechanisms form them to 20.
MASS_ULPS = 32.0
# More atoms than this cannot all be put on a lattice of the FFT engine.
MOST_ANCHORS = 64


@record
class LawProperties:
    """What a law is, where methods differ; each field at its default says the least.

    Attributes:
        symmetric: whether the pair in the other order has the same law, without infinite losses.
        has_atoms: whether there are finitely many losses.
        listed: how many of them are listed; 0 where they are not.
        line: whether K is known on vertical lines (`LineLaw`), and |phi| decays.
        sampled_gaussian: whether it is one, many of which are evaluated as one array.
        supports_tail_split: whether the law may be split into a bulk and a tail of large losses.
        renyi_in_closed_form: whether `renyi` costs a few array operations for thousands of orders.
        rdp_implied_by_pld: whether `mechanism_rdp_curve` says no more of epsilon than the law does.
        game: whether it is the value of a game (`losses/fixed_size/laws.py`): known at any epsilon,
            for the work of playing it.
        exact_profile: whether `profile` says more of one use than the law does.
        one_sided: whether that is one bound, from above or from below, as both ends.
        tail_cost: what tails at a loss cost, as a multiple of what they cost most laws without a
            closed form.
    """

    line: bool = False
    symmetric: bool = False
    has_atoms: bool = False
    listed: int = 0
    sampled_gaussian: bool = False
    supports_tail_split: bool = False
    renyi_in_closed_form: bool = False
    rdp_implied_by_pld: bool = False
    game: bool = False
    exact_profile: bool = False
    one_sided: bool = False
    tail_cost: float = 1.0


NO_PROPERTIES = LawProperties()


class LossLaw(ABC):
    """One direction of one dominating pair: an immutable value.

    A law says its largest loss, its tails, and its Renyi divergences. All else has a default: no
    masses at infinity, nothing truncated, and nothing known. A law without a moment generating
    function is composed by the FFT engine alone.
    """

    __slots__ = ()

    @property
    def infinity_mass(self) -> float:
        """P(L = +inf), not part of K."""
        return 0.0

    @property
    def infinity_mass_error(self) -> float:
        """Relative error of `infinity_mass`; 0 if exact."""
        return 0.0

    @property
    def known_mass(self) -> Fraction | None:
        """P(L = +inf) itself, where it is known but no double."""
        return None

    @property
    def lower_infinity_mass(self) -> float:
        """Q(L = -inf), not part of K."""
        return 0.0

    @property
    def alternative_dominating_pair(self) -> LossLaw | None:
        """Another law of the same pair on the same side of it, where it may be nearer; or None.

        What a law above truncates may be more than a small delta, and this one truncates nothing;
        a law below may be too coarse.
        """
        return None

    def uses_together(self, count: int, *, alone: bool, rough: bool) -> LossLaw | None:
        """Return a law of so many uses together that is smaller than their pairs; None for none.

        Args:
            count: how many.
            alone: whether they are all of a composition; else losses are added to theirs.
            rough: whether few digits will do.
        """
        del count, alone, rough
        return None

    @property
    @abstractmethod
    def max_loss(self) -> float:
        """The largest finite loss, or an upper bound that is approached; may be infinite."""

    @property
    def max_loss_error(self) -> float:
        """Relative error of `max_loss` as the supremum of the finite losses; 0 if exact."""
        return 0.0

    @property
    def known_loss(self) -> Fraction | None:
        """The supremum of the finite losses itself, where it is known but no double."""
        return None

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Finite losses that carry an atom or nearly one, increasing; at most 64, else none."""
        return ()

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """A loss and the step of a lattice that holds all losses exactly; None if none is known."""
        return None

    @property
    def properties(self) -> LawProperties:
        """Return what the law is, where methods differ."""
        return NO_PROPERTIES

    @property
    def reverse_direction(self) -> LossLaw | None:
        """The law of the reverse direction, with nothing more truncated; None if not known."""
        return self if self.properties.symmetric else None

    @property
    def uses(self) -> int:
        """Of how many uses of a mechanism this is the law."""
        return 1

    @classmethod
    def together(cls, uses: Sequence[tuple[Self, int]]) -> Sequence[tuple[LossLaw, int]]:
        """Return laws of all uses of laws of this class, smaller than their pairs if there are."""
        return uses

    def profile(self, epsilon: float) -> tuple[float, float] | None:
        """Return proved bounds on the finite part of delta of one use at epsilon >= 0.

        None where no more is known, or no closed form that is certified: tails know it.
        """
        del epsilon
        return None

    @abstractmethod
    def tails(self, losses: Array) -> Tails:
        """Return the P- and Q-masses above and below each of increasing losses."""

    @abstractmethod
    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return proved lower and upper bounds on K(c) = c D_{c+1}(P || Q) at real c > 0.

        They hold for the whole law, with nothing truncated; masses at infinity stay outside K,
        which they may make negative. Both are infinite where K is, and the upper one where
        nothing finite is proved.

        Args:
            c: orders minus 1, of any shape (n,).
        """

    def convexity(self, c: Array) -> tuple[Array, Array]:
        """Return bounds on K that take no quadrature, where those of `renyi` do."""
        return self.renyi(c)

    @property
    def mechanism_rdp_curve(self) -> RenyiCurve | None:
        """A bound on the Renyi divergences of the mechanism that the law stands for.

        The law of an envelope of mechanisms may have larger divergences than each of them. None
        where no more is known than the law says.
        """
        return None

    def sampled(self, q: float, *, remove: bool) -> LossLaw | None:
        """Return the law of the mechanism that sees a Poisson sample, where it is of one kind.

        Args:
            q: sampling probability, 0 < q <= 1, off by a unit.
            remove: direction.
        """
        del q, remove
        return None

    def concentration(self, c: Array) -> Array:
        """Return bounds on D_a / a at all orders 1 < a <= c + 1; infinity where there is none.

        No finite number of evaluations proves such a bound. c may be infinite, where it is a rho of
        zero-concentrated differential privacy; the bound does not decrease in c.
        """
        return np.full(c.shape, np.inf)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Bounds on the least mu of Gaussian differential privacy of (P, Q), for all tests.

        The lower one says more: Q is a law R, and P >= w W for some w > 0, where testing W against
        R is testing N(mu, 1) against N(0, 1) (or P and Q exchange their roles). Then the tests
        z > x have P(z > x) >= w P(N > x - mu) and Q(z > x) = P(N > x), and come as near to mu as
        one likes for large x. The same holds behind a coin that everybody sees (`CoinCurve`), where
        Q(z > x) is smaller. For compositions such lower ends add up as squares, as W and R do.
        """
        return 0.0, math.inf


def exact_infinity_mass(law: LossLaw) -> Fraction | None:
    """Return P(L = +inf), where it is known exactly."""
    if law.known_mass is None and law.infinity_mass_error == 0.0:
        return Fraction(law.infinity_mass)
    return law.known_mass


def exact_max_loss(law: LossLaw) -> Fraction | None:
    """Return the supremum of the finite losses, where it is finite and known exactly."""
    if law.known_loss is not None or math.isinf(law.max_loss):
        return law.known_loss
    # A relative error of 0 is none.
    exact = law.max_loss_error == 0.0 or law.max_loss == 0.0
    return Fraction(law.max_loss) if exact else None


# Where K is looked at for the variance of a loss.
NEAR = 0.01


def rough_variance(law: LossLaw) -> float:
    """Return about the variance of the finite loss, K''(0), for choices; infinite where K is."""
    with np.errstate(all="ignore"):
        once, twice = (float(each) for each in law.renyi(np.array([NEAR, 2.0 * NEAR]))[1])
    if not math.isfinite(twice) or law.infinity_mass >= 1.0:
        return math.inf
    return max(0.0, twice - 2.0 * once + math.log1p(-law.infinity_mass)) / (NEAR * NEAR)


@record
class Tails:
    """P- and Q-masses of the finite losses above and below each of an array of losses l.

    The numbers belong to a law whose losses are displaced from the true ones by at most `shift`,
    under P and Q alike, and each is correct to the relative error `error`: rounding in the map
    from losses to outcomes is reported backward, as a displacement of the loss. An atom may thus
    be counted on either side of an l that is within `shift` of it. The four numbers of one l are
    the masses of one set of outcomes and of its complement: P(A) - a Q(A) is at most the profile
    at a for any set A, but not if P and Q measure sets that are displaced differently.

    Attributes:
        above_p: P(l < L < inf).
        above_q: Q(l < L).
        below_p: P(L <= l).
        below_q: Q(-inf < L <= l).
        error: relative error of each of the four, one number or one for each l.
        shift: displacement of the losses, at most.
        between_p: P-mass between neighbouring l, where a law can tell it without forming a
            difference; one element less than the others, or None.
        between_q: the same for Q.
        between_error: relative error of both; infinite where they are not known.
        defect: what bounds on the P- and Q-masses of {L <= l} have in addition. A law that is a
            measure above, or below, need not have masses that add up to 1: those of the complement
            of {L > l} are then bounded by these and 1 less those of {L > l}.
    """

    above_p: Array
    above_q: Array
    below_p: Array
    below_q: Array
    error: float | Array
    shift: float
    between_p: Array | None = None
    between_q: Array | None = None
    between_error: Array | None = None
    defect: tuple[float, float] = (0.0, 0.0)


# Relative error of the parameters of densities, in units, that samples are charged for: a mechanism
# rounds a number that it knows within a unit or two once.
MOST_UNITS = 4.0


class LineLaw(LossLaw):
    """A law whose K is known on vertical lines."""

    __slots__ = ()

    @abstractmethod
    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K(c), K'(c), K''(c) to about 1e-9, for searches only: no certificate.

        K(c) is infinite where its evaluation on the contour would overflow.
        """

    @abstractmethod
    def on_contour(self, c: float, t_max: float, log_error: float) -> ContourLaw:
        """Prepare |t| <= t_max, with quadrature error of M at most exp(log_error) M(c).

        Raises:
            NotCertifiedError: K is not known there, or not that accurately.
        """

    def truncated(self, log_mass: float) -> Self:
        """Leave out far outcomes of total P-mass at most exp(log_mass).

        Outcomes of probability e^{-1000} can dominate M(c) and have no part in the answer. A closed
        form needs none of it and is returned as it is.
        """
        del log_mass
        return self

    @property
    def log_truncated_mass(self) -> float:
        """Log of a bound on the P-mass of truncated finite losses; -inf unless `truncated`."""
        return -math.inf


class ContourLaw(ABC):
    """A loss law prepared for the nodes c + it, |t| <= t_max, of one contour."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """The work for one t, in complex exponentials; 1 for a closed form."""
        return 1

    @abstractmethod
    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) and a bound d on the absolute error of each value.

        The imaginary part is correct modulo 2 pi. Where d >= 1 only |M| <= |e^K| e^d is said.
        """

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return the same at t = k step, k < count; `step` has few bits, so t is exact."""
        return self.log_mgf(step * np.arange(count))

    def log_decay(self, t: float) -> float:
        """Return a proved upper bound on sup over tau >= t of log |M(c + i tau)| / M(c).

        0 always holds, and is the supremum of a law with finitely many losses on a lattice.
        """
        del t
        return 0.0


class RenyiCurve(Protocol):
    """One direction of the Renyi divergences of a mechanism; masses at infinite loss are excluded.

    Brackets of K(c) = c D_{c+1} at real c > 0, that is at orders above 1. K is the cumulant of the
    privacy loss on the real axis: convex, 0 at c = 0, and it adds up under adaptive composition
    (Mironov 2017, Proposition 1); D = K / c does not decrease.

    Curves are immutable values. Those of this package inherit what they do not know better; where
    a curve says nothing of itself, it is a bound without lower ends, slow, and of unknown shape.
    """

    if TYPE_CHECKING:
        # Some curves compute it, others are given it as a field.
        @property
        def limit(self) -> float:
            """Return an upper bound on D at order infinity, the largest finite loss."""

    def __hash__(self) -> int:
        """Curves are immutable values."""
        return object.__hash__(self)

    @property
    def cheap(self) -> bool:
        """Say whether thousands of orders cost no more than a few array operations."""
        return False

    @property
    def corners(self) -> tuple[float, ...]:
        """Return orders minus 1 at which K has kinks, where the best order often is."""
        return ()

    def line(self, c: Array) -> tuple[float, Array]:
        """Return xi and rho with D_a <= xi + rho a at all orders 1 < a <= c + 1.

        rho does not decrease in c, which may be infinite; infinity where nothing is known. Without
        anything better, the constant line at the limit.
        """
        return self.limit, np.zeros(c.shape)

    def upper(self, c: Array) -> Array:
        """Return proved upper bounds on K(c); infinity where there is none."""
        ...

    def lower(self, c: Array) -> Array | None:
        """Return proved lower bounds on K(c) of one pair that the mechanism may attain.

        None where the curve is only a bound.
        """
        del c
        return None


class Members:
    """Mechanisms that fit a description, with a parameter such as the gap between two scores.

    Attributes:
        by_order: whether finite orders differ in the members that cost most.
        adaptive: whether the member of a use may be chosen in view of what came out before.
        at_once: whether several uses may be parts of one release, of which nothing comes out before
            the others; then one use alone is chosen in view of other mechanisms.
        directed: whether each has one law where the record is removed, and another where it is
            added.
        one_pair: whether all is about one pair of data sets, whose trade-off curve is known; an
            envelope may have more.
        both: whether the member of the best order may be bounded less well than the one that is
            given without order, so that both are asked.
    """

    __slots__ = ()

    both: ClassVar[bool] = False
    by_order: ClassVar[bool] = True
    adaptive: ClassVar[bool] = False
    at_once: ClassVar[bool] = False
    directed: ClassVar[bool] = False
    one_pair: ClassVar[bool] = False

    @classmethod
    def together(
        cls, uses: Sequence[tuple[Self, int]]
    ) -> tuple[LossLaw, Sequence[tuple[Self, int]]] | None:
        """Return a law that several uses attain after all others, and the uses that are not of it.

        It is attained at each epsilon by itself, by members chosen in view of what came out before.
        None where members are not adaptive, or nothing is known of more than one use.
        """
        del uses
        return None

    def member(self, c: float | None) -> LossLaw:
        """Return the law of one mechanism and one fixed pair of neighbouring data sets.

        Of the parameters tried, that of the largest Renyi divergence of order c + 1, which is
        about the one that costs most where that order decides. With c < 0 that of order 1 - c, in
        the other order of its two data sets. With None one that is the same in both orders, where
        the members are not directed.
        """
        raise NotImplementedError

    def at(self, share: float) -> tuple[LossLaw, LossLaw]:
        """Return one of all members in a row, from share 0 to 1, in both orders of its data sets.

        The best for a question that no order decides is sought among them.
        """
        c = 2.0 ** (28.0 * share - 8.0)
        return self.member(c), self.member(-c)


class DirectedMembers(Members):
    """Members of which each has one law where the record is removed, and another where it is added.

    Attributes:
        sees_one: whether records are there that have no influence, so that in a sample the one that
            comes or goes is all that counts.
        remove: whether P has the record.
    """

    __slots__ = ()

    directed: ClassVar[bool] = True
    sees_one: ClassVar[bool] = False
    remove: bool

    def chosen(self, c: float | None, *, remove: bool) -> LossLaw:
        """Return the member for an order, in one order of the data sets."""
        raise NotImplementedError

    def member(self, c: float | None) -> LossLaw:
        """Return the law of the member for an order; its sign says nothing, as P has the record."""
        return self.chosen(c if c is None else abs(c), remove=self.remove)


@record
class Alone(Members):
    """One law of one mechanism, as the only member.

    Attributes:
        law: the law.
    """

    by_order: ClassVar[bool] = False
    law: LossLaw

    def member(self, c: float | None) -> LossLaw:
        """Return it."""
        del c
        return self.law


@record
class Term:
    """What is known of one direction: laws above and below the true pair, or its Renyi curve.

    Attributes:
        upper: proves upper ends; None where only the curve is known.
        lower: proves lower ends of one use, and of more if there are no members; the same law where
            it is the pair's own, None where only an upper bound is known.
        curve: the Renyi curve, where there is no law.
        members: prove lower ends of several uses and of sums.
        back: the same members in the other order of the neighbours, where `members` are directed;
            elsewhere member(-c) is the other order of member(c).
        accuracy: relative error that epsilon has for what is not known of `upper`; engines need
            not be much closer.
    """

    upper: LossLaw | None = None
    lower: LossLaw | None = None
    curve: RenyiCurve | None = None
    members: Members | None = None
    back: Members | None = None
    accuracy: float = 0.0

    @classmethod
    def of(cls, law: LossLaw | Term) -> Term:
        """Return the term of a law that is the pair's own."""
        return law if isinstance(law, Term) else cls(law, law)

    @property
    def law(self) -> LossLaw | None:
        """The law of the one pair that is dominating and attained in every use, if it is known."""
        return self.upper if self.lower is self.upper and self.members is None else None

    @property
    def attained(self) -> bool:
        """Whether one use attains every value of the profile of `upper`."""
        return self.upper is not None and self.lower is self.upper

    @property
    def above(self) -> LossLaw:
        """The law that proves upper ends, where it is known that there is one."""
        if self.upper is None:
            raise AssertionError("only the Renyi curve is known")
        return self.upper
