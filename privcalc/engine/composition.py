"""A composition as the engines see it: laws with counts, all of one adjacency.

And the questions that its largest loss and its mass of infinite losses decide, as rationals; and
what a written number means to an engine, which works at doubles: one on either side of it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from privcalc.bounds import Bound
from privcalc.engine.certified import CLOSED, Certified
from privcalc.errors import NotCertifiedError
from privcalc.exact import LARGEST, Enclosed, doubles
from privcalc.losses.law import LineLaw, exact_infinity_mass, exact_max_loss
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from privcalc.losses.law import LossLaw, RenyiCurve
    from privcalc.losses.sampled.law import SampledLaw
    from privcalc.renyi.curve import SumCurve

_T = TypeVar("_T")

# So many laws of a kind are one array, if they are used so often that |phi| of them all falls fast.
MANY, MANY_USES = 4, 48
# Longer rationals are enclosed in doubles.
MOST_BITS = 20_000


@record
class Composition:
    """Adaptive composition of independent losses: their sum, with each law used `count` times.

    Dominating pairs compose adaptively (Zhu, Dong, Wang 2022, Theorem 10):
    the product pair dominates, and its loss is the sum.

    Attributes:
        terms: laws with counts.
        curves: what is known by its Renyi curve only, with counts; empty for most.
        reverse: the composition of the same neighbours in the other order; wanted only where there
            are curves, whose pairs of outcomes it bounds, too.
    """

    terms: tuple[tuple[LossLaw, int], ...]
    curves: tuple[tuple[RenyiCurve, int], ...] = ()
    reverse: Composition | None = None

    @classmethod
    def of(
        cls,
        terms: Iterable[tuple[LossLaw, int]],
        curves: Iterable[tuple[RenyiCurve, int]] = (),
    ) -> Composition:
        """Gather equal laws and curves, so that the cost grows with the number of distinct ones."""
        return cls(gathered(terms), gathered(curves))

    def __iter__(self) -> Iterator[tuple[LossLaw, int]]:
        return iter(self.terms)

    def alternative_dominating_pair(self) -> Composition | None:
        """Return another composition on the same side of the truth; None if there is no other.

        Dominating one law by another carries over to the product.
        """
        if not any(law.alternative_dominating_pair for law, _ in self.terms):
            return None
        terms = tuple((law.alternative_dominating_pair or law, count) for law, count in self.terms)
        return Composition(terms, self.curves, self.reverse)

    def uses_together(self, *, rough: bool) -> Composition | None:
        """Return a composition above in which all uses of some laws are one; None for none.

        Args:
            rough: whether few digits will do.
        """
        alone = len(self.terms) == 1
        found = [
            (law.uses_together(count, alone=alone, rough=rough), count) for law, count in self.terms
        ]
        if self.curves or not any(law for law, _ in found):
            return None
        pairs = zip(found, self.terms, strict=True)
        return Composition(tuple((law, 1) if law else term for (law, _), term in pairs))

    @cached_property
    def joined(self) -> Composition:
        """The same with many sampled Gaussians as one law, whose cost is that of an array.

        For what asks for K, and for |phi| where it decays.
        """
        many: dict[bool, list[tuple[SampledLaw, int]]] = {False: [], True: []}
        joined: list[tuple[LossLaw, int]] = []
        for law, count in self.terms:
            if law.properties.sampled_gaussian:
                many[cast("SampledLaw", law).remove].append((cast("SampledLaw", law), count))
            else:
                joined.append((law, count))
        joining = {
            remove: len(laws) >= MANY and sum(count for _, count in laws) >= MANY_USES
            for remove, laws in many.items()
        }
        if not any(joining.values()):
            return self
        from privcalc.losses.sampled.many import Many, ManySampledLaw

        for remove, laws in many.items():
            joined += [(ManySampledLaw(Many(laws)), 1)] if joining[remove] else laws
        return Composition(tuple(joined), self.curves, self.reverse)

    @cached_property
    def heavy(self) -> int:
        """How many laws are to be integrated each by itself, where that takes longest."""
        if len(self.terms) < MANY:
            return 0
        return sum(
            not (law.properties.has_atoms or law.properties.renyi_in_closed_form)
            for law, _ in self.joined.terms
        )

    def max_loss(self) -> Bound:
        """Bracket the supremum of the finite total loss, exactly where the laws' are exact.

        The sum of products is formed in rationals and rounded outward once.
        """
        if any(law.max_loss == -math.inf for law, _ in self.terms):
            # There is no finite one.
            return Bound(-math.inf, -math.inf)
        if self.curves:
            # Of a curve only the upper end is known, and its mass at infinity is 0.
            return Bound(self.renyi_curve().limit)
        if any(law.max_loss == math.inf and law.known_loss is None for law, _ in self.terms):
            return Bound(math.inf, math.inf)
        known = [(exact_max_loss(law), count) for law, count in self.terms]
        if all(loss is not None for loss, _ in known):
            number = sum((loss * n for loss, n in known if loss is not None), Fraction(0))
            low, high = doubles(number)
            return Bound(high, low, number)
        exact, error = Fraction(0), 0.0
        for (loss, count), (law, _) in zip(known, self.terms, strict=True):
            exact += count * (Fraction(law.max_loss) if loss is None else loss)
            if loss is None:
                error += count * abs(law.max_loss) * law.max_loss_error
        nearest = float(exact)
        error *= 1.0 + 1e-9
        return Bound(
            math.nextafter(nearest + error, math.inf), math.nextafter(nearest - error, -math.inf)
        )

    def infinity_mass(self) -> Bound:
        """Bracket P(L = +inf) = 1 - prod (1 - m)^count.

        In logs: each term count log1p(-m) has relative error below 4 units, the sum adds one per
        term, expm1 four more. An error d of a mass m itself moves the log by count m d / (1 - m).
        The last term of the slack covers subnormal masses.
        """
        sources = [(law, count) for law, count in self.terms if law.infinity_mass > 0.0]
        if not sources:
            return Bound(0.0, 0.0, Fraction(0))
        number = _exact_mass(sources)
        if number is not None:
            low, high = doubles(number)
            return Bound(high, low, number)
        log_finite = moved = 0.0
        for law, count in sources:
            m = law.infinity_mass
            if m >= 1.0:
                return Bound(1.0, 1.0 if law.infinity_mass_error == 0.0 else 1.0 - 1e-12)
            log_finite += count * math.log1p(-m)
            moved += count * m * law.infinity_mass_error / (1.0 - m)
        mass = -math.expm1(log_finite)
        slack = (12.0 + 2.0 * len(sources)) * UNIT * mass + math.exp(log_finite) * moved * 1.01
        slack += math.fsum(count for _, count in sources) * 1e-322
        return Bound(
            min(1.0, math.nextafter(mass + slack, math.inf)),
            max(0.0, math.nextafter(mass - slack, -math.inf)),
        )

    @cached_property
    def gaussian_range(self) -> tuple[float, float]:
        """Bounds on the least mu of the whole: roots of the sums of squares of those of each law.

        Above as in Dong, Roth, Su 2022, Corollary 3.3; infinity where a part has none. Below laws
        without one may be ignored: more outputs only help to tell two laws apart.
        """
        low, high = (
            _root([(law.gaussian_range[end], n) for law, n in self.terms], sign)
            for end, sign in ((0, -1.0), (1, 1.0))
        )
        return low, math.inf if self.curves else high

    @property
    def lines(self) -> tuple[tuple[LineLaw, int], ...]:
        """The laws, where all of them are known on vertical lines, lists among them.

        Raises:
            NotCertifiedError: some are not.
        """
        if not all(isinstance(law, LineLaw) for law, _ in self.terms):
            raise NotCertifiedError("the moment generating function of the loss is not known here")
        return cast("tuple[tuple[LineLaw, int], ...]", self.terms)

    def log_truncated_mass(self) -> float:
        """Bound the log of the P-mass of all that truncated laws leave out (union bound)."""
        lost = [(law.log_truncated_mass, count) for law, count in self.lines]
        logs = [math.log(count) + log for log, count in lost if log > -math.inf]
        return max(logs) + math.log(len(logs)) + 1e-9 if logs else -math.inf

    def truncated(self, log_mass: float) -> Composition:
        """Cut far outcomes of total P-mass at most exp(log_mass)."""
        share = log_mass - math.log(max(1, sum(count for _, count in self.terms)))
        laws = tuple((law.truncated(share), count) for law, count in self.lines)
        return Composition(laws, self.curves, self.reverse)

    def renyi_curve(self, *, sharp: bool = True) -> SumCurve:
        """Return the Renyi curve of the whole; masses at infinity are left out.

        Args:
            sharp: whether to take what is true of the mechanisms, and not of the laws, where that
                is less.
        """
        from privcalc.renyi.curve import LawCurve, SumCurve, curve_of

        terms = self.joined.terms
        laws = tuple((curve_of(law) if sharp else LawCurve(law), n) for law, n in terms)
        return SumCurve((*laws, *self.curves))

    @property
    def rdp_tighter_than_pld(self) -> bool:
        """Whether the Renyi curve may say more than the laws do: not of one use by itself.

        Where the profile of a law is known, so that it implies the curve, it is asked by itself:
        beside others the law stands on a lattice, which costs far more than its profile far out,
        unless it is a list.
        """
        several = sum(count * law.uses for law, count in self.terms) > 1
        alone = sum(count for _, count in self.terms) == 1
        return several and any(
            law.mechanism_rdp_curve is not None
            and not ((alone or law.properties.listed) and law.properties.rdp_implied_by_pld)
            for law, _ in self.terms
        )

    def reverse_curve(self) -> SumCurve | None:
        """Return the Renyi curve of the neighbours in the other order; None where not known.

        It says nothing of pairs that lose mass to infinity in either order.
        """
        masses = [each.infinity_mass().upper for each in (self, self.reverse) if each is not None]
        return self.reverse.renyi_curve() if self.reverse and not any(masses) else None

    def infinite_divergence(self) -> bool:
        """Say whether divergences may be infinite for a mass at infinity.

        A law with a sharper curve has one only because its profile is known as far as it is known.
        """
        laws = (law for law, _ in self.terms if law.mechanism_rdp_curve is None)
        return any(law.infinity_mass > 0.0 for law in laws)

    @property
    def has_exact_single_use_profile(self) -> bool:
        """Whether it is one use of a law of which more is known than engines can prove."""
        uses = [(law.properties.exact_profile, count) for law, count in self.terms]
        return uses == [(True, 1)] and not self.curves

    @property
    def one_sided(self) -> bool:
        """Whether it is one use of a law that says so of its profile (`losses/law.py`)."""
        return self.has_exact_single_use_profile and self.terms[0][0].properties.one_sided

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K, K', K'' of the sum at c (for searches)."""
        found = [[count * each for each in law.cumulants(c)] for law, count in self.lines]
        k0, k1, k2 = (sum(column) for column in zip(*found, strict=True))
        return k0, k1, k2


