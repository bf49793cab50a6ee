"""Noisy counts of unknown keys that are published above a threshold."""

from __future__ import annotations

import math
from decimal import Context, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.exact import Enclosed, doubles, exact
from privcalc.mechanisms.base import Mechanism, decimal_of, noise_size, noise_tail, within
from privcalc.relation import Adjacency, Relation
from privcalc.spec.entry import deviation, positive, whole
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw, Term
    from privcalc.numerics.rounding import Array

LAPLACE, GAUSSIAN = "laplace", "gaussian"
DISCRETE_LAPLACE, DISCRETE_GAUSSIAN = "discrete_laplace", "discrete_gaussian"
NOISES = (LAPLACE, GAUSSIAN, DISCRETE_LAPLACE, DISCRETE_GAUSSIAN)
DISCRETE = (DISCRETE_LAPLACE, DISCRETE_GAUSSIAN)
MOST_KEYS = 1000
# The range of 1 / noise, and of sensitivity / noise.
SMALLEST_RATIO, LARGEST_RATIO = 1e-5, 100.0
# Beyond, in units of the noise, the probability of a new key is hardly a double.
LONGEST = {LAPLACE: 600, GAUSSIAN: 37, DISCRETE_LAPLACE: 600, DISCRETE_GAUSSIAN: 37}
SMALLEST_SIGMA, LARGEST_SIGMA = 0.05, 20_000.0
# Of the test of Laplace noise on several keys: more say nothing more in doubles.
MOST_TESTED, LARGEST_TESTED = 60, 600.0


