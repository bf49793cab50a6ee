"""The laws of shuffled reports, made of pairs above and below."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from privcalc.losses.atomic.atoms import ProvedLaw
from privcalc.losses.atomic.exact import exact_law
from privcalc.losses.atomic.profiles import profile_law
from privcalc.losses.shuffled.alike import AlikePair
from privcalc.losses.shuffled.pairs import blanket, clones
from privcalc.losses.term import DirectedMembers
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, left, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.numerics.arrays import Array

# The pairs are made for these.
LEAST_EPSILON, LARGEST_EPSILON = 1e-9, 50.0
# Where three categories, the others in the third, cost more than two with others alike, about.
MORE_WITH_THREE = math.log(2.0)
# Points of a law: how many at least and at most, and how many deviations of the loss they reach.
LEAST_POINTS, MOST_POINTS, REACH = 200, 1000, 14.0
# Work for a point, for a value of an outcome at it, and what part of what is left both may take.
PER_POINT, PER_VALUE, PART = 1000.0, 0.5, 0.3
# The part of them that lies beyond.
FAR = 0.15
# Pairs that are remembered: those of many people take some ten megabytes.
KEPT = 2
# Tests of smaller masses are left out, so that no mass is too small for a law.
LEAST_MASS = 1e-250


class Pair(Protocol):
    """Two laws of outcomes, of which profile and tests are proved."""

    @property
    def symmetric(self) -> bool:
        """Whether the pair in the other order is the same."""
        ...

    @property
    def spread(self) -> float:
        """About the deviation of the loss."""
        ...

    @property
    def size(self) -> int:
        """How many values a test takes."""
        ...

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return bounds on the profile at epsilon >= 0."""
        ...

    def test(self, epsilon: float) -> tuple[float, float]:
        """Return a lower bound on the P-mass, and an upper on the Q-mass, of one set."""
        ...


def law_above(n: int, epsilon: float, categories: int | None) -> ProvedLaw:
    """Return a law above n shuffled reports that are epsilon-DP, or such answers of k categories.

    Unshuffled they cost at most as much as randomized response, of which the rest is
    post-processing: (E - a)_+ / (E + k - 1) at a = e^x >= 1, with k = 2 for any report. What is
    epsilon-DP with a smaller epsilon is so with a larger one, and randomized response with it is
    post-processing of the other, report by report.
    """

    def pair(*, rough: bool) -> Pair:
        return _above(n, epsilon, categories, rough=rough)

    others = (categories or 2) - 1.0

    def ends(x: float, *, rough: bool = False) -> tuple[float, float]:
        if x >= epsilon:
            return 0.0, 0.0
        # (E - a) / (E + k - 1).
        plain = -math.expm1(x - epsilon) / (1.0 + others * math.exp(-epsilon))
        plain *= 1.0 + 32.0 * UNIT * (1.0 + (epsilon + x) / (epsilon - x))
        low, high = pair(rough=rough).delta(x)
        high = min(high, plain)
        return min(low, high), high

    def joined() -> AtomicLaw:
        places = _points(pair(rough=True), epsilon)
        known = [(Fraction(x), Fraction(ends(x, rough=True)[1])) for x in places]
        return profile_law((*known, (Fraction(epsilon), Fraction(0))))

    return ProvedLaw(
        0.0,
        epsilon,
        ("above", n, epsilon, categories),
        lambda x: _both(ends, x),
        joined,
    )


def law_below(n: int, epsilon: float, categories: int | None) -> ProvedLaw:
    """Return a law below n shuffled answers by randomized response, or reports epsilon-DP.

    Of two pairs of data sets: all others have the value that the one user has under P
    (`AlikePair`), or, with k >= 3, a third one (`blanket`). One use costs the larger of the two;
    compositions are those of the one with more information about, 2 (E - 1)^2 a / n against
    (E - 1)^2 / (E n) for k = 2. Any report that is epsilon-DP may be one with two or with three
    categories.

    The test of losses above x has masses P and Q. With several tests, and nothing and everything,
    the largest concave function through the points (Q, P) is below the curve of all tests (a
    mixture of two is one), so that its pair is below; a P-mass may be less, and a Q-mass more.
    """

    def ends(x: float) -> tuple[float, float]:
        if x >= epsilon:
            return 0.0, 0.0
        found = [pair.delta(x) for pair in _below(n, epsilon, categories)]
        return max(low for low, _ in found), max(high for _, high in found)

    members = ShuffledPair(n, epsilon, categories, remove=True)
    name = "below", n, epsilon, categories
    return ProvedLaw(
        0.0, epsilon, name, lambda x: _both(ends, x), lambda: members.chosen(None, remove=True)
    )


