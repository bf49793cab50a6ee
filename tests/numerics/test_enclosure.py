"""Enclosures hold what exact arithmetic makes of all that their operands hold."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc.numerics import enclosure
from privcalc.numerics.enclosure import Enclosure

if TYPE_CHECKING:
    from collections.abc import Callable

DIGITS = 60
# Of each operation: on enclosures, on numbers of 60 digits, and the range of the values.
Operation = tuple["Callable[..., Enclosure]", "Callable[..., mpf]", float, float]
OPERATIONS: dict[str, Operation] = {
    "add": (lambda x, y: x + y, lambda x, y: x + y, -math.inf, math.inf),
    "subtract": (lambda x, y: x - y, lambda x, y: x - y, -math.inf, math.inf),
    "multiply": (lambda x, y: x * y, lambda x, y: x * y, -math.inf, math.inf),
    "divide": (lambda x, y: x / y, lambda x, y: x / y, -math.inf, math.inf),
    "exp": (enclosure.exp, mp.exp, -800.0, 709.0),
    "expm1": (enclosure.expm1, mp.expm1, -800.0, 709.0),
    "log": (enclosure.log, mp.log, 0.0, math.inf),
    "log1p": (enclosure.log1p, mp.log1p, -1.0, math.inf),
    "logaddexp": (
        enclosure.logaddexp,
        lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))),
        -1e6,
        1e6,
    ),
    "maximum": (enclosure.maximum, max, -math.inf, math.inf),
    "negate": (lambda x: -x, lambda x: -x, -math.inf, math.inf),
}
BINARY = {"add", "subtract", "multiply", "divide", "logaddexp", "maximum"}


@st.composite
def _operand(draw: Any, low: float, high: float) -> tuple[float, float]:
    """Draw a value in a range, and an error that leaves it there."""
    size = math.ldexp(draw(st.floats(0.5, 1.0)), draw(st.integers(-1060, 1000)))
    value = draw(st.sampled_from((-size, size)))
    if draw(st.booleans()):
        value = draw(st.floats(-40.0, 40.0))
    value = min(max(value, low), high)
    value = abs(value) + 1e-300 if low == 0.0 else value
    error = abs(value) * 10.0 ** draw(st.floats(-20.0, 1.0)) * draw(st.sampled_from((0.0, 1.0)))
    room = min(value - low, high - value)
    return value, min(error, 0.75 * room if room < math.inf else error)


def _cases(draw: Any, name: str) -> list[tuple[float, float]]:
    low, high = OPERATIONS[name][2:]
    return [draw(_operand(low, high)) for _ in range(2 if name in BINARY else 1)]


def _misses(name: str, operands: list[tuple[float, float]], *, forget: bool = False) -> bool:
    """Say whether a truth lies outside; `forget` the errors of the operands, or not."""
    operation, exact, _, _ = OPERATIONS[name]
    given = [Enclosure(value, 0.0 if forget else error) for value, error in operands]
    with np.errstate(all="ignore"), mp.workdps(DIGITS):
        found = operation(*given)
        low, high = mpf(float(found.lower())), mpf(float(found.upper()))
        for sides in np.ndindex(*[3] * len(operands)):
            at = [mpf(v) + (k - 1) * mpf(e) for (v, e), k in zip(operands, sides, strict=True)]
            if name == "divide" and at[1] == 0:
                continue
            if not low <= exact(*at) <= high:
                return True
    return False


@pytest.mark.dear("multiply]")
@pytest.mark.few(3)
@given(st.data())
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_ends_hold_the_truth(name: str, data: st.DataObject) -> None:
    """At the ends and the middle of every operand, at any size."""
    assert not _misses(name, _cases(data.draw, name))


def test_a_quotient_of_next_to_nothing() -> None:
    """An error of the divisor counts where its product with the quotient underflows."""
    assert not _misses("divide", [(-8.095e-320, 0.0), (-(2.0**-54), 0.1 * 2.0**-54)])


def _sample(name: str) -> list[list[tuple[float, float]]]:
    """Return plain operands, with errors in the second half."""
    generator = random.Random(name)
    low, high = OPERATIONS[name][2:]
    sample = []
    for place in range(200):
        values = [generator.uniform(max(low, -5.0) + 0.05, min(high, 5.0)) for _ in range(2)]
        share = 0.0 if place < 100 else 10.0 ** generator.uniform(-14.0, -2.0)
        count = 2 if name in BINARY else 1
        sample.append([(v, abs(v) * share) for v in values[:count]])
    return sample


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_errors_are_small(name: str) -> None:
    """Of exact operands no more than the units that the text says, and one for the end."""
    for operands in _sample(name)[:100]:
        found = OPERATIONS[name][0](*[Enclosure(value) for value, _ in operands])
        size = abs(float(found.value)) + (name == "logaddexp")
        assert float(found.upper() - found.lower()) <= 2.0**-53 * 40.0 * size


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), st.floats(0.0, 1e-3))
def test_sums(values: list[float], error: float) -> None:
    """Sums of many terms, at both ends of all of them."""
    found = Enclosure(np.array(values), error).sum()
    for sign in (-1, 0, 1):
        truth = sum(Fraction(value) + sign * Fraction(error) for value in values)
        assert Fraction(float(found.lower())) <= truth <= Fraction(float(found.upper()))


def test_sums_round() -> None:
    """A sum whose terms are lost one by one is off by what is charged."""
    values = np.append(1.0, np.full(7, 2.0**-53))
    found = Enclosure(values).sum()
    truth = Fraction(1) + 7 * Fraction(1, 2**53)
    assert Fraction(float(found.lower())) <= truth <= Fraction(float(found.upper()))
    assert found.error >= 8 * 2.0**-53


@pytest.mark.parametrize("units", [1.0, 8.0, 100.0])
def test_known_to_some_units(units: float) -> None:
    """`within` holds the numbers that are so many units off."""
    value = 1.0 / 3.0
    found = Enclosure.within(value, units)
    gap = Fraction(units) * Fraction(value) / 2**53
    assert Fraction(float(found.lower())) <= Fraction(value) - gap
    assert Fraction(float(found.upper())) >= Fraction(value) + gap


def test_what_is_not_known() -> None:
    """Where nothing is proved the ends are infinite, and neither end is ever not a number."""
    with np.errstate(all="ignore"):
        unknown = [
            Enclosure(1.0) / Enclosure(1.0, 0.6),
            enclosure.log(Enclosure(1.0, 0.6)),
            enclosure.log1p(Enclosure(-0.5, 0.3)),
            enclosure.log(-1.0),
            Enclosure(math.inf) - math.inf,
            Enclosure(0.0) * math.inf,
            Enclosure(0.0) / 0.0,
        ]
    for found in unknown:
        assert (float(found.lower()), float(found.upper())) == (-math.inf, math.inf)


def test_choices_and_arrays() -> None:
    """Arrays work element by element, on both sides of an operator; `where` takes its branch."""
    x = Enclosure(np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    found = 1.0 - np.array([2.0, 4.0]) / x
    assert np.array_equal(found.value, [-1.0, -1.0])
    first, second = np.asarray(found.error)
    assert first > 1.9
    assert second < 1e-14
    chosen = enclosure.where(np.array([True, False]), x, 7.0)
    assert np.array_equal(chosen.value, [1.0, 7.0])
    assert np.array_equal(chosen.error, [0.5, 0.0])
