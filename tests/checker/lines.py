"""What is proved of delta: by a sum over a vertical line, in closed form, by listing all outcomes.

**The line.** With F(s) = M(s) e^{-s epsilon} g(s) / (s (s + 1)), M the transform of the finite
losses and g(s) = e^{tau^2 s (s + 1) / 2}, the finite part of delta is (1 / 2 pi i) int F over
Re s = c > 0 for tau = 0, as the transform of (1 - e^{-x})_+ is 1 / (s (s + 1)). Its trapezoid sum
of step h,

    S = (h / pi) (F(c) / 2 + Re F(c + ih) + Re F(c + 2ih) + ...),

is sum_j delta(epsilon + 2 pi j / h) e^{2 pi j c / h} by Poisson summation, so delta <= S, and the
terms j < 0 are at most mass / (e^{2 pi c / h} - 1), those j > 0, with delta(x) <= C e^{-c' x} M(c')
for C = c'^c' / (1 + c')^{1 + c'} and any c' > c, at most C M(c') e^{-c' epsilon} r / (1 - r), r =
e^{-2 pi (c' - c) / h}. Beyond the last node n, with t1 = (n + 1/2) h and p >= |phi| from there on,
is at most M(c) g(c) e^{-c epsilon} p e^{-tau^2 t1^2 / 2} / (pi t1). With tau > 0 the payoff is
(1 - e^{-x})_+ averaged over a normal with mean tau^2 / 2 and variance tau^2 added to x: not below
it by Jensen's inequality, and above it by at most tau (2 pi)^{-1/2} e^{-x / 2 - x^2 / (2 tau^2)}
(the vega of a Black-Scholes put), whose sum has tau^2 e^{tau^2 / 8} g(s) for 1 / (s (s + 1)) g(s).

**|phi| beyond t1.** On a cell of width d |phi|^2 is at most its larger value at the two ends and
V d^2 / 4, where V is the variance of the tilted loss: (|phi|^2)'' is at least -2 V. Cells reach to
where a law's `far` takes over. V is at most that of cosh: y^2 <= 2 (cosh(uy) - 1) / u^2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import NamedTuple, Protocol

from flint import acb, arb, arb_poly, ctx, fmpz, fmpz_poly

from tests.checker.laws import (
    ONE,
    Clock,
    Finite,
    Gaussian,
    Laplace,
    Law,
    SampledGaussian,
    TooLongError,
    ball,
    largest,
    name,
    normal_tail,
)

Parts = Sequence[tuple[Law, int]]
MOST_OUTCOMES, MOST_CELLS = 200_000, 400
# Of so many uses contours are shifted: delta of 8 uses was known to 3e-7 without, not 4e-11. Of
# thousands cells say more.
SHIFTED_UP_TO = 100
# Of fewer uses what is left at the end of a line is as little as a law's own bound says: of 3 uses
# 400 cells came to no end.
FEW_USES = 8
# So many take 3 s.
MOST_LAPLACE = 700
# What a node, and an outcome that is listed, count of the time that a check may take.
PER_NODE, PER_OUTCOME = 20, 20
# Logarithm of |phi|^count that needs no improvement.
ENOUGH = 35.0
# How many times as many nodes are tried, on the same line: where large losses were cut off when the
# line was chosen, aliases of the whole need a finer one; and what part of delta they may be.
FINER = (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3))
LITTLE = ball(Fraction(1, 10**11))
# Multiples of c that are tried for c'.
CHERNOFF = [Fraction(k, 8) for k in (9, 10, 11, 12, 14, 16, 20, 24, 32, 48)]


class Line(NamedTuple):
    """What a certificate says of a line: where it is, and nothing of its values."""

    abscissa: Fraction
    step: Fraction
    nodes: int
    smoothing: Fraction
    right: Fraction

    def finer(self, factor: Fraction) -> Line:
        """Return the same line with more nodes, as far out."""
        nodes = math.ceil(self.nodes * factor)
        return self._replace(step=self.step / factor, nodes=nodes)


def infinite_mass(parts: Parts) -> arb:
    """Return P(L = infinity) of the composition."""
    finite = arb(1)
    for law, count in parts:
        finite *= (1 - law.infinite) ** count
    return 1 - finite


class Measure(Protocol):
    """A finite positive measure of losses, of mass 1 at most."""

    def moment(self, s: acb) -> acb:
        """Return its transform."""

    def along(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return its transform at c + ikh, 0 <= k < count."""

    def beyond(self, c: arb, end: arb) -> arb:
        """Bound |M(c + it)| / M(c) for all t beyond `end`."""


