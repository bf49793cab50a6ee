"""Linear regression published as one sample of its posterior."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism
from privcalc.mechanisms.pairs import unequal
from privcalc.relation import Adjacency, Relation
from privcalc.spec.entry import positive, whole
from privcalc.spec.registry import mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw, Term

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
    parameters=(
        positive("precision", "increases", short="gamma", cost_of_bound=True),
        positive("regularization", "decreases", short="lambda", cost_of_bound=True),
        whole("records", "increases", most=10**12, short="n", cost_of_bound=True),
        positive("row_norm", "increases", default=1.0, contribution=True, cost_of_bound=True),
        positive("response", "increases", default=1.0, contribution=True, cost_of_bound=True),
    ),
    relations=frozenset({Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_SPECIAL}),
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
    that was published (Redberg, Zhu, Wang 2023, Theorem 5.1) is false. The lower end is that of no
    record next to one.

    On the data at hand (a line with the least eigenvalue e of X^T X, and |theta|; one for each
    use) the pair itself is known: with k = gamma r^2 / (1 + m) it costs the more, in both orders,
    the larger m and k are. In the deviation of the smaller data along x, the laws are N(0, 1) and
    N(d, v) with v = 1 / (1 + m), d^2 = k (1 - v). For m <= m', c^2 = (1 - v) / (1 - v') and N
    normal, c Z + (1 - c^2)^{1/2} N makes of the laws of (m', k') N(0, 1) and N((k' (1 - v))^{1/2},
    v), and of two normal laws of given variances the profile grows with the distance of the means.
    Where a record goes, r is (1 + m) times what it is with the record, at most Y + X |theta|, and
    h = x^T H^{-1} x <= min(X^2 / (lambda + e), X^2 / (lambda + X^2)): so m <= h / (1 - h) and
    k <= gamma (Y + X |theta|)^2 / (1 - h). Where one comes both are less. Any data have m <= M and
    k <= gamma R^2.

    Attributes:
        gamma, ridge, row, response: the precision, lambda, X and Y.
        share: M of any data.
        residual: R of any data.
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
        self.share = self.row * self.row / self.ridge
        largest = self.response * (Enclosed.of(records - 1) / self.ridge).root() / 2
        self.residual = self.response + self.row * largest
        size = self.share.nearest()[0]
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

    def laws(self, adjacency: Adjacency) -> Term:
        """Return the law of the proved profile, and that of no record next to one: r = Y, m = M."""
        from privcalc.losses.law import Term

        m = self.share.low
        k = self.gamma.low * self.response.low**2 / (1 + m)
        return Term(_law(*self._curve()), _pair(m, k, adjacency))

    def on_data(self, file: str, adjacency: Adjacency) -> list[tuple[Term, int]]:
        """Return the laws of lines of eigenvalues and norms, from above.

        One record is gone from, or has come to, the data of all lines.
        """
        from privcalc.losses.law import Term
        from privcalc.mechanisms.files import numbers

        found: list[tuple[Term, int]] = []
        for place, values in numbers(file):
            if len(values) != 2 or min(values) < 0:
                raise DomainError(
                    f"{place}: expected the least eigenvalue of X^T X and the norm of theta, both"
                    " at least 0"
                )
            found.append((Term(_pair(*self._worst(*values), adjacency)), 1))
        return found

    def _worst(self, least: Fraction, norm: Fraction) -> tuple[Fraction, Fraction]:
        """Return bounds on m and k on data with this least eigenvalue and norm of theta."""
        square = (self.row * self.row).high
        h = max(square / (self.ridge.low + max(least, square)), Fraction(0))
        residual = self.response.high + self.row.high * norm
        return (
            min(h / (1 - h), self.share.high),
            self.gamma.high * min(residual**2 / (1 - h), self.residual.high**2),
        )

    def _curve(self) -> tuple[float, float, float]:
        """Return (gamma M)^{1/2} R, the constant of f, and M, to a few units."""
        gamma, m, r = (each.doubles()[1] for each in (self.gamma, self.share, self.residual))
        return math.sqrt(gamma * m) * r, 0.5 * gamma * r * r * m / (1.0 + m), m


def _pair(m: Fraction, k: Fraction, adjacency: Adjacency) -> LossLaw:
    """Return the law of the smaller data next to the larger, or in the reverse direction.

    In units of the deviation with the record the means are (k m)^{1/2} apart.
    """
    law = unequal(Enclosed(k * m, k * m).root(), 1 + m)
    return law.reverse_direction if adjacency is Adjacency.REMOVE else law


def _law(slope: float, constant: float, m: float) -> LossLaw:
    """Return the law of delta(f(t)) <= P(|Z| > t)."""
    from privcalc.losses.profiles import profile_law

    points = []
    for k in range(POINTS + 1):
        t = FARTHEST * k / POINTS
        epsilon = slope * t + constant + 0.5 * max(m * t * t, math.log1p(m))
        epsilon *= 1.0 + ROUNDED
        if epsilon > LARGEST_EPSILON:
            break
        delta = min(1.0, math.erfc(t / math.sqrt(2.0)) * (1.0 + ROUNDED))
        points.append((Fraction(epsilon), Fraction(delta)))
    if not points:
        raise DomainError(f"every point of the profile is above epsilon {LARGEST_EPSILON:g}")
    return profile_law(tuple(points))
