"""Loss of a mechanism of bounded range (the exponential mechanism), in closed form.

The profile delta(x) = (1 - e^{(x - eta)/2})^2 / (1 - e^{-eta}), |x| <= eta, belongs to exactly one
law (`mechanisms/noisy_max.py` has why it dominates). With a = e^x, Q(L > x) = -d delta / da =
(e^{-(x + eta)/2} - e^{-eta}) / (1 - e^{-eta}), which goes from 1 at -eta to 0 at eta: no atoms, and

    density e^{-(x + eta)/2} / (2 (1 - e^{-eta})) under Q,
    density e^{(x - eta)/2} / (2 (1 - e^{-eta})) under P (e^x times that),
    M(s) = S((2s + 1) eta/2) / S(eta/2),    S(y) = sinh(y) / y.

The pair is symmetric: L under P has the law of -L under Q.

Many different ranges together, in any order: no worse than normal noise of one size.

A use of range eta after which Gaussian noise of distance s is to come, which costs at most the
profile G_s, costs the most over t of p_t G_s(a e^-t) + (1 - p_t) G_s(a e^{eta - t}), T G_s for
short (`range_uses.py`). Let v = eta^2 / 4 <= 1/2, e = v / s^2 and H(a) = (1 - a)_+.

    Start.  T H <= G_s                                for e <= 5/8,
    Leap.   T G_s <= G_{s'},    s' = s + h v / (2 s)  for e <= 5/8, with h = 1.11,
    Step.   T G_s <= G_{s'},    s' = s + v / (2 s)    for e <= 0.345.

What follows T G_s <= G_{s'} for larger s: G_r is the mean of G_s(a e^-l) over the losses l of noise
of r^2 - s^2, and the largest of means is at most the mean of the largest. So one use adds to s^2

    1.6 v at most, 1.31 v from s^2 = 1.6 v on, v + v^2 / (4 s^2) <= 1.087 v from s^2 = 2.9 v on,

and s^2 may be raised before. For the same reason mechanisms may come in between.

Whatever is left. Let w be the largest v of all. Uses with v adding up to V that are left cost at
most G_s with s^2 = F(V), in any order, that may be chosen as one goes:

    F(V) = 1.6 V up to V = 1.8 w,    F' = 1 + w / (4 (F - 1.2 w)) from F(1.8 w) = 3.05 w on.

Proof, by induction: if the next use has v, the others cost at most G_s with s^2 = F(V - v), and
what it adds is at most F(V) - F(V - v). Below 1.8 w it is. From V - v = 1.8 w on F rises by 1.14 w
at most within v, so that there F - 1.2 w is less than F(V - v), and F' more than 1 + v / (4 s^2).
Between, with w = 1 and U = V - v in [0.8, 1.8], F(V) is at least 1.106 + 1.08 (U + v). For U <= v a
leap from 1.6 v is enough, 2.91 v <= 1.97 + 1.08 v; for larger U one from 1.6 U, where 0.52 U +
0.23 v <= 1.106; and otherwise a step from the larger of 1.6 U and 2.9 v: 0.52 U + 0.007 v <= 1.106,
and 2.907 v <= 1.106 + 1.08 U, as U >= 2.126 - 0.443 v.

Proof of the start. Write a = e^x and V(a) = e^{x/2} f(x): then a^{3/2} V'' = f'' - f / 4 = q(x),

    q(x) = exp(-s^2 / 8 - x^2 / (2 s^2)) / (s (2 pi)^{1/2})   of G_s,
    q(x) = 1 / (4 sinh(eta / 2)) on [-eta, eta]                of T H,

as T H is (1 - e^{(x - eta)/2})^2 / (1 - e^-eta) there, and H beyond. The difference D of both f is
even, and not negative beyond. Nor is it at 0: with y = eta/4 <= 0.36 and the least s, s/2 =
1.2649 y, G_s(1) = 2 P(N < s/2) - 1 >= (2/pi)^{1/2} (s/2 - (s/2)^3 / 6) >= 1.009 y - 0.27 y^3, and
T H(1) = tanh y <= y - y^3/3 + 2 y^5/15. Between, D'' - D / 4 is positive up to some x > 0, if
anywhere, so that D rises from D(0), as D'(0) = 0; and negative from there on, where D has no
negative minimum.

Proof of steps and leaps. Let g = -x / s^2, u = g^2 - 1/4 and c = |g| - 1/2, so that u = c (c + 1).
Both sides less G_s, divided by e^{x/2} q(x), are

    left    the largest integral of e^{gy - y^2/(2 s^2)} J(y), J(y) = e^{-y/2} (E (Y - e^y)_+ -
            (1 - e^y)_+) >= 0, Y = e^-L: at most that of e^{gy} J, (M - 1) / u, M = E Y^{g + 1/2};
    right   int_0^{hv} exp(u W / 2 - (R - W) / 8) dp / 2,    r = s + p / (2 s),    R = r^2 - s^2,
            W = s^2 R / r^2,    h = 1 for a step,

the former by two integrations of V'', the latter as dG_r / dr = e^{x/2} r q_r(x). M is the moment
of order c of the pair or of its reverse, and of the K(c) of `range_laws.py` M <= e^K for c > 0 and
M >= e^K for c < 0. So it is enough that

    (e^K - 1) / u <= int_0^{hv} exp(u W / 2 - (R - W) / 8) dp / 2.                        (*)

Here 0 <= R - W = R^2 / r^2 <= p^2 / s^2, and W is concave in p. For u > 0 the right falls as
e grows.

u > 0. K eta is the integral of F(x + y) over 0 < x < c eta, 0 < y < eta, with F = (x g)'', g as in
`range_laws.py`: F = coth(x/2) - 1/x - x / (4 sinh^2(x/2)). With z = x/2 and w = z / sinh z,
coth z - tanh(z/2) = 1 / sinh z, so that F = tanh(x/4) - (1 - w)^2 / x <= tanh(x/4), which is
concave:

    e^K <= (cosh(|g| eta/4) / cosh(eta/8))^4.

In powers of u no coefficient of cosh(b |g|) / cosh(b/2) is larger than that of cosh(b u^{1/2}):
the k-th is b^{2k} / (2k)! times sum_i (b/2)^{2i} / (2i)! C(i + k, k) / C(2i + 2k, 2k) over
cosh(b/2). So in powers of U = u v / 2 the k-th of this bound is at most that of
cosh^4((U/2)^{1/2}),

    s_k = (4 2^k + 8^k) / (8 (2k)!).

Times 2 / v, (*) has s_{k+1} on the left, and on the right M_k e^{-m} / k! at least, M_k the
integral of (W/v)^k over p/v, m = h^2 e v / 8. With Y = 1 + h e / 2, M_1 = h^2 / (2 + h e), M_2 =
2 (Y - 1 - 2 (1 - 1/Y) + (1 - Y^-3) / 3) / e^3, and M_k >= h B^k / (k + 1), B = (1 - Y^-2) / e, as W
is concave.

    step,  e = 0.345:   m <= 0.0216,  M_1 e^-m > 0.4173,  B > 0.790,
    leap,  e = 0.625:   m <= 0.0482,  M_1 e^-m > 0.435,   B > 0.718,  M_2 e^-m > 0.223.

s_2 = 5/12 is less than M_1 e^-m; 2! s_3 = 0.1889 is less than M_2 e^-m, of a step at least
B^2 e^-m / 3 > 0.203; 4! s_4 = 0.310 is less than h B^3 e^-m, 0.48 and 0.39; and from there on
k! s_k falls by 4 / (2k + 1) < B each time. For k = 0 the left of (*) has the derivative of the
bound itself, tanh(b) / b with b = eta/8, b^2 = v/16, at most 1 - v/48 + v^2/1920; and the right of
a step at least 1 - ev/24 >= 1 - 0.015 v, of a leap more than 1.

u <= 0. K eta is minus the integral of F over 0 < x < |c| eta, 0 < y < (c + 1) eta, and F <=
tanh(x/4) <= x/4 - x^3/205 for x <= 2^{1/2}. So K >= u v r / 2, r = 1 - (1 - |u|) v / 26 <=
1 - 0.028 v, and (e^K - 1) / u is at most

    r int_0^v e^{u r p/2} dp / 2 <= r e^{|u| v (1 - r)/2} int_0^v e^{up/2} dp / 2,

of which the factors are at most 1 - 0.02 v, as |u| <= 1/4. On the right of (*) W <= p, and up to
p = v the mean of p^2 with weights e^{up/2} is at most v^2/3: that is at least 1 - ev/24 times the
integral, enough for a step, and for a leap with what is beyond v, a tenth of it about.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.choices.range_laws import (
    BoundedRangeCurve,
    is_block,
    range_uses,
    rise_of_g,
)
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import ExponentialLaw
from privcalc.losses.law import LawProperties, LossLaw, Tails, Term, exact_max_loss
from privcalc.losses.members import RangePairs
from privcalc.numerics.rounding import TINIEST, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from privcalc.losses.choices.range_uses import Kinds
    from privcalc.numerics.rounding import Array


# v at most; F over V at first; up to where, over w; F there, and what it is less in F', over w.
LARGEST_SQUARE, START = 0.5, 1.6
BEGIN, THERE, SHIFT = 1.8, 3.05, 1.2
# Of the search for F, whose error falls by 8 at least each time.
ROUNDS = 20
# Variance that the pair of a range has more than the mechanisms: of one use, and of a block of n
# uses log(n) times the second number more, about; of the square of the range.
OF_ONE, OF_MORE = 1.0 / 12.0, 1.0 / 36.0
# Beside others pairs are nearer than that says.
WORTH = 0.6


@record
class RangeGaussianLaw(LossLaw):
    """The law of normal noise that costs no less than uses of bounded ranges.

    Attributes:
        normal: the law of the noise.
        kinds: the ranges, or more, each with the number of its uses.
        known_loss: their sum, which no loss of the mechanisms is larger than.
    """

    normal: GaussianLaw
    kinds: tuple[tuple[float, int], ...]
    known_loss: Fraction | None

    max_loss = math.inf
    properties = LawProperties(symmetric=True, renyi_in_closed_form=True)

    @property
    def mechanism_rdp_curve(self) -> BoundedRangeCurve:
        """Return the Renyi curve of the mechanisms."""
        return BoundedRangeCurve(self.kinds)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return the distance."""
        return 0.0, self.normal.gaussian_range[1]

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return K of the noise."""
        return self.normal.renyi(c)

    def tails(self, losses: Array) -> Tails:
        """Return those of the noise."""
        return self.normal.tails(losses)


def range_gaussian(kinds: Kinds, largest: Fraction | None) -> RangeGaussianLaw | None:
    """Return the law of normal noise; None where pairs of the ranges are nearer, or it is not one.

    Args:
        kinds: upper bounds on the ranges, each with its uses.
        largest: the sum of all ranges.
    """
    widest = 0.25 * max(eta for eta, _ in kinds) ** 2
    if widest > LARGEST_SQUARE or largest is None:
        return None
    # Off by a few units for each product, and one for the sum.
    total = math.fsum(0.25 * eta * eta * n for eta, n in kinds) * (1.0 + 8.0 * UNIT)
    square = noise_square(widest * (1.0 + 8.0 * UNIT), total)
    more = math.fsum(
        eta * eta * (OF_ONE if n == 1 else OF_ONE + OF_MORE * math.log(n)) for eta, n in kinds
    )
    if square - total > WORTH * more:
        return None
    mu = math.sqrt(square) * (1.0 + 4.0 * UNIT)
    return RangeGaussianLaw(GaussianLaw(mu), tuple(kinds), largest)


def noise_square(widest: float, total: float) -> float:
    """Return F(V), rounded up.

    With y = F - 1.2 w, F' = (4 y + w) / (4 y), so that y - (w / 4) log(4 y + w) rises by V - 1.8 w.
    The rise of what it rises from y_0 = 1.85 w to y is 1 - w / (4 y + w) > 0.88: a y at which it is
    too small by d is too small by d / 0.88 at most. Each evaluation is off by 32 units of y.

    Args:
        widest: w, or more.
        total: V, or more.
    """
    # The larger of both beginnings, as rounding may hide on which side of 1.8 w V is.
    if total <= BEGIN * widest * (1.0 - 1e-9):
        return START * total * (1.0 + 4.0 * UNIT)
    first = (THERE - SHIFT) * widest
    rise = max(0.0, total - BEGIN * widest)
    y = first + rise
    for _ in range(ROUNDS):
        y = first + rise + 0.25 * widest * math.log((4.0 * y + widest) / (4.0 * first + widest))
    short = (
        rise - (y - first) + 0.25 * widest * math.log((4.0 * y + widest) / (4.0 * first + widest))
    )
    y += max(0.0, short) / 0.88
    return (y + SHIFT * widest) * (1.0 + 64.0 * UNIT)


def bounded_range(eta: float, error: float = 0.0, known: Fraction | None = None) -> Term:
    """Return the law of a range, which one use attains, and mechanisms that have the range."""
    law = BoundedRangeLaw(eta, error, known)
    return Term(law, law, members=RangePairs(eta, error))


class BoundedRangeLaw(ExponentialLaw):
    """The law of the largest profile of all mechanisms whose range is at most eta.

    eta, in [1e-100, 700], is the largest loss `e`, which is approached.
    """

    __slots__ = ()

    properties = LawProperties(renyi_in_closed_form=True)

    @classmethod
    def together(cls, uses: Sequence[tuple[Self, int]]) -> Sequence[tuple[LossLaw, int]]:
        """Return laws of adaptive uses, of all ranges at once if they are one block."""
        known = [exact_max_loss(law) for law, _ in uses]
        sums = [
            None if each is None else n * each for each, (_, n) in zip(known, uses, strict=True)
        ]
        kinds = tuple((law.most, count) for law, count in uses)
        found: list[tuple[LossLaw, int]] = []
        if len(uses) > 1:
            total = None if None in sums else sum(filter(None, sums), Fraction(0))
            joined = range_uses(kinds, total) if is_block(kinds) else ()
            if joined:
                return joined
            normal = range_gaussian(kinds, total)
            if normal is not None:
                return ((normal, 1),)
        for use, kind, largest in zip(uses, kinds, sums, strict=True):
            found += (range_uses((kind,), largest) if use[1] > 1 else ()) or (use,)
        return tuple(found)

    @property
    def mechanism_rdp_curve(self) -> BoundedRangeCurve:
        """Return the Renyi curve of all mechanisms of the range, which is below this law's."""
        return BoundedRangeCurve(((self.most, 1),))

    def profile(self, epsilon: float) -> tuple[float, float]:
        """Bound (1 - e^{(epsilon - eta)/2})^2 / (1 - e^{-eta}), and 0 from eta on.

        The numerator grows with the gap eta - epsilon, which is off by the error of eta. The
        difference is rounded once, expm1 of a negative number carries that over at most as it is,
        and is itself off by 8 units: 9 for each of the three, 4 for the products. The denominator
        changes by no more than eta, relatively.
        """
        low, high = self.gap(epsilon)
        rises = -math.expm1(-0.5 * low), -math.expm1(-0.5 * high)
        divisor = -math.expm1(-self.e)
        slack = 32.0 * UNIT + 1.01 * self.error
        lower, upper = (rise * rise / divisor for rise in rises)
        # Squares of differences below 1e-150 leave the normal range.
        return max(0.0, lower * (1.0 - slack) - TINIEST), min(
            1.0, upper * (1.0 + slack) + (TINIEST if high > 0.0 else 0.0)
        )

    def tails(self, losses: Array) -> Tails:
        """Return the integrals of the two densities on both sides of l; none is a difference.

        l - eta and l + eta are rounded once. That moves expm1 of a negative argument by a unit at
        most, of a positive one x by 1 + x units, and exp by eta units. Masses between neighbouring
        losses a < b are the density at b times 2 (1 - e^{-(b - a)/2}) under P, that at a under Q.

        With another range eta (1 + r), the numbers for l belong to l (1 + r), up to a factor: all
        arguments are multiplied by 1 + r. That moves expm1 of a negative argument by r at most,
        of a positive one x by r (1 + x), and exp by r eta, relatively: r (2 + 2 eta) in all.
        """
        eta = self.e
        inside = np.clip(losses, -eta, eta)
        falling, rising = 0.5 * (inside - eta), 0.5 * (inside + eta)
        small, large = math.expm1(-eta), math.expm1(eta)
        width = np.expm1(-0.5 * np.diff(inside)) / small
        error = UNIT * (32.0 + 2.0 * eta) + self.error * (2.1 + 2.1 * eta)
        return Tails(
            above_p=np.expm1(falling) / small,
            above_q=np.expm1(-falling) / large,
            below_p=np.expm1(rising) / large,
            below_q=np.expm1(-rising) / small,
            error=error,
            shift=self.error * eta * (1.0 + 4.0 * UNIT),
            between_p=np.exp(falling[1:]) * width,
            between_q=np.exp(-rising[:-1]) * width,
            between_error=np.full(width.shape, error),
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K in closed form, and for small eta by the first terms of a series.

        With g(x) = log(sinh(x/2) / (x/2)), K = g((2c + 1) eta) - g(eta). As t / 3 - t^3 / 45 <=
        coth t - 1 / t <= t / 3, it is at most c (c + 1) eta^2 / 6, and less than that by no more
        than ((2c + 1)^2 + 1) eta^2 / 120 of it.

        A relative error r of eta is at most 2 r of K: with y = (c + 1/2) eta and u = eta / 2, K is
        the integral of G'(t) = coth t - 1 / t from u to y, and dK / d log eta that of G' + t G'';
        G' is concave with G'(0) = 0, so that t G'' <= G'.
        """
        eta, wide = self.e, 2.0 * c + 1.0
        closed, slack = rise_of_g(eta, 2.0 * c)
        most = eta * eta * c * (c + 1.0) / 6.0
        least = most * (1.0 - (wide * wide + 1.0) * eta * eta / 120.0)
        lower = np.maximum(np.maximum(closed - slack, least * (1.0 - 16.0 * UNIT)), 0.0)
        upper = np.minimum(closed + slack, most * (1.0 + 16.0 * UNIT))
        relative = 2.1 * self.error
        return lower * (1.0 - relative), upper * (1.0 + relative)
