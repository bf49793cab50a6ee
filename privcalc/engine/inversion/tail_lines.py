"""One side of the tail split on a vertical line: where its nodes are, and what is truncated.

Right, on Re z = c > 0, with F = prod A^n,

    R = (1 / 2 pi i) int F(z) e^{-z epsilon} / (z (z + 1)) dz,

the finite delta of the laws cut at the split; or where A is up to a lower level and J from there to
the split, F = prod (A + J)^n - prod A^n, that of the event that some loss is of J.

Left, on Re z = w > 0,

    Lf = (e^epsilon / 2 pi i) int F(z) e^{z epsilon} / (z (z + 1)) dz,
    F = prod (A + J)^n - prod A^n = e^{sum n log A} expm1(sum n log1p(J / A)),

e^epsilon times the delta at -epsilon of the reversed pair on the event that some outcome lies
beyond. Both are transforms of finite positive measures, so that `certificate.py` holds: the mass of
the first is at most 1, or P of the event, that of the second Q of the event, and F(c') on the real
axis is for Chernoff's bound. F is a polynomial in the A and J with non-negative coefficients, so
upper bounds of these give one of F, and beyond the last node, where |A(c + it)| <= A(c) sigma and
|J(c + it)| <= m(t) = min(J(c), V / t), V the total variation of J's tilted density, both edges
included, |F| <= prod (A sigma + m)^n - prod (A sigma)^n, which falls with t.

Abscissa, step and c' are searched with rough transforms; the bounds that a `Side` carries come from
certified values on the real axis and from `losses/sampled/decay.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.inversion.certificate import log_payoff_supremum
from privcalc.engine.inversion.line_sum import Blocks, Line, LineSum, OfLogs
from privcalc.engine.inversion.measures import Exponential
from privcalc.engine.inversion.tail_cut import Reals
from privcalc.engine.lists.losses import TINY
from privcalc.errors import NotCertifiedError
from privcalc.losses.sampled.cut import APART
from privcalc.losses.sampled.decay import SHIFTED_UP_TO, VariationCells, log_suprema
from privcalc.numerics.arrays import expm1_with_error
from privcalc.numerics.rounding import UNIT, few_bits
from privcalc.numerics.work import PATIENCE, charge, left
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.inversion.tail_cut import Frame, Laws
    from privcalc.engine.lists.factor import Lists

# Contour nodes, and these times quadrature nodes, that one side may cost.
MAX_NODES = 600_000
MAX_WORK = 300_000_000
# Where more would be needed by no more than this factor, so many do: the bracket is wider.
OVER = 2.0
# The same where it is the work that is left that pays for no more.
OVER_PAID = 8.0
# Of what the work that is left pays for, and what is far from all digits may take of it.
FEWER, ROUGH, ROUGH_PART = 0.95, 1e-6, 0.4
# Work for each term of a node: blocks of nodes are products of matrices.
PER_TERM = 0.006
# All that a plan makes of its sums and bounds, as a multiple of that.
IN_ALL = 4.0
# Abscissas that are tried, as factors of the one from the tables; the ratio of neighbours is 1.043.
GRID = np.exp(np.linspace(math.log(0.5), math.log(6.0), 60))
START, MOVES = 36, 6
# The peak may be so much higher, in logarithms, for a longer step, so many points back.
HIGHER, BACK = 1.5, 8
LONGEST_GAP, GAP_TRIALS, GAP_RATIO = 3.0, 60, 1.12
RATIO = 1.2
# Sums do not end before this part of the abscissa.
LEAST_END = 0.03
# Nodes of a quadrature for each radian of the largest phase, about, and beside them.
PER_RADIAN, BESIDE = 0.35, 100.0


@record
class Side:
    """One line, and what is proved of F on it.

    Attributes:
        right: which of the two sides.
        alone: whether F is a product of the A.
        epsilon: near which the sum is wanted.
        c: abscissa; c and the multiples of the step in use have few bits.
        step: distance of the nodes.
        nodes: n; the sum runs over |k| <= n.
        far: the c' of the aliasing bound, and an upper bound on log F(c').
        log_cut: upper bound on log |F(c + it)| for t beyond (n + 1/2) step.
        log_mass: upper bound on the log of the measure's mass.
        laws: known up to there.
        lists: of the laws.
        missing: what they are off by on this side, as of `Line`.
    """

    right: bool
    alone: bool
    epsilon: float
    c: float
    step: float
    nodes: int
    far: tuple[float, float]
    log_cut: float
    log_mass: float
    laws: Laws
    lists: Lists
    missing: float

    def sum(self) -> LineSum:
        """Evaluate F at the nodes c + ikh, k = 0 .. n; on the left, for epsilons of other sign."""
        near, rest = self.laws.values(self.step, self.nodes)
        blocks = Blocks.all(self.step, self.nodes)
        epsilon = self.epsilon if self.right else -self.epsilon
        beyond = None if self.alone else expm1_with_error(*rest)
        transform = OfLogs(blocks, epsilon, near, beyond)
        log_peak = transform.log_mgf[0]
        log_decay = self.log_cut - log_peak + 4.0 * UNIT * (abs(self.log_cut) + abs(log_peak))
        line = Line(
            self.c,
            self.far,
            epsilon,
            log_decay,
            log_mass=self.log_mass,
            spread=self.lists.spread,
            missing=self.missing,
        )
        return LineSum(line, blocks, transform.log_mgf, transform)


def make_side(
    frame: Frame, start: float, log_mass: float, *, right: bool, refine: float = 1.0
) -> Side:
    """Place the nodes of one side.

    Args:
        frame: the cut composition.
        start: abscissa from the tables.
        log_mass: upper bound on the log mass of the side's measure.
        right: which side.
        refine: divides the step; any value gives a valid line (tests compare two).

    Raises:
        NotCertifiedError: no step, or too many nodes.
    """
    c, gap, c_far = _abscissas(frame, start, log_mass, right=right)
    lists = frame.parts.lists
    c, step = few_bits(c), lists.fitted(few_bits(2.0 * math.pi / gap / refine))
    lists.check(c)
    c_far = few_bits(c_far)
    here = Reals.of(frame, c, right=right)
    log_far = Reals.of(frame, c_far, right=right).log_f
    decay = _Decay(frame, here, c, right=right)
    target = frame.log_target - float(frame.shifts(np.array([c]), right=right)[0])
    cut = decay.first(target)
    nodes = max(2, math.ceil(cut / step - 0.5))
    top = max(each.top_loss for each, _ in frame.cuts)
    most = APART if all(each.law.lines for each, _ in frame.cuts) else math.inf
    # Losses below 0 are as long as that of an outcome that only R has.
    floor = max(-math.log1p(-each.law.rate) for each, _ in frame.cuts)
    phase = PER_RADIAN * (nodes + 0.5) * step
    terms = min(phase * top, most) + min(phase * floor, most) + BESIDE
    wanted = nodes
    nodes = min(nodes, MAX_NODES, int(MAX_WORK / (terms * len(frame.cuts))))
    over = OVER
    while True:
        if wanted > over * nodes:
            # Other lines may still fit, if nothing is spent on this one.
            raise NotCertifiedError(f"the split needs {wanted} nodes of {terms:.0f} terms")
        reach = (nodes + 0.5) * step
        laws = frame.laws(c, reach, right=right)
        units = nodes * (1.0 + PER_TERM * laws.size)
        rough = frame.relative >= ROUGH
        payable = PATIENCE * left() / IN_ALL * (ROUGH_PART if rough else 1.0)
        if units <= payable:
            break
        nodes, over = int(FEWER * nodes * payable / units), OVER if rough else OVER_PAID
    log_cut = decay.beyond(reach)
    charge(units)
    far = c_far, log_far
    # Of the left side errors are those of what is beyond the cuts (`tail_split.py`).
    missing = lists.missing(laws.others) if right else 0.0
    return Side(
        right,
        frame.alone,
        frame.epsilon,
        c,
        step,
        nodes,
        far,
        log_cut,
        log_mass,
        laws,
        lists,
        missing,
    )


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

    Laws in closed form are asked at few of them: the bounds of some take many steps.
    """

    def __init__(self, frame: Frame, here: Reals, c: float, *, right: bool) -> None:
        """Bound what is cut on all of the grid."""
        scale = max(1.0 / math.sqrt(max(frame.parts.variance, 1e-300)), LEAST_END * c)
        self._ts = ts = 0.3 * scale * RATIO ** np.arange(math.ceil(math.log(3e8) / math.log(RATIO)))
        near = np.full(len(ts), here.log_others)
        rest = np.zeros(len(ts))
        for index, (cut, (_, n)) in enumerate(zip(frame.at(c), frame.cuts, strict=True)):
            exponent = float(frame.exponents(np.array([c]), right=right)[0])
            shifted = n <= SHIFTED_UP_TO
            log_sigma = log_suprema(cut.part, exponent, here.near[index], ts, shifted=shifted)
            log_near = log_sigma + math.log(here.near[index][1]) + cut.log_scale
            near = near + n * log_near
            if not cut.alone:
                cells = VariationCells.of(cut.between(cut.top, cut.far), exponent)
                log_far = np.log(np.minimum(here.far[index], cells.variation() / ts))
                rest = rest + n * np.logaddexp(0.0, log_far - log_near)
        self._logs, self._sizes = near, np.abs(near)
        if not frame.alone:
            with np.errstate(divide="ignore"):
                log_rest = np.where(rest > 30.0, rest, np.log(np.expm1(np.minimum(rest, 30.0))))
            self._logs, self._sizes = near + log_rest, np.abs(near) + np.abs(log_rest)
        contours = ((law.on_contour(c, 0.0, 0.0), n) for law, n in frame.parts.whole(right=right))
        self._closed = [(contour, n) for contour, n in contours if contour.size == 1]

    def first(self, target: float) -> float:
        """Return about the first t of the grid with log |F| - log(pi t) at most a target beyond.

        Raises:
            NotCertifiedError: there is none.
        """
        low, high = -1, len(self._ts) - 1
        if not self._at(high) - math.log(math.pi * self._ts[high]) <= target:
            raise NotCertifiedError("the characteristic function decays too slowly for the split")
        while high - low > 1:
            middle = (low + high) // 2
            enough = self._at(middle) - math.log(math.pi * self._ts[middle]) <= target
            low, high = (low, middle) if enough else (middle, high)
        return float(self._ts[high])

    def beyond(self, t: float) -> float:
        """Return a bound on log |F| beyond t.

        Raises:
            NotCertifiedError: t is left of the grid.
        """
        index = int(np.searchsorted(self._ts, t, side="right")) - 1
        if index < 0:
            raise NotCertifiedError("the split ends where nothing is known of its decay")
        return self._at(index)

    def _at(self, index: int) -> float:
        value, size = float(self._logs[index]), float(self._sizes[index])
        for contour, n in self._closed:
            supremum = max(contour.modulus_supremum(float(self._ts[index])), 5e-324)
            value, size = value + n * math.log(supremum), size - n * math.log(supremum)
        return value + 1e-9 * (1.0 + size)


