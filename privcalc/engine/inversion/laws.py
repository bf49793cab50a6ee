"""Laws in closed form, with finitely many losses, and tail parts, as `edged.py` wants them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from privcalc.engine.inversion.edged import (
    FIRST,
    MANY,
    POINTS,
    RATIO,
    EdgedBlocks,
    Falling,
    at_abscissa,
    closed_powers,
    power,
)
from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicContour
from privcalc.losses.atomic.equal_steps import EqualStepsContour
from privcalc.losses.noise.gaussian import GaussianContour
from privcalc.losses.noise.laplace import SERIES_BELOW, LaplaceContour
from privcalc.losses.noise.unequal_gaussians import UnequalGaussiansContour
from privcalc.losses.quadrature import DecayingContour
from privcalc.losses.sampled.cut import EdgedLaw
from privcalc.numerics.phases import PER_PHASE, PHASE_ULPS
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from privcalc.engine.inversion.edged import BlockLaw
    from privcalc.losses.atomic.equal_steps import TiltedLattice
    from privcalc.losses.atomic.phases import NearOne, TiltedPhases
    from privcalc.losses.contour import ContourLaw, Revival
    from privcalc.numerics.arrays import Array, ComplexArray


# Where the bound on |phi| of Laplace noise near t = 0 stops to fall, in units of 1 / e:
# x (1 - x / 3) rises up to x = 3/2.
STILL = 1.2
# Rounding of bounds on numbers of order 1: a few dozen units at most.
ROUNDED = 1e-14


@record
class PhaseBlocks:
    """A sum of phases around the tilted mean; many uses of finitely many losses from M - 1.

    What a count of uses multiplies has to be small near t = 0, where all of the sum is.
    """

    phases: TiltedPhases
    log_mass: float
    error: float
    centre: float
    near: NearOne | None = None

    @classmethod
    def of(cls, law: AtomicContour, count: int) -> PhaseBlocks:
        """Prepare finitely many losses; M - 1 is of use where it is known better than M."""
        phases, log_mass, error, centre = law.law.tilted(law.c)
        near = law.law.near_one(law.c) if count > MANY else None
        if near is not None and not at_abscissa(near)[1] < error:
            near = None
        return cls(phases, log_mass, error, centre, near)

    @property
    def log_mgf_at(self) -> tuple[float, float]:
        """Return K(c)."""
        return (self.log_mass, self.error) if self.near is None else at_abscissa(self.near)

    @property
    def work(self) -> float:
        """Return the products of a node."""
        return 1.0 + 0.01 * len(self.phases.losses)

    cell_work = work

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of S / W, or what M - 1 says of them."""
        if self.near is not None:
            found, error = closed_powers(self.near, starts, step, size, count)
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

    def beyond(self, t: Array) -> Array:
        """Return 0: they come back."""
        return np.zeros(len(t))


@record
class LatticeBlocks:
    """Many losses on a lattice, by two short tables; bounds are those of smooth weights."""

    tilted: TiltedLattice

    cell_work = 1.0

    @property
    def log_mgf_at(self) -> tuple[float, float]:
        """Return K(c)."""
        return self.tilted.log_mass, self.tilted.mass_error

    @property
    def centre(self) -> float:
        """Return the anchor."""
        return self.tilted.anchor

    @property
    def work(self) -> float:
        """Return the work of the sums."""
        return PER_PHASE * self.tilted.work

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of S."""
        t = starts[:, None] + step * np.arange(size)
        value, error = self.tilted.sums(t.ravel())
        return power(value.reshape(t.shape), error.reshape(t.shape), count)

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return the bounds of smooth weights."""
        del uniform
        return self.tilted.cell_bounds(starts, width)

    def beyond(self, t: Array) -> Array:
        """Return 0: they come back."""
        return np.zeros(len(t))


