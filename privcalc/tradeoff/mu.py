"""mu of Gaussian differential privacy: at one epsilon, and the smallest one for all of them.

A mechanism is mu-GDP where its profile is below that of N(mu, 1) against N(0, 1) at every real
epsilon, in every direction (Dong, Roth, Su 2022). Negative epsilons of one direction are positive
ones of the other, for the mechanism as for the normal laws, whose directions are the same.

The upper end of one direction follows from finitely many points of its profile. delta is convex in
a = e^epsilon, so that between a1 and a2 it is below its chord

    t - a f,        f = (d1 - d2) / (a2 - a1),        t = d1 + (d1 - d2) / (a2 / a1 - 1).

delta_mu(a) is the largest P(A) - a Q(A) of all tests A between N(mu, 1) and N(0, 1), of which one
has Q(A) = f and P(A) = Phi(Phi^-1(f) + mu). So delta <= delta_mu between a1 and a2 if mu is at
least Phi^-1(t) - Phi^-1(f). This is what (f, t) needs, the corner in which the lines
P(A) = d + a Q(A) of the two points meet, below which all tests of the mechanism lie. Beyond the
last point `LargeEpsilons` bounds it. The points are where the bound is largest.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Proof
from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta
from privcalc.engine.profile import PrivacyProfile
from privcalc.errors import DomainError, NotCertifiedError
from privcalc.numerics.normal import least_mu, log_tail_below, tail_quantile
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge
from privcalc.numerics.work import left as left_over
from privcalc.record import field, mutable, record
from privcalc.renyi.concentrated import normal_mu

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.engine.terms import Realized


@record
class LargeEpsilons:
    """What is known of tests at large epsilon.

    Let the unbounded laws be mu-GDP together, and the losses of the others add up to at most M.
    Then delta(epsilon) is at most that of N(mu, 1) at epsilon - M, which is t - e^epsilon f for

        t = P(N > x - mu),    f = e^-M P(N > x),    epsilon = M + mu x - mu^2 / 2.

    What (f, t) needs is enough at this epsilon: mu + z - x,
    with P(N > z) = f. It falls as x grows: dz/dx = h(x) / h(z) <= 1 with the hazard h of the normal
    law, which increases, as z >= x.

    Attributes:
        mu: of the unbounded laws; 0 if there are none, infinity if it is not known.
        rest: M.
    """

    mu: float
    rest: float

    @classmethod
    def of(cls, composition: Composition) -> LargeEpsilons:
        """Split a composition."""
        unbounded = [
            (law, n)
            for law, n in composition
            if law.max_loss == math.inf or law.infinity_mass > 0.0
        ]
        bounded = [each for each in composition if each not in unbounded]
        rest = Composition(tuple(bounded), composition.curves).max_loss().upper
        return cls(Composition(tuple(unbounded)).gaussian_range[1], max(0.0, rest))

    @property
    def start(self) -> float:
        """Return the least x, where epsilon is at least 0."""
        return max(0.0, 0.5 * self.mu - self.rest / self.mu)

    def epsilon(self, x: float) -> float:
        """Return the epsilon of x."""
        if self.mu == 0.0:
            return self.rest
        return max(0.0, self.rest + self.mu * (x - 0.5 * self.mu))

    def needed(self, epsilon: float) -> float:
        """Return a mu that is enough at all epsilons from this one on."""
        if self.mu == 0.0:
            return 0.0 if epsilon >= self.rest else math.inf
        if math.isinf(self.mu):
            return math.inf
        x = (epsilon - self.rest) / self.mu + 0.5 * self.mu
        x -= 8.0 * UNIT * ((epsilon + self.rest) / self.mu + self.mu)
        if x < 0.0:
            return math.inf
        log_f = (log_tail_below(x) - self.rest) * (1.0 + 4.0 * UNIT)
        return (self.mu + max(0.0, tail_quantile(log_f)[1] - x)) * (1.0 + 8.0 * UNIT)


# P(A) is not taken to be smaller.
SMALLEST = 1e-300


@record
class Corner:
    """Where two lines meet.

    Attributes:
        left: the smaller epsilon of the two.
        right: the larger one.
        mu: what the corner needs, rounded up; infinity where that is not known.
        tangent: about the epsilon of the line that touches the Gaussian curve in the corner.
    """

    left: float
    right: float
    mu: float
    tangent: float


def corners(points: list[tuple[float, float]]) -> list[Corner]:
    """Return the corners of the polygon below the lines.

    A line that nowhere is the lowest is skipped, on grounds of rounded comparisons: the lines that
    stay are as valid without it.

    Args:
        points: pairs (epsilon, upper bound on delta), increasing in epsilon.
    """
    kept: list[tuple[float, float]] = []
    for point in points:
        while len(kept) > 1 and _log_f(kept[-1], point) >= _log_f(kept[-2], kept[-1]):
            kept.pop()
        kept.append(point)
    return [_corner(first, second) for first, second in pairwise(kept)]


def _log_expm1(x: float) -> float:
    return math.log(math.expm1(x)) if x < 30.0 else x + math.log1p(-math.exp(-x))


def _log_f(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return log f of a corner; -infinity where delta does not fall."""
    drop = first[1] - second[1]
    if drop <= 0.0:
        return -math.inf
    return math.log(drop) - first[0] - _log_expm1(second[0] - first[0])


