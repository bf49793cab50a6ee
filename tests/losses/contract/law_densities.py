"""Densities of losses by their definitions, for truths: masses in closed form, and quadrature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import mpmath
from mpmath import mp, mpf

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def added(one: Masses, other: Masses | None) -> Masses:
    """Add masses of two parts, of which one may be missing."""
    return one if other is None else (one[0] + other[0], one[1] + other[1])


@cache
def _legendre() -> list[tuple[Number, Number]]:
    """Return nodes and weights of a Gauss rule with 48 points on (-1, 1)."""
    with mp.workdps(DIGITS):
        rule = mpmath.calculus.quadrature.GaussLegendre(mp)
        return list(rule.calc_nodes(5, mp.prec))


def rule(low: Number, high: Number, width: Number) -> Iterable[tuple[Number, Number]]:
    """Return points and weights of a composite rule; panels end at 0."""
    if low < 0 < high:
        yield from rule(low, mpf(0), width)
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
        for x, weight in rule(-half - reach, half + reach, 5 / (1 + mu)):
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
        for x, weight in rule(-self.e, self.e, mpf(1)):
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
        for x, weight in rule(min(m, n) - 18 * wide, max(m, n) + 18 * wide, narrow):
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
    """The loss of sum_j b_j N(c_j, 1) against N(0, 1): log sum_j b_j e^{c_j x - c_j^2 / 2}."""

    centres: tuple[Number, ...]
    weights: tuple[Number, ...]
    removing: bool

    def _terms(self, x: Number) -> list[Number]:
        parts = zip(self.centres, self.weights, strict=True)
        return [b * mp.exp(c * x - c**2 / 2) for c, b in parts]

    def _log_ratio(self, x: Number) -> Number:
        return mp.log(mp.fsum(self._terms(x)))

    def _output(self, loss: Number) -> Number:
        """Return the output of a log-ratio; it increases."""
        if loss <= self._floor:
            return mpf("-inf")
        x = mpf(1)
        while self._log_ratio(x) < loss:
            x *= 2
        # Newton's method for a convex, increasing function, from above.
        while True:
            terms = self._terms(x)
            total = mp.fsum(terms)
            slope = mp.fdot(self.centres, terms) / total
            step = (mp.log(total) - loss) / slope
            x -= step
            # What is left when steps change their sign is noise.
            if step < mpf(10) ** (6 - DIGITS) * (1 + abs(x)):
                return x

    def _masses(self, x: Number, *, upper: bool) -> Masses:
        sign = -1 if upper else 1
        parts = zip(self.centres, self.weights, strict=True)
        mixed = mp.fsum(b * mp.ncdf(sign * (x - c)) for c, b in parts)
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
        last, found = self.centres[-1], []
        # Without a floor small outputs count for adding.
        low = mpf(-15) if self._floor > mpf("-inf") else -15 - (LARGEST_TILT + 1) * last
        for x, weight in rule(low, 15 + (LARGEST_TILT + 1) * last, 5 / (1 + self._step)):
            r = mp.npdf(x) * weight
            loss = self._log_ratio(x)
            p, q = mp.exp(loss) * r, r
            found.append((loss, p, q) if self.removing else (-loss, q, p))
        return found

    @property
    def ends(self) -> Masses:
        """Return the floor and infinity, or for adding the other way round."""
        floor = self._floor
        return (floor, mpf("inf")) if self.removing else (mpf("-inf"), -floor)

    @property
    def _floor(self) -> Number:
        return mpf("-inf") if self.centres[0] else mp.log(self.weights[0])

    @property
    def _step(self) -> Number:
        return self.centres[-1] / len(self.centres)
