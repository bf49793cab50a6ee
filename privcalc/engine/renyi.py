"""Upper bounds from one Renyi order: what is left where no contour can be certified.

For every c > 0 and all l, (1 - e^{epsilon - l})_+ <= C(c) e^{c (l - epsilon)} with
C(c) = c^c / (1 + c)^(1 + c). Taking expectations,

    delta(epsilon) <= C(c) e^{K(c) - c epsilon},
    epsilon(delta) <= (K(c) + log C(c) - log delta) / c,

the conversion of Renyi DP of order c + 1 by Canonne, Kamath, Steinke 2020 (Proposition 12) and
Balle et al. 2020. K(c) is certified by the laws; there is no lower end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.aliasing import log_payoff_supremum
from privcalc.engine.certified import Certified
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import exp_bound

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition

# Orders minus 1 that are tried: 1/64 to 2^20 in steps of a factor sqrt(2).
ABSCISSAS = [2.0 ** (k / 2.0) for k in range(-12, 41)]
NOTE = "rdp: the best Renyi order that was tried"
# What is dropped from each law, as a part of the smallest delta in question.
DROPPED = 1e-6


def renyi_epsilon(composition: Composition, delta: float) -> Certified:
    """Bound epsilon at a delta > 0 from above.

    Raises:
        NotCertifiedError: no order has a finite certified bound.
    """
    cut = composition.truncated(math.log(DROPPED) + math.log(delta))
    left = delta * (1.0 - 2.0 * DROPPED)
    bounds = [composition.max_loss().upper]
    for c, log_mgf in _certified_orders(cut):
        value = (log_mgf + log_payoff_supremum(c) - math.log(left)) / c
        bounds.append(value + 1e-12 * (1.0 + abs(value) + abs(log_mgf) / c))
    upper = max(0.0, min(bounds))
    if math.isinf(upper):
        raise NotCertifiedError("no Renyi order gives a finite upper end")
    return Certified(Bound(upper), "rdp", notes=(NOTE,))


def renyi_delta(composition: Composition, epsilon: float) -> Certified:
    """Bound the finite part of delta at an epsilon from above (by 1 at worst)."""
    rough = composition.truncated(-650.0)
    logs = [0.0]
    for c, log_mgf in _certified_orders(rough):
        value = log_mgf - c * epsilon + log_payoff_supremum(c)
        logs.append(value + 1e-12 * (1.0 + abs(log_mgf) + c * epsilon))
    upper = exp_bound(min(logs)) * (1.0 + 1e-12)
    if rough.log_dropped_mass() > -math.inf:
        upper += exp_bound(rough.log_dropped_mass())
    return Certified(Bound(min(1.0, upper)), "rdp", notes=(NOTE,))


def _certified_orders(composition: Composition) -> list[tuple[float, float]]:
    """Return pairs of c and a certified upper bound on K(c), where there is one."""
    found = []
    for c in ABSCISSAS:
        total = 0.0
        try:
            for law, count in composition:
                value, error = law.on_contour(c, 0.0, -25.0).log_mgf(np.zeros(1))
                total += count * (float(value[0].real) + float(error[0]))
        except NotCertifiedError:
            continue
        total += 1e-12 * abs(total)
        if math.isfinite(total):
            found.append((c, total))
    return found