class ClosedBlocks:
    """What laws in closed form have in common."""

    law: ContourLaw

    centre = 0.0
    work = 2.0
    cell_work = 1.0

    @property
    def log_mgf_at(self) -> tuple[float, float]:
        """Return K(c)."""
        return at_abscissa(self.law)

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of the closed form."""
        return closed_powers(self.law, starts, step, size, count)


@record
class ReturningBlocks(ClosedBlocks):
    """A lattice law in closed form, whose |phi| comes back every `period`."""

    law: ContourLaw
    revival: Revival

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

    def beyond(self, t: Array) -> Array:
        """Return 0."""
        return np.zeros(len(t))


@record
class GaussianBlocks(ClosedBlocks):
    """A Gaussian mechanism."""

    law: GaussianContour

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return -mu^2 t^2 / 2 at the left end."""
        del width, uniform
        mu = self.law.mu * (1.0 - self.law.error - 8.0 * UNIT)
        bounds: Array = -0.5 * (mu * starts) ** 2
        return bounds

    def beyond(self, t: Array) -> Array:
        """Return the same, which falls."""
        return self.cell_bounds(t, 0.0, uniform=False)


@record
class LaplaceBlocks:
    """A Laplace mechanism: M(z) = (e^{ze} (1 + w) + e^{-(1 + z) e} (1 - w)) / 2, w = 1 / (2z + 1).

    Attributes:
        law: on its line.
        up: e^{ce} / (2 M(c)), the mass of the atom e of the tilted law.
        down: e^{-(1 + c) e} / (2 M(c)), that of -e.
        error: relative error of the two.
    """

    law: LaplaceContour
    up: float
    down: float
    error: float

    centre = 0.0

    @classmethod
    def of(cls, law: LaplaceContour) -> LaplaceBlocks:
        """Scale by M(c); e itself is off by the law's relative error."""
        log_mgf, error = at_abscissa(law)
        e, c = law.law.e, law.c
        terms = (1.0 + c) * e
        error += (law.law.error + 8.0 * UNIT) * terms + 8.0 * UNIT * (abs(log_mgf) + 2.0)
        up, down = math.exp(c * e - log_mgf), math.exp(-terms - log_mgf)
        return cls(law, 0.5 * up, 0.5 * down, error * (1.0 + 1e-6))

    @property
    def log_mgf_at(self) -> tuple[float, float]:
        """Return K(c)."""
        return at_abscissa(self.law)

    @property
    def work(self) -> float:
        """Return the products of a node."""
        return 0.7

    cell_work = work

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of M(z) / M(c); of many uses from M - 1, where its series holds.

        Phases are off by 2 PHASE_ULPS units and 8 units of their angles, and by what the error of e
        does to those; w by 8 units.
        """
        e, e_error = self.law.law.e, self.law.law.error
        offsets = step * np.arange(size)
        near = (starts + (step * size + self.law.c + 0.5)) * e < SERIES_BELOW
        if count > MANY and near.any():
            found, wrong = np.empty((len(starts), size), complex), np.empty((len(starts), size))
            found[near], wrong[near] = closed_powers(self.law, starts[near], step, size, count)
            if not near.all():
                found[~near], wrong[~near] = self.powers(starts[~near], step, size, count)
            return found, wrong
        t = starts[:, None] + offsets
        phase = np.exp(1j * e * starts)[:, None] * np.exp(1j * e * offsets)
        w = 0.5 / (self.law.c + 0.5 + 1j * t)
        value = self.up * phase * (1.0 + w) + self.down * np.conj(phase) * (1.0 - w)
        growing = e * (e_error + 8.0 * UNIT)
        units = self.error + UNIT * (2.0 * PHASE_ULPS + 32.0) + growing * t
        error = units * ((self.up + self.down) * (1.0 + 1e-6)) * (1.0 + np.abs(w))
        return power(value, np.where(units < 1e-6, error, 4.0), count)

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return the log of |up + down e^{-2ite}| + (up + down) |w|, or that of `_still` if less.

        The first term grows with cos(2te): it is that at the multiple of pi / e in the cell, or at
        the end of the cell that is nearest to one. Places are off by 8 units and the error of e,
        and the difference under the root by 8 units of its terms.
        """
        del uniform
        up, down, e = self.up, self.down, self.law.law.e
        low, high = starts * (e / math.pi), (starts + width) * (e / math.pi)
        slack = (16.0 * UNIT + 1.01 * self.law.law.error) * (high + 1.0)
        nearest = np.minimum(np.abs(low - np.rint(low)), np.abs(high - np.rint(high)))
        nearest = np.where(np.floor(high) > np.floor(low), 0.0, np.maximum(nearest - slack, 0.0))
        square = (up + down) ** 2 - 4.0 * up * down * np.sin(math.pi * nearest) ** 2
        atoms = np.sqrt(np.maximum(square, 0.0) + 8.0 * UNIT)
        rest = (up + down) * (0.5 / np.hypot(self.law.c + 0.5, starts))
        bound = np.log((atoms + rest) * (1.0 + self.error + ROUNDED))
        first = np.where((starts + width) * e <= STILL, self._still(starts), 0.0)
        return np.minimum(np.minimum(0.0, bound), first)

    def beyond(self, t: Array) -> Array:
        """Return the larger of `_still` and of the log of (up + down) (1 + |w|) where that ends."""
        e = self.law.law.e
        last = np.maximum(t, STILL / e)
        far = (self.up + self.down) * (1.0 + 0.5 / np.hypot(self.law.c + 0.5, last))
        bound = np.minimum(0.0, np.log(far * (1.0 + self.error + ROUNDED)))
        return np.where(t * e <= STILL, np.maximum(bound, self._still(t)), bound)

    def _still(self, t: Array) -> Array:
        """Return a bound on log |phi| from t to STILL / e, which falls with t up to there.

        For two tilted losses X and Y in [-e, e], of variance v, |phi|^2 = E cos(t (X - Y)) is at
        most 1 - t^2 v + t^4 E (X - Y)^4 / 24 <= 1 - t^2 v (1 - t^2 e^2 / 3), as (X - Y)^2 <= 4 e^2
        has the mean 2 v; and v >= (2 e)^2 up down, the part of the two atoms.
        """
        x = (t * self.law.law.e) ** 2
        share = (
            4.0 * self.up * self.down * (1.0 - 4.0 * (self.error + self.law.law.error) - ROUNDED)
        )
        bound: Array = 0.5 * np.log1p(-np.clip(share * x * (1.0 - x / 3.0), 0.0, 0.99))
        return bound


