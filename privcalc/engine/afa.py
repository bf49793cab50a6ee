"""The published Fourier accountant (Zhu, Dong, Wang 2022), kept as a baseline: an estimate.

Levy inversion of the two characteristic functions on the imaginary axis by Gauss-Legendre
quadrature of the whole line under t = u / (1 - u^2):

    delta(epsilon) = P(L = inf) + P(epsilon < L < inf) - e^epsilon Q(L > epsilon),
    F(b) = phi(0) / 2 - (1 / pi) int_0^inf Im(e^{-itb} phi(t)) / t dt   (Gil-Pelaez).

Nothing is known about its error. Where the loss has atoms the integral converges only
conditionally, and e^epsilon multiplies whatever error the second distribution function has.
phi is known in closed form, or by quadrature, for the Gaussian family; that of any other loss is
the sum over a fine list of losses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.lists.factor import sketch
from privcalc.engine.lists.losses import cells
from privcalc.errors import NotCertifiedError
from privcalc.losses.noise.gaussian import GaussianLaw

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array, ComplexArray

NODES = 700
BISECTIONS = 70
# Cells of a list, and the mass beyond them; an atom's cell is so narrow, relatively.
CELLS, BEYOND, NARROW = 20_000, 1e-15, 1e-12


class LevyInversion:
    """phi of the loss under P, and of minus the loss under Q, at the nodes of the quadrature."""

    def __init__(self, composition: Composition) -> None:
        """Evaluate both characteristic functions once; every epsilon uses the same nodes."""
        u, weights = np.polynomial.legendre.leggauss(NODES)
        half = u > 0.0
        u, weights = u[half], weights[half]
        self._t: Array = u / (1.0 - u * u)
        jacobian = (1.0 + u * u) / (1.0 - u * u) ** 2
        self._weights: Array = weights * jacobian / self._t / math.pi
        self._upper = _characteristic(composition, 1j * self._t)
        self._lower = _characteristic(composition, -1.0 - 1j * self._t)
        ends = _characteristic(composition, np.array([0.0, -1.0], dtype=np.complex128)).real
        self._mass_p, self._mass_q = float(ends[0]), float(ends[1])
        self._infinity = composition.infinity_mass().upper

    @np.errstate(all="ignore")
    def delta(self, epsilon: float) -> float:
        """Estimate delta at an epsilon; it may lie outside [0, 1].

        Raises:
            NotCertifiedError: no number comes out: products overflow.
        """
        above = self._mass_p - self._distribution(self._upper, self._mass_p, epsilon)
        below = self._distribution(self._lower, self._mass_q, -epsilon)
        found = self._infinity + above - math.exp(min(epsilon, 700.0)) * below
        if not math.isfinite(found):
            raise NotCertifiedError(
                f"the quadrature of the engine afa gives no number at epsilon {epsilon:.6g}"
            )
        return found

    def epsilon(self, delta: float) -> float:
        """Estimate the epsilon at a delta by bisection, as if the estimate were monotone."""
        if self._infinity > delta:
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > delta and high < 1e6:
            low, high = high, 2.0 * high
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high

    def _distribution(self, phi: ComplexArray, mass: float, point: float) -> float:
        oscillation = np.exp(-1j * self._t * point) * phi
        return mass / 2.0 - float((oscillation.imag * self._weights).sum())


@np.errstate(all="ignore")
def _characteristic(composition: Composition, z: ComplexArray) -> ComplexArray:
    total = np.zeros(z.shape, np.complex128)
    for law, count in composition:
        total = total + count * _log_mgf(law, z)
    result: ComplexArray = np.exp(total)
    return result


def _log_mgf(law: LossLaw, z: ComplexArray) -> ComplexArray:
    """Return K of one law at any complex points."""
    if isinstance(law, GaussianLaw):
        return law.log_mgf_estimate(z)
    losses, masses = _listed(law)
    value: ComplexArray = np.log(np.exp(np.outer(z, losses)) @ masses)
    return value


def _listed(law: LossLaw) -> tuple[Array, Array]:
    """Return a list of losses with masses under P, each log(p / q) of a cell, from the tails."""
    seen = sketch(law, math.log(BEYOND), 1)
    atoms = np.array(law.atom_locations)
    width = NARROW * (1.0 + np.abs(atoms))
    even = np.linspace(seen.low - NARROW, seen.high + NARROW, CELLS)
    ends = np.unique(np.concatenate([even, atoms - width, atoms + width]))
    found = cells(law, ends)
    some = (found.p > 0.0) & (found.q > 0.0)
    losses = np.log(found.p[some] / found.q[some])
    return np.clip(losses, ends[:-1][some], ends[1:][some]), found.p[some]