class Product:
    """The finite losses of a composition."""

    def __init__(self, parts: Parts) -> None:
        """Take the laws with their counts."""
        self.parts = parts

    def moment(self, s: acb) -> acb:
        """Return the product."""
        return moment(self.parts, s)

    def along(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return the products."""
        return along(self.parts, c, h, count)

    def beyond(self, c: arb, end: arb) -> arb:
        """Return the product of bounds."""
        share = arb(1)
        for law, count in self.parts:
            share *= beyond(law, c, end, count)
        return share


def on_line(measure: Measure, epsilon: arb, line: Line) -> tuple[arb, arb]:
    """Return proved lower and upper bounds on delta(epsilon) of a measure.

    The c' of the aliases may be any number above c: the best of some, and of what is said.
    """
    c, h, tau = ball(line.abscissa), ball(line.step), ball(line.smoothing)
    if not (c > 0 and h > 0 and line.nodes >= 1 and tau >= 0):
        raise ValueError("this is no line: it needs an abscissa, a step and nodes above 0")
    Clock.charge(PER_NODE * line.nodes)
    total, gap = arb(0), arb(0)
    # A quarter more: what is cut then need not be bounded as well as it was.
    nodes = line.nodes + line.nodes // 4 + 1
    for k, moved in enumerate(measure.along(c, h, nodes + 1)):
        s = acb(c, k * h)
        kernel = s * (s + 1)
        value = moved * (tau * tau * kernel / 2 - s * epsilon).exp()
        weight = h / arb.pi() / (2 if k == 0 else 1)
        total += weight * (value / kernel).real
        gap += weight * value.real
    peak = measure.moment(acb(c)).real * (tau * tau * c * (c + 1) / 2 - c * epsilon).exp()
    end = (nodes + ball(Fraction(1, 2))) * h
    share = measure.beyond(c, end)
    gauss = (-tau * tau * end * end / 2).exp()
    cut = peak * share * gauss / (arb.pi() * end)
    alias = aliases(measure, epsilon, line)
    smoothing = arb(0)
    if tau > 0:
        scale = tau * tau * (tau * tau / 8).exp()
        if not tau * end >= 1:
            raise ValueError("the smoothing is too little for the line: tau t1 < 1")
        # Without 1 / t^2 the rest falls by e^{-tau^2 t^2 / 2} alone.
        more = peak * share * gauss / (arb.pi() * tau * tau * end)
        smoothing = scale * (gap.max(arb(0)) + more)
    return total - alias - cut - smoothing, total + cut


def aliases(measure: Measure, epsilon: arb, line: Line) -> arb:
    """Bound the terms j < 0 by the mass, and those j > 0 by the best of some c'."""
    c, h, tau = ball(line.abscissa), ball(line.step), ball(line.smoothing)
    below = measure.moment(acb(0)).real.upper() / ((2 * arb.pi() * c / h).exp() - 1)
    above = arb.pos_inf()
    for right in (*(c * ball(place) for place in CHERNOFF), ball(line.right)):
        if not right > c:
            continue
        r = (-2 * arb.pi() * (right - c) / h).exp()
        moved = (tau * tau * right * (right + 1) / 2 - right * epsilon).exp()
        moved *= supremum(right) * measure.moment(acb(right)).real
        above = above.min((moved * r / (1 - r)).upper())
    return below + above


def finer(measure: Measure, epsilon: arb, line: Line, delta: arb) -> Iterator[Line]:
    """Yield the same line with more nodes, from where aliases are little beside a delta."""
    for factor in FINER:
        found = line.finer(factor)
        if aliases(measure, epsilon, found) <= LITTLE * delta or factor == FINER[-1]:
            yield found


def supremum(c: arb) -> arb:
    """Return sup over x of (1 - e^{-x}) e^{-cx}: c^c / (1 + c)^{1 + c}."""
    return (c * c.log() - (1 + c) * (1 + c).log()).exp()


def moment(parts: Parts, s: acb) -> acb:
    """Return M(s) of a composition."""
    found = acb(1)
    for law, count in parts:
        found *= law.moment(s) ** count
    return found


def along(parts: Parts, c: arb, h: arb, count: int) -> list[acb]:
    """Return M(c + ikh) of a composition, 0 <= k < count."""
    found = [acb(1)] * count
    for law, uses in parts:
        found = [x * y**uses for x, y in zip(found, on_nodes(law, c, h, count), strict=True)]
    return found


def on_nodes(law: Law, c: arb, h: arb, count: int) -> list[acb]:
    """Return M(c + ikh) of one law, 0 <= k < count: both ends are proved on one line."""
    key = name(c), name(h), count
    if key not in law.known:
        law.known[key] = law.along(c, h, count)
    return law.known[key]


def variance(law: Law, c: arb) -> arb:
    """Return an upper bound on the variance of the tilted loss, and so on its mean square around m.

    e^{-um} M(c + u) + e^{um} M(c - u) - 2 M(c) is M(c) E 2 (cosh(u (L - m)) - 1), any u and m.
    """
    here = law.moment(acb(c)).real
    best: arb | None = None
    for k in range(40):
        u = ball(Fraction(1, 4**k))
        above, below = law.moment(acb(c + u)).real, law.moment(acb(c - u)).real
        mean = ((above / below).log() / (2 * u)).mid()
        bound = ((-u * mean).exp() * above + (u * mean).exp() * below - 2 * here) / (u * u * here)
        if not bound.is_finite():
            continue
        best = bound.upper() if best is None else best.min(bound.upper())
        if float(u * u * best) < 0.01:
            break
    if best is None:
        raise TooLongError("the variance of a law could not be bounded")
    return best.upper()


def beyond(law: Law, c: arb, start: arb, count: int) -> arb:
    """Return a proved bound on |phi(t)|^count for all t >= start."""
    key = name(c), name(start), count
    if key not in law.ends:
        law.ends[key] = _beyond(law, c, start, count)
    return law.ends[key]


def _beyond(law: Law, c: arb, start: arb, count: int) -> arb:
    whole = law.moment(acb(c)).real
    if count == 0:
        return arb(1)
    wanted = ball(Fraction(-ENOUGH / count)).exp()
    nearest = law.far(c, start)
    if count <= SHIFTED_UP_TO and isinstance(law, SampledGaussian):
        nearest = nearest.min(law.shifted(c, start))
    if isinstance(law, Gaussian) or nearest <= wanted:
        return nearest**count
    limit = law.far(c, 10**9 * start)
    if limit >= 1:
        return arb(1)
    spread = variance(law, c)
    at, square, worst = start, _square(law, c, start, whole), arb(0)
    # So much more costs a unit of log |phi|^count.
    little = 1 + ball(Fraction(2, count))
    shorter = ONE
    for _ in range(MOST_CELLS if count > FEW_USES else 0):
        far = law.far(c, at)
        # Atoms stay; further out there is hardly less.
        if far * far <= worst.max(wanted * wanted) or far.log() <= limit.log() * 49 / 50:
            return largest(worst, far * far).sqrt() ** count
        # As wide as a cell may be whose other end is no higher.
        most = worst.max(wanted * wanted).max(square * little)
        step = (shorter * (4 * (most - square) / spread).sqrt().min(at)).mid()
        later = _square(law, c, at + step, whole)
        cell = (square.max(later) + spread * step * step / 4).upper()
        if cell <= most * (1 + ball(Fraction(1, 100 * count))):
            at, square, worst, shorter = at + step, later, largest(worst, cell), ONE
        else:
            shorter /= 2
    return nearest**count


def _square(law: Law, c: arb, t: arb, whole: arb) -> arb:
    """Return |phi(t)|^2."""
    value = law.size(c, t) / whole
    return (value * value).upper()


def in_closed_form(parts: Parts, epsilon: arb) -> tuple[arb, arb] | None:
    """Return delta of Gaussians alone; None where there is anything else."""
    squared = Fraction(0)
    for law, count in parts:
        if not isinstance(law, Gaussian):
            return None
        squared += count * law.squared
    mu = ball(squared).sqrt()
    found = normal_tail(epsilon / mu - mu / 2) - epsilon.exp() * normal_tail(epsilon / mu + mu / 2)
    return found, found


def above_all(parts: Parts, epsilon: arb) -> tuple[arb, arb] | None:
    """Return what is infinite, where no sum of finite losses is above epsilon; else None."""
    most = sum((n * law.most for law, n in parts), arb(0))
    mass = infinite_mass(parts)
    return (mass, mass) if most <= epsilon else None


def one_sample(parts: Parts, epsilon: arb) -> tuple[arb, arb] | None:
    """Return delta of one sample of Gaussian noise: P(L > epsilon) - e^epsilon Q(L > epsilon).

    With one record r phi, r = 1 - q + q E, and without it phi: r(x) = e^epsilon at one x, and r
    rises; where the record is added, L = -log r.
    """
    [(law, n), *rest] = parts
    if rest or n != 1 or not isinstance(law, SampledGaussian):
        return None
    size = (epsilon if law.remove else -epsilon).exp() - 1 + law.q
    if not size > 0:
        return None
    x = law.sigma**2 * (size / law.q).log() + ball(Fraction(1, 2))
    side = 1 if law.remove else -1
    none, one = (normal_tail(side * (x - mean) / law.sigma) for mean in (0, 1))
    mixed = (1 - law.q) * none + law.q * one
    p, q = (mixed, none) if law.remove else (none, mixed)
    found = p - epsilon.exp() * q
    return found, found


def of_laplace(parts: Parts, epsilon: arb) -> tuple[arb, arb] | None:
    """Return delta of few uses of one Laplace noise; None where there is anything else.

    Of n losses, j are a and k are -a, and the other m are in between. Less the factor e^{(l - a) /
    2} the law of a loss has atoms 1 / 2 and the density 1 / 4, so that delta is e^{-n a / 2} times
    the sum over j, k, m of n! / (j! k! m!) 2^{-j - k} (a / 2)^m E f(L), with f(x) = e^{x / 2} -
    e^{epsilon - x / 2} where that is positive, and L = (j - k) a and m uniform numbers in (-a, a).
    E f(L) is (2 a)^-m sum over i of (-1)^i C(m, i) F((m - 2 i + j - k) a - epsilon), where F(u) is
    the m-fold integral of 2 e^{epsilon / 2} sinh(v / 2) from 0 to u, or 0 for u < 0. With d = i + k
    that is at (n - 2 d) a - epsilon, and the sum over i and k of (-1)^i C(m, i) C(n - m, k) is the
    coefficient of z^d in (1 - z)^m (1 + z)^{n - m}. As sinh(v / 2) is 4 times its second derivative
    the integral is 4 times that of m - 2, less 2 u^{m - 1} / (m - 1)!.
    """
    if len(parts) != 1 or not isinstance(parts[0][0], Laplace) or parts[0][1] > MOST_LAPLACE:
        return None
    [(law, n)] = parts
    assert isinstance(law, Laplace)
    key = n, name(epsilon)
    if key not in law.deltas:
        # delta falls with epsilon, at a rate of no more than P(L > epsilon).
        around = arb(0, epsilon.rad().upper())
        law.deltas[key] = _of_laplace(law.ratio, n, epsilon.mid()) + around
    return law.deltas[key], law.deltas[key]


def _of_laplace(ratio: Fraction, n: int, epsilon: arb) -> arb:
    """Return delta of n uses."""
    total = arb(0)
    Clock.charge(5 * n**2)
    # Of 1 / n!, about, all that is larger cancels.
    with ctx.extraprec(n * (10 + n.bit_length())):
        a = ball(ratio)
        places = [(n - 2 * d) * a - epsilon for d in range(n + 1)]
        places = [u.max(arb(0)) for u in places if not u < 0]
        last, here = [(u / 2).sinh() for u in places], [2 * (u / 2).cosh() - 2 for u in places]
        powers = [arb(2)] * len(places)
        for m in range(n + 1):
            ways = fmpz_poly([1, -1]) ** m * fmpz_poly([1, 1]) ** (n - m)
            terms = (fmpz(ways[d]) * value for d, value in enumerate(last))
            total += ball(Fraction(2 * comb(n, m), 2 ** (n + m))) * sum(terms, arb(0))
            # u^m / m!, twice.
            powers = [power * u / (m + 1) for power, u in zip(powers, places, strict=True)]
            more = [4 * x - power for x, power in zip(last, powers, strict=True)]
            last, here = here, more
        total *= ((epsilon - n * a) / 2).exp()
    return total


def on_lattice(parts: Parts, epsilon: arb) -> tuple[arb, arb] | None:
    """Return bounds for uses of one law of equally spaced losses; None where there is another.

    The masses of n uses are the coefficients of a power of the polynomial that has those of one.
    """
    law, n = parts[0]
    if len(parts) != 1 or not isinstance(law, Finite) or law.step is None:
        return None
    size = (len(law.losses) - 1) * n + 1
    if size > MOST_OUTCOMES:
        return None
    Clock.charge(PER_OUTCOME * size // 4)
    if n not in law.powers:
        # 40,000 coefficients take a second.
        Clock.charge(size * size // 1700)
        law.powers[n] = (arb_poly([p for p, _ in law.losses]) ** n).coeffs()
    highest, below, above = n * law.losses[0][1], arb(0), arb(0)
    for k, p in enumerate(law.powers[n]):
        part = 1 - (epsilon - highest + k * law.step).exp()
        above += p * part.upper().max(arb(0))
        below += p * part.lower().max(arb(0))
    mass = infinite_mass(parts)
    return below + mass, above + mass


def listed(parts: Parts, epsilon: arb) -> tuple[arb, arb] | None:
    """Return bounds from all outcomes of finitely many losses; None where they are too many."""
    tables, size = [], 1
    for law, count in parts:
        if not isinstance(law, Finite) or len(law.losses) > 3:
            return None
        kinds = len(law.losses)
        size *= comb(count + kinds - 1, kinds - 1)
        if size > MOST_OUTCOMES:
            return None
    for law, count in parts:
        assert isinstance(law, Finite)
        tables.append(_several(law.losses, count))
    Clock.charge(PER_OUTCOME * size)
    below, above = arb(0), arb(0)
    for outcome in product(*tables):
        p, loss = arb(1), arb(0)
        for mass, each in outcome:
            p, loss = p * mass, loss + each
        part = 1 - (epsilon - loss).exp()
        above += p * part.upper().max(arb(0))
        below += p * part.lower().max(arb(0))
    mass = infinite_mass(parts)
    return below + mass, above + mass


def _several(losses: list[tuple[arb, arb]], count: int) -> list[tuple[arb, arb]]:
    """Return the outcomes of so many uses of a law of a few losses: multinomial masses."""
    (p, loss), *rest = losses
    if not rest:
        return [(p**count, loss * count)]
    Clock.charge(PER_OUTCOME * (count + 1))
    found, chosen = [], arb(1)
    for used in range(count + 1):
        for mass, other in _several(rest, count - used):
            found.append((chosen * mass, used * loss + other))
        # The next binomial coefficient, with the next power.
        chosen = chosen * (count - used) * p / (used + 1)
    return found


def chernoff(parts: Parts, epsilon: arb, c: Fraction) -> arb:
    """Return an upper bound on delta from the moment of one order: C(c) M(c) e^{-c epsilon}."""
    at = ball(c)
    return supremum(at) * moment(parts, acb(at)).real * (-at * epsilon).exp() + infinite_mass(parts)


def number(x: float | arb) -> float:
    """Return about a number, for messages."""
    return float(x) if math.isfinite(float(x)) else math.inf
