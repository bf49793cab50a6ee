"""A truth: the law of the loss of one pair to 50 digits, and what sampling makes of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp, mpf

from tests.losses.contract.law_densities import (
    DIGITS,
    NEGLIGIBLE,
    Exponential,
    Normal,
    added,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.losses.contract.law_densities import Atom, Density, Masses, Number

# Where the largest losses have more than e^-LEFT_OUT of the largest term, others are missing.
LEFT_OUT = 50.0


@dataclass(frozen=True)
class Truth:
    """One direction of one pair.

    Attributes:
        atoms: (loss, P-mass, Q-mass), in any order.
        density: what is not atomic.
        infinity_mass: P(L = inf).
        lower_infinity_mass: Q(L = -inf).
        closed: E_P[e^{zL}; L finite] where it is a closed form.
        unbounded: whether there are more atoms, further out, of no mass to speak of.
    """

    atoms: tuple[Atom, ...] = ()
    density: Density | None = None
    infinity_mass: Number = field(default_factory=lambda: mpf(0))
    lower_infinity_mass: Number = field(default_factory=lambda: mpf(0))
    closed: Callable[[Number], Number] | None = field(default=None, compare=False)
    unbounded: bool = False

    @cached_property
    def _sorted(self) -> tuple[list[Number], list[Masses], list[Masses]]:
        """Return the atoms' losses, and the masses of the first k and of all but the first k."""
        rows = sorted(self.atoms, key=lambda row: row[0])
        first, last = [(mpf(0), mpf(0))], [(mpf(0), mpf(0))]
        for _, p, q in rows:
            first.append((first[-1][0] + p, first[-1][1] + q))
        for _, p, q in reversed(rows):
            last.append((last[-1][0] + p, last[-1][1] + q))
        return [row[0] for row in rows], first, last[::-1]

    def above(self, loss: Number, *, included: bool = False) -> Masses:
        """Return the finite P- and Q-mass of L > loss, or of L >= loss."""
        losses, _, last = self._sorted
        index = bisect_left(losses, loss) if included else bisect_right(losses, loss)
        return added(last[index], self.density.above(loss) if self.density else None)

    def below(self, loss: Number, *, included: bool = True) -> Masses:
        """Return the finite P- and Q-mass of L <= loss, or of L < loss."""
        losses, first, _ = self._sorted
        index = bisect_right(losses, loss) if included else bisect_left(losses, loss)
        return added(first[index], self.density.below(loss) if self.density else None)

    def profile(self, epsilon: Number) -> Number:
        """Return the finite part of delta."""
        p, q = self.above(epsilon)
        return p - mp.exp(epsilon) * q

    def moment(self, z: Number) -> Number:
        """Return E_P[e^{zL}; L finite]; not a number where quadrature misses the largest losses.

        Tilted so far a wide law has most of its mass beyond the nodes, or an infinite moment.
        """
        if self.closed is not None:
            return self.closed(z)
        losses, weights, rough = self._outcomes
        if not losses:
            return mpf(0)
        c = float(mp.re(z))
        with np.errstate(invalid="ignore"):
            heights = rough[1] + c * rough[0]
            endless = self.density is not None and self.density.ends[1] == mp.inf
            if endless and heights[int(rough[0].argmax())] > heights.max() - LEFT_OUT:
                return mp.nan
        used = np.flatnonzero(heights > heights.max(initial=-np.inf) - NEGLIGIBLE)
        return mp.fsum(weights[k] * mp.exp(z * losses[k]) for k in used)

    @cached_property
    def _outcomes(self) -> tuple[list[Number], list[Number], Any]:
        """Return losses and weights of atoms and of nodes of the density, roughly with logs."""
        rows = [*self.atoms, *(self.density.nodes() if self.density else [])]
        rows = [row for row in rows if row[1] > 0]
        rough = [[float(loss), float(mp.log(p))] for loss, p, _ in rows]
        return [row[0] for row in rows], [row[1] for row in rows], np.array(rough).T

    @property
    def max_loss(self) -> Number:
        """Return the supremum of the finite losses; -inf if there is none."""
        ends = [self.density.ends[1]] if self.density else []
        return max([*ends, *(loss for loss, _, _ in self.atoms)], default=mpf("-inf"))


