"""A statistic with Gaussian noise of its smooth sensitivity, which is published, too (GNSS)."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed, exact
from privcalc.mechanisms.base import Mechanism
from privcalc.spec.declare import deviation, positive, share
from privcalc.spec.registry import mechanism

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.law import RenyiCurve
    from privcalc.relation import Adjacency

SMALLEST_SIGMA, LARGEST_SIGMA = Fraction(1, 100), 10**8
SMALLEST_BETA, LARGEST_BETA = Fraction(1, 10**8), 1
DIGITS = 50


@mechanism(
    name="gnss",
    place=84,
    parameters=(
        deviation(
            "standard deviation of both noises: over the smooth sensitivity, and over beta",
            unit="",
            cost_of_bound=True,
        ),
        positive(
            "beta",
            "most that the logarithm of the smooth sensitivity changes between neighbours",
            "increases",
            default_text="by delta",
            cost_of_bound=True,
        ),
        positive(
            "epsilon", "the release's share of epsilon, by which the rule of PATE-PTR chooses sigma"
        ),
        share(
            "delta",
            "delta, by which the rule chooses beta",
            open_minimum=True,
            open_maximum=True,
            default_text="no rule",
        ),
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
    published bound (a + 1) / sigma^2 for all a < 1 / (2 beta) is false, for example for a = 20,
    beta = 0.01, sigma = 50.

    The mechanism is known by this curve only: at small epsilons other data may cost more than those
    of b = beta. These prove lower ends, because they exist: of f(n), the sum of e^{beta i} over
    i < n, for data with n records of some kind, the smooth sensitivity is S(n) = e^{beta n}, which
    one record more raises by the factor e^beta, and f(n + 1) - f(n) = S(n). Where i < n counts with
    e^{-beta i}, one record less does the same.

    The rule of PATE-PTR (Algorithm 4): a = 1 + 2 log(2 / delta) / epsilon,
    sigma = ((3 a + 2) / epsilon)^{1/2}, beta = 0.2 / a. With sigma and delta the epsilon is that
    of which the rule makes this sigma; sigma = 15 and delta = 1e-5 are epsilon = 0.5817412254, half
    of it for the release at order a, and half for its conversion at delta / 2. The exact cost at
    delta / 2 is less.

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
            rule = Rule(exact(delta), sigma=sigma, epsilon=share)
            self.sigma, self.beta = rule.sigma, rule.beta
        else:
            raise DomainError("gnss needs sigma with beta, or delta with sigma or epsilon")
        for name, value, low, high in (
            ("sigma", self.sigma, SMALLEST_SIGMA, LARGEST_SIGMA),
            ("beta", self.beta, SMALLEST_BETA, LARGEST_BETA),
        ):
            if not low <= value <= high:
                raise DomainError(
                    f"{name} must be in [{float(low):g}, {high:g}], got {float(value):.6g}"
                )

    def renyi(self, adjacency: Adjacency) -> RenyiCurve:
        """Return the Renyi curve of one direction; it is the same in each."""
        from privcalc.renyi.curve import SumCurve, curve_of

        terms = [term for term, _ in self.composition(adjacency)]
        curves = [term.curve or curve_of(term.above) for term in terms]
        return SumCurve(tuple((curve, 1) for curve in curves))

    def composition(self, adjacency: Adjacency) -> Terms:
        """Return the curve of the statistic with the law of b = beta, and the law of the size.

        The means of the former are in deviations of Q.
        """
        del adjacency
        from privcalc.losses.gaussian import GaussianLaw, UnequalGaussiansLaw
        from privcalc.losses.law import Term
        from privcalc.renyi.curve import LawCurve

        size = GaussianLaw.of(Enclosed.of(1) / Enclosed(self.sigma, self.sigma))
        with localcontext(Context(prec=DIGITS)):
            square = (2 * _decimal(self.beta)).exp()
            theta = 1 / _decimal(self.sigma)
            law = UnequalGaussiansLaw(float(theta), float(square), float(square - 1))
        return [(Term(lower=law, curve=LawCurve(law, attained=False)), 1), (Term.of(size), 1)]


class Rule:
    """The rule of PATE-PTR, with a = 1 + 2 l / epsilon and l = log(2 / delta).

    Solved for epsilon, sigma^2 epsilon^2 = 5 epsilon + 6 l.

    Attributes:
        epsilon: its share for the release.
        order: a.
        sigma: noise; rounded down.
        beta: smoothness; rounded up.
    """

    def __init__(
        self, delta: Fraction, *, sigma: Fraction | None = None, epsilon: Fraction | None = None
    ) -> None:
        """Solve for whichever of sigma and epsilon is not given."""
        with localcontext(Context(prec=DIGITS)):
            log = (2 / _decimal(delta)).ln()
            if sigma is not None:
                square = _decimal(sigma * sigma)
                share = (5 + (25 + 24 * log * square).sqrt()) / (2 * square)
            elif epsilon is not None:
                share = _decimal(epsilon)
            else:
                raise DomainError("the rule of PATE-PTR needs sigma or epsilon")
            order = 1 + 2 * log / share
            noise = ((3 * order + 2) / share).sqrt()
            low, high = Decimal(1).scaleb(-DIGITS // 2), Decimal("0.2") / order
            self.epsilon, self.order = float(share), float(order)
            self.sigma = sigma or Fraction(noise * (1 - low))
            self.beta = Fraction(high * (1 + low))


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
