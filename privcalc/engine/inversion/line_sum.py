"""The sum of one measure over the nodes of one vertical line, with its certificate.

All nodes up to where the sum ends are in it. With P = e^{K(c) - c epsilon}, S_h the sum over all
nodes of either transform in `certificate.py`, and H of `engine/lists/spread.py`,

    E f <= S_h[f] <= E f + aliasing,    E H <= S_h[H],

and what is truncated is at most P times the bound of what lies beyond the last node. Where laws are
lists that were spread, E H is subtracted from lower ends.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.certified import PAD, WholeLine
from privcalc.engine.inversion.certificate import (
    LARGEST_EXPONENT,
    SLACK,
    aliasings,
    exp_bounds,
    log_cut,
)
from privcalc.engine.lists.spread import Spread
from privcalc.engine.source import Deltas, displaced
from privcalc.numerics.arrays import vertical
from privcalc.numerics.phases import PHASE_ULPS
from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from privcalc.numerics.arrays import Array, ComplexArray

    _Kind = TypeVar("_Kind", bound=np.generic)
    # Values at nodes, with bounds on their absolute errors.
    Known: TypeAlias = tuple[ComplexArray, Array]

NO_SPREAD = Spread(0.0)
# Nodes that are evaluated at once: what a cache holds.
AT_ONCE = 8192
# Phases that are made at once.
PHASES_AT_ONCE = 500_000
# Nodes of a block where all nodes of a line are summed.
BLOCK = 64
# Work for the phase of a block, and its product with the block.
PER_MOVE, PER_NODE = 0.4, 0.01


@record
class Blocks:
    """Blocks of nodes that are summed.

    Attributes:
        starts: t of the first node of each block.
        size: nodes of a block.
        step: distance of nodes.
        end: t1, beyond the last node by half a step: nothing is summed beyond.
    """

    starts: Array
    size: int
    step: float
    end: float

    @classmethod
    def all(cls, step: float, nodes: int) -> Blocks:
        """Return all nodes k = 0 .. n; those beyond, that fill the last block, are to be 0."""
        starts = np.arange(-(-(nodes + 1) // BLOCK)) * (BLOCK * step)
        return cls(starts, BLOCK, step, (nodes + 0.5) * step)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of blocks and of nodes in each."""
        return len(self.starts), self.size

    @property
    def count(self) -> int:
        """Return how many nodes there are."""
        return len(self.starts) * self.size


@record
class Line:
    """One vertical line with its payoff, and what is proved of the measure on it.

    Attributes:
        c: abscissa; c and the multiples of the step in use have few bits.
        right: the c' of the right aliasing term, and a certified upper bound on K(c').
        epsilon: for which the sums are prepared.
        log_decay: proved bound on log |phi| beyond the last node.
        log_truncated: of the truncated mass.
        log_mass: upper bound on the log of the measure's mass.
        spread: of losses on the lattices of lists; known at c.
        missing: what lists are off by, over e^{K(c) - c epsilon}.
        slack: displacement of losses.
    """

    c: float
    right: tuple[float, float]
    epsilon: float
    log_decay: float
    log_truncated: float = -math.inf
    log_mass: float = 0.0
    spread: Spread = NO_SPREAD
    missing: float = 0.0
    slack: float = 0.0


