"""Each error term of one line by itself, so large that the bracket would be false without it."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from privcalc.engine.inversion.certificate import log_payoff_supremum
from privcalc.engine.inversion.decaying import _proved_decay
from privcalc.engine.inversion.line_sum import Blocks, Line, LineSum, OfLogs, added
from tests.oracles.exact import normal_delta

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.numerics.arrays import Array, ComplexArray

SIZE = 4


pytestmark = pytest.mark.usefixtures("quiet")


def gaussian(z: ComplexArray) -> ComplexArray:
    """Return K of Gaussian noise of mu = 1."""
    return 0.5 * z * (z + 1.0)


def nothing(z: ComplexArray) -> ComplexArray:
    """Return K of a loss that is 0."""
    return 0.0 * z


def summed(
    cumulant: Any,
    line: Line,
    blocks: Blocks,
    *,
    error: float = 0.0,
    sign: float = 0.0,
    log_error: float = 0.0,
) -> Any:
    """Sum a line whose nodes are off by an error, and whose peak by a log, as it says they may be.

    Args:
        cumulant: K.
        line: where.
        blocks: its nodes.
        error: of each node.
        sign: of what the sum is off by; all errors add up.
        log_error: of the peak.
    """

    def transform(rows: slice) -> tuple[ComplexArray, Array]:
        t = blocks.starts[rows][:, None] + blocks.step * np.arange(blocks.size)
        z = line.c + 1j * t
        product = np.exp(cumulant(z) - cumulant(np.array([line.c + 0j])) - 1j * t * line.epsilon)
        kernel = z * (z + 1.0)
        return product + sign * error * kernel / np.abs(kernel), np.full(t.shape, error)

    at = float(cumulant(np.array([line.c + 0j]))[0].real)
    source = LineSum(line, blocks, (at + sign * log_error, log_error), transform)
    return source.deltas(np.array([line.epsilon]), 0.0)


def blocks_to(step: float, last: float) -> Blocks:
    """Return all blocks up to about a t."""
    count = int(last / (step * SIZE)) + 1
    starts = step * SIZE * np.arange(count)
    return Blocks(starts, SIZE, step, (count * SIZE - 0.5) * step)


EPSILON = 1.0
LINE = Line(1.0, (3.0, 6.0), EPSILON, -30.0)
BLOCKS = blocks_to(0.125, 8.0)
TRUTH = float(normal_delta(1.0, EPSILON))


def test_the_line_itself() -> None:
    """Without such errors there are ten digits."""
    found = summed(gaussian, LINE, BLOCKS)
    assert found.lower[0] <= TRUTH <= found.upper[0]
    assert found.upper[0] - found.lower[0] < 1e-10


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_errors_of_nodes(sign: float) -> None:
    """All of them may add up."""
    found = summed(gaussian, LINE, BLOCKS, error=1e-3, sign=sign)
    assert abs(found.value[0] - TRUTH) > 1e-5
    assert found.lower[0] <= TRUTH <= found.upper[0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_error_of_the_peak(sign: float) -> None:
    """It is that of the whole sum, relatively."""
    found = summed(gaussian, LINE, BLOCKS, sign=sign, log_error=1e-3)
    assert abs(found.value[0] / TRUTH - 1.0) > 5e-4
    assert found.lower[0] <= TRUTH <= found.upper[0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_errors_of_cumulants(sign: float) -> None:
    """What a quadrature is off by is an error of every node."""
    blocks = Blocks.all(0.125, 64)
    t = 0.125 * np.arange(65)
    values = gaussian(LINE.c + 1j * t) + sign * 1e-3
    known = OfLogs(blocks, EPSILON, (values, np.full(65, 1e-3)))
    source = LineSum(LINE, blocks, known.log_mgf, known)
    found = source.deltas(np.array([EPSILON]), 0.0)
    assert abs(found.value[0] / TRUTH - 1.0) > 5e-4
    assert found.lower[0] <= TRUTH <= found.upper[0]


def test_errors_of_many_uses() -> None:
    """A law that is used seven times is seven times off."""
    total = np.array([1.0 + 2.0j]), np.array([0.25])
    value, error = added(total, 7, (np.array([0.5 - 1.0j]), np.array([0.125])), 2)
    assert value[0] == 4.5 - 5.0j
    assert 0.25 + 7 * 0.125 < error[0] < 0.25 + 7 * 0.125 + 1e-12


def test_decay_is_proved_and_not_estimated() -> None:
    """What laws look like beyond is no bound."""

    def law(estimate: float, proved: float) -> Any:
        return SimpleNamespace(
            log_modulus_estimates=lambda t: np.full(len(t), estimate),
            log_decay=lambda *_: proved,
        )

    laws = law(-9.0, -1.0), law(-5.0, -0.5)
    composition = cast("Composition", [(None, 3), (None, 2)])
    assert _proved_decay(composition, laws, 4.0, -100.0) == -4.0


def test_aliases_on_the_left() -> None:
    """Those of smaller epsilons, where nearly all of the mass counts, are by themselves."""
    step, c = math.pi / 1.5, 0.25
    found = summed(nothing, Line(c, (20.0, 0.0), 0.0, 0.0), blocks_to(step, 12.0))
    left = sum(-math.expm1(-3.0 * j) * math.exp(-3.0 * j * c) for j in range(1, 200))
    assert left <= float(found.terms["aliasing"][0]) <= 1.1 * left


def test_aliases_on_the_right() -> None:
    """Those of larger epsilons, which count by more than they are where abscissas are large."""
    found = summed(gaussian, Line(3.0, (5.0, 15.0), EPSILON, -30.0), blocks_to(3.5, 30.0))
    right = float(normal_delta(1.0, EPSILON + math.tau / 3.5)) * math.exp(3.0 * math.tau / 3.5)
    assert found.value[0] - TRUTH > right > 0.1 * TRUTH
    assert found.lower[0] <= TRUTH <= found.upper[0]


@pytest.mark.parametrize("c", [0.01, 0.5, 1.0, 7.0, 300.0])
def test_the_largest_payoff(c: float) -> None:
    """Chernoff's bound on the right is that of the payoff, and no less at any loss."""
    x = np.linspace(0.0, 5.0 / min(c, 1.0), 400_001)
    largest = float((-np.expm1(-x) * np.exp(-c * x)).max())
    assert largest <= math.exp(log_payoff_supremum(c)) * (1.0 + 1e-12) <= largest * (1.0 + 1e-4)
