"""An upper bound on every choice of a noisy maximum with Gaussian noise, as a privacy loss law.

m candidates have scores f_i(x) + sigma Z_i with independent standard normal Z_i, and only the index
of the largest is released. Write s for the most that f_i - f_j changes between neighbours x and x',
over sigma: twice the sensitivity of one score, once if all scores move in one direction.

The profile is max over sets S of candidates, with k elements, of P(S) - a P'(S). Let D be the
largest score of S under x less the largest of the j = m - k others. It changes by at most s (in
units of sigma), so that P'(S) >= P(D > s), while P(S) = P(D > 0): it is enough to bound
P(D > 0) - a P(D > s), for all scores. Ties have probability 0. For each a > 0:

Vector (k' = floor(m/2), m' = m - k'): H_a <= h(s (k' m' / m)^{1/2}), with h(mu) the profile of
N(mu, 1) and N(0, 1). Moving the noise of S up by s j / m and that of the others down by s k / m
maps {D > 0} into {D > s}; the length of the move is s (k j / m)^{1/2}.

Union: H_a <= max_k k h(s (j / (j + 1))^{1/2}). S wins if one of its k members i does, and given
the other noise of S, {i wins} is a set of the noise of i and of the j others. Moving them by
s j / (j + 1) and -s / (j + 1) maps it into {i is the largest of S, and by s larger than the
others}; the length of the move is s (j / (j + 1))^{1/2}. So P(S) - a P(D > s) is at most the sum of
k such profiles. As j / (j + 1) < 1 and k < m, this is below the bound m h(s) of Koskela, Redberg,
Wang 2024, Theorem 3.2, for every a.

Largest number: H_a is at most the profile of X, the largest of m - 1 standard normal numbers,
against X - s. Let I_k be the density of the largest of k at its upper quantile. With u = -log Phi,
the slope of log Phi, r = phi / Phi, is a concave function of u: d^2 r / du^2 has the sign of
-(1 - x r - r^2), and this is minus the variance of a normal number given that it is below x. So for
any f, at a point where the product of the Phi(x - f_i) is F, the largest of f_i + Z_i, i in S, has
density F sum_i r_i <= F k r(-log F / k) = I_k(1 - F), and I_k <= I_{k+1} as scores may be far
below. I_k is concave, as that density is log-concave. Given the noise of the others, which D has in
its threshold, G(t) = P(D > t) therefore has -G' <= E I_{m-1} <= I_{m-1}(G), by Jensen's inequality,
and it falls no faster from G(0) than P(X > z + t) does, which has equality. So P(D > s) is at least
P(X > z + s) where P(D > 0) = P(X > z).

All three hold for both orders of x and x', so that the profile is at most their minimum for a >= 1,
its mirror image H(a) = 1 - a + a H(1/a) below, and the convex envelope of both. That is the law of
this module: a privacy profile and hence that of a pair, which dominates the mechanism and composes
adaptively (Zhu, Dong, Wang 2022, Lemma 7 and Theorem 10).

Composing it is never worse than a factor on compositions (Theorem 3.3 of Koskela, Redberg, Wang):
if H_a(A || B) <= m H_a(P || Q) for all a > 0, then, replacing one factor at a time and integrating
over the others,

    H_a(A^k || B^k) = E_{A^{k-1}} H_{a / r}(A || B) <= m E_{A^{k-1}} H_{a / r}(P || Q)
                    = m H_a(A^{k-1} x P || B^{k-1} x Q) <= ... <= m^k H_a(P^k || Q^k),

r being the likelihood ratio of the others; for the last step condition on P x Q in turn. And the
envelope A, B of min(1, m H_a(P || Q)) satisfies the assumption.

Renyi divergences of a symmetric profile in pieces, from the masses of many cells.

The pair is symmetric, Q(L = -l) = P(L = l), so that both signs of a loss count together:

    M(c) - 1 = E_Q[F(e^L); L > 0],    F(a) = a^{c+1} - a - 1 + a^{-c} = a (a^c - 1) (1 - a^{-c-1}).

F is convex on a >= 1, with F(1) = F'(1) = 0. Of a cell with masses p and q on losses in [l, r] the
part is therefore at least q F(p / q) (Jensen), and at most the chord

    p_1 G(l) + p_2 G(r),    p_1 + p_2 = p,    p_1 e^{-l} + p_2 e^{-r} = q,    G(l) = e^{-l} F(e^l);

both grow with p and fall with q. Beyond the last cell the part is E_P[e^{cL}] of its normal piece,
but for the factor (1 - e^{-cL}) (1 - e^{-(c+1)L}), which increases with L and is at most 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.choices.noisy_max_envelope import envelope, vector_mu
from privcalc.losses.choices.noisy_max_pieces import Normal, log_normal
from privcalc.losses.law import LossLaw, Tails
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.numerics.log_sums import TINIEST
from privcalc.numerics.normal import gaussian_profile
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge, remembered

if TYPE_CHECKING:
    from privcalc.losses.choices.noisy_max_pieces import Pieces
    from privcalc.numerics.arrays import Array

CELLS = 4000
# Work for a cell at one order.
PER_CELL = 2.0
# Orders at once.
CHUNK = 64


def noisy_max_renyi(pieces: Pieces, c: Array) -> tuple[Array, Array]:
    """Return bounds on K(c), c > 0.

    The log of G is a sum of two terms, off by 16 units, and c l by 2; sums of positive terms
    are off by their number of units. Masses of cells are off by the errors of the two tails that
    they come from.
    """
    charge(PER_CELL * CELLS * len(c))
    last = pieces.last
    edge = max(float(pieces.joints[-1]), 0.5 * last.mu**2 + 12.0 * last.mu)
    edges = np.unique(np.concatenate([np.linspace(0.0, edge, CELLS + 1), pieces.joints]))
    side = pieces.side(edges)
    p, p_error = _masses(side.above_p, side.below_p, np.asarray(side.error))
    q, q_error = _masses(side.above_q, side.below_q, np.asarray(side.error))
    # Displaced losses: cells are that much wider, and their masses belong to the wider cell.
    low = np.maximum(edges[:-1] - side.shift, 0.0)
    high = edges[1:] + side.shift
    p_low, p_high = np.maximum(p - p_error, 0.0), p + p_error
    q_low, q_high = np.maximum(q - q_error, 0.0), q + q_error
    with np.errstate(all="ignore"):
        ratio = np.log(p_low) - np.log(q_high) - 32.0 * UNIT * (1.0 + np.abs(np.log(q_high)))
        centre = np.clip(np.where(p_low > 0.0, ratio, 0.0), low, high)
        right = (p_high - q_low * np.exp(np.minimum(low, 700.0))) / -np.expm1(low - high)
        slack = UNIT * 32.0 * (p_high + q_low * np.exp(np.minimum(low, 700.0)))
        right = np.clip(right + slack / -np.expm1(low - high), 0.0, p_high)
        logs = [np.log(p_low), np.log(p_high - right), np.log(right)]
    points = [centre, low, high]
    lower, upper = np.empty(c.shape), np.empty(c.shape)
    for begin in range(0, len(c), CHUNK):
        part = c[begin : begin + CHUNK, None]
        sums = [_log_sum(log + _log_g(part, x)) for log, x in zip(logs, points, strict=True)]
        far, off = _far(last, edge, part[:, 0])
        total = np.logaddexp(np.logaddexp(sums[1], sums[2]), far + off)
        rest = _log_g(part, np.array([edge]))[:, 0] - part[:, 0] * edge
        least = np.logaddexp(sums[0], far - off + rest)
        size = 1.0 + (part[:, 0] + 1.0) * (edge + 1.0)
        error = UNIT * (2.0 * len(edges) + 64.0 * size) * MARGIN
        lower[begin : begin + CHUNK] = _log1p_exp(least - error) * (1.0 - 16.0 * UNIT)
        upper[begin : begin + CHUNK] = _log1p_exp(total + error) * (1.0 + 16.0 * UNIT)
    return lower, upper


def _masses(above: Array, below: Array, error: Array) -> tuple[Array, Array]:
    """Return the masses of cells, by subtracting whichever tail is smaller, and their errors."""
    use = above[:-1] < below[1:]
    mass = np.where(use, above[:-1] - above[1:], below[1:] - below[:-1])
    wrong = np.where(
        use, (above * error)[:-1] + (above * error)[1:], (below * error)[:-1] + (below * error)[1:]
    )
    return np.maximum(mass, 0.0), wrong * MARGIN + 2.0 * UNIT * np.abs(mass)


def _log_g(c: Array, x: Array) -> Array:
    """Return log G(x) = c x + log((1 - e^{-cx}) (1 - e^{-(c+1)x}))."""
    first, second = np.expm1(-c * x), np.expm1(-(c + 1.0) * x)
    with np.errstate(divide="ignore"):
        value: Array = c * x + np.log(first * second)
    return value


def _log_sum(logs: Array) -> Array:
    """Return the log of each row's sum; terms below e^-700 of the largest are next to nothing."""
    with np.errstate(all="ignore"):
        known = np.where(np.isnan(logs), -np.inf, logs)
        top = known.max(axis=-1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        value: Array = np.log(np.exp(known - top).sum(axis=-1)) + top[:, 0]
    return value


def _far(last: Normal, edge: float, c: Array) -> tuple[Array, Array]:
    """Return log(count) + c (c + 1) mu^2 / 2 + log P(N > edge / mu - (c + 1/2) mu), and its error.

    The argument is off by 3 units of its terms, and the slope of log P is at most 1 more than it.
    """
    from scipy.special import log_ndtr

    mu = last.mu
    z = (c + 0.5) * mu - edge / mu
    exponent = 0.5 * c * (c + 1.0) * mu * mu
    tail = log_ndtr(z)
    size = 1.0 + (c + 0.5) * mu + edge / mu
    error = UNIT * (32.0 * exponent + 16.0 * np.abs(tail) + 16.0 * size * size)
    return math.log(last.count) + exponent + tail, error


def _log1p_exp(x: Array) -> Array:
    """Return log(1 + e^x)."""
    value: Array = np.logaddexp(0.0, x)
    return np.where(x < -30.0, np.log1p(np.exp(np.minimum(x, 0.0))), value)


# Orders at which the law is asked for a bound at all orders, from the first on; parts of intervals
# between them, which may be worth so much more than the best order, and how often they are split.
ORDERS, FIRST = 80, 1e-12
SPLIT, CLOSE, ROUNDS = 5, 1.0 + 3e-4, 4
# Parts of a piece that is not normal; and shorter pieces are one part.
PARTS, SHORT = 300, 1e-3
HALVINGS, RAISES = 60, 6


def largest_quotient(pieces: Pieces, candidates: int, step: float) -> float:
    """Return a bound on D_a / a at all orders a = c + 1 > 1 for the choice of a noisy maximum.

    Up to the first order of a grid D is at most what it is there. Between two orders K is at most
    its chord p + q c, and (p + q c) / (c (c + 1)) is largest where q c^2 + 2 p c + p = 0, or at an
    end; p and q are off by few units of what the chord is at the ends. Beyond the grid
    H - (1 - a)_+ is at most m times that of h(s), as the module has it, so that M - 1
    is at most m times e^{c (c + 1) s^2 / 2} - 1 and K <= log m + c (c + 1) s^2 / 2.
    """
    log_m = math.log(candidates)
    last = max(64.0, 1e3 * math.sqrt(log_m) / step)
    c = np.geomspace(FIRST, last, ORDERS)
    k = noisy_max_renyi(pieces, c)[1]
    for rounds in range(ROUNDS + 1):
        q = np.diff(k) / np.diff(c)
        p = np.minimum(k[:-1] - q * c[:-1], 0.0)
        middle = np.clip((np.sqrt(p * p - p * q) - p) / q, c[:-1], c[1:])
        inside = (k[:-1] + q * (middle - c[:-1])) / (middle * (middle + 1.0))
        ends = float((k / (c * (c + 1.0))).max())
        wide = np.flatnonzero(inside > ends * CLOSE)
        if rounds == ROUNDS or not len(wide):
            break
        new = np.geomspace(c[wide], c[wide + 1], SPLIT + 1)[1:-1].ravel()
        order = np.argsort(np.concatenate([c, new]))
        k = np.concatenate([k, noisy_max_renyi(pieces, new)[1]])[order]
        c = np.concatenate([c, new])[order]
    beyond = log_m / (last * (last + 1.0)) + 0.5 * step * step
    return max(float(k[0] / c[0]), float(inside.max()), ends, beyond) * (1.0 + 1e-11)


def enough_mu(pieces: Pieces) -> float:
    """Return a mu whose normal profile is at least the envelope; infinity where none is proved.

    On a normal piece, of a smaller distance, it is enough to be so where the piece begins, as the
    quotient increases (`noisy_max_envelope.py`). On parts [l, r] of other pieces it is enough that
    the profile at r is at least H(l), as both fall. Both pairs are symmetric, so that losses below
    0 need nothing more.
    """
    places, values = _requirements(pieces)
    least = max(piece.mu for piece in pieces.pieces if isinstance(piece, Normal))
    left, right = np.full(len(places), least), np.full(len(places), least)
    log_values = np.log(values)
    while (short := log_normal(1.0, right, places) < log_values).any() and right.max() < 1e6:
        right = np.where(short, 2.0 * right, right)
    for _ in range(HALVINGS):
        middle = 0.5 * (left + right)
        short = log_normal(1.0, middle, places) < log_values
        left, right = np.where(short, middle, left), np.where(short, right, middle)
    mu, excess = float(right.max()), 1e-12
    for _ in range(RAISES):
        raised = mu * (1.0 + excess)
        if all(
            gaussian_profile(raised, x).lower >= value
            or gaussian_profile(raised, x).rest_upper <= 1.0 - value
            for x, value in zip(places.tolist(), values.tolist(), strict=True)
        ):
            return raised
        excess *= 100.0
    return math.inf


def _requirements(pieces: Pieces) -> tuple[Array, Array]:
    """Return losses, and what the profile has to be there at least."""
    places, values = list[float](), list[float]()
    ends = [*pieces.joints[1:].tolist(), math.inf]
    for piece, end in zip(pieces.pieces, ends, strict=True):
        if isinstance(piece, Normal):
            parts = [piece.start, piece.start]
        else:
            count = PARTS if end - piece.start > SHORT * end else 1
            parts = np.linspace(piece.start, end, count + 1).tolist()
        for x, after in pairwise(parts):
            places.append(after)
            values.append(min(1.0, piece.value(x).upper))
    return np.array(places), np.array(values)


# Beyond this step nearly everything is revealed, and the vector bound has to do.
LARGEST_STEP = 12.0


@remembered(32)
def noisy_max_law(candidates: int, step: float, error: float = 0.0) -> LossLaw:
    """Return the law of the envelope; of the vector bound alone where it is the least.

    Args:
        candidates: m >= 2. For 2 the vector bound is exact: the difference of the two scores is a
            normal number, and every half-line is a test. For 3 it is below the union bound.
        step: s > 0.
        error: its relative error. The bounds grow with s, which is therefore raised by it.
    """
    if error:
        step = math.nextafter(step * (1.0 + error), math.inf)
    mu = vector_mu(candidates, step)
    if candidates <= 3 or step > LARGEST_STEP:
        return GaussianLaw(mu)
    try:
        return NoisyMaxLaw(candidates, step, envelope(candidates, step), mu)
    except NotCertifiedError:
        return GaussianLaw(mu)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMaxLaw(LossLaw):
    """The law of a symmetric profile in pieces.

    Attributes:
        candidates: m.
        step: s.
        pieces: the profile on losses >= 0.
        mu: distance of the vector bound.
    """

    candidates: int
    step: float
    pieces: Pieces
    mu: float

    max_loss = math.inf

    def profile(self, epsilon: float) -> tuple[float, float]:
        """Bound delta at epsilon >= 0."""
        found = self.pieces.value(epsilon)
        return max(0.0, found.lower), min(1.0, found.upper)

    def tails(self, losses: Array) -> Tails:
        """Return the tails of the pieces, and for l < 0 those of their mirror image.

        P(L <= l) = Q(L >= -l) and P(L > l) = Q(L < -l); atoms at tested losses may be on either
        side, as the shift is positive.
        """
        side = self.pieces.side(np.abs(losses))
        left = losses < 0.0
        return Tails(
            above_p=np.where(left, side.below_q, side.above_p),
            above_q=np.where(left, side.below_p, side.above_q),
            below_p=np.where(left, side.above_q, side.below_p),
            below_q=np.where(left, side.above_p, side.below_q),
            error=side.error,
            shift=side.shift,
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K from the masses of many cells."""
        return noisy_max_renyi(self.pieces, c)

    def concentration(self, c: Array) -> Array:
        """Bound D_a / a of the mechanism at all orders."""
        return np.full(c.shape, _limits(self)[0] + TINIEST)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return an upper end for the mechanism."""
        return 0.0, _limits(self)[1]


@remembered(32)
def _limits(law: NoisyMaxLaw) -> tuple[float, float]:
    """Return rho and mu for the mechanism: of the envelope, or mu^2 / 2 and mu by the vector bound.

    The two are about the mechanism, whose profile is below both, and not about the chords of the
    envelope, which may be above the vector bound by very little.
    """
    rho = min(0.5 * law.mu * law.mu, largest_quotient(law.pieces, law.candidates, law.step))
    return rho * (1.0 + 20.0 * UNIT), min(law.mu, enough_mu(law.pieces)) * (1.0 + 8.0 * UNIT)
