"""What is proved of delta: by a sum over a vertical line, in closed form, by listing all outcomes.

**The line.** With F(s) = M(s) e^{-s epsilon} / (s (s + 1)), M the transform of the finite losses,
the finite part of delta is (1 / 2 pi i) int F over Re s = c > 0, as the transform of (1 - e^{-x})_+
is 1 / (s (s + 1)). Its trapezoid sum of step h,

    S = (h / pi) (F(c) / 2 + Re F(c + ih) + Re F(c + 2ih) + ...),

is sum_j delta(epsilon + 2 pi j / h) e^{2 pi j c / h} by Poisson summation, so delta <= S, and the
terms j < 0 are at most mass / (e^{2 pi c / h} - 1), those j > 0, with delta(x) <= C e^{-c' x} M(c')
for C = c'^c' / (1 + c')^{1 + c'} and any c' > c, at most C M(c') e^{-c' epsilon} r / (1 - r), r =
e^{-2 pi (c' - c) / h}. Beyond the last node n, with t1 = (n + 1/2) h and p >= |phi| from there on,
is at most M(c) e^{-c epsilon} p / (pi t1).

**|phi| beyond t1.** On a cell of width d |phi|^2 is at most its larger value at the two ends and
V d^2 / 4, where V is the variance of the tilted loss: (|phi|^2)'' is at least -2 V. Cells reach to
where a law's `far` takes over. V is at most that of cosh: y^2 <= 2 (cosh(uy) - 1) / u^2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from flint import acb, arb, arb_poly

from tests.checker.laws import (
    ONE,
    Clock,
    Finite,
    Gaussian,
    Law,
    TooLongError,
    ball,
    largest,
    name,
    normal_tail,
)

Parts = Sequence[tuple[Law, int]]
MOST_OUTCOMES, MOST_CELLS = 200_000, 400
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
    right: Fraction

    def finer(self, factor: Fraction) -> Line:
        """Return the same line with more nodes, as far out."""
        return self._replace(step=self.step / factor, nodes=math.ceil(self.nodes * factor))


class Measure:
    """The finite losses of a composition or, where there are J, of its paths with one of a J.

    With J the transform is prod (A + J)^n - prod A^n = prod A^n (e^{sum n log(1 + J / A)} - 1): an
    outcome of each law is one of A or of J, and one at least is of J.
    """

    def __init__(self, parts: Parts, rest: Sequence[Law | None] | None = None) -> None:
        """Take the laws A with their counts, and law by law a J or None."""
        self.some = rest is not None
        self.parts = [
            (law, j, n) for (law, n), j in zip(parts, rest or [None] * len(parts), strict=True)
        ]

    def moment(self, s: acb) -> acb:
        """Return the transform."""
        return self._of([
            (a.moment(s), None if j is None else j.moment(s), n) for a, j, n in self.parts
        ])  # fmt: skip

    def along(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return the transform at c + ikh, 0 <= k < count."""
        laws = [
            (a.nodes(c, h, count), None if j is None else j.nodes(c, h, count), n)
            for a, j, n in self.parts
        ]
        return [
            self._of([(a[k], None if j is None else j[k], n) for a, j, n in laws])
            for k in range(count)
        ]

    def _of(self, values: list[tuple[acb, acb | None, int]]) -> acb:
        every, rest = acb(1), acb(0)
        for a, j, n in values:
            every *= a**n
            if j is not None:
                rest += n * (j / a).log1p()
        return every * rest.expm1() if self.some else every

    def beyond(self, c: arb, end: arb) -> arb:
        """Bound the transform beyond a point over its value at c.

        In powers of J, |prod (A + J)^n - prod A^n| is at most prod (|A| + |J|)^n - prod |A|^n,
        which rises with each of them.
        """
        sizes = []
        for law, j, n in self.parts:
            share = beyond(law, c, end, n)
            most = None if j is None else acb(j.moment(acb(c)).real * j.far(c, end))
            sizes.append((acb(law.moment(acb(c)).real * share.root(n)), most, n))
        return (self._of(sizes).real / self.moment(acb(c)).real).upper()

    def chernoff(self, epsilon: arb, c: arb) -> arb:
        """Bound delta by a moment: (1 - e^{-x})_+ <= C e^{cx}, C = c^c / (1 + c)^{1 + c}."""
        factor = (c * c.log() - (1 + c) * (1 + c).log() - c * epsilon).exp()
        return factor * self.moment(acb(c)).real


def infinite_mass(parts: Parts) -> arb:
    """Return P(L = infinity) of the composition."""
    finite = arb(1)
    for law, count in parts:
        finite *= (1 - law.infinite) ** count
    return 1 - finite


def on_line(measure: Measure, epsilon: arb, line: Line, delta: arb) -> tuple[arb, arb]:
    """Return proved lower and upper bounds on delta(epsilon) of a measure; it is about `delta`.

    It is summed with a finer step, as far out, if aliases are no longer little beside that.
    """
    if not (line.abscissa > 0 and line.step > 0):
        raise ValueError("this is no line: it needs an abscissa and a step above 0")
    for factor in FINER:
        finer = line.finer(factor)
        if aliases(measure, epsilon, finer) <= LITTLE * delta:
            break
    line = finer
    c, h, total = ball(line.abscissa), ball(line.step), arb(0)
    Clock.charge(PER_NODE * line.nodes)
    # A quarter more: what is cut then need not be bounded as well as it was.
    nodes = line.nodes + line.nodes // 4 + 1
    for k, moved in enumerate(measure.along(c, h, nodes + 1)):
        s = acb(c, k * h)
        value = moved * (-s * epsilon).exp() / (s * (s + 1))
        total += h / arb.pi() / (2 if k == 0 else 1) * value.real
    peak = measure.moment(acb(c)).real * (-c * epsilon).exp()
    end = (nodes + ball(Fraction(1, 2))) * h
    cut = peak * measure.beyond(c, end) / (arb.pi() * end)
    return total - aliases(measure, epsilon, line) - cut, total + cut


