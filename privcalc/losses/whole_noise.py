"""Loss of noise on whole numbers with log-concave masses f: f(k) against f(k - s), s > 0 whole.

The ratio f(k) / f(k - s) falls with k, so that the best tests are {k < t}. A smaller shift d costs
no more: P(k < t) - a Q(k < t) = F(t) - a F(t - d) grows with d. So the pair dominates all shifts
up to s, and is attained by the largest.

A noise says the ratios r_k = f(k + 1) / f(k). Masses are their products from the likeliest outcome
on, divided by their sum, and a loss is the sum of -log r_j, j from k - s to k - 1, with its sign
changed: both have the relative, or absolute, errors of the ratios, once for each step.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.losses.atoms import log_sum
from privcalc.losses.cells import between, sums
from privcalc.losses.law import MOST_ANCHORS, LawProperties, LossLaw, Tails
from privcalc.numerics.rounding import MARGIN, TINY, UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

# What is truncated on either side has a mass below e^-DEPTH, far less than `TINY`.
DEPTH = 1400.0
# Masses of more outcomes take too long.
MOST_OUTCOMES = 4_000_000
# Deviations of normal noise that are enough, and outcomes that are tabulated at least.
REACH, LEAST_SIZE = 54.0, 64
# Atoms above this mass have their locations listed.
ANCHOR_MASS = 1e-18
# Bits below the binary point of ratios that are formed in whole numbers.
BITS = 160


class WholeNoise(ABC):
    """A noise with log-concave masses on whole numbers."""

    __slots__ = ()

    @property
    @abstractmethod
    def mode(self) -> int:
        """An outcome next to the likeliest."""

    @property
    @abstractmethod
    def variance(self) -> Fraction:
        """Its variance."""

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest outcome."""
        return -math.inf, math.inf

    @abstractmethod
    def log_ratios(self, low: int, high: int) -> tuple[Array, float]:
        """Return log r_k for low <= k < high, and how much each is off, absolutely."""

    def off(self, low: int, high: int, step: float) -> Array | float:
        """Return how much log f(k) is off by errors of ratios, low <= k <= high, and log f(mode).

        Args:
            low: see above.
            high: see above.
            step: error of a ratio.
        """
        away: Array = np.abs(np.arange(low, high + 1) - self.mode) * step
        return away

    def log_growth(self, c: float, shift: int, first: int) -> float:
        """Bound how p e^{cL} grows from an outcome to the one below, at `first` and below it.

        Returns:
            The logarithm of the ratio; infinity where nothing is known.
        """
        del c, shift, first
        return math.inf

    @property
    def mirrored(self) -> WholeNoise:
        """The noise with the opposite sign."""
        return self


@record
class SkellamNoise(WholeNoise):
    """X - Y for independent Poisson variables of mean V / 2: f(k) = e^-V I_k(V).

    Attributes:
        v: V, its variance.
    """

    v: Fraction

    @property
    def variance(self) -> Fraction:
        """That of X and of Y."""
        return self.v

    @property
    def mode(self) -> int:
        """It is symmetric."""
        return 0

    def log_ratios(self, low: int, high: int) -> tuple[Array, float]:
        """Form r_k = 1 / (2 (k + 1) / V + r_{k+1}), k >= 0, from above, in whole numbers.

        I_{k-1} - I_{k+1} = (2 k / V) I_k. All terms are positive and r_k <= 1, so that an error of
        r_{k+1} comes back in r_k by the factor r_k^2 at most, and a rounding by 2^-BITS is felt
        2 V + 4 times at most, as r_k <= 1 / (1 + k / V) (see `log_growth`): nothing to a double.
        At the far end 0 <= r <= 1 is known; the sum of 2 log r from there is below -100. For k < 0,
        r_k = 1 / r_{-k-1}.
        """
        last = max(high, -low)
        more = math.ceil(8.0 * math.sqrt(float(self.v))) + 120
        charge(2.0 * (last + more))
        one, ratio, found = 1 << BITS, 0, []
        step = 2 * one / self.v
        scaled, square = step.numerator // step.denominator, one * one
        for k in range(last + more, -1, -1):
            ratio = square // (scaled * (k + 1) + ratio)
            if k < last:
                found.append(ratio / one)
        logs = np.log(np.array(found[::-1]))
        both = np.concatenate([-logs[::-1], logs])
        error = UNIT * (2.0 + 4.0 * float(np.abs(both).max()))
        return both[low + last : high + last], error

    def log_growth(self, c: float, shift: int, first: int) -> float:
        """Bound the ratio at -m, r_m (r_m / r_{m + s})^c.

        As r falls, r_m >= 1 / (2 (m + 1) / V + r_m), that is r_m >= e^{-asinh((m + 1) / V)}. Then
        r_m <= 1 / (2 (m + 1) / V + e^{-asinh((m + 2) / V)}), which is at most e^{-asinh(m / V)}, as
        e^{asinh y} = y + sqrt(1 + y^2) has slopes from 0 to 2, and at least 1 for y >= 0. So the
        log of the ratio is at most c (asinh((m + s + 1) / V) - asinh(m / V)) - asinh(m / V), and by
        the mean value theorem c (s + 1) / sqrt(V^2 + m^2) - asinh(m / V), which falls with m.
        """
        m, v = -first, float(self.v)
        if m <= 0:
            return math.inf
        return c * (shift + 1) / math.hypot(v, m) * MARGIN - math.asinh(m / v) / MARGIN


