"""The discrete Gaussian mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.exact import exact
from privcalc.mechanisms.base import Mechanism, given
from privcalc.spec.declare import QUERY, positive, whole
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
            "sigma, the square root of the variance parameter of the noise",
            short="sigma",
            minimum=SMALLEST_SIGMA,
            maximum=LARGEST_SIGMA,
            unit=QUERY,
            cost_note=NOTE.format("sigma"),
            cost="decreases",
        ),
        positive(
            "variance",
            "the variance parameter sigma^2, where that is the number that is known",
            "decreases",
            unit="square of the unit of the query",
            cost_note=NOTE.format("its variance"),
        ),
        positive(
            "rho",
            "its rho of concentrated differential privacy: sensitivity^2 / (2 sigma^2)",
            "increases",
            cost_note=NOTE.format("rho"),
        ),
        # See the class: P(X < y) - a P(X < y - d) grows with d. With rho written, the noise
        # grows with it.
        whole(
            "sensitivity",
            "most that the count changes between neighbours",
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
class DiscreteGaussian(Mechanism):
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

    Attributes:
        variance: sigma^2, a rational number.
        sensitivity: the shift.
    """

    # One record may move the output up by the sensitivity, and another down by as much.
    opposite_records: ClassVar[bool] = True

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
