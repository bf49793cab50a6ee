"""What a person with several keys costs, some of them new, where a threshold hides new ones.

Of k keys let j be new: nobody else has them, and one of them shows with probability p, w = 1 - p.
The other k - j are old, with noise of the profile G_{k-j}. Removing the person has the profile

    H_j(a) = 1 - w^j + w^j G_{k-j}(a / w^j),

because either a new key shows, which it cannot without the person, or there is the noise. Adding
the person is the same pair in the other order. The release costs the largest H_j, and that is
max(H_0, 1 - w^k), the costs of old keys only and of new keys only, where the latter is not large.

Proof. -H_j'(a) = Q_{k-j}(L > log(a / w^j)). It is larger than -H_0'(a) = Q_k(L > log a) up to some
a, and smaller from there on: for normal noise both are P(N > z), z linear in log a, with the larger
slope 1 / mu_{k-j}; for Laplace noise of largest loss e each, both are e^{-l/2} times a constant
where they are not 0 or 1, which the former leaves or reaches at smaller losses if
k e > (k - j) e - j log w, and otherwise -H_0' is the larger everywhere. H_j = H_0 = 1 at a = 0, so
that H_j is below H_0 first and crosses it at most once (or never is below). Let H_0(e^x) = 1 - w^k.
Where H_j(e^x) < 1 - w^k it has not crossed yet at e^x: it is below H_0 before, and below 1 - w^k
from there on, as it falls. That is checked for every j with 0 < j < k.

A group of g people with K keys each adds g K to counts, g at most to each. Count these units for
keys. Noise on old keys with u of them is no better than a distance (g u)^{1/2} / sigma, as the
squares of changes c <= g of sum u add up to g u at most, or than a change by u of Laplace noise. A
new key that c of them have stays hidden with probability F(c), F(c) = P(noise < threshold - c),
which is log-concave: so log F(c) >= c log w with log w = min(log F(1), log F(g) / g), and w^j
bounds the probability that j units stay hidden. It is attained at j = g K: by as many keys of one
each, or by K of g. So all of the above holds of units with this w.

Discrete noise on one key, g people: old keys with u units are no better than a change by u, along
the chain of neighbours (`losses/composed.py`; likelihood ratios of the noise increase). It is
enough that one new unit and m - 1 old ones cost no more than max(H, 1 - w^m), H that of m old ones,
for each m: applied unit by unit, mixtures being monotone, that is the claim. With f(s) = P(noise >=
s) the power functions have corners (f(s + m), f(s)) and (f(s + m), 1 - w + w f(s + 1)). The first
is the larger where 1 - w <= P(noise = s) / P(noise <= s), which falls in s: up to some s_0. It is s
>= 0 that is left, and there the line from (0, 1 - w^m) to the corner s_0 is the larger one: of
discrete Laplace noise both are linear, and of discrete normal noise all s are tried until w f(s +
1) <= w - w^m.

The larger of a profile H and a probability p that everything is revealed, as one loss law.

H is the profile of a pair (P, Q) with one law for both orders, and H(e^x) = p. The maximum of H and
p is convex, falls, is 1 at 0 and at least 1 - a: it is the profile of a pair (Zhu, Dong, Wang 2022,
Lemma 7), and a tight one for two mechanisms of which either may be there. Its slope is that of H
before x and 0 beyond. So Q has the outcomes of H with losses below x, and what has losses above x
is one atom at x; P has e^x times that there, the mass p at infinity, and below x

    P(l < L < inf) = H(e^l) + e^l Q(L > l) - p = P_H(L > l) - p.

The other order exchanges P and Q: no loss below -x, an atom there, and Q(L = -inf) = p.
"""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed
from privcalc.losses.atoms import two_point
from privcalc.losses.law import DirectedMembers, LossLaw, Tails, Term
from privcalc.losses.profiles import exact_law
from privcalc.numerics.rounding import MARGIN, TINIEST, UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from privcalc.losses.atoms import AtomicLaw
    from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
    from privcalc.losses.profiles import Outcome
    from privcalc.numerics.rounding import Array

    Heights = Callable[[float], tuple[float, float]]


