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
from typing import TYPE_CHECKING, Any, NamedTuple

from flint import acb, arb

from tests.checker.laws import (
    ONE,
    Law,
    SampledGaussian,
    TooLongError,
    ball,
    largest,
    normal_tail,
)
from tests.checker.lines import (
    SHIFTED_UP_TO,
    Line,
    Measure,
    Parts,
    Product,
    beyond,
    finer,
    infinite_mass,
    on_line,
    on_nodes,
    supremum,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What part of delta losses have that take no part in a sum.
FAINT = 1e-13
# The largest loss at which samples are split.
LARGEST = 700


class CutGaussian(SampledGaussian):
    """The outcomes low < x <= X of a sampled Gaussian: int over them of phi r^{u + iv}."""

    def __init__(
        self, whole: SampledGaussian, x: Fraction | None, low: Fraction | None = None
    ) -> None:
        """Take the law and both ends; None where there is no end."""
        super().__init__(whole.noise, whole.probability, remove=whole.remove)
        self.x, self.low = (None if end is None else ball(end) for end in (x, low))

    def end(self, u: arb) -> tuple[arb, arb]:
        """There is nothing right of X."""
        if self.x is not None:
            return self.x, arb(0)
        return super().end(u) if self.low is None else self.end_from(u, float(self.low))

    def fall(self, u: arb, start: arb, end: arb) -> float:
        """Large losses may be as rare as that, too."""
        return super().fall(u, start, end) if self.low is None else -self.highest(u, start, end)

    def start(self, end: arb, size: float) -> tuple[arb, bool]:
        """There is nothing left of `low`."""
        return super().start(end, size) if self.low is None else (self.low, False)

    def stop(self, u: arb) -> arb:
        """Return X, or where all falls from."""
        if self.x is not None:
            return self.x
        found = super().stop(u)
        return found if self.low is None else largest(found, self.low + 1)

    def edges(self) -> tuple[int, ...]:
        """Return which of the first and the last place are ends of the outcomes."""
        return (*([] if self.low is None else [0]), *([] if self.x is None else [-1]))

    def varied(self, c: arb) -> arb:
        """Return V: by parts the transform at c + it is at most V / t."""
        assert self.low is not None
        u = self.power(c)
        found = self.splits(u, self.stop(u), ONE, self.low)
        return found[-1][1] if found else arb.pos_inf()


class Split(NamedTuple):
    """What a certificate says: a loss, and the lines of the bulk and of the rest, if any."""

    level: Fraction
    right: Line | None
    left: Line | None


class SomeBeyond:
    """The measure of the paths on which some outcome is one of J, all others of A or J.

    Its transform is prod (A + J)^n - prod A^n = prod A^n (e^{sum n log(1 + J / A)} - 1).
    """

    def __init__(self, parts: Sequence[tuple[Law, Law | None, int]]) -> None:
        """Take A, J and a count, law by law; a law without J is one factor."""
        self.parts = parts

    def moment(self, s: acb) -> acb:
        """Return the transform."""
        return self._of([
            (a.moment(s), None if j is None else j.moment(s), n) for a, j, n in self.parts
        ])  # fmt: skip

    def along(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return the transforms."""
        laws = [
            (on_nodes(a, c, h, count), None if j is None else on_nodes(j, c, h, count), n)
            for a, j, n in self.parts
        ]
        return [
            self._of([(a[k], None if j is None else j[k], n) for a, j, n in laws])
            for k in range(count)
        ]

    @staticmethod
    def _of(values: list[tuple[acb, acb | None, int]]) -> acb:
        every, rest = acb(1), acb(0)
        for a, j, n in values:
            every *= a**n
            if j is not None:
                rest += n * (j / a).log1p()
        return every * rest.expm1()

    def beyond(self, c: arb, end: arb) -> arb:
        """Bound the transform beyond a point over its value at c.

        In powers of J, |prod (A + J)^n - prod A^n| is at most prod (|A| + |J|)^n - prod |A|^n,
        which rises with each of them. J is at most J(c), and by parts at most V / t.
        """
        at = acb(c)
        every, rest = arb(1), arb(0)
        for law, j, n in self.parts:
            a = law.moment(at).real
            share = beyond(law, c, end, n)
            every *= a**n * share
            if j is not None:
                assert isinstance(j, CutGaussian)
                most = j.moment(at).real.min(j.varied(c) / end)
                if n <= SHIFTED_UP_TO:
                    most = most.min(j.moment(at).real * j.shifted(c, end))
                rest += n * (most / (a * share.root(n))).log1p()
        return (every * rest.expm1() / self.moment(at).real).upper()


def on_split(parts: Parts, back: Parts, claim: tuple[arb, arb], split: Split) -> tuple[arb, arb]:
    """Return proved bounds on delta.

    Args:
        parts: the laws with their counts.
        back: the laws of the reversed pairs, in the same order.
        claim: epsilon, and about delta there.
        split: the lines.
    """
    epsilon, delta = claim
    cuts = [
        _place(law, split.level) if isinstance(law, SampledGaussian) and law.remove else None
        for law, _ in parts
    ]
    whole = Product(_up_to(parts, cuts))
    below, above = _side(whole, epsilon, split.right, delta)
    p, q = (_some(pair, cuts).moment(acb(0)).real for pair in (parts, back))
    low, high = _side(_some(back, cuts), -epsilon, split.left, delta / epsilon.exp())
    # What is in B is between 0 and P(B), too.
    mass, grown = infinite_mass(parts), epsilon.exp()
    closed, high = p - grown * q, high.min(q.upper())
    inside = (closed + grown * low).max(arb(0)), (closed + grown * high).min(p)
    return below + inside[0] + mass, above + inside[1] + mass


def _up_to(parts: Parts, ends: Sequence[Fraction | None]) -> Parts:
    """Return the outcomes up to X of what is cut."""
    return [(_cut(law, x), n) for (law, n), x in zip(parts, ends, strict=True)]


def _some(parts: Parts, lows: Sequence[Fraction | None]) -> SomeBeyond:
    """Return the paths with some outcome beyond `lows`."""
    return SomeBeyond([
        (_cut(law, low), None if low is None else _cut(law, None, low), n)
        for (law, n), low in zip(parts, lows, strict=True)
    ])  # fmt: skip


def _side(measure: Measure, epsilon: arb, line: Line | None, delta: arb) -> tuple[arb, arb]:
    """Return bounds on what a measure has of delta: by its line, or by Chernoff's bound."""
    if line is None:
        return arb(0), _chernoff(measure, epsilon)
    return on_line(measure, epsilon, next(finer(measure, epsilon, line, delta)))


def _chernoff(measure: Measure, epsilon: arb) -> arb:
    """Return C(c) M(c) e^{-c epsilon} for the best of some c: the best power of 2, and near it."""
    best, place, factor = arb.pos_inf(), Fraction(1), Fraction(2)
    tried = [Fraction(2) ** k for k in range(-10, 15)]
    while factor > Fraction(65, 64):
        for c in map(ball, tried):
            size = measure.moment(acb(c)).real
            bound = (supremum(c) * size * (-c * epsilon).exp()).upper()
            if bound < best:
                best, place = bound, Fraction(float(c))
        factor = Fraction(math.sqrt(factor))
        tried = [place * factor, place / factor]
    return best


def without_large(
    parts: Parts, evidence: Mapping[str, Any], delta: arb
) -> tuple[Product, arb] | None:
    """Return the losses that nearly all outcomes have, and what others may add to delta.

    Outcomes beyond X_i add E_P[(1 - e^{epsilon - S})_+ ; B], which is between 0 and P(B), at most
    the sum of n_i times (1 - q) P(sigma Z > X) + q P(sigma Z > X - 1). Any X_i may be taken; None
    where the certificate does not say that large losses were left out.
    """
    laws = [(law, n) for law, n in parts if isinstance(law, SampledGaussian) and law.remove]
    if not laws or not evidence.get("terms", {}).get("dropped", 0) > 0 or not delta > 0:
        return None
    found: list[tuple[Law, int]] = []
    added = arb(0)
    for law, n in parts:
        if not (isinstance(law, SampledGaussian) and law.remove):
            found.append((law, n))
            continue
        goal, low, high = float(delta) * FAINT / (len(laws) * n), 0.0, 1.0 + 60.0 * law.width
        for _ in range(50):
            x = (low + high) / 2.0
            far = math.erfc((x - 1.0) / law.width / math.sqrt(2.0)) * law.rate
            far += math.erfc(x / law.width / math.sqrt(2.0))
            low, high = (low, x) if far <= 2.0 * goal else (x, high)
        end = ball(Fraction(high))
        share = (1 - law.q) * normal_tail(end / law.sigma)
        added += n * (share + law.q * normal_tail((end - 1) / law.sigma))
        found.append((_cut(law, Fraction(high)), n))
    return Product(found), added.upper()


def _cut(law: Law, x: Fraction | None, low: Fraction | None = None) -> Law:
    """Return the outcomes from `low` up to x, the same object for both ends of a bracket."""
    if x is None and low is None:
        return law
    assert isinstance(law, SampledGaussian)
    if (x, low) not in law.cuts:
        law.cuts[x, low] = CutGaussian(law, x, low)
    return law.cuts[x, low]


def _place(law: Law, level: Fraction) -> Fraction:
    """Return about the outcome with a loss; any place is as good for the proof."""
    assert isinstance(law, SampledGaussian)
    if level > LARGEST:
        raise TooLongError("a loss is beyond what is known here")
    power = math.expm1(float(level)) / law.rate + 1.0
    if not power > 0.0:
        raise TooLongError("no outcome has so small a loss")
    return Fraction(law.width**2 * math.log(power) + 0.5)
