"""One vertical line, of a whole composition or a side of the tail split: its nodes, and its proof.

Right, on Re z = c > 0, with F = prod A^n, A the transforms of laws that are whole or cut,

    R = (1 / 2 pi i) int F(z) e^{-z epsilon} / (z (z + 1)) dz,

their finite delta.

Left, on Re z = w > 0,

    Lf = (e^epsilon / 2 pi i) int F(z) e^{z epsilon} / (z (z + 1)) dz,
    F = prod (A + J)^n - prod A^n = e^{sum n log A} expm1(sum n log1p(J / A)),

e^epsilon times the delta at -epsilon of the reversed pair on the event that some outcome lies
beyond. Both are transforms of finite positive measures, so that `line_sum.py` holds: the mass of
the first is at most 1, that of the second Q of the event, and F(c') on the real
axis is for Chernoff's bound. F is a polynomial in the A and J with non-negative coefficients, so
upper bounds of these give one of F, and beyond the last node, where |A(c + it)| <= A(c) sigma and
|J(c + it)| <= m(t) = min(J(c), V / t), V the total variation of J's tilted density, both edges
included, |F| <= prod (A sigma + m)^n - prod (A sigma)^n, which falls with t.

Abscissa, step and c' are searched with rough transforms; bounds come from certified values on the
real axis and from `losses/sampled/decay.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.inversion.line_sum import (
    Exponential,
    Line,
    LineSum,
    added,
    log_payoff_supremum,
)
from privcalc.engine.inversion.tail_search import far_logs, log_expm1s, near_logs
from privcalc.errors import NotCertifiedError
from privcalc.losses.sampled.cut import ON_SHIFTED
from privcalc.losses.sampled.decay import VariationCells, log_suprema
from privcalc.numerics.rounding import (
    MARGIN,
    TINY,
    UNIT,
    expm1_with_error,
    few_bits,
    log1p_with_error,
)
from privcalc.numerics.work import PATIENCE, QUESTION, charge, left
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.inversion.line_sum import Known
    from privcalc.engine.inversion.tail_search import Parts
    from privcalc.losses.law import ContourLaw
    from privcalc.losses.sampled.cut import CutLaw, PowerPart
    from privcalc.losses.sampled.law import QuadratureContour
    from privcalc.numerics.rounding import Array

# Contour nodes, and these times quadrature nodes, that one side may cost.
MAX_NODES = 600_000
MAX_WORK = 300_000_000
# Work for each term of a node: blocks of nodes are products of matrices.
PER_TERM = 0.006
# All that a line makes of its sums and bounds, as a multiple of that.
IN_ALL = 4.0
# Abscissas that are tried, as factors of the one from the tables, how often they are moved; F is to
# be known so many further on.
GRID, MOVES, AHEAD = np.exp(np.linspace(math.log(0.5), math.log(3.0), 44)), 6, 8
# Abscissas c' > c for the right aliasing term, as parts of c and of the loss's deviation.
GAPS = np.array([0.02, 0.05, 0.1, 0.18, 0.3, 0.45, 0.7, 1.0, 1.5, 2.5, 5.0, 12.0])
DEVIATIONS = np.array([1.0, 2.0, 4.0, 7.0, 11.0])
LEAST_PERIOD, TRIALS, RATIO = 3.0, 60, 1.12
# Ends of sums that are tried: the first in deviations, their number and ratio.
FIRST_END, ENDS, END_RATIO = 0.3, 108, 1.2
# Sums do not end before this part of the abscissa.
LEAST_END = 0.03
# Nodes of a quadrature for each radian of the largest phase, about, and beside them.
PER_RADIAN, BESIDE = 0.35, 100.0
# Work for an exponential by itself, in units of what one costs in a product of matrices.
BY_ITSELF = 16


@record
class Laws:
    """All laws on one line: A, J where there is one, and the others."""

    counts: Sequence[int]
    near: Sequence[QuadratureContour | PowerPart]
    far: Sequence[PowerPart | None]
    others: Sequence[tuple[ContourLaw, int]]

    @property
    def size(self) -> int:
        """Return the work for one t."""
        near = sum(each.size for each in self.near)
        others = sum(each.size if each.size > 1 else BY_ITSELF for each, _ in self.others)
        return near + sum(each.size for each in self.far if each) + others

    def values(self, step: float, nodes: int) -> tuple[Known, Known]:
        """Evaluate sum n log A with the others' cumulants, and sum n log(1 + J / A).

        J / A is formed as J e^{-K}, K = log A: off by the error of J, and relatively by that of K,
        4 units of it, 4 for exp's parts each and 3 for the product.
        """
        near: Known = np.zeros(nodes + 1, np.complex128), np.zeros(nodes + 1)
        rest: Known = near
        terms = len(self.near) + len(self.others)
        for index, (law, n) in enumerate(zip(self.near, self.counts, strict=True)):
            k, k_error = law.log_mgf_progression(step, nodes + 1)
            near = added(near, n, (k, k_error), terms)
            beyond = self.far[index]
            if beyond is not None:
                j, j_error = beyond.progression(step, nodes + 1)
                ratio = j * np.exp(-k)
                relative = np.expm1(np.minimum(k_error, 1.0)) + UNIT * (16.0 + 4.0 * np.abs(k))
                wrong = (j_error * np.exp(-k.real) * 1.02 + np.abs(ratio) * relative) * MARGIN
                wrong = np.where(k_error < 1e-2, wrong, np.inf)
                rest = added(rest, n, log1p_with_error(ratio, wrong), terms)
        for other, n in self.others:
            near = added(near, n, other.log_mgf_progression(step, nodes + 1), terms)
        return near, rest


@record
class Frame:
    """A cut composition near one answer: a measure with the transform F.

    F = prod (A + J)^n - prod A^n, of the event that some outcome is one of J, where there is a J;
    prod A^n elsewhere.

    Attributes:
        parts: the composition.
        cuts: its sampled laws, cut.
        epsilon: where the answer is, about.
        log_delta: log of delta there.
        relative: error of delta that each term may make.
    """

    parts: Parts
    cuts: tuple[tuple[CutLaw, int], ...]
    epsilon: float
    log_delta: float
    relative: float

    @property
    def log_target(self) -> float:
        """Return the log of the error that is allowed."""
        return self.log_delta + math.log(self.relative)

    @property
    def alone(self) -> bool:
        """Return whether no law has a J."""
        return all(cut.alone for cut, _ in self.cuts)

    @property
    def small(self) -> Frame:
        """Return the event that no outcome is one of J."""
        return replace(self, cuts=tuple((replace(cut, far=cut.top), n) for cut, n in self.cuts))

    def deviation(self, c: float) -> float:
        """Return about the deviation of the loss, tilted by c where nothing is cut."""
        if self.cuts:
            variance = self.parts.variance
        else:
            variance = sum(n * law.cumulants(c)[2] for law, _, n in self.parts.others)
        return math.sqrt(max(variance, 1e-300))

    def exponents(self, orders: Array, *, right: bool) -> Array:
        """Return the exponents of 1 + y at orders of one side."""
        return orders + 1.0 if right else -orders

    def rough(self, grid: Array, *, right: bool) -> Array:
        """Return about log F on the real axis; infinite where it is no choice."""
        near = self.parts.other_cumulants(grid, right=right)
        rest = np.zeros(len(grid))
        with np.errstate(all="ignore"):
            for cut, n in self.cuts:
                exponents = self.exponents(grid, right=right)
                below = near_logs(cut.law, cut.top, exponents)
                near = near + n * below
                if not cut.alone:
                    rest = rest + n * np.logaddexp(0.0, far_logs(cut, exponents) - below)
            if not self.alone:
                near = near + log_expm1s(rest)
        return np.where(np.isfinite(near), near, np.inf)

    def shifts(self, grid: Array, *, right: bool) -> Array:
        """Return what epsilon adds to log F."""
        return -grid * self.epsilon if right else (grid + 1.0) * self.epsilon

    def laws(self, c: float, t_max: float, *, right: bool) -> Laws:
        """Prepare all laws for |t| <= t_max.

        Quadrature errors of A are allowed `relative` / 10 of delta together; relative ones carry
        over to F as they are. So are those of J, relative to itself.
        """
        near, counts = [], []
        far: list[PowerPart | None] = []
        share = math.log(self.relative / (10.0 * (len(self.cuts) + len(self.parts.others))))
        for cut, n in self.cuts:
            exponent = self.exponents(np.array([c]), right=right)
            size = float(near_logs(cut.law, cut.top, exponent)[0])
            if not math.isfinite(size):
                raise NotCertifiedError("the transform of the cut law overflows")
            counts.append(n)
            error = share - math.log(n) + size
            near.append(cut.contour(c, t_max, error, remove=right))
            if cut.alone:
                far.append(None)
                continue
            log_j = float(far_logs(cut, exponent)[0])
            if not math.isfinite(log_j):
                raise NotCertifiedError("the transform beyond the split is out of range")
            far.append(cut.beyond(c, t_max, share + log_j, remove=right))
        whole = self.parts.whole(right=right)
        others = [(law.on_contour(c, t_max, share - math.log(n)), n) for law, n in whole]
        return Laws(counts, near, far, others)


@record
class Reals:
    """Certified values on the real axis.

    Attributes:
        near: bounds on each A.
        far: upper bounds on each J.
        others: the other laws, known at t = 0 alone.
        log_others: upper bound on their cumulants.
        log_f: upper bound on log F.
    """

    near: tuple[tuple[float, float], ...]
    far: tuple[float, ...]
    others: Sequence[tuple[ContourLaw, int]]
    log_others: float
    log_f: float

    @classmethod
    def of(cls, frame: Frame, c: float, *, right: bool) -> Reals:
        """Evaluate all laws at c, or w."""
        laws = frame.laws(c, 0.0, right=right)
        near = tuple(each.mgf_range for each in laws.near)
        far = tuple(each.mgf_range[1] if each else 0.0 for each in laws.far)
        if not all(low > 0.0 for low, _ in near):
            raise NotCertifiedError("the transform of the cut law is not known to be positive")
        others = total = rest = 0.0
        for each, n in laws.others:
            value, error = each.log_mgf(np.zeros(1))
            others += n * float(value[0].real + error[0])
        for index, (cut, n) in enumerate(zip(laws.near, laws.counts, strict=True)):
            value, error = cut.log_mgf_progression(1.0, 1)
            total += n * float(value[0].real + error[0])
            rest += n * math.log1p(far[index] / near[index][1])
        log_f = others + total + (0.0 if frame.alone else _log_expm1(rest))
        slack = 2e-9 + 2e-9 * abs(rest) + 1e-12 * (abs(others) + abs(total) + abs(rest))
        return cls(near, far, laws.others, others + slack, log_f + slack)


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x)) if x > 0.0 else -math.inf


def make_line(
    frame: Frame, c: float, log_mass: float, *, right: bool, refine: float = 1.0
) -> LineSum:
    """Place the nodes of one line, and sum F over them; on the left, for epsilons of other sign.

    Args:
        frame: the composition, cut or whole.
        c: abscissa.
        log_mass: upper bound on the log mass of the measure.
        right: which side.
        refine: divides the step; any value gives a valid line (tests compare two).

    Raises:
        NotCertifiedError: no step, or too many nodes.
    """
    lists = frame.parts.lists
    c = few_bits(c)
    period, c_far = _period(frame, c, log_mass, right=right)
    step = lists.fitted(few_bits(2.0 * math.pi / period / refine))
    lists.check(c)
    decay = _Decay(frame, c, right=right)
    target = frame.log_target - float(frame.shifts(np.array([c]), right=right)[0])
    nodes = max(2, math.ceil(decay.first(target) / step - 0.5))
    terms = 1.0
    if frame.cuts:
        top = max(each.top_loss for each, _ in frame.cuts)
        most = ON_SHIFTED if all(each.law.lines for each, _ in frame.cuts) else math.inf
        # Losses below 0 are as long as that of an outcome that only R has.
        floor = max(-math.log1p(-each.law.rate) for each, _ in frame.cuts)
        phase = PER_RADIAN * (nodes + 0.5) * step
        terms = (min(phase * top, most) + min(phase * floor, most) + BESIDE) * len(frame.cuts)
    end = (nodes + 0.5) * step
    laws = frame.laws(c, end, right=right) if nodes <= min(MAX_NODES, MAX_WORK / terms) else None
    units = nodes * (1.0 + PER_TERM * laws.size) if laws else math.inf
    if laws is None or units > PATIENCE * min(left(), QUESTION) / IN_ALL:
        raise NotCertifiedError(f"the line needs {nodes} nodes of {terms:.0f} terms")
    line = Line(
        c,
        step,
        nodes,
        (c_far, Reals.of(frame, c_far, right=right).log_f),
        frame.epsilon if right else -frame.epsilon,
        decay.beyond(end),
        log_mass=log_mass,
        spread=lists.spread,
        # Of the left side errors are those of what is beyond the cuts (`solve.py`).
        missing=lists.missing(laws.others) if right else 0.0,
    )
    charge(units)
    near, rest = laws.values(step, nodes)
    return LineSum(line, near, None if frame.alone else expm1_with_error(*rest))


def skipped(frame: Frame, start: float, *, right: bool) -> Exponential | None:
    """Return the bound C(c) F(c) e^{-c epsilon} of a side, if it is negligible.

    On the left it is C(w) F(w) e^{(w + 1) epsilon}. That is Chernoff's bound, (1 - e^{-x})_+ <=
    C(c) e^{cx}, for every c > 0. It holds of what a spread of lists adds, too.
    """
    grid = start * np.exp(np.linspace(-3.0, 3.0, 50))
    sizes = frame.rough(grid, right=right) + frame.shifts(grid, right=right)
    sizes = sizes - grid * np.log1p(1.0 / grid) - np.log1p(grid)
    best = int(sizes.argmin())
    if not sizes[best] <= frame.log_target - 1.0:
        return None
    c = few_bits(float(grid[best]))
    lists = frame.parts.lists
    lists.check(c)
    # Of H, too, which is at most B e^{cy}.
    supremum = max(log_payoff_supremum(c), math.log(max(lists.spread.height, TINY)))
    log_size = supremum + Reals.of(frame, c, right=right).log_f
    return Exponential(log_size, -c if right else c + 1.0)


class _Decay:
    """Upper bounds on log |F| beyond each of a grid of t; they fall.

    Laws that are not cut are asked where they are wanted: the bounds of some take many steps.
    """

    def __init__(self, frame: Frame, c: float, *, right: bool) -> None:
        """Bound cut laws on all of the grid."""
        here = Reals.of(frame, c, right=right)
        self._deviation, self._log_f = frame.deviation(c), here.log_f
        first = FIRST_END * max(1.0 / self._deviation, LEAST_END * c)
        self._ts = ts = first * END_RATIO ** np.arange(ENDS)
        near = np.full(len(ts), here.log_others)
        rest = np.zeros(len(ts))
        for index, (cut, n) in enumerate(frame.cuts):
            exponent = float(frame.exponents(np.array([c]), right=right)[0])
            log_sigma = log_suprema(cut.part, exponent, here.near[index], ts)
            log_near = log_sigma + math.log(here.near[index][1])
            near = near + n * log_near
            if not cut.alone:
                cells = VariationCells.of(cut.between(cut.top, cut.far), exponent)
                log_far = np.log(np.minimum(here.far[index], cells.variation() / ts))
                rest = rest + n * np.logaddexp(0.0, log_far - log_near)
        self._logs, self._sizes = near, np.abs(near)
        if not frame.alone:
            log_rest = log_expm1s(rest)
            self._logs, self._sizes = near + log_rest, np.abs(near) + np.abs(log_rest)
        # Those that fall most are asked first, and the others only if that is not enough.
        self._whole = here.others
        self._known: dict[int, float] = {}

    def first(self, target: float) -> float:
        """Return about the first t of the grid with log |F| - log(pi t) at most a target beyond.

        No less is tried than where that of a normal loss would be.

        Raises:
            NotCertifiedError: there is none.
        """
        needed = np.maximum(self._log_f - np.log(math.pi * self._ts) - target, 0.0)
        normal = np.sqrt(2.0 * needed) / self._deviation
        last = len(self._ts) - 1
        high, ahead = min(int((self._ts < normal).sum()), last), 1
        low = high - 1
        while not self._enough(high, target):
            if high == last:
                raise NotCertifiedError("the characteristic function decays too slowly for a line")
            low, high, ahead = high, min(high + ahead, last), 2 * ahead
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._enough(middle, target) else (middle, high)
        return float(self._ts[high])

    def beyond(self, t: float) -> float:
        """Return a bound on log |F| beyond t.

        Raises:
            NotCertifiedError: t is left of the grid.
        """
        index = int(np.searchsorted(self._ts, t, side="right")) - 1
        if index < 0:
            raise NotCertifiedError("the line ends where nothing is known of its decay")
        return self._at(index)

    def _enough(self, index: int, target: float) -> bool:
        return self._at(index) - math.log(math.pi * self._ts[index]) <= target

    def _at(self, index: int) -> float:
        if index not in self._known:
            value, size = float(self._logs[index]), float(self._sizes[index])
            for law, n in self._whole:
                log_decay = law.log_decay(float(self._ts[index]))
                value, size = value + n * log_decay, size - n * log_decay
            self._known[index] = value + 1e-9 * (1.0 + size)
        return self._known[index]


def saddle_near(frame: Frame, start: float, *, right: bool) -> float:
    """Return about the saddle point of a side of a split, whose tables know it roughly.

    Raises:
        NotCertifiedError: there is none.
    """
    for _ in range(MOVES):
        grid = start * GRID
        sizes = frame.rough(grid, right=right) + frame.shifts(grid, right=right)
        peak = (sizes - np.log(grid * (1.0 + grid)))[:-AHEAD]
        peak = np.where(np.isfinite(sizes[AHEAD:]), peak, np.inf)
        saddle = int(peak.argmin())
        # The tables' cut is off by half a cell, which moves saddle points of large order.
        if 0 < saddle < len(peak) - 1:
            break
        start *= 0.25 if saddle == 0 else 2.0
    if not math.isfinite(peak[saddle]):
        raise NotCertifiedError("no abscissa for the split")
    return float(grid[saddle])


def _period(frame: Frame, c: float, log_mass: float, *, right: bool) -> tuple[float, float]:
    """Return 2 pi / h for a long step, and c'.

    Raises:
        NotCertifiedError: no step is small enough.
    """
    gaps = np.concatenate([c * GAPS, DEVIATIONS / frame.deviation(c)])
    later = np.array(sorted({few_bits(c + gap) for gap in gaps.tolist()} - {c}))
    sizes = frame.rough(later, right=right) + frame.shifts(later, right=right)
    chernoff = sizes - later * np.log1p(1.0 / later) - np.log1p(later)
    target = frame.log_target - math.log(2.0)
    mass = log_mass + (0.0 if right else frame.epsilon)
    period = max(mass - target, LEAST_PERIOD) / c
    for _ in range(TRIALS):
        rate = period * (later - c)
        values = chernoff - rate - np.log(-np.expm1(-rate))
        if values.min() <= target:
            return period, float(later[values.argmin()])
        period *= RATIO
    raise NotCertifiedError("no step of the line keeps the aliasing error small")
