"""A mechanism that is run again until its result is accepted, or a coin says stop.

Run M. If its result is acceptable publish it, and stop. Else stop with probability gamma and
publish nothing; else run again. What is acceptable is any property of the result (Liu, Talwar 2019,
Theorem 3.1, for pure M). With p the chance that a run is accepted and D = gamma + (1 - gamma) p,
what is published is A(S) = M(S, accepted) / D, and nothing with gamma (1 - p) / D.

From above. Let (P, Q) dominate M, h be its profile, and G(p) the largest chance under Q of events
that have at most the chance p under P. With primes for the neighbour, D' <= D(G(p)), and a test of
A, with nothing in it or not, is a test of M, of value 1 on S and gamma where M is not accepted. So

    A(S) - a A'(S) = (M(phi) - a (D / D') M'(phi)) / D
                  <= max over p of h(a D(p) / D(G(p))) / D(p).

h falls and G grows: in a cell of p the least D counts, and the largest G.

From below. M may be its own dominating pair, and accept what has a loss of at most u, or of at
least v: A is a list again. Where M is pure with the largest loss e and p = 1 / (1 + e^e), an
outcome that is accepted with it costs e + log((e^e + gamma) / (1 + gamma e^e)), the most that there
is: D' / D is largest where both bounds on p', e^e p and 1 - e^-e (1 - p), meet.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.engine.terms import one_law
from privcalc.errors import NotCertifiedError
from privcalc.exact import doubles
from privcalc.losses.cells import Outcomes, listed, lower_law
from privcalc.losses.law import Members, Term
from privcalc.losses.profiles import law_of_tests, profile_law
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.search import falling_hull
from privcalc.numerics.work import charge
from privcalc.record import record
from privcalc.selection.base import TOLERANCE, bases
from privcalc.selection.node import ABOVE, LARGEST_EPSILON, SMALLEST, last_point, node_points
from privcalc.selection.testing_region import ProfileGrid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from privcalc.engine.terms import Realized
    from privcalc.losses.atoms import AtomicLaw
    from privcalc.numerics.rounding import Array
    from privcalc.selection.base import Base

# Cells of p on either side of 1/2, and the least of it; points of the hull.
CELLS, LEAST, FIRST, COUNT = 150, 1e-12, 40, 400
# Cells are cut so often, in so many parts, where they may be above the largest value by a part.
ROUNDS, PARTS, NEAR, FINE, MOST = 16, 6, 1e-4, 1e-10, 60_000
# Points of the profiles of M.
POINTS = 400
# Outcomes of M in lower ends, and the mass of large losses that are accepted, for a start.
LIST, USUAL, TRIED = 2000, 1e-9, 80
SLACK = 64.0 * UNIT


class Accepted:
    """Upper ends of the profile in one direction.

    Attributes:
        gamma: of the coin, rounded down: less is charged for a larger one.
    """

    def __init__(self, gamma: float, forward: Base, backward: Base) -> None:
        """Tabulate both profiles, and choose cells of p."""
        self.gamma = gamma
        self._grids = ProfileGrid(forward), ProfileGrid(backward)
        for grid in self._grids:
            grid.reach(LEAST, LEAST)
            grid.add(*(np.linspace(0.0, end, POINTS) for end in grid.frontiers))
        # Lines of the corners of a hull, and the p from which each is below the next.
        back = self._grids[1]
        kept = falling_hull(back.logs, back.values)
        s, values = np.exp(back.logs[kept]), back.values[kept]
        self._lines = s, values, -np.diff(values) / np.diff(s)
        near = np.geomspace(LEAST * gamma, 0.5, CELLS)
        self._edges = np.concatenate([[0.0], near, 1.0 - near[-2::-1], [1.0]])
        self._most = self._largest(self._edges)

    def _largest(self, p: Array) -> Array:
        """Return G(p), rounded up: every line H + s p bounds the testing curve."""
        s, values, slopes = self._lines
        place = np.searchsorted(-slopes, -p)
        found: Array = (values[place] + s[place] * p) * (1.0 + SLACK)
        return np.minimum(found, 1.0)

    def _values(self, epsilon: float, p: Array, most: Array) -> Array:
        """Return h(a D / D') / D, rounded up."""
        d = (self.gamma + (1.0 - self.gamma) * p) * (1.0 - SLACK)
        x = epsilon + self._logs(p, most) - SLACK * abs(epsilon)
        values: Array = self._grids[0].upper(x) / d * (1.0 + SLACK)
        return values

    def _logs(self, p: Array, most: Array) -> Array:
        """Return log D / D', rounded down."""
        d, other = (self.gamma + (1.0 - self.gamma) * each for each in (p, most))
        logs: Array = np.log(d / other) - SLACK
        return logs

    def _ratios(self, p: Array, most: Array) -> Array:
        """Return D' / D, rounded up."""
        ratios: Array = np.exp(-self._logs(p, most))
        return ratios

    def largest(self, value: Callable[[Array, Array], Array], near: float = NEAR) -> float:
        """Bound a value of p and G(p): in cells by their worse ends, of which some are cut."""
        low, high, most = self._edges[:-1], self._edges[1:], self._most[1:]
        for step in range(ROUNDS):
            charge(0.3 * len(low))
            bounds = value(low, most)
            best = value(high, most).max()
            some = np.flatnonzero(bounds > best * (1.0 + near))
            if step == ROUNDS - 1 or not len(some) or len(some) * PARTS > MOST:
                break
            shares = np.arange(PARTS + 1) / PARTS
            cuts = low[some, None] + (high - low)[some, None] * shares
            cuts[:, -1] = high[some]
            low, high = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
            most = self._largest(high)
        return max(float(bounds.max()), float(best) * (1.0 + near))

    def deltas(self, epsilons: Array) -> Array:
        """Return the largest of all cells, at most 1, shape (n,)."""
        found = [self.largest(partial(self._values, epsilon)) for epsilon in epsilons.tolist()]
        most: Array = np.minimum(np.array(found), 1.0)
        return most

    @property
    def end(self) -> float:
        """Return a bound on the losses, or infinity."""
        return self._grids[0].base.largest + math.log(self.largest(self._ratios, FINE)) + SLACK


@record
class AcceptedMembers(Members):
    """Lists of M of which the smallest losses are accepted, and some of the largest.

    Attributes:
        gamma: of the coin, off by a unit.
        lists: of M below its pair, in both orders.
    """

    by_order: ClassVar[bool] = False
    gamma: float
    lists: tuple[AtomicLaw, AtomicLaw]

    def member(self, c: float | None) -> AtomicLaw:
        """Return that with a large loss of about the usual delta, in one order."""
        return accepted_law(self.lists[1 if c is not None and c < 0.0 else 0], self.gamma, USUAL)

    def tests_law(self) -> AtomicLaw:
        """Return the law of all tests of some members: one use attains each in some order."""
        found: list[tuple[Array, Array]] = []
        for share in np.linspace(0.0, 1.0, TRIED):
            for law in self.at(float(share)):
                order = np.argsort(-law.columns[0])
                error = UNIT * (len(order) + 8.0)
                p = law.infinity_mass + np.cumsum(law.columns[1][order])
                q = np.cumsum(np.array(law.lower_masses)[order])
                found.append((p * (1.0 - error), q * (1.0 + error)))
        p, q = (np.concatenate(each) for each in zip(*found, strict=True))
        return law_of_tests(p, q)

    def at(self, share: float) -> tuple[AtomicLaw, AtomicLaw]:
        """Return those with a mass of large losses between 1/2 and LEAST."""
        top = 0.5 * (2.0 * LEAST) ** share
        first, second = (accepted_law(law, self.gamma, top) for law in self.lists)
        return first, second


@np.errstate(all="ignore")
def accepted_law(law: AtomicLaw, gamma: float, top: float) -> AtomicLaw:
    """Return a list below A, where so much of the largest losses is accepted with small ones.

    Of an outcome a part may be accepted, by a coin that is part of the result. The list is A for
    the doubles of M's, but for rounding, as masses and losses are rounded down.
    """
    order = np.argsort(law.columns[0])
    losses, masses = (column[order] for column in law.columns)
    other = np.array(law.lower_masses)[order]
    above = np.append(np.cumsum(masses[::-1])[::-1], 0.0) + law.infinity_mass
    shares = np.clip((top - above[1:]) / masses, 0.0, 1.0)
    p = np.cumsum(masses * (1.0 - shares)) + float((masses * shares).sum()) + law.infinity_mass
    q = np.cumsum(other * (1.0 - shares)) + float((other * shares).sum())
    d, d_other = (gamma + (1.0 - gamma) * np.minimum(each, 1.0) for each in (p, q))
    last = int(np.argmax(d_other / d))
    shares[: last + 1] = 1.0
    end, end_other = float(d[last]), float(d_other[last])
    shift, error = math.log(end_other) - math.log(end), UNIT * (4.0 * len(losses) + 64.0)
    nothing = [gamma * max(0.0, 1.0 - float(each[last])) for each in (p, q)]
    some = shares > 0.0
    found = losses[some] + shift, (masses * shares)[some] / end
    if min(nothing) > LEAST:
        loss = math.log(nothing[0] / end) - math.log(nothing[1] / end_other)
        # 1 less a sum is off by more.
        loss -= error / min(1.0, *nothing)
        found = (
            np.append(found[0], loss),
            np.append(found[1], nothing[0] / end * (1.0 - error / nothing[0])),
        )
    x = found[0] - error * (1.0 + np.abs(found[0]))
    alone = law.infinity_mass / end * (1.0 - error)
    return lower_law(Outcomes(x, np.maximum(found[1] * (1.0 - error), 0.0), alone))


def until_law(gamma: Fraction, directions: Mapping[str, Realized]) -> Term:
    """Return what is known of both orders of the neighbours at once.

    Args:
        gamma: the chance to stop after a run that is not accepted, 0 < gamma < 1.
        directions: what one run costs, in each direction.

    Raises:
        NotCertifiedError: no delta below 1 is proved.
    """
    # Both D and D' grow with gamma, and D / D' is nearer to 1: less is charged for a larger one.
    stop = doubles(gamma)[0]
    pairs = bases(directions, TOLERANCE, "auto")
    mass = max(forward.infinity_mass for forward, _ in pairs.values()) / stop
    if mass >= 1.0:
        raise NotCertifiedError(
            "one run may reveal everything, with a probability that is not below gamma"
        )
    parts = [Accepted(stop, *pair) for pair in pairs.values()]

    def evaluate(epsilons: Array) -> Array:
        worst: Array = np.maximum.reduce([part.deltas(epsilons) for part in parts])
        return worst

    last = last_point(evaluate, max(SMALLEST, mass * (1.0 + ABOVE)))
    points = node_points(evaluate, np.linspace(0.0, last, FIRST), smallest=SMALLEST, count=COUNT)
    end = max(part.end for part in parts)
    if mass == 0.0 and end <= LARGEST_EPSILON:
        points = (*(point for point in points if point[0] < end), (end, Fraction(0)))
    upper = profile_law(points)
    own = [
        one_law(list(each.upper)) if each.lower is each.upper else None
        for each in directions.values()
    ]
    known = [law for law in own if law is not None]
    if len(known) < len(own):
        return Term(upper)
    below = [listed(law, above=False, cells=LIST) for law in (known * 2)[:2]]
    members = AcceptedMembers(float(gamma), (below[0], below[1]))
    return Term(upper, members.tests_law(), members=members)