@record
class FallingBlocks(ClosedBlocks):
    """A law with a density in closed form, whose bound on |phi| falls."""

    law: ContourLaw
    falling: Falling

    @classmethod
    def of(cls, law: UnequalGaussiansContour, count: int) -> FallingBlocks:
        """Evaluate the bound on a grid of t."""
        deviation = math.sqrt(law.law.cumulants(law.c)[2] * count)
        ts = FIRST / deviation * RATIO ** np.arange(POINTS)
        suprema = np.array([law.modulus_supremum(t) for t in ts.tolist()])
        return cls(law, Falling(ts, np.minimum(np.log(suprema), 0.0)))

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return the bound at the left end."""
        del width, uniform
        return self.falling.beyond(starts)

    def beyond(self, t: Array) -> Array:
        """Return the bound."""
        return self.falling.beyond(t)


def prepared(law: ContourLaw, count: int) -> BlockLaw:
    """Return what smoothed lines make of so many uses of a law.

    Raises:
        NotCertifiedError: the law is not known for every t.
    """
    make = _MAKERS.get(type(law))
    if make is not None:
        return make(law, count)
    if law.revival is not None:
        return ReturningBlocks(law, law.revival)
    if isinstance(law, DecayingContour) and isinstance(law.law, EdgedLaw):
        return EdgedBlocks.of(law.law, law.c, count)
    raise NotCertifiedError("a part of the loss is known near the real axis only")


def log_mgf_above(laws: Iterable[tuple[ContourLaw, int]]) -> float:
    """Return a certified upper bound on K of a composition at the abscissa of its lines."""
    total = 0.0
    for law, count in laws:
        near = law.law.near_one(law.c) if isinstance(law, AtomicContour) else law
        value, error = at_abscissa(near)
        if not math.isfinite(error) and isinstance(law, AtomicContour):
            value, error = law.law.tilted(law.c)[1:3]
        total += count * (value + error)
    return total + 1e-12 * (1.0 + abs(total))


_MAKERS: dict[type[ContourLaw], Callable[[Any, int], BlockLaw]] = {
    AtomicContour: PhaseBlocks.of,
    EqualStepsContour: lambda law, _: LatticeBlocks(law.tilted),
    GaussianContour: lambda law, _: GaussianBlocks(law),
    LaplaceContour: lambda law, _: LaplaceBlocks.of(law),
    UnequalGaussiansContour: FallingBlocks.of,
}