@record
class CoinNoise(WholeNoise):
    """The number of heads of n coins, each with probability p.

    Attributes:
        n: how many.
        p: of heads, 0 < p < 1.
    """

    n: int
    p: Fraction

    @property
    def mode(self) -> int:
        """The largest mass is at the whole part of (n + 1) p."""
        return min(self.n, math.floor((self.n + 1) * self.p))

    @property
    def variance(self) -> Fraction:
        """Each coin has p (1 - p)."""
        return self.n * self.p * (1 - self.p)

    @property
    def support(self) -> tuple[float, float]:
        """All coins may be tails, and all heads."""
        return 0, self.n

    @property
    def mirrored(self) -> CoinNoise:
        """Heads are tails; that moves all outcomes by n."""
        return CoinNoise(self.n, 1 - self.p)

    def log_ratios(self, low: int, high: int) -> tuple[Array, float]:
        """Form log r_k, r_k = (n - k) p / ((k + 1) (1 - p)), to some units of its terms."""
        odds = self.p / (1 - self.p)
        terms = math.log(odds.numerator), math.log(odds.denominator)
        k = np.arange(low, high, dtype=float)
        logs: Array = np.log((self.n - k) / (k + 1.0)) + (terms[0] - terms[1])
        size = float(np.abs(logs).max(initial=0.0)) + sum(terms)
        return logs, UNIT * (8.0 + 4.0 * size)


@record
class TruncatedNoise(WholeNoise):
    """Masses proportional to e^{-|k| step}, |k| <= bound.

    Attributes:
        step: 1 / scale.
        bound: the largest outcome.
    """

    step: Fraction
    bound: int

    @property
    def mode(self) -> int:
        """It is symmetric."""
        return 0

    @property
    def variance(self) -> Fraction:
        """No more than that without bound, nor than that of equal masses."""
        return min(2 / self.step**2, Fraction((self.bound + 1) ** 2, 3))

    @property
    def support(self) -> tuple[float, float]:
        """Bounded."""
        return -self.bound, self.bound

    def log_ratios(self, low: int, high: int) -> tuple[Array, float]:
        """They are step below 0, and -step from there on."""
        step = float(self.step)
        return np.where(np.arange(low, high) < 0, step, -step), UNIT * step


