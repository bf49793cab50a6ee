"""The standard normal distribution: masses, tails and quantiles; the profile of two at distance mu.

With phi the normal density and R(x) = P(N > x) / phi(x) (Mills), s = epsilon / mu - mu / 2:

    delta_mu(epsilon) = P(N > s) - e^epsilon P(N > s + mu) = phi(s) (R(s) - R(s + mu)),

as (s + mu)^2 - s^2 = 2 epsilon. It increases in mu: its derivative is phi(s).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from privcalc.numerics.rounding import FUNCTION_ULPS, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

    Number = TypeVar("Number", float, Array)

# The rule is used where (width) (1 + |x|) is at most this.
SHORT = 0.1
# So many points take less time one by one than scipy takes to load, many times over.
FEW_TAILS = 16
# erfc is a normal double up to here.
ERFC_FAR = 37.0
NODES = (0.3399810435848563, 0.8611363115940526)
WEIGHTS = (0.6521451548625461, 0.34785484513745385)


def short_intervals(points: Array, centre: float) -> tuple[Array, Array]:
    """Return the mass of N(centre, 1) between neighbouring points, and its relative error.

    Gauss-Legendre with 4 nodes: the error is h^9 4!^4 / (9 8!^3) |phi^(8)| somewhere in the
    interval, and |phi^(8)(x)| = |He_8(x)| phi(x) <= 105 (1 + |x|)^8 phi(x), so that with
    h (1 + |x|) <= 0.1 it is below 1e-15 of the mass. (Within the interval phi changes by a factor
    of at most e^0.1.) The exponents are off by 4 units of (1 + |x|) times the size of the terms
    of x. Longer intervals get an infinite error.
    """
    h = np.diff(points)
    middle = points[:-1] + 0.5 * h - centre
    total, x = np.zeros(len(h)), np.empty(len(h))
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        for sign in (-1.0, 1.0):
            np.multiply(h, sign * node * 0.5, out=x)
            x += middle
            x *= -0.5 * x
            total += weight * np.exp(x, out=x)
    mass: Array = total * (0.5 * h) / math.sqrt(2.0 * math.pi)
    size = 1.0 + np.abs(middle) + h
    terms = np.abs(points[:-1]) + np.abs(points[1:]) + abs(centre) + 1.0
    error = UNIT * (40.0 + 6.0 * size * terms)
    return mass, np.where(h * size <= SHORT, error, np.inf)


# More than the difference of two tails loses, in units of the tails.
LOSES = 64.0


def interval_masses(points: Array, centre: float) -> tuple[Array, Array]:
    """Return the mass of N(centre, 1) between neighbouring points, and its relative error.

    Short intervals have the rule above; the ends of the line may be among the points. Else the mass
    is a difference of tails, on the side of 0 where the interval is, or has most of its length. A
    tail at z is off by 16 + 8 z^2 units, with those of z; and for z beyond the nearer end n, z^2
    P(N > z) is at most (1 + n)^2 P(N > n). Between n and n + d lies at least the part
    1 - e^{-d max(n, 0.79)} of that tail, as the hazard rate grows from 0.797, above n. Where
    d (1 + n + 1.5 d) > SHORT that is above 1 / 25, and so it is where 0 is inside.
    """
    from scipy.special import ndtr

    with np.errstate(invalid="ignore"):
        mass, error = short_intervals(points, centre)
    long = ~np.isfinite(error)
    low, high = (points[:-1] - centre)[long], (points[1:] - centre)[long]
    left = high < -low
    mass[long] = np.where(left, ndtr(high) - ndtr(low), ndtr(-low) - ndtr(-high))
    nearer = np.clip(np.where(left, -high, low), 0.0, None)
    error[long] = LOSES * UNIT * (16.0 + 8.0 * (1.0 + nearer) ** 2)
    return mass, error


def log_tail(z: float) -> float:
    """Return an upper bound on log P(N > z).

    erfc(z / 2^{1/2}) / 2, whose argument is off by 2 units of itself: that moves the logarithm by
    at most 2 (1 + z^2) units, as d log P / d log z is at most 1 + z^2 in modulus. Where erfc
    leaves the normal range, the density divided by z (Mills). Nothing of scipy: importing it takes
    longer than most questions.
    """
    if z < ERFC_FAR:
        value = math.log(0.5 * math.erfc(z / math.sqrt(2.0)))
    else:
        value = -0.5 * z * z - math.log(z * math.sqrt(2.0 * math.pi))
    return min(0.0, value + UNIT * (16.0 + 8.0 * (z * z + abs(value))))


def lower_tails(x: Array) -> Array:
    """Return P(N <= x), at few points without scipy: importing it takes longer than a question.

    erfc(-x / 2^{1/2}) / 2 either way, whose argument is off by 2 units of itself: that moves a tail
    by at most 2 (1 + x^2) units, relatively, and erfc is off by FUNCTION_ULPS.
    """
    if x.size <= FEW_TAILS:
        few: Array = np.array([0.5 * math.erfc(-each * ROOT) for each in x.ravel().tolist()])
        return few.reshape(x.shape)
    from scipy.special import ndtr

    many: Array = ndtr(x)
    return many


def normal_tail(distance: float, mean: float, scale: float) -> tuple[float, float]:
    """Return P(N > z), z = distance / s, and a bound on its relative error.

    The deviation s is off by 4 units, s^2 by 9, and the means -s^2 / 2 and s^2 / 2 so by 12
    units of s^2; differences, quotients and erfc's argument add 1 + 1 + 2 units of themselves.
    |d log P(N > z) / dz| <= 1 + max(z, 0) (Mills), 1 % more over so short a way; erfc itself is
    off by FUNCTION_ULPS. (Where it underflows, what is left of it is too small for any use.)
    """
    z = distance / scale
    moved = UNIT * (9.0 * abs(z) + (12.0 * scale * scale + 2.0 * abs(mean)) / scale)
    relative = 1.01 * (1.0 + max(z, 0.0)) * moved + 2.0 * FUNCTION_ULPS * UNIT
    return 0.5 * math.erfc(distance / (scale * math.sqrt(2.0))), relative


# phi(38) is about 1e-314.
FAR = 38.0
NOTHING = 1e-310
SMALLEST_MU, LARGEST_MU = 1e-290, 1e150
ROOT = math.sqrt(0.5)
MILLS = math.sqrt(0.5 * math.pi)
DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


@record
class NormalProfile:
    """Bounds on delta and on 1 - delta, each with its own relative accuracy.

    Attributes:
        lower: lower bound on delta.
        upper: upper bound on it.
        rest_lower: lower bound on 1 - delta.
        rest_upper: upper bound on it.
    """

    lower: float
    upper: float
    rest_lower: float
    rest_upper: float


def mills(x: float) -> float:
    """Return R(x) = (pi / 2)^{1/2} erfcx(x / 2^{1/2}) for x >= 0, to 16 units.

    The argument is off by 2 units of itself, which R passes on at most as they are:
    |x R'(x)| = x (1 - x R) <= R, as R >= x / (1 + x^2).
    """
    from scipy.special import erfcx

    return MILLS * float(erfcx(x * ROOT))


def gaussian_profile(mu: float, epsilon: float) -> NormalProfile:
    """Bound delta_mu(epsilon) at mu > 0 and epsilon >= 0.

    Rounding. Let s be off by d = 3 UNIT (epsilon / mu + mu / 2): then what is computed belongs to
    an epsilon that is off by mu d, and d delta / d epsilon = -phi(s) R(s + mu). As -R' falls,
    R(s) - R(s + mu) >= mu I(s + mu) with I(x) = 1 - x R(x) = -R'(x). By Sampford 1953,
    1 / R(x) >= (3x + (x^2 + 8)^{1/2}) / 4, so that R(x) / I(x) <= x + 2, and delta is off by
    d (s + mu + 2), relatively. phi(s) is off by 12 + 2 s^2 units, each R by 16 units and their
    difference by one: at small mu these are all there is.
    """
    m, half = epsilon / mu, 0.5 * mu
    s, t = m - half, m + half
    moved = 3.0 * UNIT * (m + half)
    if s > FAR:
        return NormalProfile(0.0, NOTHING, 1.0 - NOTHING, 1.0)
    if s < -FAR:
        return NormalProfile(1.0 - UNIT, 1.0, 0.0, NOTHING)
    density = DENSITY * math.exp(-0.5 * s * s)
    common = UNIT * (20.0 + 2.0 * s * s)
    if s < 0.0:
        # 1 - delta = phi(s) (R(-s) + R(s + mu)), of which an epsilon off by mu d changes mu d.
        rest = density * (mills(-s) + mills(t))
        error = (common + UNIT * 20.0 + mu * moved) * 1.01
        low, high = rest * (1.0 - error), rest * (1.0 + error)
        return NormalProfile(1.0 - high - UNIT, 1.0 - low + UNIT, low, high)
    first, second = mills(s), mills(t)
    delta = density * (first - second)
    wrong = delta * (common + moved * (t + 2.0)) + density * UNIT * 18.0 * (first + second)
    low, high = max(0.0, delta - wrong * 1.01 - NOTHING), delta + wrong * 1.01 + NOTHING
    return NormalProfile(low, high, 1.0 - high - UNIT, 1.0 - low + UNIT)


def gaussian_profiles(mu: float, epsilons: Array) -> tuple[Array, Array]:
    """Return both ends of delta_mu at many epsilon >= 0; the formulas are those above."""
    from scipy.special import erfcx

    def mills(points: Array) -> Array:
        ratio: Array = MILLS * erfcx(points * ROOT)
        return ratio

    m, half = epsilons / mu, 0.5 * mu
    s, t = m - half, m + half
    moved = 3.0 * UNIT * (m + half)
    density = DENSITY * np.exp(-0.5 * s * s)
    common = UNIT * (20.0 + 2.0 * s * s)
    first, second = mills(np.abs(s)), mills(t)
    delta = density * (first - second)
    wrong = delta * (common + moved * (t + 2.0)) + density * UNIT * 18.0 * (first + second)
    low, high = np.maximum(0.0, delta - wrong * 1.01 - NOTHING), delta + wrong * 1.01 + NOTHING
    rest = density * (first + second)
    error = (common + UNIT * 20.0 + mu * moved) * 1.01
    left = s < 0.0
    low = np.where(left, 1.0 - rest * (1.0 + error) - UNIT, low)
    high = np.where(left, 1.0 - rest * (1.0 - error) + UNIT, high)
    # Far out the density leaves the range of normal numbers.
    low = np.where(s > FAR, 0.0, np.where(s < -FAR, 1.0 - UNIT, low))
    high = np.where(s > FAR, NOTHING, np.where(s < -FAR, 1.0, high))
    return np.clip(low, 0.0, 1.0), np.minimum(high, 1.0)


def least_mu(
    epsilon: float, delta: float, rest: float | None = None, *, above: bool = True
) -> float:
    """Return a proved end of the bracket of the least mu with delta_mu(epsilon) >= delta.

    Args:
        epsilon: >= 0.
        delta: in [0, 1]; 1 - delta is exact from 1/2 on.
        rest: 1 - delta, where that is known better.
        above: which end: a mu that is enough, or one that is at most just enough. Infinity (and
            0) where nothing else can be proved.
    """
    if delta <= 0.0:
        return 0.0
    if rest is None:
        rest = 1.0 - delta if delta >= 0.5 else math.nan
    if delta >= 1.0 and not rest > 0.0:
        return math.inf

    def enough(mu: float) -> bool:
        found = gaussian_profile(mu, epsilon)
        return found.lower >= delta or found.rest_upper <= rest

    def too_little(mu: float) -> bool:
        found = gaussian_profile(mu, epsilon)
        return found.upper <= delta or found.rest_lower >= rest

    from privcalc.numerics.search import first_around

    # About the least mu: enough on the right, not on the left.
    start = min(max(1.0, math.sqrt(2.0) * math.sqrt(epsilon)), LARGEST_MU)
    left, right = first_around(enough, start, SMALLEST_MU, LARGEST_MU)
    if right >= LARGEST_MU or left <= SMALLEST_MU:
        return (math.inf if right >= LARGEST_MU else right) if above else 0.0
    if above:
        return right
    step = 4.0 * UNIT
    while step < 0.5:
        if too_little(left * (1.0 - step)):
            return left * (1.0 - step)
        step *= 1.5
    return 0.0


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


def tail_quantile(log_p: float) -> tuple[float, float]:
    """Return bounds on the z with log P(N > z) = log_p, for log_p <= log(1/2).

    log P is concave, and Newton's steps from the right of z stay on that side. Where its value
    at z is off by e, z is off by e / h with the hazard h = 1 / R(z) >= max(z, 0.79); log P, that is
    log(R phi), is off by 20 units, 8 of log R and 3 of z^2 / 2. The last step is charged twice.
    """
    z = math.sqrt(max(0.0, -2.0 * (log_p + math.log(2.0))))
    step = 0.0
    for _ in range(60):
        hazard = 1.0 / mills(z)
        step = (_log_tail(z) - log_p) / hazard
        z = max(0.0, z + step)
        if abs(step) <= 4.0 * UNIT * (1.0 + z):
            break
    error = UNIT * (24.0 + 8.0 * abs(math.log(mills(z))) + 3.0 * z * z) * mills(z)
    error = 1.01 * error + 2.0 * abs(step) + 4.0 * UNIT * z
    return z - error, z + error


def log_tail_below(z: float) -> float:
    """Return a lower bound on log P(N > z) for z >= 0; see `tail_quantile` for the units."""
    return _log_tail(z) - UNIT * (24.0 + 8.0 * abs(math.log(mills(z))) + 3.0 * z * z)


def _log_tail(z: float) -> float:
    return math.log(mills(z) * DENSITY) - 0.5 * z * z


# Beyond, e^x has few digits or none.
SMALLEST_LOG = -708.0
SMALLEST = 1e-307


def upper_tail(x: float) -> tuple[float, float]:
    """Return bounds on P(N > x); its logarithm for x >= 0, the complement for x < 0."""
    if x < 0.0:
        low, high = upper_tail(-x)
        return max(0.0, 1.0 - high - UNIT), min(1.0, 1.0 - low + UNIT)
    low, high = log_tail_below(x), log_tail(x)
    least = math.exp(low) * (1.0 - 16.0 * UNIT) if low > SMALLEST_LOG else 0.0
    return least, math.exp(high) * (1.0 + 16.0 * UNIT) if high > SMALLEST_LOG else SMALLEST
