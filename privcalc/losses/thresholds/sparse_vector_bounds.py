"""The sparse vector technique, bounded: privacy loss laws above it, and the sums of all answers.

The technique. Write rho for the noise of the threshold, drawn once, and nu_i for that of query i.
The answer to query i is "above" if q_i + nu_i >= T_i + rho, and the stream ends with the c-th such
answer, or with the last query. Under a neighbour no query changes by more than D. Answers may
choose the next queries and thresholds: given all answers o, these are fixed numbers.

Let S be the places of "above" in o, at most c of them, and let g(r, n) be 1 where the threshold's
noise r and the noise n of the queries in S give the answers in S, times the chance, given r, that
the others are "below". With the same for the neighbour, g'(r + D, n + v) >= g(r, n) for
v_i = D + q_i - q'_i in [0, 2 D]: a higher threshold is harder to reach for queries that changed by
at most D, and those in S are raised as much (Dwork, Roth 2014, Theorem 3.23).

Answers. Let o be answers with k "above", in the places S, and j "below". With sizes s of rho and t
of nu (in units of D), p the density of rho, Q = 1 - Phi, and gaps g_i = T_i - q_i,

    P(o) = int p(r) B(r) U(r) dr,    B = prod_{i not in S} Phi((g_i + r) / t),
                                     U = prod_{i in S} Q((g_i + r) / t),
    P'(o) >= int p(r + 1) B(r) W(r) dr,    W = prod_{i in S} Q((g_i + r + 2) / t)

by the moves above. So P(o) - a P'(o) is at most the largest I = int B (p U - a p(. + 1) W)
over all gaps, and the profile at most the sum of these over all o. Let q = phi / Phi. As q' =
-q (x + q) is in (-1, 0), (log q)' = -x - q falls. So for psi_z(w) = log Phi(Phi^{-1}(e^w) + z), of
which the slope is q(x + z) / q(x),

    psi_z is concave for z > 0, and convex for z < 0.                                           (1)

Above. A move of k numbers by at most 2 is one by at most 2 k^{1/2}: with M = 2 k^{1/2} / t, and the
best test of two normal laws, W >= omega(U), omega(Q(x)) = Q(x + M). As psi_{-z} is convex and
psi_{-z}(0) = 0, sum psi_{-z}(w_i) <= psi_{-z}(sum w_i): U falls at least as fast as the
Q((g + r) / t) with the same value somewhere. omega is convex, and omega(u) / u grows. Hence
u - b omega(u) has one maximum u*(b), on either side of which it is monotone, and u* grows with r,
as b = a p(r + 1) / p(r) falls. Let U meet u* at r_0 (or let r_0 be an end of the line): the
Q((g + r) / t) with U(r_0) there is between U and u* at every r, and no worse. So I is at most that
of one query "above", U = Q((g + r) / t) and W = Q((g + r) / t + M), for some g.

Below. p(r + 1) / p(r) and W / U fall with r: the bracket changes its sign once, from - to +, at
some r_0. By (1), of all products of j factors with one value at r_0 that of equal factors is the
largest for r > r_0 and the least for r < r_0. So I is at most that of B = Phi((b + r) / t)^j for
some b. More answers "below" allow more, as their gaps may be large: of several j the largest
counts. Any increasing B from 0 to 1 is a mixture of steps, which are the limit of many j.

A convolution. Let Y = nu - rho be what "above" compares with g, of variance v = s^2 + t^2, density
y, and f = s^2 / v. Given Y, rho is normal with mean -f Y and variance w = s^2 t^2 / v. With
Omega(x) = E Phi((x + w^{1/2} N) / t)^j, and Y moved by e = 2 k^{1/2} - 1,

    I = int_g^inf y(z) Omega(b - f z) - a y(z + e) Omega(b - f z - c) dz,    c = 1 + f e,

where Omega is logarithmically concave: R(x) = Omega(x - c) / Omega(x) grows. Both factors of
kappa(z) = 1 - a y(z + e) / y(z) R(b - f z) make it grow with z, so that the best g is where it is
0. For b in [b_0, b_1] and cells [z_0, z_1] of Y

    I <= sum P(z_0 < Y < z_1) Omega(b_1 - f z_0) (1 - a y(z_1 + e) / y(z_1) R(b_0 - f z_1))_+.  (2)

With k = 0 it is Omega(b) - a Omega(b - 1), with w = s^2, and at most Omega(b_1) (1 - a R(b_0))_+.

The possible answers of the sparse vector technique, counted, in few kinds.

Each answer is bounded by one with as many, or more, "below" and "above". Numbers of
"below" between one and a third of it are one kind, which raises their sum by a few tenths: what an
answer costs grows slowly with that number. After BLOCKS of these the rest is a small part of all.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr

from privcalc.errors import NotCertifiedError
from privcalc.losses.choices.noisy_max import law_with_tail, loss_grid
from privcalc.losses.profiles import law_of_points
from privcalc.numerics.normal import gaussian_profiles
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import OutOfWorkError, allowance, charge, remembered
from privcalc.record import replace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from privcalc.losses.atoms import AtomicLaw
    from privcalc.numerics.rounding import Array

    Points = tuple[Array, Array]

# What is beyond so many deviations, a mass of 1e-23, is counted as it is.
REACH = 10.0
BEYOND = 2e-23
# Distance of points of Omega in deviations of its noise, if they are not more than FINEST; and
# where its sum needs more than MOST it is taken for many j.
STEP, FINEST, MOST = 0.01, 20_000, 60_000
# Cells of Y for one deviation of nu in its twenty, at most MOST_CELLS.
CELLS, MOST_CELLS = 480, 1000
# The sum for Omega has a step in deviations of its noise with an error of e^-LOG_ERROR.
LOG_ERROR, WIDEST = 25.0, 0.8
# Cells of b are divided, so often, while their bound is above NEAR times that of the best point.
# With these numbers bounds are a tenth too large for large delta, a half for the smallest, and a
# kind of answers takes 15 ms.
FIRST, PARTS, TURNS, NEAR = 16, 3, 4, 1.05
# Work for all answers: ten kinds, where rho is not larger than nu.
WORK = 3e6
# What sums, functions and masses of cells, which are differences, are off by, with room.
ROUNDING = 1e-9


def outcome_profile(sizes: tuple[float, float], kinds: Sequence[Kind], epsilons: Array) -> Array:
    """Return the sum over answers of what each costs at most, for epsilons >= 0.

    Args:
        sizes: s and t in units of D.
        kinds: all answers.
        epsilons: where the profile is asked for.

    Raises:
        OutOfWorkError: there are too many kinds, or rho is far larger than nu: what is known
            without this sum has to do.
    """
    total = np.zeros(len(epsilons))
    with allowance(WORK):
        for kind in kinds:
            total += kind.number * _largest(sizes, kind, np.exp(epsilons))
    return total * (1.0 + ROUNDING)


class _OmegaTable:
    """Omega and R at points of a lattice, from the safe sides, and beyond."""

    def __init__(self, spread: float, t: float, below: int, move: float) -> None:
        """Sum over a lattice of the noise, of deviation `spread`, each step several of the points.

        With h its step, in deviations, the integrand is at xi + i d at most e^{(1 + j q) d^2 / 2}
        times what it is at xi, q = spread^2 / t^2, as |Phi(x + i y)| <= e^{y^2 / 2} Phi(x). So the
        sum is off by 2 / (e^{2 pi d / h} - 1) times that (Trefethen, Weideman 2014, Theorem 5.1):
        by 2 e^{-(2 pi / h)^2 / (2 (1 + j q))} for the best d. Where that takes too many points the
        limit of many j is taken.
        """
        from scipy.special import log_ndtr

        flat = 1.0 + below * (spread / t) ** 2
        step = min(WIDEST, 2.0 * math.pi / math.sqrt(2.0 * LOG_ERROR * flat))
        self.low = -REACH * (spread + t)
        high = REACH * spread + t * math.sqrt(2.0 * math.log(1e12 * (below + 1.0)))
        # Omega changes on the scale of both.
        self.step = max(STEP * math.hypot(spread, 0.2 * t), (high - self.low) / FINEST)
        wide = step * spread
        summed = below > 0 and high - self.low < MOST * wide
        if summed := summed and (step == WIDEST or wide >= self.step):
            self.step = min(self.step, wide)
        count = math.ceil((high - self.low) / self.step) + 1
        x = self.low + self.step * np.arange(count)
        if summed:
            stride = int(wide / self.step * (1.0 + 1e-9))
            step = self.step * stride / spread
            reach = math.ceil(REACH / step)
            xi = step * np.arange(-reach, reach + 1)
            weights = np.exp(-0.5 * xi * xi) * step / math.sqrt(2.0 * math.pi)
            more = self.step * np.arange(-reach * stride, count + (reach + 1) * stride) + self.low
            charge(1.0 * len(more) + 0.02 * count * len(xi))

            def mean(d: float) -> Array:
                """Return the mean of Phi((x - d + noise) / t)^j."""
                powers = np.exp(below * log_ndtr((more - d) / t))
                parts = np.lib.stride_tricks.sliding_window_view(powers, len(xi) * stride)
                found: Array = parts[:count, ::stride] @ weights
                return found

            here, moved = mean(0.0), mean(move)
        elif below:
            here, moved = ndtr(x / spread), ndtr((x - move) / spread)
        else:
            here = moved = np.ones(count)
        self.omega = np.minimum(here * (1.0 + ROUNDING) + BEYOND, 1.0)
        self.quotient = np.minimum(
            moved * (1.0 - ROUNDING) / (here * (1.0 + ROUNDING) + BEYOND), 1.0
        )
        # Rounding may hide that it grows; and what is before the first point, or beyond the last.
        self.quotient = np.minimum.accumulate(self.quotient[::-1])[::-1]
        self.quotient[0], self.omega[-1] = 0.0, 1.0

    def at(self, high: Array, low: Array) -> tuple[Array, Array]:
        """Return Omega, or more, and R, or less: those of the next points to the right and left."""
        last = len(self.omega) - 1
        right, left = ((x - self.low) / self.step for x in (high, low))
        after = np.ceil(np.clip(right + 1e-6, 0.0, last)).astype(np.int64)
        before = np.floor(np.clip(left - 1e-6, 0.0, last)).astype(np.int64)
        return self.omega[after], self.quotient[before]


class _Answer:
    """The bound (2) for answers of one kind."""

    def __init__(self, sizes: tuple[float, float], kind: Kind) -> None:
        """Make the cells of Y, and the table of Omega; of k = 0 there is one cell."""
        s, t = sizes
        v = s * s + t * t
        self._f = f = s * s / v if kind.above else 0.0
        e = 2.0 * math.sqrt(kind.above) - 1.0
        spread = s * t / math.sqrt(v) if kind.above else s
        self._table = _OmegaTable(spread, t, kind.below, 1.0 + f * e)
        self.cells = min(MOST_CELLS, math.ceil(CELLS * math.sqrt(v) / t)) if kind.above else 1
        edges = np.linspace(-REACH, REACH, self.cells + 1)
        left, right = edges[:-1], edges[1:]
        self._mass = np.where(left < 0.0, ndtr(right) - ndtr(left), ndtr(-left) - ndtr(-right))
        self._left, self._right = left * math.sqrt(v), right * math.sqrt(v)
        exponent = -(e * self._right + 0.5 * e * e) / v
        self._falls = np.exp(exponent - 1e-12 * (1.0 + np.abs(exponent)))
        if not kind.above:
            self._falls[:] = 1.0

    def factors(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return, for cells of b and of Y, P times Omega, and what stands with a in kappa."""
        charge(0.5 * self.cells * len(low))
        omega, ratio = self._table.at(
            high[:, None] - self._f * self._left, low[:, None] - self._f * self._right
        )
        return omega * self._mass, self._falls * ratio * (1.0 - 1e-12)


