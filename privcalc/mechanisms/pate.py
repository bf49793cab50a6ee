"""Private votes (PATE, k-NN): noisy counts, noisy screening, and smooth sensitivity."""

from __future__ import annotations

from collections import Counter
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.exact import Enclosed, exact
from privcalc.mechanisms.base import Mechanism, decimal_of, within
from privcalc.mechanisms.gaussian import Gaussian, checked_mu
from privcalc.spec.entry import deviation, positive, share, whole
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.law import Term
    from privcalc.relation import Adjacency

MOST_CLASSES = 200


@mechanism(
    name="gnmax",
    neighbours="one teacher gives its vote to another class",
    place=83,
    parameters=(deviation(unit="votes"),),
    example="gnmax:sigma=40@200",
)
class Gnmax(Gaussian):
    """Votes with Gaussian noise: one record changes one teacher, who moves one vote.

    Each teacher has records of its own, under the relation in force, and one vote; N(0, sigma^2) is
    added to the votes for each class, and what is published is the class with the most, or all
    noisy votes. One vote moved changes two numbers by 1: exactly a Gaussian mechanism of
    sensitivity 2^{1/2} where the noisy votes are published. The lower end is that of those; the
    class alone costs no more. A group of k records moves k votes. In a sample of records one that
    is not in it leaves its teacher with another vote; where the teachers themselves are sampled,
    one vote is missing, which is `gaussian` with sensitivity 1.

    What is saved where most teachers agree depends on the votes, and is no guarantee.

    Attributes:
        mu: 2^{1/2} / sigma.
    """

    # The one vote of a teacher has no opposite: two records move it to different classes.
    opposite_records: ClassVar[bool] = False

    def __init__(self, *, standard_deviation: float) -> None:
        """Take the noise."""
        sigma = Enclosed.of(standard_deviation)
        self._sigma = sigma.doubles()[0]
        self.mu = checked_mu((Enclosed.of(2) / (sigma * sigma)).root())

    def on_data(self, file: str, adjacency: Adjacency) -> list[tuple[Term, int]]:
        """Return a curve for each line of votes: its worst neighbour, in both orders."""
        del adjacency
        from privcalc.losses.law import Term
        from privcalc.mechanisms.files import numbers
        from privcalc.renyi.votes import VotesCurve

        found: Counter[tuple[int, ...]] = Counter()
        for place, values in numbers(file):
            if not 2 <= len(values) <= MOST_CLASSES:
                raise DomainError(
                    f"{place}: expected votes for 2 to {MOST_CLASSES} classes, got {len(values)}"
                )
            if any(value < 0 or value.denominator != 1 for value in values):
                raise DomainError(f"{place}: votes are whole numbers, at least 0")
            found[tuple(sorted(map(int, values), reverse=True))] += 1
        return [(Term(curve=VotesCurve(each, self._sigma)), n) for each, n in found.items()]


SIGMAS, BETAS = (0.01, 1e8), (1e-8, 1.0)
DIGITS = 50


