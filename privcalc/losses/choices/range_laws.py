"""Laws of several uses of bounded ranges, from above and from below; the largest divergences.

Above, blocks of adaptive uses are composed, as any dominating pairs are. All that is done to a law
makes it larger: masses are moved to larger losses, or split between two neighbours with P- and
Q-mass kept, which is the chord of the profile; masses are rounded up, at the expense of the least
losses (`losses/atomic/power.py` does the same).

Below, uses after all others attain the pair (`range_uses.py`). Its law is that of some of the lines
below V, each a test of a mechanism.

The largest Renyi divergences of one use, order by order. At order a = c + 1 > 1 the worst mechanism
of range eta has losses t and t - eta, by convexity of r^a (`mechanisms/exponential.py`), and with y
= e^{t - eta}, r = e^{-eta}

    M(c) = p e^{ct} + (1 - p) e^{c (t - eta)} = r^{-c} y^c ((1 - r^a) - y (1 - r^c)) / (1 - r),

which is largest at y = c (1 - r^a) / (a (1 - r^c)), between r and 1. So the largest K is

    K(c) = c t + log((1 - r^a) / ((1 - r) a))            with t = eta + log y
         = a g(a eta) - c g(c eta) - g(eta),             g(x) = log(sinh(x/2) / (x/2)).

The best t depends on the order: no one pair has this curve, but divergences add up under adaptive
composition order by order (Mironov 2017, Proposition 1), so that it composes as it stands.

K <= c a eta^2 / 8 (Cesar, Rogers 2021): with f(x) = x g(x), K eta is the integral of f''(u + v)
over 0 < u < c eta, 0 < v < eta. g'(x) <= x / 12 and 0 < g'' = 1/x^2 - 1/(4 sinh^2(x/2)) <= 1/12,
so that f'' = 2 g' + x g'' <= x / 4, whose integral is c a eta^3 / 8.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw, ProvedLaw
from privcalc.losses.atomic.profiles import law_of_tests
from privcalc.losses.choices.range_uses import STEP_UNITS, attained_uses, largest_uses
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import remembered
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.choices.range_uses import Kinds, UsesProfile
    from privcalc.losses.law import LawProperties
    from privcalc.numerics.arrays import Array

# Up to this a eta the power series of g is used; it converges up to 2 pi.
SERIES_BELOW = 1.0
# (2 pi)^-2n < 1e-24 from here on.
SERIES_TERMS = 16
# Where the best t is searched for, fewer terms do below this a eta.
NEAR_HALF = 0.01


@record
class BoundedRangeCurve:
    """The largest divergence of all mechanisms of some ranges, at each order by itself.

    Attributes:
        kinds: the ranges, or more, each with the number of its uses.
    """

    kinds: tuple[tuple[float, int], ...]

    cheap = True
    convex = True
    piecewise = False
    corners = ()

    @property
    def limit(self) -> float:
        """Return the ranges added up: no loss is larger."""
        return math.fsum(eta * uses for eta, uses in self.kinds) * (1.0 + 4.0 * UNIT)

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the line of slope eta^2 / 8."""
        rho = 0.125 * math.fsum(uses * eta * eta for eta, uses in self.kinds)
        return 0.0, np.full(c.shape, rho * (1.0 + 8.0 * UNIT))

    def upper(self, c: Array) -> Array:
        """Return K and its error, and no more than c eta, summed."""
        total = np.zeros(c.shape)
        for eta, uses in self.kinds:
            value, error = bounded_range_cumulant(eta, c)
            total = total + uses * np.minimum(value + error, c * eta)
        return total * (1.0 + (4.0 + 2.0 * len(self.kinds)) * UNIT)

    def lower(self, c: Array) -> Array | None:
        """Return None: no one pair attains all orders."""
        del c
        return None


def best_offset(eta: float, c: float) -> float:
    """Return about the t with the largest divergence at order c + 1 > 1."""
    if (c + 1.0) * eta < NEAR_HALF:
        # t = eta / 2 + g(a eta) - g(c eta), and g(x) is about x^2 / 24.
        return eta * (0.5 + (2.0 * c + 1.0) * eta / 24.0)
    fall, gap = -math.expm1(-c * eta), -math.expm1(-eta)
    t = eta + math.log1p(math.exp(-c * eta) * gap / fall) - math.log1p(1.0 / c)
    return min(max(t, 0.5 * eta), eta)


def bounded_range_cumulant(eta: float, c: Array) -> tuple[Array, Array]:
    """Return K(c), c > 0, and a bound on its error."""
    value, error = np.empty(c.shape), np.empty(c.shape)
    small = (c + 1.0) * eta <= SERIES_BELOW
    value[small], error[small] = _by_series(eta, c[small])
    value[~small], error[~small] = _closed(eta, c[~small])
    return value, error


