"""What a mixture of normal laws brings to quadrature in the output, and where to cut it.

R is N(0, 1), and the mixture is (1 - rate) R + rate W with rate = 1 - b_0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import LawProperties, Piece
from privcalc.losses.quadrature import QuadratureContour
from privcalc.losses.quadrature_nodes import WeightedLosses
from privcalc.losses.sampled.cut import AtomPowers, Atoms, Edged, EdgedLaw, TailSplitLaw
from privcalc.losses.sampled.parts import MixturePart
from privcalc.numerics.rounding import FUNCTION_ULPS, MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.losses.sampled.mixture_sums import ExponentialSum
    from privcalc.numerics.arrays import Array

STANDARD = Piece.normal(0.0, 1.0)
NOTHING = WeightedLosses(*(np.zeros(0) for _ in WeightedLosses._fields))
# Of larger mixtures, and losses that grow faster, panels would be too narrow; on shifted lines the
# latter overflow.
LARGEST_GROUP, FARTHEST, FARTHEST_LINES = 40, 20.0, 10.0
# Every point of a lattice takes all terms: so many cost as much as a quadrature does.
TERMS = 32


class CutMixture(TailSplitLaw, EdgedLaw):
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

    @cached_property
    def properties(self) -> LawProperties:
        """A small one may be split, where it has outputs that the record does not touch."""
        split = self.small and self.rate < 1.0
        return LawProperties(
            cf_valid_for_all_t=split and self.lines,
            supports_tail_split=split,
            tail_cost=max(1.0, len(self.ratio.centres) / TERMS),
        )

    @property
    def lines(self) -> bool:
        """Whether losses do not grow too fast."""
        return self.farthest <= FARTHEST_LINES

    still = 0.0

    def edged(self, c: float) -> Edged:
        """Return the density to the power (1 + y)^(c + 1), or (1 + y)^-c."""
        exponent, sign = (c + 1.0, 1.0) if self.remove else (-c, -1.0)
        atoms = Atoms.of(NOTHING, exponent, sign)
        densities = tuple(AtomPowers(part, exponent, sign) for part in self.parts())
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
    def log_truncated_mass(self) -> float:
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

    def atom_outcomes(self, exponent: float, below: float = math.inf) -> WeightedLosses:
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
