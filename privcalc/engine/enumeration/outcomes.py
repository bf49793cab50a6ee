"""Compositions of laws with finitely many values: the exact finite sum (no Fourier transform).

delta(epsilon) = sum over outcomes of p (1 - e^{epsilon - l})_+. A law used n times gives
multinomial counts; for two values these are binomial, and with the masses' ratio
r_{k+1} / r_k = (n - k) / (k + 1) * p / (1 - p) accumulated from the mode outward every mass has a
small relative error, without any gamma function.

A law whose few values lie on a lattice is composed with itself as an exact power of a polynomial.
The masses are its coefficients; all are non-negative, so that products and sums keep their
relative accuracy, and powers are formed by squaring.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.enumeration.listed import SUM_ULPS, Listed, Side
from privcalc.losses.atomic.atoms import LOSS_ULPS, MASS_ULPS, AtomicLaw, ProvedLaw
from privcalc.numerics import work
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.numerics.arrays import Array

# Convolutions cost the product of the lengths.
MOST_POINTS = 20_000
# The least gap of the values may be this many units of the lattice.
MOST_PARTS = 6
# Coefficients below are left out: products of two stay in the range of doubles.
SMALLEST = 1e-150


@record
class LatticeSum:
    """Values origin + unit k with masses; see above for the errors.

    Attributes:
        losses: values of the sum.
        masses: P-masses.
        loss_error: absolute error of each value, at most.
        mass_error: relative error of each mass, at most.
        dropped: P-mass left out, at most.
    """

    losses: Array
    masses: Array
    loss_error: float
    mass_error: float
    dropped: float


def lattice_points(losses: tuple[float, ...]) -> tuple[float, list[int]] | None:
    """Return a unit and whole numbers k with losses = least + unit k, up to their own error."""
    values = sorted(losses)
    reach = max(abs(values[0]), abs(values[-1]))
    allowed = LOSS_ULPS * UNIT * reach
    gaps = [b - a for a, b in itertools.pairwise(values)]
    if not gaps or not min(gaps) > 1e3 * allowed:
        return None
    spread = values[-1] - values[0]
    for parts in range(1, MOST_PARTS + 1):
        rough = min(gaps) / parts
        unit = spread / round(spread / rough)
        numbers = [round((loss - values[0]) / unit) for loss in losses]
        if all(
            abs(values[0] + unit * k - loss) <= 2.0 * allowed
            for k, loss in zip(numbers, losses, strict=True)
        ):
            return unit, numbers
    return None


def lattice_power(
    losses: tuple[float, ...], masses: tuple[float, ...], count: int
) -> LatticeSum | None:
    """Return the sum of `count` draws, or None where the values are on no (small) lattice.

    Errors. A convolution of n terms adds n + 2 units to the relative errors of its factors, whose
    multiplicities add up to `count`. What is left out of a factor of mass at most 1 is missing in
    the product at most once for each use. Values are off by twice the error of the losses.
    """
    found = lattice_points(losses)
    if found is None or max(found[1]) * count >= MOST_POINTS:
        return None
    unit, numbers = found
    base: Array = np.zeros(max(numbers) + 1)
    for k, mass in zip(numbers, masses, strict=True):
        base[k] += mass
    square: Array = base
    lost_square, error_square = 0.0, MASS_ULPS * UNIT
    power: Array = np.ones(1)
    lost = error = 0.0
    left = count
    while left:
        if left & 1:
            error += error_square + UNIT * (min(len(power), len(square)) + 2.0)
            power, cut = _trimmed(np.convolve(power, square))
            lost += lost_square + cut
        left >>= 1
        if left:
            error_square = 2.0 * error_square + UNIT * (len(square) + 2.0)
            square, cut = _trimmed(np.convolve(square, square))
            lost_square = 2.0 * lost_square + cut
    least = min(losses)
    values = count * least + unit * np.arange(len(power))
    reach = count * max(abs(loss) for loss in losses)
    kept = power > 0.0
    return LatticeSum(
        values[kept],
        power[kept],
        (3.0 * LOSS_ULPS + 8.0) * UNIT * reach,
        error * (1.0 + 1e-6) + 4.0 * UNIT,
        lost * (1.0 + 1e-6),
    )


def _trimmed(masses: Array) -> tuple[Array, float]:
    """Leave out masses too small to multiply, and return their sum."""
    tiny = masses < SMALLEST
    return np.where(tiny, 0.0, masses), float(masses[tiny].sum()) * (1.0 + 1e-6)


MAX_OUTCOMES = 3_000_000
# Sums of two values are formed at once, one after the other for each number of draws of the others.
MOST_SUMS = 200_000
# Units of work for one of these, and for one outcome.
PER_SUM, PER_OUTCOME = 500.0, 2.0
# Laws of more values are not composed here: the recursion goes one level down for each.
MOST_VALUES = 60
# Below this a mass is on its way out of the normal range of doubles.
SMALLEST_MASS = 1e-306


@record
class Outcomes:
    """A finite law of the total loss.

    Attributes:
        losses: values.
        masses: P-masses.
        loss_error: absolute error of each value, at most.
        mass_error: relative error of each mass, at most.
        dropped: P-mass left out, at most.
    """

    losses: Array
    masses: Array
    loss_error: float
    mass_error: Array
    dropped: float

    def source(self) -> Listed:
        """Return what proves brackets of delta: the outcomes sorted, masses rounded either way."""
        order = np.argsort(self.losses, kind="stable")
        losses, masses = self.losses[order], self.masses[order]
        error = self.mass_error[order] + 4.0 * UNIT
        least = np.maximum(masses * (1.0 - error), 0.0)
        return Listed(
            Proof.ENUMERATION,
            Side(losses, masses * (1.0 + error), self.loss_error, lost=self.dropped),
            Side(losses, least, self.loss_error),
        )


def enumerate_outcomes(composition: Composition) -> Outcomes | None:
    """Return the law of the total loss, or None where a law is not finite or it is too large."""
    listed = []
    for known, count in composition:
        # One use by itself has a profile of its own.
        law = known
        if isinstance(known, ProvedLaw) and not composition.has_exact_single_use_profile:
            law = known.atoms
        if not isinstance(law, AtomicLaw) or not law.losses:
            return None
        listed.append((law, count))
    total: Outcomes | None = None
    for law, count in listed:
        part = _uses(law, count)
        if part is None:
            return None
        if total is None:
            total = part
        elif len(total.losses) * len(part.losses) > MAX_OUTCOMES:
            return None
        else:
            total = _product(total, part)
    return total


def _uses(law: AtomicLaw, count: int) -> Outcomes | None:
    """Return the law of `count` uses, or None where it has too many outcomes.

    Three or more values on a lattice have far fewer distinct sums than draws. What would take more
    than half of the work that is left is left to the other engines.
    """
    if count > 1 and len(law.losses) > 2:
        power = lattice_power(law.losses, law.masses, count)
        if power is not None:
            error = np.full(len(power.losses), power.mass_error)
            return Outcomes(power.losses, power.masses, power.loss_error, error, power.dropped)
    if not _feasible(law, count):
        return None
    if count > 1 and len(law.losses) > 2:
        cost = _cost(len(law.losses), count)
        if cost > 0.5 * work.left():
            return None
        work.charge(cost)
    return _self_composed(law.losses, law.masses, count, law.infinity_mass)


def _feasible(law: AtomicLaw, count: int) -> bool:
    values = len(law.losses)
    if count == 1:
        return values <= MAX_OUTCOMES
    if values > MOST_VALUES:
        return False
    if values <= 2:
        share = law.masses[0] / math.fsum(law.masses)
        deviation = math.sqrt(count * share * max(1.0 - share, 0.0))
        return min(count, 80.0 * deviation) < MAX_OUTCOMES
    if count >= 10**7 or math.comb(count + values - 2, values - 2) > MOST_SUMS:
        return False
    return math.comb(count + values - 1, values - 1) <= MAX_OUTCOMES


def _cost(values: int, count: int) -> float:
    """Return the work of forming all sums of so many values."""
    sums = math.comb(count + values - 2, values - 2)
    return PER_SUM * sums + PER_OUTCOME * math.comb(count + values - 1, values - 1)


def _product(a: Outcomes, b: Outcomes) -> Outcomes:
    losses = np.add.outer(a.losses, b.losses).ravel()
    masses = np.multiply.outer(a.masses, b.masses).ravel()
    small = (masses > 0.0) & (masses < SMALLEST_MASS)
    lost = int((masses < SMALLEST_MASS).sum()) * SMALLEST_MASS
    error = a.loss_error + b.loss_error + 2.0 * UNIT * float(np.abs(losses).max(initial=0.0))
    return Outcomes(
        losses,
        np.where(small, 0.0, masses),
        error,
        np.add.outer(a.mass_error, b.mass_error).ravel() * (1.0 + 1e-6) + 2.0 * UNIT,
        a.dropped + b.dropped + lost,
    )


def _self_composed(
    losses: tuple[float, ...], masses: tuple[float, ...], count: int, infinity_mass: float
) -> Outcomes:
    """Return the law of the sum of `count` draws; the masses sum to 1 - infinity_mass."""
    if len(losses) == 1:
        loss, log_mass = count * losses[0], count * math.log(masses[0])
        shift = (LOSS_ULPS + 2.0) * UNIT * abs(loss)
        slack = UNIT * (count * (MASS_ULPS + 4.0) + 4.0 * abs(log_mass) + 4.0)
        values = np.array([loss])
        return Outcomes(values, np.array([math.exp(log_mass)]), shift, np.array([slack]), 0.0)
    if count == 1:
        size = max(abs(loss) for loss in losses)
        relative = np.full(len(losses), (MASS_ULPS + 2.0) * UNIT)
        return Outcomes(np.array(losses), np.array(masses), LOSS_ULPS * UNIT * size, relative, 0.0)
    rest = math.fsum(masses[1:])
    k, weight, error, dropped = _binomial(count, masses[0], rest, infinity_mass)
    if len(losses) == 2:
        other = count - k
        values = k * losses[0] + other * losses[1]
        scale = float((k * abs(losses[0]) + other * abs(losses[1])).max())
        return Outcomes(values, weight, (LOSS_ULPS + 4.0) * UNIT * scale, error, dropped)
    parts = []
    for draws, mass, slack in zip(k, weight, error, strict=True):
        left = count - int(draws)
        if left == 0:
            tail = Outcomes(np.zeros(1), np.ones(1), 0.0, np.zeros(1), 0.0)
        else:
            conditional = tuple(m / rest for m in masses[1:])
            tail = _self_composed(losses[1:], conditional, left, 0.0)
        values = tail.losses + draws * losses[0]
        wrong = tail.loss_error + (LOSS_ULPS + 4.0) * UNIT * (
            draws * abs(losses[0]) + float(np.abs(values).max())
        )
        relative = tail.mass_error + slack + UNIT * (4.0 + 4.0 * left * (len(masses) + 2.0))
        parts.append((values, tail.masses * mass, wrong, relative, tail.dropped * mass))
    return Outcomes(
        np.concatenate([p[0] for p in parts]),
        np.concatenate([p[1] for p in parts]),
        max(p[2] for p in parts),
        np.concatenate([p[3] for p in parts]),
        dropped + math.fsum(p[4] for p in parts),
    )


def _binomial(
    count: int, p: float, rest: float, infinity_mass: float
) -> tuple[Array, Array, Array, float]:
    """Return k, masses C(n, k) p^k rest^(n - k), their relative errors, and the mass left out.

    The masses sum to (1 - infinity_mass)^n. A step of the recurrence is off by 4 units and by the
    2 MASS_ULPS of the ratio p / rest; dividing by the sum adds the mean of these, bounded by the
    largest step distance that carries weight (the sum's own relative error is at most the
    weighted mean of the errors of its terms). Beyond the window the masses fall at least
    geometrically, because the ratios decrease away from the mode.
    """
    mode = min(count, max(0, math.floor((count + 1) * (p / (p + rest)))))
    deviation = math.sqrt(count * p * rest) / (p + rest)
    width = math.ceil(40.0 * deviation) + 60
    low, high = max(0, mode - width), min(count, mode + width)
    up_k = np.arange(mode, high, dtype=np.float64)
    up = np.cumprod((count - up_k) / (up_k + 1.0) * (p / rest))
    down_k = np.arange(mode, low, -1, dtype=np.float64)
    down = np.cumprod(down_k / (count - down_k + 1.0) * (rest / p))
    k = np.arange(low, high + 1, dtype=np.float64)
    relative = np.concatenate([down[::-1], [1.0], up])
    total = float(relative.sum())
    distance = np.abs(k - mode)
    per_step = (2.0 * MASS_ULPS + 6.0) * UNIT
    mean_error = float((relative * distance).sum()) / total * per_step
    log_scale = count * math.log1p(-infinity_mass)
    scale = math.exp(log_scale)
    scale_error = UNIT * ((MASS_ULPS + 8.0) * abs(log_scale) + 8.0)
    error = distance * per_step + 1.01 * mean_error + SUM_ULPS * UNIT + scale_error
    outside = 0.0
    if high < count:
        ratio = (count - high) / (high + 1.0) * (p / rest)
        last = max(float(relative[-1]), SMALLEST_MASS)
        outside += last * ratio / (1.0 - ratio) if ratio < 1.0 else math.inf
    if low > 0:
        ratio = low / (count - low + 1.0) * (rest / p)
        first = max(float(relative[0]), SMALLEST_MASS)
        outside += first * ratio / (1.0 - ratio) if ratio < 1.0 else math.inf
    masses = relative / total * scale
    # Near the end of the range relative errors no longer hold: such masses are left out. Where
    # `relative` itself is that small, so is the mass, as total >= 1 >= scale.
    tiny = masses < SMALLEST_MASS
    lost = (outside / total * scale + int(tiny.sum()) * SMALLEST_MASS) * (1.0 + 1e-6) + 1e-322
    return k, np.where(tiny, 0.0, masses), error, lost
