"""delta of samples that are split at a large loss, on two lines.

For independent pairs (P_i, Q_i), sets A_i of outcomes, A = "each outcome is in its A_i", B its
complement, S the sum of the losses and any epsilon,

    delta(epsilon) = E_P[(1 - e^{epsilon - S})_+ ; A] + P(B) - e^epsilon Q(B)
                   + e^epsilon E_Q[(1 - e^{S - epsilon})_+ ; B],

because (1 - v)_+ = (1 - v) + (v - 1)_+ for v = e^{epsilon - S}, E_P[1 - v; B] = P(B) - e^epsilon
Q(B) and E_P[(v - 1)_+; B] = E_Q[(e^epsilon - e^S)_+; B]; what has an infinite loss is added. The
first expectation is the delta of a finite positive measure, and the last that of another, of the
reversed losses -S under Q, at -epsilon: `lines.on_line` bounds both. A_i is x <= X_i for samples of
Gaussian noise where a record is removed, everything for other laws.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flint import acb, arb

from tests.checker.laws import (
    NEGLIGIBLE,
    ONE,
    Clock,
    Law,
    SampledGaussian,
    ball,
    farthest,
    largest,
    normal_tail,
)
from tests.checker.lines import (
    CHERNOFF,
    Line,
    Parts,
    Product,
    beyond,
    finer,
    infinite_mass,
    moment,
    on_line,
    supremum,
)

# Panels of Gauss's rule are this large: half of one is the least of them.
HALF_PANEL, HALF_WIDTH, ELLIPSE = 0.5, 1.0, 6.0


class CutGaussian(Law):
    """The outcomes x <= X of a sampled Gaussian: int over x <= X of phi r^{u + iv}.

    **Gauss's rule** of N nodes on a panel of half width w is off by at most (64 / 15) w sup |f|
    rho^{-2 (N - 1)} / (1 - rho^{-2}), the supremum over the ellipse of half axes w (rho + 1 / rho)
    / 2 and w (rho - 1 / rho) / 2 = y (Trefethen 2013, Theorem 19.3), where f is analytic: y < pi
    sigma^2. There |phi| <= e^{y^2 / (2 sigma^2)} phi at the nearest real point, and with theta = y
    / sigma^2 |r^{u + iv}| <= e^{|v| theta} kappa r^u, as for the whole law.
    """

    def __init__(self, whole: SampledGaussian, x: Fraction) -> None:
        """Take the law and X."""
        self.whole, self.x = whole, ball(x)
        self._sums: dict[tuple[str, int], list[tuple[arb, arb, arb]]] = {}
        self._splits: dict[str, list[tuple[arb, arb]]] = {}

    def moment(self, s: acb) -> acb:
        """Return the sum over all panels."""
        law, v = self.whole, s.imag if self.whole.remove else -s.imag
        fineness = max(0, math.ceil(math.log2(max(abs(float(v)) / 16.0, 1.0))))
        key = s.real.str(40), fineness
        if key not in self._sums:
            self._sums[key] = self._panels(law.power(s.real), 16.0 * 2.0**fineness)
        Clock.charge(len(self._sums[key]))
        turn = acb(0, 1) * v
        found = sum((a * (turn * x).exp() for a, x, _ in self._sums[key]), acb(0))
        error = sum((wrong for _, _, wrong in self._sums[key]), arb(0)).upper()
        return found + acb(arb(0, error), arb(0, error))

    def _panels(self, u: arb, highest: float) -> list[tuple[arb, arb, arb]]:
        """Return weights, log r, and errors that hold for |v| <= highest."""
        law = self.whole
        sigma, at = law.width, float(u)
        half = min(HALF_PANEL * sigma**2, HALF_WIDTH * sigma)
        y = half * (ELLIPSE - 1.0 / ELLIPSE) / 2.0
        theta = y / sigma**2
        growth = NEGLIGIBLE + highest * theta + y * y / (2.0 * sigma**2) + 5.0
        growth += max(0.0, -at) * -math.log(math.cos(theta / 2.0))
        count = 2 + math.ceil(growth / (2.0 * math.log(ELLIPSE)))
        w, rho = ball(Fraction(half)), ball(Fraction(ELLIPSE))
        size = math.sqrt(2.0 * (NEGLIGIBLE + max(0.0, -at) * -math.log1p(-law.rate)) + 20.0)
        first = float(self.x) - 2.0 * half
        panels = max(1, math.ceil((first + size * sigma) / (2.0 * half)) + 1)
        Clock.charge(3 * panels * count)
        found = []
        tall = w * (rho - 1 / rho) / 2
        phase = (ball(Fraction(highest)) * tall / law.sigma**2).exp()
        kappa = ONE if at >= 0.0 else (tall / law.sigma**2 / 2).cos() ** u
        factor = phase * kappa * (tall**2 / (2 * law.sigma**2)).exp()
        factor *= ball(Fraction(64, 15)) * w * rho ** (2 - 2 * count) / (1 - rho**-2)
        wide = w * (rho + 1 / rho) / 2
        for k in range(panels):
            middle = self.x - (2 * k + 1) * w
            left, right = middle - wide, middle + wide
            near = arb(0) if left < 0 < right else left if abs(left) < abs(right) else right
            peak = law.density(near) * largest(law.ratio(left) ** u, law.ratio(right) ** u)
            error = (factor * peak).upper()
            for j, (node, weight) in enumerate(_gauss(count)):
                x = middle + w * node
                logarithm = law.ratio(x).log()
                value = w * weight * law.density(x) * (u * logarithm).exp()
                found.append((value, logarithm, error if j == 0 else arb(0)))
        end = self.x - 2 * panels * w
        least = ONE if at >= 0.0 else (1 - law.q) ** u
        beyond_ = least * largest(law.ratio(end) ** u, ONE) * normal_tail(-end / law.sigma)
        found.append((arb(0), arb(0), beyond_.upper()))
        return found

    def far(self, c: arb, t: arb) -> arb:
        """As for the whole law, by parts up to X."""
        key = c.str(40)
        if key not in self._splits:
            whole = self.moment(acb(c)).real
            self._splits[key] = self.whole.splits(self.whole.power(c), self.x, whole)
        return farthest(self._splits[key], t)


@lru_cache(64)
def _gauss(count: int) -> list[tuple[arb, arb]]:
    """Return the nodes and weights of Gauss's rule on [-1, 1]."""
    return [arb.legendre_p_root(count, k, weight=True) for k in range(count)]


