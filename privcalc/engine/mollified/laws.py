"""What the mollified contour asks of a law: its cumulant on blocks of nodes, and bounds on cells.

A block is `size` nodes start + k step; a cell is an interval [start, start + width] of t.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import MASS_ULPS, AtomicContour
from privcalc.losses.atomic.phases import NearOne, TiltedPhases, tilted
from privcalc.losses.closed.gaussian import GaussianContour
from privcalc.losses.closed.laplace import LaplaceContour
from privcalc.numerics.phases import PHASE_ULPS
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privcalc.losses.contour import ContourLaw
    from privcalc.losses.lattice.revival import Revival
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
    def falls(self) -> bool:
        """Whether the bound on a cell holds for all that is right of it."""
        ...

    @property
    def work(self) -> float:
        """The work for one node."""
        ...

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return (phi(t) e^{-itm})^count at the nodes of blocks, and bounds on absolute errors."""
        ...

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return upper bounds on log |phi| over cells; `uniform` if they are one progression."""
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


@record
class AtomicBlocks:
    """Finitely many losses, by phases around the tilted mean; many uses from M - 1.

    What a count of uses multiplies has to be small near t = 0, where all of the sum is.
    """

    phases: TiltedPhases
    log_mass: float
    error: float
    centre: float
    near: NearOne | None

    falls = False

    @property
    def log_mgf_at(self) -> tuple[float, float]:
        """Return K(c)."""
        return (self.log_mass, self.error) if self.near is None else _at(self.near)

    @property
    def work(self) -> float:
        """Return the products of a node."""
        return 1.0 + 0.03 * len(self.phases.losses)

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of S / W, or what M - 1 says of them."""
        if self.near is not None:
            found, error = _closed(self.near, starts, step, size, count)
            t = starts[:, None] + step * np.arange(size)
            return found * np.exp(-1j * count * self.centre * t), error + UNIT * 8.0 * count * abs(
                self.centre
            ) * t * np.abs(found)
        value = self.phases.blocks(starts, step, size)
        t = starts[:, None] + step * np.arange(size)
        return power(value, self.phases.error(t), count)

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return the bounds of the phases."""
        return self.phases.cell_bounds(starts, width, uniform=uniform)


class ClosedBlocks:
    """What laws in closed form have in common."""

    law: ContourLaw

    centre = 0.0
    work = 2.0

    @property
    def log_mgf_at(self) -> tuple[float, float]:
        """Return K(c)."""
        return _at(self.law)

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of the closed form."""
        return _closed(self.law, starts, step, size, count)


@record
class ReturningBlocks(ClosedBlocks):
    """A lattice law in closed form, whose |phi| comes back every `period`."""

    law: ContourLaw
    revival: Revival

    falls = False

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return the bound at the place of a cell that is nearest to a revival.

        Where no whole number of periods lies in a cell, that is one of its ends. Places are off by
        8 units of t / period, which counts as nearer.
        """
        del uniform
        low, high = starts / self.revival.period, (starts + width) / self.revival.period
        slack = 16.0 * UNIT * (high + 1.0)
        near = np.minimum(np.abs(low - np.rint(low)), np.abs(high - np.rint(high)))
        near = np.where(np.floor(high) > np.floor(low), 0.0, near)
        place = np.clip(near - slack, 0.0, 0.5)
        log_bound = self.revival.log_bound(place) * (1.0 - 16.0 * UNIT) + 1e-12
        bounds: Array = np.minimum(0.0, log_bound)
        return bounds


@record
class GaussianBlocks(ClosedBlocks):
    """A Gaussian mechanism."""

    law: GaussianContour

    falls = True

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return -mu^2 t^2 / 2 at the left end."""
        del width, uniform
        mu = self.law.mu * (1.0 - self.law.error - 8.0 * UNIT)
        bounds: Array = -0.5 * (mu * starts) ** 2
        return bounds


