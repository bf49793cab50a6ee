"""The Gaussian mechanism."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Noise, given, within
from privcalc.spec.entry import EXCLUDES, deviation, positive, sensitivity
from privcalc.spec.registry import mechanism

if TYPE_CHECKING:
    from typing import Self

    from privcalc.losses.gaussian import GaussianLaw
    from privcalc.losses.law import LossLaw, Term


# Outside, squares and exponentials of the loss leave the range of doubles.
SMALLEST_MU, LARGEST_MU = 1e-30, 1e8


@mechanism(
    name="gaussian",
    place=10,
    parameters=(
        # More noise is less noise with independent noise added: it hides more.
        deviation(),
        sensitivity(", in the L2 norm"),
        positive("noise_multiplier", "standard deviation divided by sensitivity", "decreases"),
    ),
    one_of=(("standard_deviation",), ("noise_multiplier",)),
    excludes=EXCLUDES,
    example="gaussian:sigma=1.1@1000",
)
class Gaussian(Noise):
    """Gaussian noise added to a query of bounded L2 sensitivity.

    The output is f(x) + N(0, standard_deviation^2 I), and `sensitivity` bounds |f(x) - f(x')| in
    the L2 norm over neighbouring x, x', whatever the relation in force. With
    mu = sensitivity / standard_deviation the pair P = N(mu, 1), Q = N(0, 1) dominates the
    mechanism in every direction (Dong, Roth, Su 2022, Theorem 2.7), and it is attained where two
    neighbours differ by exactly the sensitivity. The privacy loss under P is
    N(mu^2 / 2, mu^2), and its cumulant K(s) = s (s + 1) mu^2 / 2.

    Attributes:
        mu: sensitivity / standard_deviation, that is 1 / noise_multiplier.
    """

    # What mu is called in errors.
    named: ClassVar[str] = "sensitivity / standard_deviation"

    def __init__(
        self,
        *,
        standard_deviation: float | None = None,
        sensitivity: float = 1.0,
        noise_multiplier: float | None = None,
    ) -> None:
        """Take the noise either as a standard deviation or as a multiple of the sensitivity."""
        top = Enclosed.of(1.0 if standard_deviation is None else sensitivity)
        noise = Enclosed.of(given(standard_deviation, noise_multiplier))
        self.mu = checked_mu(top / noise, self.named)

    def grouped(self, records: int) -> Self:
        """Return the mechanism for a group of records: its sensitivity adds up."""
        return self.changed(mu=checked_mu(self.mu * records, self.named))

    def law(self) -> LossLaw | Term:
        """Return the privacy-loss law, the same in each direction."""
        return self._law

    @cached_property
    def _law(self) -> GaussianLaw:
        """One object for all directions: what is worked out of it is so once."""
        from privcalc.losses.gaussian import GaussianLaw

        return GaussianLaw.of(self.mu)


def checked_mu(mu: Enclosed, named: str = Gaussian.named) -> Enclosed:
    """Return mu, which laws take between SMALLEST_MU and LARGEST_MU; refuse others."""
    return within(named, mu, SMALLEST_MU, LARGEST_MU)
