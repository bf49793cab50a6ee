"""The best of several candidates: report noisy max, and the exponential mechanism."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism, noise_size, within
from privcalc.relation import Adjacency
from privcalc.spec.entry import deviation, positive, sensitivity, whole
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw, Term

SMALLEST_RANGE, LARGEST_RANGE = 1e-100, 700.0


@mechanism(
    name="exponential",
    place=70,
    parameters=(
        # A smaller range is a special case.
        positive("epsilon", "increases", maximum=LARGEST_RANGE),
        Parameter("monotone", kind="flag", default=False),
    ),
    example="exponential:epsilon=0.1@50",
)
class Exponential(Mechanism):
    """The exponential mechanism: candidate r with weight exp(epsilon u(x, r) / (2 sensitivity)).

    The sensitivity bounds |u(x, r) - u(x', r)| for every candidate r over neighbouring x, x', under
    the relation in force (McSherry, Talwar 2007). So the losses of all candidates lie in an
    interval of length eta = epsilon: the mechanism has bounded range (Durfee, Rogers 2019). With
    `monotone`, adding a record moves all scores in one direction and eta = epsilon / 2; replacing a
    record may move them both ways, and there `monotone` changes nothing. Report noisy max with
    Gumbel noise of scale 2 sensitivity / epsilon is the same mechanism.

    Where the losses lie in [t - eta, t], 0 <= t <= eta, the pair with the two losses t - eta and t
    is the worst, because (1 - a e^{-l})_+ is convex in e^{-l}, whose mean under P is 1 (Dong,
    Durfee, Rogers 2020). Its profile (1 - e^{t - eta}) (1 - a e^{-t}) / (1 - e^{-eta}), a = e^x, is
    largest at t = (x + eta) / 2:

        delta(x) = (1 - e^{(x - eta)/2})^2 / (1 - e^{-eta}) for |x| <= eta,

    1 - e^x below and 0 above. A supremum of privacy profiles is one, so a pair with this profile
    dominates the mechanism in every direction and under adaptive composition. One use attains every
    value of it. Several cost what the best t of each cost, chosen as they go
    (`losses/choices/range_uses.py`): both ends for epsilon and delta. Many of different epsilons
    cost no more than normal noise (`losses/choices/bounded_range.py`). A trade-off curve, or a
    divergence, has the lower end of one t, the same in every use, and the upper end of a divergence
    is the largest of each order (`losses/choices/range_laws.py`).
    """

    def __init__(self, *, epsilon: float, monotone: bool = False) -> None:
        """Take the factor of the weights, and whether adding a record only ever adds."""
        self.epsilon = within("epsilon", Enclosed.of(epsilon), 2.0 * SMALLEST_RANGE, LARGEST_RANGE)
        self.monotone = monotone

    def grouped(self, records: int) -> Exponential:
        """Return the mechanism for a group of records: scores move by k sensitivities."""
        name = "epsilon times the size of a group"
        return self.changed(epsilon=within(name, self.epsilon * records, 0.0, LARGEST_RANGE))

    def laws(self, adjacency: Adjacency) -> Term:
        """Return the envelope, exact for one use, and what single mechanisms attain."""
        from privcalc.losses.choices.bounded_range import bounded_range

        halved = self.monotone and adjacency is not Adjacency.REPLACE
        return bounded_range(*(self.epsilon / (2 if halved else 1)).nearest())


GAUSSIAN = "gaussian"
NOISES = (GAUSSIAN, "laplace", "exponential", "gumbel")
MOST_CANDIDATES = 10**9
# Outside, losses leave the range of doubles, or nothing is hidden.
SMALLEST_RATIO, LARGEST_GAUSSIAN, LARGEST_RATIO = 1e-30, 1e3, 350.0


@mechanism(
    name="noisy_max",
    place=80,
    parameters=(
        Parameter("noise", kind="choice", choices=NOISES, default=GAUSSIAN),
        # Only its ratio to the sensitivity counts.
        deviation(unit="unit of the scores"),
        positive("scale", "decreases", unit="unit of the scores"),
        # Fewer are the limit where the others are far below.
        whole("candidates", "increases", most=MOST_CANDIDATES),
        Parameter("monotone", kind="flag", default=False),
        # Neighbours of a smaller one are among those of a larger.
        sensitivity(unit="unit of the scores"),
    ),
    one_of=(("standard_deviation",), ("scale",)),
    example="noisy-max:sigma=4,candidates=10@10",
)
class NoisyMax(Mechanism):
    """Report noisy max: the candidate whose score plus independent noise is the largest.

    The sensitivity bounds |f_i(x) - f_i(x')| for every candidate i over neighbouring x, x', under
    the relation in force. Differences of scores then change by at most s, which is 2 sensitivity.
    With `monotone`, adding a record moves all scores in one direction, and s is the sensitivity;
    replacing a record may move them both ways, and there `monotone` changes nothing. A group of k
    records multiplies the sensitivity by k. One candidate reveals nothing.

    Each value of the profile of one use is attained by one gap between the scores or another, but
    no data sets attain all of it: for several uses the lower end is that of one gap, the same in
    every use but the last, whose gap is the best one in view of all that came out before.

    Gaussian noise of standard deviation sigma: two candidates cost what N(s / (2^{1/2} sigma), 1)
    and N(0, 1) do, exactly in one use. For more the upper end is the convex envelope of three
    bounds, never above those of Koskela, Redberg, Wang 2024 (Theorems 3.2 and 3.3), and the lower
    end that of the best of some data sets and tests.

    Gumbel noise of scale b is the exponential mechanism with epsilon = s / b; two candidates attain
    its law of bounded range, as the difference of their noise is logistic.

    Exponential noise of scale b is permute-and-flip (Ding, Kifer, et al. 2021): exactly the pair of
    the Laplace mechanism of sensitivity s and scale b. Let D be the largest noisy score of a set S
    of candidates less the largest of the others. P(S) - a P'(S) is at most G(0) - a G(s), G(t) =
    P(D > t), as D changes by at most s. Exponential noise has a hazard of at most 1/b; so has the
    largest of several, and given the other side, -G' <= G / b and -G' <= (1 - G) / b. A Laplace
    number has equality in the smaller of the two, so that from equal G(0) its G(s) is no larger.
    Two candidates attain it, as the difference of two exponential numbers is a Laplace number.

    Laplace noise of scale b: two candidates cost what the difference D of two Laplace numbers does
    against D + s, exactly in one use. For more, scores cost at most what the gap of two laws does
    whose distributions rise as steeply as those of the largest noisy scores can
    (`losses/choices/noisy_max_laplace.py`): a bound with s / b-DP. Its lower end is that of the
    best sets of equal scores, which no other scores that were tried exceed.

    Attributes:
        ratio: the sensitivity, or that of a group, over the standard deviation or scale.
    """

    def __init__(
        self,
        *,
        noise: str = GAUSSIAN,
        standard_deviation: float | None = None,
        scale: float | None = None,
        candidates: int,
        monotone: bool = False,
        sensitivity: float = 1.0,
    ) -> None:
        """Take the noise as a standard deviation, or as a scale for other laws than the normal."""
        size = noise_size(noise, GAUSSIAN, standard_deviation, scale)
        self.noise, self.candidates, self.monotone = noise, candidates, monotone
        self.ratio = self._checked(Enclosed.of(sensitivity) / Enclosed.of(size))

    def _checked(self, ratio: Enclosed) -> Enclosed:
        name = "sensitivity / noise"
        largest = LARGEST_GAUSSIAN if self.noise == GAUSSIAN else LARGEST_RATIO
        return within(name, ratio, SMALLEST_RATIO, largest)

    def grouped(self, records: int) -> NoisyMax:
        """Return the mechanism for a group of records: its sensitivity adds up, step by step."""
        return self.changed(ratio=self._checked(self.ratio * records))

    def laws(self, adjacency: Adjacency) -> LossLaw | Term:
        """Return the privacy-loss law of one direction, or a bracket; both orders have the same."""
        from privcalc.losses.atoms import nothing
        from privcalc.losses.choices.bounded_range import bounded_range
        from privcalc.losses.gaussian import GaussianLaw
        from privcalc.losses.laplace import LaplaceLaw
        from privcalc.losses.law import Term

        m = self.candidates
        if m == 1:
            return nothing()
        moved = 1 if self.monotone and adjacency is not Adjacency.REPLACE else 2
        step, error, known = (self.ratio * moved).nearest()
        if self.noise == "gumbel":
            return bounded_range(step, error, known)
        from privcalc.losses.choices import noisy_max

        if self.noise == "exponential":
            law = LaplaceLaw(step, error, known)
            return Term(law, law, members=noisy_max.exponential_tests(step, error))
        if self.noise == "laplace":
            from privcalc.losses.choices import noisy_max_laplace

            tests = noisy_max_laplace.laplace_tests(m, step, error)
            below = noisy_max_laplace.laplace_attained(m, step, error, known)
            # Where steps have few digits it is that of any number of candidates.
            above: LossLaw = LaplaceLaw(step, error, known)
            if noisy_max_laplace.SMALLEST_STEP <= step <= noisy_max_laplace.LARGEST_STEP:
                above = noisy_max_laplace.laplace_law(m, step, error)
            return Term(above, below, members=tests)
        normal = noisy_max.gaussian_tests(m, step, error)
        if m == 2:
            pair = GaussianLaw.of((self.ratio * self.ratio * Fraction(moved**2, 2)).root())
            return Term(pair, pair, members=normal)
        upper = noisy_max.noisy_max_law(m, step, error)
        return Term(upper, noisy_max.tests_law(normal), members=normal)