# Of so many different releases the noises are composed by themselves, where new keys are shown with
# no more than this probability.
MANY, HARDLY = 5, 1e-6


@record
class ThresholdedLaw(LossLaw):
    """The law of max(H, p) in one order.

    Attributes:
        base: the law of H, the same for both orders, without masses at infinity.
        mass: p in (0, 1).
        mass_error: its relative error.
        cut: x.
        cut_error: its error, absolute.
        remove: whether P has the record, and with it the mass p at infinity; else Q has.
    """

    base: LossLaw
    mass: float
    mass_error: float
    cut: float
    cut_error: float
    remove: bool

    @classmethod
    def together(cls, uses: Sequence[tuple[Self, int]]) -> Sequence[tuple[LossLaw, int]]:
        """Return the noises, and one pair that reveals everything, of many different releases.

        max(H, p) <= p + (1 - p) H: that is the profile of the pair of H beside one that is revealed
        with probability p, and tells nothing otherwise. Of several of the latter one is revealed
        with probability 1 - prod (1 - p)^n; each log1p is rounded up by more than its errors. What
        this costs more is at most that part of delta, and the noises compose faster.
        """
        terms = [(law.mass * (1.0 + law.mass_error) * (1.0 + 2.0 * UNIT), n) for law, n in uses]
        if len(uses) < MANY or sum(p * n for p, n in terms) > HARDLY:
            return uses
        hidden = math.fsum(n * math.log1p(-p) * (1.0 + 16.0 * UNIT) for p, n in terms)
        shown = -math.expm1(hidden) * (1.0 + 16.0 * UNIT) + TINIEST
        revealed = two_point(Enclosed.of(0), Enclosed.of(shown))
        return [*((law.base, n) for law, n in uses), (revealed, 1)]

    @property
    def reverse_direction(self) -> ThresholdedLaw:
        """Return the law of the pair in the other order."""
        return replace(self, remove=not self.remove)

    @property
    def max_loss(self) -> float:
        """Return x, or the largest loss of H, or -x where that is still larger."""
        return self.cut if self.remove else max(self.base.max_loss, -self.cut)

    @property
    def max_loss_error(self) -> float:
        """Return the relative error of that."""
        if not self.remove and self.base.max_loss > -self.cut:
            return self.base.max_loss_error
        return self.cut_error / abs(self.cut) if self.cut else math.inf

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Return the atom, and those of H on its side of it."""
        if self.remove:
            return (*(loss for loss in self.base.atom_locations if loss < self.cut), self.cut)
        return (-self.cut, *(loss for loss in self.base.atom_locations if loss > -self.cut))

    @property
    def infinity_mass(self) -> float:
        """Return p, or 0."""
        return self.mass if self.remove else 0.0

    @property
    def infinity_mass_error(self) -> float:
        """Return the error of p."""
        return self.mass_error if self.remove else 0.0

    @property
    def lower_infinity_mass(self) -> float:
        """Return 0, or p."""
        return 0.0 if self.remove else self.mass

    def tails(self, losses: Array) -> Tails:
        """Return those of H on one side of the atom; the other order has them mirrored.

        The difference P_H - p is off by what its terms are, and by 2 w P_H for an x that is off by
        w: outcomes between the two are displaced by at most w, and a loss within w of x has P-mass
        that differs from e^x times its Q-mass by less than 2 w of it.
        """
        if not self.remove:
            found = replace(self, remove=True).tails(-losses[::-1])
            return Tails(
                above_p=found.below_q[::-1],
                above_q=found.below_p[::-1],
                below_p=found.above_q[::-1],
                below_q=found.above_p[::-1],
                error=np.asarray(found.error)[::-1],
                shift=found.shift,
            )
        base = self.base.tails(losses)
        beyond = losses >= self.cut
        left = np.maximum(base.above_p - self.mass, 0.0)
        error = np.asarray(base.error)
        lost = (error + 2.0 * self.cut_error + 2.0 * UNIT) * base.above_p
        with np.errstate(divide="ignore", invalid="ignore"):
            wrong = (lost + self.mass * self.mass_error) / left * MARGIN + 2.0 * UNIT
        whole = 2.0 * UNIT + self.mass * self.mass_error / (1.0 - self.mass)
        return Tails(
            above_p=np.where(beyond, 0.0, left),
            above_q=np.where(beyond, 0.0, base.above_q),
            below_p=np.where(beyond, 1.0 - self.mass, base.below_p),
            below_q=np.where(beyond, 1.0, base.below_q),
            error=np.where(beyond, whole, np.maximum(np.where(left > 0.0, wrong, 1.0), error)),
            shift=base.shift + self.cut_error,
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K, roughly where the mass at infinity makes divergences infinite anyway.

        Removing: finite losses have P-mass 1 - p, and (Hoelder's inequality, Q having mass 1) M(c)
        >= (1 - p)^(c+1). They are those of H under Q but smaller beyond x, so that M is at most
        that of H. Adding: losses of H below -x are raised to it, which raises M by at most e^{-cx}.
        """
        low, high = self.base.renyi(c)
        if self.remove:
            finite = math.log1p(-self.mass * (1.0 + self.mass_error)) * (1.0 + 16.0 * UNIT)
            return (c + 1.0) * finite, high
        moved = c * (abs(self.cut) * 8.0 * UNIT + self.cut_error)
        upper = np.logaddexp(high, moved - c * self.cut)
        return low, upper + (np.abs(upper) + 1.0) * 16.0 * UNIT


