"""Bounds on Renyi divergences at all orders at once, and on tests of bounded losses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.normal import least_mu
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array


def mixed_concentration(weights: Array, rho: Array, c: Array) -> Array:
    """Bound D_a / a of P = sum_j b_j P_j against Q, where D_a(P_j || Q) <= rho_j a for a <= c + 1.

    By Minkowski's inequality in L^a(Q), with |dP_j/dQ|_a = e^{K_j(c) / a} <= e^{rho_j c},

        K(c) <= a log sum_j b_j e^{rho_j c},        D_a / a <= (1 / c) log sum_j b_j e^{rho_j c}.

    The logarithm is convex in c and 0 at c = 0, so that the bound does not decrease; it tends to
    the largest rho. Small exponents are expanded around 1. Roundings: 16 units of the exponents,
    8 of the logs of the weights, and the errors of the weights, which are 32 units at most and
    whose part of the logarithm is no more than that of the exponents where those are small.

    Args:
        weights: b_j, > 0, shape (k,); they add up to 1.
        rho: shape (k,) or (k, n).
        c: shape (n,).
    """
    rho = np.broadcast_to(rho if rho.ndim == 2 else rho[:, None], (len(weights), len(c)))
    top = rho.max(axis=0)
    finite = np.isfinite(c)
    at = np.where(finite, c, 1.0)
    exponents = rho * at
    largest = top * at
    with np.errstate(over="ignore", invalid="ignore"):
        small = np.log1p(weights @ np.expm1(np.minimum(exponents, 700.0)))
    rest = np.log(weights @ np.exp(exponents - largest))
    far = largest > 1.0
    value = np.where(far, largest + rest, small)
    size = np.where(far, largest + np.abs(rest) + 1.0, small)
    bound = (value + 64.0 * UNIT * (1.0 + len(weights)) * size) / at
    raised: Array = np.minimum(np.where(finite, bound, np.inf), top) * (1.0 + 8.0 * UNIT)
    return raised


def pure_mu(epsilon: float) -> float:
    """Return a mu of every pair with |L| <= epsilon: 2 Phi^-1(e^epsilon / (1 + e^epsilon)).

    The errors of its tests are above the lines from the corner with both errors 1 / (1 + e^epsilon)
    to (0, 1) and (1, 0). The trade-off function of this mu, which is convex, passes through these
    three points. At epsilon 0 its delta is tanh(epsilon / 2), which is off by 12 units here;
    1 - delta = 2 / (1 + e^epsilon) is off by 16 and epsilon units.
    """
    if epsilon > 600.0:
        # It is enough that P(N > mu / 2) <= e^{-(mu / 2)^2 / 2} / 2 is at most 1 / (1 + e^epsilon).
        return 2.0 * math.sqrt(2.0 * epsilon) * (1.0 + 8.0 * UNIT)
    delta = min(1.0, math.tanh(0.5 * epsilon) * (1.0 + 12.0 * UNIT))
    rest = 2.0 / (1.0 + math.exp(epsilon)) * (1.0 - UNIT * (16.0 + epsilon))
    return least_mu(0.0, delta, rest)


def sampled_concentration(base: LossLaw, q: float, c: Array, *, remove: bool) -> Array:
    """Bound D_a / a of a sampled law at orders up to c + 1.

    For removing P = (1 - q) R + q W, and the base is (W, R): the first part has divergence 0 from
    R, the second the base's. For adding, where the base is (R, W), joint convexity gives no more
    than the base's.

    Args:
        base: the base's law of the same direction.
        q: sampling probability, 0 < q < 1.
        c: orders minus 1, possibly infinite.
        remove: direction.
    """
    known = base.concentration(c)
    if not remove:
        return known
    rho = np.stack([np.zeros(c.shape), np.where(np.isfinite(known), known, 1.0)])
    mixed = mixed_concentration(np.array([1.0 - q, q]), rho, c)
    return np.where(np.isfinite(known), mixed, np.inf)


def sampled_range(base: LossLaw, law: LossLaw, reverse: LossLaw) -> tuple[float, float]:
    """Bound the least mu of a sampled law, in either direction: trade-off functions have none.

    The sampled pair has profiles below the base's by joint convexity, so that the base's mu is
    enough; where both directions have bounded losses, so is that of their bound. Where the mixture
    has an infinite loss against R, as W has, the mixture is q W at least.

    Args:
        base: the law of W against R.
        law: the sampled law.
        reverse: the sampled law of the other direction.
    """
    low, high = base.gaussian_range
    if law.infinity_mass > 0.0 or law.lower_infinity_mass > 0.0:
        return 0.0, math.inf
    ends = [(one.max_loss, one.max_loss_error) for one in (law, reverse)]
    largest = max(loss + abs(loss) * error * 1.01 for loss, error in ends)
    if math.isinf(largest):
        return low, high
    return 0.0, min(high, pure_mu(max(0.0, largest)))
