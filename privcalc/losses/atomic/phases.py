"""A tilted law with finitely many losses: its characteristic function on blocks, and bounds on it.

With weights w_j, of sum W, at losses x_j around their mean: S(t) = sum w_j e^{i t x_j}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.arrays import log1p_with_error
from privcalc.numerics.phases import (
    PHASE_ULPS,
    block_sums,
    phase_sums,
    progression_sums,
    sum_units,
)
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray

# The first so many cells of one width are an arithmetic progression.
UNIFORM_FROM = 64
# Relative errors beyond this are not carried to first order.
LARGEST_ERROR = 1e-6
LEAST = 1e-300
# Work for the sine and the cosine of one phase.
PER_PHASE = 1.2


@record
class TiltedPhases:
    """Weights at centred losses, with what their roundings are worth.

    The weight of each loss is off by a relative error e_j, and its phase at t by t d_j: the sums of
    w_j e_j and w_j d_j are `weight_error` and `phase_error`, divided by W.

    Attributes:
        losses: x_j.
        weights: w_j / W.
        weight_error: see above.
        phase_error: see above.
        furthest: the largest error d_j of a loss.
    """

    losses: Array
    weights: Array
    weight_error: float
    phase_error: float
    furthest: float

    def error(self, t: Array) -> Array:
        """Bound the absolute error of S(t) / W, or of its values computed below.

        To the errors of weights and phases come those of evaluating phases and of the sum. Beyond
        LARGEST_ERROR nothing is known.
        """
        units = PHASE_ULPS + 8.0 + sum_units(len(self.losses))
        found = self.weight_error + UNIT * units + t * self.phase_error * (1.0 + 1e-6)
        found = found + 8.0 * UNIT * t * float(self.weights @ np.abs(self.losses))
        return np.where(found < LARGEST_ERROR, found * (1.0 + 1e-6), 4.0)

    def blocks(self, starts: Array, step: float, size: int) -> ComplexArray:
        """Return S(t) / W at t = start + k step, k < size; a row for each start."""
        return block_sums(starts, step, size, self.losses, self.weights)

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return upper bounds on log |S / W| over [start, start + width], at most 0.

        g = |S / W|^2 = E cos(t (X - X')) for independent X and X' of these weights, so that
        |g''| <= E (X - X')^2 = 2 Var, and with the middle m of a cell of half width d,

            g(t) <= g(m) + |g'(m)| d + Var d^2    for |t - m| <= d.

        The true losses are off by `furthest` at most, which moves the deviation by twice that and
        g' by less than what is charged for it.
        """
        half = 0.5 * width
        middle = starts + half
        weights = np.stack([self.weights, self.weights * self.losses], axis=1)
        if uniform and len(starts) > UNIFORM_FROM:
            sums = progression_sums(float(middle[0]), width, len(starts), self.losses, weights)
        else:
            sums = phase_sums(middle, self.losses, weights)
        value, moment = sums[:, 0], sums[:, 1]
        wrong = self.error(np.abs(middle) + width)
        reach = float(np.abs(self.losses).max(initial=0.0))
        deviation = np.sqrt(float(self.weights @ self.losses**2)) + 4.0 * self.furthest
        g = np.abs(value) ** 2 + wrong * (2.0 + wrong)
        slope = 2.0 * np.abs((np.conj(value) * moment).imag)
        slope = slope + 4.0 * wrong * (reach + self.furthest) + 4.0 * self.furthest
        cells = (g + slope * half + (deviation * half) ** 2 * MARGIN) * MARGIN + LEAST
        bounds: Array = 0.5 * np.log(np.minimum(cells, 1.0))
        return bounds


def tilted(
    losses: Array, masses: Array, c: float, *, loss_units: float, mass_units: float
) -> tuple[TiltedPhases, float, float, float]:
    """Tilt losses with their masses: w_j = p_j e^{c (l_j - top)}, centred at the tilted mean.

    A weight is off by the units of its mass, c times the error of its loss, 4 units of the
    exponent, and 8 for the exponential and the product; dividing by their sum W leaves S / W off
    by as much again, because W is off by no more than the largest part of that.

    Returns:
        The phases, the log of sum p_j e^{c l_j} with a bound on its error, and the centre.
    """
    top = float(losses.max())
    weights = masses * np.exp(c * (losses - top))
    total = float(weights.sum())
    weights = weights / total
    centre = float(weights @ losses)
    moved = loss_units * UNIT * np.abs(losses)
    errors = mass_units * UNIT + c * moved + UNIT * (4.0 * c * np.abs(losses - top) + 16.0)
    weight_error = float(weights @ errors) + UNIT * len(losses)
    away = moved + UNIT * (np.abs(losses) + abs(centre))
    phases = TiltedPhases(
        losses - centre,
        weights,
        2.0 * weight_error * MARGIN,
        float(weights @ away) * MARGIN,
        float(away.max()) * MARGIN,
    )
    log_mass = c * top + float(np.log(total))
    error = weight_error + 8.0 * UNIT * (abs(c * top) + abs(log_mass) + 4.0)
    return phases, log_mass, error * (1.0 + 1e-6), centre


@record
class NearOne:
    """M(c + it) - 1 of a law with finitely many losses, without cancellation.

    What is missing to 1 is known better than the masses: M = 1 - m + sum p (e^{zl} - 1), m the mass
    at infinity, and what was left out is between 0 and `dropped`. With

        e^{zl} - 1 = expm1(cl) - 2 e^{cl} sin^2(tl / 2) + 2 i e^{cl} sin(tl / 2) cos(tl / 2),

    and a_j = |expm1(c l_j)| + |c l_j| e_j, b_j = |l_j| e_j, e_j = 1 + e^{c l_j}: as 2 sin^2(x / 2)
    <= |x|, no part of a term is more than a_j + t b_j, its computed value is off by 24 units of
    that, and an error of so many units of l_j moves it by as many units of it.

    Attributes:
        losses: l_j.
        masses: p_j.
        infinity_mass: m.
        fixed: error that does not depend on t.
        growing: error for each unit of t.
    """

    losses: Array
    masses: Array
    c: float
    infinity_mass: float
    fixed: float
    growing: float

    @classmethod
    def of(
        cls,
        losses: Array,
        masses: Array,
        c: float,
        missing: tuple[float, float],
        units: tuple[float, float],
    ) -> NearOne:
        """Sum up the errors.

        Args:
            losses: l_j.
            masses: p_j.
            c: abscissa.
            missing: the mass at infinity, and an absolute bound on its error and on what was left
                out.
            units: of the losses, and of the masses.
        """
        powers = 1.0 + np.exp(c * losses)
        a = np.abs(np.expm1(c * losses)) + c * np.abs(losses) * powers
        b = np.abs(losses) * powers
        each = UNIT * (32.0 + len(losses) + sum(units)) * MARGIN
        fixed = each * float(masses @ a) + missing[1] + 2.0 * UNIT * missing[0]
        return cls(losses, masses, c, missing[0], fixed, each * float(masses @ b))

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) and a bound on its error."""
        charge(PER_PHASE * len(t) * len(self.losses))
        half = np.multiply.outer(0.5 * t, self.losses)
        sine = np.sin(half)
        grown = self.masses * np.exp(self.c * self.losses)
        still = float(self.masses @ np.expm1(self.c * self.losses)) - self.infinity_mass
        value: ComplexArray = np.empty(len(t), np.complex128)
        value.imag = 2.0 * ((sine * np.cos(half)) @ grown)
        value.real = still - 2.0 * ((sine * sine) @ grown)
        return log1p_with_error(value, self.fixed + np.abs(t) * self.growing)
