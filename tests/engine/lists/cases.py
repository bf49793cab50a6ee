"""What the tests of lists share: small lists, and exact profiles of lists."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp, mpf

from privcalc.engine.lists.losses import Lattice, LossList, Tilted
from privcalc.engine.lists.spread import Spread
from privcalc.record import replace

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

    Terms = list[tuple[LossList, int]]


def gaussian_delta(epsilon: float, mu: float = 1.0) -> float:
    """Return the profile of Gaussian noise, in 30 digits."""
    with mp.workdps(30):
        m, e = mpf(mu), mpf(epsilon)
        return float(mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m))


def laplace_delta(e: float, epsilon: float) -> float:
    """Return that of the Laplace mechanism, also at negative epsilon."""
    if epsilon >= e:
        return 0.0
    return -math.expm1(epsilon) if epsilon <= -e else -math.expm1((epsilon - e) / 2.0)


def delta_of(found: LossList, epsilon: float, moved: float = 0.0) -> float:
    """Return what a list has of delta, with all losses moved."""
    gaps = found.lattice.points + moved - epsilon
    return float((found.masses * -np.expm1(-np.maximum(gaps, 0.0))).sum())


def above(found: LossList, epsilon: float) -> float:
    """Return what one use of a list proves from above."""
    return delta_of(found, epsilon, found.slack) + found.lost


def below(found: LossList, epsilon: float, c: float = 1.0) -> float:
    """Return what it proves from below, its errors as sums of e (e^l / e^epsilon)^c."""
    points = found.lattice.points - found.slack
    spread = Spread(found.variance)
    y = points - epsilon
    gap = float((found.masses * spread.at(y) * np.exp(-0.5 * y)).sum()) if found.variance else 0.0
    off = float((found.errors * np.exp(c * (points - epsilon))).sum())
    return delta_of(found, epsilon, -found.slack) - gap - off


def weights_of(weights: list[float], c: float = 0.0, **more: Any) -> Tilted:
    """Return a tilted list at the losses 0, 1, 2, ..."""
    lattice = Lattice(Fraction(0), Fraction(1), 0, len(weights))
    return replace(Tilted(c, lattice, np.array(weights), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), **more)


def composed(terms: Terms, epsilon: float) -> Any:
    """Return delta of a composition of lists by convolution in 40 digits."""
    with mp.workdps(40):
        masses, first, origin = [mpf(1)], 0, Fraction(0)
        for found, count in terms:
            own = [mpf(float(m)) for m in found.masses]
            for _ in range(count):
                sums = [mpf(0)] * (len(masses) + len(own) - 1)
                for i, m in enumerate(masses):
                    for j, w in enumerate(own):
                        sums[i + j] += m * w
                masses, first = sums, first + found.lattice.first
                origin += found.lattice.origin
        step = terms[0][0].lattice.step
        start = mpf(origin.numerator) / origin.denominator
        gap = mpf(step.numerator) / step.denominator
        losses = (start + gap * (first + k) for k in range(len(masses)))
        payoffs = (max(mpf(0), 1 - mp.exp(mpf(epsilon) - x)) for x in losses)
        return mp.fsum(m * p for m, p in zip(masses, payoffs, strict=True))


def random_list(rng: np.random.Generator, step: Fraction, size: int) -> LossList:
    """Return a list of so many masses that are taken to be exact."""
    masses: Array = rng.dirichlet(np.full(size, 0.5))
    lattice = Lattice(Fraction(int(rng.integers(-5, 5)), 7), step, int(rng.integers(-4, 2)), size)
    nothing = np.zeros(size)
    return LossList(lattice, masses, nothing, nothing, 0.0, 0.0, 0.0)
