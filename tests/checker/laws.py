"""Privacy loss distributions in balls: moments E_P[e^{sL}] of the finite losses, and |phi| far out.

Each law is that of one direction of a dominating pair (P, Q), L = log dP/dQ under P. phi(t) is
M(c + it) / M(c), the characteristic function of the loss tilted by e^{cL}.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from flint import acb, acb_mat, arb, ctx, fmpq

if TYPE_CHECKING:
    from collections.abc import Callable

Ends = tuple[Fraction | None, Fraction | None]

ctx.prec = 128
ONE, TWO = arb(1), arb(2)
# Terms of quadratures that one check may add up: about 10 s.
PATIENCE = 11_000_000


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


# Logarithm of what quadratures may leave out; and their panels: half of one is the least of them.
NEGLIGIBLE = 65.0
HALF_PANEL, HALF_WIDTH, ELLIPSE = 0.5, 1.0, 6.0
# Nodes of a panel that is not halved.
MOST_NODES = 128


def ball(number: Fraction | int) -> arb:
    """Return a ball around a rational."""
    number = Fraction(number)
    return arb(fmpq(number.numerator, number.denominator))


def name(x: arb) -> str:
    """Return a text that no other ball of this precision has."""
    return f"{x.mid().str(60, radius=False)} {x.rad().str(20, radius=False)}"


def normal_tail(x: arb) -> arb:
    """Return P(Z > x) of a standard normal Z."""
    return (x / TWO.sqrt()).erfc() / 2


def largest(*balls: arb) -> arb:
    """Return an upper bound of several numbers."""
    found = balls[0]
    for each in balls[1:]:
        found = found.max(each)
    return found.upper()


def waves(terms: list[tuple[arb, arb]], first: arb, step: arb, count: int) -> list[acb]:
    """Return sum_j a_j e^{i t x_j} at t = first + k step, 0 <= k < count.

    With k = b K + r the factors e^{i (first + b K step) x} and e^{i r step x} are powers of two
    exponentials each, and the sum over j is a product of matrices.
    """
    turn = acb(0, 1)
    if count == 1:
        Clock.charge(len(terms))
        return [sum((a * (turn * (first * x)).exp() for a, x in terms), acb(0))]
    size = math.isqrt(count)
    rows = -(-count // size)
    Clock.charge(len(terms) * (6 + size + rows + count // 2) // 3)
    left: list[list[acb]] = [[] for _ in range(rows)]
    right: list[acb] = []
    for a, x in terms:
        one = (turn * (step * x)).exp()
        power = acb(1)
        for _ in range(size):
            right.append(power)
            power *= one
        value = a * (turn * (first * x)).exp()
        for row in left:
            row.append(value)
            value *= power
    flat = [each for row in left for each in row]
    product = acb_mat(rows, len(terms), flat) * acb_mat(len(terms), size, right)
    return product.entries()[:count]


class Law(ABC):
    """One direction of one dominating pair."""

    # P(L = +infinity), and the largest finite loss.
    infinite, most = arb(0), arb.pos_inf()

    @cached_property
    def kept(self) -> dict[tuple[Any, ...], Any]:
        """What was worked out: both ends of a bracket are proved with the same numbers."""
        return {}

    def once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Work it out if it is not kept."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + ikh), 0 <= k < count."""
        key = "line", name(c), name(h), count
        return self.once(key, lambda: self.along(c, h, count))  # type: ignore[no-any-return]

    @abstractmethod
    def moment(self, s: acb) -> acb:
        """Return M(s) = E_P[e^{sL}] over finite losses."""

    def cut(self, *ends: Fraction | None) -> Law:
        """Return the outcomes between two places: all of them where none is known."""
        del ends
        return self

    def along(self, c: arb, h: arb, count: int) -> list[acb]:
        """Work them out."""
        return [self.moment(acb(c, k * h)) for k in range(count)]

    def far(self, c: arb, t: arb) -> arb:
        """Return an upper bound on |phi(tau)| for all tau >= t."""
        del c, t
        return ONE


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

    def __init__(
        self, pairs: list[tuple[arb, arb]], step: arb | None = None, lost: arb | None = None
    ) -> None:
        """Take the probabilities (p, q) of each outcome; what is exactly 0 is the number 0.

        Where a step is given, each loss is less by it than the one before; two always are. `lost`
        is from 0 to what outcomes that are not listed have, at most, in each distribution: so much
        may have an infinite loss.
        """
        self.pairs, self.step, self.lost = pairs, step, lost or arb(0)
        self.infinite = sum((p for p, q in pairs if q == 0), self.lost)
        both = [(p, q) for p, q in pairs if not (p == 0 or q == 0)]
        self.losses = [(p, (p / q).log()) for p, q in both]
        self.most = largest(*(loss for _, loss in self.losses)) if both else arb(0)
        if step is None and 1 <= len(both) <= 2:
            self.step = self.losses[0][1] - self.losses[-1][1]

    def sampled(self, q: Fraction, *, remove: bool) -> Finite:
        """Return the law where the record is in with probability q (Zhu, Dong, Wang 2022)."""
        rate = ball(q)
        mixed = [(rate * a + (1 - rate) * b, b) for a, b in self.pairs]
        return Finite(mixed if remove else [(b, a) for a, b in mixed], lost=self.lost)

    def moment(self, s: acb) -> acb:
        """Return the sum."""
        return sum((p * (s * loss).exp() for p, loss in self.losses), acb(0))

    def along(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return the sums, at once."""
        return waves([(p * (c * x).exp(), x) for p, x in self.losses], arb(0), h, count)


class Laplace(Law):
    """Laplace noise of scale b, sensitivity d, a = d / b.

    Under P the loss is a with probability 1/2, -a with e^{-a} / 2, and between them it has the
    density e^{(l - a) / 2} / 4. Tilted by e^{cl} that is monotone, so that by parts its transform
    is at most 2 / t times its largest value.
    """

    def __init__(self, a: Fraction) -> None:
        """Take a > 0."""
        self.most = self.a = ball(a)

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

    **Gauss's rule** of N nodes on a panel of half width w is off by at most (64 / 15) w sup |f|
    rho^{-2 (N - 1)} / (1 - rho^{-2}), the supremum over the ellipse of half axes w (rho + 1 / rho)
    / 2 and w (rho - 1 / rho) / 2 = y (Trefethen 2013, Theorem 19.3), where f is analytic: y < pi
    sigma^2. There |phi| <= e^{y^2 / (2 sigma^2)} phi at the nearest real point. With theta = y /
    sigma^2 the argument of r = A + B e^{i theta'}, |theta'| <= theta, A = 1 - q, B = qE, is at most
    theta, and at most asin(B / A) <= pi B / (2 A) where B < A; and r(x) >= |r| >= r(x) (1 - b)^{1 /
    2} with b = sin^2(theta / 2) 4AB / (A + B)^2, as |r|^2 = (A + B)^2 - 4AB sin^2(theta' / 2); the
    factor 4AB / (A + B)^2 is at most 1, and rises with x where B < A. So |r^{u + iv}| <= e^{|v| arg
    r} kappa r(x)^u, kappa = 1 for u >= 0 and (1 - b)^{u / 2} else.

    **The ends.** For u >= 0, r^u <= 1 left of 1/2, and right of x1 r is at most E times
    q + (1 - q) / E(x1), where E^u phi(x) = e^{u (u - 1) / (2 sigma^2)} phi(x - u). For u < 0,
    r^u <= (1 - q)^u, and 1 right of 1/2.
    """

    def __init__(
        self, sigma: Fraction, q: Fraction, *, remove: bool, ends: Ends = (None, None)
    ) -> None:
        """Take the noise multiplier, the sampling probability, 0 < q < 1, and the outcomes' ends.

        With ends the law has the outcomes low < x <= high alone.
        """
        self.noise, self.probability, self.remove = sigma, q, remove
        self.low, self.high = (None if end is None else ball(end) for end in ends)
        self.sigma, self.q = ball(sigma), ball(q)
        self.width = float(sigma)
        if not remove:
            self.most = -(1 - self.q).log()

    def cut(self, *ends: Fraction | None) -> Law:
        """Return the outcomes between two places, the same object for both ends of a bracket."""
        if ends == (None, None):
            return self
        sigma, q, both = self.noise, self.probability, (ends[0], ends[1])
        found: Law = self.once(
            ends, lambda: SampledGaussian(sigma, q, remove=self.remove, ends=both)
        )
        return found

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
        """Return the sum over all panels."""
        return self._along(s.real, s.imag, ONE, 1)[0]

    def along(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return what has the same panels together."""
        found: list[acb] = []
        kinds = [_fineness(k * h) for k in range(count)]
        for _, group in groupby(range(count), kinds.__getitem__):
            each = list(group)
            found += self._along(c, each[0] * h, h, len(each))
        return found

    def _along(self, c: arb, t: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + i (t + kh)): r has the exponent u + iv, v as Im s, or less it to add."""
        fineness = _fineness(t + (count - 1) * h)
        key = "panels", name(c), fineness
        most = 17.0 * 2.0**fineness
        terms, error = self.once(key, lambda: self._panels(self.power(c), most))
        sign = 1 if self.remove else -1
        sums = waves(terms, sign * t, sign * h, count)
        return [each + acb(arb(0, error), arb(0, error)) for each in sums]

    def _start(self, u: arb, end: arb) -> tuple[arb, arb]:
        """Return where the first panel begins, and a bound on what is left of it."""
        if self.low is not None:
            return self.low, arb(0)
        added = max(0.0, -float(u)) * -math.log1p(-float(self.q))
        size = math.sqrt(2.0 * (NEGLIGIBLE + added) + 20.0) * self.width
        start = end.min(arb(0)) - ball(Fraction(math.ceil(size)))
        # r is between 1 - q and r(start) there.
        most = largest(self.ratio(start) ** u, ONE) if u >= 0 else (1 - self.q) ** u
        return start, most * normal_tail(-start / self.sigma)

    def _end(self, u: arb) -> tuple[arb, arb]:
        """Return where the last panel ends, and a bound on what is right of it."""
        if self.high is not None:
            return self.high, arb(0)
        if not (u >= 0 or u < 0):
            raise TooLongError("the sign of a power is not known")
        size = math.ceil(math.sqrt(2.0 * NEGLIGIBLE + 20.0) * self.width + 1.0)
        start = 0.0 if self.low is None else float(self.low)
        x = ball(Fraction(size + math.ceil(max(start, float(u)))))
        if not u >= 0:
            return x, self.ratio(x) ** u * normal_tail(x / self.sigma)
        most = self.q + (1 - self.q) / ((2 * x - 1) / (2 * self.sigma**2)).exp()
        moved = most**u * (u * (u - 1) / (2 * self.sigma**2)).exp()
        return x, moved * normal_tail((x - u) / self.sigma)

    def _panels(self, u: arb, highest: float) -> tuple[list[tuple[arb, arb]], arb]:
        """Return phi r^u and log r at all nodes, and an error that holds for |v| <= highest.

        Panels with less than e^-depth, more or less, have no nodes: all of it is error.
        """
        sigma, rho = self.width, ball(Fraction(ELLIPSE))
        half = min(HALF_PANEL * sigma**2, HALF_WIDTH * sigma)
        end, right = self._end(u)
        start, left = self._start(u, end)
        error = left + right
        panels = max(1, math.ceil(float(end - start) / (2.0 * half)))
        Clock.charge(2 * panels)
        w = (end - start) / (2 * panels)
        open_ = [(end - (2 * k + 1) * w, w) for k in range(panels)]
        depth = NEGLIGIBLE - self._highest(u, start, end)
        found = []
        while open_:
            middle, w = open_.pop()
            factor, turn = self._ellipse(u, middle, w)
            if factor.log() < -depth:
                error += factor
                continue
            phase = ball(Fraction(highest)) * turn
            wanted = depth + float(phase) + float(factor.log())
            count = _enough(1.0 + wanted / (2.0 * math.log(ELLIPSE)))
            if count > MOST_NODES and phase > NEGLIGIBLE:
                open_ += [(middle - w / 2, w / 2), (middle + w / 2, w / 2)]
                continue
            error += factor * phase.exp() * rho ** (2 - 2 * count) / (1 - rho**-2)
            Clock.charge(4 * count)
            for node, weight in _gauss(count):
                x = middle + w * node
                loss = self.ratio(x).log()
                found.append((w * weight * self.density(x) * (u * loss).exp(), loss))
        return found, error.upper()

    def _highest(self, u: arb, start: arb, end: arb) -> float:
        """Return about the largest logarithm of phi r^u: errors matter relative to that."""
        places = [start + (end - start) * k / 64 for k in range(65)]
        # Between them E^u phi is largest at u.
        places += [u] if start < u < end else []
        return max(float((self.density(x) * self.ratio(x) ** u).log()) for x in places)

    def _ellipse(self, u: arb, middle: arb, w: arb) -> tuple[arb, arb]:
        """Return bounds on (64 / 15) w |phi r^u|, and on the argument of r, around a panel."""
        rho = ball(Fraction(ELLIPSE))
        tall, wide = w * (rho - 1 / rho) / 2, w * (rho + 1 / rho) / 2
        theta, left, right = tall / self.sigma**2, middle - wide, middle + wide
        odds = self.ratio(right) / (1 - self.q) - 1
        rare = bool(odds < 1)
        bent = (4 * odds / (1 + odds) ** 2 if rare else ONE) * (theta / 2).sin() ** 2
        kappa = ONE if float(u) >= 0.0 else (1 - bent) ** (u / 2)
        near = arb(0) if left < 0 < right else left if abs(left) < abs(right) else right
        peak = self.density(near) * (tall**2 / (2 * self.sigma**2)).exp()
        peak *= kappa * largest(self.ratio(left) ** u, self.ratio(right) ** u)
        turn = theta.min(arb.pi() / 2 * odds) if rare else theta
        return peak * ball(Fraction(64, 15)) * w, turn

    def far(self, c: arb, t: arb) -> arb:
        """Split at some x0: the mass left of it, and by parts what is right of it."""
        whole = self.moment(acb(c)).real
        splits = self.once(("splits", name(c)), lambda: self._splits(self.power(c), whole))
        best = ONE
        for mass, peak in splits:
            best = best.min((mass + peak / t).upper())
        return best

    def _splits(self, u: arb, whole: arb) -> list[tuple[arb, arb]]:
        """Return for some x0 bounds on the mass left of it, and on t times what is right of it.

        By parts the integral of phi r^u e^{itL} from x0 to `stop` is at most 1/t times h(x0) +
        h(stop) + the variation of h = phi r^u / |L'| between them, L' = +-p / sigma^2, p = q E / r.
        As (log h)' sigma^2 = g = -x - 1 + (u + 1) p, a cell varies by at most its width times sup h
        sup |g| / sigma^2; p rises. Beyond max(u, x0) h falls to 0, and varies by h(stop). Left of
        the cells r^u is at most its larger value at -infinity and there.
        Both are divided by the whole. Cells end at the last outcome, or where all falls from.
        """
        sigma, cells = self.sigma, 160
        start = -4 * sigma if self.low is None else self.low
        stop = largest(u, ONE, start) + 1 if self.high is None else self.high
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
        left = normal_tail(-start / sigma) * largest(least, powers[0])
        masses = [left if self.low is None else arb(0)]
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


@lru_cache(64)
def _gauss(count: int) -> list[tuple[arb, arb]]:
    """Return the nodes and weights of Gauss's rule on [-1, 1] with an even number of nodes."""
    Clock.charge(25 * count)
    half = [arb.legendre_p_root(count, k, weight=True) for k in range(count // 2)]
    return half + [(-node, weight) for node, weight in half]


def _enough(wanted: float) -> int:
    """Return 8, 12, 16, 24, 32, 48, ...: the least of them from a number on."""
    count = 8
    while count < wanted:
        count = count * 3 // 2 if count & (count - 1) == 0 else count * 4 // 3
    return count


def _fineness(t: arb) -> int:
    """Return how often 16 is doubled to reach |Im s|, about."""
    return max(0, math.ceil(math.log2(max(abs(float(t)) / 16.0, 1.0))))