@dataclass(frozen=True)
class Mapped:
    """The density of a Poisson sample of an event with loss -X for adding, X = log dW/dR.

    log(1 - q + q e^X) increases in X.
    """

    base: Density
    q: Number
    removing: bool

    def _masses(self, loss: Number, *, larger: bool) -> Masses:
        """Return P- and Q-masses of larger or smaller losses."""
        share = mp.exp(loss if self.removing else -loss) - (1 - self.q)
        # The base's loss -X, increasing or not in the loss.
        place = mpf("inf") if share <= 0 else -mp.log(share / self.q)
        up = larger != self.removing
        r, w = self.base.above(place) if up else self.base.below(place)
        mixed = (1 - self.q) * r + self.q * w
        return (mixed, r) if self.removing else (r, mixed)

    def above(self, loss: Number) -> Masses:
        """Return the masses of larger losses."""
        return self._masses(loss, larger=True)

    def below(self, loss: Number) -> Masses:
        """Return those of smaller losses."""
        return self._masses(loss, larger=False)

    def nodes(self) -> list[Atom]:
        """Map the rule of the base."""
        return [sampled_atom(atom, self.q, removing=self.removing) for atom in self.base.nodes()]

    @property
    def ends(self) -> Masses:
        """Map the ends of the base."""
        found = []
        for end in self.base.ends:
            loss = mp.log(1 - self.q + self.q * mp.exp(-end))
            found.append(loss if self.removing else -loss)
        return min(found), max(found)


def sampled_atom(atom: Atom, q: Number, *, removing: bool) -> Atom:
    """Map an outcome (log r/w, r, w) of R and W to one of the sampled pair."""
    loss, r, w = atom
    moved = mp.log1p(q * mp.expm1(-loss))
    mixed = (1 - q) * r + q * w
    return (moved, mixed, r) if removing else (-moved, r, mixed)


def sampled(base: Truth, q: Number, *, removing: bool) -> Truth:
    """Return the sampled pair of (R, W), the base's pair for adding; 0 < q < 1."""
    atoms = [sampled_atom(atom, q, removing=removing) for atom in base.atoms]
    if base.infinity_mass:
        floor, r = mp.log1p(-q), base.infinity_mass
        atoms.append((floor, (1 - q) * r, r) if removing else (-floor, r, (1 - q) * r))
    lost, none = q * base.lower_infinity_mass, mpf(0)
    density = None if base.density is None else Mapped(base.density, q, removing)
    up, down = (lost, none) if removing else (none, lost)
    # The floor is approached by outcomes of no mass: only one end of the losses moves.
    unbounded = base.unbounded and removing
    if base.unbounded and not removing:
        atoms.append((-mp.log1p(-q), none, none))
    return Truth(tuple(atoms), density, up, down, unbounded=unbounded)


@dataclass(frozen=True)
class Glued:
    """The density of two halves: losses above 0 of one sampled pair, below 0 of the other."""

    up: Density
    down: Density

    def above(self, loss: Number) -> Masses:
        """Return the masses of larger losses."""
        if loss >= 0:
            return self.up.above(loss)
        more, less = self.down.below(mpf(0)), self.down.below(loss)
        return added(self.up.above(mpf(0)), (more[0] - less[0], more[1] - less[1]))

    def below(self, loss: Number) -> Masses:
        """Return those of smaller losses."""
        if loss <= 0:
            return self.down.below(loss)
        more, less = self.up.above(mpf(0)), self.up.above(loss)
        return added(self.down.below(mpf(0)), (more[0] - less[0], more[1] - less[1]))

    def nodes(self) -> list[Atom]:
        """Return the nodes of the halves; a panel ends at 0 as the base's rule is symmetric."""
        up = [atom for atom in self.up.nodes() if atom[0] > 0]
        return up + [atom for atom in self.down.nodes() if atom[0] < 0]

    @property
    def ends(self) -> Masses:
        """Return the outer ends."""
        return self.down.ends[0], self.up.ends[1]


