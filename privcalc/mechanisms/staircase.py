"""The staircase mechanism."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from typing import TYPE_CHECKING

from privcalc.exact import Enclosed, exact
from privcalc.mechanisms.base import Noise
from privcalc.spec.entry import QUERY, positive, share
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.losses.law import LossLaw


# Outside, the smallest probabilities are no normal doubles any more.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-100, 600.0
# Digits: 1 - b loses 100 of them at the smallest epsilon.
DIGITS = 150


@mechanism(
    name="staircase",
    place=50,
    parameters=(
        # m and 1 - a b grow with it: at a fixed gamma, and at the default, where m = 1 - b^0.5
        # / 2.
        Parameter(
            "epsilon",
            "largest privacy loss",
            minimum=SMALLEST_EPSILON,
            maximum=LARGEST_EPSILON,
            cost="increases",
        ),
        share(
            "gamma",
            "part of each step that is high, as a fraction of the sensitivity",
            default_text="1/(1+e^(eps/2))",
        ),
        positive(
            "sensitivity", "most that the query changes between neighbours", default=1.0, unit=QUERY
        ),
    ),
    example="staircase:epsilon=1@20",
)
class Staircase(Noise):
    """Staircase noise added to a query with one real value.

    The noise X has density f(x) = A exp(-epsilon n(|x|)) with n(y) = floor(y/D + 1 - gamma), the
    number of steps down before y, and A = (1 - b) / (2 D (gamma + b (1 - gamma))),
    b = exp(-epsilon). D is the sensitivity: |f(x) - f(x')| <= D over neighbouring x, x', whatever
    the relation in force (Geng, Viswanath 2016). The default gamma has the least mean absolute
    error. The sensitivity sets the size of the noise, and the privacy does not depend on it.

    The pair P = law of X, Q = law of X + D dominates in every direction. Shift by s <= D: since
    |n(y) - n(y')| <= 1 for |y - y'| <= D, the loss has the values epsilon, 0, -epsilon only. With
    m = P(L = epsilon), P(L = -epsilon) = b m by symmetry, and for b <= a <= 1/b

        H_a(P || Q) = m (1 - a b) + (1 - m - b m) (1 - a)_+,

    which increases in m (its slope is 1 - a b for a >= 1 and a - b below); outside it is 0 or
    1 - a. And m increases in s: by the above m (1 - b) = H_1(P || Q), which is
    P(X <= s/2) - P(X <= -s/2) because f is symmetric and falls away from 0. At s = D this gives

        m = P(|X| <= D/2) / (1 - b) = 1/2 + (1 - b) min(gamma, 1 - gamma) / (2 d),
        1 - m - b m = (1 - b) (b (1 - 2 gamma) or, for gamma > 1/2, 2 gamma - 1) / (2 d),

    d = gamma + b (1 - gamma). At gamma = 1/2 this is the pair of `pure`.

    Attributes:
        epsilon: the largest privacy loss.
        gamma: the shape, or None for the default.
    """

    def __init__(
        self, *, epsilon: float, gamma: float | None = None, sensitivity: float = 1.0
    ) -> None:
        """Take the guarantee and the shape; the sensitivity says what the noise is scaled to."""
        del sensitivity
        self.epsilon = Enclosed.of(epsilon)
        self.gamma = None if gamma is None else exact(gamma)

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction."""
        from privcalc.losses.atoms import AtomicLaw
        from privcalc.numerics.rounding import UNIT

        value, error, known_loss = self.epsilon.nearest()
        up, down, middle = self._masses(self.epsilon.low)
        losses: tuple[float, ...] = (value, -value)
        masses: tuple[float, ...] = (up, down)
        other: tuple[float, ...] = (down, up)
        if middle > 0.0:
            losses, masses, other = (*losses, 0.0), (*masses, middle), (*other, middle)
        return AtomicLaw(
            losses, masses, loss_units=error / UNIT, lower_masses=other, known_loss=known_loss
        )

    def _masses(self, number: Fraction) -> tuple[float, float, float]:
        """Return the masses of the losses epsilon, -epsilon and 0, rounded once."""
        with localcontext(Context(prec=DIGITS)):
            epsilon = _decimal(number)
            b = (-epsilon).exp()
            gamma = 1 / (1 + (epsilon / 2).exp()) if self.gamma is None else _decimal(self.gamma)
            d = gamma + b * (1 - gamma)
            up = (1 + (1 - b) * min(gamma, 1 - gamma) / d) / 2
            flat = b * (1 - 2 * gamma) if 2 * gamma <= 1 else 2 * gamma - 1
            return float(up), float(b * up), float((1 - b) * flat / (2 * d))


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
