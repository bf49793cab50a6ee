"""What a mixture of normal laws brings to quadrature in the output, and where to cut it.

R is N(0, 1), and the mixture is (1 - rate) R + rate W with rate = 1 - b_0.

In the output z, N(0, 1) under R, 1 + y = r = sum_j b_j e^{t_j}, t_j = c_j z - c_j^2 / 2
(`mixture_sums.py`). On |Im z| <= d, Re z in [low, high]: |r| <= r(high); Re e^{t_j} is at least
e^{t_j(Re z)} cos(c_j d), so that Re r >= p(low) - n(high), p the terms with a positive cosine and n
the others by their moduli. Im r <= sum b_j e^{t_j(high)} sin(min(c_j d, pi / 2)). Where all cosines
are positive, the quotient of the sums with sines and cosines is a mean of tan(c_j d), whose weights
move to larger j as z grows: so tan |arg r| is at most that quotient at `high`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import Piece
from privcalc.losses.quadrature.contour import QuadratureContour
from privcalc.losses.quadrature.cuttable import Cuttable
from privcalc.losses.quadrature.part import Outcomes, Part, Range
from privcalc.losses.sampled.edged import Atoms, Edged, EdgedLaw, Powers
from privcalc.numerics.rounding import FUNCTION_ULPS, MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.sampled.mixture_sums import ExponentialSum
    from privcalc.numerics.arrays import Array

# Stands for a bound that is not known: its exponential is infinite, 0 times it is not.
UNKNOWN = 1e300
# Work for each term of r on each ellipse, that of the distance of r from 1 included.
PER_TERM = 2.0


@record
class MixturePart(Part):
    """Outputs between two ends, with their loss log r."""

    density: Piece
    low: float
    high: float
    ratio: ExponentialSum

    def factors(
        self, low: Array, high: Array, height: Array, exponent: float, *, path: bool
    ) -> list[tuple[float, Range]]:
        """Return r, to the power that is asked for.

        Re r > 0 makes 1 + s y, s in [0, 1], lie between 1 and r, and turn less.
        """
        centres = self.ratio.centres
        angle = np.minimum(np.asarray(height)[..., None] * centres, math.pi)
        cosine, sine = np.cos(angle), np.sin(np.minimum(angle, 0.5 * math.pi))
        down, up = self._powers(low), self._powers(high)
        charge(PER_TERM * down.size)
        positive = cosine > 0.0
        smallest = np.where(positive, down * cosine, up * cosine).sum(axis=-1)
        real = np.where(positive.all(axis=-1), (up * cosine).sum(axis=-1), smallest)
        known = smallest > 0.0
        turn = np.where(known, np.arctan2((up * sine).sum(axis=-1), real), UNKNOWN)
        log_largest = np.where(known, np.log(up.sum(axis=-1)), UNKNOWN)
        log_smallest = np.where(known, np.log(np.where(known, smallest, 1.0)), -UNKNOWN)
        if path:
            log_largest, log_smallest = np.maximum(0.0, log_largest), np.minimum(0.0, log_smallest)
        return [(exponent, Range(log_largest, log_smallest, turn))]

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Bound |r - 1|."""
        return self.ratio.log_distance(low, high, height)

    def outcomes(self, x: Array, log_weights: Array, reach: Array, exponent: float) -> Outcomes:
        """Return the outcomes at nodes, which are off by 2 units of their reach.

        The error of the loss l includes that. y is off by 1 + 1 / |l| times as much, relatively,
        and l^k in the series of the remainder by k / |l| times: by 3 times 2 / |l| for the first
        few k, which are all that count.
        """
        density = self.density
        loss, wrong = self.ratio.losses(x, 2.0 * UNIT * reach)
        wrong = wrong / UNIT
        jitter = 10.0 * (density.terms(x) + np.abs(log_weights) + 1.0)
        jitter = jitter + 2.0 * reach * np.abs(density.log_slope(x))
        share = abs(exponent) + 1.0 + 2.0 / np.maximum(np.abs(loss), 1e-150)
        with np.errstate(over="ignore"):
            y = np.expm1(loss)
        log_w = log_weights + density.log_density(x)
        return Outcomes(log_w, y, loss, jitter + share * wrong, wrong)

    def tilted(self, x: Array, exponent: float) -> tuple[Array, list[Array]]:
        """Return log h, h = f r^a / s with the slope s of log r, and the terms of its slope.

        s is the mean of c_j with the weights b_j e^{t_j}; (log s)' = s' - s with the mean s' by the
        weights c_j b_j e^{t_j}. Both means increase, as the weights move to larger j.
        """
        centres, powers = self.ratio.centres, self._powers(x)
        first = powers @ centres
        slope, second = first / powers.sum(axis=-1), (powers @ centres**2) / first
        loss = self.ratio.losses(x, np.zeros(x.shape))[0]
        log_h = self.density.log_density(x) + exponent * loss - np.log(slope)
        return log_h, [self.density.log_slope(x) - second, (exponent + 1.0) * slope]

    def _powers(self, x: Array) -> Array:
        """Return b_j e^{t_j} at each x, in a last axis."""
        centres = self.ratio.centres
        exponents = np.asarray(x)[..., None] * centres - 0.5 * centres * centres
        powers: Array = np.exp(self.ratio.log_weights + exponents)
        return powers