@record
class ShuffledPair(DirectedMembers):
    """The pair of `law_below` with more information, in either order of the data sets.

    Attributes:
        n: how many reports.
        epsilon: of each.
        categories: of answers; None for any report.
        remove: which data set is that of P.
    """

    by_order: ClassVar[bool] = False
    one_pair: ClassVar[bool] = True
    n: int
    epsilon: float
    categories: int | None
    remove: bool

    def chosen(self, c: float | None, *, remove: bool) -> AtomicLaw:
        """Return the law through its tests, whatever the order of the divergence."""
        del c
        return _tested(self.n, self.epsilon, self.categories, remove=remove)


@remembered(KEPT)
def _above(n: int, epsilon: float, categories: int | None, *, rough: bool) -> Pair:
    if categories is None:
        return clones(n, epsilon)
    return blanket(n, epsilon, categories, upper=True, rough=rough)


@remembered(KEPT)
def _below(n: int, epsilon: float, categories: int | None) -> list[Pair]:
    found: list[Pair] = [AlikePair(n, epsilon, categories or 2)]
    if categories != 2:
        third = blanket(n, epsilon, categories or 3, upper=False, rough=False)
        last = categories is None and epsilon < MORE_WITH_THREE
        found.insert(1 if last else 0, third)
    return found


@remembered(KEPT)
def _tested(n: int, epsilon: float, categories: int | None, *, remove: bool) -> AtomicLaw:
    """Return the law of the points of the tests of the first pair below; see `law_below`."""
    first = _below(n, epsilon, categories)[0]
    signs = (1.0,) if first.symmetric else (1.0, -1.0)
    found = [first.test(sign * x) for x in _points(first, epsilon) for sign in signs]
    corners = [(Fraction(max(0.0, q)), Fraction(p)) for p, q in found if p > LEAST_MASS]
    if first.symmetric:
        corners += [(1 - p, 1 - q) for q, p in corners]
    pieces = _concave(sorted(corners))
    return exact_law(pieces if remove else [(q, p) for p, q in pieces])


def _points(pair: Pair, epsilon: float) -> list[float]:
    """Return epsilons from 0, on a lattice, and with larger steps where little is to be told."""
    most = PART * left() / (PER_POINT + PER_VALUE * pair.size)
    count = int(min(MOST_POINTS, max(LEAST_POINTS, most)))
    charge(PER_POINT * count)
    near = count * (1.0 - FAR)
    step = min(epsilon, REACH * pair.spread) / near
    jump = max(1, math.ceil((epsilon / step - near) / (FAR * count)))
    places = np.append(np.arange(int(near)), np.arange(int(near), epsilon / step, jump))
    return [x for x in (places * step).tolist() if x < epsilon]


def _concave(points: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Return the masses under P and Q of the pieces of a concave curve through sorted (Q, P)."""
    hull = [(Fraction(0), Fraction(0))]
    for q, p in (*points, (Fraction(1), Fraction(1))):
        if p <= hull[-1][1]:
            continue
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (q - hull[-1][0]) <= (
            p - hull[-1][1]
        ) * (hull[-1][0] - hull[-2][0]):
            hull.pop()
        hull.append((q, p))
    return [(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(hull)]


def _both(ends: Callable[[float], tuple[float, float]], epsilons: Array) -> tuple[Array, Array]:
    found = np.array([ends(float(x)) for x in epsilons]).reshape(-1, 2)
    return found[:, 0], found[:, 1]