# Beyond, e^l is no double.
LARGEST_LOSS = 700.0
# A wider place is refused: engines take losses to be known far better.
WIDEST = 1e-11
# A loss is looked at from below by this much, which is more than tails displace any.
STEP = 1e-12


def heights_of(law: LossLaw) -> Heights:
    """Return bounds on a profile at losses >= 0.

    Where it is not known in closed form it is P(A) - e^l Q(A) for the outcomes A with a loss above
    l, but for displaced ones. What A misses or has too much has losses within the shift of l. It
    changes the difference by at most the shift times its P-mass, which is at most that above l less
    the step.
    """

    def heights(loss: float) -> tuple[float, float]:
        known = law.profile(loss)
        if known is not None:
            return known
        before = loss - STEP * (1.0 + loss)
        tails = law.tails(np.array([before, loss]))
        error = float(np.max(np.asarray(tails.error)))
        if not tails.shift <= 0.25 * (loss - before):
            raise NotCertifiedError("rounding hides the losses of noise")
        p, q = float(tails.above_p[1]), math.exp(loss) * float(tails.above_q[1])
        slack = (error + 8.0 * UNIT) * (p + q) * MARGIN
        around = float(tails.above_p[0]) * (1.0 + error) * tails.shift
        return max(0.0, p - q - slack), max(0.0, p - q + slack) + around

    return heights


def at_any(heights: Heights, loss: float) -> tuple[float, float]:
    """Return bounds on H(e^l) at any l, of a pair with one law for both orders.

    With a = e^l < 1 it is 1 - a + a H(1/a).
    """
    if loss >= 0.0:
        return heights(loss)
    low, high = heights(-loss)
    rest, a = -math.expm1(loss), math.exp(loss)
    return (rest + a * low) * (1.0 - 8.0 * UNIT), (rest + a * high) * (1.0 + 8.0 * UNIT)


def cut(heights: Heights, mass: tuple[float, float]) -> tuple[float, float]:
    """Return a loss x, and an error w, with H(e^(x - w)) >= mass >= H(e^(x + w)) for certain.

    Args:
        heights: bounds on a profile H, of a pair with one law for both orders. It falls with the
            loss.
        mass: bounds on a probability in (0, 1).

    Raises:
        NotCertifiedError: there is no such place below LARGEST_LOSS, or rounding hides it.
    """

    def falls_short(loss: float) -> bool:
        return sum(at_any(heights, loss)) < sum(mass)

    high = 1.0
    while not falls_short(high):
        high *= 2.0
        if high > LARGEST_LOSS:
            raise NotCertifiedError("the noise reveals more than a new key at every loss")
    low = -1.0
    while falls_short(low):
        low *= 2.0
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if falls_short(middle) else (middle, high)
    width = 4.0 * UNIT * (1.0 + abs(high))
    while width <= WIDEST * (1.0 + abs(high)):
        before, after = high - width, high + width
        if at_any(heights, before)[0] >= mass[1] and at_any(heights, after)[1] <= mass[0]:
            return high, width
        width *= 2.0
    raise NotCertifiedError("rounding hides where the profile of the noise meets that of new keys")


