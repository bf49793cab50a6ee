"""Upper bounds on the sparse vector technique, as privacy loss laws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.profiles import profile_law
from privcalc.losses.choices.noisy_max import law_with_tail, loss_grid
from privcalc.losses.thresholds.sparse_vector_outcomes import (
    answer_kinds,
    outcome_profile,
    stopped_kinds,
)
from privcalc.numerics.normal import DENSITY, MILLS, ROOT, gaussian_profiles
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import OutOfWorkError, charge, remembered

if TYPE_CHECKING:
    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.cells import KnownList
    from privcalc.numerics.arrays import Array

    Points = tuple[Array, Array]

# Distance of the points of the profile of Laplace noise, and their number.
STEP, FEWEST, MOST = 0.01, 60, 600
# Work for one point.
PER_POINT = 1500.0
# Of normal noise the last point is below this.
LEAST_HIDDEN = 0.5
REVEALED = "nearly everything may be revealed by so many answers"
# Answers are added up at so many losses, up to where N h is LEAST_DELTA, or LEAST_SHARE of N.
KNOTS = 28
LEAST_DELTA, LEAST_SHARE = 1e-19, 1e-20


@remembered(32)
def laplace_bound(threshold: Fraction, queries: Fraction) -> AtomicLaw:
    """Return the law for Laplace noise, of streams of any length.

    Args:
        threshold: e = D / (scale of rho), rounded up.
        queries: f = c 2 D / (scale of nu), rounded up.

    For answers o integrate over n: G_o(r) = P(o | r) and G'_o(r + D) >= e^{-f} G_o(r), as moving at
    most c numbers of the noise nu by at most 2 D changes their density by at most that factor. With
    p the density of rho,

        P(o) - a P'(o) <= int (p(r) - a e^{-f} p(r + D)) G_o(r) dr,

    and the sum over o of G_o(r) is 1. So the profile at epsilon is at most that of rho, Laplace
    noise with largest loss e, at epsilon - f: the profile form of Zhu 2023, Theorem 7.2.1 (7.3). At
    epsilon = e + f it is 0. Both orders have the same bound, and the law is that of the largest
    profile that meets it at some points, and at their mirror images.
    """
    total = threshold + queries
    points: list[tuple[Fraction | float, Fraction]] = [(total, Fraction(0))]
    e, f = (math.nextafter(float(each), math.inf) for each in (threshold, queries))
    count = min(max(math.ceil(float(total) / STEP), FEWEST), MOST)
    charge(PER_POINT * count)
    for k in range(count):
        epsilon = float(total) * k / count
        x = epsilon - f
        if x >= 0.0:
            delta = -math.expm1(min(0.5 * (x - e), 0.0))
        else:
            delta = -math.expm1(x) - math.exp(x) * math.expm1(min(-0.5 * (x + e), 0.0))
        delta = min(1.0, delta * (1.0 + 64.0 * UNIT) + 16.0 * UNIT * (e + f))
        points.append((Fraction(epsilon), Fraction(delta)))
    return profile_law(tuple(points))


def gaussian_points(mu: float, outcomes: float) -> Points:
    """Return points of a profile for Gaussian noise, of streams of bounded length.

    With x = (r, n), phi its density, and w = (D, v), whose length in deviations is at most mu,

        P(o) - a P'(o) <= int (phi(x) - a phi(x + w)) g(x) dx <= h(mu),

    h(mu) the profile of N(mu, 1) and N(0, 1), as 0 <= g <= 1. Summed over the outcomes the profile
    is at most N h(mu). That is below what each order of the Renyi bounds of Zhu 2023, Theorems
    7.2.1 (7.1) and 7.6.6, proves of N h(mu).

    Args:
        mu: (D^2 / sigma_rho^2 + 4 c D^2 / sigma_nu^2)^{1/2}, rounded up.
        outcomes: N, the number of possible answers to the whole stream, rounded up.

    Raises:
        NotCertifiedError: nearly everything may be revealed.
    """
    losses = loss_grid(mu)
    values = outcomes * gaussian_profiles(mu, losses)[1] * (1.0 + 4.0 * UNIT)
    if not values[-1] < LEAST_HIDDEN:
        raise NotCertifiedError(REVEALED)
    return losses, np.minimum(values, 1.0)


def answers_points(
    sizes: tuple[float, float], cutoff: int, length: int, mu: float, outcomes: float
) -> Points:
    """Return these points, and some of what each answer costs at most, summed.

    Args:
        sizes: s and t, of rho and nu, in units of D.
        cutoff: c.
        length: most queries.
        mu: as for `gaussian_points`.
        outcomes: N.

    Raises:
        NotCertifiedError: see `gaussian_points`.
    """
    losses, values = gaussian_points(mu, outcomes)
    least = max(LEAST_DELTA, outcomes * LEAST_SHARE)
    epsilons = losses[np.searchsorted(-values, -least)] * np.arange(1, KNOTS + 1) / KNOTS
    try:
        sums = outcome_profile(sizes, answer_kinds(cutoff, length), epsilons)
    except OutOfWorkError:
        return losses, values
    return np.append(losses, epsilons), np.append(values, np.minimum(sums, 1.0))


@remembered(32)
def answers_bound(
    sizes: tuple[float, float], cutoff: int, length: int, mu: float, outcomes: float
) -> KnownList:
    """Return the law of the least profile through these points, and N h(mu) beyond the last."""
    points = answers_points(sizes, cutoff, length, mu, outcomes)
    return law_with_tail(points, (outcomes, mu), outcomes)


# Cells of the noise of the threshold, points of the profile, and of the table of h.
CELLS, POINTS, TABLE = 6000, 240, 60_000
# The noise is between these; what is beyond is to count at most REST.
LOWEST, HIGHEST, REST = -9.0, 120.0, 1e-31
# Points of sums over answers; of those "below" as many are counted as are, times PARTS, a chance of
# one "above" where the noise of the threshold is FAR_OUT deviations high, but no more than these.
STREAM_KNOTS, PARTS, FAR_OUT, MOST_COUNTED = 28, (1.0, 8.0), 4.0, 1e7
# Deviations over which h falls from nearly 1 to nothing.
REACH = 13.0
# Rounding of what is computed, in which exponents are below a thousand.
ROUNDING = 1.0 + 1e-9
LARGEST_EPSILON = 650.0


@remembered(32)
def nonnegative_bound(
    deviations: tuple[float, float],
    cutoff: int,
    threshold: float,
    known: tuple[int, float, float] | None,
) -> AtomicLaw:
    """Return the law for Gaussian noise, queries >= 0 and thresholds <= T.

    Args:
        deviations: s and t, of rho and nu, in units of D, off by a unit or two.
        cutoff: c.
        threshold: T in units of D, rounded up.
        known: most queries, and mu and N of `answers_points`; None for streams of any length.

    With mu = 2 c^{1/2} / t, rho = s z, l(z) = z / s + 1 / (2 s^2) the loss of moving rho by D, and
    h(x) the profile of N(mu, 1) and N(0, 1) at any real x, integrate over n first: for answers o

        P(o) - a P'(o) <= int phi(z) h(epsilon - l(z)) G_o(z) dz,

    G_o the chance, given z, that the answers that are not in S are "below". Given z and what came
    before, such an answer has a chance of at most F = Phi((T + s z) / t), as queries are >= 0. So
    the sum of G_o over the answers up to the next "above", or to the end of the stream, is at most
    1 + F + F^2 + ... = 1 / (1 - F), and that over all o is at most G = min(N, (1 - F)^{-c}), by
    induction over the answers "above" (the profile form of Zhu 2023, Theorem 7.2.1 (7.2)).

    Answer by answer: with J <= `length` - c those with fewer than J "below" end
    with the c-th "above", and cost at most their sum. In the same way the sum of G_o over the
    others is at most that of C(j + c - 1, c - 1) F^j from J on, I_F(J, c) (1 - F)^{-c}: answers at
    the end of the stream count for no more than if it went on with queries of 0.

    h falls and G grows: both increase with z, so that each cell counts with its right end.

    Raises:
        NotCertifiedError: streams of any length have infinitely many answers.
    """
    outcomes = math.inf if known is None else known[2]
    weights, ends = answer_weights(deviations, cutoff, threshold, outcomes)
    s, t = deviations
    mu = 2.0 * math.sqrt(cutoff) / t * (1.0 + 4.0 * UNIT)
    losses = (ends + 0.5 / s) / s
    losses += 16.0 * UNIT * (np.abs(ends) + 0.5 / s) / s
    first = mu * (0.5 * mu - REACH)
    step = 2.0 * mu * REACH / TABLE
    table = normal_profile(mu, first + step * np.arange(TABLE + 1))
    table[0] = 1.0
    charge(1.0 * CELLS * POINTS)

    def averaged(epsilon: float, answers: Array) -> float:
        places = np.clip((epsilon - first - losses) / step - 1e-6, 0, TABLE).astype(np.int64)
        return float(table[places] @ answers) * ROUNDING + REST

    def delta(epsilon: float) -> float:
        return averaged(epsilon, weights)

    high = 1.0
    while delta(high) > 2.0 * REST + table[-1] * float(weights.sum()):
        high *= 2.0
        if high > LARGEST_EPSILON:
            raise NotCertifiedError(REVEALED)
    low = 0.0
    for _ in range(8):
        middle = 0.5 * (low + high)
        if delta(middle) > 4.0 * REST:
            low = middle
        else:
            high = middle
    points = high * np.arange(POINTS + 1) / POINTS
    found = [(x, min(1.0, delta(x))) for x in points.tolist()]
    if known is not None:
        signed = answers_points(deviations, cutoff, *known)
        found += zip(*map(np.ndarray.tolist, signed), strict=True)
    knots = high * np.arange(STREAM_KNOTS + 1) / STREAM_KNOTS
    for part in PARTS:
        most = _counted(ends, deviations, threshold, part)
        if not 0 < most <= (known[0] if known else math.inf) - cutoff:
            continue
        later, _ = answer_weights(deviations, cutoff, threshold, outcomes, most)
        rest = np.array([averaged(x, later) for x in knots])
        sums = _summed(deviations, cutoff, most, knots)
        found += zip(knots.tolist(), np.minimum(sums + rest, 1.0).tolist(), strict=True)
    return profile_law(tuple((Fraction(x), Fraction(y)) for x, y in found))


def _counted(ends: Array, deviations: tuple[float, float], threshold: float, part: float) -> int:
    """Return a number of answers "below" beyond which few are left, where rho is not too large."""
    from scipy.special import ndtr

    s, t = deviations
    place = int(np.searchsorted(ends, FAR_OUT))
    chance = float(ndtr(-(threshold + s * ends[min(place, len(ends) - 1)]) / t))
    return math.ceil(part / chance) if chance * MOST_COUNTED > part else 0


def _summed(deviations: tuple[float, float], cutoff: int, most: int, epsilons: Array) -> Array:
    """Return what the answers with fewer than J "below" cost; or 1."""
    try:
        return outcome_profile(deviations, stopped_kinds(cutoff, most - 1), epsilons)
    except OutOfWorkError:
        return np.ones(len(epsilons))


def answer_weights(
    deviations: tuple[float, float], cutoff: int, threshold: float, outcomes: float, least: int = 0
) -> tuple[Array, Array]:
    """Return upper bounds on G over cells of the noise of the threshold, and their right ends.

    Of answers with J or more "below", where `least` is J > 0.

    What is beyond the last cell is at most REST: N P(rho > s Z), or without N

        int_Z^inf e^{psi(z)} dz <= e^{psi(Z)} / |psi'(Z)| where psi'(Z) < 0,

    psi = log phi - c log(1 - F), which is concave for t^2 >= c s^2: (log(1 - F))'' >= -s^2 / t^2.

    Raises:
        NotCertifiedError: see `nonnegative_bound`.
    """
    from scipy.special import betaincc, log_ndtr, ndtr

    s, t = deviations
    concave = t * t > cutoff * s * s * (1.0 + 1e-9)

    def log_answers(z: Array) -> Array:
        with np.errstate(over="ignore"):
            grown: Array = -cutoff * log_ndtr(-(threshold + s * z) / t)
        if least:
            part = betaincc(cutoff, least, ndtr(-(threshold + s * z) / t)) * ROUNDING
            grown += np.log(np.clip(part, 1e-300, 1.0))
        return np.minimum(grown, math.log(outcomes) if math.isfinite(outcomes) else np.inf)

    def beyond(z: float) -> float:
        most = outcomes * float(ndtr(-z)) if math.isfinite(outcomes) else math.inf
        y = (threshold + s * z) / t
        # The slope of -log(1 - F) grows, and is below this where y >= 0 (Birnbaum 1942).
        hazard = 0.5 * (max(y, 0.0) + math.hypot(max(y, 0.0), 2.0))
        slope = -z + cutoff * s / t * hazard * ROUNDING
        if not (concave and slope < -1e-6):
            return most
        psi = -0.5 * z * z - cutoff * float(log_ndtr(-y))
        return min(most, math.exp(min(psi, 300.0)) / (-slope * (1.0 - 1e-6)))

    z = 1.0
    while not beyond(z) * ROUNDING < REST:
        z += 0.5
        if z > HIGHEST:
            raise NotCertifiedError(
                "streams of any length have no bound: query_noise must be above"
                " sqrt(cutoff) threshold_noise, by far where the threshold is high; or give length"
            )
    edges = np.linspace(LOWEST, z, CELLS + 1)
    low, high = edges[:-1], edges[1:]
    masses = np.where(low >= 0.0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    masses[0] += ndtr(LOWEST)
    grown = log_answers(high)
    if not float(grown.max()) < LARGEST_EPSILON:
        raise NotCertifiedError(REVEALED)
    return masses * np.exp(grown), high


def normal_profile(mu: float, x: Array) -> Array:
    """Return h, rounded up, at any real x: the Gaussian profile, and 1 - e^x + e^x h(-x) below 0.

    With u = x / mu - mu / 2 and Mills' ratio R it is phi(u) (R(u) - R(u + mu)) for u >= 0, whose
    terms are off by 32 units, and P(N > u) - e^x P(N > u + mu) for u < 0, which is at least h(0).
    """
    from scipy.special import erfcx, ndtr

    u = x / mu - 0.5 * mu
    right = np.maximum(u, 0.0)
    near, far = (MILLS * erfcx(ROOT * each) for each in (right, right + mu))
    above = DENSITY * np.exp(-0.5 * right * right) * (near - far + 32.0 * UNIT * near)
    below = ndtr(-u) - np.exp(np.minimum(x, 700.0)) * ndtr(-u - mu) + 32.0 * UNIT
    found: Array = np.where(u >= 0.0, above, np.minimum(below, 1.0)) * ROUNDING
    return found