@mechanism(
    name="thresholded_counts",
    neighbours="one person more, with all keys of that person",
    place=85,
    parameters=(
        Parameter("noise", kind="choice", choices=NOISES, default=LAPLACE),
        # More noise hides old keys, and shows new ones.
        deviation(cost="", unit=""),
        positive("scale"),
        # Of the larger of two profiles one does not change, and a new key shows less often.
        Parameter("threshold", minimum=1.0, cost="decreases"),
        # A person with fewer keys is among those with more.
        whole("keys", "increases", most=MOST_KEYS, default=1, contribution=True),
    ),
    one_of=(("standard_deviation",), ("scale",)),
    relations=frozenset({Relation.ADD_OR_REMOVE_ONE}),
    example="thresholded-counts:scale=2,threshold=30",
)
class ThresholdedCounts(Mechanism):
    """Noisy counts of keys that are not known beforehand, published above a threshold.

    Each person has at most `keys` different keys and adds 1 to the count of each. Every key that
    somebody has gets independent noise, and the key with its noisy count is published where that
    is at least the threshold; a key that nobody has is never published. Neighbours differ by one
    person, with all keys of that person.

    A key that others have too is old: its counts n and n + 1 with noise are told apart no better
    than the noise and the noise plus 1, and as well where n is large. A key of that person alone is
    new: without the person nothing is published, and with the person something is, with probability
    p = P(1 + noise >= threshold). One use costs the larger of both: at every epsilon the profile of
    removing a person is that of the noise on k counts, or 1 - (1 - p)^k, which is what new keys
    cost. Mixtures of new and old keys cost no more, which is proved where p is not large, and
    checked. Several uses compose the larger one, and many different releases the noises and what
    all new keys show; there the lower end is that of old keys, or of new ones, in every use.

    Gaussian noise on k counts is one normal law of distance k^{1/2} / sigma. For Laplace noise the
    upper end is that of one count that changes by k, the lower end that of tests of each count.
    Discrete noise takes one key: for k keys write @k, an upper bound of theirs, as for any noise.

    A group adds several units to an old key, or to new keys, one each or one for all
    (`losses/thresholds/release.py`). In a Poisson sample the others are sampled as well, which
    hides old keys better than the noise by itself: for one key and one person all numbers of others
    are tried (`losses/thresholds/sampled_counts.py`).

    Attributes:
        rate: 1 / scale or 1 / sigma.
        group: how many people come or go together.
    """

    def __init__(
        self,
        *,
        noise: str = LAPLACE,
        standard_deviation: float | None = None,
        scale: float | None = None,
        threshold: float,
        keys: int = 1,
    ) -> None:
        """Take the noise as a standard deviation, or as a scale for Laplace noise."""
        normal = DISCRETE_GAUSSIAN if noise in DISCRETE else GAUSSIAN
        spread = noise_size(noise, normal, standard_deviation, scale)
        self.noise, self.keys, self.group = noise, keys, 1
        rate = Enclosed.of(1) / Enclosed.of(spread)
        self.rate = within("1 / noise", rate, SMALLEST_RATIO, LARGEST_RATIO)
        known = Enclosed.of(threshold)
        self._threshold = known.low, known.high
        if (self._threshold[1] - 1) * self.rate.high > LONGEST[noise]:
            raise DomainError(
                f"(threshold - 1) / noise must be at most {LONGEST[noise]}: beyond, new keys never"
                f" show, and {noise.replace('_', '-')} without a threshold is as good"
            )
        if noise in DISCRETE:
            if keys > 1:
                raise DomainError(
                    f"discrete noise takes one key; write keys=1, and @{keys} after it, which is an"
                    f" upper bound for a person with {keys} keys"
                )
            self._spread = exact(spread)
            # The least count that is published.
            self._least = math.ceil(exact(threshold))
        if noise == DISCRETE_GAUSSIAN:
            within("sigma", Enclosed.of(spread), SMALLEST_SIGMA, LARGEST_SIGMA)

    def grouped(self, records: int) -> ThresholdedCounts:
        """Return the mechanism for a group of people."""
        from privcalc.losses.composed import checked_size

        return self.changed(group=checked_size(self.group * records))

    def laws(self, adjacency: Adjacency) -> LossLaw | Term:
        """Return what is known of one direction.

        Raises:
            NotCertifiedError: rounding hides where both profiles meet, or a mixture of new and old
                keys may cost more than either.
        """
        from privcalc.losses.thresholds import release

        remove = adjacency is not Adjacency.ADD
        new = self._new_key(1)
        if self.group > 1:
            new = release.of_units(new, self._new_key(self.group), self.group)
            self._check_mixtures(new[1])
        term = release.thresholded(
            self._noise_on,
            new,
            self.keys * self.group,
            remove=remove,
            continuous=self.noise not in DISCRETE,
        )
        if self.keys > 1 and self.noise == LAPLACE:
            return self._tested(term, remove=remove)
        return term

    def _check_mixtures(self, shown: float) -> None:
        """Refuse a group whose old and new keys may cost more than either, of discrete noise.

        Discrete Laplace noise on one key costs no more where 1 - w is at most 1 - e^{-1/scale}
        (`losses/thresholds/release.py`: that is s_0 >= 0).

        Args:
            shown: an upper bound on 1 - w.

        Raises:
            NotCertifiedError: they may.
        """
        from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
        from privcalc.losses.thresholds.release import check_mixtures, may_mix

        if self.noise == DISCRETE_GAUSSIAN:
            one = DiscreteGaussianLaw(self._spread**2, 1)
            check_mixtures(one, self._least - 1, self.group, shown)
        if self.noise == DISCRETE_LAPLACE and shown > -0.999 * math.expm1(-self.rate.doubles()[0]):
            raise may_mix(shown, self.group)

    def _noise_on(self, units: int) -> LossLaw:
        """Return the law of the noise on old keys with so many changes."""
        if self.noise == DISCRETE_LAPLACE:
            from privcalc.mechanisms.discrete import LARGEST_EPSILON, law_of_steps

            if self.rate.high * units > LARGEST_EPSILON:
                raise NotCertifiedError("the losses of a group are beyond the range of doubles")
            return law_of_steps(1 / self._spread, units)
        if self.noise == DISCRETE_GAUSSIAN:
            from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw

            return DiscreteGaussianLaw(self._spread**2, units)
        if self.noise == GAUSSIAN:
            from privcalc.losses.gaussian import GaussianLaw

            rate = self.rate * self.rate * units * self.group
            return GaussianLaw.of(rate.root())
        from privcalc.losses.laplace import LaplaceLaw

        return LaplaceLaw(*(self.rate * units).nearest())

    def in_sample(
        self, rate: tuple[float, bool], adjacency: Adjacency, records: int
    ) -> Term | None:
        """Return lower ends of a release that sees a sample; the upper end is its law, sampled."""
        from privcalc.losses.thresholds.release import several_new
        from privcalc.losses.thresholds.sampled_counts import sampled_bound, sampled_release
        from privcalc.numerics.rounding import UNIT
        from privcalc.record import replace

        one = rate[0] * several_new(self._new_key(1), self.keys)[0]
        new = -math.expm1(records * math.log1p(-one)) * (1.0 - 64.0 * UNIT)
        discrete = self.noise in DISCRETE
        threshold = float(self._least) if discrete else doubles(self._threshold[1])[1]
        deviation, remove = 1.0 / self.rate.nearest()[0], adjacency is not Adjacency.ADD
        found = sampled_release(
            (self._tail, deviation), threshold, Fraction(new), records, rate, remove=remove
        )
        if records > 1 or self.keys > 1:
            return found
        q, exact = rate
        upper = sampled_bound(
            (self._tail, deviation),
            threshold if discrete else doubles(self._threshold[0])[0],
            q if exact else min(q * (1.0 + 4.0 * UNIT), 1.0),
            remove=remove,
            discrete=discrete,
        )
        return replace(found, upper=upper)

    def _tail(self, x: Array) -> tuple[Array, float]:
        """Return P(noise >= x), and a bound on relative errors.

        An argument that is off by 4 units of z deviations moves a normal tail by 4 (z^2 + 1) of
        itself; tails beyond 38 deviations are 0.
        """
        import numpy as np

        from privcalc.numerics.rounding import UNIT

        if self.noise == DISCRETE_GAUSSIAN:
            from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw

            least = np.ceil(x)
            places, back = np.unique(least, return_inverse=True)
            found = DiscreteGaussianLaw(self._spread**2, 1).masses_around(places, 0)
            return found.above[back].reshape(x.shape), float(np.max(np.asarray(found.error))) * 2.0
        rate = self.rate.nearest()[0]
        if self.noise == GAUSSIAN:
            from scipy.special import erfc

            z = rate * x
            return 0.5 * erfc(z * math.sqrt(0.5)), UNIT * (16.0 + 8.0 * 38.0**2)
        # Of Laplace noise on whole numbers, at least m >= 0 has probability e^{-m rate} times this.
        discrete = self.noise == DISCRETE_LAPLACE
        size = 1.0 / (1.0 + math.exp(-rate)) if discrete else 0.5
        m, other = (np.ceil(x), 1.0) if discrete else (x, 0.0)
        few, many = np.exp(-rate * np.maximum(m, 0.0)), np.exp(-rate * np.maximum(other - m, 0.0))
        tails = np.where(m >= 0.0, few * size, 1.0 - many * size)
        return tails, UNIT * (32.0 + 8.0 * rate * float(np.abs(m).max()))

    def _new_key(self, count: int) -> tuple[float, float]:
        """Bound the probability that a new key of so many people is published."""
        if self.noise == DISCRETE_LAPLACE and (m := self._least - count) > 0:
            # e^{-m rate} / (1 + e^{-rate}), to a unit however large m is.
            with localcontext(Context(prec=40)):
                rates = self.rate.high, self.rate.low
                bases = [decimal_of(-end).exp() for end in rates]
                least, most = (float(a**m / (1 + a)) for a in bases)
            return math.nextafter(least, 0.0), math.nextafter(most, 1.0)
        if self.noise in DISCRETE:
            import numpy as np

            found, wrong = self._tail(np.array([float(self._least - count)]))
            value = float(found[0])
            return value * (1.0 - 2.0 * wrong), min(value * (1.0 + 2.0 * wrong), 1.0)
        gaps = [end - count for end in self._threshold]
        low = gaps[0] * (self.rate.low if gaps[0] > 0 else self.rate.high)
        high = gaps[1] * (self.rate.high if gaps[1] > 0 else self.rate.low)
        return noise_tail(Enclosed(low, high), normal=self.noise == GAUSSIAN)

    def _tested(self, term: Term, *, remove: bool) -> Term:
        """Give Laplace noise on several counts its lower end: how many of them are large.

        A count with the person is above its true value with probability 1/2, and without with
        e^{-1/scale} / 2, which is rounded up. Some of the counts may be left out.
        """
        from privcalc.losses.law import Term
        from privcalc.losses.thresholds.release import (
            KeyMembers,
            larger_of,
            law_of_outcomes,
            several,
        )
        from privcalc.numerics.rounding import UNIT

        # All people of a group have the same keys.
        e = (self.rate * self.group).doubles()[0]
        count = min(self.keys, MOST_TESTED, max(1, int(LARGEST_TESTED / e)))
        q = Fraction(0.5 * math.exp(-e) * (1.0 + 8.0 * UNIT))
        outcomes = several(Fraction(1, 2), q, count)
        mass = term.members.mass if isinstance(term.members, KeyMembers) else Fraction(0)
        # Large counts tell of the person either way: noise has one law for both orders.
        old = law_of_outcomes(outcomes, remove=True)
        law = larger_of(old, doubles(mass), remove=remove)
        return Term(term.upper, law, members=KeyMembers(old, mass, remove))