@lru_cache(maxsize=4096)
def _corner(first: tuple[float, float], second: tuple[float, float]) -> Corner:
    """Return a corner; mu has f rounded down and t up, as the curve increases.

    The drop is a rounded difference; log f is off by 16 units of its terms, t by 20 units of itself
    (where e^gap overflows t is d1).
    """
    (left, d1), (right, d2) = first, second
    gap, log_f = right - left, _log_f(first, second)
    if d1 <= 0.0:
        return Corner(left, right, 0.0, left)
    middle = left + 0.5 * gap
    if log_f == -math.inf:
        return Corner(left, right, math.inf, middle)
    size = 2.0 + abs(math.log(d1 - d2)) + left + abs(_log_expm1(gap)) + abs(log_f)
    log_f -= 16.0 * UNIT * size
    # e^gap - 1 is off by 8 units, and by one of the gap's own rounding, which counts 1 + gap times.
    t = d1 + ((d1 - d2) / math.expm1(gap) * (1.0 + UNIT * gap) if gap < 700.0 else 0.0)
    t *= 1.0 + 20.0 * UNIT
    if t >= 1.0:
        return Corner(left, right, math.inf, middle)
    x = _quantile_above(log_f)
    mu = max(0.0, x - _quantile_below(max(t, SMALLEST))) * (1.0 + 2.0 * UNIT)
    return Corner(left, right, mu, mu * x - 0.5 * mu * mu)


def _quantile_above(log_f: float) -> float:
    """Return an upper bound on the x with P(N > x) = f."""
    if log_f <= -math.log(2.0):
        return tail_quantile(log_f)[1]
    rest = -math.expm1(log_f) * (1.0 - 16.0 * UNIT)
    return -tail_quantile(math.log(rest))[0] if rest > 0.0 else math.inf


def _quantile_below(t: float) -> float:
    """Return a lower bound on the x with P(N > x) = t < 1."""
    if t <= 0.5:
        return tail_quantile(math.log(t) * (1.0 - 8.0 * UNIT))[0]
    # 1 - t is exact.
    return -tail_quantile(math.log1p(-t) * (1.0 + 8.0 * UNIT))[1]


# At most so many values of delta in each direction, and so many corners at once.
MOST_DELTAS, AT_ONCE = 600, 32
# Work for each corner of a polygon.
PER_CORNER = 20.0
# Of upper ends that are as near to the largest as this the first one is asked for a lower end, too.
ALIKE = 1e-3
# Where tests are first made, as parts of the range of epsilon, and at powers of 2 below.
HALVINGS = 10
# Where the bound beyond may begin, in deviations of the unbounded part.
FAR_STEPS = (0.0, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0)
# A new epsilon nearer to an end than this part of the interval gives way to the middle; shorter
# intervals are not divided.
EDGE, NARROW = 0.2, 1e-9
# Upper ends of delta have to differ by so many widths of their brackets.
NOISE = 16.0
# Smaller deltas are not looked at.
SMALLEST_DELTA = 1e-290


