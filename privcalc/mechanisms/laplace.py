"""Laplace noise, also truncated, and noise in steps."""

from __future__ import annotations

from decimal import Context, localcontext
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed, exact
from privcalc.mechanisms.base import Noise, decimal_of, given, within
from privcalc.spec.entry import EXCLUDES, QUERY, positive, sensitivity, share
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.losses.law import LossLaw, Term
    from privcalc.relation import Adjacency


@mechanism(
    name="laplace",
    place=20,
    parameters=(
        # Noise of scale b' > b is that of scale b plus independent noise, which is Laplace
        # noise of scale b' with probability 1 - (b / b')^2 and else 0 (characteristic
        # functions).
        positive("scale", "decreases", unit=QUERY),
        positive("epsilon", "increases"),
        sensitivity(cost_needs=("scale",)),
        positive("noise_multiplier", "decreases"),
    ),
    one_of=(("scale",), ("epsilon",), ("noise_multiplier",)),
    excludes=EXCLUDES,
    example="laplace:scale=2@10",
)
class Laplace(Noise):
    """Laplace noise added to a query of bounded L1 sensitivity.

    The output is f(x) plus independent noise of density exp(-|x|/scale) / (2 scale) on each
    coordinate, and `sensitivity` bounds |f(x) - f(x')| in the L1 norm over neighbouring x, x'.
    With epsilon = sensitivity / scale the mechanism is epsilon-DP, and the pair of one-dimensional
    laws P = Laplace(epsilon, 1), Q = Laplace(0, 1) dominates it in every direction. The privacy
    loss under P lies in [-epsilon, epsilon], with atoms P(L = epsilon) = 1/2 and
    P(L = -epsilon) = exp(-epsilon)/2.

    Attributes:
        epsilon: sensitivity / scale, that is 1 / noise_multiplier; the largest privacy loss.
    """

    def __init__(
        self,
        *,
        scale: float | None = None,
        epsilon: float | None = None,
        sensitivity: float = 1.0,
        noise_multiplier: float | None = None,
    ) -> None:
        """Take the noise as a scale, as sensitivity / scale, or as scale / sensitivity."""
        top = Enclosed.of(1.0 if noise_multiplier is not None else sensitivity)
        noise = Enclosed.of(given(scale, epsilon, noise_multiplier))
        self.epsilon = _checked(noise if epsilon is not None else top / noise)
        # Of a sensitivity of 1.
        self._rate = self.epsilon / top

    def on_data(self, file: str, adjacency: Adjacency) -> list[tuple[Term, int]]:
        """Return uses with the local sensitivities of a file in the place of the sensitivity."""
        del adjacency
        from privcalc.losses.atoms import nothing
        from privcalc.losses.laplace import LaplaceLaw
        from privcalc.losses.law import Term
        from privcalc.mechanisms.files import numbers

        found = []
        for place, values in numbers(file):
            if len(values) > 1 or values[0] < 0:
                raise DomainError(f"{place}: expected one local sensitivity, at least 0")
            (value,) = values
            if value == 0:
                found.append((Term.of(nothing()), 1))
                continue
            rate = _checked(self._rate * value)
            found.append((Term.of(LaplaceLaw(*rate.nearest())), 1))
        return found

    def grouped(self, records: int) -> Laplace:
        """Return the mechanism for a group of records: its sensitivity adds up."""
        return self.changed(epsilon=_checked(self.epsilon * records))

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction."""
        from privcalc.losses.laplace import LaplaceLaw

        return LaplaceLaw(*self.epsilon.nearest())


# The smallest double.
SMALLEST = 5e-324


def _checked(epsilon: Enclosed) -> Enclosed:
    # Beyond 700 the probabilities of the pair underflow.
    return within("sensitivity / scale", epsilon, SMALLEST, 700.0)


# Outside, delta is no normal double, or is as good as 0.
SMALLEST_LOSS, LONGEST = 1e-30, 600
# Of the difference of bound and sensitivity, where they have more digits than are known.
WORST_ERROR = 1e-9


@mechanism(
    name="truncated_laplace",
    place=25,
    parameters=(
        # A larger scale lowers the largest loss, and raises delta.
        positive("scale", unit=QUERY),
        # The profile (g + (a - 1) h / 2) / (1 - h), h = exp(-bound/scale), grows with h.
        positive("bound", "decreases", unit=QUERY),
        sensitivity(),
    ),
    example="truncated-laplace:scale=2,bound=40@10",
)
class TruncatedLaplace(Noise):
    """Laplace noise conditioned on an interval, added to a query with one real value.

    The noise has density proportional to exp(-|x|/scale) on [-bound, bound], and `sensitivity`
    bounds |f(x) - f(x')| over neighbouring x, x', whatever the relation in force. With epsilon =
    sensitivity / scale one use is (epsilon, delta)-DP for

        delta = (exp(epsilon) - 1) / (2 (exp(bound/scale) - 1)),

    and for no smaller one: bound = scale log(1 + (exp(epsilon) - 1) / (2 delta)) is that of Geng,
    Ding, Guo, Kumar (2020).

    The pair P = law of the noise, Q = the same moved by the sensitivity dominates in every
    direction: the density is log-concave, so that the loss falls with the output, the best tests
    are half-lines, and the trade-off function F(F^-1(1 - a) - s), F the distribution function,
    falls with the move s (Dong, Roth, Su 2022, Proposition A.3). The density is symmetric: each
    direction has the same law.

    Attributes:
        step: sensitivity / scale, the largest finite loss.
        reach: bound / scale.
    """

    def __init__(self, *, scale: float, bound: float, sensitivity: float = 1.0) -> None:
        """Take the noise and what it hides."""
        unit = Enclosed.of(scale)
        self.step, self.reach = Enclosed.of(sensitivity) / unit, Enclosed.of(bound) / unit
        if self.step.low < SMALLEST_LOSS or self.reach.high > LONGEST:
            raise DomainError(
                f"sensitivity / scale must be at least {SMALLEST_LOSS:g}, and bound / scale at most"
                f" {LONGEST}: beyond, `laplace` without a bound is as good"
            )
        if not self._holds(self.step):
            raise DomainError(f"bound must be more than sensitivity, got {bound!r}")

    def grouped(self, records: int) -> TruncatedLaplace | None:
        """Return the mechanism for a group of records, unless they may leave the interval."""
        step = self.step * records
        return self.changed(step=step) if self._holds(step) else None

    def law(self) -> LossLaw:
        """Return the privacy-loss law, the same in each direction."""
        from privcalc.losses.laplace import LaplaceLaw, TruncatedLaplaceLaw

        room, error, _ = self._room(self.step).nearest()
        return TruncatedLaplaceLaw(LaplaceLaw(*self.step.nearest()), room, error)

    def _room(self, step: Enclosed) -> Enclosed:
        """Return what the interval has beyond a step."""
        return Enclosed(self.reach.low - step.high, self.reach.high - step.low)

    def _holds(self, step: Enclosed) -> bool:
        """Say whether a step stays in the interval, by more than is not known of it."""
        room = self._room(step)
        return room.low > 0 and room.nearest()[1] < WORST_ERROR


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
        Parameter("epsilon", minimum=SMALLEST_EPSILON, maximum=LARGEST_EPSILON, cost="increases"),
        share("gamma", default_text="1/(1+e^(eps/2))"),
        positive("sensitivity", default=1.0, unit=QUERY),
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

    which increases in m; outside it is 0 or 1 - a. And m increases in s: m (1 - b) = H_1(P || Q) is
    P(X <= s/2) - P(X <= -s/2), as f is symmetric and falls away from 0. At s = D this gives

        m = P(|X| <= D/2) / (1 - b) = 1/2 + (1 - b) min(gamma, 1 - gamma) / (2 d),
        1 - m - b m = (1 - b) (b (1 - 2 gamma) or, for gamma > 1/2, 2 gamma - 1) / (2 d),

    d = gamma + b (1 - gamma). At gamma = 1/2 this is the pair of `pure`.
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
            epsilon = decimal_of(number)
            b = (-epsilon).exp()
            gamma = 1 / (1 + (epsilon / 2).exp()) if self.gamma is None else decimal_of(self.gamma)
            d = gamma + b * (1 - gamma)
            up = (1 + (1 - b) * min(gamma, 1 - gamma) / d) / 2
            flat = b * (1 - 2 * gamma) if 2 * gamma <= 1 else 2 * gamma - 1
            return float(up), float(b * up), float((1 - b) * flat / (2 * d))
