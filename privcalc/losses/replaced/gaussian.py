"""Replacing a record of a Poisson sample under Gaussian noise (`losses/replaced/pair.py`).

W and W' are N(mu, 1) and N(-mu, 1) against R = N(0, 1); u = mu z for the output z
(`losses/replaced/lattice.py`).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.log_ratio import Piece
from privcalc.losses.replaced.lattice import LEAST_SHIFT, ReplacedLinearLaw
from privcalc.losses.replaced.law import OppositeLaw
from privcalc.losses.replaced.mixtures import OppositePart
from privcalc.losses.sampled.law import DEFAULT_LOG_MASS
from privcalc.losses.tails import Tails
from privcalc.numerics.normal import short_intervals
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.losses.closed.gaussian import GaussianLaw
    from privcalc.numerics.arrays import Array

# Orders beyond which nothing is integrated: outputs times the slope of the log-ratio.
LARGEST_REACH = 1e4


@record
class ReplacedGaussianLaw(ReplacedLinearLaw, OppositeLaw):
    """The pair of N(mu, 1) and N(-mu, 1), each mixed with N(0, 1); |u| may be cut.

    Attributes:
        base: the event's law for adding a record.
        log_mass: log of the P-mass that the cut may drop.
    """

    base: GaussianLaw
    log_mass: float = DEFAULT_LOG_MASS

    @property
    def log_dropped_mass(self) -> float:
        """Return the log of a bound on the P-mass outside the cut (see `reach`)."""
        return self.log_mass + 1e-9

    def truncated(self, log_mass: float) -> ReplacedGaussianLaw:
        """Cut |u| so that the P-mass outside is at most exp(log_mass)."""
        return replace(self, log_mass=min(log_mass, math.log(0.01)))

    @cached_property
    def reach(self) -> float:
        """Return z such that P(|N| > z + mu) + ... is at most exp(log_mass).

        With P(N > z) <= e^{-z^2/2} / 2 = e^{log_mass} / 4: outside |output| <= z + mu are at most
        2 P(N > z) of R, and of W no more, on either side.
        """
        log_tail = self.log_mass - math.log(4.0)
        z = math.sqrt(max(0.0, -2.0 * (log_tail + math.log(2.0)))) * (1.0 + 1e-14)
        return z + self.base.mu

    def whole_parts(self) -> tuple[OppositePart, ...]:
        """Return the normal density of u = mu z, cut."""
        end = self.base.mu * self.reach
        density = Piece.normal(0.0, self.base.mu)
        return (OppositePart(self.mixtures, density, -end, end, mirrored=True),)

    def outside(self) -> tuple[float, float]:
        """Return the mass outside the cut, under P as under Q, by erfc."""
        z, mu, root = self.reach, self.base.mu, math.sqrt(2.0)
        away = math.erfc((z - mu) / root) + math.erfc((z + mu) / root)
        mass = (1.0 - self.q) * math.erfc(z / root) + 0.5 * self.q * away
        return mass, mass

    def tails(self, losses: Array) -> Tails:
        """Return the masses of the outputs z > u(l) / mu, one set for R, W and W'.

        The quotient is off by a unit and the error of mu: u, and the loss by its slope, is moved by
        as much. N(centre, 1) has a tail at centre -+ z, which is off by a unit of itself and the
        error of the centre: that changes a tail, or the mass of a cell, by at most (1 + |x|) times
        as much, relatively. Masses (1 - q) r + q w are off by 8 units.
        """
        from scipy.special import ndtr

        q, mu, wrong = self.q, self.base.mu, self.base.error
        u, moved = self.places(losses)
        z = u / mu
        size = 1.0 + mu + np.abs(z)
        centred = 1.1 * wrong * mu * size
        slope = min(2.0, 2.2 * float(np.exp(self._log_share(np.abs(u))).max(initial=0.0)))
        shift = (2.0 * UNIT + 1.01 * wrong) * float(np.abs(u).max(initial=0.0))
        cells = [short_intervals(z, centre) for centre in (0.0, mu, -mu)]
        r, w, other = (mass for mass, _ in cells)
        between = np.max([error for _, error in cells], axis=0)
        above_r, below_r = (1.0 - q) * ndtr(-z), (1.0 - q) * ndtr(z)
        return Tails(
            above_p=above_r + q * ndtr(mu - z),
            above_q=above_r + q * ndtr(-mu - z),
            below_p=below_r + q * ndtr(z - mu),
            below_q=below_r + q * ndtr(mu + z),
            error=UNIT * (20.0 + 6.0 * size * size) + centred,
            shift=(moved + slope * shift) * MARGIN + LEAST_SHIFT,
            between_p=(1.0 - q) * r + q * w,
            between_q=(1.0 - q) * r + q * other,
            between_error=between + 8.0 * UNIT + np.maximum(centred[1:], centred[:-1]),
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by quadrature over an interval that holds nearly all, or by convexity.

        What is beyond |u| = mu z adds at most (1 - q)^-c times 2 (1 - q) P(N > z) +
        q (e^{a c mu^2 / 2} P(N > z - a mu) + P(N > z)), a = c + 1: A' >= 1 - q, and
        A^a <= 1 - q + q e^{a (u - h)}.
        """
        lower, upper = super().renyi(c)
        for i, abscissa in enumerate(c):
            bounds = self._quadrature(float(abscissa))
            lower[i], upper[i] = max(lower[i], bounds[0]), min(upper[i], bounds[1])
        return lower, upper

    def _quadrature(self, c: float) -> tuple[float, float]:
        a, q, mu = c + 1.0, self.q, self.base.mu
        floor, log_tilt = -c * math.log1p(-q), 0.5 * a * c * mu * mu
        size = 2.0 * (50.0 + floor - 2.0 * math.log(q) - 2.0 * math.log(min(1.0, mu)))
        size += 2.0 * min(-a * math.log(q), log_tilt)
        z = math.sqrt(size + 2.0 * max(0.0, -math.log(c))) + a * mu
        if not z * max(mu, 1.0) < LARGEST_REACH:
            return 0.0, math.inf
        # The mass beyond z is that of a cut at z, whatever the masses of the parts.
        wide = replace(self, log_mass=min(-140.0, -0.5 * (z - mu) * (z - mu)))
        try:
            low, high = wide.real_order(c)
        except NotCertifiedError:
            return 0.0, math.inf
        # P(N > x) <= e^{-x^2 / 2} / 2; log(M + rest) <= log M + rest / M.
        z = wide.reach
        log_rest = max(-0.5 * z * z, log_tilt - 0.5 * (z - a * mu) ** 2) + math.log(2.0) + floor
        rest = math.exp(min(log_rest * (1.0 - 1e-9) - low, 700.0)) * (1.0 + 1e-9)
        return low, math.nextafter(high + rest, math.inf)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return mu and 2 mu: by convexity the pair is no worse than W and W'.

        The tests z > x have P(z > x) >= q P(N > x - mu) and Q(z > x) <= P(N > x); in compositions
        the same is true of sums of the z, as under Q each is stochastically smaller than under R.
        That is what a lower end has to say (`losses/law.py`).
        """
        return self.base.mu * (1.0 - 8.0 * UNIT), 2.0 * self.base.mu * (1.0 + 8.0 * UNIT)