def glued(base: Truth, q: Number) -> Truth:
    """Return the pair of a sample of fixed size for replacing a record; `base` is symmetric."""
    up, down = sampled(base, q, removing=True), sampled(base, q, removing=False)
    density = Glued(up.density, down.density) if up.density and down.density else None
    atoms = [atom for atom in up.atoms if atom[0] > 0]
    atoms += [atom for atom in down.atoms if atom[0] < 0]
    rest = 1 - up.above(mpf(0))[0] - down.below(mpf(0), included=False)[0] - up.infinity_mass
    if rest > mpf(10) ** (5 - DIGITS):
        atoms.append((mpf(0), rest, rest))
    return Truth(
        tuple(atoms), density, up.infinity_mass, down.lower_infinity_mass, unbounded=up.unbounded
    )


def of_outcomes(outcomes: Iterable[Masses]) -> Truth:
    """Return the truth of a table of P- and Q-probabilities."""
    atoms: dict[Number, list[Number]] = {}
    first = other = mpf(0)
    for p, q in outcomes:
        if not q:
            first += p
        elif not p:
            other += q
        else:
            both = atoms.setdefault(p / q, [mpf(0), mpf(0)])
            both[0], both[1] = both[0] + p, both[1] + q
    return Truth(
        tuple((mp.log(a), p, q) for a, (p, q) in atoms.items()),
        infinity_mass=first,
        lower_infinity_mass=other,
    )


def of_profile(points: Sequence[Masses], losses: dict[Number, Number] | None = None) -> Truth:
    """Return the pair whose profile joins points (a, H), from (0, 1) on, and is flat at the end.

    `losses` may know log a for some of them.
    """
    slopes = [(h - g) / (b - a) for (a, g), (b, h) in pairwise(points)]
    slopes.append(mpf(0))
    atoms = []
    for k, (a, _) in enumerate(points[1:]):
        q = slopes[k + 1] - slopes[k]
        if q > mpf(10) ** (8 - DIGITS):
            loss = mp.log(a) if losses is None else losses[a]
            atoms.append((loss, a * q, q))
    last = points[-1][1]
    lost = 1 - mp.fsum(q for _, _, q in atoms)
    lost = lost if lost > mpf(10) ** (8 - DIGITS) else mpf(0)
    return Truth(tuple(atoms), infinity_mass=last, lower_infinity_mass=lost)


def normal(mu: Number) -> Truth:
    """Return the truth of N(mu, 1) against N(0, 1)."""
    return Truth(density=Normal(mu), closed=lambda z: mp.exp(z * (z + 1) * mu**2 / 2))


def laplace(e: Number) -> Truth:
    """Return the truth of two Laplace laws at distance e."""

    def moment(z: Number) -> Number:
        up, down = mp.exp(z * e), mp.exp(-(z + 1) * e)
        return (up + down + (up - down) / (2 * z + 1)) / 2

    half = mpf(1) / 2
    atoms = ((e, half, half * mp.exp(-e)), (-e, half * mp.exp(-e), half))
    return Truth(atoms, Exponential(e, half), closed=moment)


def bounded_range(eta: Number) -> Truth:
    """Return the pair of the profile (1 - e^{(x - eta)/2})^2 / (1 - e^{-eta})."""
    factor = -1 / mp.expm1(-eta)

    def moment(z: Number) -> Number:
        return factor * (mp.exp(z * eta) - mp.exp(-(z + 1) * eta)) / (2 * z + 1)

    return Truth(density=Exponential(eta, factor), closed=moment)


def chained(base: Truth, records: int) -> Truth:
    """Return the pair of a chain of neighbours: its curve of tests is that of one step, iterated.

    Of a pair of finitely many losses the curve G, the largest P-mass of events of a Q-mass, starts
    at P(L = inf) and has pieces of lengths q and slopes e^l, from the largest l on.
    """
    step = sorted(((q, mp.exp(loss)) for loss, _, q in base.atoms), key=lambda row: -row[1])
    start, pieces = base.infinity_mass, step
    for _ in range(records - 1):
        start, pieces = _composed(base.infinity_mass, step, start, pieces)
    return Truth(
        tuple((mp.log(slope), q * slope, q) for q, slope in pieces),
        infinity_mass=start,
        lower_infinity_mass=1 - mp.fsum(q for q, _ in pieces),
    )


