"""Loss laws with finitely many values: randomised response, (epsilon, delta) pairs, samples."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.losses.atomic.phases import NearOne, TiltedPhases, tilted
from privcalc.losses.atomic.renyi import atomic_renyi
from privcalc.losses.concentration import pure_mu
from privcalc.losses.contour import ContourLaw
from privcalc.losses.log_ratio import LogRatio
from privcalc.losses.rare import Measure
from privcalc.losses.tails import Tails
from privcalc.numerics.arrays import log1p_with_error, vertical
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray, Integers
    from privcalc.renyi.curve import RenyiCurve


# exp(-700) is still a normal double.
LARGEST_EPSILON = 700.0
# Mechanisms form losses to 32 units and masses to 20; sampling them may double the former.
LOSS_ULPS = 160.0
MASS_ULPS = 32.0
# With more atoms an order costs more than a closed form.
CHEAP_ATOMS = 2000
# More atoms than this cannot all be put on a lattice of the FFT engine.
MOST_ANCHORS = 64
# Searches look at no more groups of losses.
MOST_GROUPS, SMALL = 4000, 0.01
# Complex numbers that are formed at once.
AT_ONCE = 1_000_000
NOTHING = Enclosed(Fraction(0), Fraction(0))


@record
class AtomicLaw(Measure):
    """Finite losses with their P-masses; what is missing to 1 is `infinity_mass`.

    Losses and masses are accurate to `loss_units` and `MASS_ULPS` units in the last place.

    Attributes:
        losses: distinct finite values of L.
        masses: P-mass of each, positive.
        infinity_mass: P(L = +inf).
        lower_infinity_mass: Q(L = -inf).
        loss_units: relative error of the losses, at most LOSS_ULPS units; 0 if they are exact.
        lower_masses: Q-mass of each finite loss, where sampling may need it.
        infinity_mass_error: relative error of `infinity_mass`.
        known_loss: the largest loss itself, where it is known but no double.
        known_mass: `infinity_mass` itself, where it is known but no double.
        sharper_curve: see `LossLaw`.
        log_dropped_mass: log of a bound on the P-mass of outcomes that were left out, and on their
            Q-mass.
    """

    losses: tuple[float, ...]
    masses: tuple[float, ...]
    infinity_mass: float = 0.0
    lower_infinity_mass: float = 0.0
    loss_units: float = LOSS_ULPS
    lower_masses: tuple[float, ...] = ()
    infinity_mass_error: float = 0.0
    known_loss: Fraction | None = None
    known_mass: Fraction | None = None
    sharper_curve: RenyiCurve | None = None
    log_dropped_mass: float = -math.inf

    everywhere = True
    comes_back = True

    @property
    def max_loss_error(self) -> float:
        """Return the error of the losses; 0 for the very doubles they should be."""
        return self.loss_units * UNIT

    @property
    def max_loss(self) -> float:
        """Return the largest finite loss; -inf where every loss is infinite."""
        return max(self.losses, default=-math.inf)

    @property
    def outcomes(self) -> int:
        """Return the number of finite losses."""
        return len(self.losses)

    @cached_property
    def columns(self) -> tuple[Array, Array]:
        """The losses and their masses."""
        return np.array(self.losses), np.array(self.masses)

    @cached_property
    def _single(self) -> tuple[Array, Array, Array]:
        """The losses, with log masses and no variance."""
        losses, masses = self.columns
        return losses, np.log(masses), np.zeros(len(losses))

    @cached_property
    def _grouped(self) -> tuple[Array, Array, Array]:
        """Means, log masses and variances of groups of neighbouring losses, at most so many."""
        losses, masses = self.columns
        size = -(-len(losses) // MOST_GROUPS)
        if size <= 1:
            return self._single
        order, starts = np.argsort(losses, kind="stable"), np.arange(0, len(losses), size)
        ordered, weights = losses[order], masses[order]
        total = np.add.reduceat(weights, starts)
        mean = np.add.reduceat(weights * ordered, starts) / total
        away = (ordered - np.repeat(mean, size)[: len(losses)]) ** 2
        return mean, np.log(total), np.add.reduceat(weights * away, starts) / total

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K, K' and K'' at c, relative to the largest term: the last atom may be faint.

        Where c^2 v is small, a group with variance v has all but e^{cm} (1 + c^2 v / 2) about its
        mean m.
        """
        if not self.losses:
            return -math.inf, 0.0, 0.0
        losses, masses = self.columns
        means, log_masses, spreads = self._grouped
        if not c * c * float(spreads.max()) < SMALL:
            means, log_masses, spreads = self._single
        exponents = log_masses + c * means + np.log1p(0.5 * c * c * spreads)
        top = float(exponents.max())
        tilted = np.exp(exponents - top)
        total = float(tilted.sum())
        centres = means + c * spreads
        mean = float(tilted @ centres) / total
        variance = float(tilted @ ((centres - mean) ** 2 + spreads)) / total
        if abs(c * self.max_loss) < 1.0 and self.log_dropped_mass == -math.inf:
            m1 = float((masses * np.expm1(c * losses)).sum()) - self.infinity_mass
            if m1 > -0.5:
                return math.log1p(m1), mean, variance
        return top + math.log(total), mean, variance

    @property
    def cheap_orders(self) -> bool:
        """Whether there are few atoms."""
        return len(self.losses) <= CHEAP_ATOMS

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by sums of non-negative terms (`losses/atomic/renyi.py`).

        The mass Q(L = -inf) is taken to be as exact as other masses, and as P(L = inf).
        """
        error = self.infinity_mass_error
        return atomic_renyi(
            c,
            *self.columns,
            infinity=(self.infinity_mass, error),
            lower_infinity=(self.lower_infinity_mass, error + MASS_ULPS * UNIT),
            units=(self.loss_units, MASS_ULPS),
        )

    @cached_property
    def symmetric(self) -> bool:
        """Whether losses -l with the Q-masses of l are these losses with these masses."""
        if self.infinity_mass or self.lower_infinity_mass or self.log_dropped_mass > -math.inf:
            return False
        back = zip((-loss for loss in self.losses), self.lower_masses, strict=False)
        return dict(back) == dict(zip(self.losses, self.masses, strict=True))

    @property
    def backward(self) -> AtomicLaw | None:
        """Return minus the losses with the Q-masses.

        The mass Q(L = -inf) is taken to be as exact as other masses, and as P(L = inf).
        """
        if self.symmetric or not self.lower_masses:
            return self if self.symmetric else None
        return AtomicLaw(
            tuple(-loss for loss in self.losses),
            self.lower_masses,
            self.lower_infinity_mass,
            self.infinity_mass,
            self.loss_units,
            self.masses,
            self.infinity_mass_error + MASS_ULPS * UNIT,
            log_dropped_mass=self.log_dropped_mass,
        )

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return the mu that any pair with such a bounded loss has."""
        if self.infinity_mass > 0.0 or self.lower_infinity_mass > 0.0:
            return 0.0, math.inf
        largest = max(abs(loss) for loss in self.losses)
        return 0.0, pure_mu(largest * (1.0 + self.max_loss_error))

    def near_one(self, c: float) -> NearOne:
        """Return M - 1 on Re s = c, from what is missing to 1 but for the masses."""
        left_out = math.exp(self.log_dropped_mass)
        missing = self.infinity_mass * self.infinity_mass_error + left_out
        return NearOne.of(
            *self.columns,
            c,
            (self.infinity_mass, missing),
            (self.loss_units, MASS_ULPS),
        )

    def tilted(self, c: float) -> tuple[TiltedPhases, float, float, float]:
        """Return the phases at c; the log of the mass, with a bound on its error; the mean."""
        losses, masses = self.columns
        return tilted(losses, masses, c, loss_units=self.loss_units, mass_units=MASS_ULPS)

    def on_contour(self, c: float, t_max: float, log_error: float) -> ContourLaw:
        """Fix the abscissa; the sum is exact for every t."""
        del t_max, log_error
        return AtomicContour(self, c)

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points."""
        losses, masses = self.columns
        value: ComplexArray = np.log(np.exp(np.outer(z, losses)) @ masses)
        return value

    @property
    def anchors(self) -> tuple[float, ...]:
        """Return the losses themselves, unless there are many."""
        return tuple(sorted(self.losses)) if len(self.losses) <= MOST_ANCHORS else ()

    def tails(self, losses: Array) -> Tails:
        """Return sums of masses from either end; each sum of n terms is off by n units at most.

        So are those between neighbours, which have few terms where there are many losses.
        """
        values, p, q, *sums = self._sums
        index = np.searchsorted(values, losses, side="right")
        size = float(np.abs(values).max(initial=0.0))
        above_p, above_q, below_p, below_q = (each[index] for each in sums)
        units = MASS_ULPS + 4.0 + (LOSS_ULPS + 2.0) * size
        return Tails(
            above_p,
            above_q,
            below_p,
            below_q,
            error=UNIT * (units + len(values)),
            shift=self.loss_units * UNIT * size,
            between_p=_between(p, index),
            between_q=_between(q, index),
            between_error=UNIT * (units + np.diff(index)),
        )

    @cached_property
    def _sums(self) -> tuple[Array, ...]:
        """The losses in order, P- and Q-masses, and these above and below."""
        order = np.argsort(self.columns[0])
        values, p = (column[order] for column in self.columns)
        q = np.array(self.lower_masses)[order] if self.lower_masses else p * np.exp(-values)
        return values, p, q, _sums(p[::-1])[::-1], _sums(q[::-1])[::-1], _sums(p), _sums(q)

    def log_ratio(self) -> LogRatio | None:
        """Return log dQ/dP under P: the losses with their signs changed, and the singular parts."""
        if not self.lower_masses and self.losses:
            return None
        return LogRatio(
            atoms=tuple(
                (-loss, mass, other)
                for loss, mass, other in zip(
                    self.losses, self.masses, self.lower_masses, strict=True
                )
            ),
            without_only=self.infinity_mass,
            with_only=self.lower_infinity_mass,
        )


@record
class AtomicContour(ContourLaw):
    """An atomic law on Re s = c."""

    law: AtomicLaw
    c: float

    @property
    def size(self) -> int:
        """Return the number of atoms."""
        return len(self.law.losses)

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return log of sum p e^{zl}, relative to its value at the largest loss.

        With l = top + l', sum p e^{zl} = e^{z top} (1 + sum p expm1(z l') - infinity_mass). The
        moduli in the sum are at most 2 p min(2, |z l'|), off by MASS_ULPS + 8 units; l' is off by
        LOSS_ULPS units of |l| + |top|, and |d expm1(z l') / dl'| <= |z| as Re z l' <= 0. The
        mass at infinity is off by its error.
        """
        law = self.law
        if law.log_dropped_mass > -math.inf:
            return law.near_one(self.c).log_mgf(t)
        rows = max(1, AT_ONCE // max(1, self.size))
        if len(t) > rows:
            parts = [self.log_mgf(t[i : i + rows]) for i in range(0, len(t), rows)]
            return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
        z = vertical(self.c, t)
        top = law.max_loss
        shifted = np.array(law.losses) - top
        masses = np.array(law.masses)
        exponent = np.outer(z, shifted)
        value = np.expm1(exponent) @ masses - law.infinity_mass
        size = np.abs(exponent)
        terms = 2.0 * np.minimum(size, 2.0) * (MASS_ULPS + len(masses) + 8.0)
        spread = float((masses * (np.abs(shifted + top) + abs(top))).sum()) * (LOSS_ULPS + 4.0)
        error = UNIT * (terms @ masses + np.abs(z) * spread + 4.0 * law.infinity_mass)
        error = error + law.infinity_mass * law.infinity_mass_error
        log_value, log_error = log1p_with_error(value, error)
        shift_error = (LOSS_ULPS + 4.0) * UNIT * np.abs(z) * abs(top)
        return log_value + z * top, log_error + shift_error


def _sums(masses: Array) -> Array:
    """Return the sums of the first 0, 1, ... masses."""
    return np.concatenate([[0.0], np.cumsum(masses)])


def _between(masses: Array, index: Integers) -> Array:
    """Return the sums of the masses from each place up to the next."""
    sums = np.add.reduceat(np.append(masses, 0.0), index)[:-1]
    found: Array = np.where(np.diff(index) > 0, sums, 0.0)
    return found


def two_point(epsilon: Enclosed, infinity_mass: Enclosed = NOTHING) -> AtomicLaw:
    """Return the law of the Kairouz-Oh-Viswanath pair of an (epsilon, delta) guarantee.

    Loss +inf with probability delta; otherwise epsilon with probability e^eps / (1 + e^eps) and
    -epsilon with the rest. The pair is symmetric, so Q(L = -inf) is delta as well.

    Where epsilon is known and no double, e^epsilon is corrected to first order. Where it, or delta,
    is one of many numbers, the masses are off by epsilon and delta / (1 - delta) units more: which
    is for the caller to keep small.
    """
    value, error, known = epsilon.nearest()
    if value > LARGEST_EPSILON:
        raise DomainError(
            f"epsilon must be <= {LARGEST_EPSILON:g}, got {value!r}: beyond it the probabilities"
            " of the pair underflow"
        )
    mass, mass_error, known_mass = infinity_mass.nearest()
    moved = 0.0 if known is None else float(known - Fraction(value))
    down = 1.0 / (1.0 + math.exp(value) * (1.0 + moved))
    up = 1.0 / (1.0 + math.exp(-value) * (1.0 - moved))
    finite = float(1 - (infinity_mass.low + infinity_mass.high) / 2)
    if finite == 0.0:
        return AtomicLaw((), (), 1.0, 1.0)
    sides: tuple[float, ...] = (value, -value)
    both: tuple[float, ...] = (up * finite, down * finite)
    if value == 0.0:
        sides, both = (0.0,), (finite,)
    return AtomicLaw(
        sides,
        both,
        mass,
        mass,
        loss_units=error / UNIT,
        lower_masses=both[::-1],
        infinity_mass_error=mass_error,
        known_loss=known,
        known_mass=known_mass,
    )
