"""Any mechanism of which a guarantee is known, and nothing else.

All are read under the relation in force.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError, UnsupportedError
from privcalc.exact import Enclosed, doubles
from privcalc.exact import exact as written
from privcalc.mechanisms.base import LocalReport, Mechanism, given
from privcalc.mechanisms.files import Row, exact, named, read_rows
from privcalc.mechanisms.gaussian import Gaussian, checked_mu
from privcalc.spec.entry import positive
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw, Term

# Above it the probabilities of a pair are no doubles any more.
LARGEST_LOSS = 700.0
# Of Renyi curves.
LARGEST_ORDER, LARGEST_EPSILON = 1e15, 1e15
_INFINITY = frozenset({"inf", "infinity", "+inf", "+infinity"})


def bound(name: str, maximum: float, default: float | None = None) -> Parameter:
    """Declare a number from 0 on, of which smaller ones are special cases."""
    return Parameter(name, minimum=0.0, maximum=maximum, default=default, cost="increases")


class Stated(Mechanism):
    """What is known of any mechanism is the same in each direction.

    Outputs with two records that are mirror images of each other fit a guarantee.
    """

    opposite_records: ClassVar[bool] = True
    any_program: ClassVar[bool] = True


@mechanism(
    name="pure",
    place=90,
    parameters=(bound("epsilon", LARGEST_LOSS),),
    example="pure:epsilon=0.1@500",
)
class Pure(Stated):
    """Any mechanism that is epsilon-DP.

    The guarantee is read under the relation in force. Every epsilon-DP mechanism is dominated by
    the two-point pair P = (p, 1 - p), Q = (1 - p, p) with p = exp(epsilon) / (1 + exp(epsilon)),
    in every direction (Kairouz, Oh, Viswanath 2015): the answer is the most that any
    such mechanism costs, and randomized response attains it.
    """

    def __init__(self, *, epsilon: float) -> None:
        """Take the guarantee."""
        self.epsilon = Enclosed.of(epsilon)
        self.report = LocalReport(self.epsilon)

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction."""
        from privcalc.losses.atoms import two_point

        return two_point(self.epsilon)


