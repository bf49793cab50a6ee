"""Linear regression published as one sample of its posterior."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism
from privcalc.relation import Adjacency, Relation
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.losses.term import Term

LARGEST_EPSILON = 700.0
# Deviations that points of the profile reach, and points.
FARTHEST, POINTS = 16.0, 256
# Relative rounding errors of a point: the constants to some twenty units (exact numbers, rounded
# once), the few operations and log1p on them, and erfc, whose argument x <= 11.4 to two units moves
# it by 4 x^2 of them. All are below 1e-13.
ROUNDED = 1e-12


@mechanism(
    name="posterior_regression",
    short="ops",
    place=81,
    plain=(
        "Publishes a line through the data that is drawn at random from the lines that fit them "
        "well."
    ),
    parameters=(
        Parameter(
            "precision",
            "gamma, by which the posterior is narrowed",
            short="gamma",
            minimum=0.0,
            open_minimum=True,
            cost="increases",
        ),
        Parameter(
            "regularization",
            "lambda, which is added to the squares of the features",
            short="lambda",
            minimum=0.0,
            open_minimum=True,
            cost="decreases",
        ),
        Parameter(
            "records",
            "most records of a data set",
            short="n",
            kind="integer",
            minimum=1,
            maximum=10**12,
            cost="increases",
        ),
        Parameter(
            "row_norm",
            "largest Euclidean norm of the features of a record",
            minimum=0.0,
            open_minimum=True,
            default=1.0,
            cost="increases",
        ),
        Parameter(
            "response",
            "largest modulus of the response of a record",
            minimum=0.0,
            open_minimum=True,
            default=1.0,
            cost="increases",
        ),
    ),
    relations=frozenset({Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_SPECIAL}),
    condition="as it is proved for a record that is there or not",
    example="posterior-regression:gamma=1,lambda=200,n=10000",
)
class PosteriorRegression(Mechanism):
    """One posterior sample (OPS) of ridge regression: N(theta, 1 / (gamma H)) is sampled once.

    H = X^T X + lambda I and theta = H^{-1} X^T y for features X, with rows of norm at most
    `row_norm` = X, and responses y of modulus at most `response` = Y. With one record (x, y) more,
    m = x^T H^{-1} x and r = y - x^T theta, densities differ along x only. With Z standard normal
    the losses under the smaller data set and under the larger one are

        -log(1 + m) / 2 + m Z^2 / 2 + (gamma m)^{1/2} r Z + gamma r^2 m / (2 (1 + m)),
        log(1 + m) / 2 - m Z^2 / (2 (1 + m)) - (gamma m / (1 + m)^3)^{1/2} r Z
            + gamma r^2 m / (2 (1 + m)^2).

    With m <= M and |r| <= R both are at most f(|Z|), f(t) = (gamma M)^{1/2} R t +
    gamma R^2 M / (2 (1 + M)) + max(M t^2, log(1 + M)) / 2, which grows: so delta(f(t)) <=
    P(|Z| > t). Here M = X^2 / lambda, and as singular values have s / (s^2 + lambda) <=
    lambda^{-1/2} / 2, |theta| <= T = Y (n - 1)^{1/2} lambda^{-1/2} / 2 and R = Y + X T. The bound
    that was published (Redberg, Zhu, Wang 2023, Theorem 5.1) is false: it has log for 2 log, and
    says nothing true of the record's removal. The lower end is that of no record next to one.

    On the data at hand (a line with the least eigenvalue e of X^T X, and |theta|; one for each
    use) M is X^2 / (lambda + e) where a record comes, with R = Y + X |theta|. Where one goes, with
    h = x^T H^{-1} x <= min(M, X^2 / (X^2 + lambda)) the data without it have m = h / (1 - h) and
    r / (1 - h).

    Attributes:
        gamma: the precision.
        ridge: lambda.
        row: X.
        response: Y.
        others: n - 1.
    """

    def __init__(
        self,
        *,
        precision: float,
        regularization: float,
        records: int,
        row_norm: float = 1.0,
        response: float = 1.0,
    ) -> None:
        """Take the posterior and the bounds of the data."""
        self.gamma, self.ridge, self.row, self.response = map(
            Enclosed.of, (precision, regularization, row_norm, response)
        )
        self.others = records - 1
        size = self._share.nearest()[0]
        if not 1e-12 <= size <= 1e6:
            raise DomainError(
                f"row_norm^2 / lambda must be in [1e-12, 1e6], got {size:.6g}; outside, one record"
                " does next to nothing, or next to everything"
            )
        slope = self._curve()[0]
        if not 1e-9 <= slope <= LARGEST_EPSILON:
            raise DomainError(
                f"epsilon grows by {slope:.6g} for each deviation of the posterior, which is not in"
                f" [1e-9, {LARGEST_EPSILON:g}]: take another gamma or lambda"
            )

    @property
    def _share(self) -> Enclosed:
        """M of any data."""
        return self.row * self.row / self.ridge

    def term(self, adjacency: Adjacency) -> Term:
        """Return the law of the proved profile, and that of one record next to none."""
        from privcalc.losses.term import Term

        return Term(_law([self._curve()]), self._of_one_record(adjacency))

    def on_data(self, file: str) -> list[tuple[Term, int]]:
        """Return the laws of lines of eigenvalues and norms."""
        from privcalc.losses.term import Term
        from privcalc.mechanisms.files.lists import numbers

        found = []
        for place, values in numbers(file):
            if len(values) != 2 or min(values) < 0:
                raise DomainError(
                    f"{place}: expected the least eigenvalue of X^T X and the norm of theta, both"
                    " at least 0"
                )
            least, norm = (Enclosed(value, value) for value in values)
            residual = self.response + self.row * norm
            come = self.row * self.row / (self.ridge + least)
            h = min(come.high, (self._share / (self._share + Enclosed.of(1.0))).high)
            gone, rest = Fraction(h) / (1 - Fraction(h)), residual.high / (1 - Fraction(h))
            ends = (float(come.high), float(residual.high)), (float(gone), float(rest))
            found.append((Term(_law([self._of(*each) for each in ends])), 1))
        return found

    def _curve(self) -> tuple[float, float, float]:
        """Return what f is made of, of any data."""
        norm = self.response * (Enclosed.of(self.others) / self.ridge).root() / 2
        return self._of(float(self._share.high), float((self.response + self.row * norm).high))

    def _of(self, m: float, r: float) -> tuple[float, float, float]:
        """Return (gamma M)^{1/2} R, the constant, and M, to a few units."""
        gamma = float(self.gamma.high)
        return math.sqrt(gamma * m) * r, 0.5 * gamma * r * r * m / (1.0 + m), m

    def _of_one_record(self, adjacency: Adjacency) -> LossLaw:
        """Return the law of no record, where r = Y and m = M, next to one.

        In units of the deviation with the record, (M / (gamma (1 + M)))^{1/2}, the means are
        Y (gamma M / (1 + M))^{1/2} apart, and the variance without it is 1 + M.
        """
        from privcalc.losses.closed.unequal_gaussians import UnequalGaussiansLaw
        from privcalc.numerics.rounding import UNIT

        m = self._share
        h = m / (m + Enclosed.of(1.0))
        theta, theta_error, _ = (self.response * (self.gamma * h).root()).nearest()
        ratio, ratio_error, _ = (m + Enclosed.of(1.0)).nearest()
        excess, excess_error, _ = m.nearest()
        units = max(theta_error / 4.0, ratio_error, excess_error) / UNIT
        law = UnequalGaussiansLaw(theta, ratio, excess, max(1.0, units))
        return law.backward if adjacency is Adjacency.REMOVE else law


def _law(curves: list[tuple[float, float, float]]) -> LossLaw:
    """Return the law of delta(f(t)) <= P(|Z| > t), f the largest of some."""
    from privcalc.losses.atomic.from_profile import profile_law

    points = []
    for k in range(POINTS + 1):
        t = FARTHEST * k / POINTS
        epsilon = max(
            slope * t + constant + 0.5 * max(m * t * t, math.log1p(m))
            for slope, constant, m in curves
        ) * (1.0 + ROUNDED)
        if epsilon > LARGEST_EPSILON:
            break
        delta = min(1.0, math.erfc(t / math.sqrt(2.0)) * (1.0 + ROUNDED))
        points.append((Fraction(epsilon), Fraction(delta)))
    if not points:
        raise DomainError(f"every point of the profile is above epsilon {LARGEST_EPSILON:g}")
    return profile_law(tuple(points))