def larger_of(law: LossLaw, mass: tuple[float, float], *, remove: bool) -> ThresholdedLaw:
    """Return the law of max(H, p).

    Args:
        law: of H, the same for both orders.
        mass: bounds on p.
        remove: whether P has the record.

    Raises:
        NotCertifiedError: rounding hides where both meet.
    """
    x, error = cut(heights_of(law), mass)
    middle = 0.5 * (mass[0] + mass[1])
    wrong = (0.5 * (mass[1] - mass[0]) / middle) * (1.0 + 4.0 * UNIT) + 2.0 * UNIT
    return ThresholdedLaw(law, middle, wrong, x, error, remove)


@record
class KeyMembers(DirectedMembers):
    """Keys that have many records, with the noise of all of them, or keys that have none.

    Attributes:
        old: the law of the noise, the same for both orders.
        mass: a lower bound on the probability that a new key shows.
        remove: see `DirectedMembers`.
    """

    by_order: ClassVar[bool] = False
    old: LossLaw
    mass: Fraction
    remove: bool

    def chosen(self, c: float | None, *, remove: bool) -> LossLaw:
        """Return the noise at finite orders, and new keys at the infinite one."""
        if c is None or math.isfinite(c):
            return self.old
        return _shown(self.mass, 0 * self.mass, remove=remove)


@record
class CountMembers(DirectedMembers):
    """A key with some count, which is published with one probability or another.

    Several uses may be the keys of one person, which are published together.

    Attributes:
        pairs: the probability with the record, and without it, of some counts; the first of them
            that of a count of 0.
        remove: see `DirectedMembers`.
    """

    adaptive: ClassVar[bool] = True
    at_once: ClassVar[bool] = True
    pairs: tuple[Outcome, ...]
    remove: bool

    def chosen(self, c: float | None, *, remove: bool) -> LossLaw:
        """Return the count of the largest divergence of order c + 1."""
        if c is None:
            return _shown(*self.pairs[-1], remove=remove)
        if math.isinf(c):
            return _shown(*self.pairs[0], remove=remove)
        p, q = np.array([tuple(map(float, each)) for each in self.pairs]).T
        if not remove:
            p, q = q, p
        with np.errstate(all="ignore"):
            parts = [
                np.where(a > 0.0, (c + 1.0) * np.log(a) - c * np.log(b), -np.inf)
                for a, b in ((p, q), (1.0 - p, 1.0 - q))
            ]
        sizes = np.logaddexp(*parts)
        finite = np.where(np.isfinite(sizes), sizes, -np.inf)
        return _shown(*self.pairs[int(np.argmax(finite))], remove=remove)


def _shown(p: Fraction, q: Fraction, *, remove: bool) -> LossLaw:
    """Return the law of a key that shows with probability p with the record, and q without."""
    pairs = [(p, q), (1 - p, 1 - q)]
    return exact_law(pairs if remove else [(b, a) for a, b in pairs])


# Mixtures of more units than this take too long to check.
MOST_UNITS = 2000


def thresholded(
    noise: Callable[[int], LossLaw],
    new: tuple[float, float],
    keys: int,
    *,
    remove: bool,
    continuous: bool = True,
) -> Term:
    """Return the term of a release.

    Args:
        noise: the law of the noise on so many counts, the same for both orders.
        new: bounds on p.
        keys: k, or units.
        remove: whether P has the person.
        continuous: whether mixtures are to be checked; of discrete noise they are known.

    Raises:
        NotCertifiedError: rounding hides where both profiles meet, or p is large.
    """
    if keys > MOST_UNITS:
        raise NotCertifiedError(f"at most {MOST_UNITS} keys of a group are tried, got {keys}")
    law, mass = noise(keys), several_new(new, keys)
    found = larger_of(law, mass, remove=remove)
    for old in range(1, keys if continuous else 1):
        # -log w^j, rounded down; G falls.
        shift = -(keys - old) * math.log1p(-new[0]) * (1.0 - 8.0 * UNIT)
        loss = found.cut - found.cut_error + shift
        loss -= 4.0 * UNIT * (1.0 + abs(found.cut) + shift)
        if at_any(heights_of(noise(old)), loss)[1] >= several_new(new, old)[0]:
            raise may_mix(new[1], keys)
    return Term(found, found, members=KeyMembers(law, Fraction(mass[0]), remove))