def _by_series(eta: float, c: Array) -> tuple[Array, Array]:
    """Return the sum of b_n eta^{2n} (a^{2n+1} - c^{2n+1} - 1), g(x) = sum of b_n x^{2n}.

    a and -c are the roots of x^2 = x + u, u = c a, so that a^m + (-c)^m = 1 + u T_m with
    T_m = T_{m-1} + 1 + u T_{m-2}, T_1 = 0, T_2 = 2: nothing is subtracted. The T_m are taken times
    eta^{m-1}. Each is off by 8 m units, and the first term is 70 times as large as the others.
    """
    u = c * (c + 1.0)
    step = u * eta * eta
    before, here = np.zeros(c.shape), np.full(c.shape, 2.0 * eta)
    total, power = np.zeros(c.shape), eta
    for m in range(3, 2 * SERIES_TERMS + 2):
        power *= eta
        before, here = here, eta * here + power + step * before
        if m % 2:
            total = total + _series()[m // 2 - 1] * here
    value = u * total
    return value, 64.0 * UNIT * value


def _closed(eta: float, c: Array) -> tuple[Array, Array]:
    """Return c t + log((1 - r^a) / ((1 - r) a)).

    For c >= 1, log y = log(1 + r^c (1 - r) / (1 - r^c)) - log(1 + 1/c), each off by 24 units of
    itself; for smaller c both logs in K are of numbers whose errors are 16 units, or log(1 + x) of
    small x.
    """
    a = c + 1.0
    gap = -math.expm1(-eta)
    fall, whole = -np.expm1(-c * eta), -np.expm1(-a * eta)
    first = np.log1p(np.exp(-c * eta) * gap / fall)
    second = np.log1p(1.0 / c)
    near = c < 1.0
    log_y = np.where(near, np.log(c / a * whole / fall), first - second)
    wrong_y = np.where(near, 24.0 + 8.0 * np.abs(log_y), 24.0 * (first + second))
    rise, spread = np.log1p(math.exp(-eta) * fall / gap), np.log1p(c)
    rest = np.where(near, rise - spread, np.log(whole / (gap * a)))
    wrong = np.where(near, 24.0 * (rise + spread), 24.0 + 8.0 * np.abs(rest))
    value = c * (eta + log_y) + rest
    error = c * (wrong_y + 4.0 * (eta + np.abs(log_y))) + wrong + 4.0 * np.abs(value)
    return value, UNIT * error


@lru_cache(maxsize=1)
def _series() -> tuple[float, ...]:
    """Return b_n = B_{2n} / (2n (2n)!), from (sum of x^{2k} / (4^k (2k+1)!)) and its logarithm."""
    s = [Fraction(1, 4**k * math.factorial(2 * k + 1)) for k in range(SERIES_TERMS + 1)]
    b = [Fraction(0)]
    for n in range(1, SERIES_TERMS + 1):
        known = sum((j * b[j] * s[n - j] for j in range(1, n)), Fraction(0))
        b.append(s[n] - known / n)
    return tuple(float(each) for each in b[1:])


# Uses of one block; of each of several, which are composed; and counts that may be left of all
# ranges of a block.
BLOCK, OF_SEVERAL, MOST_STATES = 256, 64, 1000
# Narrower ranges have no digits left in slopes.
SMALLEST_RANGE = 1e-5
# Two uses of a wider one are no block.
LARGEST_RANGE = 300.0
# Ranges of one lattice, relatively to the narrowest.
WIDEST = 100.0
# A block with a larger loss has no double for e^loss.
LARGEST_LOSS = 600.0
MOST_USES = 10**9
# Points of a block by itself, and of one of several, on either side of 0.
ONE_BLOCK, ONE_OF_SEVERAL = 60_000, 1200
# Lattices are made coarser where they have more points, and shares of mass this small are moved.
MOST_POINTS = 2400
FAR = 1e-70
# Values of a profile below count as beyond: sums of less leave the range of doubles.
FAINT = 1e-100
# More than rounding would be an error.
MOST_EXCESS = 1e-3


@record
class RangeUses(AtomicLaw):
    """A law of several uses of bounded ranges, from above.

    Attributes:
        uses: how many.
        closer: the profile, which the law is a coarser lattice of; None of several blocks.
    """

    uses: int = 1
    closer: UsesProfile | None = None

    def __hash__(self) -> int:
        """Tell laws apart by a few of many outcomes."""
        return hash((len(self.losses), self.losses[-1:], self.masses[-1:]))

    @property
    def max_loss(self) -> float:
        """Return the largest loss, which is the last."""
        return self.losses[-1]

    @cached_property
    def properties(self) -> LawProperties:
        """Of one block the profile is known by itself."""
        one = self.closer is not None
        return replace(super().properties, rdp_implied_by_pld=one)

    @property
    def max_loss_error(self) -> float:
        """Return by how much the lattice goes beyond it."""
        return 2.0**-28

    @property
    def exact_single_use_profile(self) -> Callable[[float], tuple[float, float]] | None:
        """Return the profile, from above."""
        return None if self.closer is None else self._alone

    @property
    def one_sided(self) -> bool:
        """Say that both ends of the profile are on the side of this law."""
        return self.closer is not None

    def _alone(self, epsilon: float) -> tuple[float, float]:
        if self.closer is None:
            raise AssertionError("there are several blocks")
        bound = self.closer.at(epsilon)
        # The ranges may be rounded up: the lower end is for those that are written.
        inside = epsilon < self.closer.largest * (1.0 - 1e-9)
        return (bound if inside else 0.0), bound


def block_of(eta: float, uses: int) -> int:
    """Return how many of so many uses are one block, at most; 0 where there are no blocks."""
    if not SMALLEST_RANGE <= eta <= LARGEST_RANGE or not 2 <= uses <= MOST_USES:
        return 0
    return min(uses, BLOCK, int(LARGEST_LOSS / eta))


def is_block(kinds: Kinds) -> bool:
    """Return whether all uses are one block."""
    etas, counts = zip(*kinds, strict=True)
    return (
        2 <= sum(counts) <= BLOCK
        and SMALLEST_RANGE <= min(etas) <= max(etas) <= min(LARGEST_RANGE, WIDEST * min(etas))
        and math.fsum(eta * count for eta, count in kinds) <= LARGEST_LOSS
        and math.prod(count + 1 for count in counts) <= MOST_STATES
    )


@remembered(32)
def range_uses(kinds: Kinds, largest: Fraction | None = None) -> RangeUses | None:
    """Return the law of all uses at once; None where they are out of reach.

    Args:
        kinds: upper bounds on the ranges, each with its uses; several are one block.
        largest: the sum of all ranges, where it is known.
    """
    (eta, uses), *others = kinds
    most = uses if others else block_of(eta, uses)
    if most < 2 and not others:
        return None
    blocks = 1 if most == uses else -(-uses // min(most, OF_SEVERAL))
    try:
        return _range_uses(kinds, largest, blocks)
    except NotCertifiedError:
        return None


def _range_uses(kinds: Kinds, largest: Fraction | None, blocks: int) -> RangeUses:
    """Return the law of so many blocks.

    Raises:
        NotCertifiedError: the profile of a block is not known for certain.
    """
    (eta, uses), *others = kinds
    profiles = largest_uses(((eta, -(-uses // blocks)), *others))
    count = sum(count for _, count in kinds)
    curve = BoundedRangeCurve(tuple(kinds))
    empty = RangeUses((), (), mechanism_rdp_curve=curve, known_loss=largest, uses=count)
    bound = math.fsum(each * count for each, count in kinds) * (1.0 + 8.0 * UNIT)
    if blocks == 1:
        return law_above(profiles[1], ONE_BLOCK, bound, replace(empty, closer=profiles[1]))
    total, step = _composed(profiles, uses, blocks)
    return _law(total, step, bound, empty)


def law_above(profile: UsesProfile, points: int, largest: float, plain: RangeUses) -> RangeUses:
    """Return the law of one block on a lattice of so many points on either side of 0.

    Raises:
        NotCertifiedError: the values are no profile.
    """
    step, value = profile.coarser(points)
    total = _lattice(value, step)
    return _symmetric(total, step, largest, plain) or _law(total, step, largest, plain)


def _symmetric(total: _Lattice, step: float, largest: float, plain: RangeUses) -> RangeUses | None:
    """Return the law with both signs of a loss alike; None where nothing is left for loss 0.

    Masses of positive losses are raised by their error, with their mirror images, at the expense of
    loss 0, which has as much under P as under Q: no mass is lost to minus infinity, which a sample
    would turn into losses beyond all others.
    """
    kept = -total.first
    losses = step * np.arange(1, kept + 1)
    p = total.masses[kept + 1 :]
    if total.far > 0.0:
        losses = np.append(losses, max(largest, float(step * (kept + 1))))
        p = np.append(p, total.far)
    p = p * (1.0 + 2.0 * UNIT * (total.units + len(p)))
    losses, p = losses[p > 0.0], p[p > 0.0]
    mirrored = p * np.exp(-losses)
    rest = 1.0 - math.fsum(p) - math.fsum(mirrored)
    if not rest > 0.0:
        return None
    masses = (*mirrored[::-1].tolist(), rest, *p.tolist())
    return replace(
        plain,
        losses=(*(-losses[::-1]).tolist(), 0.0, *losses.tolist()),
        masses=masses,
        loss_units=0.0,
        lower_masses=masses[::-1],
    )


def _composed(
    profiles: tuple[UsesProfile, UsesProfile], uses: int, blocks: int
) -> tuple[_Lattice, float]:
    """Compose blocks of one range, some of one use less than the others, and return the step.

    Args:
        profiles: of a block with one use less, and of a block.
        uses: of all blocks.
        blocks: how many.
    """
    before, block = profiles
    step, value = block.coarser(ONE_OF_SEVERAL)
    last = np.append(before.values[:: round(step / before.step)], before.beyond)
    # So many blocks have one use less, so that the sizes add up.
    short = -uses % blocks
    squares = [_lattice(value, step), _lattice(last, step)]
    counts = [blocks - short, short]
    total: _Lattice | None = None
    while any(counts):
        for square, count in zip(squares, counts, strict=True):
            if count & 1:
                total = square if total is None else _product(total, square)
        counts = [count >> 1 for count in counts]
        if any(counts):
            squares = [_product(square, square) for square in squares]
        while len(squares[0].masses) > MOST_POINTS or (total and len(total.masses) > MOST_POINTS):
            squares = [_coarser(square, step) for square in squares]
            total = _coarser(total, step) if total else None
            step *= 2.0
    if total is None:
        raise AssertionError("there are uses")
    return total, step


@record
class _Lattice:
    """A law on a lattice.

    Attributes:
        first: number of the first point.
        masses: P-masses of the points.
        far: P-mass that is said to have the largest loss.
        units: relative error of all masses, downwards.
    """

    first: int
    masses: Array
    far: float
    units: float


def _lattice(value: Array, step: float) -> _Lattice:
    """Return the law whose profile is at least the chords between the values at 0, h, ...

    As rounding may have made the values bend the other way, the profile of the masses is compared
    with them, and the masses raised by the largest quotient. Masses up to FAR count as mass beyond;
    so does the last value, with which the profile goes on to the largest loss.
    """
    faint = np.flatnonzero(value < FAINT)
    value = value[: max(2, int(faint[0]) + 1)] if len(faint) else value
    p = masses_of(value, step)
    excess = float(((value[:-1] - value[-1]) / profile_of(p, step)).max()) - 1.0
    if not excess < MOST_EXCESS:
        raise NotCertifiedError("values of a bounded range are no profile")
    p *= 1.0 + max(0.0, excess) + 8.0 * len(p) * UNIT
    far = float(value[-1]) / -math.expm1(-step)
    kept = int(np.count_nonzero(np.cumsum(p[::-1])[::-1] > FAR))
    far = (far + float(p[kept:].sum())) * (1.0 + len(p) * UNIT)
    p = p[:kept]
    mirrored = p * np.exp(-step * np.arange(1, kept + 1))
    rest = max(0.0, 1.0 - math.fsum(p) - math.fsum(mirrored))
    return _Lattice(-kept, np.concatenate([mirrored[::-1], [rest], p]), far, 16.0)


def masses_of(value: Array, step: float) -> Array:
    """Return the P-masses at h, 2 h, ... of the law with chords between the values at 0, h, ...

    The change of slope at a_i is the Q-mass there, so that P has D_{i-1} e^h - D_i, where D is the
    fall over e^h - 1; the mirror image has e^-l times that; 0 has the rest. Where values bend the
    other way there is none. After the last value the profile is 0.
    """
    fall = (value[:-1] - value[1:]) / math.expm1(step)
    p = np.maximum(fall[:-1] * math.exp(step) - fall[1:], 0.0)
    return np.append(p, fall[-1] * math.exp(step))


def profile_of(p: Array, step: float) -> Array:
    """Return the profile at 0, h, ... of P-masses at h, 2 h, ...: sums of positive terms.

    K_j is the sum of p_i (1 - e^{(j - i) h}) over i > j, so that K_j = e^-h K_{j+1} + (1 - e^-h) T,
    T the mass beyond j h. In blocks, so that powers of e^h do not overflow.
    """
    beyond = np.cumsum(p[::-1])[::-1] * -math.expm1(-step)
    found = np.empty(len(p))
    size = max(1, int(300.0 / step))
    carried = 0.0
    for start in range((len(p) - 1) // size * size, -1, -size):
        part = beyond[start : start + size]
        decay = np.exp(-step * np.arange(len(part) + 1))
        sums = np.cumsum((part * decay[:-1])[::-1])[::-1]
        found[start : start + size] = (sums + carried * decay[-1]) / decay[:-1]
        carried = float(found[start])
    return found


def _product(a: _Lattice, b: _Lattice) -> _Lattice:
    """Compose two laws, and move what is far out on either side."""
    masses = np.convolve(a.masses, b.masses)
    units = a.units + b.units + min(len(a.masses), len(b.masses)) + 4.0
    first, far = a.first + b.first, (a.far + b.far) * (1.0 + 4.0 * UNIT)
    above = np.cumsum(masses[::-1])[::-1]
    below = np.cumsum(masses)
    kept = np.flatnonzero((above > FAR) & (below > FAR))
    low, high = int(kept[0]), int(kept[-1]) + 1
    far += float(above[high]) * (1.0 + UNIT * len(masses)) if high < len(masses) else 0.0
    inside = masses[low:high].copy()
    inside[0] += float(below[low - 1]) if low else 0.0
    return _Lattice(first + low, inside, far, units + len(masses))


def _coarser(law: _Lattice, step: float) -> _Lattice:
    """Split the masses at odd points between their neighbours: p / (1 + e^-h) goes up."""
    masses = law.masses
    if law.first % 2:
        masses, first = np.concatenate([[0.0], masses]), law.first - 1
    else:
        first = law.first
    if len(masses) % 2 == 0:
        masses = np.append(masses, 0.0)
    odd = masses[1::2]
    found = masses[::2].copy()
    found[1:] += odd / (1.0 + math.exp(-step))
    found[:-1] += odd / (1.0 + math.exp(step))
    return _Lattice(first // 2, found, law.far, law.units + 16.0)


def _law(total: _Lattice, step: float, largest: float, plain: RangeUses) -> RangeUses:
    """Raise the masses by their error, at the expense of the least losses; the Q-masses follow."""
    losses = step * np.arange(total.first, total.first + len(total.masses))
    if total.far > 0.0:
        losses = np.append(losses, max(largest, float(losses[-1]) + step))
    masses = np.append(total.masses, [total.far] if total.far > 0.0 else [])
    masses = masses * (1.0 + 2.0 * UNIT * (total.units + len(masses)))
    above = np.cumsum(masses[::-1])[::-1]
    masses = np.clip(1.0 - (above - masses), 0.0, masses)
    # What rounding left over goes to a loss that is not negative, for the sake of Q.
    masses[int(np.searchsorted(losses, 0.0))] += max(0.0, 1.0 - math.fsum(masses))
    used = masses > 0.0
    losses, masses = losses[used], masses[used]
    lower = masses * np.exp(-losses)
    return replace(
        plain,
        losses=tuple(losses.tolist()),
        masses=tuple(masses.tolist()),
        lower_infinity_mass=max(0.0, 1.0 - math.fsum(lower)),
        loss_units=0.0,
        lower_masses=tuple(lower.tolist()),
    )


# Tests of a law from below.
TESTS = 6000


@remembered(32)
def range_attained(kinds: Kinds) -> ProvedLaw | None:
    """Return the law of a block of uses, of ranges that are these or larger; None if faint.

    Through each value of V goes a line below V, of a mechanism: that is the test P - a Q, of which
    Q is at most the fall of the line to the next point, and P at least what its rise to the point
    before leaves. Values are off by STEP_UNITS, and differences of two by twice that.
    """
    profile = attained_uses(kinds)
    before, after = profile.around
    known = np.flatnonzero((before > 0.0) & (after > 0.0) & (profile.values > FAINT))
    if not len(known):
        return None

    def joined() -> AtomicLaw:
        index = known[:: -(-len(known) // TESTS)]
        value, loss = profile.values[index], profile.step * index
        up = 1.0 + 4.0 * STEP_UNITS * UNIT
        steep = (value * up - after[index]) / math.expm1(profile.step)
        flat = (before[index] - value * up) / -math.expm1(-profile.step)
        return law_of_tests((value + flat) / up, steep * np.exp(-loss) * up)

    def proved(epsilons: Array) -> tuple[Array, Array]:
        found = np.array([profile.at(x) for x in epsilons.tolist()])
        return found, found

    name = "attained", tuple(kinds)
    return ProvedLaw(0.0, profile.largest, name, proved, joined, one_sided=True)
