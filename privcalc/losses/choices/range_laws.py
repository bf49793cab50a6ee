"""Laws of several uses of bounded ranges, from above and from below; the largest divergences.

Above, blocks of adaptive uses are composed, as any dominating pairs are. The law of a block has the
chords of its profile between points of a lattice, and masses that are rounded up.

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
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw, ProvedLaw
from privcalc.losses.atomic.profiles import law_of_tests
from privcalc.losses.choices.range_uses import STEP_UNITS, attained_uses, largest_uses
from privcalc.losses.curve import RenyiCurve
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import remembered
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from privcalc.losses.choices.range_uses import Kinds, UsesProfile
    from privcalc.losses.law import LawProperties
    from privcalc.numerics.arrays import Array

# Where the best t is searched for, two terms of a series do below this a eta.
NEAR_HALF = 0.01


@record
class BoundedRangeCurve(RenyiCurve):
    """The largest divergence of all mechanisms of some ranges, at each order by itself.

    Attributes:
        kinds: the ranges, or more, each with the number of its uses.
    """

    kinds: tuple[tuple[float, int], ...]

    cheap = True
    convex = True

    @property
    def limit(self) -> float:
        """Return the ranges added up: no loss is larger."""
        return math.fsum(eta * uses for eta, uses in self.kinds) * (1.0 + 4.0 * UNIT)

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the line of slope eta^2 / 8."""
        rho = 0.125 * math.fsum(uses * eta * eta for eta, uses in self.kinds)
        return 0.0, np.full(c.shape, rho * (1.0 + 8.0 * UNIT))

    def upper(self, c: Array) -> Array:
        """Return K with its errors, and no more than c eta, summed."""
        total = np.zeros(c.shape)
        for eta, uses in self.kinds:
            total = total + uses * bounded_range_cumulant(eta, c)
        return total * (1.0 + (8.0 + 2.0 * len(self.kinds)) * UNIT)


def best_offset(eta: float, c: float) -> float:
    """Return about the t with the largest divergence at order c + 1 > 1."""
    if (c + 1.0) * eta < NEAR_HALF:
        # t = eta / 2 + g(a eta) - g(c eta), and g(x) is about x^2 / 24.
        return eta * (0.5 + (2.0 * c + 1.0) * eta / 24.0)
    fall, gap = -math.expm1(-c * eta), -math.expm1(-eta)
    t = eta + math.log1p(math.exp(-c * eta) * gap / fall) - math.log1p(1.0 / c)
    return min(max(t, 0.5 * eta), eta)


def bounded_range_cumulant(eta: float, c: Array) -> Array:
    """Return K(c) = c t + log((1 - r^a) / ((1 - r) a)), c > 0, rounded up.

    For c >= 1, log y = log(1 + r^c (1 - r) / (1 - r^c)) - log(1 + 1/c), each off by 24 units of
    itself; for smaller c both logs in K are of numbers whose errors are 16 units, or log(1 + x) of
    small x. Where a eta is so small that this has no digits c a eta^2 / 8 is as good.
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
    found: Array = np.minimum(value + UNIT * error, c * np.minimum(a * eta / 8.0, 1.0) * eta)
    return found


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
ONE_BLOCK, ONE_OF_SEVERAL = 60_000, 4000
# Shares of mass this small are moved.
FAR = 1e-70
# Values of a profile below count as beyond: sums of less leave the range of doubles.
FAINT = 1e-100
# More than rounding would be an error.
MOST_EXCESS = 1e-3


@record
class RangeUses(AtomicLaw):
    """A law of one block of several uses of bounded ranges, from above.

    Attributes:
        uses: how many.
        whole: whether these are all uses of their range.
    """

    uses: int = 1
    whole: bool = True

    def __hash__(self) -> int:
        """Tell laws apart by a few of many outcomes."""
        return hash((len(self.losses), self.losses[-1:], self.masses[-1:]))

    @property
    def max_loss(self) -> float:
        """Return the largest loss, which is the last."""
        return self.losses[-1]

    @cached_property
    def properties(self) -> LawProperties:
        """The profile of a whole block is known itself, but for the lattice."""
        return replace(super().properties, rdp_implied_by_pld=self.whole)

    @property
    def max_loss_error(self) -> float:
        """Return by how much the lattice goes beyond it."""
        return 2.0**-28


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
def range_uses(kinds: Kinds, largest: Fraction | None = None) -> Sequence[tuple[RangeUses, int]]:
    """Return laws that all uses cost no more than together; none where they are out of reach.

    Args:
        kinds: upper bounds on the ranges, each with its uses; several are one block.
        largest: the sum of all ranges, where it is known.
    """
    (eta, uses), *others = kinds
    most = uses if others else block_of(eta, uses)
    if most < 2 and not others:
        return ()
    blocks = 1 if most == uses else -(-uses // min(most, OF_SEVERAL))
    size, short = -(-uses // blocks), -uses % blocks
    try:
        profiles = largest_uses(((eta, size), *others))[::-1]
        if blocks == 1:
            return ((_law_above(profiles[0], kinds, largest, ONE_BLOCK), 1),)
        found = []
        # So many blocks have one use less, so that the sizes add up.
        for profile, count, times in zip(
            profiles, (size, size - 1), (blocks - short, short), strict=True
        ):
            if times and count:
                part = None if largest is None else largest * count / uses
                law = _law_above(profile, ((eta, count),), part, ONE_OF_SEVERAL)
                found.append((replace(law, whole=False), times))
    except NotCertifiedError:
        return ()
    return tuple(found)


def _law_above(
    profile: UsesProfile, kinds: Kinds, largest: Fraction | None, points: int
) -> RangeUses:
    """Return the law whose profile is at least the chords between so many values on a side of 0.

    As rounding may have made the values bend the other way, the profile of the masses is compared
    with them, and the masses raised by the largest quotient. Masses up to FAR count as mass beyond;
    so does the last value, with which the profile goes on to the largest loss. Masses of positive
    losses are raised by their error, with their mirror images, at the expense of loss 0, which has
    as much under P as under Q: no mass is lost to minus infinity, which a sample would turn into
    losses beyond all others.

    Raises:
        NotCertifiedError: the values are no profile, or nothing is left for loss 0.
    """
    step, value = profile.coarser(points)
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
    most = math.fsum(eta * count for eta, count in kinds) * (1.0 + 8.0 * UNIT)
    losses = step * np.arange(1, kept + 2)
    losses[-1] = max(losses[-1], most)
    p = np.append(p[:kept], far) * (1.0 + 2.0 * UNIT * (16.0 + kept))
    losses, p = losses[p > 0.0], p[p > 0.0]
    mirrored = p * np.exp(-losses)
    rest = 1.0 - math.fsum(p) - math.fsum(mirrored)
    if not rest > 0.0:
        raise NotCertifiedError("too little is left for a loss of 0")
    masses = (*mirrored[::-1].tolist(), rest, *p.tolist())
    return RangeUses(
        (*(-losses[::-1]).tolist(), 0.0, *losses.tolist()),
        masses,
        loss_units=0.0,
        lower_masses=masses[::-1],
        known_loss=largest,
        mechanism_rdp_curve=BoundedRangeCurve(tuple(kinds)),
        uses=sum(count for _, count in kinds),
    )


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
