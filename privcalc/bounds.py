"""Bound: a certified bracket, and everything that is decided about it (once, here); its Proof."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import Enum
from fractions import Fraction
from itertools import accumulate
from numbers import Rational, Real
from typing import TYPE_CHECKING, NoReturn, Self

from privcalc.errors import DisagreementError, DomainError, UsageError
from privcalc.exact import Enclosed, Written, decimal_above, decimal_below, exact
from privcalc.record import field, record

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_DIGITS = 10
MIN_DIGITS = 3
# The relative width that is aimed at; what costs next to nothing is made narrower (`planner.py`).
TOLERANCE = 1e-6


class Proof(Enum):
    """What proves a bracket: words for people, and the engine, by which `--engine` asks for it."""

    CLOSED_FORM = "closed form", "closed-form"
    SINGLE_USE = "exact profile of a single use", "closed-form"
    GAME = "game of fixed-size batches", "closed-form"
    INVERSION = "characteristic-function inversion", "contour"
    TAIL_SPLIT = "inversion split at a large loss", "contour"
    LATTICE = "lattice FFT", "fft"
    RENYI = "Renyi divergence", "rdp"
    QUADRATURE = "quadrature without certificate", "afa"

    def __init__(self, words: str, engine: str) -> None:
        """Take what both columns say."""
        self.words, self.engine = words, engine


class Verdict(Enum):
    """Outcome of a budget check, of which only WITHIN passes, or of an audit.

    >>> import privcalc
    >>> privcalc.compose("pure:epsilon=0.1@3", delta=0).epsilon.verdict(0.3)
    <Verdict.WITHIN: 'within'>
    """

    WITHIN = "within"
    EXCEEDED = "exceeded"
    UNDECIDED = "undecided"
    REFUTED = "refuted"
    COMPATIBLE = "compatible"

    @property
    def passes(self) -> bool:
        """Whether a check with this outcome passes."""
        return self in (Verdict.WITHIN, Verdict.COMPATIBLE)


@record
class Bound:
    """The number asked for lies in [lower, upper]; with `lower` None only the upper end is proved.

    Both ends are doubles at which the certificate itself was evaluated, so no further rounding
    is owed to either; decimal forms are rounded outward. Where the number is known as a rational,
    the ends are the doubles next to it that print as decimals on the right side of it, and what is
    decided is decided on the number: 0.1 used three times is 0.3, which is no double.

        >>> from privcalc import Bound
        >>> epsilon = Bound(upper=1.25, lower=1.0)
        >>> epsilon.width, epsilon.verdict(1.1).value, Bound(1.25).lower
        (0.25, 'undecided', None)
    """

    upper: float
    lower: float | None = None
    exact: Fraction | None = field(default=None, compare=False)

    @classmethod
    def of(cls, number: Fraction) -> Self:
        """Return the bracket of a number >= 0."""
        return cls(decimal_above(number), decimal_below(number), number)

    @classmethod
    def joined(cls, upper: Bound, lower: Bound | None) -> Bound:
        """Return the upper end of one bracket with the lower end of another, if there is one."""
        if lower is not None and upper.exact is not None and upper.exact == lower.exact:
            return upper
        return Bound(upper.outward[1], None if lower is None else lower.outward[0])

    @classmethod
    def probability(cls, upper: float, lower: float) -> Self:
        """Return the bracket of a probability: what lies outside [0, 1] is cut off."""
        upper = min(1.0, upper)
        return cls(upper, min(max(0.0, lower), upper))

    def plus(self, mass: Bound) -> Bound:
        """Bracket the sum of two probabilities; a missing end is 0, unless nothing is added."""
        if mass.upper == 0.0:
            return self
        upper = math.nextafter(self.upper + mass.upper, math.inf)
        lower = math.nextafter((self.lower or 0.0) + (mass.lower or 0.0), -math.inf)
        return Bound.probability(upper, lower)

    @property
    def outward(self) -> tuple[float | None, float]:
        """The ends as doubles that enclose the number, and not as the decimals they print as."""
        if self.exact is None:
            return self.lower, self.upper
        return Enclosed(self.exact, self.exact).doubles()

    @property
    def printed(self) -> tuple[float | None, float]:
        """The ends as doubles that enclose the number as what they are read as."""
        if self.exact is not None:
            return self.lower, self.upper
        lower, upper = self.lower, self.upper
        # `repr` prints a decimal on either side of a double.
        if lower is not None and 0.0 < lower < math.inf:
            lower = decimal_below(Fraction(lower))
        return lower, decimal_above(Fraction(upper)) if 0.0 < upper < math.inf else upper

    def __post_init__(self) -> None:
        """Refuse what no certificate can have produced."""
        # Nothing is true of nan.
        if not (-math.inf if self.lower is None else self.lower) <= self.upper:
            raise AssertionError(f"not a bracket: [{self.lower}, {self.upper}]")

    @property
    def width(self) -> float:
        """Absolute width; 0 for equal ends (infinite ones too), infinity if one is unknown."""
        if self.lower is None:
            return math.inf
        if self.exact is not None or self.lower == self.upper:
            return 0.0
        return self.upper - self.lower

    def within_tolerance(self, relative: float, floor: float) -> bool:
        """Return whether the bracket is as narrow as was wished; one without upper end is not."""
        width = self.width
        return width < math.inf and width <= max(relative * abs(self.upper), floor)

    def verdict(self, budget: float) -> Verdict:
        """Compare with a written budget: the certified upper end must fit for a check to pass.

        A budget is the number that was written, with all its digits. An end that was printed is a
        budget that passes, as ends are rounded outward where they are printed.

        Raises:
            UsageError: the budget is no number.
            DomainError: it is not finite: everything would pass, or nothing could be compared.
        """
        number = _budget(budget)
        # Fractions compare with doubles, infinite ones too, as the numbers that these are.
        low, high = (self.lower, self.upper) if self.exact is None else (self.exact, self.exact)
        if high <= number:
            return Verdict.WITHIN
        if low is not None and low > number:
            return Verdict.EXCEEDED
        return Verdict.UNDECIDED

    def maximum(self, other: Bound) -> Bound:
        """Bracket the larger of two numbers, each known by a bracket."""
        for first, second in ((self, other), (other, self)):
            rest = second.upper if second.exact is None else second.exact
            if first.exact is not None and rest <= first.exact:
                return first
        ends = self.outward, other.outward
        lowers = [low for low, _ in ends if low is not None]
        return Bound(max(high for _, high in ends), max(lowers) if lowers else None)

    def _no_number(self, *_: object) -> NoReturn:
        raise TypeError(
            "a bracket is no number: take .upper, its certified end, or ask .verdict(3).value,"
            " whether a budget of 3 is kept"
        )

    if not TYPE_CHECKING:
        # Checkers of types refuse these as well.
        __lt__ = __le__ = __gt__ = __ge__ = __float__ = __round__ = _no_number

    def __format__(self, form: str) -> str:
        """Return the text of both ends; a form is one of numbers."""
        return self._no_number() if form else str(self)

    @property
    def words(self) -> str:
        """Both ends with all digits, for messages."""
        return (
            f"at most {self.upper!r}" if self.lower is None else f"[{self.lower!r}, {self.upper!r}]"
        )

    def intersection(self, other: Bound) -> Bound:
        """Return the narrower bracket of one number that is known by two.

        Raises:
            DisagreementError: they do not meet, so at least one is wrong.
        """
        ends = self.outward, other.outward
        lowers = [low for low, _ in ends if low is not None]
        upper, lower = min(high for _, high in ends), max(lowers) if lowers else None
        if lower is not None and lower > upper:
            raise DisagreementError(
                f"two certified brackets do not meet: {self.words} and {other.words}"
            )
        known = next((each for each in (self, other) if each.exact is not None), None)
        return known or Bound(upper, lower)

    def decimals(self) -> tuple[str, str]:
        """Return (lower, upper) as text: just enough digits to tell them apart, rounded outward.

        A missing lower end is the empty string.
        """
        if self.lower is None:
            return "", round_up(self.upper)
        digits = MAX_DIGITS
        if math.isfinite(self.upper) and self.width > 0:
            digits = Decimal(self.upper).adjusted() - Decimal(self.width).adjusted() + 2
            digits = min(max(digits, MIN_DIGITS), MAX_DIGITS)
        if self.exact is not None:
            return round_down(self.exact, digits), round_up(self.exact, digits)
        return round_down(self.lower, digits), round_up(self.upper, digits)


def falling(
    points: Sequence[Fraction | float], bounds: Sequence[Bound], *, clash: bool = False
) -> list[Bound]:
    """Return brackets of what does not rise with a point: delta with epsilon, epsilon with delta.

    An upper end at a point is one at all larger ones. A lower end is what a mechanism costs, which
    costs no less at smaller ones.

    Args:
        points: in any order.
        bounds: one for each.
        clash: whether ends may be about different pairs: a lower one above an upper one is dropped.

    Raises:
        DisagreementError: two ends contradict each other.
    """
    order = sorted(range(len(points)), key=points.__getitem__)
    ends = [bounds[i].outward for i in order]
    uppers = accumulate((high for _, high in ends), min)
    lowers = accumulate((-math.inf if low is None else low for low, _ in reversed(ends)), max)
    found = list(bounds)
    for i, high, low in zip(order, uppers, reversed([*lowers]), strict=True):
        if low > high and not clash:
            raise DisagreementError(
                f"brackets contradict each other: at most {high!r}, at least {low!r}"
            )
        if found[i].exact is None:
            found[i] = Bound(high, low if -math.inf < low <= high else None)
    return found


def _budget(given: float) -> Fraction:
    """Return the number that a budget stands for."""
    if isinstance(given, bool) or not isinstance(given, Real | Decimal):
        raise UsageError(f"a budget is a number, got {type(given).__name__}")
    if isinstance(given, Rational):
        return Fraction(given)
    if not (given.is_finite() if isinstance(given, Decimal) else math.isfinite(given)):
        raise DomainError(f"a budget must be finite, got {given}")
    if isinstance(given, Decimal):
        return Fraction(given)
    # What numpy has for a double prints in another way.
    return exact(given if isinstance(given, Written) else float(given))


def round_up(value: float | Fraction, digits: int = MAX_DIGITS) -> str:
    """Return the least decimal of so many significant digits that is >= value."""
    return _rounded(value, digits, ROUND_CEILING)


def round_down(value: float | Fraction, digits: int = MAX_DIGITS) -> str:
    """Return the greatest decimal of so many significant digits that is <= value."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float | Fraction, digits: int, rounding: str) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    number = Fraction(value)
    top, bottom = Decimal(number.numerator), Decimal(number.denominator)
    decimal = Context(prec=digits, rounding=rounding).divide(top, bottom)
    if decimal == 0:
        return "0"
    # Trailing zeros that rounding made stay (they say how precise); those of an exact value go.
    if Fraction(decimal) == number:
        decimal = decimal.normalize()
    exponent = decimal.adjusted()
    return f"{decimal:f}" if -5 <= exponent < 12 else f"{decimal:e}".replace("e+", "e")
