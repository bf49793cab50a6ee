"""Laws of several uses of bounded ranges, from above and from below; the largest divergences.

Above, blocks of adaptive uses are composed, as any dominating pairs are. The law of a block has the
chords of its profile between points of a lattice, and masses that are rounded up.

Below, uses after all others attain the pair (`range_uses.py`). Its law is that of some of the lines
below V, each a test of a mechanism.

The largest Renyi divergences of one use, order by order. At order a = c + 1 > 1 the worst mechanism
of range eta has losses t and t - eta, by convexity of r^a (`mechanisms/noisy_max.py`), and with y
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
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atoms import AtomicLaw, ProvedLaw
from privcalc.losses.choices.range_uses import STEP_UNITS, attained_uses, largest_uses
from privcalc.losses.law import RenyiCurve
from privcalc.losses.profiles import law_of_points, law_of_tests
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import remembered
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from privcalc.losses.choices.range_uses import Kinds, UsesProfile
    from privcalc.numerics.rounding import Array


@record
class BoundedRangeCurve(RenyiCurve):
    """The largest divergence of all mechanisms of some ranges, at each order by itself.

    Attributes:
        kinds: the ranges, or more, each with the number of its uses.
    """

    kinds: tuple[tuple[float, int], ...]

    cheap = True

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
    fall, gap = -math.expm1(-c * eta), -math.expm1(-eta)
    t = eta + math.log1p(math.exp(-c * eta) * gap / fall) - math.log1p(1.0 / c)
    return min(max(t, 0.5 * eta), eta)


def rise_of_g(eta: float, c: Array) -> tuple[Array, Array]:
    """Return g((c + 1) eta) - g(eta), c > 0, and its error: all terms vanish with c."""
    first, second = 0.5 * c * eta, np.log1p(c)
    third = np.log1p(-np.expm1(-c * eta) / math.expm1(eta))
    return first - second + third, 24.0 * UNIT * (first + second + third)


def bounded_range_cumulant(eta: float, c: Array) -> Array:
    """Return K(c) = c (g(a eta) - g(c eta)) + g(a eta) - g(eta), c > 0, rounded up.

    Each g(x) is off by 8 units of 1 + x. Where K has no digits c a eta^2 / 8 is as good.
    """
    a = c + 1.0
    high, low = (0.5 * x + np.log(-np.expm1(-x) / x) for x in (a * eta, c * eta))
    rise, wrong = rise_of_g(eta, c)
    value = c * (high - low) + rise + wrong + 24.0 * UNIT * c * (1.0 + a * eta)
    found: Array = np.minimum(value, c * np.minimum(a * eta / 8.0, 1.0) * eta)
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
# Points of a block by itself, and of one of several, on one side of 0.
ONE_BLOCK, ONE_OF_SEVERAL = 30_000, 4000
# Lower values of a profile are neither points nor tests.
FAINT = 1e-70


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
def range_uses(kinds: Kinds, largest: Fraction | None = None) -> Sequence[tuple[AtomicLaw, int]]:
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
                found.append((law, times))
    except NotCertifiedError:
        return ()
    return tuple(found)


def _law_above(
    profile: UsesProfile, kinds: Kinds, largest: Fraction | None, points: int
) -> AtomicLaw:
    """Return the law whose profile is at least the chords between so many values."""
    step, values = profile.coarser(points)
    most = math.fsum(eta * count for eta, count in kinds) * (1.0 + 8.0 * UNIT)
    losses = step * np.arange(len(values))
    # Of a profile this small chords to the largest loss are enough: others need long sums.
    inside = (losses < most) & (values > FAINT)
    law = law_of_points(np.append(losses[inside], most), np.append(values[inside], 0.0))
    return replace(law, known_loss=largest, mechanism_rdp_curve=BoundedRangeCurve(tuple(kinds)))


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