def _largest(sizes: tuple[float, float], kind: Kind, a: Array) -> Array:
    """Return more than the largest I over b, for each a, by cells of b that are divided."""
    answer = _Answer(sizes, kind)
    s, t = sizes
    last = REACH * s + t * math.sqrt(2.0 * math.log(1e3 * (kind.below + 1.0)))
    first = -REACH * math.hypot(s, t)
    # Where nothing is "below", b says nothing.
    ends = np.linspace(first, last, FIRST + 1) if kind.below else np.zeros(1)
    outer = [(-np.inf, ends[0])] if kind.below else [(np.inf, np.inf)]
    if kind.below:
        outer.append((last, np.inf))
    weight, falls = answer.factors(*np.array(outer).T)
    found = np.array([_values(weight, falls, each).max() for each in a])
    attained = np.zeros(len(a))
    low, high = ends[:-1], ends[1:]
    alive = np.ones((len(a), len(low)), dtype=bool)
    for turn in range(TURNS + 1):
        if not len(low):
            break
        bounds = answer.factors(low, high)
        middle = 0.5 * (low + high)
        inside = bounds if turn == TURNS else answer.factors(middle, middle)
        charge(0.1 * answer.cells * np.count_nonzero(alive))
        for i, each in enumerate(a):
            own = np.flatnonzero(alive[i])
            if not len(own):
                continue
            values = _values(bounds[0][own], bounds[1][own], each)
            if turn < TURNS:
                best = _values(inside[0][own], inside[1][own], each).max()
                attained[i] = max(attained[i], best)
                kept = values > NEAR * attained[i]
                alive[i, own] = kept
                values = values[~kept]
            found[i] = max(found[i], values.max(initial=0.0))
        used = np.flatnonzero(alive.any(axis=0))
        edges = low[used, None] + (high - low)[used, None] * np.linspace(0.0, 1.0, PARTS + 1)
        edges[:, -1] = high[used]
        low, high = edges[:, :-1].ravel(), edges[:, 1:].ravel()
        alive = np.repeat(alive[:, used], PARTS, axis=1)
    return found


