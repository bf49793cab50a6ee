"""Compositions of small discrete mechanisms by writing out all their outcomes.

A mechanism is a list of pairs (p, q): the probabilities of each outcome under the two neighbours.
Zeros are allowed on either side. Numbers are Fractions or mpf, at the caller's choice; a Fraction
is converted once, at the working precision. The outcomes of a composition are all combinations of
outcomes; those whose likelihood ratios agree to 10^-MERGED are gathered, which changes no sum by
more than that. delta(epsilon) is the sum of the positive parts of P - e^epsilon Q, and epsilon
comes from it by bisection. Nothing else is used: no privacy loss, no transform, no tilting.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mpmath import mp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Number = Any  # mpf; mpmath has no annotations
Pair = list[tuple[Any, Any]]
DIGITS = 80
MERGED = 60


class TooManyOutcomesError(Exception):
    """The composition has more outcomes than the caller wants to wait for."""


class BruteForce:
    """All outcomes of a composition, by decreasing likelihood ratio."""

    def __init__(self, parts: Iterable[tuple[Pair, int]], *, most: int = 200_000) -> None:
        """Write out every combination of outcomes of the parts, each used so many times.

        Raises:
            TooManyOutcomesError: more than `most` distinct outcomes would have to be looked at.
        """
        with mp.workdps(DIGITS):
            whole: list[tuple[Number, Number]] = [(mp.one, mp.one)]
            for pair, count in parts:
                whole = _product(whole, _power(_gathered(_numbers(pair)), count, most), most)
            self.outcomes = sorted(whole, key=_ratio, reverse=True)
            self._upper, self._lower = [mp.zero], [mp.zero]
            for p, q in self.outcomes:
                self._upper.append(self._upper[-1] + p)
                self._lower.append(self._lower[-1] + q)
            # Increasing, for bisection.
            self._ratios = [-_ratio(outcome) for outcome in self.outcomes]

    def delta(self, epsilon: Any) -> Number:
        """Add up P - e^epsilon Q over the outcomes where that is positive."""
        with mp.workdps(DIGITS):
            scale = mp.exp(mp.mpf(epsilon))
            reach = bisect_left(self._ratios, -scale)
            return self._upper[reach] - scale * self._lower[reach]

    def epsilon(self, delta: Any) -> Number:
        """Return the least epsilon >= 0 with delta(epsilon) <= delta, to 40 digits; or infinity."""
        with mp.workdps(DIGITS):
            target = mp.mpf(delta)
            infinity = mp.fsum(p for p, q in self.outcomes if q == 0)
            if infinity > target:
                return mp.inf
            if self.delta(0) <= target:
                return mp.zero
            low, high = mp.zero, mp.one
            while self.delta(high) > target:
                low, high = high, 2 * high
            while high - low > high * mp.mpf(10) ** -40:
                middle = (low + high) / 2
                low, high = (middle, high) if self.delta(middle) > target else (low, middle)
            return high


def _numbers(pair: Pair) -> list[tuple[Number, Number]]:
    return [(_number(p), _number(q)) for p, q in pair if p or q]


def _number(value: Any) -> Number:
    if isinstance(value, Fraction):
        return mp.mpf(value.numerator) / value.denominator
    return mp.mpf(value)


def _ratio(outcome: tuple[Number, Number]) -> Number:
    return outcome[0] / outcome[1] if outcome[1] else mp.inf


def _gathered(outcomes: Sequence[tuple[Number, Number]]) -> list[tuple[Number, Number]]:
    """Put outcomes with the same likelihood ratio together: one test treats them alike."""
    found: list[tuple[Number, Number]] = []
    close = 1 + mp.mpf(10) ** -MERGED
    last = None
    for p, q in sorted(outcomes, key=_ratio):
        ratio = _ratio((p, q))
        if last is not None and (ratio == last or ratio <= last * close):
            found[-1] = found[-1][0] + p, found[-1][1] + q
        else:
            found.append((p, q))
            last = ratio
    return found


def _product(
    one: list[tuple[Number, Number]], other: list[tuple[Number, Number]], most: int
) -> list[tuple[Number, Number]]:
    if len(one) * len(other) > most:
        raise TooManyOutcomesError(f"{len(one)} by {len(other)} outcomes")
    products = ((a * p, b * q) for a, b in one for p, q in other)
    return _gathered([(p, q) for p, q in products if p or q])


def _power(base: list[tuple[Number, Number]], count: int, most: int) -> list[tuple[Number, Number]]:
    """Use the base `count` times, by repeated squaring."""
    found = None
    while True:
        if count % 2:
            found = base if found is None else _product(found, base, most)
        count //= 2
        if not count:
            return found or [(mp.one, mp.one)]
        base = _product(base, base, most)