@mutable
class MuSearch:
    """The search for the largest mu of one direction.

    Attributes:
        part: what proves its ends.
        tolerance: target relative width of deltas.
        engine: which engine is asked.
        end: the epsilon from which on `beyond` is the bound.
        deltas: the brackets found.
        values: a lower bound on mu at each epsilon, or about mu where there is none.
        tops: a mu that is enough at each epsilon.
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
    served: Proof = Proof.CLOSED_FORM
    failed: set[float] = field(factory=set)

    def __post_init__(self) -> None:
        """Split the composition, and prepare for many deltas."""
        self.far = LargeEpsilons.of(self.part.upper)
        self._many = PrivacyProfile(self.part.upper, self.tolerance, engine=self.engine)

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
    def position(self) -> float:
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
        budget = MOST_DELTAS
        while budget > 0 and left_over() > 0.0:
            # No polygon is below the upper ends of delta, nor the corners that stay as they are.
            every = self._corners()
            charge(PER_CORNER * len(every))
            stay = [each.mu for each in every if not self._divisible(each)]
            least = max(floor, self.best, *self.tops.values(), *stay, 0.0)
            # What is above all values found owing to noise may be as much again.
            wanted = least * (1.0 + 0.5 * tolerance) + (least - max(floor, self.best))
            if wanted >= cap:
                return
            high = [each for each in every if each.mu > wanted and self._divisible(each)]
            if not high:
                # The largest corner may be one of the profile: on a chord it is only near its line.
                best = max(every, key=lambda corner: corner.mu, default=None)
                if best is not None and 0.0 < best.tangent < self.end:
                    self._ask([best.tangent])
                return
            high.sort(key=lambda corner: -corner.mu)
            new = [self._between(corner) for corner in high[: min(AT_ONCE, budget)]]
            budget -= len(new)
            self._ask(new)

    def proved(self) -> tuple[float, float]:
        """Return the largest proved lower end, and its epsilon."""
        if self.part.lower is None or not self.values:
            return 0.0, math.inf
        if self.part.lower is self.part.upper:
            return self.best, self.position
        # Where an upper end is as large at many epsilons, rounding and chords say which is largest.
        first = min(e for e, value in self.values.items() if value >= self.best * (1.0 - ALIKE))
        return max(self._proved_at(epsilon) for epsilon in {first, self.position})

    def _proved_at(self, epsilon: float) -> tuple[float, float]:
        if self.part.lower is None:
            return 0.0, math.inf
        try:
            found = certified_delta(self.part.lower, epsilon, self.tolerance, engine=self.engine)
        except NotCertifiedError:
            return 0.0, math.inf
        return least_mu(epsilon, found.bound.lower or 0.0, above=False), epsilon

    def _corners(self) -> list[Corner]:
        """Return those of all points; of deltas below the least the first, raised, is enough."""
        known = [(e, self.deltas[e].upper) for e in sorted(self.deltas) if e <= self.end]
        small = next((i for i, (_, delta) in enumerate(known) if delta < SMALLEST_DELTA), None)
        points = known
        if small is not None:
            points = [*known[:small], (known[small][0], SMALLEST_DELTA)]
            if self.far.mu > 0.0 and small < len(known) - 1:
                points.append(known[-1])
        # At the largest loss delta is 0.
        if self.far.mu == 0.0 and (not points or points[-1][0] < self.end):
            points.append((self.end, 0.0))
        return corners(points)

    def _divisible(self, corner: Corner) -> bool:
        """Return whether a corner may be cut off by another line, in spite of noise."""
        left, right = self.deltas[corner.left], self.deltas.get(corner.right)
        if left.upper < SMALLEST_DELTA:
            return False
        if corner.right - corner.left <= NARROW * corner.right:
            return False
        if self._between(corner) in self.failed or self._between(corner) in self.deltas:
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

    def _ask(self, epsilons: list[float]) -> None:
        """Bracket deltas, one by one if not all of them can be."""
        new = [e for e in epsilons if e not in self.deltas]
        try:
            answers = self._many.brackets(new)
        except NotCertifiedError:
            if len(new) > 1:
                for epsilon in new:
                    self._ask([epsilon])
            else:
                self.failed.update(new)
            return
        proofs = [each.proof for each in answers]
        if proofs:
            self.served = max(proofs, key=proofs.count)
        for epsilon, each in zip(new, answers, strict=True):
            self._keep(epsilon, each.bound)

    def _keep(self, epsilon: float, bound: Bound) -> None:
        """Keep a bracket."""
        self.deltas[epsilon] = bound
        if bound.upper < SMALLEST_DELTA:
            return
        self.tops[epsilon] = top = least_mu(epsilon, bound.upper)
        if self.part.lower is not self.part.upper:
            # Where to ask what proves lower ends, if anything does.
            if math.isfinite(top):
                self.values[epsilon] = top
        elif bound.lower is not None:
            self.values[epsilon] = least_mu(epsilon, bound.lower, above=False)


# The least relative width of deltas that is asked for.
FINE = 1e-6
# Floors and caps that agree so well are equal but for rounding.
SAME = 1e-12


@record
class GaussianEquivalent:
    """The smallest mu.

    Attributes:
        mu: its bracket; the upper end is infinite where nothing finite is proved, and there is no
            lower end where only bounds on the mechanism are known.
        at_epsilon: where the profile comes nearest to that of the lower end; infinity where it does
            so as epsilon grows.
        proof: what proved most values of the profile that the search looked at last.
    """

    mu: Bound
    at_epsilon: float
    proof: Proof = Proof.CLOSED_FORM


def mu_at(epsilon: float, delta: Bound) -> Bound:
    """Bracket the mu whose Gaussian profile passes through delta at epsilon.

    It grows with delta, so that each end of delta gives one.

    Raises:
        DomainError: epsilon negative or not finite.
    """
    if not 0.0 <= epsilon < math.inf:
        raise DomainError(f"epsilon must be >= 0 and finite, got {epsilon!r}")
    upper = least_mu(epsilon, delta.upper)
    if delta.lower is None:
        return Bound(upper)
    return Bound(upper, min(upper, least_mu(epsilon, delta.lower, above=False)))


def smallest_mu(
    directions: Mapping[str, Realized], tolerance: float, engine: str = "auto"
) -> GaussianEquivalent:
    """Bracket the smallest mu such that the composition is mu-GDP.

    The lower end is that of one epsilon, or of the limit of large ones (`gaussian_range`). For the
    upper one, Gaussian guarantees add up as squares (Dong, Roth, Su 2022, Corollary 3.3); or the
    tests are bounded by finitely many points of the profile, up to the largest loss, or up to where
    `LargeEpsilons` takes over.

    Args:
        directions: compositions of each direction.
        tolerance: target relative width.
        engine: as for `certified_delta`.
    """
    parts = list(directions.values())
    lowers = [part.lower for part in parts if part.lower is not None]
    if any(part.upper.infinite_divergence() for part in parts):
        certain = any((lower.infinity_mass().lower or 0.0) > 0.0 for lower in lowers)
        return GaussianEquivalent(Bound(math.inf, math.inf if certain else None), math.inf)
    if any(part.upper.curves and math.isinf(part.upper.max_loss().upper) for part in parts):
        # Of tests at large epsilon nothing is known, from either side.
        return GaussianEquivalent(Bound(math.inf), math.inf)
    normal = normal_mu(parts)
    if normal is not None:
        return GaussianEquivalent(normal, math.inf)
    cap = max(part.upper.gaussian_range[1] for part in parts)
    floor = max((lower.gaussian_range[0] for lower in lowers), default=0.0)
    if floor >= cap * (1.0 - SAME):
        return GaussianEquivalent(Bound(cap, min(floor, cap)), math.inf)
    searches = [MuSearch(part, max(tolerance, FINE), engine) for part in parts]
    _find(searches, floor, cap, tolerance)
    upper = min(cap, max(search.upper for search in searches))
    if not lowers:
        worst = max(searches, key=lambda each: each.best)
        return GaussianEquivalent(Bound(upper), worst.position, worst.served)
    proved = [(floor, math.inf), *(search.proved() for search in searches)]
    lower, at = max(proved, key=lambda each: each[0])
    return GaussianEquivalent(Bound(upper, lower), at, searches[-1].served)


def _find(searches: list[MuSearch], floor: float, cap: float, tolerance: float) -> None:
    """Search one direction after the other, each no further than where another is worse."""
    for search in searches:
        search.start()
    best = max(floor, *(search.best for search in searches))
    for search in searches:
        search.close(best, tolerance)
    for search in sorted(searches, key=lambda each: -each.best):
        if math.isinf(search.far.mu):
            continue
        search.refine(best, cap, tolerance)
        best = max(best, search.best)
