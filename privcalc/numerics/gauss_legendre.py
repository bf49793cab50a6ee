"""Gauss-Legendre rule with 20 points, and the bound on its error that every quadrature here uses.

Bound. Let f be analytic in the Bernstein ellipse E_r of [-1, 1] (foci -1 and 1, semi-axes
(r + 1/r)/2 and (r - 1/r)/2) with |f| <= G there. Then, for the rule with m points,

    |integral - rule| <= 4 (1 + 1/(4 m^2 - 1)) G r^(-2m) / (1 - r^(-2)).

Proof. f = sum_k a_k T_k with |a_k| <= 2 G r^(-k) (Trefethen, Approximation Theory and
Approximation Practice, Theorem 8.1). The rule is exact up to degree 2m - 1, and for odd k rule
and integral both vanish. For even k >= 2m: |rule(T_k)| <= 2, because the weights are positive
with sum 2 and |T_k| <= 1, and |integral(T_k)| = 2/(k^2 - 1) <= 2/(4 m^2 - 1). Summing the
geometric series over even k gives the bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

POINTS = 20

# Positive abscissas with their weights, correctly rounded; the rule is symmetric.
_HALF_RULE = (
    (0.07652652113349734, 0.15275338713072584),
    (0.22778585114164507, 0.14917298647260374),
    (0.37370608871541955, 0.14209610931838204),
    (0.5108670019508271, 0.13168863844917664),
    (0.636053680726515, 0.11819453196151841),
    (0.7463319064601508, 0.10193011981724044),
    (0.8391169718222188, 0.08327674157670475),
    (0.912234428251326, 0.06267204833410907),
    (0.9639719272779138, 0.04060142980038694),
    (0.9931285991850949, 0.017614007139152118),
)

ABSCISSAS: Array = np.array([-x for x, _ in reversed(_HALF_RULE)] + [x for x, _ in _HALF_RULE])
WEIGHTS: Array = np.array([w for _, w in reversed(_HALF_RULE)] + [w for _, w in _HALF_RULE])

# Ellipse parameters that are tried; below 2.2 twenty points gain less than 13 digits.
ELLIPSES: Array = np.array([2.2, 2.6, 3.1, 3.8, 4.8, 6.0, 8.0, 11.0, 16.0, 26.0, 50.0, 110.0])
LOG_FACTORS: Array = (
    math.log(4.0 * (1.0 + 1.0 / (4 * POINTS**2 - 1)))
    - 2 * POINTS * np.log(ELLIPSES)
    - np.log1p(-(ELLIPSES**-2.0))
)
SEMI_AXES_REAL: Array = (ELLIPSES + 1.0 / ELLIPSES) / 2.0
SEMI_AXES_IMAGINARY: Array = (ELLIPSES - 1.0 / ELLIPSES) / 2.0


def composite_rule(centres: Array, halves: Array) -> tuple[Array, Array]:
    """Return abscissas and log weights of the rule on each panel [centre - half, centre + half].

    Both are in their last axis, panel after panel.
    """
    nodes = centres[..., None] + halves[..., None] * ABSCISSAS
    log_weights = np.log(halves)[..., None] + np.log(WEIGHTS)
    shape = (*centres.shape[:-1], -1)
    return nodes.reshape(shape), log_weights.reshape(shape)