@record
class LaplaceBlocks:
    """A Laplace mechanism: M(z) = (e^{ze} (1 + w) + e^{-(1 + z) e} (1 - w)) / 2, w = 1 / (2z + 1).

    Attributes:
        law: on its contour.
        up: e^{ce} / (2 M(c)).
        down: e^{-(1 + c) e} / (2 M(c)).
        error: relative error of the two.
    """

    law: LaplaceContour
    up: float
    down: float
    error: float

    centre = 0.0
    falls = True

    @classmethod
    def of(cls, law: LaplaceContour) -> LaplaceBlocks:
        """Scale by M(c); e itself is off by the law's relative error."""
        log_mgf, error = _at(law)
        e, c = law.law.e, law.c
        terms = (1.0 + c) * e
        error += (law.law.error + 8.0 * UNIT) * terms + 8.0 * UNIT * (abs(log_mgf) + 2.0)
        up, down = math.exp(c * e - log_mgf), math.exp(-terms - log_mgf)
        return cls(law, 0.5 * up, 0.5 * down, error * (1.0 + 1e-6))

    @property
    def log_mgf_at(self) -> tuple[float, float]:
        """Return K(c)."""
        return _at(self.law)

    @property
    def work(self) -> float:
        """Return the products of a node."""
        return 1.0

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of M(z) / M(c).

        Phases are off by 2 PHASE_ULPS units and 8 units of their angles, and by what the error of e
        does to those; w by 8 units.
        """
        e, e_error = self.law.law.e, self.law.law.error
        offsets = step * np.arange(size)
        t = starts[:, None] + offsets
        phase = np.exp(1j * e * starts)[:, None] * np.exp(1j * e * offsets)
        w = 0.5 / (self.law.c + 0.5 + 1j * t)
        value = self.up * phase * (1.0 + w) + self.down * np.conj(phase) * (1.0 - w)
        growing = e * (e_error + 8.0 * UNIT)
        units = self.error + UNIT * (2.0 * PHASE_ULPS + 32.0) + growing * t
        error = units * ((self.up + self.down) * (1.0 + 1e-6)) * (1.0 + np.abs(w))
        return power(value, np.where(units < 1e-6, error, 4.0), count)

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return the log of (up + down) (1 + |w|), which falls with t."""
        del width, uniform
        size = 1.0 + 0.5 / np.hypot(self.law.c + 0.5, starts)
        bound = (self.up + self.down) * (1.0 + self.error + 1e-12) * size
        return np.minimum(0.0, np.log(bound))


def prepared(law: ContourLaw, count: int) -> BlockLaw:
    """Return what this engine makes of so many uses of a law on its contour.

    Raises:
        NotCertifiedError: the law is not known for every t.
    """
    if isinstance(law, AtomicContour):
        phases, log_mass, error, centre = _tilted(law)
        near = law.law.near_one(law.c) if count > MANY else None
        if near is not None and not _at(near)[1] < error:
            near = None
        return AtomicBlocks(phases, log_mass, error, centre, near)
    if law.revival is not None:
        return ReturningBlocks(law, law.revival)
    if isinstance(law, GaussianContour):
        return GaussianBlocks(law)
    if isinstance(law, LaplaceContour):
        return LaplaceBlocks.of(law)
    raise NotCertifiedError("a part of the loss is known near the real axis only")


def log_mgf_above(laws: Iterable[tuple[ContourLaw, int]]) -> float:
    """Return a certified upper bound on K of a composition at the abscissa of its contours."""
    total = 0.0
    for law, count in laws:
        value, error = _at(law.law.near_one(law.c) if isinstance(law, AtomicContour) else law)
        if not math.isfinite(error) and isinstance(law, AtomicContour):
            value, error = _tilted(law)[1:3]
        total += count * (value + error)
    return total + 1e-12 * (1.0 + abs(total))


def _tilted(law: AtomicContour) -> tuple[TiltedPhases, float, float, float]:
    atoms = law.law
    losses, masses = np.array(atoms.losses), np.array(atoms.masses)
    return tilted(losses, masses, law.c, loss_units=atoms.loss_units, mass_units=MASS_ULPS)


def _at(law: ContourLaw | NearOne) -> tuple[float, float]:
    value, error = law.log_mgf(np.zeros(1))
    return float(value[0].real), float(error[0])


def _closed(
    law: ContourLaw | NearOne, starts: Array, step: float, size: int, count: int
) -> tuple[ComplexArray, Array]:
    """Return e^{count (K(z) - K(c))}: exponents are off by the errors of K and 8 units of terms."""
    t = starts[:, None] + step * np.arange(size)
    value, error = law.log_mgf(t.ravel())
    at, at_error = _at(law)
    exponent = count * (value - at)
    found: ComplexArray = np.exp(exponent).reshape(t.shape)
    units = UNIT * (8.0 * count * (np.abs(value) + abs(at)) + 16.0)
    wrong = (count * (error + at_error) + units).reshape(t.shape)
    moved = np.where(wrong < 1.0, np.abs(found) * np.expm1(np.minimum(wrong, 1.0)), 2.0)
    return found, np.minimum(moved, 2.0) * MARGIN
