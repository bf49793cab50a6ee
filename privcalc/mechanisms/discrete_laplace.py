"""The discrete Laplace mechanism."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.exact import doubles, exact
from privcalc.mechanisms.base import Mechanism, given
from privcalc.spec.declare import QUERY, positive, whole
from privcalc.spec.registry import mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw


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
        positive(
            "scale",
            "scale b of the noise, whose probabilities are proportional to exp(-|x|/b)",
            "decreases",
            unit=QUERY,
        ),
        positive("epsilon", "largest privacy loss: sensitivity divided by scale", "increases"),
        # One more step of the chain of neighbours. With epsilon written, the noise grows with
        # it.
        whole(
            "sensitivity",
            "most that the query changes between neighbours, in the L1 norm",
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
class DiscreteLaplace(Mechanism):
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

    # One record may move the output up by the sensitivity, and another down by as much.
    opposite_records: ClassVar[bool] = True

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
        a = (Decimal(-step.numerator) / Decimal(step.denominator)).exp()
        powers = [1 / (1 + a)]
        for _ in range(size):
            powers.append(powers[-1] * a)
        inner = [(1 - a) * power for power in powers[1:-1]]
        return tuple(map(float, (powers[0], *inner, powers[-1])))
