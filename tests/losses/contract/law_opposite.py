"""The truth of a Poisson sample in which a record is replaced: two records that pull apart.

With R, W and W' the event's outputs without the record, with it and with the other in its place,
the pair is (1 - q) R + q W against (1 - q) R + q W'. W' is the mirror image of W: sorted by the
ratio W / R, the R-mass that W has on one side W' has on the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from mpmath import mp, mpf

from tests.losses.contract.law_densities import (
    DIGITS,
    LARGEST_TILT,
    Exponential,
    Normal,
    added,
    rule,
)
from tests.losses.contract.law_truth import Truth, of_outcomes

if TYPE_CHECKING:
    from tests.losses.contract.law_densities import Atom, Masses, Number

# Numbers that differ by less are the same.
CLOSE = mpf(10) ** (8 - DIGITS)


def opposite(base: Truth, q: Number) -> Truth | None:
    """Return the pair for a base (R, W), 0 < q < 1; None where it is not known here."""
    density = base.density
    if isinstance(density, Normal):
        return Truth(density=OppositeNormal(density.mu, q))
    if isinstance(density, Exponential):
        return _opposite_laplace(density.e, q) if base.atoms else None
    if density is not None:
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


@dataclass(frozen=True)
class OppositeNormal:
    """N(mu, 1) and N(-mu, 1), each mixed with N(0, 1); the loss of an output is odd in it."""

    mu: Number
    q: Number

    def _factor(self, u: Number) -> Number:
        """Return the density of the first mixture, relative to N(0, 1), at the output u / mu."""
        return 1 - self.q + self.q * mp.exp(u - self.mu**2 / 2)

    def _output(self, loss: Number) -> Number:
        """Solve b w^2 - (1 - q) (e^l - 1) w - b e^l = 0, w = e^{mu z}, for l >= 0; else mirror."""
        if loss < 0:
            return -self._output(-loss)
        b = self.q * mp.exp(-(self.mu**2) / 2)
        middle = (1 - self.q) * mp.expm1(loss)
        root = mp.sqrt(middle**2 + 4 * b**2 * mp.exp(loss))
        return mp.log((middle + root) / (2 * b)) / self.mu

    def above(self, loss: Number) -> Masses:
        """Return the masses of larger outputs."""
        z, q = self._output(loss), self.q
        rest = (1 - q) * mp.ncdf(-z)
        return rest + q * mp.ncdf(self.mu - z), rest + q * mp.ncdf(-self.mu - z)

    def below(self, loss: Number) -> Masses:
        """Return those of smaller ones: larger ones with the roles exchanged."""
        return self.above(-loss)[::-1]

    def nodes(self) -> list[Atom]:
        """Return a rule for outputs."""
        mu = self.mu
        reach = 15 + (LARGEST_TILT + 1) * mu
        found = []
        for z, weight in rule(-reach, reach, 5 / (1 + mu)):
            r, first, other = mp.npdf(z) * weight, self._factor(mu * z), self._factor(-mu * z)
            found.append((mp.log(first / other), r * first, r * other))
        return found

    @property
    def ends(self) -> Masses:
        """Return no bounds."""
        return mpf("-inf"), mpf("inf")


@dataclass(frozen=True)
class OppositeLaplace:
    """What Laplace noise has between its two atoms.

    Where the noise z (in units of the scale) is positive, log W / R is v - e for v = min(2 z, 2 e)
    and log W' / R is -e, so that z in (0, e) has losses from 0 to the top.
    """

    e: Number
    q: Number

    @property
    def floor(self) -> Number:
        """Return the density of the second mixture relative to R, for positive noise."""
        return 1 - self.q + self.q * mp.exp(-self.e)

    def _half(self, loss: Number) -> Masses:
        """Return the masses of losses in (loss, top), loss >= 0."""
        e, q = self.e, self.q
        share = (mp.exp(loss) * self.floor - (1 - q)) / q
        z = min((mp.log(share) + e) / 2, e)
        r = mp.exp(-z) * -mp.expm1(z - e) / 2
        # W has the density e^{z - e} / 2 here.
        w = -mp.expm1(z - e) / 2
        return (1 - q) * r + q * w, self.floor * r

    def above(self, loss: Number) -> Masses:
        """Return the masses of larger losses."""
        if loss >= 0:
            return self._half(loss)
        whole, rest = self._half(mpf(0)), self._half(-loss)
        return added(whole, (whole[1] - rest[1], whole[0] - rest[0]))

    def below(self, loss: Number) -> Masses:
        """Return those of smaller ones: larger ones with the roles exchanged."""
        return self.above(-loss)[::-1]

    def nodes(self) -> list[Atom]:
        """Return a rule for positive noise, and its mirror image."""
        found = []
        for z, weight in rule(mpf(0), self.e, mpf(1) / 2):
            r = mp.exp(-z) / 2 * weight
            first = 1 - self.q + self.q * mp.exp(2 * z - self.e)
            loss = mp.log(first / self.floor)
            found += [(loss, r * first, r * self.floor), (-loss, r * self.floor, r * first)]
        return found

    @property
    def ends(self) -> Masses:
        """Return the two atoms."""
        top = mp.log((1 - self.q + self.q * mp.exp(self.e)) / self.floor)
        return -top, top


def _opposite_laplace(e: Number, q: Number) -> Truth:
    density = OppositeLaplace(e, q)
    low, top = density.ends
    r = mp.exp(-e) / 2
    first, other = (1 - q) * r + q / 2, density.floor * r
    return Truth(((top, first, other), (low, other, first)), density)
