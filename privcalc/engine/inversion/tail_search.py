"""Where to split, by rough transforms of cut laws on a grid: nothing here is certified.

Any choice gives a valid bracket; a wrong value costs width or time, never truth: what a certificate
uses is evaluated again. Level: the loss beyond which an outcome is rare, the same for all laws. At
every level the terms of the split have about the sizes min_c e^{K - c epsilon} / (c (c + 1)) on the
right, the same of the adding side on the left, and the closed form; the saddle points' curvatures
make estimates of them. Levels whose sizes together are hardly above the least cancel little; among
them the one whose abscissas are largest needs the fewest nodes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from privcalc.engine.composition import Composition
from privcalc.engine.lists.factor import LOG_LOST, Lists, listed, rough
from privcalc.errors import NotCertifiedError
from privcalc.losses.law import LineLaw
from privcalc.losses.sampled.cut import CutLaw
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.lists.factor import Wanted
    from privcalc.losses.law import ContourLaw
    from privcalc.losses.sampled.law import TailSplitLaw
    from privcalc.numerics.rounding import Array, Integers

# P-mass of one use that may be truncated of a whole law.
LOG_DROPPED = -100.0
# Losses of outcomes so many deviations above the mean under W are the largest that are looked at.
FARTHEST = 14.0
# Outcomes, in deviations of R below its mean and of W above its own, and their distance; where the
# means are so far apart that there were more of them, they are farther apart.
BELOW, ABOVE, STEP, MOST = 10.0, 14.0, 0.1, 4000
# Beyond this, powers count as infinite: made merely large, they would attract searches.
LARGEST = 690.0
# Laws with less than this beyond a level are not cut there.
NOTHING = 1e-36
# Where a record is added, powers of 1 - q from this logarithm on are summed by logarithms.
PLAIN_FROM = 0.5
# Transforms below this have underflowed, or may have.
LEAST = 1e-280
# Laws whose outcomes are remembered, and the work of one at all orders and levels.
MANY_LAWS, PER_LAW = 1000, 5000.0


@record
class Parts:
    """Sampled Gaussians, of one record or a group, and laws that tilt by themselves, with counts.

    Attributes:
        sampled: laws that are cut, all of one direction; none for a whole line.
        others: laws that stay whole, with their pairs in the other order.
    """

    sampled: tuple[tuple[TailSplitLaw, int], ...]
    others: tuple[tuple[LineLaw, LineLaw, int], ...]

    @classmethod
    def of(cls, composition: Composition) -> Parts | None:
        """Tell the laws apart; None where they are not known, or none is cut.

        Where a record is added no large loss is rare, and a line knows all.

        A whole law, which may be a list, has a pair in the other order: the adding side needs it.
        """
        if composition.curves:
            return None
        sampled: list[tuple[TailSplitLaw, int]] = []
        others: list[tuple[LineLaw, LineLaw, int]] = []
        for law, count in rough(composition, LOG_LOST, split=True):
            if law.properties.supports_tail_split:
                sampled.append((cast("TailSplitLaw", law), count))
                continue
            whole = cast("LineLaw", law).truncated(LOG_DROPPED)
            backward = whole.reverse_direction
            if not isinstance(backward, LineLaw):
                return None
            others.append((whole, backward, count))
        if not sampled or not all(law.remove for law, _ in sampled):
            return None
        return cls(tuple(sampled), tuple(others))

    def listed(self, wanted: Wanted) -> Parts:
        """Return the same with lists in the place of sketches."""
        terms = listed(Composition(tuple((law, n) for law, _, n in self.others)), wanted).lines
        others = tuple((law, cast("LineLaw", law.reverse_direction or law), n) for law, n in terms)
        return Parts(self.sampled, others)

    @property
    def lists(self) -> Lists:
        """What the lists come to on a line."""
        return Lists.of(tuple((law, n) for law, _, n in self.others))

    def contours(self, c: float) -> list[tuple[ContourLaw, int]]:
        """Return the other laws on the line of the right side at c."""
        return [(law.on_contour(c, 0.0, 0.0), n) for law, _, n in self.others]

    @property
    def uses(self) -> int:
        """Return how often sampled laws are used."""
        return sum(count for _, count in self.sampled)

    @property
    def variance(self) -> float:
        """Return about the variance of the loss, overflow cut off."""
        total = sum(n * law.cumulants(0.0)[2] for law, _, n in self.others)
        for law, n in self.sampled:
            total += n * law.variance(500.0)
        return total

    def whole(self, *, right: bool) -> list[tuple[LineLaw, int]]:
        """Return the other laws as one side has them."""
        return [(law if right else backward, count) for law, backward, count in self.others]

    def other_cumulants(self, orders: Array, *, right: bool) -> Array:
        """Return K of the other laws together at each order of one side."""
        total = np.zeros(len(orders))
        for law, count in self.whole(right=right):
            total += count * np.array([law.cumulants(float(c))[0] for c in orders])
        return total

    def cut(self, level: float, log_rare: float) -> tuple[tuple[CutLaw, int], ...]:
        """Cut every law at a loss.

        Args:
            level: the loss.
            log_rare: log of the R-mass, of one use, that may be truncated at either end.
        """
        z = math.sqrt(max(-2.0 * log_rare, 1.0))
        cuts = []
        for law, count in self.sampled:
            piece = law.normal
            low, far = piece.mean - z * piece.deviation, piece.mean + z * piece.deviation
            top = law.place(level)
            if not low < top - 0.1 * piece.deviation:
                raise NotCertifiedError("the split lies below all that the samples do")
            if top >= far:
                # Its large losses are too rare to matter; what is truncated is of P, not of R.
                top = far = max(far, law.truncated(log_rare).ends[1])
            cuts.append((CutLaw(law, low, top, far), count))
        return tuple(cuts)


@record
class Outcomes:
    """Outcomes of one law: weights under R, y, l, and the tails beyond the cell of each."""

    weights: Array
    y: Array
    loss: Array
    tail_r: Array
    tail_w: Array


@remembered(MANY_LAWS)
def _outcomes(law: TailSplitLaw) -> Outcomes:
    """Take cells of equal size around all means."""
    piece = law.normal
    step = max(STEP, (BELOW + law.farthest + ABOVE) / MOST)
    z = np.arange(-BELOW, law.farthest + ABOVE, step)
    y, loss, _ = law.losses(piece.mean + piece.deviation * z)
    tails = _tails(law, piece.mean + piece.deviation * (z + 0.5 * step))
    return Outcomes(np.exp(-0.5 * z * z) * (step / math.sqrt(2.0 * math.pi)), y, loss, *tails)


def tables(law: TailSplitLaw, count: int, orders: Array, levels: Array) -> list[Array]:
    """Return sums over the uses of one law, at every order (rows) and every level (columns).

    n log A(c + 1); n log of the whole transform at -w; n log(1 + J / A) at -w, not a number where J
    underflows; log P(no loss beyond the level), and log Q of the same.
    """
    charge(PER_LAW)
    found = _outcomes(law)
    index = np.clip(np.searchsorted(found.loss, levels) - 1, 0, len(found.loss) - 1)
    tail_r, tail_w = found.tail_r[index], found.tail_w[index]
    with np.errstate(all="ignore"):
        right = np.log1p(_below(found, law.rate, orders + 1.0, index))
        whole = _below(found, law.rate, -orders, index)
        terms = found.weights * np.exp(-np.minimum(orders[:, None] * found.loss, LARGEST))
        later = np.cumsum(terms[:, ::-1], axis=1)[:, ::-1]
        beyond = np.concatenate([later[:, 1:], np.zeros((len(orders), 1))], axis=1)[:, index]
        rest = np.log1p(beyond / (1.0 + whole))
        rest = np.where((beyond > LEAST) & (rest > 0.0), rest, np.nan)
        rest = np.where(np.isnan(rest) & (tail_r < NOTHING), 0.0, rest)
        log_p = np.log1p(-np.minimum((1.0 - law.rate) * tail_r + law.rate * tail_w, 1.0))
        log_q = np.log1p(-np.minimum(tail_r, 1.0))
        return [count * each for each in (right, np.log1p(whole), rest, log_p, log_q)]


def _tails(law: TailSplitLaw, x: Array) -> tuple[Array, Array]:
    """Return the R- and W-masses to the right of places."""
    scale = law.normal.deviation * math.sqrt(2.0)
    r = [0.5 * math.erfc(each) for each in ((x - law.normal.mean) / scale).tolist()]
    return np.array(r), law.tails_of_w(x)


def _below(found: Outcomes, q: float, exponents: Array, index: Integers) -> Array:
    """Return A - 1 for each exponent and cut: the remainder form, summed once for all cuts."""
    e = exponents[:, None]
    sums = np.cumsum(_excess(e, found.loss, found.y) * found.weights, axis=1)[:, index]
    tail_r, tail_w = found.tail_r[index], found.tail_w[index]
    result: Array = sums - tail_r + e * q * (tail_r - tail_w)
    return result


def _excess(exponents: Array, loss: Array, y: Array) -> Array:
    """Return (1 + y)^a - 1 - a y, infinite where it is too large."""
    power = exponents * loss
    full = np.exp(np.minimum(power, LARGEST)) - 1.0 - exponents * y
    series = 0.5 * exponents * (exponents - 1.0) * loss**2 * (1.0 + (exponents + 1.0) * loss / 3.0)
    small = (np.abs(power) < 1e-3) & (np.abs(loss) < 1e-3)
    return np.where(power > LARGEST, np.inf, np.where(small, series, full))


def _log_powers(exponents: Array, loss: Array, weights: Array) -> Array:
    """Return the log of the sum of weights times (1 + y)^a, by terms that do not overflow."""
    with np.errstate(divide="ignore"):
        terms = np.multiply.outer(exponents, loss) + np.log(weights)
    most = terms.max(axis=1)
    result: Array = most + np.log(np.exp(terms - most[:, None]).sum(axis=1))
    return result


def _graded(law: TailSplitLaw, top: float, end: float) -> tuple[Array, Array, Array]:
    """Return weights under R, y and l of cells between two deviations, graded towards the first."""
    piece, away = law.normal, abs(end - top)
    steps = np.linspace(STEP, away, min(MOST, max(8, math.ceil(away / STEP))))
    edges = np.concatenate([[0.0], np.geomspace(1e-4, STEP, 30)[:-1], steps])
    z = top + math.copysign(1.0, end - top) * 0.5 * (edges[1:] + edges[:-1])
    weights = np.exp(-0.5 * z * z) * np.diff(edges) / math.sqrt(2.0 * math.pi)
    y, loss, _ = law.losses(piece.mean + piece.deviation * z)
    return weights, y, loss


def near_logs(law: TailSplitLaw, top: float, exponents: Array) -> Array:
    """Return log A for a cut exactly at `top`."""
    z_top = (top - law.normal.mean) / law.normal.deviation
    weights, y, loss = _graded(law, z_top, min(z_top - 1.0, -BELOW))
    tail_r, tail_w = (float(each[0]) for each in _tails(law, np.array([top])))
    with np.errstate(all="ignore"):
        sums = (_excess(exponents[:, None], loss, y) * weights).sum(axis=1)
        result: Array = np.log1p(sums - tail_r + exponents * law.rate * (tail_r - tail_w))
        large = -exponents * law.rate > PLAIN_FROM
        result[large] = _log_powers(exponents[large], loss, weights)
    return result


def log_expm1s(x: Array) -> Array:
    """Return log(e^x - 1) of what is at least 0."""
    with np.errstate(all="ignore"):
        return np.where(x > 30.0, x, np.log(np.expm1(np.minimum(x, 30.0))))


def far_logs(cut: CutLaw, exponents: Array) -> Array:
    """Return log J; not a number where J under- or overflows."""
    piece = cut.piece
    z_top, z_far = ((each - piece.mean) / piece.deviation for each in (cut.top, cut.far))
    weights, _, loss = _graded(cut.law, z_top, z_far)
    logs = _log_powers(exponents, loss, weights)
    return np.where(np.abs(logs) < -math.log(LEAST), logs, np.nan)


ORDERS, LEVELS = 40, 64
LEAST_ORDER, MOST_ORDER = 0.03, 1e9
# Sizes may exceed the least by this factor's logarithm.
WASTE = 1.5
# log P(every loss below the level) is to be at least this.
LEAST_LOG_P = -40.0
# Part of a sum of estimates that is left, at least, where they cancel.
LEAST_PART = 1e-3
BISECTIONS = 14
EPSILONS = (1e-9, 3e3)


@record
class Choice:
    """A level with abscissas.

    Attributes:
        level: the loss at which to split.
        right: abscissa c of the removing side.
        left: abscissa w of the adding side; None where what is beyond the level is negligible.
        log_delta: estimate of delta's logarithm.
    """

    level: float
    right: float
    left: float | None
    log_delta: float


class Search:
    """Tables of one composition, ready to choose for any epsilon."""

    def __init__(self, parts: Parts) -> None:
        """Evaluate all laws at all orders and levels."""
        largest = min(max(60.0, 60.0 / math.sqrt(max(parts.variance, 1e-300))), MOST_ORDER)
        self._orders = np.geomspace(LEAST_ORDER, largest, ORDERS)
        self._step = math.log(self._orders[1] / self._orders[0])
        laws = [law for law, _ in parts.sampled]
        ends = [law.normal.mean + law.normal.deviation * (law.farthest + FARTHEST) for law in laws]
        high = max(
            float(law.losses(np.array([x]))[1][0]) for law, x in zip(laws, ends, strict=True)
        )
        self._levels = np.geomspace(min(law.rate for law in laws), high, LEVELS)
        found = [tables(law, n, self._orders, self._levels) for law, n in parts.sampled]
        near, left, rest, log_p, log_q = (sum(each) for each in zip(*found, strict=True))
        other, back = (
            parts.other_cumulants(self._orders, right=right)[:, None] for right in (True, False)
        )
        rest = log_expm1s(rest)
        # Where J underflows the abscissa is no choice: it would look as if nothing were left.
        self._left = np.where(np.isnan(rest), np.inf, left + back + rest)
        self._right = near + other
        self._p, self._q = -np.expm1(log_p), -np.expm1(log_q)
        self._allowed = log_p > LEAST_LOG_P

    def at(self, epsilon: float, allowed: float, move: float = 1.0) -> Choice:
        """Choose for an epsilon; what has P-mass at most `allowed` may be truncated."""
        orders = self._orders[:, None]
        with np.errstate(all="ignore"):
            right = self._right - orders * epsilon - np.log(orders * (1.0 + orders))
            left = self._left + (orders + 1.0) * epsilon - np.log(orders * (1.0 + orders))
            c, right_size, right_log = self._least(right)
            w, left_size, left_log = self._least(left)
            dropped = self._p <= allowed
            closed = np.where(dropped, 0.0, self._p - math.exp(min(epsilon, 690.0)) * self._q)
            left_size = np.where(dropped, -800.0, left_size)
            left_log = np.where(dropped, -800.0, left_log)
            size = np.logaddexp(right_size, left_size)
            size = np.logaddexp(size, np.log(np.abs(closed) + 1e-320))
        size = np.where((self._allowed | dropped) & np.isfinite(size), size, np.inf)
        work = 1.0 / c + np.where(dropped, 0.0, 1.0 / w)
        work = np.where(size <= size.min() + WASTE, work, np.inf)
        best = int(work.argmin())
        # What is beyond the level adds up to no less than 0, though its estimates may.
        beyond = math.exp(min(left_log[best], 300.0))
        beyond = max(beyond + float(closed[best]), LEAST_PART * beyond)
        estimate = math.exp(min(right_log[best], 300.0)) + beyond
        return Choice(
            float(self._levels[best]) * move,
            float(c[best]),
            None if dropped[best] else float(w[best]),
            math.log(max(estimate, 1e-320)),
        )

    def epsilon(self, log_delta: float, allowed: float) -> float:
        """Return about the epsilon at which delta is that."""
        low, high = (math.log(each) for each in EPSILONS)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if self.at(math.exp(middle), allowed).log_delta > log_delta:
                low = middle
            else:
                high = middle
        return math.exp(0.5 * (low + high))

    def _least(self, sizes: Array) -> tuple[Array, Array, Array]:
        """Return the best order at each level, the size there, and the saddle point's estimate."""
        sizes = np.where(np.isnan(sizes), np.inf, sizes)
        i = np.clip(sizes.argmin(axis=0), 1, len(sizes) - 2)
        levels = np.arange(sizes.shape[1])
        # In log c, so that the peak is c e^{...} / (c (c + 1)).
        tilted = sizes + np.log(self._orders)[:, None]
        before, here, after = tilted[i - 1, levels], tilted[i, levels], tilted[i + 1, levels]
        curvature = np.maximum((before - 2.0 * here + after) / self._step**2, 0.05)
        estimate = here - 0.5 * np.log(2.0 * math.pi * curvature)
        estimate = np.where(np.isfinite(estimate), estimate, sizes.min(axis=0))
        return self._orders[i], sizes[i, levels], estimate