@mechanism(
    name="gnss",
    place=84,
    parameters=(
        deviation(unit="", cost_of_bound=True),
        positive("beta", "increases", default_text="by delta", cost_of_bound=True),
        positive("epsilon"),
        share("delta", open_minimum=True, open_maximum=True, default_text="no rule"),
    ),
    one_of=(("standard_deviation",), ("epsilon",)),
    excludes=(("beta", "delta"), ("beta", "epsilon")),
    example="gnss:sigma=15,delta=1e-5",
)
class Gnss(Mechanism):
    """A statistic f with noise of its smooth sensitivity S, and log S with noise.

    Published are f + S N(0, sigma^2) and log S + beta N(0, sigma^2), with |f(x) - f(x')| at most
    S(x) and |log S(x) - log S(x')| at most beta for neighbours x, x' under the relation in force
    (Redberg, Zhu, Wang 2023, Lemma 5.5). With b = log(S(x') / S(x)) the first is at most
    N(m, e^{2b} sigma^2) against N(0, sigma^2), m = min(1, e^b), the second N(b / beta, sigma^2)
    against N(0, sigma^2). At order a, with c = a - 1 and x = e^{2b} - 1, the first has

        D_a = -log(1 + x) / 2 - log(1 - c x) / (2 c) + a m^2 / (2 sigma^2 (1 - c x)),

    infinite from c x = 1 on. For b > 0 both parts grow with b: the derivative in b of the first
    two terms is a x / (1 - c x). For b < 0 that has the smaller modulus a |x| / (1 + c |x|), with
    |x| < e^{2|b|} - 1, and m^2 / (1 - c x) is below 1: b = beta is the worst, at every order. The
    published bound (a + 1) / sigma^2 for all a < 1 / (2 beta) is false.

    The mechanism is known by this curve only: at small epsilons other data may cost more than those
    of b = beta. These prove lower ends, because they exist: of f(n), the sum of e^{beta i} over
    i < n, for data with n records of some kind, the smooth sensitivity is S(n) = e^{beta n}, which
    one record more raises by the factor e^beta, and f(n + 1) - f(n) = S(n). Where i < n counts with
    e^{-beta i}, one record less does the same.

    The rule of PATE-PTR (Algorithm 4): a = 1 + 2 log(2 / delta) / epsilon,
    sigma = ((3 a + 2) / epsilon)^{1/2}, beta = 0.2 / a. With sigma and delta the epsilon is that
    of which the rule makes this sigma.

    Attributes:
        sigma: the noise, rounded down where it is none that was written.
        beta: the smoothness, rounded up.
    """

    def __init__(
        self,
        *,
        standard_deviation: float | None = None,
        beta: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
    ) -> None:
        """Take the noise and the smoothness, or choose them by the rule."""
        sigma = None if standard_deviation is None else exact(standard_deviation)
        if sigma is not None and beta is not None:
            self.sigma, self.beta = sigma, exact(beta)
        elif delta is not None:
            share = None if epsilon is None else exact(epsilon)
            self.sigma, self.beta = rule(exact(delta), sigma=sigma, epsilon=share)
        else:
            raise DomainError("gnss needs sigma with beta, or delta with sigma or epsilon")
        within("sigma", Enclosed(self.sigma, self.sigma), *SIGMAS)
        within("beta", Enclosed(self.beta, self.beta), *BETAS)

    def terms(self, adjacency: Adjacency) -> Terms:
        """Return the curve of the statistic with the law of b = beta, and the law of the size.

        The means of the former are in deviations of Q.
        """
        del adjacency
        from privcalc.losses.gaussian import GaussianLaw, UnequalGaussiansLaw
        from privcalc.losses.law import Term
        from privcalc.renyi.curve import LawCurve

        size = GaussianLaw.of(Enclosed.of(1) / Enclosed(self.sigma, self.sigma))
        with localcontext(Context(prec=DIGITS)):
            square = (2 * decimal_of(self.beta)).exp()
            theta = 1 / decimal_of(self.sigma)
            law = UnequalGaussiansLaw(float(theta), float(square), float(square - 1))
        return [(Term(lower=law, curve=LawCurve(law, attained=False)), 1), (Term.of(size), 1)]


