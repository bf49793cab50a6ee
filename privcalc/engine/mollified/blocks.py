"""What the mollified contour asks of a law: its cumulant on blocks of nodes, and bounds on cells.

A block is `size` nodes start + k step; a cell is an interval [start, start + width] of t.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.losses.atomic.phases import NearOne
    from privcalc.losses.contour import ContourLaw
    from privcalc.numerics.arrays import Array, ComplexArray

SMALLEST = 1e-300
# Uses from which on the errors near t = 0 count.
MANY = 300


class BlockLaw(Protocol):
    """A law on one contour, good for every t."""

    @property
    def log_mgf_at(self) -> tuple[float, float]:
        """K(c) and a bound on its error."""
        ...

    @property
    def centre(self) -> float:
        """A loss m; `powers` leaves out the phases e^{itm}."""
        ...

    @property
    def work(self) -> float:
        """The work for one node."""
        ...

    @property
    def cell_work(self) -> float:
        """The work for one cell."""
        ...

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return (phi(t) e^{-itm})^count at the nodes of blocks, and bounds on absolute errors."""
        ...

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return upper bounds on log |phi| over cells; `uniform` if they are one progression."""
        ...

    def beyond(self, t: Array) -> Array:
        """Return upper bounds on log |phi| at all that is right of each t."""
        ...


def power(value: ComplexArray, error: Array, count: int) -> tuple[ComplexArray, Array]:
    """Return value^count and a bound on its error, given one on the error e of the value.

    |x^n - y^n| <= n e (|y| + e)^(n - 1) for |x - y| <= e. A product is off by 3 units; doubling an
    exponent doubles the units and adds 3, so that there are less than 4 n in the end.
    """
    found, square, rest = None, value, count
    while rest:
        if rest & 1:
            found = square if found is None else found * square
        rest >>= 1
        if rest:
            square = square * square
    if found is None:
        raise AssertionError("a law is used at least once")
    most = np.minimum(np.abs(value) * (1.0 + 4.0 * UNIT) + error, 1.0 + error)
    before = np.exp((count - 1.0) * np.log(np.maximum(most, SMALLEST))) if count > 1 else 1.0
    moved = count * error * before * (1.0 + 1e-6)
    return found, moved + 5.0 * UNIT * count * np.abs(found) + SMALLEST


def at_abscissa(law: ContourLaw | NearOne) -> tuple[float, float]:
    """Return K(c) and a bound on its error."""
    value, error = law.log_mgf(np.zeros(1))
    return float(value[0].real), float(error[0])


def closed_powers(
    law: ContourLaw | NearOne, starts: Array, step: float, size: int, count: int
) -> tuple[ComplexArray, Array]:
    """Return powers of a law in closed form."""
    t = starts[:, None] + step * np.arange(size)
    value, error = law.log_mgf(t.ravel())
    return powers_of_log((value.reshape(t.shape), error.reshape(t.shape)), at_abscissa(law), count)


def powers_of_log(
    log_mgf: tuple[ComplexArray, Array], at_abscissa: tuple[float, float], count: int
) -> tuple[ComplexArray, Array]:
    """Return e^{count (K(z) - K(c))}: exponents are off by the errors of K and 8 units of terms.

    Args:
        log_mgf: K(z), with bounds on its errors.
        at_abscissa: K(c), with one.
        count: uses.
    """
    (value, error), (at, at_error) = log_mgf, at_abscissa
    exponent = count * (value - at)
    found: ComplexArray = np.exp(exponent)
    units = UNIT * (8.0 * count * (np.abs(value) + abs(at)) + 16.0)
    wrong = count * (error + at_error) + units
    moved = np.where(wrong < 1.0, np.abs(found) * np.expm1(np.minimum(wrong, 1.0)), 2.0)
    return found, np.minimum(moved, 2.0) * MARGIN
