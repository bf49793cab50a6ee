"""What the privacy-loss laws of the registered mechanisms are, to 50 digits and from definitions.

A `Truth` is one direction of one dominating pair: atoms, a density, and masses at infinity. The
numbers are those that a specification stands for (`privcalc.exact`: 0.1 is one tenth), and nothing
here is computed by the code under test. `TRUTHS` has one entry for each mechanism of closed form;
sampling, groups and gluing act on these.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Protocol

import mpmath
import numpy as np
from mpmath import mp, mpf

from privcalc.exact import exact
from privcalc.mechanisms.tables import read_rows
from privcalc.relation import Adjacency
from privcalc.spec.tree import Leaf, Node, Repeated, Wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

DIGITS = 50
# Quadrature is for real tilts up to this one.
LARGEST_TILT = 20
# Terms of moments that are smaller than e^-NEGLIGIBLE of the largest are left out.
NEGLIGIBLE = 85.0
# Discrete Gaussians with more outcomes are too slow here.
MOST_OUTCOMES = 600

Number = Any  # mpf or mpc; mpmath has no annotations
Masses = tuple[Number, Number]
Atom = tuple[Number, Number, Number]


class Density(Protocol):
    """The part of a law that has a density."""

    def above(self, loss: Number) -> Masses:
        """Return the P- and Q-mass of L > loss."""
        ...

    def below(self, loss: Number) -> Masses:
        """Return the P- and Q-mass of L < loss."""
        ...

    def nodes(self) -> list[Atom]:
        """Return a quadrature rule: losses with P- and Q-weights."""
        ...

    @property
    def ends(self) -> Masses:
        """Return the infimum and the supremum of the losses."""
        ...


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
        return _sum(last[index], self.density.above(loss) if self.density else None)

    def below(self, loss: Number, *, included: bool = True) -> Masses:
        """Return the finite P- and Q-mass of L <= loss, or of L < loss."""
        losses, first, _ = self._sorted
        index = bisect_right(losses, loss) if included else bisect_left(losses, loss)
        return _sum(first[index], self.density.below(loss) if self.density else None)

    def profile(self, epsilon: Number) -> Number:
        """Return the finite part of delta."""
        p, q = self.above(epsilon)
        return p - mp.exp(epsilon) * q

    def moment(self, z: Number) -> Number:
        """Return E_P[e^{zL}; L finite]."""
        if self.closed is not None:
            return self.closed(z)
        losses, weights, rough = self._outcomes
        if not losses:
            return mpf(0)
        c = float(mp.re(z))
        with np.errstate(invalid="ignore"):
            heights = rough[1] + c * rough[0]
        used = np.flatnonzero(heights > heights.max(initial=-np.inf) - NEGLIGIBLE)
        return mp.fsum(weights[k] * mp.exp(z * losses[k]) for k in used)

    @cached_property
    def _outcomes(self) -> tuple[list[Number], list[Number], Any]:
        """Return losses and weights of atoms and of nodes of the density, and their logs, roughly."""
        rows = [*self.atoms, *(self.density.nodes() if self.density else [])]
        rows = [row for row in rows if row[1] > 0]
        rough = [[float(loss), float(mp.log(p))] for loss, p, _ in rows]
        return [row[0] for row in rows], [row[1] for row in rows], np.array(rough).T

    @property
    def max_loss(self) -> Number:
        """Return the supremum of the finite losses; -inf if there is none."""
        ends = [self.density.ends[1]] if self.density else []
        return max([*ends, *(loss for loss, _, _ in self.atoms)], default=mpf("-inf"))


def _sum(one: Masses, other: Masses | None) -> Masses:
    return one if other is None else (one[0] + other[0], one[1] + other[1])


@cache
def _legendre() -> list[tuple[Number, Number]]:
    """Return nodes and weights of a Gauss rule with 48 points on (-1, 1)."""
    with mp.workdps(DIGITS):
        rule = mpmath.calculus.quadrature.GaussLegendre(mp)
        return list(rule.calc_nodes(5, mp.prec))


def _rule(low: Number, high: Number, width: Number) -> Iterable[tuple[Number, Number]]:
    """Return points and weights of a composite rule with panels of at most a width; one ends at 0."""
    if low < 0 < high:
        yield from _rule(low, mpf(0), width)
        low = mpf(0)
    count = int(mp.ceil((high - low) / width))
    half = (high - low) / (2 * count)
    for k in range(count):
        centre = low + (2 * k + 1) * half
        for x, weight in _legendre():
            yield centre + half * x, half * weight


@dataclass(frozen=True)
class Normal:
    """L ~ N(mu^2/2, mu^2) under P, N(-mu^2/2, mu^2) under Q."""

    mu: Number

    def above(self, loss: Number) -> Masses:
        """Return upper tails."""
        x, half = loss / self.mu, self.mu / 2
        return mp.ncdf(half - x), mp.ncdf(-half - x)

    def below(self, loss: Number) -> Masses:
        """Return lower tails."""
        x, half = loss / self.mu, self.mu / 2
        return mp.ncdf(x - half), mp.ncdf(x + half)

    def nodes(self) -> list[Atom]:
        """Cover both laws, and those tilted as far as that is asked for in either direction."""
        mu, half = self.mu, self.mu / 2
        reach = 15 + LARGEST_TILT * mu
        found = []
        for x, weight in _rule(-half - reach, half + reach, 5 / (1 + mu)):
            p, q = mp.npdf(x - half) * weight, mp.npdf(x + half) * weight
            found.append((mu * x, p, q))
        return found

    @property
    def ends(self) -> Masses:
        """Return no bounds."""
        return mpf("-inf"), mpf("inf")


@dataclass(frozen=True)
class Exponential:
    """P-density factor e^{(l - e)/2} / 2 on [-e, e], and e^{-l} times that under Q."""

    e: Number
    factor: Number

    def above(self, loss: Number) -> Masses:
        """Return integrals from the loss up."""
        e, low = self.e, min(max(loss, -self.e), self.e)
        p, q = -mp.expm1((low - e) / 2), mp.exp(-e) * mp.expm1((e - low) / 2)
        return self.factor * p, self.factor * q

    def below(self, loss: Number) -> Masses:
        """Return integrals up to the loss."""
        e, high = self.e, min(max(loss, -self.e), self.e)
        p, q = mp.exp(-e) * mp.expm1((high + e) / 2), -mp.expm1(-(high + e) / 2)
        return self.factor * p, self.factor * q

    def nodes(self) -> list[Atom]:
        """Return a rule for the interval."""
        found = []
        for x, weight in _rule(-self.e, self.e, mpf(1)):
            p = self.factor * mp.exp((x - self.e) / 2) / 2 * weight
            found.append((x, p, mp.exp(-x) * p))
        return found

    @property
    def ends(self) -> Masses:
        """Return the interval."""
        return -self.e, self.e


@dataclass(frozen=True)
class Quadratic:
    """The loss of N(first) against N(other), pairs of mean and deviation, unequal deviations."""

    first: Masses
    other: Masses

    def _loss(self, x: Number) -> Number:
        (m, s), (n, r) = self.first, self.other
        return mp.log(r / s) - ((x - m) / s) ** 2 / 2 + ((x - n) / r) ** 2 / 2

    @property
    def vertex(self) -> Number:
        """Return the output whose loss is extreme."""
        (m, s), (n, r) = self.first, self.other
        return (m / s**2 - n / r**2) / (1 / s**2 - 1 / r**2)

    def _outside(self, loss: Number) -> tuple[Masses, Masses]:
        """Return the masses outside and inside of the two outputs of a loss."""
        (_, s), (_, r) = self.first, self.other
        bend = (1 / r**2 - 1 / s**2) / 2
        square = (loss - self._loss(self.vertex)) / bend
        if square <= 0:
            return (mpf(1), mpf(1)), (mpf(0), mpf(0))
        root = mp.sqrt(square)
        out, inside = [], []
        for mean, deviation in (self.first, self.other):
            low = (self.vertex - root - mean) / deviation
            high = (self.vertex + root - mean) / deviation
            out.append(mp.ncdf(low) + mp.ncdf(-high))
            inside.append(
                mp.ncdf(high) - mp.ncdf(low) if low < 0 else mp.ncdf(-low) - mp.ncdf(-high)
            )
        return (out[0], out[1]), (inside[0], inside[1])

    def above(self, loss: Number) -> Masses:
        """Return what is outside if P is wider, else what is inside."""
        return self._outside(loss)[0 if self.first[1] > self.other[1] else 1]

    def below(self, loss: Number) -> Masses:
        """Return the rest."""
        return self._outside(loss)[1 if self.first[1] > self.other[1] else 0]

    def nodes(self) -> list[Atom]:
        """Return a rule for outputs."""
        (m, s), (n, r) = self.first, self.other
        wide, narrow = max(s, r), min(s, r)
        found = []
        for x, weight in _rule(min(m, n) - 18 * wide, max(m, n) + 18 * wide, narrow):
            p = mp.npdf((x - m) / s) / s * weight
            q = mp.npdf((x - n) / r) / r * weight
            found.append((self._loss(x), p, q))
        return found

    @property
    def ends(self) -> Masses:
        """Return the loss at the vertex, and infinity on the other side."""
        tip = self._loss(self.vertex)
        return (tip, mpf("inf")) if self.first[1] > self.other[1] else (mpf("-inf"), tip)


@dataclass(frozen=True)
class Mixture:
    """The loss of sum_j b_j N(j mu, 1) against N(0, 1): log sum_j b_j e^{j mu x - (j mu)^2 / 2}."""

    mu: Number
    weights: tuple[Number, ...]
    removing: bool

    def _log_ratio(self, x: Number) -> Number:
        mu = self.mu
        terms = (b * mp.exp(j * mu * x - (j * mu) ** 2 / 2) for j, b in enumerate(self.weights))
        return mp.log(mp.fsum(terms))

    def _output(self, loss: Number) -> Number:
        """Return the output of a log-ratio; it increases."""
        if loss <= mp.log(self.weights[0]):
            return mpf("-inf")
        x = mpf(1)
        while self._log_ratio(x) < loss:
            x *= 2
        # Newton's method for a convex, increasing function, from above.
        while True:
            terms = [
                b * mp.exp(j * self.mu * x - (j * self.mu) ** 2 / 2)
                for j, b in enumerate(self.weights)
            ]
            total = mp.fsum(terms)
            slope = self.mu * mp.fsum(j * term for j, term in enumerate(terms)) / total
            step = (mp.log(total) - loss) / slope
            x -= step
            # What is left when steps change their sign is noise.
            if step < mpf(10) ** (6 - DIGITS) * (1 + abs(x)):
                return x

    def _masses(self, x: Number, *, upper: bool) -> Masses:
        sign = -1 if upper else 1
        mixed = mp.fsum(b * mp.ncdf(sign * (x - j * self.mu)) for j, b in enumerate(self.weights))
        return mixed, mp.ncdf(sign * x)

    def above(self, loss: Number) -> Masses:
        """Return the masses of larger outputs for removing, of smaller ones for adding."""
        if self.removing:
            return self._masses(self._output(loss), upper=True)
        return self._masses(self._output(-loss), upper=False)[::-1]

    def below(self, loss: Number) -> Masses:
        """Return the rest."""
        if self.removing:
            return self._masses(self._output(loss), upper=False)
        return self._masses(self._output(-loss), upper=True)[::-1]

    def nodes(self) -> list[Atom]:
        """Return a rule for outputs."""
        mu, last = self.mu, len(self.weights) - 1
        found = []
        for x, weight in _rule(mpf(-15), 15 + (LARGEST_TILT + 1) * last * mu, 5 / (1 + mu)):
            r = mp.npdf(x) * weight
            loss = self._log_ratio(x)
            p, q = mp.exp(loss) * r, r
            found.append((loss, p, q) if self.removing else (-loss, q, p))
        return found

    @property
    def ends(self) -> Masses:
        """Return the floor and infinity, or for adding the other way round."""
        floor = mp.log(self.weights[0])
        return (floor, mpf("inf")) if self.removing else (mpf("-inf"), -floor)


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
        return _sum(self.up.above(mpf(0)), (more[0] - less[0], more[1] - less[1]))

    def below(self, loss: Number) -> Masses:
        """Return those of smaller losses."""
        if loss <= 0:
            return self.down.below(loss)
        more, less = self.up.above(mpf(0)), self.up.above(loss)
        return _sum(self.down.below(mpf(0)), (more[0] - less[0], more[1] - less[1]))

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
    slopes = [(h - g) / (b - a) for (a, g), (b, h) in zip(points, points[1:], strict=False)]
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


def _gaussian(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth:
    """Noise multiplier, or sigma over sensitivity."""
    del adjacency
    if "noise_multiplier" in given:
        return normal(records / read(given["noise_multiplier"]))
    return normal(records * read(given.get("sensitivity", 1)) / read(given["standard_deviation"]))


def _laplace(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth:
    del adjacency
    if "noise_multiplier" in given:
        return laplace(records / read(given["noise_multiplier"]))
    return laplace(records * read(given.get("sensitivity", 1)) / read(given["scale"]))


def _gdp(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    del adjacency
    return normal(read(given["mu"])) if records == 1 else None


def _discrete_gaussian(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    del adjacency
    sigma, shift = read(given["standard_deviation"]), int(given.get("sensitivity", 1)) * records
    reach = int(38 * sigma) + 4 + LARGEST_TILT * shift
    if reach > MOST_OUTCOMES:
        return None
    weights = {x: mp.exp(-((x / sigma) ** 2) / 2) for x in range(-reach - shift, reach + 1)}
    total = mp.fsum(weights.values())
    step = shift / sigma**2
    return Truth(
        tuple(
            (step * (mpf(shift) / 2 - x), weights[x] / total, weights[x - shift] / total)
            for x in range(-reach, reach + 1)
        ),
        unbounded=True,
    )


def _discrete_laplace(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    del adjacency
    shift = int(given.get("sensitivity", 1))
    step = read(given["epsilon"]) / shift if "epsilon" in given else 1 / read(given["scale"])
    shift *= records
    if shift > MOST_OUTCOMES:
        return None
    a = mp.exp(-step)
    # Outputs up to 0 and from the shift on have one loss each; 1 / (1 + a) is the sum of the tail.
    tail, share = 1 / (1 + a), -mp.expm1(-step) / (1 + a)
    rows = [(shift * step, tail, a**shift * tail), (-shift * step, a**shift * tail, tail)]
    for x in range(1, shift):
        rows.append(((shift - 2 * x) * step, share * a**x, share * a ** (shift - x)))
    return Truth(tuple(rows))


def _staircase(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    """Density A e^{-eps n}, n = 0 for |x| < gamma, 1 for 1 + gamma, ...: cells of [0, 1)."""
    del adjacency
    if records > 1:
        return None
    eps = read(given["epsilon"])
    b = mp.exp(-eps)
    gamma = read(given["gamma"]) if "gamma" in given else 1 / (1 + mp.exp(eps / 2))
    height = -mp.expm1(-eps) / (2 * (gamma + b * (1 - gamma)))
    short = min(gamma, 1 - gamma)
    middle = height * (b * (1 - 2 * gamma) if 2 * gamma < 1 else 2 * gamma - 1)
    # Negative outputs have loss eps, those beyond 1 loss -eps.
    up = mpf(1) / 2 + height * short
    rows = [(eps, up, b * up), (-eps, b * up, up)]
    return Truth(tuple(rows + ([(mpf(0), middle, middle)] if middle else [])))


def _randomized_response(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth:
    del adjacency, records
    others = int(given.get("categories", 2)) - 1
    if "epsilon" in given:
        weight = mp.exp(read(given["epsilon"]))
        p = weight / (weight + others)
        q = 1 / (weight + others)
    else:
        p = read(given["probability"])
        q = (1 - p) / others
    return of_outcomes([(p, q), (q, p), *([((others - 1) * q, (others - 1) * q)] * (others > 1))])


def _exponential(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    if records > 1:
        return None
    halved = given.get("monotone", False) and adjacency is not Adjacency.REPLACE
    return bounded_range(read(given["epsilon"]) / (2 if halved else 1))


def _noisy_max(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    candidates = int(given["candidates"])
    if candidates == 1:
        return Truth(((mpf(0), mpf(1), mpf(1)),))
    noise = given.get("noise", "gaussian")
    moved = 1 if given.get("monotone", False) and adjacency is not Adjacency.REPLACE else 2
    spread = read(given["standard_deviation" if noise == "gaussian" else "scale"])
    step = moved * records * read(given.get("sensitivity", 1)) / spread
    if noise == "gumbel":
        return bounded_range(step)
    if noise == "exponential":
        return laplace(step)
    if noise == "gaussian" and candidates == 2:
        return normal(step / mp.sqrt(2))
    return None


def _approx(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    del adjacency
    if records > 1:
        return None
    eps, delta = read(given["epsilon"]), read(given.get("delta", 0))
    high, low = 1 / (1 + mp.exp(-eps)), 1 / (1 + mp.exp(eps))
    rest = 1 - delta
    if not rest:
        return Truth(infinity_mass=mpf(1), lower_infinity_mass=mpf(1))
    rows = [(eps, rest * high, rest * low), (-eps, rest * low, rest * high)]
    if not eps:
        rows = [(eps, rest, rest)]
    return Truth(tuple(rows), infinity_mass=delta, lower_infinity_mass=delta)


def _gaussian_pair(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    if records > 1:
        return None
    first = read(given["mean"]), read(given["deviation"])
    other = read(given["other_mean"]), read(given["other_deviation"])
    if adjacency is Adjacency.REMOVE:
        first, other = other, first
    (m, s), (n, r) = first, other
    if s == r:
        return normal(abs(m - n) / s) if m != n else Truth(((mpf(0), mpf(1), mpf(1)),))

    def moment(z: Number) -> Number:
        """Integrate a Gaussian: p^{z+1} q^{-z}."""
        a, b = (z + 1) / s**2 - z / r**2, (z + 1) * m / s**2 - z * n / r**2
        rest = (z + 1) * (m / s) ** 2 - z * (n / r) ** 2
        return mp.exp(z * mp.log(r / s) + (b * b / a - rest) / 2) / (s * mp.sqrt(a))

    return Truth(density=Quadratic(first, other), closed=moment)


def _both_orders(outcomes: list[Masses]) -> Truth:
    """Return the pair of the larger of the profiles of the two orders, which is piecewise linear."""

    def one(rows: list[Masses], a: Number) -> Number:
        return mp.fsum(p - a * q for p, q in rows if p > a * q)

    turned = [(q, p) for p, q in outcomes]
    ratios = sorted({p / q for p, q in outcomes + turned if p and q})
    corners = [mpf(0), *ratios]
    points = []
    for k, a in enumerate(corners):
        points.append((a, max(one(outcomes, a), one(turned, a))))
        if k + 1 < len(corners):
            b = corners[k + 1]
            gaps = [one(outcomes, x) - one(turned, x) for x in (a, b)]
            if gaps[0] * gaps[1] < 0:
                x = a + (b - a) * gaps[0] / (gaps[0] - gaps[1])
                points.append((x, one(outcomes, x)))
    return of_profile(points)


def _table(outcomes: list[Masses], adjacency: Adjacency) -> Truth:
    if adjacency is Adjacency.REPLACE:
        return _both_orders(outcomes)
    if adjacency is Adjacency.REMOVE:
        outcomes = [(q, p) for p, q in outcomes]
    return of_outcomes(outcomes)


def _bernoulli_pair(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    if records > 1:
        return None
    p, q = read(given["p"]), read(given["other_p"])
    return _table([(p, q), (1 - p, 1 - q)], adjacency)


def _rows(given: Any, names: tuple[str, str]) -> list[tuple[str, str]]:
    return [(row.entries[0], row.entries[1]) for row in read_rows(given["file"], names)]


def _pmf(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    del read
    if records > 1:
        return None
    rows = [[_ratio(word) for word in row] for row in _rows(given, ("first", "other"))]
    sums = [mp.fsum(row[k] for row in rows) for k in range(2)]
    return _table([(p / sums[0], q / sums[1]) for p, q in rows], adjacency)


def _profile(given: Any, read: Any, adjacency: Adjacency, records: int) -> Truth | None:
    """Return the pair of the lower convex hull of the points and of their mirror images."""
    del adjacency
    if records > 1:
        return None
    rows = [(w, d) for w, d in _rows(given, ("epsilon", "delta")) if "inf" not in w.lower()]
    points, losses = {mpf(0): mpf(1)}, dict[Number, Number]()
    for word, other in rows:
        eps, delta = read(float(Fraction(word))), _ratio(other)
        a = mp.exp(eps)
        losses[a], losses[1 / a] = eps, -eps
        for x, h in ((a, delta), (1 / a, 1 - 1 / a + delta / a)):
            points[x] = min(h, points.get(x, h))
    hull: list[Masses] = []
    for a, h in sorted(points.items()):
        if hull and h >= hull[-1][1]:
            continue
        while len(hull) > 1:
            (a0, h0), (a1, h1) = hull[-2:]
            if (h1 - h0) * (a - a1) < (h - h1) * (a1 - a0):
                break
            hull.pop()
        hull.append((a, h))
    return of_profile(hull, losses)


def _ratio(word: str) -> Number:
    found = Fraction(word)
    return mpf(found.numerator) / found.denominator


TRUTHS: dict[str, Callable[[Any, Any, Adjacency, int], Truth | None]] = {
    "gaussian": _gaussian,
    "laplace": _laplace,
    "discrete_gaussian": _discrete_gaussian,
    "discrete_laplace": _discrete_laplace,
    "staircase": _staircase,
    "randomized_response": _randomized_response,
    "exponential": _exponential,
    "noisy_max": _noisy_max,
    "pure": _approx,
    "approx": _approx,
    "gdp": _gdp,
    "gaussian_pair": _gaussian_pair,
    "bernoulli_pair": _bernoulli_pair,
    "pmf": _pmf,
    "profile": _profile,
}


def written(value: Any) -> Number | None:
    """Return the number that a value of a specification stands for."""
    found = exact(value)
    return None if found is None else mpf(found.numerator) / found.denominator


def printed(value: Any) -> Number:
    """Return the decimal that is printed of a value, which is another number for 1/3."""
    found = Fraction(repr(float(value)))
    return mpf(found.numerator) / found.denominator


def stored(value: Any) -> Number:
    """Return the double that a value is stored as, which is another number for 0.1."""
    found = Fraction(value)
    return mpf(found.numerator) / found.denominator


def truth_of(
    tree: Node,
    adjacency: Adjacency,
    records: int = 1,
    read: Callable[[Any], Number | None] = written,
) -> Truth | None:
    """Return the law of one use of a tree in one direction; None where no closed form is known."""
    with mp.workdps(DIGITS):
        return _truth_of(tree, adjacency, records, read)


def _truth_of(tree: Node, adjacency: Adjacency, records: int, read: Any) -> Truth | None:
    if isinstance(tree, Repeated) and tree.count == 1:
        return _truth_of(tree.event, adjacency, records, read)
    if isinstance(tree, Leaf):
        make = TRUTHS.get(tree.name)
        return None if make is None else make(dict(tree.parameters), read, adjacency, records)
    if not isinstance(tree, Wrapped):
        return None
    given = dict(tree.parameters)
    if tree.name == "group":
        return _truth_of(tree.event, adjacency, records * int(given["records"]), read)
    if tree.name not in {"poisson_sampled", "sampled_without_replacement"}:
        return None
    if "sampling_probability" in given:
        q = read(given["sampling_probability"])
    else:
        q = mpf(int(given["sample_size"])) / int(given["source_dataset_size"])
    poisson = tree.name == "poisson_sampled"
    base = _truth_of(tree.event, Adjacency.ADD if poisson else Adjacency.REPLACE, 1, read)
    if base is None:
        return None
    if not q:
        return Truth(((mpf(0), mpf(1), mpf(1)),))
    removing = adjacency is Adjacency.REMOVE
    if records > 1:
        return _sampled_group(base, q, records, removing=removing) if poisson else None
    if q == 1:
        return _truth_of(tree.event, adjacency, 1, read)
    return glued(base, q) if adjacency is Adjacency.REPLACE else sampled(base, q, removing=removing)


def _sampled_group(base: Truth, q: Number, records: int, *, removing: bool) -> Truth | None:
    """Return the pair of a group under Poisson sampling, known for Gaussian noise."""
    if not isinstance(base.density, Normal) or q == 1:
        return None
    weights = tuple(
        mp.binomial(records, j) * q**j * (1 - q) ** (records - j) for j in range(records + 1)
    )
    return Truth(density=Mixture(base.density.mu, weights, removing))