def aliases(measure: Measure, epsilon: arb, line: Line) -> arb:
    """Bound the terms j < 0 by the mass, and those j > 0 by the best of some c' above c."""
    c, h = ball(line.abscissa), ball(line.step)
    below = measure.moment(acb(0)).real.upper() / ((2 * arb.pi() * c / h).exp() - 1)
    above = arb.pos_inf()
    for right in (*(c * ball(place) for place in CHERNOFF), ball(line.right)):
        if right > c:
            r = (-2 * arb.pi() * (right - c) / h).exp()
            above = above.min((measure.chernoff(epsilon, right) * r / (1 - r)).upper())
    return below + above


def variance(law: Law, c: arb) -> arb:
    """Return an upper bound on the variance of the tilted loss, and so on its mean square around m.

    e^{-um} M(c + u) + e^{um} M(c - u) - 2 M(c) is M(c) E 2 (cosh(u (L - m)) - 1), any u and m.
    """
    here = law.moment(acb(c)).real
    best = arb.pos_inf()
    for k in range(40):
        u = ball(Fraction(1, 4**k))
        above, below = law.moment(acb(c + u)).real, law.moment(acb(c - u)).real
        mean = ((above / below).log() / (2 * u)).mid()
        bound = ((-u * mean).exp() * above + (u * mean).exp() * below - 2 * here) / (u * u * here)
        if bound.is_finite():
            best = best.min(bound.upper())
        if u * u * best < 0.01:
            break
    if not best.is_finite():
        raise TooLongError("the variance of a law could not be bounded")
    return best.upper()


def beyond(law: Law, c: arb, start: arb, count: int) -> arb:
    """Return a proved bound on |phi(t)|^count for all t >= start."""
    key = "beyond", name(c), name(start), count
    found: arb = law.once(key, lambda: _beyond(law, c, start, count))
    return found


def _beyond(law: Law, c: arb, start: arb, count: int) -> arb:
    whole = law.moment(acb(c)).real
    wanted = ball(Fraction(-ENOUGH / count)).exp()
    nearest = law.far(c, start)
    if isinstance(law, Gaussian) or nearest <= wanted:
        return nearest**count
    limit = law.far(c, 10**9 * start)
    if limit >= 1:
        return arb(1)
    spread = variance(law, c)

    def squared(t: arb) -> arb:
        return ((law.moment(acb(c, t)).abs_upper() / whole) ** 2).upper()

    at, square, worst = start, squared(start), arb(0)
    # So much more costs a unit of log |phi|^count.
    little = 1 + ball(Fraction(2, count))
    shorter = ONE
    for _ in range(MOST_CELLS):
        far = law.far(c, at)
        # Atoms stay; further out there is hardly less.
        if far * far <= worst.max(wanted * wanted) or far.log() <= limit.log() * 49 / 50:
            return largest(worst, far * far).sqrt() ** count
        # As wide as a cell may be whose other end is no higher.
        most = worst.max(wanted * wanted).max(square * little)
        step = (shorter * (4 * (most - square) / spread).sqrt().min(at)).mid()
        later = squared(at + step)
        cell = (square.max(later) + spread * step * step / 4).upper()
        if cell <= most * (1 + ball(Fraction(1, 100 * count))):
            at, square, worst, shorter = at + step, later, largest(worst, cell), ONE
        else:
            shorter /= 2
    return nearest**count


def in_closed_form(parts: Parts, epsilon: arb) -> tuple[arb, arb] | None:
    """Return delta of Gaussians alone, or what is infinite if no finite loss is above epsilon."""
    mass = infinite_mass(parts)
    if sum((n * law.most for law, n in parts), arb(0)) <= epsilon:
        return mass, mass
    if not all(isinstance(law, Gaussian) for law, _ in parts):
        return None
    squared = sum(n * law.squared for law, n in parts if isinstance(law, Gaussian))
    mu = ball(squared).sqrt()
    found = normal_tail(epsilon / mu - mu / 2) - epsilon.exp() * normal_tail(epsilon / mu + mu / 2)
    return found, found


def listed(parts: Parts, epsilon: arb) -> tuple[arb, arb] | None:
    """Return bounds from all outcomes of equally spaced losses; None where they are too many.

    The masses of n uses are the coefficients of a power of the polynomial that has those of one.
    """
    tables, size = [], 1
    for law, n in parts:
        if not isinstance(law, Finite) or law.step is None:
            return None
        degree = (len(law.losses) - 1) * n
        size *= degree + 1
        if size > MOST_OUTCOMES:
            return None
        # 40,000 coefficients take a second.
        Clock.charge(degree**2 // 1700)
        one, highest, step = arb_poly([p for p, _ in law.losses]), law.losses[0][1], law.step
        powers = (one**n).coeffs()
        tables.append([(p, n * highest - k * step) for k, p in enumerate(powers)])
    Clock.charge(PER_OUTCOME * size)
    below = above = infinite_mass(parts)
    for outcome in product(*tables):
        p, loss = arb(1), arb(0)
        for mass, each in outcome:
            p, loss = p * mass, loss + each
        part = 1 - (epsilon - loss).exp()
        above += p * part.upper().max(arb(0))
        below += p * part.lower().max(arb(0))
    return below, above