def rule(
    delta: Fraction, *, sigma: Fraction | None = None, epsilon: Fraction | None = None
) -> tuple[Fraction, Fraction]:
    """Return sigma, rounded down, and beta, rounded up, by the rule of PATE-PTR.

    a = 1 + 2 l / epsilon, l = log(2 / delta); for epsilon sigma^2 epsilon^2 = 5 epsilon + 6 l.
    """
    with localcontext(Context(prec=DIGITS)):
        log = (2 / decimal_of(delta)).ln()
        if epsilon is None:
            square = decimal_of((sigma or Fraction(1)) ** 2)
            share = (5 + (25 + 24 * log * square).sqrt()) / (2 * square)
        else:
            share = decimal_of(epsilon)
        order = 1 + 2 * log / share
        noise, slack = ((3 * order + 2) / share).sqrt(), Decimal(1).scaleb(-DIGITS // 2)
        beta = Decimal("0.2") / order * (1 + slack)
        return sigma or Fraction(noise * (1 - slack)), Fraction(beta)


MOST_VOTES = 5000
# Losses of one record are within the range of doubles, and their digits known.
SMALLEST_SCREEN, LARGEST_SCREEN = 0.1, 1e6
LARGEST_STEP = 12


@mechanism(
    name="noisy_screening",
    neighbours="the most frequent answer has one vote more or less",
    place=82,
    parameters=(
        deviation(
            unit="votes",
            cost_note="where the threshold is a possible count and sigma^2 is above all counts",
        ),
        Parameter("threshold", unit="votes"),
        # Counts of fewer votes are among those of more.
        whole("votes", "increases", most=MOST_VOTES),
    ),
    example="noisy-screening:sigma=85,threshold=210,votes=300@poisson:q=0.25@8192",
)
class NoisyScreening(Mechanism):
    """Noisy screening: a yes if the votes for the most frequent answer, with noise, are many.

    Of `votes` votes at most, t are for the most frequent answer; published is whether
    t + N(0, sigma^2) reaches the threshold T. One record changes t, an integer from 0 to `votes`,
    by at most 1, up or down, under the relation in force: a neighbour in private k-NN, or a teacher
    in PATE. A group of r records changes it by at most r. With the answer to the queries that pass
    private k-NN is a composition, for example (its noisy votes change by 2^{1/2} where one
    neighbour takes the place of another)

        noisy-screening:sigma=85,threshold=210,votes=300@poisson:q=0.2@18000
            +gaussian:sigma=20,sensitivity=1.4142135623731@poisson:q=0.2@3877

    All counts together have the profile of Gaussian noise of which only the cell is told, exactly,
    and one use costs no more. Several uses cost no more than the largest Renyi divergence of any
    count at each order, too (Zhu 2023, Theorem 4.3.1, with all counts t from 0 on, because a sample
    may hold fewer than k records). The answer is the smaller of both; its lower end is that of one
    count in every use.

    In a Poisson sample a record that is replaced may raise the count by its old value and lower it
    by its new one. That, and groups of records that are sampled one by one, is known exactly for
    one use, too (`losses/thresholds/screening.py`).

    Attributes:
        records: r.
    """

    knows_replaced: ClassVar[bool] = True

    def __init__(self, *, standard_deviation: float, threshold: float, votes: int) -> None:
        """Take the noise and the threshold, which are needed exactly."""
        self.sigma = exact(standard_deviation)
        self.threshold = exact(threshold)
        self.votes, self.records = votes, 1
        within("sigma", Enclosed.of(standard_deviation), SMALLEST_SCREEN, LARGEST_SCREEN)

    def grouped(self, records: int) -> NoisyScreening:
        """Return the mechanism for a group of records."""
        step = min(self.records * records, self.votes)
        if step > LARGEST_STEP * self.sigma:
            raise DomainError(
                f"a group of {records} changes the count by more than {LARGEST_STEP} sigma"
            )
        return self.changed(records=step)

    def on_data(self, file: str, adjacency: Adjacency) -> list[tuple[Term, int]]:
        """Return a curve for each count in a file: of the counts next to it, in both orders.

        A line has the largest count of a query, or all its votes as for `gnmax`.
        """
        del adjacency
        from privcalc.losses.thresholds.screening import screening_of
        from privcalc.mechanisms.files import numbers

        found: Counter[int] = Counter()
        for place, values in numbers(file):
            value = max(values)
            if not 0 <= value <= self.votes or value.denominator != 1:
                raise DomainError(f"{place}: a count is a whole number in [0, {self.votes}]")
            found[int(value)] += 1
        return [
            (screening_of(self.sigma, self.threshold, self.votes, count), n)
            for count, n in found.items()
        ]

    def law(self) -> Term:
        """Return the law of all counts, and its tests; it is the same in each direction."""
        from privcalc.losses.thresholds.screening import screening

        found = screening((self.sigma, self.threshold, self.votes), self.records)
        if found is None:
            raise AssertionError
        return found

    def in_sample(
        self, rate: tuple[float, bool], adjacency: Adjacency, records: int
    ) -> Term | None:
        """Return the law of a sampled test; None where there is too much to add up."""
        from privcalc.losses.thresholds.screening import screening

        return screening((self.sigma, self.threshold, self.votes), records, rate, adjacency)