@record
class GaussianSumNoise(WholeNoise):
    """The sum of n discrete Gaussians N_Z(0, v).

    With N_Z(0, v) moved by a whole j the log of each mass changes by j k / v - j^2 / (2 v), and so
    that of the sum f: log f(k + n j) = log f(k) - j k / v - n j^2 / (2 v). All of f follows from
    |k| <= n / 2, and log r_{k + n} = log r_k - 1 / v.

    For a sum of m of them and one more, f_{m+1}(k) sums f_m(i) f_1(k - i): if log f_m(i) were
    -i^2 / (2 m v), that would be e^{-k^2 / (2 (m + 1) v)} times a sum over one lattice of a normal
    density of variance w = v m / (m + 1), which is between 1 - h and 1 + h, h = 2.1 e^{-2 pi^2 w},
    times its mean (Poisson summation). So log f is a parabola up to the sum of 2.2 e^{-2 pi^2 w}.

    Attributes:
        v: of each.
        n: how many.
    """

    v: Fraction
    n: int

    @property
    def mode(self) -> int:
        """It is symmetric."""
        return 0

    @property
    def variance(self) -> Fraction:
        """Or about that."""
        return self.n * self.v

    def log_ratios(self, low: int, high: int) -> tuple[Array, float]:
        """Take differences: of a parabola for much noise, and else of sums of one period."""
        v, n, k = float(self.v), self.n, np.arange(low, high + 1)
        if v >= SMOOTH:
            parts = math.exp(-9.8 * v) + n * math.exp(-13.1 * v)
            logs: Array = -(2.0 * k[:-1] + 1.0) / (2.0 * n * v)
            return logs, 5.0 * parts + 5.0 * UNIT * float(np.abs(logs).max())
        log_f, error = gaussian_sum(self.v, n)
        period = np.rint(k / n)
        rest = (k - n * period).astype(int)
        logs = np.diff(log_f[np.abs(rest)] - period * rest / v - n * period * period / (2.0 * v))
        size = float(np.abs(period).max()) * n / v + n * float((period * period).max()) / v
        return logs, 2.0 * error + 8.0 * UNIT * (size + 700.0)

    def off(self, low: int, high: int, step: float) -> float:
        """All masses are off by the same, half of what ratios are."""
        del low, high
        return step

    def log_growth(self, c: float, shift: int, first: int) -> float:
        """Bound r_m (r_m / r_{m + s})^c, which falls by e^{-1 / v} where m grows by n.

        r falls by itself, and for much noise r_m / r_{m + s} is the same for all m.
        """
        m, periods = -first, 1 if self.v >= SMOOTH else self.n
        logs, error = self.log_ratios(m, m + periods + shift)
        change = float((logs[:periods] - logs[shift:][:periods]).max()) + 2.0 * error
        return float(logs[0]) + error + c * change * MARGIN


# From this variance on sums are parabolas to a few units.
SMOOTH = Fraction(4)
# Deviations of which masses are doubles.
DEEPEST = 35.0