def _root(known: Sequence[tuple[float, int]], sign: float) -> float:
    """Return the root of a sum of squares, moved by 8 units, and by one of the smallest doubles.

    Squares of doubles may leave their range: they are of parts of the largest mu. What underflows
    then is negligible against 1, and what overflows only an upper end may be.
    """
    largest = max((mu for mu, _ in known), default=0.0)
    if not 0.0 < largest < math.inf:
        return largest
    root = math.sqrt(math.fsum(n * (mu / largest) ** 2 for mu, n in known))
    moved = largest * root * (1.0 + sign * 8.0 * UNIT) + sign * math.ulp(0.0)
    return moved if sign > 0.0 else max(0.0, min(moved, LARGEST))


def _exact_mass(sources: Sequence[tuple[LossLaw, int]]) -> Fraction | None:
    """Return 1 - prod (1 - m)^count, where that is a rational of no more than MOST_BITS."""
    masses = [(exact_infinity_mass(law), count) for law, count in sources]
    bits, finite = 0, Fraction(1)
    for mass, count in masses:
        if mass is None:
            return None
        bits += count * mass.denominator.bit_length()
    if bits > MOST_BITS:
        return None
    for mass, count in masses:
        finite *= (1 - (mass or 0)) ** count
    return 1 - finite


