"""The sum of one measure over the nodes of one vertical line, with its certificate.

**The integral.** For a finite positive measure of losses L with transform e^{K(s)} and any c > 0
with K(c) finite,

    delta(epsilon) = E (1 - e^{epsilon - L})_+
                   = (1 / 2 pi i) int_{Re s = c} e^{K(s) - s epsilon} / (s (s + 1)) ds,

since int_0^inf (1 - e^{-x}) e^{-sx} dx = 1 / (s (s + 1)).

**Aliasing.** The trapezoid rule of step h in t, s = c + it, has an exact error (Poisson summation
of delta(x) e^{cx}, which is continuous and integrable; both sides converge absolutely):

    S_h = sum over j in Z of delta(epsilon + 2 pi j / h) e^{2 pi j c / h}.

Every term is non-negative, so S_h is an upper bound, and S_h - delta is at most the sum over j < 0,
where delta is at most the mass of the measure, plus that over j > 0, where delta(x) <= C(c')
e^{K(c') - c' x} for every c' > c with C(c') = sup_x (1 - e^{-x}) e^{-c' x}:

    S_h - delta <= mass / (e^{2 pi c / h} - 1) + C(c') e^{K(c') - c' epsilon} r / (1 - r),
    r = e^{-2 pi (c' - c) / h}.

**Truncation.** The sum ends at |t| = t1 = (n + 1/2) h. There |F(c + it)| <= e^{K(c) - c epsilon}
p / t^2 with p = prod sup_{t >= t1} |phi_i|^count_i, and h sum_{k > n} (kh)^-2 <= 1 / t1 because
1/t^2 is convex: what is cut is at most e^{K(c) - c epsilon} p / (pi t1) in absolute value.

**The sum.** All nodes up to where it ends are in it. With P = e^{K(c) - c epsilon}, S_h the sum
over all nodes of either transform, and H of `engine/lists/sums.py`,

    E f <= S_h[f] <= E f + aliasing,    E H <= S_h[H],

and what is truncated is at most P times the bound of what lies beyond the last node. Where laws are
lists that were spread, E H is subtracted from lower ends.

The certificate holds at every epsilon; only its errors grow, relative to delta, with the distance
from the epsilon whose saddle point the line runs through: about like e^{z^2 / 2} at z standard
deviations of the tilted loss. A line that is made a little finer thus serves all epsilons within a
few of these, and the nodes, which are what costs, are evaluated once.

**Measures.** Delta is a sum over measures: each is a part, or has a bound where it is negligible. A
part says a lower bound that is known anyway (`least`: 0, but for differences), how fast its
logarithm changes with epsilon at most, about (`fastest`), and its brackets and estimates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from privcalc.engine.certified import PAD, Deltas, WholeLine, displaced
from privcalc.engine.lists.factor import ListLaw
from privcalc.engine.lists.sums import Spread
from privcalc.errors import NotCertifiedError
from privcalc.numerics.fourier import PHASE_ULPS
from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT, exp_bound, vertical
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.bounds import Proof
    from privcalc.engine.certified import SplitLines
    from privcalc.losses.law import LineLaw
    from privcalc.losses.sampled.cut import CutLaw
    from privcalc.numerics.rounding import Array, ComplexArray

    # Values at nodes, with bounds on their absolute errors.
    Known: TypeAlias = tuple[ComplexArray, Array]

# e^epsilon, and masses over a scale, stay doubles.
LARGEST = 600.0
# Slack of exponents for everything of order 1.
SLACK = 1e-9
LARGEST_EXPONENT = 700.0
NO_SPREAD = Spread(0.0)
# Phases that are made at once.
PHASES_AT_ONCE = 500_000
# Nodes of a block.
BLOCK = 64
# Work for the phase of a block, and its product with the block.
PER_MOVE, PER_NODE = 0.4, 0.01


@record
class Line:
    """One vertical line with its nodes, and what is proved of the measure on it.

    Attributes:
        c: abscissa; c and the multiples of the step in use have few bits.
        step: distance of the nodes.
        nodes: n; the sum runs over |k| <= n.
        right: the c' of the right aliasing term, and a certified upper bound on K(c').
        epsilon: for which the sums are prepared.
        log_cut: upper bound on log |F(c + it)| beyond the last node.
        log_mass: upper bound on the log of the measure's mass.
        spread: of losses on the lattices of lists; known at c.
        missing: what lists are off by, over e^{K(c) - c epsilon}.
    """

    c: float
    step: float
    nodes: int
    right: tuple[float, float]
    epsilon: float
    log_cut: float
    log_mass: float = 0.0
    spread: Spread = NO_SPREAD
    missing: float = 0.0

    @property
    def end(self) -> float:
        """Return t1, beyond the last node by half a step: nothing is summed beyond."""
        return (self.nodes + 0.5) * self.step


class LineSum:
    """The source of the nodes of one line, good at epsilons near the one they are made for."""

    least = 0.0

    def __init__(self, line: Line, near: Known, rest: Known | None = None) -> None:
        """Evaluate the integrands at the nodes, over P, from F = e^{near} rest.

        Moving to another epsilon multiplies by phases, which are off by PHASE_ULPS and 8 units of
        their angles; the nodes are summed first over blocks and then in the block. So errors come
        to a constant and a factor of |epsilon - line.epsilon|. The exponents of P are off by 16
        units of their terms, weight and kernel by 16 units.

        Args:
            line: where.
            near: at the nodes, the first of which is c; errors as of `ContourLaw.log_mgf`.
            rest: 1 unless it is said.
        """
        self.line, self._lowered = line, line.spread.variance > 0.0
        count = line.nodes + 1
        rows = -(-count // BLOCK)
        self._starts: Array = np.arange(rows) * (BLOCK * line.step)
        self._offsets: Array = line.step * np.arange(BLOCK)
        t = line.step * np.arange(count)
        product, error, log_mgf = _over_peak(near, rest, line.epsilon * t)
        terms = abs(log_mgf) + line.c * abs(line.epsilon)
        self._peak_error = 20.0 * UNIT * (terms + 1.0)
        self._log_peak = log_mgf - line.c * line.epsilon
        self._log_decay = line.log_cut - log_mgf + 4.0 * UNIT * (abs(line.log_cut) + abs(log_mgf))
        weight = np.full(count, line.step / math.pi)
        weight[0] *= 0.5
        z = vertical(line.c, t)
        kernel = z * (z + 1.0)
        weighted = product * weight
        units = UNIT * (2.0 * PHASE_ULPS + 32.0 + COMPLEX_TERM * (rows + BLOCK))
        wrong, drift = error * weight + units * np.abs(weighted), 8.0 * UNIT * np.abs(weighted) * t
        self._values, size = _blocks(weighted / kernel), np.abs(kernel)
        self._noise, self._drift = (float((e / size).sum()) * MARGIN for e in (wrong, drift))
        if self._lowered:
            transform = line.spread.transform(z)
            self._gap_values, size = _blocks(weighted * transform), np.abs(transform)
            self._gap_noise, self._gap_drift = (
                float((e * size).sum()) * MARGIN for e in (wrong, drift)
            )

    @property
    def alone(self) -> WholeLine | None:
        """Return the line, which another program can sum; None where lists stand for laws."""
        line = self.line
        if line.missing > 0.0:
            return None
        return WholeLine(line.c, line.step, line.nodes, line.right[0])

    @property
    def count(self) -> int:
        """Return how many nodes are summed."""
        return self._values.size

    @property
    def fastest(self) -> float:
        """Return how fast the terms fall with epsilon."""
        return self.line.c

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array, log_scale: float | Array) -> Deltas:
        """Bracket delta of the measure at each epsilon in units of e^{log_scale}."""
        line = self.line
        scales: Array = np.broadcast_to(np.asarray(log_scale, float), epsilons.shape)
        factors = self._factors(epsilons, scales)
        moved = np.abs(epsilons - line.epsilon)
        # What belongs to all of a sum is off by the error of its exponent.
        units = 4.0 * line.c * moved + 8.0 * (np.abs(scales) + abs(self._log_peak)) + 16.0
        units = np.expm1(self._peak_error + UNIT * units)
        peaks = factors * (1.0 + units) * MARGIN
        value, sums = np.empty(len(epsilons)), np.zeros(len(epsilons))
        for part, rows, columns in self._phases(epsilons):
            value[part] = ((rows @ self._values) * columns).sum(axis=1).real
            if self._lowered:
                sums[part] = ((rows @ self._gap_values) * columns).sum(axis=1).real
        value = value * factors
        rounding = peaks * (self._noise + moved * self._drift)
        rounding = (rounding + np.abs(value) * units) * MARGIN
        beyond = exp_bound(log_cut(self._log_decay, line.end) + SLACK)
        cut = peaks * (beyond * MARGIN)
        terms: dict[str, Array] = {}
        gap = np.zeros(len(epsilons))
        if self._lowered:
            gap = sums * factors
            wrong = peaks * (self._gap_noise + moved * self._gap_drift)
            wrong = (wrong + np.abs(gap) * (units + 16.0 * UNIT)) * MARGIN
            # Beyond, the transform of H is 2 B k / t^2 at most.
            gap_cut = 2.0 * line.spread.height * line.spread.rate * beyond
            gap = np.maximum(gap, 0.0) + wrong + peaks * (gap_cut * (1.0 + 1e-8))
            terms["spread"] = gap
        aliasing = aliasings(line, epsilons, scales)
        terms |= {"aliasing": aliasing, "truncation": cut, "rounding": rounding}
        # The sum is too large by spreads and aliases.
        below, above = gap + aliasing + cut + rounding, cut + rounding
        if line.missing > 0.0:
            terms["lists"] = peaks * line.missing
            below, above = below + terms["lists"], above + terms["lists"]
        return Deltas(scales, value - below, value + above, value - 0.5 * gap, terms)

    @np.errstate(all="ignore")
    def estimates(self, epsilons: Array, log_scale: float | Array = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf) = delta - d delta / d epsilon, without bound."""
        factors = self._factors(epsilons, log_scale)
        value, slope = np.empty(len(epsilons)), np.empty(len(epsilons))
        for part, rows, columns in self._phases(epsilons):
            sums = rows @ self._values
            value[part] = (sums * columns).sum(axis=1).real
            # z = c + i (start + offset).
            slopes = (rows * (self.line.c + 1j * self._starts)) @ self._values
            slopes += sums * (1j * self._offsets)
            slope[part] = (slopes * columns).sum(axis=1).real
        return value * factors, (value + slope) * factors

    def _factors(self, epsilons: Array, scales: float | Array) -> Array:
        """Return P at each epsilon; infinite, and so nothing proved, too far from the line's."""
        exponent = self._log_peak - self.line.c * (epsilons - self.line.epsilon) - scales
        found: Array = np.where(exponent < LARGEST_EXPONENT, np.exp(exponent), np.inf)
        return found

    def _phases(self, epsilons: Array) -> Iterator[tuple[slice, ComplexArray, ComplexArray]]:
        """Yield the phases, of blocks and within one, that move the nodes to some epsilons each."""
        charge(len(epsilons) * (PER_MOVE * len(self._starts) + PER_NODE * self.count))
        moved = epsilons - self.line.epsilon
        at_once = max(1, PHASES_AT_ONCE // max(self._values.shape))
        for first in range(0, len(epsilons), at_once):
            part = slice(first, first + at_once)
            rows: ComplexArray = np.exp(-1j * np.multiply.outer(moved[part], self._starts))
            columns: ComplexArray = np.exp(-1j * np.multiply.outer(moved[part], self._offsets))
            yield part, rows, columns


def _blocks(values: ComplexArray) -> ComplexArray:
    """Return a row for each block, with 0 at the end."""
    found: ComplexArray = np.zeros(-(-len(values) // BLOCK) * BLOCK, np.complex128)
    found[: len(values)] = values
    return found.reshape(-1, BLOCK)


@np.errstate(all="ignore")
def _over_peak(near: Known, rest: Known | None, angles: Array) -> tuple[ComplexArray, Array, float]:
    """Return e^{near - i angles} rest over about F(c), with errors, and the log of that.

    The exponent is off by its error and 8 units of each of its terms, exp, the rest and the
    products by 16 units. e^{near} (rest + e) e^d differs from e^{near} rest by |rest| (e^|d| - 1) +
    |e| e^|d|. Where that says nothing, F is at most that in modulus, and at most its value on the
    real axis.
    """
    values, errors = near
    peak = float(values[0].real)
    units = 8.0 * (np.abs(values) + abs(peak) + np.abs(angles)) + 16.0
    wrong = errors + UNIT * units
    product: ComplexArray = np.exp(values - peak - 1j * angles)
    moved = np.expm1(np.minimum(wrong, 1.0)) * np.abs(product)
    largest = np.exp(np.minimum(values.real - peak + wrong, LARGEST_EXPONENT))
    log_rest = above = 0.0
    if rest is not None:
        # Over its value on the real axis, lest products underflow.
        scale = abs(complex(rest[0][0]))
        size, spread = np.abs(rest[0]) / scale, rest[1] / scale
        grown = np.abs(product) * np.exp(np.minimum(wrong, 1.0))
        moved = moved * size + grown * (spread + 8.0 * UNIT * size)
        product = product * (rest[0] / scale)
        largest = largest * (size + spread)
        log_rest, above = float(np.log(scale)), float(np.log1p(spread[0]))
    log_mgf = peak + log_rest
    log_above = float(errors[0]) + above + 4.0 * UNIT * (abs(log_rest) + abs(peak) + 1.0)
    known = (wrong < 1.0) & np.isfinite(product) & (moved < 2.0)
    # Not a number counts as nothing known.
    most = np.fmin(largest * MARGIN, exp_bound(log_above))
    return np.where(known, product, 0.0), np.where(known, moved * MARGIN, most), log_mgf


def added(total: Known, uses: int, law: Known, laws: int) -> Known:
    """Return a sum with so many uses of one law more: each sum rounds once a law, of so many."""
    (value, error), (more, wrong) = total, law
    rounding = (2.0 + laws) * UNIT * uses * np.abs(more)
    return value + uses * more, error + uses * wrong + rounding


def log_payoff_supremum(c: float) -> float:
    """Return log C(c), C(c) = sup over x >= 0 of (1 - e^{-x}) e^{-cx} = c^c / (1 + c)^(1 + c).

    The derivative vanishes at e^{-x} = c / (1 + c). Written as -c log(1 + 1/c) - log(1 + c), which
    has no cancellation: a few units of a number below 1 + log(1 + c).
    """
    return -c * math.log1p(1.0 / c) - math.log1p(c)


def aliasings(line: Line, epsilons: Array, scales: Array) -> Array:
    """Bound the aliasing errors of a line's sums in units of e^{scales}.

    Those of j < 0, a mass over e^{2 pi c / h} - 1, and by Chernoff's bound at c' those of j > 0.
    Only log r is formed: r itself may underflow. Rounding: 16 units of the largest exponent, and
    1e-9 for everything of order 1.
    """
    c_right, log_mgf_right = line.right
    turn = 2.0 * math.pi * line.c / line.step
    left = line.log_mass - turn - math.log(-math.expm1(-turn)) - scales
    log_r = -2.0 * math.pi * (c_right - line.c) / line.step
    chernoff = log_payoff_supremum(c_right) + log_mgf_right - c_right * epsilons
    above = chernoff + (log_r - math.log(-math.expm1(log_r))) - scales
    largest = 2.0 * math.pi * c_right / line.step + abs(log_mgf_right) + abs(line.log_mass)
    slack = SLACK + 16.0 * UNIT * (largest + c_right * np.abs(epsilons) + np.abs(scales))
    return (exp_bounds(left + slack) + exp_bounds(above + slack)) * MARGIN


def log_cut(log_largest: float, cut: float) -> float:
    """Return log of the bound on what is cut at t1: |F(c + it)| <= e^{log_largest} / t^2 beyond."""
    return log_largest - math.log(math.pi * cut)


def exp_bounds(exponents: Array) -> Array:
    """Return upper bounds on e^x; see `exp_bound`."""
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(np.minimum(exponents, LARGEST_EXPONENT)) * (1.0 + 8.0 * UNIT)
    # Not a number counts as infinite.
    return np.where(exponents <= LARGEST_EXPONENT, np.nextafter(powers, np.inf), np.inf)


@record
class Exponential:
    """A bound e^{log_size + rate epsilon}: Chernoff's, with rate -c; that of a mass, with 0 or 1.

    Of a measure with transform M(c) at c > 0, delta is at most M(c) e^{-c epsilon}, as
    (1 - e^{epsilon - l})_+ <= e^{c (l - epsilon)}.
    """

    log_size: float
    rate: float = 0.0

    def at(self, epsilons: Array, log_scale: float) -> Array:
        """Return upper bounds in units of e^{log_scale}."""
        if self.log_size == -math.inf:
            return np.zeros(len(epsilons))
        exponents = self.log_size + self.rate * epsilons - log_scale
        sizes = abs(self.log_size) + abs(self.rate) * np.abs(epsilons) + abs(log_scale)
        return exp_bounds(exponents + SLACK + 8.0 * UNIT * sizes)


@record
class Reversed:
    """e^epsilon times delta at -epsilon of a measure of the reversed pair: what a put has of it."""

    inner: LineSum

    least: ClassVar[float] = 0.0

    @property
    def fastest(self) -> float:
        """Return that of the measure, and 1 for e^epsilon."""
        return self.inner.fastest + 1.0

    def deltas(self, epsilons: Array, log_scale: float) -> Deltas:
        """Bracket; e^epsilon is in the units."""
        found = self.inner.deltas(-epsilons, log_scale - epsilons)
        scales: Array = np.full(len(epsilons), log_scale)
        return Deltas(scales, found.lower, found.upper, found.value, found.terms)

    def estimates(self, epsilons: Array, log_scale: float) -> tuple[Array, Array]:
        """Return e^epsilon f(-epsilon), and itself less its slope: e^epsilon f'(-epsilon)."""
        value, above = self.inner.estimates(-epsilons, log_scale - epsilons)
        return value, value - above


@record
class Closed:
    """P(B) and Q(B) with their relative error.

    Tails are off by their errors, p by 4 units more and log1p(-p) by 8, relatively, if p <= 1/2:
    there p / ((1 - p) |log1p(-p)|) <= 1.5. A relative error of S = sum n log1p(-p) is at most one
    of 1 - e^S, as |S| e^S <= 1 - e^S; expm1 adds 8 units, the sum one a law.
    """

    p: float
    q: float
    error: float

    least: ClassVar[float] = -math.inf
    fastest: ClassVar[float] = 1.0

    @classmethod
    def of(cls, cuts: Sequence[tuple[CutLaw, int]], whole: Sequence[tuple[LineLaw, int]]) -> Closed:
        """Add up the tails of all laws; laws that stay whole bring the masses of finite losses.

        Lines have no infinite losses, and the logarithms of their masses are off by no more than
        twice what is truncated, at most e^{log_truncated_mass} of each.

        Raises:
            NotCertifiedError: a tail is more than half of a law, or beyond the doubles.
        """
        log_p = log_q = error = 0.0
        for cut, count in cuts:
            if cut.whole:
                continue
            r, w, relative = cut.tails
            rate = cut.law.rate
            p = (1.0 - rate) * r + rate * w
            if not max(p, r) <= 0.5:
                raise NotCertifiedError("the split leaves out half of a law")
            log_p += count * math.log1p(-p)
            log_q += count * math.log1p(-r)
            error = max(error, 1.5 * relative)
        error += (24.0 + 2.0 * len(cuts)) * UNIT
        finite_p = finite_q = 0.0
        for law, count in whole:
            if isinstance(law, ListLaw):
                mass_p, mass_q, wrong = law.masses
                finite_p += count * math.log(mass_p)
                finite_q += count * math.log(mass_q)
                error += count * (2.0 * wrong + 8.0 * UNIT)
            error += count * 2.0 * math.exp(law.log_truncated_mass)
        error += 8.0 * UNIT * (1.0 + abs(finite_p) + abs(finite_q))
        p, q = -math.expm1(log_p) * math.exp(finite_p), -math.expm1(log_q) * math.exp(finite_q)
        return cls(p, q, error * MARGIN)

    @property
    def log_q(self) -> float:
        """Return an upper bound on log Q(B)."""
        return math.log(self.q) + self.error + 1e-12 if self.q > 0.0 else -math.inf

    def deltas(self, epsilons: Array, log_scale: float) -> Deltas:
        """Return the term over e^{log_scale}, with a bound on its error.

        exp of epsilon and of the scale are off by 4 units and a unit of their exponents; the scale
        stands for a number that is off by 2 units of log_scale.
        """
        p, q = self._terms(epsilons, log_scale)
        relative = self.error + UNIT * (16.0 + 4.0 * abs(log_scale) + np.abs(epsilons))
        wrong = (p + q) * relative * MARGIN
        wrong = np.where(np.maximum(epsilons, -log_scale) < LARGEST, wrong, np.inf)
        scales: Array = np.full(len(epsilons), log_scale)
        return Deltas(scales, p - q - wrong, p - q + wrong, p - q, {"rounding": wrong})

    def estimates(self, epsilons: Array, log_scale: float) -> tuple[Array, Array]:
        """Return the term, and itself less its slope."""
        p, q = self._terms(epsilons, log_scale)
        return p - q, p

    def _terms(self, epsilons: Array, log_scale: float) -> tuple[Array, Array]:
        unit = math.exp(min(-log_scale, LARGEST))
        grown: Array = np.exp(np.minimum(epsilons, LARGEST)) * unit
        return np.full(len(epsilons), self.p * unit), self.q * grown


@record
class Measures:
    """The source: parts, and bounds on what they miss.

    Attributes:
        proof: what they are.
        parts: of the measures that matter.
        above: bounds on what delta may exceed their sum by: measures that are not summed, and
            truncated mass.
        below: bounds on what their sum may exceed delta by.
        epsilon: where they were prepared.
        log_scale: of delta there, about.
        farthest: logarithms by which terms may have changed where something is still claimed.
        slack: displacement of losses.
        tilted: standard deviation of the tilted loss, where it is known.
        alone: the line, where one is all there is: for certificates.
        split: the lines, where it is split in the plain way: for certificates.
    """

    proof: Proof
    parts: tuple[LineSum | Reversed | Closed, ...]
    above: tuple[Exponential, ...]
    below: tuple[Exponential, ...]
    epsilon: float
    log_scale: float
    farthest: float = math.inf
    slack: float = 0.0
    tilted: float = 0.0
    alone: WholeLine | None = None
    split: SplitLines | None = None

    pad: ClassVar[float] = PAD

    @property
    def fastest(self) -> float:
        """Return how fast the largest of the terms changes with epsilon."""
        return max((each.fastest for each in self.parts), default=1.0)

    @property
    def deviation(self) -> float:
        """Return the change of epsilon that is felt."""
        return self.tilted or 2.0 / self.fastest

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Add up, where losses are."""
        return displaced(lambda at: self._deltas(at, log_scale), epsilons, self.slack)

    def _deltas(self, epsilons: Array, log_scale: float | None) -> Deltas:
        """Add up; sums of few numbers are off by a unit of all moduli for each of them."""
        scale = self.log_scale if log_scale is None else log_scale
        shape = epsilons.shape
        value, lower, upper, sizes = (np.zeros(shape) for _ in range(4))
        terms: dict[str, Array] = {}
        for part in self.parts:
            found = part.deltas(epsilons, scale)
            least = np.maximum(found.lower, part.least)
            value, lower, upper = value + found.value, lower + least, upper + found.upper
            sizes = sizes + np.abs(least) + np.abs(found.upper)
            for name, size in found.terms.items():
                terms[name] = terms.get(name, 0.0) + size
        above, below = (
            sum((each.at(epsilons, scale) for each in bounds), np.zeros(shape)) * MARGIN
            for bounds in (self.above, self.below)
        )
        terms["dropped"] = terms.get("dropped", 0.0) + above + below
        slack = UNIT * (8.0 + len(self.parts)) * (sizes + above + below)
        near = np.abs(epsilons - self.epsilon) * self.fastest <= self.farthest
        # delta is at least 0, whatever is known of its parts.
        lower = np.where(near, np.maximum(lower - below - slack, 0.0), -np.inf)
        upper = np.where(near, upper + above + slack, np.inf)
        return Deltas(np.full(shape, scale), lower, upper, value, terms)

    @np.errstate(all="ignore")
    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound."""
        value, above = np.zeros(len(epsilons)), np.zeros(len(epsilons))
        for part in self.parts:
            more, further = part.estimates(epsilons, log_scale)
            value, above = value + more, above + further
        return value, above
