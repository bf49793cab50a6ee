"""The largest mu of one direction, over all epsilons: a few values of delta at the right places."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from privcalc.bounds import Proof
from privcalc.engine.arbiter import certified_delta
from privcalc.engine.many import ManyDeltas
from privcalc.errors import NotCertifiedError
from privcalc.numerics.normal import least_mu
from privcalc.numerics.work import charge
from privcalc.numerics.work import left as left_over
from privcalc.record import field, mutable
from privcalc.tradeoff.mu.caps import LargeEpsilons
from privcalc.tradeoff.mu.tangent_polygon import Corner, corners

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.engine.terms import Realized

# At most so many values of delta in each direction, so many at once.
MOST_DELTAS, MOST_FINE, AT_ONCE = 600, 400, 32
# Work for each corner of a polygon.
PER_CORNER = 20.0
# The same where this engine is the one that has them, the second number for narrow ones.
SLOW, MOST_SLOW, FEW_SLOW, FEW = "fft", 64, 16, 2
# How often the epsilons around the best are halved where there is no use in upper ends.
HALVED = 8
# Where tests are first made, as parts of the range of epsilon, and at powers of 2 below.
HALVINGS = 10
# Where the bound beyond may begin, in deviations of the unbounded part.
FAR_STEPS = (0.0, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0)
# A new epsilon nearer to an end than this part of the interval gives way to the middle; shorter
# intervals are not divided.
EDGE, NARROW = 0.2, 1e-9
# Upper ends of delta have to differ by so many widths of their brackets.
NOISE = 16.0
# Narrower brackets are given up where more than this part of the width is left.
VAIN = 0.5
# Smaller deltas are not looked at.
SMALLEST_DELTA = 1e-290


@mutable
class MuSearch:
    """The search for the largest mu of one direction.

    Attributes:
        part: what proves its ends.
        tolerance: relative width wished for of deltas.
        engine: which engine is asked.
        end: the epsilon from which on `beyond` is the bound.
        deltas: the brackets found.
        values: a lower bound on mu at each epsilon, or about mu where there is none.
        tops: a mu that is enough at each epsilon.
        slow: whether what was asked last took the slow engine.
        served: what proved most of it.
        failed: epsilons at which nothing could be proved.
    """

    part: Realized
    tolerance: float
    engine: str
    end: float = 0.0
    deltas: dict[float, Bound] = field(factory=dict)
    values: dict[float, float] = field(factory=dict)
    tops: dict[float, float] = field(factory=dict)
    slow: bool = False
    served: Proof = Proof.CLOSED_FORM
    failed: set[float] = field(factory=set)

    def __post_init__(self) -> None:
        """Split the composition, and prepare for many deltas."""
        self.far = LargeEpsilons.of(self.part.upper)
        self._many = ManyDeltas(self.part.upper, self.tolerance, engine=self.engine)
        self._fine: ManyDeltas | None = None
        self._coarse: set[float] = set()

    def start(self) -> None:
        """Evaluate delta at 0 and at epsilons of all sizes."""
        self.end = self.part.upper.max_loss().upper
        reach = self.end
        if math.isinf(reach):
            mu = self.far.mu if math.isfinite(self.far.mu) else 1.0
            reach = self.far.rest + mu * (8.0 + 0.5 * mu)
        self._ask([0.0, *(reach * 2.0**-k for k in range(1, HALVINGS))])

    def close(self, best: float, tolerance: float) -> None:
        """Choose the epsilon from which on there is a bound: as small as may be."""
        if math.isfinite(self.end) or math.isinf(self.far.mu):
            return
        wanted = max(best, self.best) * (1.0 + 0.5 * tolerance)
        for step in FAR_STEPS:
            self.end = self.far.epsilon(self.far.start + step)
            if self.far.needed(self.end) <= wanted:
                break
        self._ask([self.end])

    @property
    def best(self) -> float:
        """Return the largest value found so far."""
        return max(self.values.values(), default=0.0)

    @property
    def place(self) -> float:
        """Return where that is."""
        return max(self.values, key=lambda epsilon: self.values[epsilon], default=math.inf)

    @property
    def upper(self) -> float:
        """Return a mu that is enough: from each known epsilon to the next, and beyond the last."""
        if 0.0 not in self.deltas or not math.isfinite(self.end):
            return math.inf
        largest = max((corner.mu for corner in self._corners()), default=0.0)
        if self.far.mu == 0.0:
            return largest
        last = max(epsilon for epsilon in self.deltas if epsilon <= self.end)
        return max(largest, self.far.needed(last))

    def refine(self, floor: float, cap: float, tolerance: float) -> None:
        """Add epsilons where corners need more than the best value."""
        budget = MOST_DELTAS if self._fine is None else MOST_FINE
        # Whether narrower brackets help, and what they cost, a few tell.
        at_once = AT_ONCE if self._fine is None else FEW
        while budget > 0 and left_over() > 0.0:
            # No polygon is below the upper ends of delta, nor the corners that stay as they are.
            tops = [top for epsilon, top in self.tops.items() if epsilon not in self._coarse]
            every = self._corners()
            charge(PER_CORNER * len(every))
            stay = [each.mu for each in every if not self._divisible(each)]
            least = max(floor, self.best, *tops, *stay, 0.0)
            # What is above all values found owing to noise may be as much again.
            wanted = least * (1.0 + 0.5 * tolerance) + (least - max(floor, self.best))
            if wanted >= cap:
                self.approach()
                return
            high = [each for each in every if each.mu > wanted and self._divisible(each)]
            if not high:
                return
            high.sort(key=lambda corner: -corner.mu)
            new = [epsilon for corner in high[:at_once] for epsilon in self._next(corner)]
            new = list(dict.fromkeys(new))[: min(2 * at_once, budget)]
            budget -= len(new)
            left = self._ask(new)
            if self.slow and self._fine is not None and left > VAIN:
                return
            if self.slow:
                budget = min(budget, MOST_SLOW if self._fine is None else FEW_SLOW)
            at_once = AT_ONCE if budget > FEW_SLOW else FEW

    def sharpen(self, tolerance: float) -> None:
        """Ask for narrower deltas from now on."""
        self._fine = ManyDeltas(self.part.upper, tolerance, engine=self.engine)
        self._coarse = set(self.deltas)

    def _next(self, corner: Corner) -> list[float]:
        """Return what may cut off a corner: its lines, narrower, or a new one in between."""
        again = [e for e in (corner.left, corner.right) if e in self._coarse]
        return again or [self._between(corner)]

    def approach(self) -> None:
        """Look for larger values around the best."""
        for _ in range(HALVED if self.values else 0):
            if left_over() <= 0.0:
                return
            places = sorted(self.values)
            place = places.index(self.place)
            near = places[max(0, place - 1) : place + 2]
            self._ask([0.5 * (a + b) for a, b in pairwise(near)])

    def proved(self) -> tuple[float, float]:
        """Return the largest proved lower end, and its epsilon."""
        if self.part.lower is None or not self.values:
            return 0.0, math.inf
        if self.part.lower is self.part.upper:
            return self.best, self.place
        epsilon = self.place
        try:
            found = certified_delta(self.part.lower, epsilon, self.tolerance, engine=self.engine)
        except NotCertifiedError:
            return 0.0, math.inf
        return least_mu(epsilon, found.bound.lower or 0.0, above=False), epsilon

    def _corners(self) -> list[Corner]:
        points = [(e, self.deltas[e].upper) for e in sorted(self.deltas) if e <= self.end]
        # At the largest loss delta is 0.
        if self.far.mu == 0.0 and (not points or points[-1][0] < self.end):
            points.append((self.end, 0.0))
        return corners(points)

    def _divisible(self, corner: Corner) -> bool:
        """Say whether a corner may be cut off by another line, in spite of noise."""
        left, right = self.deltas[corner.left], self.deltas.get(corner.right)
        if left.upper < SMALLEST_DELTA:
            return False
        if corner.left in self._coarse or corner.right in self._coarse:
            return True
        if corner.right - corner.left <= NARROW * corner.right:
            return False
        if self._between(corner) in self.failed:
            return False
        drop = left.upper - (right.upper if right is not None else 0.0)
        width = 0.0 if left.lower is None else left.width
        return drop > NOISE * width

    @staticmethod
    def _between(corner: Corner) -> float:
        """Return an epsilon between those of the two lines, and not too near to either."""
        gap = corner.right - corner.left
        inside = EDGE * gap <= corner.tangent - corner.left <= (1.0 - EDGE) * gap
        return corner.tangent if inside else corner.left + 0.5 * gap

    def _ask(self, epsilons: list[float]) -> float:
        """Bracket deltas, one by one if not all of them can be.

        Returns:
            The median of what is left of the widths of brackets that were known; 0 if there are
            none.
        """
        new = [e for e in epsilons if e not in self.deltas or e in self._coarse]
        try:
            answers = (self._fine or self._many).brackets(new)
        except NotCertifiedError:
            if len(new) > 1:
                for epsilon in new:
                    self._ask([epsilon])
            else:
                self.failed.update(new)
                self._coarse.difference_update(new)
            return 0.0
        proofs = [each.proof for each in answers]
        self.slow = 2 * sum(proof.engine == SLOW for proof in proofs) > len(proofs)
        if proofs:
            self.served = max(proofs, key=proofs.count)
        left = sorted(self._keep(e, each.bound) for e, each in zip(new, answers, strict=True))
        return left[len(left) // 2] if left else 0.0

    def _keep(self, epsilon: float, bound: Bound) -> float:
        """Keep a bracket, and return the part of the width that is left."""
        before, part = self.deltas.get(epsilon), 0.0
        if before is not None:
            bound = bound.intersection(before)
            part = bound.width / before.width if 0.0 < before.width < math.inf else 0.0
            self._coarse.discard(epsilon)
        self.deltas[epsilon] = bound
        if bound.upper < SMALLEST_DELTA:
            return part
        self.tops[epsilon] = top = least_mu(epsilon, bound.upper)
        if self.part.lower is not self.part.upper:
            # Where to ask what proves lower ends, if anything does.
            if math.isfinite(top):
                self.values[epsilon] = top
        elif bound.lower is not None:
            self.values[epsilon] = least_mu(epsilon, bound.lower, above=False)
        return part
