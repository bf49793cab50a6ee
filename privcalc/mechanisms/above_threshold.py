"""The sparse vector technique."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism, within
from privcalc.spec.entry import positive, sensitivity, whole
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw, Term

LAPLACE, GAUSSIAN = "laplace", "gaussian"
SMALLEST, LARGEST = 1e-6, 600.0
LARGEST_GAUSSIAN = 12.0
# Of cutoffs in lower ends, and of Gaussian noise.
MOST_ANSWERS, LONGEST = 1000, 10**12
# Of the number of possible answers to a stream.
MOST_BITS = 900


@mechanism(
    name="above_threshold",
    short="svt",
    place=87,
    parameters=(
        Parameter("noise", kind="choice", choices=(LAPLACE, GAUSSIAN), default=LAPLACE),
        # More noise is less noise and a threshold that is moved at random. With `threshold` it
        # would be moved above the highest one, too: a stream that ends at once costs nothing.
        positive(
            "threshold_noise", "decreases", unit="unit of the queries", cost_unless=("threshold",)
        ),
        # The same for a query, which would be moved below 0, too.
        positive(
            "query_noise", "decreases", unit="unit of the queries", cost_unless=("threshold",)
        ),
        # Stopping earlier forgets what comes after.
        whole("cutoff", "increases", most=LONGEST, default=1),
        # As for the cutoff.
        whole("length", "increases", most=LONGEST, default_text="any for laplace"),
        # A higher threshold takes longer to reach.
        Parameter(
            "threshold",
            unit="unit of the queries",
            default_text="queries of any sign",
            cost="increases",
        ),
        # Neighbours of a smaller one are among those of a larger.
        sensitivity(unit="unit of the queries"),
    ),
    example="svt:threshold_noise=10,query_noise=20@3",
)
class AboveThreshold(Mechanism):
    """The sparse vector technique: which queries of a stream have noisy answers above a threshold.

    The threshold gets noise rho once, each query noise nu_i of its own, and each query is answered
    by whether q_i + nu_i >= T_i + rho, until `cutoff` = c answers were "above", or after `length`
    queries. Queries and public thresholds may depend on earlier answers; noisy values are not
    published. The sensitivity D bounds |q_i(x) - q_i(x')| over neighbouring x, x', whatever the
    relation in force. Variants that draw rho anew after each answer above are `@c` with cutoff=1,
    which is never above the stage-wise bounds of Zhu 2023, Theorems 7.2.9 and 7.2.10.

    Laplace noise of scales a (rho) and b (nu): epsilon-DP for epsilon = D / a + 2 c D / b (Dwork,
    Roth 2014, Theorem 3.24), for streams of any length; the profile is also at most that of
    Laplace noise of scale a, moved by 2 c D / b. Of many answers above much less is lost: Renyi
    divergences are at most those of Laplace noise of scale a and c times a number that falls with
    (D / b)^2 (`renyi/sparse_vector.py`). Lower ends are those of a cutoff of 1000 at most.

    Gaussian noise of deviations s (rho) and t (nu): the profile is at most the sum, over all
    possible answers to the whole stream, of what the worst stream for that one costs, by an
    integral over the threshold's noise (`losses/thresholds/sparse_vector_bounds.py`). It is at most
    N times the profile of a Gaussian mechanism with mu^2 = D^2 / s^2 + 4 c D^2 / t^2, where N, the
    sum of `length` choose k for k <= c, counts the answers: below the Renyi bounds of Zhu 2023,
    Theorems 7.2.1 (7.1) and 7.6.6. (Remark 7.2.8 there has c times `length` choose c for N, which
    is too small.) Where no query is negative and no threshold above `threshold`, a stream ends by
    itself, however long it may be: then N is averaged over the threshold's noise.

    Lower ends are explicit streams: some queries below the threshold, then many of which c are to
    be above it, alone or with others between them (`losses/thresholds/sparse_vector_tests.py`). For
    Gaussian noise and cutoff=1 the ends are mostly less than ten times apart in delta; more for a
    larger cutoff, long streams and Laplace noise.

    Attributes:
        rates: D over the sizes of both noises.
        threshold: T over D, where queries are nonnegative and T the highest threshold; or None.
    """

    def __init__(
        self,
        *,
        noise: str = LAPLACE,
        threshold_noise: float,
        query_noise: float,
        cutoff: int = 1,
        length: int | None = None,
        threshold: float | None = None,
        sensitivity: float = 1.0,
    ) -> None:
        """Take both noises."""
        if noise == GAUSSIAN and length is None and threshold is None:
            raise DomainError(
                "gaussian noise needs length, the most queries there may be, or threshold, the"
                " highest one, where no query is negative"
            )
        step = Enclosed.of(sensitivity)
        self.threshold = None if threshold is None else Enclosed.of(threshold) / step
        self.noise, self.length = noise, length
        self.cutoff = cutoff if length is None else min(cutoff, length)
        sizes = Enclosed.of(threshold_noise), Enclosed.of(query_noise)
        self.rates = self._checked(step / sizes[0], step / sizes[1])

    def _checked(self, threshold: Enclosed, queries: Enclosed) -> tuple[Enclosed, Enclosed]:
        for rate in (threshold, queries):
            within("sensitivity / noise", rate, SMALLEST, LARGEST)
        if self.noise == GAUSSIAN and self.cutoff > MOST_ANSWERS:
            raise DomainError(f"cutoff must be at most {MOST_ANSWERS} with gaussian noise")
        mu = self._mu(threshold, queries)
        if self.noise == GAUSSIAN and mu > LARGEST_GAUSSIAN:
            raise DomainError(
                "noise is too small: sensitivity^2 (1 / threshold_noise^2 + 4 cutoff"
                f" / query_noise^2) must be at most {LARGEST_GAUSSIAN:g}^2, got {mu:.6g}^2"
            )
        return threshold, queries

    def grouped(self, records: int) -> AboveThreshold:
        """Return the mechanism for a group of records: its sensitivity adds up."""
        threshold, queries = self.rates
        return self.changed(
            rates=self._checked(threshold * records, queries * records),
            threshold=None if self.threshold is None else self.threshold / records,
        )

    def law(self) -> Term:
        """Return what is known of one direction; it is the same in each."""
        from privcalc.losses.choices.noisy_max import tests_law
        from privcalc.losses.laplace import LaplaceLaw
        from privcalc.losses.law import Term
        from privcalc.losses.thresholds.sparse_vector_bounds import (
            answers_bound,
            laplace_bound,
            nonnegative_bound,
        )
        from privcalc.losses.thresholds.sparse_vector_tests import LONGEST, stream_tests
        from privcalc.numerics.rounding import UNIT
        from privcalc.record import replace
        from privcalc.renyi.sparse_vector import LaplaceStreamCurve

        threshold, queries = self.rates
        sizes = 1.0 / threshold.nearest()[0], 1.0 / queries.nearest()[0]
        highest = None if self.threshold is None else self.threshold.doubles()[1]
        upper: LossLaw | None = None
        curve = stream = None
        if self.length is not None and self.noise == GAUSSIAN:
            mu = self._mu(threshold, queries)
            stream = self.length, mu, self.answers * (1.0 + 4.0 * UNIT)
        if self.noise == LAPLACE:
            eta = math.nextafter(float(queries.high * 2), math.inf)
            curve = LaplaceStreamCurve(LaplaceLaw(*threshold.nearest()), eta, self.cutoff)
            if curve.limit <= LARGEST:
                upper = laplace_bound(threshold.high, queries.high * (2 * self.cutoff))
                upper = replace(upper, mechanism_rdp_curve=curve, uses=self.cutoff)
                curve = None
        elif highest is not None:
            upper = nonnegative_bound(sizes, self.cutoff, highest, stream)
        elif stream is not None:
            upper = answers_bound(sizes, self.cutoff, *stream)
        length = LONGEST if self.length is None else self.length
        most = math.inf if self.threshold is None else self.threshold.doubles()[0]
        tests = stream_tests(self.noise, sizes, min(self.cutoff, MOST_ANSWERS), length, most)
        return Term(upper, tests_law(tests), curve, members=tests)

    def _mu(self, threshold: Enclosed, queries: Enclosed) -> float:
        """Return mu, rounded up."""
        square = threshold * threshold + queries * queries * (4 * self.cutoff)
        return square.root().doubles()[1]

    @property
    def answers(self) -> int:
        """N, the number of possible answers to a stream of bounded length.

        Raises:
            DomainError: it is no double.
        """
        length = self.length or 1
        # C(n, c) is at least (n / c)^c.
        if self.cutoff * math.log2(length / self.cutoff) <= MOST_BITS:
            total = sum(math.comb(length, k) for k in range(self.cutoff + 1))
            if total.bit_length() <= MOST_BITS:
                return total
        raise DomainError("the possible answers are too many; lower cutoff or length")
