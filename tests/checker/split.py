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
    Law,
    SampledGaussian,
    ball,
    farthest,
    name,
    normal_tail,
)
from tests.checker.lines import (
    Line,
    Parts,
    Product,
    along,
    beyond,
    finer,
    infinite_mass,
    moment,
    on_line,
    supremum,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

# What part of delta losses have that take no part in a sum.
FAINT = 1e-13
# Multiples of an abscissa that are tried for the reversed pair's moment.
PLACES = [Fraction(2**k, 64) for k in range(10)] + [Fraction(3, 4), Fraction(3, 2), Fraction(3)]


class CutGaussian(SampledGaussian):
    """The outcomes x <= X of a sampled Gaussian: int over x <= X of phi r^{u + iv}."""

    def __init__(self, whole: SampledGaussian, x: Fraction) -> None:
        """Take the law and X."""
        super().__init__(whole.noise, whole.probability, remove=whole.remove)
        self.x = ball(x)

    def end(self, u: arb) -> tuple[arb, arb]:
        """There is nothing right of X."""
        del u
        return self.x, arb(0)

    def far(self, c: arb, t: arb) -> arb:
        """As for the whole law, by parts up to X."""
        key = name(c)
        if key not in self._splits:
            whole = self.moment(acb(c)).real
            self._splits[key] = self.splits(self.power(c), self.x, whole)
        return farthest(self._splits[key], t)


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

    def along(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return the differences."""
        both = zip(along(self.whole, c, h, count), along(self.cut, c, h, count), strict=True)
        return [whole - cut for whole, cut in both]

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
            bulk.append((_cut(law, x), n))
            rest.append((_cut(other, x), n))
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
        for place in PLACES:
            c = ball(split.right.abscissa * place)
            bound = supremum(c) * measure.moment(acb(c)).real * (c * epsilon).exp()
            high = high.min(bound.upper())
    mass = infinite_mass(parts)
    grown = epsilon.exp()
    return below + closed + grown * low + mass, above + closed + grown * high + mass


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


def _cut(law: SampledGaussian, x: Fraction) -> CutGaussian:
    """Return the outcomes up to x, the same object for both ends."""
    if x not in law.cuts:
        law.cuts[x] = CutGaussian(law, x)
    found = law.cuts[x]
    assert isinstance(found, CutGaussian)
    return found


def _place(law: SampledGaussian, level: Fraction) -> Fraction:
    """Return about the outcome with a loss; any place is as good for the proof."""
    power = math.expm1(float(level)) / law.rate + 1.0
    if not power > 0.0:
        raise ValueError("no outcome has so small a loss")
    return Fraction(law.width**2 * math.log(power) + 0.5)