def gathered(terms: Iterable[tuple[_T, int]]) -> tuple[tuple[_T, int], ...]:
    """Return what is used with how often it is, each once."""
    counts: dict[_T, int] = {}
    for each, count in terms:
        counts[each] = counts.get(each, 0) + count
    return tuple(counts.items())


def asked(value: float | Enclosed) -> Enclosed:
    """Return what is asked for: a double is itself, and written numbers come enclosed."""
    if isinstance(value, Enclosed):
        return value
    return Enclosed(Fraction(value), Fraction(value))


def limit_epsilon(composition: Composition, delta: Enclosed, mass: Bound) -> Certified | None:
    """Answer where delta is 1, or no more than the mass of infinite losses; else None.

    Raises:
        NotCertifiedError: whether it is more is not known.
    """
    if delta.low >= 1:
        return _at(Fraction(0))
    least, most = ends(mass)
    if delta.high < least:
        return Certified(Bound(math.inf, math.inf), CLOSED)
    if delta.low > most:
        return None
    if not delta.low == most == least == delta.high and not (delta.high == 0 and least == 0):
        raise NotCertifiedError(
            "delta equals the probability of an infinite loss to within rounding"
        )
    largest = composition.max_loss()
    if composition.curves and largest.upper == math.inf:
        raise NotCertifiedError(
            "a Renyi curve without limit proves nothing at delta 0; ask for delta > 0"
        )
    if largest.exact is not None:
        return _at(max(Fraction(0), largest.exact))
    lower = 0.0 if largest.lower is None else largest.lower
    return Certified(Bound(max(0.0, largest.upper), max(0.0, lower)), CLOSED)


def limit_delta(composition: Composition, epsilon: Enclosed, mass: Bound) -> Certified | None:
    """Answer where epsilon is no less than the largest finite loss; else None.

    And where all outcomes of what is known by a curve may have an infinite one: delta is at most 1.
    """
    largest = composition.max_loss()
    most = largest.upper if largest.exact is None else largest.exact
    if (mass.lower or 0.0) >= 1.0 or epsilon.low >= most:
        return Certified(mass if mass.exact is None else Bound.of(mass.exact), CLOSED)
    if composition.curves and mass.upper >= 1.0:
        return Certified(Bound(1.0), CLOSED)
    return None


def differences(delta: Enclosed, mass: Bound) -> tuple[float, float]:
    """Return delta minus the mass at infinity, rounded down and up."""
    least, most = ends(mass)
    return Enclosed(delta.low - most, delta.high - least).doubles()


def ends(mass: Bound) -> tuple[Fraction, Fraction]:
    """Return the ends of a bracket of a mass as rationals."""
    if mass.exact is not None:
        return mass.exact, mass.exact
    return Fraction(mass.lower or 0.0), Fraction(mass.upper)


def _at(number: Fraction) -> Certified:
    return Certified(Bound.of(number), CLOSED)
