"""What other accountants say: the best Renyi order, and the published Fourier accountant.

Upper bounds from Renyi curves, at the best real order and by the best conversion. There is no lower
end. A composition with a part that is known by its curve only is answered here as a whole; of other
compositions this is what is left where no other engine proves a narrow bracket.

The Fourier accountant (Zhu, Dong, Wang 2022) is kept as a baseline: an estimate. It is the Levy
inversion of the two characteristic functions on the imaginary axis by Gauss-Legendre quadrature of
the whole line under t = u / (1 - u^2):

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

from privcalc.bounds import Bound, Proof
from privcalc.engine.certified import Certified
from privcalc.errors import NotCertifiedError
from privcalc.losses.gaussian import GaussianLaw
from privcalc.numerics.rounding import exp_bound, non_negative
from privcalc.numerics.work import left, remembered
from privcalc.renyi.best_order import curve_epsilon, curve_log_delta
from privcalc.renyi.one_order import balle_epsilon, balle_log_delta

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array, ComplexArray
    from privcalc.renyi.best_order import Converted

# Orders minus 1 that searches try: 1/64 to 2^20, a factor sqrt(2) apart.
ABSCISSAS = 2.0 ** (np.arange(-12, 41) / 2.0)
# Every so many are tried first.
FEWER = 4
# What is said where the best order may not have been found.
STOPPED = "the search for the best Renyi order stopped early: all work that is allowed was done"
# The conversion that no other undercuts.
BEST = "trade_off"


def renyi_epsilon(composition: Composition, delta: float, conversion: str = BEST) -> Certified:
    """Bound epsilon at a delta > 0 from above.

    Where outcomes are lost to infinity, K is that of a measure P of less than full mass, and the
    conversions are told how much is missing.

    Args:
        composition: of one adjacency.
        delta: what is left for finite losses.
        conversion: one of those of `renyi/best_order.py`.

    Raises:
        NotCertifiedError: no order has a finite certified bound.
    """
    curve, mass = composition.renyi_curve(), composition.infinity_mass().upper
    try:
        found = curve_epsilon(curve, delta, conversion, infinite_mass=mass)
    except NotCertifiedError:
        largest = composition.max_loss().upper
        if composition.curves or conversion == "classic" or largest == math.inf:
            raise
        return Certified(Bound(non_negative(largest)), Proof.RENYI)
    return _certified(found, found.value)


def renyi_delta(composition: Composition, epsilon: float) -> Certified:
    """Bound the finite part of delta at an epsilon from above (by 1 at worst)."""
    curve, mass = composition.renyi_curve(), composition.infinity_mass().upper
    try:
        found = curve_log_delta(curve, epsilon, BEST, infinite_mass=mass)
    except NotCertifiedError:
        if composition.curves:
            raise
        return Certified(Bound(1.0), Proof.RENYI)
    return _certified(found, min(1.0, exp_bound(found.value)))


def best_order(composition: Composition, quantity: str, at: float) -> float:
    """Return about the order minus 1 that proves most, for searches."""
    return _best(composition, quantity, at)[0]


def rough(composition: Composition, quantity: str, at: float) -> float:
    """Return about what one order proves, of epsilon at a delta or of delta at an epsilon."""
    least = _best(composition, quantity, at)[1]
    return max(0.0, least) if quantity == "epsilon" else math.exp(min(0.0, least))


@remembered(4)
def _best(composition: Composition, quantity: str, at: float) -> tuple[float, float]:
    """Return c, and epsilon or log delta there, by one order alone (Balle et al. 2020).

    Not certified: the best of a few orders, and of those between its neighbours.
    """
    curve = composition.renyi_curve()

    def values(c: Array) -> Array:
        with np.errstate(all="ignore"):
            k = curve.upper(c)
            found = (
                balle_epsilon(c, k, math.log(at))
                if quantity == "epsilon"
                else balle_log_delta(c, k, at)
            )
        return np.where(np.isnan(found), np.inf, found)

    few = int(np.argmin(values(ABSCISSAS[::FEWER])))
    c = ABSCISSAS[max(0, (few - 1) * FEWER + 1) : (few + 1) * FEWER]
    found = values(c)
    place = int(np.argmin(found))
    return float(c[place]), float(found[place])


def _certified(found: Converted, upper: float) -> Certified:
    notes = () if left() > 0.0 else (STOPPED,)
    return Certified(
        Bound(upper), Proof.RENYI, notes=notes, order=found.order, conversion=found.conversion
    )


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
        if isinstance(law, GaussianLaw):
            log_mgf = z * (z + 1.0) * (law.mu * law.mu / 2.0)
        else:
            losses, masses = _listed(law)
            log_mgf = np.log(np.exp(np.outer(z, losses)) @ masses)
        total = total + count * log_mgf
    result: ComplexArray = np.exp(total)
    return result


def _listed(law: LossLaw) -> tuple[Array, Array]:
    """Return a list of losses with masses under P, each log(p / q) of a cell, from the tails."""
    from privcalc.engine.lists.factor import sketch
    from privcalc.losses.cells import cells

    seen = sketch(law, math.log(BEYOND), 1)
    atoms = np.array(law.atom_locations)
    width = NARROW * (1.0 + np.abs(atoms))
    even = np.linspace(seen.low - NARROW, seen.high + NARROW, CELLS)
    ends = np.unique(np.concatenate([even, atoms - width, atoms + width]))
    found = cells(law, ends)
    some = (found.p > 0.0) & (found.q > 0.0)
    losses = np.log(found.p[some] / found.q[some])
    return np.clip(losses, ends[:-1][some], ends[1:][some]), found.p[some]
