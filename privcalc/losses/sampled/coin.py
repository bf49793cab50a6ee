"""One of several pairs, chosen by a coin that everybody sees.

P is sum_i w_i P_i, and Q sum_i w_i Q_i, with i published: profiles, masses and M(s) are means of
those of the pairs, with the weights w_i.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.law import LossLaw, Tails
from privcalc.numerics.rounding import UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.arrays import Array

LARGEST_EXPONENT = 650.0


@record
class CoinLaw(LossLaw):
    """One direction of the pair.

    Attributes:
        laws: of the pairs, each with a contour that decays.
        weights: of each; they add up to 1 less what was truncated.
        error: relative error of each weight, to which that of a double is added.
        missing: mass of pairs that are omitted.
        log_dropped: log of a bound on the P-mass that was cut.
    """

    laws: tuple[LossLaw, ...]
    weights: tuple[float, ...]
    error: float
    missing: float = 0.0
    log_dropped: float = -math.inf

    @property
    def log_truncated_mass(self) -> float:
        """Return what was cut, with pairs that are omitted; of pairs what they truncate."""
        if self.log_dropped > -math.inf:
            return self.log_dropped
        return max(law.log_truncated_mass for law in self.laws) + 1e-9

    @property
    def max_loss(self) -> float:
        """Return the largest."""
        return max(law.max_loss for law in self.laws)

    @property
    def max_loss_error(self) -> float:
        """Return the largest."""
        return max(law.max_loss_error for law in self.laws)

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Return those of all."""
        return tuple(sorted({anchor for law in self.laws for anchor in law.atom_locations}))

    def truncated(self, log_mass: float) -> CoinLaw:
        """Give each pair its share of the mass, and omit those that have no more than that."""
        share = log_mass - math.log(len(self.laws)) - 1e-9
        kept, missing = [], self.missing
        for law, weight in zip(self.laws, self.weights, strict=True):
            if math.log(weight) < share - 1e-9:
                missing += weight
            else:
                kept.append((law.truncated(share - math.log(weight)), weight))
        laws, weights = zip(*kept, strict=True)
        return replace(self, laws=laws, weights=weights, missing=missing, log_dropped=log_mass)

    def profile(self, epsilon: float) -> tuple[float, float] | None:
        """Return the mean of the profiles of one use."""
        found = [law.profile(epsilon) for law in self.laws]
        known = [each for each in found if each is not None]
        if self.missing or len(known) < len(found):
            return None
        low, high = (float(np.dot(self.weights, ends)) for ends in zip(*known, strict=True))
        return low * (1.0 - self._error), high * (1.0 + self._error)

    def tails(self, losses: Array) -> Tails:
        """Return the means of the masses; sets are displaced by the largest displacement."""
        found = [law.tails(losses) for law in self.laws]

        def mean(of: Callable[[Tails], Array]) -> Array:
            rows = (w * of(t) for w, t in zip(self.weights, found, strict=True))
            return np.asarray(sum(rows))

        error = np.maximum.reduce([np.broadcast_to(t.error, losses.shape) for t in found])
        cells = all(t.between_p is not None for t in found)
        off = [np.asarray(t.between_error) for t in found] if cells else []
        return Tails(
            above_p=mean(lambda t: t.above_p),
            above_q=mean(lambda t: t.above_q),
            below_p=mean(lambda t: t.below_p),
            below_q=mean(lambda t: t.below_q),
            error=error + self._error,
            shift=max(t.shift for t in found),
            between_p=mean(lambda t: np.asarray(t.between_p)) if cells else None,
            between_q=mean(lambda t: np.asarray(t.between_q)) if cells else None,
            between_error=np.maximum.reduce(off) + self._error if cells else None,
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return the log of the mean of e^K."""
        return self._mean([law.renyi(c) for law in self.laws])

    def convexity(self, c: Array) -> tuple[Array, Array]:
        """Return the same without quadrature."""
        return self._mean([law.convexity(c) for law in self.laws])

    def concentration(self, c: Array) -> Array:
        """Return the largest: M is a mean."""
        found: Array = np.max([law.concentration(c) for law in self.laws], axis=0)
        return found

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return the largest upper end: what bounds all profiles bounds their mean."""
        return 0.0, max(law.gaussian_range[1] for law in self.laws)

    @property
    def _error(self) -> float:
        return self.error + UNIT * (len(self.laws) + 8.0)

    def _mean(self, rows: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Return bounds on log sum_i w_i e^{K_i}, for K_i >= 0 and no worse than the largest."""
        weights = np.array(self.weights)[:, None]
        ends = []
        for sign, part in zip((-1.0, 1.0), zip(*rows, strict=True), strict=True):
            k = np.array(part)
            top = k.max(axis=0)
            with np.errstate(over="ignore", invalid="ignore"):
                small = np.log1p((weights * np.expm1(np.minimum(k, 1.0))).sum(axis=0))
                large = top + np.log((weights * np.exp(k - top)).sum(axis=0))
            value = np.where(top < 1.0, small, large)
            slack = (self._error + 64.0 * UNIT) * np.where(top < 1.0, small, 1.0 + np.abs(large))
            ends.append(np.where(np.isfinite(top), value + sign * slack, top))
        return np.maximum(ends[0], 0.0), ends[1]