def may_mix(p: float, keys: int) -> NotCertifiedError:
    """Return the error of keys that are shown too often."""
    return NotCertifiedError(
        f"a new key shows with probability {p:.3g}, and a person with new and old keys"
        " may cost more than one with either; raise the threshold, or write keys=1 and"
        f" @{keys}, an upper bound"
    )


def of_units(
    one: tuple[float, float], all_: tuple[float, float], group: int
) -> tuple[float, float]:
    """Return bounds on 1 - w: the larger of p of one unit, and 1 - (1 - p)^{1/g} of p of g."""
    low, high = (-math.expm1(math.log1p(-p) / group) if p < 1.0 else 1.0 for p in all_)
    return max(one[0], low * (1.0 - 16.0 * UNIT)), max(one[1], min(high * (1.0 + 16.0 * UNIT), 1.0))


def check_mixtures(law: DiscreteGaussianLaw, needed: int, group: int, p: float) -> None:
    """Check that old and new units of a discrete normal law on one key cost no more than either.

    Args:
        law: the noise.
        needed: the least noise that takes a new key of one unit to the threshold.
        group: the people.
        p: an upper bound on 1 - w.

    Raises:
        NotCertifiedError: they may.
    """
    # From the threshold on, a key of one is shown no more often than p, and w f(s + 1) < w - w^2.
    end = max(needed, 1) + 2
    at = law.masses_around(np.arange(0.0, end + 2), 0)
    error = float(np.max(np.asarray(at.error))) * 4.0 + 32.0 * UNIT
    f = np.asarray(at.above)
    here = f[:-1] - f[1:] - error * f[:-1]
    fine = p * (1.0 - f[1:]) * (1.0 + error) <= here
    if not fine[0]:
        raise may_mix(p, group)
    first = int(np.argmin(fine)) if not fine.all() else len(fine)
    left = np.arange(first, len(fine))
    for m in range(2, group + 1):
        reached = law.masses_around(np.array([float(first - 1 + m), *(left + float(m))]), 0)
        y = np.asarray(reached.above)
        one, all_ = p, several_new((p, p), m)[0]
        start, top = all_, max(f[first - 1], all_)
        line = start + (top - start) * np.minimum(y[1:] / y[0], 1.0)
        mixed = one + (1.0 - one) * f[left + 1]
        if (mixed * (1.0 + 8.0 * error) > np.maximum(line, all_)).any():
            raise may_mix(p, group)


def several_new(new: tuple[float, float], keys: int) -> tuple[float, float]:
    """Return bounds on 1 - (1 - p)^k."""
    low, high = (-math.expm1(keys * math.log1p(-p)) if p < 1.0 else 1.0 for p in new)
    return low * (1.0 - 16.0 * UNIT), min(high * (1.0 + 16.0 * UNIT), 1.0)


def law_of_outcomes(
    outcomes: Sequence[Outcome], *, remove: bool, largest: Fraction | None = None
) -> AtomicLaw:
    """Return the law of a pair, or of the other order.

    Args:
        outcomes: masses with and without the record, as `exact_law` takes them.
        remove: whether P has the record.
        largest: the largest finite loss, where it is a rational number.
    """
    ordered = outcomes if remove else [(q, p) for p, q in outcomes]
    return replace(exact_law(ordered), known_loss=largest)


def several(p: Fraction, q: Fraction, uses: int) -> list[Outcome]:
    """Return how many of some independent events happen, with probability p or q each."""
    return [
        (
            comb(uses, k) * p**k * (1 - p) ** (uses - k),
            comb(uses, k) * q**k * (1 - q) ** (uses - k),
        )
        for k in range(uses + 1)
    ]