class Split(NamedTuple):
    """What a certificate says: a loss, the line of the bulk, and that of the rest if it has one."""

    level: Fraction
    right: Line
    left: Line | None


class Difference:
    """The measure with the transform prod F_i^n - prod A_i^n, of A_i <= F_i: something is in B."""

    def __init__(self, whole: Parts, cut: Parts) -> None:
        """Take both compositions, law by law."""
        self.whole, self.cut = whole, cut

    def moment(self, s: acb) -> acb:
        """Return the difference."""
        return moment(self.whole, s) - moment(self.cut, s)

    def beyond(self, c: arb, end: arb) -> arb:
        """Bound the transform beyond a point over its value at c.

        One factor after the other is exchanged: each difference is at most n |F - A| max(|F|,
        |A|)^{n - 1} times the other factors, and |F - A| falls from F(c) - A(c).
        """
        at = acb(c)
        total, every = arb(0), arb(1)
        for (whole, n), (cut, _) in zip(self.whole, self.cut, strict=True):
            f = whole.moment(at).real
            if cut is whole:
                every *= f**n * beyond(whole, c, end, n)
                continue
            a = cut.moment(at).real
            used = beyond(whole, c, end, n - 1).max((a / f) ** (n - 1) * beyond(cut, c, end, n - 1))
            total += n * (f - a) / f
            every *= f**n * used.upper()
        return (total * every / self.moment(at).real).upper()


def on_split(parts: Parts, back: Parts, claim: tuple[arb, arb], split: Split) -> tuple[arb, arb]:
    """Return proved bounds on delta.

    Args:
        parts: the laws with their counts.
        back: the laws of the reversed pairs, in the same order.
        claim: epsilon, and about delta there.
        split: the lines.
    """
    epsilon, delta = claim
    bulk: list[tuple[Law, int]] = []
    rest: list[tuple[Law, int]] = []
    for (law, n), (other, _) in zip(parts, back, strict=True):
        if isinstance(law, SampledGaussian) and law.remove:
            assert isinstance(other, SampledGaussian)
            x = _place(law, split.level)
            bulk.append((CutGaussian(law, x), n))
            rest.append((CutGaussian(other, x), n))
        else:
            bulk.append((law, n))
            rest.append((other, n))
    whole = Product(bulk)
    below, above = on_line(whole, epsilon, next(finer(whole, epsilon, split.right, delta)))
    zero = acb(0)
    p = (moment(parts, zero) - moment(bulk, zero)).real
    q = (moment(back, zero) - moment(rest, zero)).real
    closed = p - epsilon.exp() * q
    measure = Difference(back, rest)
    if split.left is not None:
        line = next(finer(measure, -epsilon, split.left, delta / epsilon.exp()))
        low, high = on_line(measure, -epsilon, line)
    else:
        low, high = arb(0), q.upper()
        for place in CHERNOFF:
            c = ball(split.right.abscissa * place)
            bound = supremum(c) * measure.moment(acb(c)).real * (c * epsilon).exp()
            high = high.min(bound.upper())
    mass = infinite_mass(parts)
    grown = epsilon.exp()
    return below + closed + grown * low + mass, above + closed + grown * high + mass


def _place(law: SampledGaussian, level: Fraction) -> Fraction:
    """Return about the outcome with a loss; any place is as good for the proof."""
    power = math.expm1(float(level)) / law.rate + 1.0
    if not power > 0.0:
        raise ValueError("no outcome has so small a loss")
    return Fraction(law.width**2 * math.log(power) + 0.5)