def _values(weight: Array, falls: Array, a: float) -> Array:
    """Return (2) for one a."""
    kappa = np.maximum(1.0 - a * falls, 0.0)
    found: Array = np.einsum("ij,ij->i", weight, kappa) * (1.0 + ROUNDING) + BEYOND
    return found


RATIO, BLOCKS = 3, 5
# What a large number is rounded up by.
UP = 1.0 + 4.0 * UNIT


class Kind(NamedTuple):
    """Answers of one kind: at most so many "below", so many "above", and how many of them."""

    below: int
    above: int
    number: float


def answer_kinds(cutoff: int, length: int) -> list[Kind]:
    """Return the possible answers to a stream, at most `length` of them, as few kinds.

    Those that end with the last query have k < c "above", and there are C(length, k). With more of
    them, or more "below", answers cost no less, as gaps may be far below or above 0.
    """
    found = stopped_kinds(cutoff, length - cutoff)
    low = 0
    while low < cutoff:
        high = min(max(low, 2 * low - 1), cutoff - 1)
        count = sum(math.comb(length, k) for k in range(low, high + 1))
        found.append(Kind(length - low, high, float(count) * UP))
        low = high + 1
    return found


def stopped_kinds(cutoff: int, most: int) -> list[Kind]:
    """Return the answers with c "above" of which the last is one, and at most so many "below".

    With j "below" there are C(j + c - 1, c - 1) of them, and up to j there are C(j + c, c).
    """
    found = []
    for turn in range(BLOCKS):
        rest = -1 if turn == BLOCKS - 1 else most // RATIO
        count = math.comb(most + cutoff, cutoff)
        count -= math.comb(rest + cutoff, cutoff) if rest >= 0 else 0
        found.append(Kind(most, cutoff, float(count) * UP))
        most = rest
        if most < 0:
            break
    return found


