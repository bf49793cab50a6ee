"""Noise on whole numbers: discrete Gaussian and discrete Laplace."""

from __future__ import annotations

from decimal import Context, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import doubles, exact
from privcalc.mechanisms.base import Noise, decimal_of, given
from privcalc.spec.entry import QUERY, positive, whole
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw

# Below, nearly all mass is on one integer; above, tables of all outcomes get too long.
SMALLEST_SIGMA, LARGEST_SIGMA = 0.05, 20_000.0
LARGEST_SHIFT = 10_000
NOTE = (
    "the cost of discrete Gaussian noise is not quite monotone in {} where delta is below about"
    " exp(-2 sigma^2): both values are proved, and no others"
)


@mechanism(
    name="discrete_gaussian",
    place=30,
    parameters=(
        # Not quite: with p the noise at sensitivity 1 and v its variance, p(k) - e^epsilon p(k
        # + 1) has the slope (p(k) (k^2 - v) - e^epsilon p(k + 1) ((k + 1)^2 - v)) / sigma^3,
        # which at a large enough epsilon between two losses is positive from about k = 2
        # sigma^2 on.
        Parameter(
            "standard_deviation",
            short="sigma",
            minimum=SMALLEST_SIGMA,
            maximum=LARGEST_SIGMA,
            unit=QUERY,
            cost_note=NOTE.format("sigma"),
            cost="decreases",
        ),
        positive(
            "variance",
            "decreases",
            unit="square of the unit of the query",
            cost_note=NOTE.format("its variance"),
        ),
        positive("rho", "increases", cost_note=NOTE.format("rho")),
        # See the class: P(X < y) - a P(X < y - d) grows with d. With rho written, the noise
        # grows with it.
        whole(
            "sensitivity",
            "increases",
            most=LARGEST_SHIFT,
            default=1,
            contribution=True,
            unit=QUERY,
            cost_needs=("standard_deviation", "variance"),
        ),
    ),
    one_of=(("standard_deviation",), ("variance",), ("rho",)),
    example="discrete-gaussian:sigma=7.5@100",
)
class DiscreteGaussian(Noise):
    """Discrete Gaussian noise added to a whole number (Canonne, Kamath, Steinke 2020).

    The output is f(x) + N_Z(0, sigma^2), where N_Z gives the whole number k with probability
    proportional to exp(-k^2 / (2 sigma^2)), and `sensitivity` bounds |f(x) - f(x')| over
    neighbouring x, x', whatever the relation in force. The pair P = N_Z(0, sigma^2),
    Q = N_Z(sensitivity, sigma^2) dominates the mechanism in every direction: for a smaller shift d
    the likelihood ratio is still monotone, the best test is {X < y}, and
    P(X < y) - a P(X < y - d) grows with d. It is attained where two neighbours differ by the
    sensitivity. The privacy loss lies on a lattice of step sensitivity / sigma^2. The formula of
    the continuous Gaussian is no bound for it. The noise is one-dimensional: a query with several
    counts is a composition.

    sigma, its square or rho is read as the number that was written: 0.1 is one tenth.
    """

    def __init__(
        self,
        *,
        standard_deviation: float | None = None,
        variance: float | None = None,
        rho: float | None = None,
        sensitivity: int = 1,
    ) -> None:
        """Take sigma, its square or rho, and a whole sensitivity."""
        self.sensitivity = sensitivity
        number = exact(given(standard_deviation, variance, rho))
        if variance is not None:
            self.variance = number
        elif rho is not None:
            self.variance = sensitivity**2 / (2 * number)
        else:
            self.variance = number**2
        if not exact(SMALLEST_SIGMA) ** 2 <= self.variance <= exact(LARGEST_SIGMA) ** 2:
            raise DomainError(
                f"sigma must be in [{SMALLEST_SIGMA:g}, {LARGEST_SIGMA:g}], got"
                f" {float(self.variance) ** 0.5:.6g}"
            )

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction."""
        from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw

        return DiscreteGaussianLaw(self.variance, self.sensitivity)

    def grouped(self, records: int) -> DiscreteGaussian:
        """Return the mechanism for a group of records: its sensitivity adds up."""
        return self.changed(sensitivity=self.sensitivity * records)


# The law has one loss for each unit of sensitivity, and one more.
LARGEST_SENSITIVITY = 10_000
# Beyond 700 the probabilities of the pair underflow.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-100, 700.0
# Digits: 1 - a loses 104 of them at the smallest epsilon and the largest sensitivity.
DIGITS = 150


@mechanism(
    name="discrete_laplace",
    place=40,
    parameters=(
        # With a' > a the noise is that of a plus independent noise: the ratio of both
        # characteristic functions is a positive constant plus a positive multiple of that of
        # a'.
        positive("scale", "decreases", unit=QUERY),
        positive("epsilon", "increases"),
        # One more step of the chain of neighbours. With epsilon written, the noise grows with
        # it.
        whole(
            "sensitivity",
            "increases",
            default=1,
            contribution=True,
            unit=QUERY,
            cost_needs=("scale",),
        ),
    ),
    one_of=(("scale",), ("epsilon",)),
    example="discrete-laplace:scale=2@10",
)
class DiscreteLaplace(Noise):
    """Two-sided geometric noise added to a query with integer values.

    The output is f(x) plus independent noise on each coordinate that is k with probability
    (1 - a) / (1 + a) a^|k|, a = exp(-1/scale), and `sensitivity` S bounds |f(x) - f(x')| in the L1
    norm over neighbouring x, x', whatever the relation in force (Ghosh, Roughgarden,
    Sundararajan 2012). The pair P = noise, Q = noise + S in one dimension dominates in every
    direction, and it is attained where one coordinate changes by S: go from f(x) to f(x') by at
    most S unit steps. A step changes each probability by a factor in [a, 1/a], so the probability
    g of any test goes up to at most min(g / a, 1 - a (1 - g)), which is increasing in g. On the
    half-lines {k < t} of the pair, with randomisation in between, every step attains this maximum.

    Under P the loss is (S - 2k) / scale with the probability that the noise, clipped to [0, S], is
    k: 1 / (1 + a) for k = 0, (1 - a) a^k / (1 + a) in between, a^S / (1 + a) for k = S.

    Attributes:
        step: 1 / scale.
        sensitivity: S.
    """

    def __init__(
        self, *, scale: float | None = None, epsilon: float | None = None, sensitivity: int = 1
    ) -> None:
        """Take the noise either as a scale or as an epsilon."""
        self.sensitivity = _checked(sensitivity)
        number = exact(given(scale, epsilon))
        self.step = 1 / number if epsilon is None else number / sensitivity
        size = doubles(self.step * sensitivity)[1]
        if not SMALLEST_EPSILON <= size <= LARGEST_EPSILON:
            raise DomainError(
                f"sensitivity / scale must be in [{SMALLEST_EPSILON:g}, {LARGEST_EPSILON:g}], got"
                f" {size:.6g}"
            )

    def grouped(self, records: int) -> DiscreteLaplace:
        """Return the mechanism for a group of records: its sensitivity adds up."""
        found = self.changed(sensitivity=_checked(self.sensitivity * records))
        if self.step * found.sensitivity > LARGEST_EPSILON:
            raise DomainError(f"a group of {records} has a privacy loss beyond {LARGEST_EPSILON:g}")
        return found

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction."""
        return law_of_steps(self.step, self.sensitivity)


def _checked(sensitivity: int) -> int:
    if sensitivity > LARGEST_SENSITIVITY:
        raise DomainError(
            f"sensitivity must be at most {LARGEST_SENSITIVITY}, got {sensitivity}: where the"
            " query is that coarse, laplace costs nearly the same"
        )
    return sensitivity


def law_of_steps(step: Fraction, size: int) -> LossLaw:
    """Return the law of a number that moves by so many units, each of which costs a step."""
    from privcalc.losses.atoms import AtomicLaw

    known = [(size - 2 * k) * step for k in range(size + 1)]
    losses = tuple(map(float, known))
    rounded = any(Fraction(a) != b for a, b in zip(losses, known, strict=True))
    masses = _masses(step, size)
    return AtomicLaw(
        losses=losses,
        masses=masses,
        loss_units=1.0 if rounded else 0.0,
        lower_masses=masses[::-1],
        known_loss=step * size if rounded else None,
    )


def _masses(step: Fraction, size: int) -> tuple[float, ...]:
    """Return the P-masses, rounded once: a^k has an error of k units of 10^-DIGITS."""
    with localcontext(Context(prec=DIGITS)):
        a = decimal_of(-step).exp()
        powers = [1 / (1 + a)]
        for _ in range(size):
            powers.append(powers[-1] * a)
        inner = [(1 - a) * power for power in powers[1:-1]]
        return tuple(map(float, (powers[0], *inner, powers[-1])))
