"""delta of few rare samples far beyond what they usually lose: one of the losses is large.

For independent pairs (P_i, Q_i) with finite losses L_i, U_i = e^{L_i} and E = e^epsilon,

    delta(epsilon) = E_Q[(prod U_i - E)_+].

Let two levels be b < l < epsilon. Where no loss is above l, Chernoff's bound is what the sum has
beyond epsilon. Where L_i > l, the others have the product V, and together that is

    F_i(V) = V H_i(E / V),    H_i(a) = E_{Q_i}[(U_i - a)_+],

as long as E / V > e^l: the profile of one use, a little off, as V is about 1. So

    sum_i E[F_i(V); |L_j| <= b for j != i] <= delta
        <= N + sum_i (E[F_i(V); the same] prod_j (1 + Q(L_j < -b) / Q(|L_j| <= b)) + T_i).

Below, these events exclude each other where V < E e^-b. Above, the sum counts the sets where some
L_i > l once at least. F increases, so that a loss L_j below -b has E[F(v U_j); L_j < -b] of at most
Q(L_j < -b) F(v e^-b), and E[F(v U_j); |L_j| <= b] is Q(|L_j| <= b) F(v e^-b) at least: their
quotient is what a use adds to its factor. T_i is for another loss L_j > b: on a cell (x, x'] of it
E[(V U_i - E)_+; L_i > l] is at most what it is at V = e^x' (1 + s), where the rest of V is at most
1 + s, and that is F_i, or V P(L_i > l) - E Q(L_i > l) if E / V < e^l; where the rest is more, or a
third loss is above b, or L_j > epsilon, the P-mass is enough.

F is convex, and is compared with a polynomial in D = V - 1,

    F(1) + F'(1) D + c_2 D^2 + ... + c_{n-1} D^{n-1} + R,    F'(1) = P(L_i > epsilon),
    |R| <= C_0 + C_n D^n    for |D| <= s, n = 2, 4 or 6:

for any c_k, R is bounded on cells, on which F lies between its values at the ends and their chord,
and above the chords of the neighbouring cells, prolonged. Beyond, |D|^k <= D^p / s^{p-k} for even
p >= n; F is at most F(1) for D < -s, and for D > s Chernoff's bound on V is left, times P(L_i > l).
The moments of D are those of e^L - 1 in cells, multiplied out: with D = D_A + D_B + D_A D_B, D^k is
a sum of products of powers of both up to the k-th.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.inversion.certificate import log_payoff_supremum
from privcalc.engine.single import SingleUse
from privcalc.engine.source import Deltas
from privcalc.errors import DisagreementError, NotCertifiedError
from privcalc.exact import LARGEST
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.losses.law import LossLaw, Tails
    from privcalc.numerics.arrays import Array

# More uses, or expected large losses, are for contours and lattices, from which this took all work.
MOST_USES, MOST_EXPECTED = 100_000, 0.25
# Losses of a table, on either side; from so small a part of the usual size on.
LOSSES, USUAL, SMALLEST = 2000, 0.3, 1e-3
# Levels that are tried, as parts of epsilon.
LARGE = np.array([0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.93])
# Ends of cells of a second loss; every third is a level for all others.
SECOND = np.geomspace(3e-4, 1.0, 49)
SMALL = slice(0, 46, 3)
# Orders of Chernoff's bounds, times the level.
ORDERS = np.geomspace(1.0, 680.0, 40)
# Cells near 0, in steps of F's logarithm, grow from this on.
NEAREST = 2e-4
# Deviations of the sum from which on this is asked first.
FAR = 40.0
# Brackets that are as narrow as this will do; cells of Chernoff's bounds are so many together.
ENOUGH, MERGED = 2e-7, 4
# Work for a level: its Chernoff bounds; and for a value of a profile.
PER_LEVEL, PER_VALUE = 4e4, 600.0
POWERS = 7
# Ends of the same number cross by less.
CROSSING = 1.0 + 1e-9
# Beyond, exponentials leave the range of doubles.
FARTHEST = 700.0


@record
class _Degree:
    """How D is compared with a polynomial.

    Attributes:
        reach: up to so many steps of F's logarithm.
        last: the power that bounds what is off.
        clean: a part of F that may be off besides.
        ratio: of neighbouring ends of cells.
    """

    reach: float
    last: int
    clean: float
    ratio: float


# A cubic where V hardly moves F; more where it does, on more cells as what is left is smaller; a
# line for losses that are atoms, between which F has no curvature; and for epsilons next to one the
# number F(1), which F is at most at 1 + s and at least at 1 - s.
DEGREES = (
    _Degree(0.7, 4, 3e-8, 1.035),
    _Degree(3.0, 6, 3e-7, 1.012),
    _Degree(1.0, 2, 1e-7, 1.1),
    _Degree(4.0, 2, 1e-7, 1.1),
    _Degree(0.01, 0, 0.0, 0.0),
    _Degree(0.1, 0, 0.0, 0.0),
    _Degree(0.5, 0, 0.0, 0.0),
)


def one_large_loss(composition: Composition) -> OneLargeLoss | None:
    """Return the source for rare samples; None where losses are infinite, or not rare ones."""
    if composition.curves or not composition.terms:
        return None
    laws = composition.terms
    if not 2 <= sum(count for _, count in laws) <= MOST_USES:
        return None
    if not math.fsum(count * law.large_loss_rate for law, count in laws) <= MOST_EXPECTED:
        return None
    if any(law.infinity_mass or law.lower_infinity_mass for law, _ in laws):
        return None
    return OneLargeLoss(laws)


class OneLargeLoss:
    """A source: as many large losses as one."""

    proof: ClassVar[Proof] = Proof.LARGE_LOSS
    # Nothing here depends on the tolerance.
    pad: ClassVar[float] = 0.0

    def __init__(self, laws: tuple[tuple[LossLaw, int], ...]) -> None:
        """Take the laws with their counts."""
        self._laws = laws

    @np.errstate(all="ignore")
    def is_far(self, epsilon: float) -> bool:
        """Say whether epsilon is far beyond the deviation of the sum; a choice, no proof."""
        order = np.ones(1)
        total = math.fsum(
            count * math.expm1(min(float(law.renyi(order)[1][0]), 1.0)) for law, count in self._laws
        )
        return epsilon > FAR * math.sqrt(total)

    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket delta at increasing epsilons, in absolute units; see above."""
        del log_scale
        found = [self._bracket(float(epsilon)) for epsilon in epsilons]
        lower, upper = np.array(found).reshape(-1, 2).T
        zero = np.zeros(len(epsilons))
        return Deltas(zero, lower, upper, 0.5 * (lower + upper), {})

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound, of one large loss."""
        value, mass = np.zeros(len(epsilons)), np.zeros(len(epsilons))
        for law, count in self._laws:
            one, more = SingleUse(law).estimates(epsilons, log_scale)
            value, mass = value + count * one, mass + count * more
        return value, mass

    @np.errstate(all="ignore")
    def _bracket(self, epsilon: float) -> tuple[float, float]:
        """Bracket delta at one epsilon; (0, infinity) where nothing is proved."""
        if not 0.0 < epsilon < FARTHEST:
            return 0.0, math.inf
        try:
            uses = [_Use(law, count, epsilon) for law, count in self._laws]
            lower, upper = _bracket(uses, epsilon)
        except NotCertifiedError:
            return 0.0, math.inf
        if lower > upper * CROSSING:
            raise DisagreementError(f"one large loss proves at least {lower!r}, at most {upper!r}")
        return min(lower, upper), upper


class _Use:
    """One law: its losses in cells, and F about 1.

    Attributes:
        count: how often it is used.
        mass: bounds on F(1).
        slope: bounds on F'(1).
    """

    def __init__(self, law: LossLaw, count: int, epsilon: float) -> None:
        """Tabulate tails and cells."""
        self.count, self._law, self._epsilon = count, law, epsilon
        self._losses = self._grid(epsilon)
        charge(10.0 * len(self._losses))
        tails = law.tails(self._losses)
        self._tails, self._error = (
            tails,
            np.broadcast_to(np.asarray(tails.error), tails.above_p.shape),
        )
        p, q = _cells(tails, self._error)
        # Losses are displaced by at most so much.
        low, high = self._losses[:-1] - tails.shift, self._losses[1:] + tails.shift
        self.low, self.high, self._p, self._q = low, high, p, q
        y = np.expm1(np.array([low, high]))
        self._powers = []
        for power in range(2, POWERS):
            ends = y**power
            crossing = (y[0] < 0.0) & (y[1] > 0.0)
            least = np.where(crossing & (power % 2 == 0), 0.0, ends.min(axis=0))
            self._powers.append(
                (
                    np.where(least > 0.0, q[0], q[1]) * least,
                    np.where(ends.max(axis=0) > 0.0, q[1], q[0]) * ends.max(axis=0),
                )
            )
        self._square = self._second_moment()
        lower, upper = self.values(np.zeros(1))
        self.mass = float(lower[0]), float(upper[0])
        self.slope = self.above(epsilon)

    def _second_moment(self) -> tuple[float, float]:
        """Bound E_Q[y^2], y = e^L - 1, which is M(1) - 1, where that is known."""
        try:
            low, high = self._law.log_excess(1.0)
        except NotCertifiedError:
            return 0.0, math.inf
        # Beyond doubles it is infinite, which bounds nothing.
        least, most = np.exp([low, high]).tolist()
        return min(least, LARGEST) * (1.0 - 1e-13), most * (1.0 + 1e-13)

    def _grid(self, epsilon: float) -> Array:
        """Return losses on both sides of 0, denser than what most of them are, up to epsilon."""
        rough = np.geomspace(epsilon * 1e-14, epsilon, 200)
        tails = self._law.tails(np.concatenate([-rough[::-1], rough]))
        inside = 1.0 - tails.above_q[200:] - tails.below_q[:200][::-1]
        usual = float(rough[int(np.argmax(inside > USUAL))]) if (inside > USUAL).any() else epsilon
        positive = np.geomspace(min(SMALLEST * usual, 0.1 * epsilon), 2.0 * epsilon, LOSSES)
        # Levels are among them: what is above one and what is not are divided at the same place.
        positive = np.union1d(positive, epsilon * SECOND)
        return np.concatenate([-positive[::-1], positive])

    def values(self, log_v: Array) -> tuple[Array, Array]:
        """Bound F at increasing log V, of V > e^{level - epsilon}."""
        charge(PER_VALUE * len(log_v))
        found = SingleUse(self._law).deltas(self._epsilon - log_v[::-1])
        v = np.exp(log_v)
        # Callers see to the rounding of the difference, which F may be steep in.
        return found.lower[::-1] * v * (1.0 - 8.0 * UNIT), found.upper[::-1] * v * (
            1.0 + 8.0 * UNIT
        )

    def above(self, level: float) -> tuple[float, float]:
        """Bound P(L > level)."""
        moved = 2.0 * UNIT * level + 4.0 * self._tails.shift
        tails = self._law.tails(np.array([level - moved, level, level + moved]))
        error = np.broadcast_to(np.asarray(tails.error), (3,))
        least, most = tails.above_p[2] * (1.0 - error[2]), tails.above_p[0] * (1.0 + error[0])
        return float(least), float(most)

    def product(self, level: float, v: Array) -> Array:
        """Return upper bounds on V P(L > level) - E Q(L > level)."""
        moved = 2.0 * UNIT * level + 4.0 * self._tails.shift
        tails = self._law.tails(np.array([level - moved, level, level + moved]))
        error = np.broadcast_to(np.asarray(tails.error), (3,))
        p = float(tails.above_p[0] * (1.0 + error[0])) * (1.0 + 8.0 * UNIT)
        q = float(tails.above_q[2] * (1.0 - error[2])) * (1.0 - 8.0 * UNIT)
        return v * p - math.exp(self._epsilon) * q

    def masses(self, ends: Array) -> Array:
        """Return upper bounds on the Q-masses between neighbouring levels."""
        places = np.searchsorted(self._losses, ends)
        above, below, error = (
            each[places] for each in (self._tails.above_q, self._tails.below_q, self._error)
        )
        return _between(above, below, error)[1]

    def far_below(self, level: float) -> float:
        """Return an upper bound on Q(L < -level)."""
        place = max(int(np.searchsorted(self._losses, -level, side="right")), 1)
        return float(self._tails.below_q[place] * (1.0 + self._error[place]))

    def moments(self, level: float) -> tuple[Array, Array]:
        """Return centres and radii of E_Q[(e^L - 1)^k; |L| <= level'], k < 5, level' about level.

        Of k = 1 it is P less Q of what is left out, as both add up to 1.
        """
        first = int(np.searchsorted(self._losses, -level))
        last = int(np.searchsorted(self._losses, level, side="right")) - 1
        t, e = self._tails, self._error
        out_q = t.below_q[first] + t.above_q[last]
        out_p = t.below_p[first] + t.above_p[last]
        wrong_q = t.below_q[first] * e[first] + t.above_q[last] * e[last]
        wrong_p = t.below_p[first] * e[first] + t.above_p[last] * e[last]
        centres = [1.0 - out_q, -(out_p - out_q)]
        radii = [wrong_q + 4.0 * UNIT, (wrong_p + wrong_q) + 4.0 * UNIT * (out_p + out_q)]
        for power, (low, high) in enumerate(self._powers):
            least, most = (float(each[first:last].sum()) for each in (low, high))
            if power == 0:
                # Of losses below -b there are hardly any.
                beyond = self._law.square_beyond(float(self._losses[last]))
                beyond += self.far_below(float(-self._losses[first]))
                least, most = max(least, self._square[0] - beyond), min(most, self._square[1])
            centres.append(0.5 * (least + most))
            radii.append(0.5 * (most - least) + UNIT * LOSSES * (abs(least) + abs(most)))
        return np.array(centres), np.array(radii) * MARGIN

    def log_tilted(self, level: float, c: Array, *, both: bool) -> Array:
        """Return upper bounds on log E_P[e^{cL}; L <= level], of |L| <= level if `both`."""
        last = int(np.searchsorted(self._losses, level, side="right"))
        first = int(np.searchsorted(self._losses, -level)) - 1 if both else 0
        first = max(first, 0)
        charge(PER_LEVEL)
        starts = np.arange(first, last, MERGED)
        ends = np.minimum(starts + MERGED, last) - 1
        masses = np.add.reduceat(self._p[1][:last], starts) * MARGIN
        log_p = np.log(np.maximum(masses, 5e-324))
        logs = log_p + c[:, None] * self.high[ends]
        top = logs.max(axis=1)
        total = np.exp(logs - top[:, None]).sum(axis=1)
        below = float(self._tails.below_p[0] * (1.0 + self._error[0]))
        under = math.log(below) + c * self._losses[0] if below > 0.0 and not both else -np.inf
        value: Array = np.logaddexp(np.log(total) + top, under)
        return value + UNIT * (8.0 * LOSSES + 8.0 * np.abs(c) * level)


def _cells(tails: Tails, error: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return bounds on the P- and Q-masses of cells, by subtracting whichever tail is smaller."""
    found = []
    for above, below in ((tails.above_p, tails.below_p), (tails.above_q, tails.below_q)):
        found.append(_between(above, below, error))
    return found[0], found[1]


def _between(above: Array, below: Array, error: Array) -> tuple[Array, Array]:
    """Return bounds on the masses between neighbouring places."""
    use = above[:-1] < below[1:]
    mass = np.where(use, above[:-1] - above[1:], below[1:] - below[:-1])
    wrong = np.where(
        use,
        (above * error)[:-1] + (above * error)[1:],
        (below * error)[:-1] + (below * error)[1:],
    )
    wrong = wrong * MARGIN + 4.0 * UNIT * np.abs(mass)
    return np.maximum(mass - wrong, 0.0), mass + wrong


def _together(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the moments of D_A + D_B + D_A D_B: centres and radii."""
    centres, radii = np.zeros(POWERS), np.zeros(POWERS)
    for k in range(POWERS):
        for i in range(k + 1):
            for j in range(k + 1 - i):
                m = k - i - j
                ways = math.comb(k, i) * math.comb(k - i, j)
                (x, dx), (y, dy) = (a[0][i + m], a[1][i + m]), (b[0][j + m], b[1][j + m])
                centres[k] += ways * x * y
                radii[k] += ways * (abs(x) * dy + abs(y) * dx + dx * dy)
                radii[k] += ways * 64.0 * UNIT * abs(x * y)
    return centres, radii


def _power(moments: tuple[Array, Array], count: int) -> tuple[Array, Array]:
    """Return the moments of the product of `count` uses."""
    found: tuple[Array, Array] = np.eye(POWERS)[0], np.zeros(POWERS)
    while count:
        if count & 1:
            found = _together(found, moments)
        count >>= 1
        if count:
            moments = _together(moments, moments)
    return found


@record
class _Level:
    """What does not depend on which use is large, for a level b of all others.

    Attributes:
        level: b.
        above: bound on the sum of P(L_j > b).
        smaller: on the product of 1 + Q(L_j < -b) / Q(|L_j| <= b).
        log_tilted: bounds on log E_P[e^{cS}; |L_j| <= b], for c = ORDERS / b, of all uses, or of
            all but any one or two.
        moments: of each use.
    """

    level: float
    above: float
    smaller: float
    log_tilted: Array
    moments: list[tuple[Array, Array]]

    @classmethod
    def of(cls, uses: list[_Use], level: float) -> _Level:
        orders = ORDERS / level
        each = np.array([use.log_tilted(level, orders, both=True) for use in uses])
        counts = np.array([float(use.count) for use in uses])
        # Where hardly any loss is so small, those that are left out have made the sum less.
        tilted = counts @ each + 2.0 * np.maximum(-each, 0.0).max(axis=0)
        moments = [use.moments(level) for use in uses]
        inside = [float(centres[0] - radii[0]) for centres, radii in moments]
        smaller = math.inf
        if min(inside) > 0.0:
            quotients = (
                use.count * use.far_below(level * 0.98) / mass
                for use, mass in zip(uses, inside, strict=True)
            )
            smaller = exp_bound(math.fsum(quotients) * (1.0 + 8.0 * UNIT))
        above = math.fsum(use.count * use.above(level * 0.98)[1] for use in uses)
        return cls(level, above, smaller, tilted, moments)

    def others(self, uses: list[_Use], which: int) -> tuple[Array, Array]:
        """Return the moments of D for all but one use."""
        found: tuple[Array, Array] = np.eye(POWERS)[0], np.zeros(POWERS)
        for index, (use, moments) in enumerate(zip(uses, self.moments, strict=True)):
            found = _together(found, _power(moments, use.count - (index == which)))
        return found


@record
class _Large:
    """What does not depend on the others, for a level l of the large loss.

    Attributes:
        level: l.
        none: bound on what there is where no loss is above l.
        above: on the sum of P(L_i > l).
        beyond: on the sum of P(L_i > epsilon).
    """

    level: float
    none: float
    above: float
    beyond: float

    @classmethod
    def of(cls, uses: list[_Use], epsilon: float, part: float) -> _Large:
        level = epsilon * part
        orders = ORDERS / level
        logs = np.array([log_payoff_supremum(float(c)) for c in orders]) - orders * epsilon
        for use in uses:
            logs = logs + use.count * use.log_tilted(level, orders, both=False)
        return cls(
            level,
            math.exp(min(float(logs.min()) + 1e-9, 0.0)) * MARGIN + 1e-300,
            math.fsum(use.count * use.above(level * 0.98)[1] for use in uses) + 1e-300,
            math.fsum(use.count * use.above(epsilon * 0.98)[1] for use in uses),
        )


def _bracket(uses: list[_Use], epsilon: float) -> tuple[float, float]:
    """Return the best bounds over all levels."""
    ends = epsilon * SECOND
    larges = [_Large.of(uses, epsilon, float(part)) for part in LARGE]
    # Without more: no loss above l, or one; the test that one is above epsilon, and of one use.
    upper = min(each.none + each.above for each in larges)
    some = math.fsum(use.count * use.mass[0] for use in uses) - 0.5 * larges[-1].beyond ** 2
    lower = max(some * (1.0 - 16.0 * UNIT), *(use.mass[0] for use in uses))
    if not all(use.mass[0] > 0.0 for use in uses):
        return lower, upper
    levels = [_Level.of(uses, float(level)) for level in ends[SMALL]]
    moments = [[level.others(uses, which) for which in range(len(uses))] for level in levels]
    masses = [use.masses(ends) for use in uses]
    for degree in DEGREES:
        if upper <= lower * (1.0 + ENOUGH):
            break
        try:
            fits = [_Fit(use, epsilon, degree) for use in uses]
        except NotCertifiedError:
            continue
        for place, (level, others) in enumerate(zip(levels, moments, strict=True)):
            means = [fit.mean(each) for fit, each in zip(fits, others, strict=True)]
            low, high = (
                math.fsum(use.count * mean[end] for use, mean in zip(uses, means, strict=True))
                for end in (0, 1)
            )
            # Where V is larger another loss, of b at most, might be the large one.
            if all(level.level < epsilon - fit.largest for fit in fits):
                lower = max(lower, low * (1.0 - 64.0 * UNIT))
            first = range(len(SECOND))[SMALL][place]
            rare = max(fit.far(level) for fit in fits) + level.above
            for large in larges:
                # V, and a second loss up to l, are to leave E / V above e^l.
                if not level.level < 0.9 * large.level:
                    continue
                if not all(fit.largest < epsilon - large.level for fit in fits):
                    continue
                # Cells of a second loss from b on, whatever use it is of.
                second = math.fsum(
                    use.count * other.count * float(mass[first:] @ fit.second(large.level)[first:])
                    for use, fit in zip(uses, fits, strict=True)
                    for other, mass in zip(uses, masses, strict=True)
                )
                rest = large.above * (level.above * rare + rare - level.above + large.beyond)
                total = large.none + high * level.smaller + second + rest
                upper = min(upper, total * (1.0 + 64.0 * UNIT))
    return lower, upper


class _Fit:
    """A polynomial about D = 0, and by how much F of one use may be off it, for |D| <= s.

    Attributes:
        largest: log(1 + s).
    """

    def __init__(self, use: _Use, epsilon: float, degree: _Degree) -> None:
        """Compare on cells.

        Raises:
            NotCertifiedError: F hardly changes where V does.
        """
        f, steep = use.mass[0], use.slope[0]
        if not steep > 0.0:
            raise NotCertifiedError("no mass is known beyond epsilon")
        s = min(degree.reach * f / steep, 0.4 * epsilon, 0.4)
        self._f, self._s, self.largest = f, s, math.log1p(s)
        self._clean, self._power = degree.clean * f, degree.last
        self._use, self._epsilon = use, epsilon
        # Ends of cells are displaced, and the difference from epsilon is rounded.
        self._log_v = (SECOND[1:] * epsilon + self.largest) * (1.0 + 1e-9) + 1e-12 * epsilon
        self._second = use.values(np.minimum(self._log_v, 0.999 * epsilon))[1]
        if degree.last == 0:
            apart = np.array([-4.0, 4.0]) * UNIT * (epsilon + 1.0)
            lower, upper = use.values(np.log1p(np.array([-s, s])) + apart)
            self._c, self._last = np.array([f]), 0.0
            self._clean = max(float(upper[1]) - f, f - float(lower[0])) * (1.0 + 4.0 * UNIT)
            return
        nearest = NEAREST * f / steep
        if not nearest < s:
            raise NotCertifiedError("the profile of one use is flat")
        far = np.geomspace(nearest, s, 2 + int(math.log(s / nearest) / math.log(degree.ratio)))
        # The differences from epsilon at which F is known are doubles, and within a factor of 2.
        x = epsilon - np.log1p(np.concatenate([-far[::-1], [0.0], far]))
        d = np.expm1(epsilon - x)
        s = self._s = float(min(-d[0], d[-1]))
        self.largest = math.log1p(s)
        lower, upper = use.values(epsilon - x)
        rest = 0.5 * (lower + upper) - f - steep * d
        # Least squares, relative to the sixth power and what is off without notice.
        weights = 1.0 / (self._clean + f * (np.abs(d) / s) ** degree.last)
        powers = np.arange(2, degree.last)
        columns = (d / s)[:, None] ** powers
        fitted = np.zeros(0)
        if len(powers):
            fitted = np.linalg.lstsq(columns * weights[:, None], rest * weights, rcond=None)[0]
        self._c = np.concatenate([[f, steep], fitted / s**powers])
        self._last = self._off(d, lower, upper)

    def second(self, level: float) -> Array:
        """Return bounds on E[(V U - E)_+; L > level] at V = e^x' (1 + s), x' of each cell."""
        beyond = self._log_v >= self._epsilon - level
        both = self._use.product(level, np.exp(self._log_v))
        value: Array = np.where(beyond, both, self._second)
        return value

    def _off(self, d: Array, lower: Array, upper: Array) -> float:
        """Return C_n, beside C_0.

        On a cell [a, b] F less the polynomial is at most the chord of F less the polynomial, and
        at least the larger of two lines below F less it. The polynomial is off its own chord by at
        most (b - a)^2 / 8 times its second derivative. The lines prolong the chords of the cells
        before and after; with x and y what they are below the values at the far ends, the larger is
        below the chord by x y / (x + y) at most.
        """
        a, b = d[:-1], d[1:]
        width, size = b - a, np.maximum(np.abs(a), np.abs(b))
        smooth = np.polynomial.polynomial.polyval(d, self._c)
        orders = np.arange(2, self._power)
        second = self._c[2:] * orders * (orders - 1)
        bent = (
            width
            * width
            / 8.0
            * np.polynomial.polynomial.polyval(size, np.append(np.abs(second), 0.0))
        )
        high = np.maximum(upper[:-1] - smooth[:-1], upper[1:] - smooth[1:]) + bent
        steepest = (upper[1:] - lower[:-1]) / width
        flattest = (lower[1:] - upper[:-1]) / width
        x = upper[1:] - lower[:-1] - np.append(math.nan, flattest[:-1]) * width
        y = upper[:-1] - lower[1:] + np.append(steepest[1:], math.nan) * width
        x, y = np.maximum(x, 0.0), np.maximum(y, 0.0)
        sag = np.where(x + y > 0.0, x * y / (x + y), 0.0)
        sag = np.where(np.isnan(sag), np.fmax(x, y), sag)
        low = np.minimum(lower[:-1] - smooth[:-1], lower[1:] - smooth[1:]) - sag - bent
        terms = np.polynomial.polynomial.polyval(size, np.abs(self._c))
        off = np.maximum(high, -low) + 64.0 * UNIT * terms
        near = np.where((a < 0.0) & (b > 0.0), 0.0, np.minimum(np.abs(a), np.abs(b)))
        over = np.maximum(off - self._clean, 0.0)
        if not np.isfinite(over).all() or (over[near == 0.0] > 0.0).any():
            raise NotCertifiedError("one use is not smooth enough for a polynomial")
        return float(np.where(over > 0.0, over / near**self._power, 0.0).max())

    def mean(self, moments: tuple[Array, Array]) -> tuple[float, float]:
        """Bound E[F(V)] where all others are at most b; but for what `far` bounds.

        What is not known of F(1) and F'(1) themselves is in the comparison.
        """
        centres, radii = moments
        known, powers = np.abs(self._c), np.arange(len(self._c))
        value = float(self._c @ centres[: len(powers)])
        wrong = float(known @ radii[: len(powers)])
        most = centres + radii
        beyond = min(
            float((known / self._s ** (p - powers)).sum() + self._f / self._s**p) * float(most[p])
            for p in range(2, POWERS, 2)
            if p >= len(powers)
        )
        wrong += self._clean + self._last * float(most[self._power]) + beyond
        return value - wrong * MARGIN, value + wrong * MARGIN

    def far(self, level: _Level) -> float:
        """Return a bound on E_Q[V; V > 1 + s] where all others are at most b."""
        orders = ORDERS / level.level
        return math.exp(min(0.0, float((level.log_tilted - orders * self.largest).min()) + 1e-9))
