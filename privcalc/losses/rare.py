"""Several uses of a law in two parts, one of which at least is of the part of the rare losses.

Where a loss is rare and large, the uses without it are nearly all of M(c)^n at the abscissa that it
asks for, and have no part in delta. With M = N + F, of the losses below a cut and of those beyond,

    M^n = N^n + (M^n - N^n):

the transforms of two measures, of the event that no use is beyond the cut and of the event that
some use is. Each has a contour of its own, and delta is the sum of what they come to. What the law
leaves out is in neither.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.contour import ContourLaw
from privcalc.losses.law import LawProperties, LossLaw
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.atomic.phases import TiltedPhases
    from privcalc.losses.law import Tails
    from privcalc.numerics.arrays import Array, ComplexArray

# Ratios F / N beyond e^{this} leave the doubles with many uses.
LARGEST_LOG_RATIO = 300.0
# Second orders of the errors are negligible with fewer uses.
MOST_USES = 1_000_000_000
ONLY_MEASURE = "a measure of rare losses is known on its contour only"


@record
class RareUses(LossLaw):
    """So many uses of a law, one of which at least is beyond a cut: a measure, used once.

    Attributes:
        near: the losses up to the cut.
        far: those beyond.
        count: n.
    """

    near: AtomicLaw
    far: AtomicLaw
    count: int

    @property
    def properties(self) -> LawProperties:
        """Both parts are atoms."""
        return LawProperties(cf_valid_for_all_t=True, has_atoms=True)

    @property
    def max_loss(self) -> float:
        """Return that of all uses."""
        return self.count * self.far.max_loss

    def tails(self, losses: Array) -> Tails:
        """Raise: they are not known."""
        del losses
        raise NotCertifiedError(ONLY_MEASURE)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Raise: it is no law."""
        del c
        raise NotCertifiedError(ONLY_MEASURE)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return log(M^n - N^n) and its derivatives, for searches.

        Tilted, J of the uses are beyond the cut: binomial with p = F / M, given J >= 1.
        """
        n = self.count
        (k, mean, variance), (far, far_mean, far_variance) = (
            law.cumulants(c) for law in (self.near, self.far)
        )
        log_ratio = far - k if math.isfinite(k) else math.inf
        most = LARGEST_LOG_RATIO * (1.0 - 1e-6)
        log_grown = float(np.logaddexp(0.0, min(log_ratio, most)))
        exponent = n * log_grown
        if not (abs(log_ratio) < most and 0.0 < exponent < most):
            # Contours do not know it there.
            return math.inf, 0.0, 0.0
        some = -math.expm1(-exponent)
        log_mass = exponent + math.log(some)
        p = math.exp(log_ratio - log_grown)
        j = n * p / some
        spread = max(j * (1.0 - p) + n * p * j - j * j, 0.0)
        return (
            n * k + log_mass,
            j * far_mean + (n - j) * mean,
            j * far_variance + (n - j) * variance + spread * (far_mean - mean) ** 2,
        )

    def on_contour(self, c: float, t_max: float, log_error: float) -> ContourLaw:
        """Fix the abscissa; the sums are exact for every t."""
        del t_max, log_error
        return RareContour(self, c)


@record
class RareContour(ContourLaw):
    """The measure on Re s = c.

    With phases around the tilted mean m of the near losses,

        M^n - N^n = N(c)^n e^{itnm} ((y + d)^n - y^n),   (y, d) = (N, F) / (N(c) e^{itm}).
    """

    law: RareUses
    c: float

    @cached_property
    def near(self) -> tuple[TiltedPhases, float, float, float]:
        """The phases of N, log N(c) with a bound on its error, and the tilted mean."""
        return self.law.near.tilted(self.c)

    @cached_property
    def far(self) -> tuple[TiltedPhases, float, float, float]:
        """The same of F."""
        return self.law.far.tilted(self.c)

    @cached_property
    def ratio(self) -> tuple[float, float]:
        """F(c) / N(c), and a bound on its relative error.

        Raises:
            NotCertifiedError: it is beyond the doubles.
        """
        (_, near, near_error, _), (_, far, far_error, _) = self.near, self.far
        if not abs(far - near) < LARGEST_LOG_RATIO or self.law.count > MOST_USES:
            raise NotCertifiedError("the mass beyond a cut is too much, or too little")
        error = near_error + far_error + 4.0 * UNIT * (abs(far - near) + 1.0)
        return math.exp(far - near), error * (1.0 + 1e-6)

    @cached_property
    def log_grown(self) -> float:
        """The log of S = (1 + r)^n - 1, whose own errors cancel wherever it is divided by.

        Raises:
            NotCertifiedError: it is beyond the doubles.
        """
        exponent = self.law.count * math.log1p(self.ratio[0])
        if not 0.0 < exponent < LARGEST_LOG_RATIO:
            raise NotCertifiedError("the mass beyond a cut is too much, or too little")
        return math.log(math.expm1(exponent))

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return log(M^n - N^n) at c alone: n log N(c) + log S.

        The relative error e of r makes one of n r (1 + r)^(n - 1) e / S in S; the exponent of S is
        off by 4 units, which S feels like an error of r, and log S by 4 units and 1.
        """
        if np.any(t != 0.0):
            raise NotCertifiedError(ONLY_MEASURE)
        n = self.law.count
        _, log_mass, error, _ = self.near
        r, wrong = self.ratio
        felt = math.exp(math.log(n) + math.log(r) + (n - 1) * math.log1p(r) - self.log_grown)
        value = n * log_mass + self.log_grown
        error = n * error + felt * (wrong + 8.0 * UNIT) * (1.0 + 1e-6)
        error += UNIT * (8.0 * (n * abs(log_mass) + abs(self.log_grown)) + 8.0)
        return np.full(len(t), value + 0j), np.full(len(t), error)