# Distance of the points of the profile of Laplace noise, and their number.
EPSILON_STEP, FEWEST_POINTS, MOST_POINTS = 0.01, 60, 600
# Work for a cell at a point, and where the search for the last point begins.
PER_CELL, FIRST_EPSILON = 2.0, 2.0**-10
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
    e, f, last = (math.nextafter(float(each), math.inf) for each in (threshold, queries, total))
    count = min(max(math.ceil(last / EPSILON_STEP), FEWEST_POINTS), MOST_POINTS)
    epsilons = last * np.arange(count) / count
    x = epsilons - f
    small = np.minimum(x, 0.0)
    # 1 - e^x + e^x H(-x) for x < 0.
    delta = -np.expm1(small) - np.exp(small) * np.expm1(np.minimum(0.5 * (np.abs(x) - e), 0.0))
    delta = delta * (1.0 + 64.0 * UNIT) + 16.0 * UNIT * (e + f)
    law = law_of_points(np.append(epsilons, last), np.append(delta, 0.0))
    return replace(law, known_loss=total)


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
) -> AtomicLaw:
    """Return the law of the least profile through these points, and N h(mu) beyond the last."""
    points = answers_points(sizes, cutoff, length, mu, outcomes)
    return law_with_tail(points, (outcomes, mu), outcomes)