@remembered(8)
def gaussian_sum(v: Fraction, n: int) -> tuple[Array, float]:
    """Return log f(k), but for a constant, for 0 <= k <= n / 2, each off by an error.

    Sums of products of masses are relatively accurate, as no term is negative. Where n = 2 m or
    2 m + 1, errors are twice those of m, and a unit for each term. A mass of one is off by 2 units
    of its exponent, of which those of all that matter come to 700, and by 8.

    Raises:
        DomainError: so many masses are no doubles, for so many of so little noise.
    """
    deviation = math.sqrt(float(n * v))
    if n // 2 + 1 > DEEPEST * deviation:
        most = math.floor((2.0 * DEEPEST) ** 2 * v)
        raise DomainError(
            f"clients must be at most {most} at that noise (4900 times the variance), got {n}"
        )
    last = math.ceil(39.0 * math.sqrt(float(v))) + 1
    one = np.exp(-(np.arange(-last, last + 1).astype(float) ** 2) / (2.0 * float(v)))
    f, units = one, 8.0
    for bit in bin(n)[3:]:
        charge(1e-3 * len(f) ** 2)
        f, units = np.convolve(f, f), 2.0 * units + len(f) + 2.0
        if bit == "1":
            f, units = np.convolve(f, one), units + len(one) + 10.0
        reach = min(len(f) // 2, n // 2 + math.ceil(39.0 * deviation))
        f = f[len(f) // 2 - reach : len(f) // 2 + reach + 1]
        f = f / f[reach]
    half = f[len(f) // 2 :][: n // 2 + 2]
    return np.log(half), UNIT * (2.0 * units + 1500.0 + 2.0 * n)


@record
class Table:
    """Outcomes of finite loss in the order in which losses fall, with what P and Q make of them.

    Attributes:
        first: the first outcome.
        losses: they fall.
        p: P-masses, and their logarithms in `log_p`.
        q: Q-masses.
        left: sums of P- and of Q-masses of the first outcomes, from none on.
        right: sums of those that follow.
        error: relative error of these.
        off: relative error of the masses.
        alone: P-mass of the outcomes before, which have infinite loss; Q-mass of those after all.
        whole: whether these are all, or far ones before and after were truncated.
        shift: absolute error of a loss.
    """

    first: int
    losses: Array
    p: Array
    log_p: Array
    q: Array
    left: tuple[Array, Array]
    right: tuple[Array, Array]
    error: Array
    off: Array
    alone: tuple[float, float]
    whole: tuple[bool, bool]
    shift: float


@remembered(64)
def table(noise: WholeNoise, shift: int) -> Table:
    """Form the table of a noise and a shift.

    Rounding. A logarithm of a mass is a running sum (`sums`: in blocks of 256), and also off by the
    error of a ratio for each step. In a sum these errors are averaged.

    Raises:
        DomainError: too many outcomes.
    """
    mode, (least, most) = noise.mode, noise.support
    size = LEAST_SIZE + math.ceil(REACH * math.sqrt(noise.variance))
    while True:
        low, high = int(max(least, mode - size - shift)), int(min(most, mode + size + shift))
        if high - low > MOST_OUTCOMES:
            raise DomainError(f"noise with more than {MOST_OUTCOMES} outcomes is not supported")
        charge(4.0 * (high - low))
        logs, step_off = noise.log_ratios(low, high)
        up, down = sums(logs[mode - low :]), sums(-logs[: mode - low][::-1])
        log_f = np.concatenate([down[::-1], [0.0], up])
        whole = low == least, high == most
        # Ratios fall: what follows is no more than a geometric series.
        if (whole[0] or _faint(log_f[shift], logs[shift])) and (
            whole[1] or _faint(log_f[-1 - shift], -logs[-1 - shift])
        ):
            break
        size *= 2
    wrong = noise.off(low, high, step_off)
    wrong = wrong + UNIT * (300.0 + (high - low) / 200.0) * (np.abs(log_f) + 1.0)
    log_f -= math.log(math.fsum(np.exp(log_f)))
    f, losses = np.exp(log_f), window_sums(logs, shift)
    wrong += float((f * wrong).sum()) * MARGIN
    p, q, off_p, off_q = f[shift:], f[: len(f) - shift], wrong[shift:], wrong[: len(f) - shift]
    left: list[Array] = []
    right: list[Array] = []
    error = np.zeros(len(p) + 1)
    for mass, off in ((p, off_p), (q, off_q)):
        for sums_, step in ((left, 1), (right, -1)):
            found, parts = (
                np.append(0.0, sums(each[::step]))[::step] for each in (mass, mass * off)
            )
            sums_.append(found)
            largest = np.append(off[0], off) if step == 1 else np.append(off, off[-1])
            with np.errstate(divide="ignore", invalid="ignore"):
                error = np.maximum(error, np.where(parts > TINY, parts / found, largest))
    steps = UNIT * (2.0 * math.log2(shift) + 4.0) * float(window_sums(np.abs(logs), shift).max())
    return Table(
        low + shift,
        np.minimum.accumulate(losses),
        p,
        log_f[shift:],
        q,
        (left[0], left[1]),
        (right[0], right[1]),
        error * MARGIN,
        np.maximum(off_p, off_q),
        (
            float(f[:shift].sum()) if whole[0] else TINY,
            float(f[-shift:].sum()) if whole[1] else 0.0,
        ),
        whole,
        shift * step_off + steps,
    )


def _faint(log_mass: float, log_ratio: float) -> bool:
    """Say whether masses that grow by a ratio, or more, up to one come to e^-DEPTH at most."""
    return log_ratio > 0.0 and log_mass - math.log(-math.expm1(-log_ratio)) < -DEPTH


def _from_none(masses: Array) -> Array:
    return np.append(0.0, sums(masses))


def window_sums(terms: Array, count: int) -> Array:
    """Return the sums of so many neighbours, from halves, quarters and so on of them."""
    total, block, width, done = np.zeros(len(terms) - count + 1), terms, 1, 0
    while count:
        if count & 1:
            total, done = total + block[done : done + len(total)], done + width
        count >>= 1
        if count:
            block, width = block[:-width] + block[width:], 2 * width
    return total


@record
class WholeNoiseLaw(LossLaw):
    """Loss of f(k) against f(k - shift).

    Attributes:
        noise: f.
        shift: s, at least 1 and at most the width of the support.
    """

    noise: WholeNoise
    shift: int

    @property
    def _table(self) -> Table:
        return table(self.noise, self.shift)

    @property
    def infinity_mass(self) -> float:
        """Return the mass of outcomes that Q does not have; `TINY` or less where it is tiny."""
        return max(self._table.alone[0], 0.0) if math.isfinite(self.noise.support[0]) else 0.0

    @property
    def infinity_mass_error(self) -> float:
        """Return the relative error; 1 where there is less."""
        if not self.infinity_mass:
            return 0.0
        return float(self._table.error[0]) if self._table.whole[0] else 1.0

    @property
    def lower_infinity_mass(self) -> float:
        """Return the mass of outcomes that P does not have."""
        return self._table.alone[1]

    @property
    def max_loss(self) -> float:
        """Return the first loss, or its error; infinity where outcomes before were truncated."""
        first = float(self._table.losses[0])
        return (first or self._table.shift) if self._table.whole[0] else math.inf

    @property
    def max_loss_error(self) -> float:
        """Return the error of the first loss, relatively."""
        return self._table.shift / abs(self.max_loss) * MARGIN if self._table.whole[0] else 0.0

    @property
    def properties(self) -> LawProperties:
        """Say whether the noise is symmetric."""
        return LawProperties(symmetric=self.noise.mirrored == self.noise)

    @property
    def reverse_direction(self) -> LossLaw:
        """Return the law of the mirrored noise: k becomes s - k."""
        return WholeNoiseLaw(self.noise.mirrored, self.shift)

    @cached_property
    def atom_locations(self) -> tuple[float, ...]:
        """Return the losses of likely outcomes, if they are few."""
        found = self._table
        likely = found.losses[found.log_p > math.log(ANCHOR_MASS)]
        return () if len(likely) > MOST_ANCHORS else tuple(np.unique(likely).tolist())

    def tails(self, losses: Array) -> Tails:
        """Return sums over outcomes: those with larger losses come first."""
        found = self._table
        place = np.searchsorted(-found.losses, -losses)
        # Between two places are outcomes from the second on, up to the one before the first.
        off = np.append(found.off, 0.0) + UNIT * (16.0 + len(found.losses))
        return Tails(
            above_p=found.left[0][place],
            above_q=found.left[1][place],
            below_p=found.right[0][place],
            below_q=found.right[1][place],
            error=found.error[place],
            shift=found.shift,
            between_p=between(found.p, place[::-1])[::-1],
            between_q=between(found.q, place[::-1])[::-1],
            between_error=np.maximum(off[place[1:]], off[np.maximum(place[:-1] - 1, 0)]),
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Add up p e^{c L}; terms of truncated outcomes are below a geometric series.

        Those that come after all others have losses below 0, if any loss is, and little P-mass.
        """
        found = self._table
        charge(0.1 * len(c) * len(found.losses))
        low, high = np.empty(c.shape), np.empty(c.shape)
        for i, order in enumerate(c.tolist()):
            exponents = found.log_p + order * found.losses
            low[i], high[i] = log_sum(exponents, found.off + order * found.shift)
            beyond = -DEPTH + max(0.0, order * float(found.losses[-1]))
            high[i] = np.logaddexp(high[i], beyond) + 4.0 * UNIT * abs(high[i])
            if not found.whole[0]:
                growth = self.noise.log_growth(order, self.shift, found.first)
                more = growth - math.log(-math.expm1(growth)) if growth < 0.0 else math.inf
                high[i] = np.logaddexp(high[i], float(exponents[0]) * (1.0 - 1e-9) + more)
        return low, high
