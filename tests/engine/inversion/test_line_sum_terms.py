"""Each error term of one line by itself, so large that the bracket would be false without it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from privcalc.engine.inversion.line_sum import Line, LineSum, added, log_payoff_supremum
from tests.truths import normal_delta

if TYPE_CHECKING:
    from privcalc.numerics.rounding import ComplexArray


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def gaussian(z: ComplexArray) -> ComplexArray:
    """Return K of Gaussian noise of mu = 1."""
    return 0.5 * z * (z + 1.0)


def nothing(z: ComplexArray) -> ComplexArray:
    """Return K of a loss that is 0."""
    return 0.0 * z


def summed(cumulant: Any, line: Line, *, error: float = 0.0, sign: float = 0.0) -> Any:
    """Sum a line whose nodes are off by an error, as it says they may be.

    Args:
        cumulant: K.
        line: where.
        error: of each node.
        sign: of what the sum is off by; all errors add up.
    """
    t = line.step * np.arange(line.nodes + 1)
    z = line.c + 1j * t
    near = cumulant(z)
    turned = np.exp(1j * (near - near[0] - 1j * t * line.epsilon).imag)
    size = np.exp((near - near[0]).real)
    rest = 1.0 + sign * error / size * z * (z + 1.0) / np.abs(z * (z + 1.0)) / turned
    source = LineSum(line, (near, np.zeros(len(t))), (rest, error / size))
    return source.deltas(np.array([line.epsilon]), 0.0)


EPSILON = 1.0
LINE = Line(1.0, 0.125, 64, (3.0, 6.0), EPSILON, -29.0)
TRUTH = float(normal_delta(1, EPSILON))


def test_the_line_itself() -> None:
    """Without such errors there are ten digits."""
    found = summed(gaussian, LINE)
    assert found.lower[0] <= TRUTH <= found.upper[0]
    assert found.upper[0] - found.lower[0] < 1e-10


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_errors_of_nodes(sign: float) -> None:
    """All of them may add up."""
    found = summed(gaussian, LINE, error=1e-3, sign=sign)
    assert abs(found.value[0] - TRUTH) > 1e-5
    assert found.lower[0] <= TRUTH <= found.upper[0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_errors_of_cumulants(sign: float) -> None:
    """What a quadrature is off by is an error of every node."""
    t = 0.125 * np.arange(65)
    values = gaussian(LINE.c + 1j * t) + sign * 1e-3
    source = LineSum(LINE, (values, np.full(65, 1e-3)))
    found = source.deltas(np.array([EPSILON]), 0.0)
    assert abs(found.value[0] / TRUTH - 1.0) > 5e-4
    assert found.lower[0] <= TRUTH <= found.upper[0]


def test_errors_of_many_uses() -> None:
    """A law that is used seven times is seven times off."""
    total = np.array([1.0 + 2.0j]), np.array([0.25])
    value, error = added(total, 7, (np.array([0.5 - 1.0j]), np.array([0.125])), 2)
    assert value[0] == 4.5 - 5.0j
    assert 0.25 + 7 * 0.125 < error[0] < 0.25 + 7 * 0.125 + 1e-12


def test_aliases_on_the_left() -> None:
    """Those of smaller epsilons, where nearly all of the mass counts, are by themselves."""
    step, c = math.pi / 1.5, 0.25
    found = summed(nothing, Line(c, step, 7, (20.0, 0.0), 0.0, 0.0))
    left = sum(-math.expm1(-3.0 * j) * math.exp(-3.0 * j * c) for j in range(1, 200))
    assert left <= float(found.terms["aliasing"][0]) <= 1.1 * left


def test_aliases_on_the_right() -> None:
    """Those of larger epsilons weigh e^{cx}: of a loss of 6, delta at 3 and no other one."""
    found = summed(lambda z: 6.0 * z, Line(1.0, math.pi / 1.5, 7, (1.5, 9.0), 0.0, 6.0))
    assert -math.expm1(-3.0) * math.exp(3.0) <= float(found.terms["aliasing"][0])


@pytest.mark.parametrize("c", [0.01, 0.5, 1.0, 7.0, 300.0])
def test_the_largest_payoff(c: float) -> None:
    """Chernoff's bound on the right is that of the payoff, and no less at any loss."""
    x = np.linspace(0.0, 5.0 / min(c, 1.0), 400_001)
    largest = float((-np.expm1(-x) * np.exp(-c * x)).max())
    assert largest <= math.exp(log_payoff_supremum(c)) * (1.0 + 1e-12) <= largest * (1.0 + 1e-4)