# Cells of the noise of the threshold, and points of the profile.
NOISE_CELLS, POINTS = 3000, 100
# The noise is between these; what is beyond is to count at most REST.
LOWEST, HIGHEST, REST = -9.0, 120.0, 1e-31
# So many answers "below" are counted, over the chance of one "above" where the noise of the
# threshold is FAR_OUT deviations high, but no more than MOST_COUNTED.
COUNTED, FAR_OUT, MOST_COUNTED = (1.0, 8.0), 4.0, 1e7
# What the profile is at the last point, and deviations over which it falls that far.
FAINT, REACH_OF_H = 4.0 * REST, 40.0
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
    charge(PER_CELL * NOISE_CELLS * POINTS)

    def averaged(epsilons: Array, answers: Array) -> Array:
        values = _any_profile(mu, epsilons[:, None] - losses)
        found: Array = values @ answers * (1.0 + ROUNDING) + REST
        return found

    last = FIRST_EPSILON
    while averaged(np.array([last]), weights)[0] > FAINT:
        last *= 2.0
        if last > LARGEST_EPSILON:
            raise NotCertifiedError(REVEALED)
    epsilons: Array = last * np.arange(POINTS + 1) / POINTS
    found: list[Points] = [(epsilons, averaged(epsilons, weights))]
    if known is not None:
        found.append(answers_points(deviations, cutoff, *known))
    knots: Array = last * np.arange(KNOTS + 1) / KNOTS
    place = min(int(np.searchsorted(ends, FAR_OUT)), len(ends) - 1)
    chance = float(ndtr(-(threshold + s * ends[place]) / t))
    for part in COUNTED:
        # Beyond these answers "below" few are left, where rho is not too large.
        most = math.ceil(part / chance) if chance * MOST_COUNTED > part else 0
        if not 0 < most <= (known[0] if known else math.inf) - cutoff:
            continue
        later, _ = answer_weights(deviations, cutoff, threshold, outcomes, most)
        with suppress(OutOfWorkError):
            sums = outcome_profile(deviations, stopped_kinds(cutoff, most - 1), knots)
            found.append((knots, sums + averaged(knots, later)))
    return law_of_points(*map(np.concatenate, zip(*found, strict=True)))


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
    from scipy.special import betaincc, log_ndtr

    s, t = deviations
    concave = t * t > cutoff * s * s * (1.0 + 1e-9)

    def log_answers(z: Array) -> Array:
        with np.errstate(over="ignore"):
            grown: Array = -cutoff * log_ndtr(-(threshold + s * z) / t)
        if least:
            part = betaincc(cutoff, least, ndtr(-(threshold + s * z) / t)) * (1.0 + ROUNDING)
            grown += np.log(np.clip(part, 1e-300, 1.0))
        return np.minimum(grown, math.log(outcomes) if math.isfinite(outcomes) else np.inf)

    def beyond(z: float) -> float:
        most = outcomes * float(ndtr(-z)) if math.isfinite(outcomes) else math.inf
        y = (threshold + s * z) / t
        # The slope of -log(1 - F) grows, and is below this where y >= 0 (Birnbaum 1942).
        hazard = 0.5 * (max(y, 0.0) + math.hypot(max(y, 0.0), 2.0))
        slope = -z + cutoff * s / t * hazard * (1.0 + ROUNDING)
        if not (concave and slope < -1e-6):
            return most
        psi = -0.5 * z * z - cutoff * float(log_ndtr(-y))
        return min(most, math.exp(min(psi, 300.0)) / (-slope * (1.0 - 1e-6)))

    z = 1.0
    while not beyond(z) * (1.0 + ROUNDING) < REST:
        z += 0.5
        if z > HIGHEST:
            raise NotCertifiedError(
                "streams of any length have no bound: query_noise must be above"
                " sqrt(cutoff) threshold_noise, by far where the threshold is high; or give length"
            )
    edges = np.linspace(LOWEST, z, NOISE_CELLS + 1)
    low, high = edges[:-1], edges[1:]
    masses = np.where(low >= 0.0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    masses[0] += ndtr(LOWEST)
    grown = log_answers(high)
    if not float(grown.max()) < LARGEST_EPSILON:
        raise NotCertifiedError(REVEALED)
    return masses * np.exp(grown), high


def _any_profile(mu: float, x: Array) -> Array:
    """Return h, rounded up, at any real x: 1 - e^x + e^x h(-x) below 0; h falls."""
    size = np.abs(x)
    high = gaussian_profiles(mu, np.minimum(size, mu * (0.5 * mu + REACH_OF_H)))[1]
    below = -np.expm1(-size) + np.exp(-size) * high
    found: Array = np.where(x >= 0.0, high, np.minimum(below, 1.0))
    return found
