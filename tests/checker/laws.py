"""Privacy loss distributions in balls: moments E_P[e^{sL}] of the finite losses, and |phi| far out.

Each law is that of one direction of a dominating pair (P, Q), L = log dP/dQ under P. phi(t) is
M(c + it) / M(c), the characteristic function of the loss tilted by e^{cL}.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from itertools import pairwise

from flint import acb, arb, ctx, fmpq

PRECISION = 128
ctx.prec = PRECISION

ONE, TWO = arb(1), arb(2)
# Terms of quadratures that one check may add up: about 10 s.
PATIENCE = 9_000_000


class TooLongError(Exception):
    """The check would take too long: no word against the certificate."""


class Clock:
    """Counts the terms of quadratures."""

    spent = 0

    @classmethod
    def charge(cls, terms: int) -> None:
        """Take note of some, and give up after too many."""
        cls.spent += terms
        if cls.spent > PATIENCE:
            raise TooLongError("to prove it would take too long")


# Logarithm of what quadratures may leave out.
NEGLIGIBLE = 75.0


def ball(number: Fraction | int) -> arb:
    """Return a ball around a rational."""
    number = Fraction(number)
    return arb(fmpq(number.numerator, number.denominator))


def normal_tail(x: arb) -> arb:
    """Return P(Z > x) of a standard normal Z."""
    return (x / TWO.sqrt()).erfc() / 2


def largest(*balls: arb) -> arb:
    """Return an upper bound of several numbers."""
    found = balls[0]
    for each in balls[1:]:
        found = found.max(each)
    return found.upper()


class Law(ABC):
    """One direction of one dominating pair."""

    # P(L = +infinity).
    infinite = arb(0)

    @abstractmethod
    def moment(self, s: acb) -> acb:
        """Return M(s) = E_P[e^{sL}] over finite losses."""

    @abstractmethod
    def far(self, c: arb, t: arb) -> arb:
        """Return an upper bound on |phi(tau)| for all tau >= t."""


class Gaussian(Law):
    """N(mu, 1) and N(0, 1): K(s) = s (s + 1) mu^2 / 2."""

    def __init__(self, squared: Fraction) -> None:
        """Take mu^2."""
        self.squared = squared

    def moment(self, s: acb) -> acb:
        """Return e^{K(s)}."""
        return (s * (s + 1) * ball(self.squared) / 2).exp()

    def far(self, c: arb, t: arb) -> arb:
        """|phi(t)| = e^{-mu^2 t^2 / 2}, which falls."""
        del c
        return (-ball(self.squared) * t * t / 2).exp().upper()


class Finite(Law):
    """Finitely many outcomes."""

    def __init__(self, pairs: list[tuple[arb, arb]]) -> None:
        """Take the probabilities (p, q) of each outcome; what is exactly 0 is the number 0."""
        self.pairs = pairs
        self.infinite = sum((p for p, q in pairs if q == 0), arb(0))
        both = [(p, q) for p, q in pairs if not (p == 0 or q == 0)]
        self.losses = [(p, (p / q).log()) for p, q in both]

    def sampled(self, q: Fraction, *, remove: bool) -> Finite:
        """Return the law where the record is in with probability q (Zhu, Dong, Wang 2022)."""
        rate = ball(q)
        mixed = [(rate * a + (1 - rate) * b, b) for a, b in self.pairs]
        return Finite(mixed if remove else [(b, a) for a, b in mixed])

    def moment(self, s: acb) -> acb:
        """Return the sum."""
        return sum((p * (s * loss).exp() for p, loss in self.losses), acb(0))

    def far(self, c: arb, t: arb) -> arb:
        """|phi| comes back to 1, or nearly so."""
        del c, t
        return ONE


class Laplace(Law):
    """Laplace noise of scale b, sensitivity d, a = d / b.

    Under P the loss is a with probability 1/2, -a with e^{-a} / 2, and between them it has the
    density e^{(l - a) / 2} / 4. Tilted by e^{cl} that is monotone, so that by parts its transform
    is at most 2 / t times its largest value.
    """

    def __init__(self, a: Fraction) -> None:
        """Take a > 0."""
        self.a = ball(a)

    def moment(self, s: acb) -> acb:
        """Return the atoms and the integral."""
        a, half = self.a, s + ONE / 2
        between = ((s * a).exp() - (-(s + 1) * a).exp()) / (4 * half)
        return ((s * a).exp() + (-(s + 1) * a).exp()) / 2 + between

    def far(self, c: arb, t: arb) -> arb:
        """Return the atoms' mass and what is left of the density."""
        a = self.a
        high, low = (c * a).exp(), (-(c + 1) * a).exp()
        atoms, peak = (high + low) / 2, largest(high / 4, low / 4)
        return ((atoms + 2 * peak / t) / self.moment(acb(c)).real).upper()


