"""delta(epsilon) and epsilon(delta) of any composition, by the inverse Laplace integral.

    delta(epsilon) = P(L = inf) + 1/(2 pi i) int_{Re s = c} e^{K(s) - s epsilon} / (s (s+1)) ds

with K(s) = sum_i count_i log M_i(s), for any c > 0. The integral is a trapezoid sum over
t = Im s = k h. Nothing is proved here: instead everything is done again on another contour with
another h, range, quadrature step, node offset and precision, until two results agree.

The exact identity behind the choice of h: the infinite sum equals
sum_j delta(epsilon + 2 pi j / h) e^{2 pi j c / h} (Poisson), of which j = 0 is wanted. j < 0 gives
at most e^{-2 pi c/h}; j > 0 is bounded by e^{K(c') - c' (epsilon + d) + c d} for any c' > c, with
d = 2 pi j / h.

c is a little below the real saddle point. At a small q the untruncated saddle is itself far below
the tilt that suits the bulk of the sum, because M(c) explodes there (one use of probability
e^{-1000} outweighs all others). The law is then still not truncated: the integral is exact for any
c > 0, and the price of a small c is cancellation, which is measured and paid in digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpmath import mp

from tests.oracles.laws import law
from tests.oracles.saddle import Tilted, cumulants, first_epsilon, saddle_point, tilt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.oracles.laws import Direction, Law, Leaf, Number

DIGITS = 31  # to which two runs must agree
LEVELS = 5
MOST_WORK = 600_000_000  # nodes times contour points, about ten minutes


def _fixed_point(tilted: Tilted, h: Number, count: int) -> Iterator[Number]:
    """Yield phi(k h) for k = 0..count: sums of w e^{ikhL} by repeated rotation, in fixed point.

    All weights are below 1 and add up to 1. Each rotation errs by an ulp per node, so the bits are
    the working precision plus those of count * nodes.
    """
    bits = mp.prec + (count * len(tilted.losses)).bit_length() + 10
    with mp.workprec(bits):
        unit = mp.mpf(2) ** bits
        cosines = [int(unit * mp.cos(h * loss)) for loss in tilted.losses]
        sines = [int(unit * mp.sin(h * loss)) for loss in tilted.losses]
        real = [int(unit * w) for w in tilted.weights]
    imaginary = [0] * len(real)
    for _ in range(count + 1):
        yield mp.mpc(mp.mpf(sum(real)) / unit, mp.mpf(sum(imaginary)) / unit)
        turned = [
            ((a * c - b * s) >> bits, (a * s + b * c) >> bits)
            for a, b, c, s in zip(real, imaginary, cosines, sines, strict=True)
        ]
        real = [a for a, _ in turned]
        imaginary = [b for _, b in turned]


def _step(
    laws: Sequence[Law], c: Number, epsilon: Number, log_delta: Number, wanted: float
) -> tuple[Number, Number, Number, Number]:
    """Give c, the largest h whose aliases do not matter, log(integrand/delta), and K''(c)."""
    k0, _, k2 = cumulants(laws, c)
    h = 2 * mp.pi * c / (wanted - log_delta + 3)
    tilts = [c * mp.mpf(f) for f in (1.05, 1.1, 1.2, 1.35, 1.6, 2, 3, 5, 10)]
    above = [(d, cumulants(laws, d)[0] - d * epsilon) for d in tilts]
    while min(k - (d - c) * 2 * mp.pi / h for d, k in above) > log_delta - wanted:
        h *= mp.mpf("0.9")
    return c, h, k0 - c * epsilon - log_delta, k2


@dataclass
class Contour:
    """The integrand without e^{-s epsilon} at s = c + ikh, k >= 0, divided by e^{log_scale}."""

    c: Number
    h: Number
    log_scale: Number
    values: list[Number]
    infinity_mass: Number
    digits: int  # that they were worked out with

    def delta(self, epsilon: Number) -> tuple[Number, Number]:
        """Give the value of delta at epsilon, and its derivative."""
        turn, spin = mp.expj(-self.h * epsilon), mp.mpc(1)
        total, slope = mp.zero, mp.zero
        for k, value in enumerate(self.values):
            term = value * spin * (0.5 if k == 0 else 1)
            total += term.real
            slope -= (term * mp.mpc(self.c, k * self.h)).real
            spin *= turn
        factor = self.h / mp.pi * mp.exp(self.log_scale - self.c * epsilon)
        return self.infinity_mass + factor * total, factor * slope


def _infinity_mass(laws: Sequence[Law]) -> Number:
    """1 - prod (1 - mass)^count, without cancellation."""
    return -mp.expm1(mp.fsum(one.count * mp.log1p(-one.infinity_mass) for one in laws))


def _decayed(phis: Sequence[Callable[[Number], Number]], log_least: Number, t: Number) -> bool:
    """Tell whether the product of all |phi|^count stays below log_least from t to 2t."""
    for stretch in (1, 1.13, 1.3, 1.52, 1.77, 2):
        if mp.fsum(phi(t * stretch) for phi in phis) > log_least:
            return False
    return True


def contour(
    leaves: Sequence[Leaf],
    direction: Direction,
    level: int,
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    digits: int = DIGITS,
) -> tuple[Contour, Number]:
    """Build the sum for delta near `delta`, or for `epsilon`; also give a first epsilon."""
    wanted = (digits + 3) * 2.302585  # what is left out, relative to delta, as -log
    with mp.workdps(30):
        laws = [law(leaf, direction) for leaf in leaves]
        log_delta = None if delta is None else mp.log(delta - _infinity_mass(laws))
        saddle = saddle_point(laws, log_delta, epsilon)
        start = first_epsilon(laws, saddle, log_delta) if epsilon is None else epsilon
        if log_delta is None:
            s0, _, s2 = cumulants(laws, saddle)
            curvature = s2 + 1 / saddle**2 + 1 / (1 + saddle) ** 2
            log_delta = s0 - saddle * start - mp.log(saddle) - mp.log1p(saddle)
            log_delta -= mp.log(2 * mp.pi * curvature) / 2
        choices = [saddle * mp.mpf(f) for f in ("0.86", "0.7", "0.55")]
        shift = mp.mpf("0.93") ** level
        found = [_step(laws, c * shift, start, log_delta, wanted) for c in choices]
        c, h, lost, k2 = max(found, key=lambda one: one[1] / mp.sqrt(wanted + max(0, one[2])))
        h *= mp.mpf("0.8") ** level
        extra = max(mp.zero, lost) / mp.log(10) + mp.log10(sum(one.count for one in laws))
        log_least = -wanted - max(lost, mp.zero)
    with mp.workdps(int(max(digits + 14, 41) + 3 * level + extra)):
        laws = [law(leaf, direction) for leaf in leaves]
        return _sum(laws, (mp.mpf(c), mp.mpf(h)), log_least, level, 1 / mp.sqrt(k2)), start


def _sum(
    laws: Sequence[Law], line: tuple[Number, Number], log_least: Number, level: int, width: Number
) -> Contour:
    """Find the range and the nodes at c, then add up to a little more than that range."""
    c, h = line
    fineness = [1.0] * len(laws)
    tolerance = min(mp.exp(log_least) / (100 * sum(one.count for one in laws)), mp.mpf(10) ** -20)
    cache: dict[tuple[int, float], Tilted] = {}

    def tilted(i: int, fine: float) -> Tilted:
        if (i, fine) not in cache:
            cache[i, fine] = tilt(laws[i], c, fine)
        return cache[i, fine]

    def log_phi(i: int, t: Number) -> Number:
        """Give count * log|phi(t)|, refining the nodes of law i until they suit this t."""
        moment = laws[i].moment
        if moment is not None:
            return laws[i].count * mp.log(abs(moment(mp.mpc(c, t)) / moment(c)))
        value = tilted(i, fineness[i]).phi(t)
        while True:
            other = tilted(i, fineness[i] * 1.4).phi(t)
            if abs(other - value) < tolerance:
                return laws[i].count * mp.log(abs(value) + tolerance)
            fineness[i], value = fineness[i] * 1.4, other

    phis = [lambda t, i=i: log_phi(i, t) for i in range(len(laws))]
    reach = 6 * width
    while not _decayed(phis, log_least, reach):
        reach *= mp.mpf("1.15")
    reach *= 1 + mp.mpf(level) / 8
    fineness = [1.0] * len(laws)  # the search went to 2 * reach; the sum does not
    for i in range(len(laws)):
        log_phi(i, reach)
    count = int(reach / h) + 1
    work = sum(len(tilted(i, fineness[i]).losses) for i in range(len(laws)) if laws[i].nodes)
    if count * (work + 100) > MOST_WORK:
        raise ArithmeticError("too much work: the integrand falls too slowly")
    values = [1 / (mp.mpc(c, k * h) * mp.mpc(c + 1, k * h)) for k in range(count + 1)]
    log_scale = mp.zero
    for i, one in enumerate(laws):
        factors: Iterator[Number]
        if one.moment is not None:
            base = one.moment(c)
            factors = (one.moment(mp.mpc(c, k * h)) / base for k in range(count + 1))
            log_scale += one.count * mp.log(base)
        else:
            nodes = tilt(one, c, fineness[i] * (1 + level / 10))
            factors = _fixed_point(nodes, h, count)
            log_scale += one.count * nodes.log_moment
        values = [v * f**one.count for v, f in zip(values, factors, strict=True)]
    return Contour(c, h, log_scale, values, _infinity_mass(laws), mp.dps)


def _newton(built: Contour, target: Number, epsilon: Number) -> Number:
    """Solve delta(epsilon) = target from a close start; log delta is nearly linear."""
    finite = target - built.infinity_mass
    for _ in range(60):
        value, slope = built.delta(epsilon)
        value -= built.infinity_mass
        step = value / slope * mp.log(value / finite)
        epsilon -= step
        if abs(step) < abs(epsilon) * mp.mpf(10) ** -(DIGITS + 4):
            return epsilon
    raise ArithmeticError("Newton's iteration does not settle")


def solve(
    leaves: Sequence[Leaf],
    direction: Direction,
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    digits: int = DIGITS,
) -> tuple[Number, float]:
    """Give epsilon for a delta, or delta for an epsilon, and the digits of agreement reached.

    Fewer digits may be asked for where the integrand falls slowly; the precision stays above 40.
    """
    with mp.workdps(50):
        if delta is not None and delta <= _infinity_mass([law(one, direction) for one in leaves]):
            return mp.inf, 50.0
    last: Number = None
    for level in range(LEVELS):
        built, start = contour(
            leaves, direction, level, delta=delta, epsilon=epsilon, digits=digits
        )
        with mp.workdps(built.digits):
            if delta is not None:
                value = max(_newton(built, mp.mpf(delta), start), mp.zero)
            else:
                value = built.delta(mp.mpf(epsilon))[0]
            if last is not None:
                gap = abs(value - last) / max(abs(value), mp.mpf(10) ** -300)
                agreed = float(-mp.log10(gap + mp.mpf(10) ** -60))
                if agreed >= digits:
                    return value, agreed
            last = value
    raise ArithmeticError("the runs do not agree")