def mixed_chain(steps: Sequence[Truth], q: Number, *, removing: bool) -> Truth:
    """Return the pair of a group of as many records as there are steps, each sampled with q.

    In the order of falling likelihood an event that has y without them has G_j(y) with j of them.
    """
    count = len(steps)
    places, curves = {mpf(0), mpf(1)}, []
    for step in steps:
        corners = [(mpf(0), step.infinity_mass)]
        for _, p, length in sorted(step.atoms, key=lambda row: -row[0]):
            corners.append((corners[-1][0] + length, corners[-1][1] + p))
        corners.append((mpf(1), mpf(1)))
        curves.append(corners)
        places |= {x for x, _ in corners}

    def between(corners: list[Masses], y: Number) -> Number:
        pieces = pairwise(corners)
        (low, a), (high, b) = next(piece for piece in pieces if y <= piece[1][0])
        return a + (b - a) * ((y - low) / (high - low) if high > low else mpf(1))

    def height(y: Number) -> Number:
        chances = [mp.binomial(count, j) * q**j * (1 - q) ** (count - j) for j in range(count + 1)]
        values = [y, *(between(corners, y) for corners in curves)]
        return mp.fsum(w * value for w, value in zip(chances, values, strict=True))

    ends = [(y, height(y)) for y in sorted(places)]
    pairs = [(b - a, y - x) for (x, a), (y, b) in pairwise(ends) if y - x > mpf(10) ** -25]
    pairs.append((ends[0][1], mpf(0)))
    return of_outcomes(pairs if removing else [(y, x) for x, y in pairs])


def _composed(
    begin: Number, step: list[Masses], start: Number, pieces: list[Masses]
) -> tuple[Number, list[Masses]]:
    """Return G_step(G(y)) in the same form: its value at 0, and lengths with slopes."""
    values, value = [start], start
    for length, slope in pieces:
        value += length * slope
        values.append(value)
    ends, end = [mpf(0)], mpf(0)
    for length, _ in step:
        end += length
        ends.append(end)
    found: list[Masses] = []
    first = begin
    for (low, high), (_, outer) in zip(pairwise(ends), step, strict=True):
        first += max(mpf(0), min(high, start) - low) * outer
        for (left, right), (_, inner) in zip(pairwise(values), pieces, strict=True):
            part = min(high, right) - max(low, left)
            if part > 0:
                found.append((part / inner, inner * outer))
    return first, sorted(found, key=lambda row: -row[1])


# Numbers that differ by less are the same.
CLOSE = mpf(10) ** (8 - DIGITS)


def opposite(base: Truth, q: Number) -> Truth | None:
    """Return the pair for a base (R, W), 0 < q < 1; None where it is not known here."""
    if base.density is not None:
        # Densities are those of `tests/oracles/opposite.py`.
        return None
    rows = sorted(base.atoms, key=lambda row: row[0])
    mirrored = list(zip(rows, rows[::-1], strict=True))
    if base.unbounded:
        # Symmetric noise: x and -x have the same R-mass, and W' at x is W at -x.
        if any(abs(one[1] - other[1]) > CLOSE * one[1] for one, other in mirrored):
            return None
        pairs = [((1 - q) * r + q * w, (1 - q) * r + q * v) for (_, r, w), (_, _, v) in mirrored]
        found = of_outcomes(pairs)
        return Truth(found.atoms, unbounded=True)
    return _opposite_cells(base, rows, q)


def _opposite_cells(base: Truth, rows: list[Atom], q: Number) -> Truth:
    """Cut [0, 1], the R-mass in falling order of W / R, where W or W' changes its density."""
    ends, slopes = [mpf(0)], []
    for _, r, w in rows:
        ends.append(ends[-1] + r)
        slopes.append(w / r)
    if base.infinity_mass:
        slopes.append(mpf(0))
        ends.append(mpf(1))
    ends[-1] = mpf(1)
    cuts = [mpf(0)]
    for cut in sorted([*ends, *(1 - end for end in ends)]):
        if cut - cuts[-1] > CLOSE:
            cuts.append(cut)
    lost = q * base.lower_infinity_mass
    outcomes = [(lost, mpf(0)), (mpf(0), lost)] if lost else []
    for left, right in pairwise(cuts):
        middle = (left + right) / 2
        first = slopes[sum(end < middle for end in ends) - 1]
        other = slopes[sum(end < 1 - middle for end in ends) - 1]
        width = right - left
        outcomes.append((width * (1 - q + q * first), width * (1 - q + q * other)))
    return of_outcomes(outcomes)