class SampledGaussian(Law):
    """N(0, sigma^2) where a record of mean 1 is in with probability q; r = 1 - q + q E below.

    E(x) = e^{(2x - 1) / (2 sigma^2)}. Removing: P = r phi, Q = phi, L = log r, so that M(s) is the
    integral of phi r^{s + 1}. Adding: P = phi, Q = r phi, L = -log r: of phi r^{-s}. So M(s) is
    that of phi r^w with w = u + iv.

    **The trapezoid rule.** For f analytic with int |f(x + iy)| dx <= B where |y| < a, the error of
    the rule of step eta is at most 2 B / (e^{2 pi a / eta} - 1) (Trefethen and Weideman 2014,
    Theorem 5.1). With theta = a / sigma^2 < pi and |y| <= a the argument of r is at most theta, and
    r(x) cos(theta / 2) <= |r(x + iy)| <= r(x), since |A + B e^{i theta}|^2 = (A + B)^2 - 4AB
    sin^2(theta / 2). So B = e^{a^2 / (2 sigma^2) + |v| theta} kappa m(u), kappa = 1 for u >= 0 and
    cos(theta / 2)^u else, where m(u) = int phi r^u, itself at most its own sum over 1 less the
    relative error.

    **The ends.** For u >= 0, r^u <= 1 left of 1/2, and right of x1 r is at most E times
    q + (1 - q) / E(x1), where E^u phi(x) = e^{u (u - 1) / (2 sigma^2)} phi(x - u) falls beyond u:
    what the sum leaves out is below the integrals. For u < 0, r^u <= (1 - q)^u, and 1 right of 1/2.
    """

    def __init__(self, sigma: Fraction, q: Fraction, *, remove: bool) -> None:
        """Take the noise multiplier and the sampling probability, 0 < q < 1."""
        self.remove = remove
        self.sigma, self.q = ball(sigma), ball(q)
        self.width, self.rate = float(sigma), float(q)
        self._rules: dict[tuple[str, int], _Rule] = {}
        self._splits: dict[str, list[tuple[arb, arb]]] = {}

    def power(self, c: arb) -> arb:
        """Return u at s = c."""
        return c + 1 if self.remove else -c

    def ratio(self, x: arb) -> arb:
        """Return r(x)."""
        return 1 - self.q + self.q * ((2 * x - 1) / (2 * self.sigma**2)).exp()

    def density(self, x: arb) -> arb:
        """Return phi(x)."""
        return (-x * x / (2 * self.sigma**2)).exp() / (self.sigma * (2 * arb.pi()).sqrt())

    def moment(self, s: acb) -> acb:
        """Return the sum over the nodes of a rule that is fine enough for Im s."""
        v = abs(float(s.imag))
        fineness = max(0, math.ceil(math.log2(max(v / self.width**2, 1.0))))
        key = s.real.str(40), fineness
        if key not in self._rules:
            self._rules[key] = _Rule(self, self.power(s.real), 2.0**fineness * self.width**2)
        return self._rules[key].moment(s.imag)

    def far(self, c: arb, t: arb) -> arb:
        """Split at x0: the mass left of it, and by parts what is right of it; see `splits`."""
        key = c.str(40)
        if key not in self._splits:
            u, whole = self.power(c), self.moment(acb(c)).real
            self._splits[key] = self.splits(u, largest(u, ONE) + 1, whole)
        return farthest(self._splits[key], t)

    def splits(self, u: arb, stop: arb, whole: arb) -> list[tuple[arb, arb]]:
        """Return for some x0 bounds on the mass left of it, and on t times what is right of it.

        By parts the integral of phi r^u e^{itL} from x0 to `stop` is at most 1/t times h(x0) +
        h(stop) + the variation of h = phi r^u / |L'| between them, L' = +-p / sigma^2, p = q E / r.
        As (log h)' sigma^2 = g = -x - 1 + (u + 1) p, a cell varies by at most its width times sup h
        sup |g| / sigma^2; p rises. Beyond max(u, x0) h falls to 0, and varies by h(stop). Left of
        the cells r^u is at most its larger value at -infinity and there.

        Args:
            u: the power.
            stop: where the outcomes end, or a place beyond u.
            whole: what both are divided by.
        """
        sigma, cells = self.sigma, 160
        start = -4 * sigma
        if not stop > start:
            # There |phi| <= 1 is all that is said.
            return []
        places = [start + (stop - start) * k / cells for k in range(cells + 1)]
        ratios = [self.ratio(x) for x in places]
        powers, least = [r**u for r in ratios], (1 - self.q) ** u
        shares = [(r - 1 + self.q) / r for r in ratios]
        heights = [
            self.density(x) * power * sigma**2 / share
            for x, power, share in zip(places, powers, shares, strict=True)
        ]
        masses = [normal_tail(4 * ONE) * largest(least, powers[0])]
        varied = []
        for k, (a, b) in enumerate(pairwise(places)):
            tails = normal_tail(a / sigma) - normal_tail(b / sigma)
            masses.append(masses[-1] + tails * largest(*powers[k : k + 2]))
            # phi is largest at the end that is nearer to 0.
            inside = not (a > 0 or b < 0)
            peak = self.density(arb(0)) if inside else largest(self.density(a), self.density(b))
            high = peak * largest(*powers[k : k + 2]) * sigma**2 / shares[k]
            moved = [(u + 1) * share for share in shares[k : k + 2]]
            steep = (moved[0].max(moved[1]) - a - 1).max(b + 1 - moved[0].min(moved[1]))
            varied.append((b - a) * high * steep / sigma**2)
        found, right = [], heights[-1]
        for k in range(cells - 1, -1, -1):
            right += varied[k]
            found.append(((masses[k] / whole).upper(), ((heights[k] + right) / whole).upper()))
        return found


