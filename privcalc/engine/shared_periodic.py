"""One contour of discrete Gaussians for many epsilons; see `engine/shared_contour.py`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.certified import PAD
from privcalc.engine.periodic.answer import LEAST_ERROR, MOST_ERROR, SHARE, _check, _contour
from privcalc.engine.saddle import log_delta_at, saddle_for_epsilon
from privcalc.engine.shared_contour import Estimates

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.numerics.arrays import Array


class SharedPeriodic:
    """The nodes of one contour of discrete Gaussians."""

    def __init__(
        self, composition: Composition, epsilon: float, tolerance: float, reach: float
    ) -> None:
        """Make a contour that is good `reach` deviations around an epsilon.

        Raises:
            NotCertifiedError: not all laws are discrete Gaussians, or there is no such contour.
        """
        _check(composition)
        relative = min(max(SHARE * PAD * tolerance, LEAST_ERROR), MOST_ERROR)
        self._composition = composition
        self._c = saddle_for_epsilon(composition, epsilon)
        log_scale = min(0.0, log_delta_at(composition, self._c)[1])
        self.deviation = math.sqrt(max(composition.cumulants(self._c)[2], 0.0))
        self._k = composition.cumulants(self._c)[0]
        drop = reach * (self._c * self.deviation + 0.5 * reach)
        self._sum = _contour(composition, self._c, epsilon, log_scale - drop, relative)

    def deltas(self, epsilons: Array, tolerance: float) -> list[Certified | None]:
        """Bracket delta at each epsilon, padded for a tolerance."""
        return self.sums(epsilons).certified(tolerance)

    def estimates(self, epsilons: Array) -> tuple[Array, Array]:
        """Return delta and P(L > epsilon), without error bound."""
        return self.sums(epsilons).plain()

    def sums(self, epsilons: Array) -> Estimates:
        """Evaluate delta at each epsilon, with its error terms."""
        c = self._c
        scales = np.minimum(0.0, self._k - c * epsilons - math.log(c) - math.log1p(c))
        found = [
            self._sum.delta(float(epsilon), float(scale))
            for epsilon, scale in zip(epsilons, scales, strict=True)
        ]
        return Estimates(
            scales,
            np.array([each.value for each in found]),
            np.array([each.above for each in found]),
            np.array([each.below for each in found]),
            np.array([each.slope for each in found]),
            {
                name: np.array([each.terms[name] for each in found])
                for name in (found[0].terms if found else {})
            },
        )