class LineSum:
    """The source of the nodes of one line, good at epsilons near the one they are made for."""

    pad = PAD
    least = 0.0

    def __init__(
        self,
        line: Line,
        blocks: Blocks,
        log_mgf: tuple[float, float],
        transform: Callable[[slice], tuple[ComplexArray, Array]],
        deviation: float = 0.0,
    ) -> None:
        """Evaluate the integrands at the nodes, over P.

        The exponents of P are off by 16 units of their terms, weight and kernel by 16 units.

        Args:
            line: where.
            blocks: its nodes.
            log_mgf: K(c), with a bound on its error.
            transform: e^{K(z) - K(c) - it epsilon} in some of the blocks, with the line's epsilon,
                and bounds on absolute errors; both are 0 for nodes that are not there.
            deviation: standard deviation of the tilted loss, about, for searches.
        """
        self.line, self.blocks, self.deviation = line, blocks, deviation
        self._offsets: Array = blocks.step * np.arange(blocks.size)
        terms = abs(log_mgf[0]) + line.c * abs(line.epsilon)
        self._peak_error = log_mgf[1] + 16.0 * UNIT * (terms + 1.0)
        self._log_peak = log_mgf[0] - line.c * line.epsilon
        self._values: ComplexArray = np.empty(blocks.shape, np.complex128)
        self._lowered = line.spread.variance > 0.0
        self._gap_values = np.empty(blocks.shape if self._lowered else (0, 0), np.complex128)
        noise = np.zeros(4)
        rows = max(1, AT_ONCE // blocks.size)
        for first in range(0, len(blocks.starts), rows):
            part = slice(first, first + rows)
            noise += self._evaluate(part, *transform(part))
        self._noise, self._drift, self._gap_noise, self._gap_drift = (noise * MARGIN).tolist()

    @property
    def proof(self) -> Proof:
        """Return what the sum is."""
        return Proof.INVERSION

    @property
    def alone(self) -> WholeLine | None:
        """Return the line, which another program can sum; None where lists stand for laws."""
        line, blocks = self.line, self.blocks
        if line.missing > 0.0:
            return None
        nodes = round(blocks.end / blocks.step - 0.5)
        return WholeLine(line.c, blocks.step, nodes, line.right[0])

    @property
    def count(self) -> int:
        """Return how many nodes are summed."""
        return self._values.size

    @property
    def fastest(self) -> float:
        """Return how fast the terms fall with epsilon."""
        return self.line.c

    def _evaluate(self, rows: slice, product: ComplexArray, error: Array) -> Array:
        """Keep the integrands in some blocks, and return what their errors come to.

        These are a constant and a factor of |epsilon - line.epsilon| for either sum. Moving to
        another epsilon multiplies by phases, which are off by PHASE_ULPS and 8 units of their
        angles; the nodes are summed first over blocks and then in the block.
        """
        blocks = self.blocks
        t = blocks.starts[rows][:, None] + self._offsets
        weight = np.full(t.shape, blocks.step / math.pi)
        weight[t == 0.0] *= 0.5
        z = vertical(self.line.c, t)
        kernel = z * (z + 1.0)
        weighted = product * weight
        self._values[rows] = weighted / kernel
        size, kernel = np.abs(weighted), np.abs(kernel)
        units = UNIT * (2.0 * PHASE_ULPS + 32.0 + COMPLEX_TERM * sum(blocks.shape))
        wrong, drift = error * weight + units * size, 8.0 * UNIT * size * t
        gap = 0.0, 0.0
        if self._lowered:
            transform = self.line.spread.transform(z)
            self._gap_values[rows] = weighted * transform
            other = np.abs(transform)
            gap = float((wrong * other).sum()), float((drift * other).sum())
        return np.array([(wrong / kernel).sum(), (drift / kernel).sum(), *gap])

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array, log_scale: float | Array | None = None) -> Deltas:
        """Bracket delta of the measure at each epsilon, with its error terms.

        The units are e^{log_scale}, or else about the saddle-point value at each epsilon, so that
        nothing under- or overflows near it.
        """
        scales = self._scales(epsilons, log_scale)
        return displaced(lambda at: self._deltas(at, scales), epsilons, self.line.slack)

    def _deltas(self, epsilons: Array, scales: Array) -> Deltas:
        line, blocks = self.line, self.blocks
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
        beyond = exp_bound(log_cut(line.log_decay, blocks.end) + SLACK)
        cut = peaks * (beyond * MARGIN)
        terms, gap = {}, np.zeros(len(epsilons))
        if self._lowered:
            gap = sums * factors
            wrong = peaks * (self._gap_noise + moved * self._gap_drift)
            wrong = (wrong + np.abs(gap) * (units + 16.0 * UNIT)) * MARGIN
            # Beyond, the transform of H is 2 B k / t^2 at most.
            gap_cut = 2.0 * line.spread.height * line.spread.rate * beyond
            gap = np.maximum(gap, 0.0) + wrong + peaks * (gap_cut * (1.0 + 1e-8))
            terms["spread"] = gap
        aliasing = aliasings((line.c, blocks.step), line.right, epsilons, scales, line.log_mass)
        truncated: Array = np.zeros(len(epsilons))
        if line.log_truncated > -math.inf:
            truncated = exp_bounds(line.log_truncated - scales + SLACK)
        terms |= {
            "aliasing": aliasing,
            "truncation": cut,
            "dropped": truncated,
            "rounding": rounding,
        }
        # The sum is too large by spreads and aliases, and too small by what was truncated.
        below, above = gap + aliasing + cut + rounding, cut + rounding + truncated
        if line.missing > 0.0:
            terms["lists"] = peaks * line.missing
            below, above = below + terms["lists"], above + terms["lists"]
        return Deltas(scales, value - below, value + above, value - 0.5 * gap, terms)

    @np.errstate(all="ignore")
    def estimates(self, epsilons: Array, log_scale: float | Array = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf) = delta - d delta / d epsilon, without bound."""
        factors = self._factors(epsilons, self._scales(epsilons, log_scale))
        value, slope = np.empty(len(epsilons)), np.empty(len(epsilons))
        for part, rows, columns in self._phases(epsilons):
            sums = rows @ self._values
            value[part] = (sums * columns).sum(axis=1).real
            # z = c + i (start + offset).
            slopes = (rows * (self.line.c + 1j * self.blocks.starts)) @ self._values
            slopes += sums * (1j * self._offsets)
            slope[part] = (slopes * columns).sum(axis=1).real
        return value * factors, (value + slope) * factors

    def _scales(self, epsilons: Array, log_scale: float | Array | None) -> Array:
        if log_scale is not None:
            return np.broadcast_to(np.asarray(log_scale, float), epsilons.shape)
        c = self.line.c
        peaks = self._log_peak - c * (epsilons - self.line.epsilon)
        scales: Array = np.minimum(0.0, peaks - math.log(c) - math.log1p(c))
        return scales

    def _factors(self, epsilons: Array, scales: Array) -> Array:
        """Return P at each epsilon; infinite, and so nothing proved, too far from the line's."""
        exponent = self._log_peak - self.line.c * (epsilons - self.line.epsilon) - scales
        found: Array = np.where(exponent < LARGEST_EXPONENT, np.exp(exponent), np.inf)
        return found

    def _phases(self, epsilons: Array) -> Iterator[tuple[slice, ComplexArray, ComplexArray]]:
        """Yield the phases, of blocks and within one, that move the nodes to some epsilons each."""
        starts = self.blocks.starts
        charge(len(epsilons) * (PER_MOVE * len(starts) + PER_NODE * self.count))
        moved = epsilons - self.line.epsilon
        at_once = max(1, PHASES_AT_ONCE // max(self.blocks.shape))
        for first in range(0, len(epsilons), at_once):
            part = slice(first, first + at_once)
            rows: ComplexArray = np.exp(-1j * np.multiply.outer(moved[part], starts))
            columns: ComplexArray = np.exp(-1j * np.multiply.outer(moved[part], self._offsets))
            yield part, rows, columns


class OfLogs:
    """The transform of nodes t = kh, k = 0 .. n, whose cumulants are known, as `LineSum` wants it.

    Attributes:
        log_mgf: the log that F is divided by, about that of F(c), with a bound on its rounding.
        log_above: upper bound on log F(c) less that.
    """

    def __init__(
        self,
        blocks: Blocks,
        epsilon: float,
        near: Known,
        rest: Known | None = None,
    ) -> None:
        """Take the values of F = e^{near} rest, with bounds on their absolute errors.

        The exponent is off by its error and 8 units of each of its terms, exp, the rest and the
        products by 16 units. e^{near} (rest + e) e^d differs from e^{near} rest by |rest| (e^|d| -
        1) + |e| e^|d|. Where that says nothing, F is at most that in modulus, and at most its value
        on the real axis.

        Args:
            blocks: all nodes of a line.
            epsilon: of the line.
            near: at the nodes, the first of which is c; errors as of `ContourLaw.log_mgf`.
            rest: 1 unless it is said.
        """
        values, errors = near
        peak, self._shape = float(values[0].real), blocks.shape
        angles = blocks.step * epsilon * np.arange(len(values))
        log_rest = above = 0.0
        with np.errstate(all="ignore"):
            units = 8.0 * (np.abs(values) + abs(peak) + np.abs(angles)) + 16.0
            wrong = errors + UNIT * units
            product: ComplexArray = np.exp(values - peak - 1j * angles)
            moved = np.expm1(np.minimum(wrong, 1.0)) * np.abs(product)
            largest = np.exp(np.minimum(values.real - peak + wrong, LARGEST_EXPONENT))
            if rest is not None:
                # Over its value on the real axis, lest products underflow.
                scale = abs(complex(rest[0][0]))
                size, spread = np.abs(rest[0]) / scale, rest[1] / scale
                grown = np.abs(product) * np.exp(np.minimum(wrong, 1.0))
                moved = moved * size + grown * (spread + 8.0 * UNIT * size)
                product = product * (rest[0] / scale)
                largest = largest * (size + spread)
                log_rest, above = float(np.log(scale)), float(np.log1p(spread[0]))
            known = (wrong < 1.0) & np.isfinite(product) & (moved < 2.0)
        self.log_mgf = peak + log_rest, 4.0 * UNIT * (abs(log_rest) + abs(peak) + 1.0)
        self.log_above = float(errors[0]) + above + self.log_mgf[1]
        self._product: ComplexArray = self._filled(np.where(known, product, 0.0))
        # Not a number counts as nothing known.
        most = np.fmin(largest * MARGIN, exp_bound(self.log_above))
        self._error: Array = self._filled(np.where(known, moved * MARGIN, most))

    def __call__(self, rows: slice) -> tuple[ComplexArray, Array]:
        """Return the values in some blocks."""
        return self._product[rows], self._error[rows]

    def _filled(self, values: npt.NDArray[_Kind]) -> npt.NDArray[_Kind]:
        """Return a row for each block, with 0 at the end."""
        found: npt.NDArray[_Kind] = np.zeros(self._shape[0] * self._shape[1], values.dtype)
        found[: len(values)] = values
        return found.reshape(self._shape)


def nothing(count: int) -> Known:
    """Return a sum of no laws at so many nodes."""
    return np.zeros(count, np.complex128), np.zeros(count)


def added(total: Known, uses: int, law: Known, laws: int) -> Known:
    """Return a sum with so many uses of one law more: each sum rounds once a law, of so many."""
    (value, error), (more, wrong) = total, law
    rounding = (2.0 + laws) * UNIT * uses * np.abs(more)
    return value + uses * more, error + uses * wrong + rounding
