"""epsilon(spec, delta) and delta(spec, epsilon) to 30 digits, by the most direct means there is.

Gaussians alone, and one use of a sampled Gaussian: closed forms. Finitely many outcomes: all of
them. One kind of Laplace alone: residues. Everything else: the inverse Laplace integral.
All parameters, epsilons and deltas are taken as the doubles they are, never as decimals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpmath import mp

from tests.oracles.contour import DIGITS, solve
from tests.oracles.exact import (
    gaussian_delta,
    laplace_delta,
    one_sampled_gaussian_delta,
)
from tests.oracles.laws import discrete_atoms
from tests.truths.brute import BruteForce

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.oracles.laws import Direction, Leaf, Number

LONGEST_LAPLACE = 1000  # more uses than this are smooth enough for the integral


@dataclass(frozen=True)
class Value:
    """One number, how it was got, and the digits to which two runs of that agree."""

    number: Number
    method: str
    digits: float


def _inverse(function: Callable[[Number], Number], target: Number, near: Number) -> Number:
    """Solve function(x) = target >= 0 for x >= 0, function decreasing; its logarithm is smooth.

    Illinois, a safe secant method, from scratch; plain secants from a close start `near`.
    """
    tiny = mp.mpf(10) ** -1000
    aim = mp.log(target)

    def excess(x: Number) -> Number:
        return mp.log(max(function(x), tiny)) - aim

    if near:
        last, here = near * (1 + mp.mpf(10) ** -15), near
        at_last = excess(last)
        for _ in range(20):
            at_here = excess(here)
            step = at_here * (here - last) / (at_here - at_last)
            last, at_last, here = here, at_here, here - step
            if abs(step) < here * mp.mpf(10) ** -(mp.dps - 30):
                return here
        raise ArithmeticError("the secants do not settle")
    low, high = mp.zero, mp.mpf(1) / 16
    at_low = excess(low)
    if at_low <= 0:
        return low
    at_high = excess(high)
    while at_high > 0:
        low, at_low, high = high, at_high, 2 * high
        at_high = excess(high)
    side = 0
    for step in range(400):
        middle = (
            (low + high) / 2
            if step % 7 == 6
            else high - at_high * (high - low) / (at_high - at_low)
        )
        here = excess(middle)
        if abs(high - low) < high * mp.mpf(10) ** -(mp.dps - 5) or here == 0:
            return middle
        if here > 0:
            low, at_low = middle, here
            at_high = at_high / 2 if side > 0 else at_high
            side = 1
        else:
            high, at_high = middle, here
            at_low = at_low / 2 if side < 0 else at_low
            side = -1
        if abs(here) < mp.mpf(10) ** -(mp.dps - 12):
            return middle
    raise ArithmeticError("no root")


def is_symmetric(leaves: Sequence[Leaf]) -> bool:
    """Tell whether both directions have the same law: no leaf is sampled."""
    return all(leaf.get("q", 1) == 1 for leaf in leaves)


def _exact(leaves: Sequence[Leaf], direction: Direction) -> tuple[str, BruteForce | None] | None:
    """Name the direct method that applies, if one does; an enumeration is made at once."""
    kinds = {leaf["mechanism"] for leaf in leaves}
    first = leaves[0]
    if kinds == {"gaussian"} and is_symmetric(leaves):
        return "closed form", None
    if kinds == {"gaussian"} and len(leaves) == 1 and first["count"] == 1:
        return "closed form", None
    if kinds == {"laplace"} and len(leaves) == 1 and is_symmetric(leaves):
        return ("residues", None) if first["count"] <= LONGEST_LAPLACE else None
    if not kinds <= {"rr", "pure", "approx"}:
        return None
    parts = []
    for leaf in leaves:
        atoms, infinity_mass = discrete_atoms(leaf, direction) or ([], mp.zero)
        pair = [(p, p * mp.exp(-loss)) for loss, p in atoms]
        parts.append(([*pair, (infinity_mass, mp.zero)], leaf["count"]))
    return "enumeration", BruteForce(parts)


def _exact_delta(leaves: Sequence[Leaf], direction: Direction, epsilon: Number) -> Number:
    first = leaves[0]
    if first["mechanism"] == "laplace":
        return laplace_delta(mp.mpf(first["scale"]), first["count"], epsilon)
    if is_symmetric(leaves):
        precision = mp.fsum(leaf["count"] / mp.mpf(leaf["sigma"]) ** 2 for leaf in leaves)
        return gaussian_delta(precision, epsilon)
    return one_sampled_gaussian_delta(first, direction, epsilon)


def _direct(
    leaves: Sequence[Leaf],
    direction: Direction,
    delta: float | None,
    epsilon: float | None,
    near: Number,
) -> tuple[Number, str] | None:
    exact = _exact(leaves, direction)
    if exact is None:
        return None
    method, outcomes = exact
    if outcomes is not None:
        if delta is not None:
            return outcomes.epsilon(mp.mpf(delta)), method
        return outcomes.delta(mp.mpf(epsilon)), method
    if delta is None:
        return _exact_delta(leaves, direction, mp.mpf(epsilon)), method
    return _inverse(lambda e: _exact_delta(leaves, direction, e), mp.mpf(delta), near), method


def value(
    leaves: Sequence[Leaf],
    direction: Direction,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    digits: int = DIGITS,
) -> Value:
    """Give epsilon at delta, or delta at epsilon, in one direction."""
    with mp.workdps(70):
        found = _direct(leaves, direction, delta, epsilon, None)
    if found is None:
        number, agreed = solve(leaves, direction, delta=delta, epsilon=epsilon, digits=digits)
        return Value(number, "contour", agreed)
    with mp.workdps(100):
        again = _direct(leaves, direction, delta, epsilon, found[0])
        number, method = again or found
        if mp.isinf(number) or number == 0:
            return Value(number, method, 60.0 if number == found[0] else 0.0)
        gap = abs(number - found[0]) / number
        return Value(number, method, float(min(60, -mp.log10(gap + mp.mpf(10) ** -60))))


def epsilon(spec: Sequence[Leaf], delta: float, *, digits: int = DIGITS) -> Number:
    """Give the least epsilon >= 0 with delta(epsilon) <= delta, under add-or-remove-one."""
    return max(value(spec, one, delta=delta, digits=digits).number for one in _directions(spec))


def _directions(spec: Sequence[Leaf]) -> tuple[Direction, ...]:
    return ("remove",) if is_symmetric(spec) else ("remove", "add")
