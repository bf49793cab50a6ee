"""The two sums of a mollified contour, with a proof of their error.

In the notation of `payoff.py` and `engine/contour/sum.py`, with P = e^{K(c) + tau^2 c (c + 1) / 2 -
c epsilon} and S_h the sum over all nodes z = c + ikh of either transform:

    E f_tau <= S_h[f_tau] <= E f_tau + aliasing,    E G <= S_h[G],

because Poisson's formula holds for E f_tau(L - x) e^{cx} and E G(L - x) e^{cx}, which are
continuous and integrable with summable transforms, and all its terms are >= 0. E f_tau is delta of
the composition with one more Gaussian mechanism, so that the bounds of
`engine/contour/aliasing.py` hold with K(c') + tau^2 c' (c' + 1) / 2.

Left out are, with |phi| <= 1 and Re z (z + 1) = c (c + 1) - t^2: the nodes beyond t1, where
x^{-2} e^{-tau^2 x^2 / 2} and, for tau x >= 1, e^{-tau^2 x^2 / 2} are convex, so that their sums are
below the integrals from t1, at most e^{-tau^2 t1^2 / 2} / t1 and the same over tau^2 t1; and the
nodes of cells, by `cells.py`. Where some laws fall for good, their bound beyond t1 is a factor, and
tau may be 0: then there is no gap.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.certified import PAD
from privcalc.engine.contour.aliasing import log_cut
from privcalc.engine.contour.sum import LARGEST_EXPONENT, SLACK, aliasings, exp_bounds
from privcalc.engine.mollified.payoff import gap_factor, log_moment
from privcalc.engine.source import Deltas
from privcalc.numerics.phases import PHASE_ULPS
from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.engine.mollified.blocks import BlockLaw
    from privcalc.engine.mollified.cells import Blocks
    from privcalc.numerics.arrays import Array, ComplexArray

# Nodes that are evaluated at once: what a cache holds.
AT_ONCE = 8192
# Phases that are made at once.
PHASES_AT_ONCE = 500_000
# Work for the phase of a block, and its product with the block.
PER_MOVE, PER_NODE = 0.4, 0.01


@record
class Line:
    """One vertical line with its payoff.

    Attributes:
        c: abscissa.
        tau: of the payoff.
        right: the c' of the right aliasing term, and a certified upper bound on K(c').
        epsilon: for which the sums are prepared.
        log_scale: of delta there, about.
        log_dropped: of the mass that truncated laws leave out.
        log_decay: proved bound on prod |phi|^count beyond the last node.
        capped: whether tau is larger than was wished, so that the nodes are not too many.
    """

    c: float
    tau: float
    right: tuple[float, float]
    epsilon: float
    log_scale: float
    log_dropped: float
    log_decay: float
    capped: bool


class MollifiedSum:
    """The source of the nodes of one line, good at epsilons near the one they are made for."""

    proof = Proof.SMOOTHED
    pad = PAD

    def __init__(
        self, laws: Sequence[tuple[BlockLaw, int]], blocks: Blocks, line: Line, deviation: float
    ) -> None:
        """Evaluate both integrands at the nodes, over P in these units.

        With phi of modulus at most 1 in every factor, an error of one is an error of the product.
        The phase of all centres and of epsilon is off by PHASE_ULPS units and 8 units of its terms,
        the Gaussian factor by 4 units of its exponent, the weight and the kernel by 16 units, and
        the product with each law by 4.
        """
        self.line, self._blocks, self.deviation = line, blocks, deviation
        self._starts = blocks.starts
        self._offsets: Array = blocks.step * np.arange(blocks.size)
        nodes = len(self._starts) * blocks.size
        for law, _ in laws:
            charge(law.work * nodes)
        charge(0.3 * nodes)
        log_mgf = log_error = 0.0
        for law, count in laws:
            at, wrong = law.log_mgf_at
            log_mgf += count * at
            log_error += count * (wrong + 8.0 * UNIT * abs(at))
        log_moved = log_moment(line.tau, line.c)
        terms = abs(log_mgf) + log_moved + line.c * abs(line.epsilon) + abs(line.log_scale)
        self._peak_error = log_error + 16.0 * UNIT * (terms + 1.0)
        self._log_peak = log_mgf + log_moved - line.c * line.epsilon
        shape = len(self._starts), blocks.size
        self._gap_values: ComplexArray = np.empty(shape, np.complex128)
        self._values: ComplexArray = np.empty(shape, np.complex128)
        noise = np.zeros(4)
        rows = max(1, AT_ONCE // blocks.size)
        for first in range(0, len(self._starts), rows):
            noise += self._evaluate(laws, slice(first, first + rows))
        self._gap_noise, self._payoff_noise, self._gap_drift, self._payoff_drift = (
            float(each) * MARGIN for each in noise
        )

    @property
    def count(self) -> int:
        """Return how many nodes are summed."""
        return self._values.size

    def _evaluate(self, laws: Sequence[tuple[BlockLaw, int]], rows: slice) -> Array:
        """Evaluate both integrands in some blocks, and return what their errors come to."""
        line, blocks = self.line, self._blocks
        starts = self._starts[rows]
        t = starts[:, None] + self._offsets
        spread = 0.5 * (line.tau * t) ** 2
        centre = line.tau * line.tau * (line.c + 0.5) - line.epsilon
        angles = abs(centre) + abs(line.epsilon)
        for law, count in laws:
            centre += count * law.centre
            angles += count * abs(law.centre)
        phase = np.exp(1j * centre * starts)[:, None] * np.exp(1j * centre * self._offsets)
        product: ComplexArray = np.exp(-spread) * phase
        units = PHASE_ULPS + 16.0 + 4.0 * len(laws) + 8.0 * angles * t + 8.0 * spread
        error: Array = np.abs(product) * UNIT * units
        for law, count in laws:
            value, wrong_by = law.powers(starts, blocks.step, blocks.size, count)
            # |ab - a'b'| <= |a| |b - b'| + |a - a'| (|b| + |b - b'|).
            modulus = np.abs(value)
            error = np.abs(product) * wrong_by + error * (modulus + wrong_by)
            product = product * value
        weight = np.full(t.shape, blocks.step / math.pi)
        weight[t == 0.0] *= 0.5
        z: ComplexArray = np.empty(t.shape, np.complex128)
        z.real, z.imag = line.c, t
        kernel = z * (z + 1.0)
        self._gap_values[rows] = product * weight
        self._values[rows] = self._gap_values[rows] / kernel
        return self._noise(np.abs(self._gap_values[rows]), error * weight, np.abs(kernel), t)

    def _noise(self, size: Array, error: Array, kernel: Array, t: Array) -> Array:
        """Sum what the errors of nodes come to, as a constant and in |epsilon - line.epsilon|.

        Moving to another epsilon multiplies by phases, which are off by PHASE_ULPS and 8 units of
        their angles; the nodes are summed first over blocks and then in the block.
        """
        sums = COMPLEX_TERM * float(sum(self._gap_values.shape))
        units = UNIT * (2.0 * PHASE_ULPS + 16.0 + sums)
        wrong, drift = error + units * size, 8.0 * UNIT * size * t
        return np.array([each.sum() for each in (wrong, wrong / kernel, drift, drift / kernel)])

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket the finite part of delta at each epsilon; see the module and `_noise`."""
        scale = self.line.log_scale if log_scale is None else log_scale
        scales: Array = np.full(len(epsilons), scale)
        value, gap, rounding, gap_rounding, peaks = self._sums(epsilons, scale)
        line, blocks = self.line, self._blocks
        largest = line.log_decay - 0.5 * (line.tau * blocks.end) ** 2
        beyond = exp_bound(log_cut(largest, blocks.end) + SLACK)
        cut = peaks * ((beyond + blocks.skipped) * MARGIN)
        if line.tau > 0.0:
            skipped = gap_factor(line.tau) * blocks.gap_skipped
            gap_cut = math.exp(0.125 * line.tau**2) * beyond + skipped
            gap = np.maximum(gap, 0.0) + gap_rounding + peaks * (gap_cut * (1.0 + 1e-8))
        c_right, log_mgf_right = line.right
        right = c_right, log_mgf_right + log_moment(line.tau, c_right)
        aliasing = aliasings((line.c, blocks.step), right, epsilons, scales)
        dropped: Array = np.zeros(len(epsilons))
        if line.log_dropped > -math.inf:
            dropped = exp_bounds(line.log_dropped - scales + SLACK)
        terms = {
            "smoothing": gap,
            "aliasing": aliasing,
            "truncation": cut,
            "dropped": dropped,
            "rounding": rounding,
        }
        below, above = gap + aliasing + cut + rounding, cut + rounding + dropped
        return Deltas(scales, value - below, value + above, value - 0.5 * gap, terms)

    @np.errstate(all="ignore")
    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
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

    def _sums(self, epsilons: Array, log_scale: float) -> tuple[Array, Array, Array, Array, Array]:
        """Return both sums, bounds on their rounding errors, and upper bounds on P.

        The factor that belongs to all of a sum is off by the error of its exponent, and
        epsilon - line.epsilon by a unit.
        """
        factors = self._factors(epsilons, log_scale)
        moved = np.abs(epsilons - self.line.epsilon)
        units = np.expm1(self._peak_error + UNIT * (16.0 + 4.0 * self.line.c * moved))
        peaks = factors * (1.0 + units) * MARGIN
        value, gap = np.empty(len(epsilons)), np.empty(len(epsilons))
        for part, rows, columns in self._phases(epsilons):
            value[part] = ((rows @ self._values) * columns).sum(axis=1).real
            gap[part] = ((rows @ self._gap_values) * columns).sum(axis=1).real
        value *= factors
        rounding = peaks * (self._payoff_noise + moved * self._payoff_drift)
        rounding = (rounding + np.abs(value) * units) * MARGIN
        share = gap_factor(self.line.tau)
        gap *= factors * share
        gap_rounding = peaks * share * (self._gap_noise + moved * self._gap_drift)
        gap_rounding = (gap_rounding + np.abs(gap) * (units + 16.0 * UNIT)) * MARGIN
        return value, gap, rounding, gap_rounding, peaks

    def _factors(self, epsilons: Array, log_scale: float) -> Array:
        """Return P at each epsilon; infinite, and so nothing proved, too far from the line's."""
        exponent = self._log_peak - self.line.c * (epsilons - self.line.epsilon) - log_scale
        found: Array = np.where(exponent < LARGEST_EXPONENT, np.exp(exponent), np.inf)
        return found

    def _phases(self, epsilons: Array) -> Iterator[tuple[slice, ComplexArray, ComplexArray]]:
        """Yield the phases, of blocks and within one, that move the nodes to some epsilons each."""
        charge(len(epsilons) * (PER_MOVE * len(self._starts) + PER_NODE * self.count))
        moved = epsilons - self.line.epsilon
        at_once = max(1, PHASES_AT_ONCE // max(len(self._starts), len(self._offsets)))
        for first in range(0, len(epsilons), at_once):
            part = slice(first, first + at_once)
            rows: ComplexArray = np.exp(-1j * np.multiply.outer(moved[part], self._starts))
            columns: ComplexArray = np.exp(-1j * np.multiply.outer(moved[part], self._offsets))
            yield part, rows, columns
