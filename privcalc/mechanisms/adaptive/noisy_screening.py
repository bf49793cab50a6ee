"""Noisy screening: whether a noisy count reaches a threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.exact import Enclosed, exact
from privcalc.mechanisms.base import Mechanism, within
from privcalc.spec.declare import deviation, whole
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import Term
    from privcalc.relation import Adjacency

MOST_VOTES = 5000
# Losses of one record are within the range of doubles, and their digits known.
SMALLEST_SIGMA, LARGEST_SIGMA = 0.1, 1e6
LARGEST_STEP = 12


@mechanism(
    name="noisy_screening",
    place=82,
    parameters=(
        deviation(
            "standard deviation of the noise on the largest count",
            unit="votes",
            cost_note="where the threshold is a possible count and sigma^2 is above all counts",
        ),
        Parameter("threshold", "least noisy count that is answered yes", unit="votes"),
        # Counts of fewer votes are among those of more.
        whole(
            "votes", "number of votes, the largest count there may be", "increases", most=MOST_VOTES
        ),
    ),
    example="noisy-screening:sigma=85,threshold=210,votes=300@poisson:q=0.25@8192",
)
class NoisyScreening(Mechanism):
    """Noisy screening: a yes if the votes for the most frequent answer, with noise, are many.

    Of `votes` votes at most, t are for the most frequent answer; published is whether
    t + N(0, sigma^2) reaches the threshold T. One record changes t, an integer from 0 to `votes`,
    by at most 1, up or down, under the relation in force: a neighbour in private k-NN, or a teacher
    in PATE. A group of r records changes it by at most r. With the answer to the queries that pass
    the whole of private k-NN is a composition, for example (the noisy votes of k-NN change by
    2^{1/2} where one neighbour takes the place of another)

        noisy-screening:sigma=85,threshold=210,votes=300@poisson:q=0.2@18000
            +gaussian:sigma=20,sensitivity=1.4142135623731@poisson:q=0.2@3877

    All counts together have the profile of Gaussian noise of which only the cell is told
    (`losses/thresholds/screening.py`), exactly, and one use costs no more. Several uses cost no
    more than the largest Renyi divergence of any count at each order, too (Zhu 2023, Theorem 4.3.1,
    with all counts t from 0 on, because a sample may hold fewer than k records; the printed range
    of t from k / c on reports up to 49 times too little of a sample). The answer is the smaller of
    both; its lower end is that of one count in every use.

    In a Poisson sample a record that is replaced may raise the count by its old value and lower it
    by its new one. That, and groups of records that are sampled one by one, is known exactly for
    one use, too (`losses/thresholds/screening.py`).

    Attributes:
        sigma: as written, a rational number.
        threshold: as written, a rational number.
        votes: k.
        records: r.
    """

    knows_replaced: ClassVar[bool] = True

    def __init__(self, *, standard_deviation: float, threshold: float, votes: int) -> None:
        """Take the noise and the threshold, which are needed exactly."""
        self.sigma = exact(standard_deviation)
        self.threshold = exact(threshold)
        self.votes, self.records = votes, 1
        within("sigma", Enclosed.of(standard_deviation), SMALLEST_SIGMA, LARGEST_SIGMA)

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

        found: dict[int, int] = {}
        for place, values in numbers(file):
            value = max(values)
            if not 0 <= value <= self.votes or value.denominator != 1:
                raise DomainError(f"{place}: a count is a whole number in [0, {self.votes}]")
            found[int(value)] = found.get(int(value), 0) + 1
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
