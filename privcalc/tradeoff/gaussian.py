"""Compositions of Gaussian mechanisms in closed form: one Gaussian, whatever the rates.

The loss of a composition of normal pairs is normal, and the pair is equivalent to N(mu, 1) against
N(0, 1) with the sum of squares mu^2 (Dong, Roth, Su 2022, Corollary 3.3). The best tests reject
above a threshold z, so that with P(N > z) = alpha

    beta = P(N > mu - z),    power = P(N > z - mu):

the first falls with mu and the second rises, which carries the roundings of mu over to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.losses.closed.gaussian import GaussianLaw
from privcalc.numerics.normal import gaussian_profile, quantile_of, upper_tail
from privcalc.numerics.rounding import UNIT
from privcalc.tradeoff.brackets import Curve, one_minus
from privcalc.tradeoff.mu.caps import gaussian_cap, gaussian_floor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.terms import Realized


def gaussian_mu(laws: Realized) -> tuple[float, float] | None:
    """Bracket mu of a direction that is made of Gaussian mechanisms only; None for others."""
    whole = laws.upper
    if laws.lower is not whole or whole.curves or not whole.terms:
        return None
    if not all(isinstance(law, GaussianLaw) for law, _ in whole):
        return None
    return gaussian_floor(whole), gaussian_cap(whole)


def gaussian_trade_off(mu: tuple[float, float], alphas: Sequence[float]) -> Curve:
    """Bracket beta and the power at type I errors in (0, 1).

    Args:
        mu: bracket of mu.
        alphas: where.
    """
    betas, powers = [], []
    for alpha in alphas:
        z = quantile_of(alpha)
        # mu - z, a difference of doubles: one unit of itself.
        low, high = mu[0] - z[1], mu[1] - z[0]
        low, high = low - 2.0 * UNIT * abs(low), high + 2.0 * UNIT * abs(high)
        rest = one_minus(alpha)
        beta = Bound(min(rest, upper_tail(low)[1]), min(rest, upper_tail(high)[0]))
        power = Bound(max(alpha, upper_tail(-high)[1]), max(alpha, upper_tail(-low)[0]))
        betas.append(beta)
        powers.append(power)
    return Curve(tuple(betas), tuple(powers))


def gaussian_delta(mu: tuple[float, float], epsilon: float) -> Bound:
    """Bracket delta at an epsilon >= 0, which increases with mu."""
    upper = gaussian_profile(mu[1], epsilon).upper
    return Bound(min(1.0, upper), max(0.0, min(upper, gaussian_profile(mu[0], epsilon).lower)))