def farthest(splits: list[tuple[arb, arb]], t: arb) -> arb:
    """Return the best bound on |phi| beyond t that some splits give."""
    best = ONE
    for mass, peak in splits:
        best = best.min((mass + peak / t).upper())
    return best.upper()


class _Rule:
    """The nodes of a trapezoid rule for phi r^{u + iv}, |v| at most `highest`."""

    def __init__(self, law: SampledGaussian, u: arb, highest: float) -> None:
        """Choose them; any choice is valid."""
        sigma, at = law.width, float(u)
        angle = 2.0 if at >= 0.0 else 1.5
        # Where the strip's growth is paid for, and e^-NEGLIGIBLE left.
        wide = angle * sigma**2
        growth = wide**2 / (2.0 * sigma**2) + highest * angle + NEGLIGIBLE
        growth += 0.0 if at >= 0.0 else -at * math.log(1.0 / math.cos(angle / 2.0))
        self.step = ball(Fraction(2.0 * math.pi * wide / growth))
        size = math.sqrt(2.0 * NEGLIGIBLE + 20.0) * sigma
        step = float(self.step)
        first, last = math.floor(-size / step), math.ceil((max(at, 0.0) + size + 1.0) / step)
        if at < 0.0:
            size = math.sqrt(2.0 * (NEGLIGIBLE - at * -math.log1p(-law.rate)) + 20.0) * sigma
            first, last = math.floor(-size / step), math.ceil((size + 1.0) / step)
        Clock.charge(3 * (last - first))
        self.law, self.u, self.highest, self.angle = law, u, highest, angle
        self.nodes: list[tuple[arb, arb]] = []
        self._sums: dict[str, acb] = {}
        for k in range(first, last + 1):
            x = self.step * k
            logarithm = law.ratio(x).log()
            self.nodes.append((self.step * law.density(x) * (u * logarithm).exp(), logarithm))
        left, right = self.step * first, self.step * last
        if at >= 0.0:
            # r <= E (q + (1 - q) / E(right)) there.
            most = law.q + (1 - law.q) / ((2 * right - 1) / (2 * law.sigma**2)).exp()
            moved = most**u * (u * (u - 1) / (2 * law.sigma**2)).exp()
            beyond = normal_tail(-left / law.sigma)
            beyond += moved * normal_tail((right - u) / law.sigma)
        else:
            beyond = (1 - law.q) ** u * normal_tail(-left / law.sigma)
            beyond += normal_tail(right / law.sigma)
        self.beyond = beyond.upper()
        plain = sum((a for a, _ in self.nodes), arb(0)) + self.beyond
        relative = self._relative(arb(0))
        if not relative < 1:
            raise TooLongError("the quadrature is too rough for this law")
        self.whole = (plain / (1 - relative)).upper()

    def _relative(self, v: arb) -> arb:
        """Return the error of the infinite rule over m(u)."""
        sigma = self.law.sigma
        theta = ball(Fraction(self.angle))
        wide = theta * sigma**2
        kappa = ONE if float(self.u) >= 0.0 else (theta / 2).cos() ** self.u
        growth = (wide * wide / (2 * sigma**2) + abs(v) * theta).exp() * kappa
        return 2 * growth / ((2 * arb.pi() * wide / self.step).exp() - 1)

    def moment(self, t: arb) -> acb:
        """Return M(c + it): the exponent of r is u + iv with v = t, or -t where one is added."""
        v = t if self.law.remove else -t
        Clock.charge(len(self.nodes))
        turn = acb(0, 1) * v
        found = sum((a * (turn * x).exp() for a, x in self.nodes), acb(0))
        error = (self.beyond + self._relative(v) * self.whole).upper()
        return found + acb(arb(0, error), arb(0, error))