@mechanism(
    name="approx",
    place=100,
    parameters=(
        bound("epsilon", LARGEST_LOSS),
        bound("delta", 1.0),
    ),
    example="approx:epsilon=0.5,delta=1e-8@100",
)
class Approx(Stated):
    """Any mechanism that is (epsilon, delta)-DP.

    The guarantee is read under the relation in force. Every such mechanism is dominated, in every
    direction, by the four-point pair of Kairouz, Oh, Viswanath (2015): with
    probability delta the loss under P is infinite, and otherwise it is epsilon or -epsilon, as in
    randomized response: P = (delta, (1 - delta) p, (1 - delta)(1 - p), 0) and
    Q = (0, (1 - delta)(1 - p), (1 - delta) p, delta), p = exp(epsilon) / (1 + exp(epsilon)).
    At delta = 0 this is `pure`.
    """

    def __init__(self, *, epsilon: float, delta: float) -> None:
        """Take the guarantee."""
        self.epsilon = Enclosed.of(epsilon)
        self.delta = Enclosed.of(delta)

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction."""
        from privcalc.losses.atoms import two_point

        return two_point(self.epsilon, self.delta)


@mechanism(
    name="gdp",
    place=110,
    parameters=(
        # A smaller mu is a special case.
        positive("mu", "increases"),
    ),
    example="gdp:mu=0.5@10",
)
class Gdp(Gaussian):
    """Any mechanism that is mu-GDP.

    The guarantee is read under the relation in force. By definition every test between the two
    outputs is at least as hard as between N(0, 1) and N(mu, 1) (Dong, Roth, Su 2022,
    Definition 2.6), which says that this pair dominates the mechanism in every direction: a
    trade-off function and a privacy profile determine one another (their Corollary 2.13). The
    Gaussian mechanism with sensitivity / sigma = mu attains it, and for a group of k records both
    have k mu (Theorem 2.14).
    """

    named: ClassVar[str] = "mu"

    def __init__(self, *, mu: float) -> None:
        """Take the guarantee."""
        self.mu = checked_mu(Enclosed.of(mu), self.named)


@mechanism(
    name="zcdp",
    place=120,
    parameters=(
        bound("rho", LARGEST_EPSILON),
        bound("xi", LARGEST_EPSILON, 0.0),
        # More orders say more.
        Parameter(
            "omega",
            minimum=1.0,
            open_minimum=True,
            maximum=LARGEST_ORDER,
            default_text="every order",
            cost="decreases",
        ),
    ),
    example="zcdp:rho=2.56",
)
class Zcdp(Mechanism):
    """Any mechanism that is (xi, rho)-zCDP.

    The guarantee is read under the relation in force: the Renyi divergence of every order a > 1
    between neighbours is at most xi + rho a, in both directions (Bun, Steinke 2016,
    Definition 8.1; xi = 0 is rho-zCDP). The mechanism is known by this curve only, so that
    every answer is an upper bound, and a composition with it is answered by the Renyi engine as a
    whole. With `omega` it holds for orders up to omega only (truncated concentrated differential
    privacy, Bun, Dwork, Rothblum, Steinke 2018), and nothing is known of larger ones; omega itself
    counts, as the divergence of an order is the supremum of those of smaller orders.
    """

    def __init__(self, *, rho: float, xi: float = 0.0, omega: float | None = None) -> None:
        """Take the guarantee."""
        self.rho, self.xi, self.omega = Enclosed.of(rho), Enclosed.of(xi), omega

    def grouped(self, records: int) -> Zcdp:
        """Return the guarantee for a group of records (Bun, Steinke 2016, Proposition 1.9).

        rho grows with the square of the size. For xi > 0 the intercept grows with a harmonic sum,
        which is left to whoever needs it.
        """
        if self.xi.high or self.omega is not None:
            raise UnsupportedError("@group of zcdp is known here for xi=0 and all orders only")
        return self.changed(rho=self.rho * records**2)

    def law(self) -> Term:
        """Return the Renyi curve."""
        from privcalc.losses.law import Term
        from privcalc.renyi.curve import LinearCurve, UpToOrder

        line = LinearCurve.of(self.rho, self.xi, attained=not self.xi.high)
        if self.omega is None:
            return Term(curve=line)
        return Term(curve=UpToOrder(line, doubles(written(self.omega) - 1)[0]))


@mechanism(
    name="rdp",
    place=130,
    parameters=(
        # Divergences grow with the order, so that the same one at a larger order says more.
        Parameter("order", minimum=1.0, open_minimum=True, maximum=LARGEST_ORDER, cost="decreases"),
        bound("epsilon", LARGEST_EPSILON),
        Parameter("file", kind="path"),
    ),
    one_of=(("order", "epsilon"), ("file",)),
    example="rdp:file=./renyi.csv@10",
    example_file="order epsilon\n2 0.04\n8 0.16\n32 0.7\n",
)
class Rdp(Mechanism):
    """Any mechanism that is (order, epsilon)-RDP at each given point.

    The guarantee is read under the relation in force: the Renyi divergence of that order between
    neighbours is at most epsilon, in both directions (Mironov 2017, Definition 4). The file has
    two columns, order and epsilon: text with two numbers a line and an optional header
    `order epsilon`, or JSON, `[[order, epsilon], ...]` or `{"order": [...], "epsilon": [...]}`.
    An order `inf` states pure differential privacy. Between the points
    (order - 1) x epsilon is at most on their chords, as it is convex in the order and 0 at order
    1; beyond the last order nothing is known. Every answer is an upper bound.

    Attributes:
        points: pairs (order, epsilon) in increasing order.
        last: the largest finite order, exactly, with its epsilon.
    """

    def __init__(
        self, *, order: float | None = None, epsilon: float | None = None, file: str | None = None
    ) -> None:
        """Take one point, or read several."""
        if file is not None:
            rows = read_rows(file, ("order", "epsilon"))
            points = [_renyi_point(row) for row in rows]
        else:
            # Divergences do not decrease with the order.
            stated, known = Enclosed.of(given(order)), Enclosed.of(given(epsilon))
            points = [(stated.low, stated.doubles()[0], known.doubles()[1])]
            if points[0][1] <= 1.0:
                raise DomainError(f"order must be above 1 by {2.0**-52:.3g} or more")
        best: dict[float, float] = {}
        for _, place, value in points:
            best[place] = min(value, best.get(place, math.inf))
        self.points = tuple(sorted(best.items()))
        # The largest order, and there the least divergence, as they were written.
        finite = [(exactly, -value) for exactly, place, value in points if place < math.inf]
        largest = max(finite, default=None)
        self.last = None if largest is None else (largest[0], -largest[1])

    def law(self) -> Term:
        """Return the curve: order - 1 is exact in doubles, its product with epsilon rounded up."""
        from privcalc.losses.law import Term
        from privcalc.renyi.curve import PointsCurve

        finite = tuple(
            (order - 1.0, (order - 1.0) * epsilon * (1.0 + 2.0**-51))
            for order, epsilon in self.points
            if order < math.inf
        )
        largest = dict(self.points).get(math.inf, math.inf)
        return Term(curve=PointsCurve(finite, largest, self.last))


def _renyi_point(row: Row) -> tuple[Fraction, float, float]:
    """Read one row: the order, rounded down too as divergences do not decrease, and epsilon."""
    place, (word, epsilon_word) = row
    epsilon = exact(place, epsilon_word)
    if not 0 <= epsilon <= LARGEST_EPSILON:
        raise DomainError(
            f"{place}: epsilon must be in [0, {LARGEST_EPSILON:g}], got {epsilon_word}"
        )
    if word.lower() in _INFINITY:
        return Fraction(0), math.inf, doubles(epsilon)[1]
    order = exact(place, word)
    below = doubles(order)[0]
    if not 1.0 < below <= LARGEST_ORDER:
        raise DomainError(
            f"{place}: the order must be > 1 and at most {LARGEST_ORDER:g}, or inf, got {word}"
        )
    return order, below, doubles(epsilon)[1]


@mechanism(
    name="profile",
    place=140,
    parameters=(Parameter("file", kind="path"),),
    example="profile:file=./profile.csv@10",
    example_file="epsilon delta\n0.5 0.1\n1 1e-3\n2 1e-6\n",
)
class Profile(Stated):
    """Any mechanism that is (epsilon, delta)-DP at each point of a file.

    The file has two columns, epsilon and delta: text with two numbers a line and an optional header
    `epsilon delta`, or JSON, `[[epsilon, delta], ...]` or `{"epsilon": [...], "delta": [...]}`.
    Every point is read under the relation in force and holds for both orders of the neighbours.
    epsilon may be 0 or negative (delta is then at least 1 - e^epsilon); a last point at `inf` is
    accepted and bounds no finite epsilon.

    The law is that of the largest profile that meets all points: their lower convex hull in
    e^epsilon (not in epsilon), with the mirror images of the points for neighbours in the other
    order, and flat to the right, so that the smallest delta is the probability of an infinite loss.
    It is a privacy profile, and hence that of a pair, which dominates the mechanism in every
    direction (Zhu, Dong, Wang 2022, Lemma 7). One point is `approx`. Several modes of a mechanism
    whose worst data sets differ go into one file as the maximum of their profiles.
    """

    def __init__(self, *, file: str) -> None:
        """Read the points."""
        from privcalc.losses.profiles import MOST_POINTS

        hint = "; any part of them is a valid profile too"
        rows = read_rows(file, ("epsilon", "delta"), most=MOST_POINTS, hint=hint)
        # An epsilon may be infinity.
        self.points = tuple(
            (math.inf if word.lower() in _INFINITY else exact(place, word), exact(place, delta))
            for place, (word, delta) in rows
        )
        self._file = file

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction.

        Raises:
            DomainError: a point is out of range, or no mechanism has it.
        """
        from privcalc.losses.profiles import profile_law

        with named(self._file):
            return profile_law(self.points)
