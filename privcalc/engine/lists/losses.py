"""One use of a law as a list: every outcome is split between its two neighbours on a lattice.

Connect the dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). The profile of one outcome of
masses p and q is the function (p - a q)_+ of a; on losses between two lattice points it is at most

    A (1 - a e^{-low})_+ + B (1 - a e^{-high})_+,   A + B = p,   A e^{-low} + B e^{-high} = q,

the chord, in q, between its values at the two. An upper bound of every profile carries over to
compositions, by induction over the steps: given what came before, the sum of (p - a q)_+ over the
outcomes of one step is the profile at a of that step. The split is a spread R of the loss within
its cell with E e^{-R} = 1 (from q), so that `sums.py` bounds what it adds: one list proves both
ends.

Rounding. The list is above the truth: p is rounded up, q down, B up. What that adds to a profile at
a is at most a sum of e 1(a < e^high) over the cells, and so of e (e^high / a)^c for any c >= 0:

* alpha more of p: the chord at fixed q grows with p by at most 1, and not where a >= e^high;
* beta less of q: by at most min(a, e^low), e = beta e^low;
* tau more in B, at A's expense: by tau (1 - e^-step). B is a numerator over 1 - e^-step, so that e
  is the numerator's error;
* P-mass moved up to the first point: by itself.

One use after the other is made exact (change one factor at a time), so that in a composition these
sums, tilted, add up.

Where all losses are on the lattice nothing is split: masses are those between the middles of
points, and losses are displaced by what they are away from the points.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING, cast

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.cells import cells, connect_the_dots
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.atoms import AtomicLaw
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array, Integers

# No list is longer, and no point has a larger number, which is a double.
MOST_POINTS, LARGEST_NUMBER = 2**23, 2**53
# An atom is on the lattice if it is this near, in steps.
NEAR = 1e-9
# Numbers of so many digits have a common divisor.
ALIKE = Fraction(1, 10**7)
# Atoms are on a lattice of their own if it has so few points between them.
MOST_PARTS = 2**10
# See `unit_for`.
COST, LARGEST_TILT = 0.9, 0.9


class LatticeError(NotCertifiedError):
    """The lattice, or a window on it, is too large; a coarser one may do."""


@record
class Lattice:
    """Points origin + step k, k = first, first + 1, ...; rationals, for lattices add exactly."""

    origin: Fraction
    step: Fraction
    first: int
    count: int

    @classmethod
    def between(cls, origin: Fraction, step: Fraction, low: float, high: float) -> Lattice:
        """Return the points from one below `low` to one above `high`.

        Raises:
            LatticeError: they are too many, or their numbers are.
        """
        ends = [(end - float(origin)) / float(step) for end in (low, high)]
        if not (ends[1] - ends[0] < MOST_POINTS and max(map(abs, ends)) < LARGEST_NUMBER):
            raise LatticeError("the range of a law is too wide for its lattice")
        first, last = math.floor(ends[0]) - 1, math.ceil(ends[1]) + 1
        return cls(origin, step, first, last - first + 1)

    @property
    def indices(self) -> Integers:
        """Return all k."""
        return np.arange(self.first, self.first + self.count)

    @property
    def points(self) -> Array:
        """Return the points, each off by at most `error`."""
        return float(self.origin) + float(self.step) * self.indices

    @property
    def error(self) -> float:
        """Bound the rounding of `points`."""
        reach = max(abs(self.first), abs(self.first + self.count)) * float(self.step)
        return 4.0 * UNIT * (abs(float(self.origin)) + reach)


@record
class LossList:
    """P-masses at the points of a lattice, whose profile is above the true one, of one use.

    Attributes:
        lattice: the points.
        masses: P-masses, taken to be exact.
        errors: at each point, what they are more than an exact split has (e above).
        variance: of a spread, at most; 0 where all losses are on the lattice.
        lost: P-mass above the lattice: it counts as infinite above and as nothing below.
        slack: displacement of the losses.
    """

    lattice: Lattice
    masses: Array
    errors: Array
    variance: float
    lost: float
    slack: float

    @property
    def reach(self) -> float:
        """Return the largest distance of a loss from the origin."""
        used = self.lattice.indices[self.masses > 0.0]
        return float(np.abs(used).max(initial=0)) * float(self.lattice.step)

    @cached_property
    def reversed(self) -> LossList:
        """The list of the pair in the other order, of which nothing is said from below."""
        step, last = self.lattice.step, self.lattice.first + self.lattice.count - 1
        lattice = Lattice(-self.lattice.origin, step, -last, self.lattice.count)
        with np.errstate(over="ignore"):
            masses = (self.masses * np.exp(-self.lattice.points))[::-1]
        nothing = np.zeros(len(masses))
        return LossList(lattice, masses, nothing, self.variance, 0.0, self.slack)


@np.errstate(all="ignore")
def discretised(
    law: LossLaw, origin: Fraction, step: Fraction, low: float, high: float
) -> LossList:
    """Return the list of one use on a lattice.

    Losses may be displaced by `shift` from where the tails put them. Moved back into their cell,
    outcomes keep p and change q by a factor of at most e^{shift}; the slack moves them out again.
    """
    lattice = Lattice.between(origin, step, low, high)
    distance = away(law, origin, step)
    if distance is not None:
        return _on_points(law, lattice, distance)
    points = lattice.points
    found = cells(law, points)
    masses, errors = connect_the_dots(found, points, lattice.error)
    variance = 0.25 * float(step) ** 2 * MARGIN
    slack = (found.shift + 2.0 * lattice.error) * MARGIN
    return LossList(lattice, masses, errors, variance, found.lost, slack)


def _on_points(law: LossLaw, lattice: Lattice, distance: float) -> LossList:
    """Return a list with the mass between the middles of points."""
    step = float(lattice.step)
    edges = float(lattice.origin) + step * (np.arange(lattice.count + 1) + lattice.first - 0.5)
    found = cells(law, edges)
    masses, errors = found.p + found.p_error, found.p_error * 2.0
    masses[0] += found.moved
    errors[0] += found.moved
    slack = (found.shift + distance + 2.0 * lattice.error) * MARGIN
    return LossList(lattice, masses, errors, 0.0, found.lost, slack)


@record
class Tilted:
    """P-masses weights e^{log_mgf - c l} at the losses l of a lattice, of sum about 1.

    The profile that they stand for is above the true one, after losses have been moved by `slack`.

    Attributes:
        c: the tilt.
        lattice: the points.
        weights: non-negative.
        log_mgf: K(c), about.
        relative: error of each weight, relatively.
        missing: sum of weights that may be lacking or too many, wherever they are: each is worth
            C(c) <= 1 / (1 + c) at most, the supremum of e^{-cx} (1 - e^{-x}).
        variance: of the spread.
        lost: P-mass above, which counts as infinite above and as nothing below.
        slack: displacement of the losses.
        noise: root of the sum of squared errors of the weights, beside that.
    """

    c: float
    lattice: Lattice
    weights: Array
    log_mgf: float
    relative: float
    missing: float
    variance: float
    lost: float
    slack: float
    noise: float = 0.0

    @property
    def absent(self) -> float:
        """Return the sum of weights that may be lacking or too many, noise with them."""
        return (self.missing + self.noise * math.sqrt(len(self.weights))) * MARGIN


# Weights below this may be off by more than the others are, relatively.
LIGHTEST = 1e-18


@np.errstate(all="ignore")
def tilted(found: LossList, c: float) -> Tilted:
    """Tilt: log m + c l - K is off by what its log is, and c times what the points are.

    The log is off by 4 units, the product and both sums by one each, exp by 4.
    """
    points = found.lattice.points
    logs = np.log(found.masses)
    exponents = logs + c * points
    top = float(exponents.max())
    if not math.isfinite(top):
        raise NotCertifiedError("nothing of the law is left on the lattice")
    log_mgf = top + math.log(float(np.exp(exponents - top).sum()))
    weights = np.exp(exponents - log_mgf)
    sizes = 5.0 * np.abs(np.maximum(logs, -1e3)) + 2.0 * np.abs(c * points) + abs(log_mgf)
    units = UNIT * (8.0 + sizes) * MARGIN + abs(c) * found.lattice.error
    heavy = weights > LIGHTEST
    relative = float(units[heavy].max())
    missing = float((weights * units)[~heavy].sum())
    errors = np.exp(np.log(found.errors) + c * points - log_mgf)
    # An e is worth 1 + c times as much as a weight, which is what P-mass is that was moved, and all
    # that is on a point.
    dear = np.where(found.variance > 0.0, errors * (1.0 + c), errors)
    dear[0] = errors[0]
    missing = (missing + float(dear.sum())) * MARGIN
    given = found.variance, found.lost, found.slack
    return Tilted(c, found.lattice, weights, log_mgf, relative, missing, *given)


def common_step(laws: Sequence[tuple[LossLaw, int]], least: float) -> Fraction | None:
    """Return the step of lattices that hold all losses, if there is one so large.

    It is the greatest common divisor of the laws' steps, or nearly that of distances of atoms.
    """
    gaps = [gap_of(law) for law, _ in laws if law.lattice or law.properties.listed]
    known = [gap for gap in gaps if gap]
    if len(gaps) < len(laws) or not known:
        return None
    step = reduce(nearly_common, known)
    on_it = all(away(law, origin_of(law), step) is not None for law, _ in laws)
    return step if on_it and float(step) >= least else None


def nearly_common(first: Fraction, second: Fraction) -> Fraction:
    """Return a divisor of the larger that the smaller is nearly a multiple of (Euclid)."""
    a, b = max(first, second), min(first, second)
    while b > ALIKE * max(first, second):
        rest = a - b * round(a / b)
        a, b = b, abs(rest)
    return max(first, second) / round(max(first, second) / a)


def away(law: LossLaw, origin: Fraction, step: Fraction) -> float | None:
    """Return how far losses are from the points next to them, at most; None if they are not near.

    They all are points where a lattice of the law is part of that one.
    """
    if law.lattice is not None:
        start, gap = law.lattice
        whole = (gap / step).denominator == 1
        return 0.0 if whole and ((start - origin) / step).denominator == 1 else None
    if not law.properties.listed:
        return None
    places = (np.array(cast("AtomicLaw", law).losses) - float(origin)) / float(step)
    distance = float(np.abs(places - np.rint(places)).max())
    return distance * float(step) if distance <= NEAR else None


def step_near(
    laws: Sequence[tuple[LossLaw, int]], wanted: float, coarser: Sequence[int] | None = None
) -> Fraction:
    """Return a step of about that size with which the law with atoms that is used most has them.

    Where lattices are made coarser on the way, so many times each, the first one may be enough.
    """
    times = coarser or [1] * len(laws)
    gaps = [(n, gap_of(law), m) for (law, n), m in zip(laws, times, strict=True)]
    found = [(n, gap, m) for n, gap, m in gaps if gap is not None and gap > wanted / m]
    if not found:
        return Fraction(wanted)
    _, gap, m = max(found)
    m = 1 if gap > wanted else m
    return gap / math.ceil(gap / Fraction(wanted) * m) * m


def unit_for(width: float, c: float, levels: int = 1) -> float:
    """Return root n times the step for which the ends of epsilon of n uses differ by a width.

    They do by about 0.9 (c + 1) n step^2 on each level: three times tau^2 = n step^2 / 4 times the
    density at epsilon (`sums.py`), and the mean of what the spread adds. And what is known of H
    needs tau times the tilt below 1.
    """
    fine = math.sqrt(width / COST / ((c + 1.0) * levels))
    return min(fine, 2.0 * LARGEST_TILT / ((c + 1.0) * math.sqrt(levels)))


def origin_of(law: LossLaw) -> Fraction:
    """Return a point of the lattice of a law: one of its losses, or 0."""
    if law.lattice is not None:
        return law.lattice[0]
    return Fraction(law.atom_locations[0]) if law.atom_locations else Fraction(0)


def gap_of(law: LossLaw) -> Fraction | None:
    """Return the distance of two atoms that divides the distances of all, if there is one."""
    if law.lattice is not None:
        return law.lattice[1]
    # Different numbers may be the same doubles.
    exact = sorted({Fraction(loss) for loss in law.atom_locations})
    if len(exact) < 2:
        return None
    unit = reduce(nearly_common, [b - a for a, b in itertools.pairwise(exact)])
    # The whole spread over a whole number, so that the last atom is met, too.
    spread = exact[-1] - exact[0]
    parts = round(spread / unit)
    return spread / parts if parts <= MOST_PARTS else spread