def _abscissas(
    frame: Frame, start: float, log_mass: float, *, right: bool
) -> tuple[float, float, float]:
    """Return c, 2 pi / h and c' for a long step near the saddle."""
    for _ in range(MOVES):
        grid = start * GRID
        sizes = frame.rough(grid, right=right) + frame.shifts(grid, right=right)
        peak = sizes - np.log(grid * (1.0 + grid))
        saddle = int(peak[:START].argmin())
        # The tables' cut is off by half a cell, which moves saddle points of large order.
        if 0 < saddle < START - 1:
            break
        start *= 0.25 if saddle == 0 else 2.0
    if not math.isfinite(peak[saddle]):
        raise NotCertifiedError("no abscissa for the split")
    target = frame.log_target - math.log(2.0)
    mass = log_mass + (0.0 if right else frame.epsilon)
    best: tuple[float, float, float] | None = None
    for i in range(max(0, saddle - BACK), saddle + 1):
        if peak[i] > peak[saddle] + HIGHER:
            continue
        c, later = float(grid[i]), grid[i + 1 :]
        gap = max(mass - target, LONGEST_GAP) / c
        chernoff = sizes[i + 1 :] - later * np.log1p(1.0 / later) - np.log1p(later)
        for _ in range(GAP_TRIALS):
            rate = gap * (later - c)
            values = chernoff - rate - np.log(-np.expm1(-rate))
            if values.min() <= target:
                break
            gap *= GAP_RATIO
        else:
            continue
        if best is None or gap < best[1]:
            best = c, gap, float(later[values.argmin()])
    if best is None:
        raise NotCertifiedError("no step of the split's contour keeps the aliasing error small")
    return best
