"""Bound: a certified bracket, and everything that is decided about it (once, here)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import Enum

from privcalc.errors import DisagreementError

MAX_DIGITS = 10
MIN_DIGITS = 3


class Verdict(Enum):
    """Outcome of a budget check. Only WITHIN passes."""

    WITHIN = "within"
    EXCEEDED = "exceeded"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Bound:
    """The number asked for lies in [lower, upper]; with `lower` None only the upper end is proved.

    Both ends are doubles at which the certificate itself was evaluated, so no further rounding
    is owed to either; decimal forms are rounded outward.
    """

    upper: float
    lower: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no certificate can have produced."""
        lower = -math.inf if self.lower is None else self.lower
        if math.isnan(self.upper) or math.isnan(lower) or lower > self.upper:
            raise AssertionError(f"not a bracket: [{self.lower}, {self.upper}]")

    @property
    def width(self) -> float:
        """Absolute width; 0 for equal ends (infinite ones too), infinity if one is unknown."""
        if self.lower is None:
            return math.inf
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def within_tolerance(self, relative: float, floor: float) -> bool:
        """Say whether the bracket is as narrow as was wished."""
        return self.width <= max(relative * abs(self.upper), floor)

    def verdict(self, budget: float) -> Verdict:
        """Compare with a budget: the certified upper end must fit for the check to pass."""
        if self.upper <= budget:
            return Verdict.WITHIN
        if self.lower is not None and self.lower > budget:
            return Verdict.EXCEEDED
        return Verdict.UNDECIDED

    def maximum(self, other: Bound) -> Bound:
        """Bracket the larger of two numbers, each known by a bracket."""
        lowers = [b.lower for b in (self, other) if b.lower is not None]
        return Bound(max(self.upper, other.upper), max(lowers) if lowers else None)

    @property
    def words(self) -> str:
        """Both ends with all digits, for messages."""
        if self.lower is None:
            return f"at most {self.upper!r}"
        return f"[{self.lower!r}, {self.upper!r}]"

    def intersection(self, other: Bound) -> Bound:
        """Return the narrower bracket of one number that is known by two.

        Raises:
            DisagreementError: they do not meet, so at least one is wrong.
        """
        lowers = [b.lower for b in (self, other) if b.lower is not None]
        upper, lower = min(self.upper, other.upper), max(lowers) if lowers else None
        if lower is not None and lower > upper:
            raise DisagreementError(
                f"two certified brackets do not meet: {self.words} and {other.words}"
            )
        return Bound(upper, lower)

    def decimals(self) -> tuple[str, str]:
        """Return (lower, upper) as text: just enough digits to tell them apart, at most 10.

        The upper end is rounded up and the lower end down, so the printed bracket contains the
        certified one. A missing lower end is the empty string.
        """
        if self.lower is None:
            return "", round_up(self.upper)
        digits = MAX_DIGITS
        if math.isfinite(self.upper) and self.width > 0:
            digits = Decimal(self.upper).adjusted() - Decimal(self.width).adjusted() + 2
            digits = min(max(digits, MIN_DIGITS), MAX_DIGITS)
        return round_down(self.lower, digits), round_up(self.upper, digits)


def round_up(value: float, digits: int = MAX_DIGITS) -> str:
    """Return the least decimal of so many significant digits that is >= value."""
    return _rounded(value, digits, ROUND_CEILING)


def round_down(value: float, digits: int = MAX_DIGITS) -> str:
    """Return the greatest decimal of so many significant digits that is <= value."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, rounding: str) -> str:
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    decimal = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
    if decimal == 0:
        return "0"
    # Trailing zeros that rounding made stay (they say how precise); those of an exact value go.
    if decimal == Decimal(value):
        decimal = decimal.normalize()
    exponent = decimal.adjusted()
    return f"{decimal:f}" if -5 <= exponent < 12 else f"{decimal:e}".replace("e+", "e")