STANDARD = Piece.normal(0.0, 1.0)
NOTHING = Outcomes(*(np.zeros(0) for _ in Outcomes._fields))
# Of larger mixtures, and losses that grow faster, panels would be too narrow; on shifted lines the
# latter overflow.
LARGEST_GROUP, FARTHEST, FARTHEST_LINES = 40, 20.0, 10.0


class CutMixture(Cuttable, EdgedLaw):
    """A pair of N(0, 1) and a mixture of unit normal laws to its right."""

    __slots__ = ()

    log_mass: float

    @property
    @abstractmethod
    def ratio(self) -> ExponentialSum:
        """Return the mixture's density over that of N(0, 1)."""

    @property
    @abstractmethod
    def weight_error(self) -> float:
        """Return the relative error of the weights."""

    @property
    def small(self) -> bool:
        """Whether there are few terms, and the weight of the last does not underflow."""
        weights = self.ratio.log_weights
        return len(weights) <= LARGEST_GROUP and self.farthest <= FARTHEST and weights[-1] > -700.0

    @property
    def cuttable(self) -> bool:
        """Whether it is small, and has outputs that the record does not touch."""
        return self.small and self.rate < 1.0

    @property
    def lines(self) -> bool:
        """Whether losses do not grow too fast."""
        return self.farthest <= FARTHEST_LINES

    @property
    def everywhere(self) -> bool:
        """Whether shifted lines know the density."""
        return self.cuttable and self.lines

    still = 0.0

    def edged(self, c: float) -> Edged:
        """Return the density to the power (1 + y)^(c + 1), or (1 + y)^-c."""
        exponent, sign = (c + 1.0, 1.0) if self.remove else (-c, -1.0)
        atoms = Atoms.of(NOTHING, exponent, sign)
        densities = tuple(Powers(part, exponent, sign) for part in self.parts())
        return Edged(atoms, densities, self.variation(exponent))

    @property
    def normal(self) -> Piece:
        """Return N(0, 1)."""
        return STANDARD

    @property
    def farthest(self) -> float:
        """Return the largest c_j."""
        return float(self.ratio.centres[-1])

    @property
    def log_dropped_mass(self) -> float:
        """Return the log of a bound on the P-mass outside of `ends`."""
        return self.log_mass + 1e-9

    @property
    def ends(self) -> tuple[float, float]:
        """Return ends with at most e^{log_mass} of P outside.

        P(N > z) <= e^{-z^2 / 2} / 2. On the left the mixture has less mass than N(0, 1), on the
        right sum_j b_j P(N > high - c_j): each of the two or 2 + k parts gets its share.
        """
        ratio = self.ratio
        share = self.log_mass - math.log(len(ratio.log_weights) + 2.0)
        z = _quantile(share)
        if not self.remove:
            return -z, z
        parts = zip(ratio.centres.tolist(), ratio.log_weights.tolist(), strict=True)
        return -z, max(z, *(c + _quantile(share - log_b) for c, log_b in parts))

    def parts(self, below: float = math.inf) -> tuple[MixturePart, ...]:
        """Return the outputs after the cut, and up to a y."""
        low, high = self.ends
        if below < math.inf:
            top = self.place(math.log1p(below)) if below > -self.rate else low
            high = min(high, top)
        return (self.between(low, high),)

    def atom_outcomes(self, exponent: float, below: float = math.inf) -> Outcomes:
        """Return none."""
        del exponent, below
        return NOTHING

    def on_contour(self, c: float, t_max: float, log_error: float) -> QuadratureContour:
        """Build certified nodes for |t| <= t_max.

        Raises:
            NotCertifiedError: the group is too large.
        """
        if not self.small:
            raise NotCertifiedError("the mixture is too large for certified quadrature")
        return QuadratureContour(self, c, self.nodes(c, t_max, log_error, remove=self.remove))

    def outside(self) -> tuple[float, float]:
        """Return the masses outside of the cut, under R and W."""
        low, high = self.ends
        root = math.sqrt(2.0)
        r = 0.5 * math.erfc(-low / root) + 0.5 * math.erfc(high / root)
        w = self.tail_of_w(low, right=False)[0] + self.tail_of_w(high, right=True)[0]
        return r, w

    def between(self, low: float, high: float) -> MixturePart:
        """Return the outputs between two places."""
        return MixturePart(STANDARD, low, high, self.ratio)

    def losses(self, x: Array) -> tuple[Array, Array, Array]:
        """Return y, log(1 + y), and a bound on the latter's error."""
        loss, wrong = self.ratio.losses(x, np.zeros(x.shape))
        with np.errstate(over="ignore"):
            return np.expm1(loss), loss, wrong

    def tail_of_w(self, x: float, *, right: bool) -> tuple[float, float]:
        """Return the W-mass on one side of a place, and its relative error.

        The arguments x - c_j are off by 5 units of c_j and 2 of themselves, 1 / 2^{1/2} included:
        tails by 1 + max(z, 0) times that; the weights and their logs by their errors, exp by 4
        units, the rate by 16; the sum by a unit a term.
        """
        ratio, sign = self.ratio, 1.0 if right else -1.0
        total = worst = 0.0
        for c, log_b in zip(
            ratio.centres[1:].tolist(), ratio.log_weights[1:].tolist(), strict=True
        ):
            z = sign * (x - c)
            total += math.exp(log_b) * 0.5 * math.erfc(z / math.sqrt(2.0))
            worst = max(worst, (1.0 + max(z, 0.0)) * (6.0 * c + 4.0 * abs(z)))
        error = float(ratio.weight_errors.max()) + self.weight_error
        error += UNIT * (2.0 * FUNCTION_ULPS + 32.0 + len(ratio.centres) + worst)
        return total / self.rate, error * MARGIN

    def place(self, level: float) -> float:
        """Return about the output whose loss is a level above the floor, by halving."""
        target = np.log(np.expm1(level) + self.rate) if level < 600.0 else level
        ratio = self.ratio
        centres, logs = ratio.centres[1:], ratio.log_weights[1:]
        # Where a single term reaches the level; the sum does before.
        high = float(((target - logs + 0.5 * centres**2) / centres).min())
        low = high - math.log(len(centres) + 1.0) / float(centres[0]) - 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            exponents = logs + centres * middle - 0.5 * centres**2
            if float(np.logaddexp.reduce(exponents)) < target:
                low = middle
            else:
                high = middle
        return 0.5 * (low + high)

    def variance(self, largest: float) -> float:
        """Return the sum of b_i b_j (e^{c_i c_j} - 1)."""
        ratio = self.ratio
        weights = np.exp(ratio.log_weights)
        products = np.minimum(np.multiply.outer(ratio.centres, ratio.centres), largest)
        return float(weights @ np.expm1(products) @ weights)


def _quantile(log_tail: float) -> float:
    """Return z >= 0 with e^{-z^2 / 2} / 2 <= e^{log_tail}."""
    return math.sqrt(max(0.0, -2.0 * (log_tail + math.log(2.0)))) * (1.0 + 1e-14)
