"""The game from above: W >= V_j on a circle, in blocks of steps.

One step. With S(W) = sup over triples of T W - T_B W, B any law on the lattice, M W = T_B W + S(W).
For convex W, T W at the lattice is at most that of its chords. Between two nodes of tau, with p in
[0, 1] the place between them and d their distance, the time value at a is at most

    (1 - p) h_left + p h_right + c p (1 - p),   c >= 0,

which integrates to the same of T W - W, whose largest value over p is in closed form:
max(left, right) + (c - |right - left|)_+^2 / (4 c). With the bounds on second derivatives of
`fixed_size/__init__.py`: where h rises, c = d^2 / 2 times the bound, as for any chord. Where h
falls, it is below the secant of the interval before, which from the left node falls short of the
chord's right end by b, and below that of the interval after, by b' at the left end, each with d^2
times the bound for how far secants go astray; and min(p b, (1 - p) b') <= (b + b') p (1 - p), since
p b <= (b + b') p (1 - p) as long as p <= b' / (b + b'). The interval after the last is beyond
tau = 1: it has no triples of the game, but profiles of the family, and the bounds hold.

A block of D steps. All T commute and M is subadditive, so that

    M^D W <= sum_k binom(D, k) T_B^{D - k} g_k,   g_0 = W, g_{k + 1} >= S(g_k):

apply M to the sum for D. g_1 is S(W) as above. For g >= 0 that is not convex, S(g) is at most
the integral against R and A where the slope rises, less that against the least of both where it
falls, plus g - T_B g; this is g_2, and perhaps g_3, and the maximum of what it is next is taken for
a constant, g_k. Constants are eigenfunctions: T x^{lam + 1} <= m x^{lam + 1}, m the moment of R and
A glued, and S of a constant is m - m_B of it, so that all terms from k on are at most
binom(D, k) m^{D - k} g_k. (The sum for D steps ends with g_D.)

W has to be convex for this. It is, but for rounding: its slopes are looked at in every block,
and where one falls, a constant is added, whose slopes rise everywhere by D of 1.

Large losses are cut off: Y is clipped to [1 / c, c], c = e^l at the last lattice step of kernels.
All V_j increase with slopes of at most 1, as V_0 does and E_Q Y = 1. So E_Q V_j(x Y) is at most
that of the clipped Y and x omega more, omega the supremum over triples of E_Q (Y - c)_+, which is
that of R at c, and E_Q (1 / c - Y)_+ <= omega, too. The clipped Y has E_Q Y - 1 within omega of 0,
so that T of x is at most (1 + omega) x, and V_T at most the value of the game of clipped triples
and T omega e^{T omega} x; delta is T omega e^{T omega} more. Clipped triples commute as well, and
their time values are 0 beyond c, at most those of triples before, and omega less at least. With a
mean that is not 1, T V also has x V' (x) times E_Q Y - 1, in modulus at most omega times the
largest of (g^{lam + 1} w_{i+1} - w_i) / (g - 1) in modulus.

The circle. V(x) = x^{lam + 1} w(log x), with w on the points l = m h, m modulo `size`. Read as
periodic, w and so V is a function on all of the line: a bound that holds there holds on the circle,
and nothing wraps around. x^{lam + 1} is an eigenfunction of all T: constants stay constants.

Between points V is at most its chord in x where it is convex. Its slope changes at x_i by C_i, and
(T V)(x_m) = V_m + x_m sum_j h(e^{jh}) C_{m+j} for the chords. In terms of w: w_m + sum_j h(e^{jh})
e^{lam j h} D_{m+j}, D = C x^{-lam}, which is

    D_i = (g^{lam + 1} w_{i+1} - w_i) / (g - 1) - (w_i - g^{-lam - 1} w_{i-1}) / (1 - 1/g), g = e^h.

A law on the lattice with Q-masses p_j has (T V)_m = sum p_j V_{m+j}.

Rounding. With eta for the error of a transform (`numerics/fourier.py`), a sum of products with
weights of total s, of which each value is off by eta s, is off by at most 3 eta s times the root of
squares, in each value: an inverse transform divides the root of squares by N^{1/2}. One with the
n-th power of a law of total s is by (n + 2) eta s^n times it.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.fixed_size.triples import RELATIVE, curvature, poisson_values, time_values
from privcalc.numerics.fourier import fast_size, power, transform_error
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array, ComplexArray, Integers, Mask

# Work that is counted for a point of a transform: a third of what it takes.
PER_POINT = 0.06
# Terms of the bound on a supremum, each off by what a sum of products is.
TERMS = 16.0
# Terms of the sum for a block that are functions; the next is a constant.
LEVELS = 3
# Logarithms of values that stay doubles.
LARGEST_LOG = 300.0
# So that nothing is divided by 0.
TINY = 1e-280
# How much longer cells of losses become with the loss.
GROWTH = 0.025


@record
class Scale:
    """The circle and the blocks.

    Attributes:
        lam: tilt.
        step: of the lattice.
        length: of the circle.
        epsilon: about where the bound is best.
        deviation: of the tilted loss.
        reach: the loss at which those of a step are cut off.
    """

    lam: float
    step: float
    length: float
    epsilon: float
    deviation: float
    reach: float


def graded(last: int, growth: float) -> Integers:
    """Return increasing indices from -last to last, every one near 0 and fewer far out."""
    found, place = [0], 0
    while place < last:
        place = min(last, place + max(1, int(growth * place)))
        found.append(place)
    up = np.array(found)
    return np.concatenate([-up[:0:-1], up])


def chord_weights(points: Array, values: Array) -> Array:
    """Return the Q-masses of the law whose time values are chords between these at e^points.

    The time value of 0 loss has a corner there, of the identity's mass 1.
    """
    x = np.exp(points)
    fall = np.diff(values) / np.diff(x)
    slopes = np.concatenate([[0.0], fall, [0.0]])
    found = np.diff(slopes)
    found[points == 0.0] += 1.0
    return found


# Single steps first, as V_0 has a corner; then blocks of a part of the steps so far, and at most of
# one of the whole. Any will do: of twelve runs 20, 10, 150 take an eighth longer, and brackets
# are a twentieth wider.
FIRST, RATIO, MOST = 36, 16, 90


def blocks(count: int) -> list[int]:
    """Return how many steps each block has."""
    found, done = [], 0
    while done < count:
        size = 1 if done < FIRST else min(done // RATIO, max(1, count // MOST))
        size = min(size, count - done)
        found.append(size)
        done += size
    return found


class Circle:
    """The lattice.

    Attributes:
        step: h.
        size: number of points.
        lam: tilt.
        factor: g^{lam + 1}.
        eta: error of one transform, relatively to the root of squares.
    """

    def __init__(self, step: float, length: float, lam: float) -> None:
        """Take the least length; points are as many as a transform is fast for."""
        self.step, self.lam = step, lam
        self.size = fast_size(math.ceil(length / step))
        self.factor = math.exp((lam + 1.0) * step)
        self.eta = transform_error(self.size)

    @property
    def length(self) -> float:
        """Return the length of the circle."""
        return self.step * self.size

    def back(self, spectrum: ComplexArray) -> Array:
        """Return the values of a transform."""
        found: Array = np.fft.irfft(spectrum, self.size)
        return found

    def slopes(self, values: Array) -> Array:
        """Return D."""
        ahead, behind = np.roll(values, -1), np.roll(values, 1)
        rise = (ahead * self.factor - values) / math.expm1(self.step)
        fall = (values - behind / self.factor) / -math.expm1(-self.step)
        found: Array = rise - fall
        return found

    def steepest(self, values: Array) -> float:
        """Return the largest slope of x V in modulus, tilted as w is, or a little more."""
        rise = np.roll(values, -1) * self.factor - values
        error = self.slope_error(float(np.abs(values).max()))
        return float(np.abs(rise).max()) / math.expm1(self.step) + error

    @property
    def slope_of_one(self) -> float:
        """Return D of the constant 1, which is positive."""
        e, h = (self.lam + 1.0) * self.step, self.step
        return math.expm1(e) / math.expm1(h) - math.expm1(-e) / math.expm1(-h)

    def slope_error(self, largest: float) -> float:
        """Bound the rounding of D, of values up to `largest` in modulus."""
        return 32.0 * UNIT * largest * (1.0 + self.factor) / -math.expm1(-self.step)

    def kernel(self, indices: Integers, weights: Array) -> Kernel:
        """Return weights at lattice steps as what is correlated with values on the circle.

        Args:
            indices: steps.
            weights: of shape (..., len(indices)), non-negative; rows.
        """
        rows = weights.reshape(-1, len(indices))
        places = indices % self.size
        cyclic = [np.bincount(places, weights=row, minlength=self.size) for row in rows]
        spectrum = np.conj(np.fft.rfft(cyclic)).reshape(*weights.shape[:-1], -1)
        return Kernel(spectrum, float(rows.sum(axis=1).max()))


def size_of(values: Array) -> float:
    """Return the root of the sum of squares, or a little more.

    Products of vectors would be left to several threads, which wait for one another.
    """
    return math.sqrt(float((values * values).sum())) * (1.0 + 1e-9)


@record
class Kernel:
    """The transforms of rows of weights, and their largest sum."""

    spectrum: ComplexArray
    total: float


@record
class Family:
    """One family: what its nodes and intervals are integrated against.

    Attributes:
        nodes: time values at each node.
        bends: c of each interval.
        flat: the error of chords far from a = 1.
    """

    nodes: Kernel
    bends: Kernel
    flat: Kernel

    @property
    def total(self) -> float:
        """Return the largest sum of weights."""
        return max(self.nodes.total, self.bends.total, self.flat.total)


class Game:
    """Bounds of one kind of step, on one circle."""

    @np.errstate(all="ignore")
    def __init__(
        self, q: float, mu: float, scale: Scale, intervals: int = 12, fine: float = 0.025
    ) -> None:
        """Prepare the kernels.

        Args:
            q: sampling probability, as large as it may be.
            mu: distance, as large as it may be.
            scale: the circle.
            intervals: of tau.
            fine: width of cells of log E.
        """
        self.q, self.mu, self.scale = q, mu, scale
        self.circle = Circle(scale.step, scale.length, scale.lam)
        h, lam = self.circle.step, scale.lam
        last = math.ceil(scale.reach / h)
        self._all = np.arange(-last, last + 1)
        self._some = graded(last, GROWTH)
        self._points = self._some * h
        self._x, self._all_x = np.exp(self._points), np.exp(self._all * h)
        self._tilt = np.exp(lam * self._all * h)
        self._intervals, self._fine = intervals, fine
        self.cut = self._cut(last)
        most = self._most()
        self.largest = self._kernel(most[1])
        self.least = self._kernel(most[0])
        nodes = self._nodes()
        self.families = [self._family(nodes, mirrored=way) for way in (False, True)]
        self.moment = 1.0 + self.circle.slope_of_one * self.largest.total
        self.moment += self.cut * self.circle.steepest(np.ones(2))
        self.base = self._base(nodes[1][intervals])
        # Constants grow by that of the base law where a gain over it is cut off at 0.
        self.moment = max(self.moment, self.base.total) * (1.0 + RELATIVE)

    def _cut(self, last: int) -> float:
        """Return omega: by how much clipping at the last step lowers one step at most."""
        loss = np.array([last * self.circle.step * (1.0 - 4.0 * UNIT)])
        return float(poisson_values(self.q, self.mu, loss)[1][0]) * (1.0 + RELATIVE)

    def left_out(self, count: int) -> float:
        """Return what clipping takes off delta after so many steps, at most."""
        whole = count * self.cut
        return whole * math.exp(min(whole, 1.0)) * (1.0 + RELATIVE) if whole < 1.0 else 1.0

    def _most(self) -> tuple[Array, Array]:
        """Return the least and the largest time values of all triples at all lattice steps."""
        losses = self._all * self.circle.step
        below, above = poisson_values(self.q, self.mu, losses)
        mirrored = self._all_x * below[::-1], self._all_x * above[::-1]
        up = losses >= 0.0
        largest = np.where(up, above, mirrored[1]) * (1.0 + RELATIVE)
        least = np.where(up, mirrored[0], below) * (1.0 - RELATIVE)
        return np.clip(least - self.cut, 0.0, largest), largest

    def _nodes(self) -> tuple[Array, Array]:
        """Return lower and upper time values of family + at its nodes, and one beyond."""
        taus = np.arange(self._intervals + 2) / self._intervals
        # P(N > far) is then nothing beside the tilt.
        far = math.sqrt(90.0 + 2.0 * (self.scale.lam + 2.0) * float(self._points[-1]))
        below, above = [], []
        for tau in taus.tolist():
            if tau == 0.0:
                low, high = poisson_values(self.q, self.mu, self._points)
                low, high = low * (1.0 - RELATIVE), high * (1.0 + RELATIVE)
            else:
                low, high = time_values(
                    self.q,
                    self.mu,
                    tau * tau,
                    self._points,
                    fine=self._fine,
                    under=2.0 * self._fine,
                    far=far,
                )
            below.append(low)
            above.append(high)
        return np.array(below), np.array(above)

    def _family(self, nodes: tuple[Array, Array], *, mirrored: bool) -> Family:
        """Return a family; that of exchanged pairs has a h(1/a), and halves exchanged.

        Far from a = 1 the curvature is bounded poorly. There the chord is exceeded by no more than
        what h rises, or falls, from one node to the next.
        """
        below, above = nodes
        count, width = self._intervals, 1.0 / self._intervals
        ends = np.arange(count + 2) * width
        bounds = np.array(
            [
                curvature(self.q, self.mu, self._points, low * low, high * high)
                for low, high in itertools.pairwise(ends.tolist())
            ]
        )
        if mirrored:
            below, above, bounds = (self._x * each[:, ::-1] for each in (below, above, bounds))
        rises = self._points > 0.0 if mirrored else self._points < 0.0
        bends = parabolas(below, above, bounds, rises, width)
        most = np.where(rises, above[1:-1] - below[:-2], above[:-2] - below[1:-1])
        rise = np.maximum(most, 0.0)
        # A parabola c p (1 - p) has c / 4 at most.
        near = 0.25 * bends.sum(axis=0) < rise.sum(axis=0)
        return Family(
            self._spread(above[: count + 1]),
            self._spread(bends * near),
            self._spread(rise.max(axis=0) * ~near),
        )

    def _spread(self, values: Array) -> Kernel:
        """Return the kernel of time values that are at most chords in between.

        Those are convex in x, and so are the bends, for each p by itself.
        """
        full = np.array([np.interp(self._all_x, self._x, row) for row in np.atleast_2d(values)])
        return self._kernel(full * (1.0 + RELATIVE))

    def _kernel(self, values: Array) -> Kernel:
        charge(PER_POINT * values.size)
        return self.circle.kernel(self._all, values * self._tilt)

    def _base(self, equal: Array) -> Kernel:
        """Return the law on the lattice that steps are compared with: about E or R.

        That of the larger moment: it costs more over many steps.
        """
        points = self._all * self.circle.step
        found = []
        for values in (
            np.interp(self._all_x, self._x, equal),
            poisson_values(self.q, self.mu, points)[1],
        ):
            weights = np.maximum(chord_weights(points, values), 0.0) * self._all_x
            found.append(self.circle.kernel(self._all, weights * self._tilt))
        return max(found, key=lambda each: each.total)

    @np.errstate(all="ignore")
    def value(self, count: int) -> Array:
        """Return upper bounds on w of V at the points of the circle after so many steps.

        V_0 = (x - 1)_+ is x^{lam + 1} (e^{-lam l} - e^{-(lam + 1) l}) above 0, and 0 below. On the
        circle, the sum over all its turns.
        """
        if count * math.log(self.moment) > LARGEST_LOG:
            raise NotCertifiedError("losses of a step are too large for its game")
        circle, lam = self.circle, self.scale.lam
        places = circle.step * np.arange(circle.size)
        turn = -math.expm1(-lam * circle.length), -math.expm1(-(lam + 1.0) * circle.length)
        first = np.exp(-lam * places) / turn[0] - np.exp(-(lam + 1.0) * places) / turn[1]
        w: Array = np.maximum(first, 0.0) + 64.0 * UNIT
        for size in blocks(count):
            w = self._block(w, size)
        return w

    def _block(self, w: Array, size: int) -> Array:
        """Return bounds after so many more steps; see the head of the file."""
        circle, base = self.circle, self.base
        charge(PER_POINT * circle.size * (10.0 + 4.0 * self._intervals))
        w, bends = self._convex(w)
        spectrum = np.fft.rfft(w)
        gained = self._gained(w, spectrum, bends)
        norm, total = base.total, power(base.spectrum, size) * spectrum
        sizes = norm**size * size_of(w)
        rest = math.inf
        for k in range(1, min(size, LEVELS) + 1):
            spectrum = np.fft.rfft(gained)
            following = self._crude(gained, spectrum) if k < size else gained
            left = self._rest(size, k + 1, following) if k < size else 0.0
            # Differences of what is all rounding grow: a constant is better then.
            if left > 0.5 * rest:
                break
            times = math.comb(size, k)
            total = total + times * power(base.spectrum, size - k) * spectrum
            sizes += times * norm ** (size - k) * size_of(gained)
            rest, gained = left, following
        error = (size + 8.0) * circle.eta * sizes
        found: Array = np.maximum(circle.back(total), 0.0) + (rest + error) * MARGIN
        return found

    def _rest(self, size: int, k: int, g: Array) -> float:
        """Bound all terms of the sum for a block from g_k on."""
        return math.comb(size, k) * self.moment ** (size - k) * float(g.max())

    def _convex(self, w: Array) -> tuple[Array, Array]:
        """Return w, slopes of which rise, and by how much."""
        circle = self.circle
        bends = circle.slopes(w)
        least = float(bends.min()) - circle.slope_error(float(w.max()))
        if least < 0.0:
            more = -1.01 * least / circle.slope_of_one
            w, bends = w + more, bends + more * circle.slope_of_one
        return w, np.maximum(bends, 0.0)

    def _gained(self, w: Array, spectrum: ComplexArray, bends: Array) -> Array:
        """Return g_1."""
        circle = self.circle
        bend = np.fft.rfft(bends)
        best = np.full(circle.size, -np.inf)
        for family in self.families:
            best = np.maximum(best, self._highest(family, bend))
        found = best + w - circle.back(self.base.spectrum * spectrum)
        total = max(family.total for family in self.families)
        error = TERMS * 3.0 * circle.eta * (total * size_of(bends) + self.base.total * size_of(w))
        error += TERMS * total * circle.slope_error(float(w.max())) + self.cut * circle.steepest(w)
        gained: Array = np.maximum(found + float(error) * MARGIN, 0.0)
        return gained

    def _highest(self, family: Family, bend: ComplexArray) -> Array:
        """Return a bound on T V - V for all members of a family."""
        circle = self.circle

        def integral(kernel: Kernel, row: int) -> Array:
            return circle.back(kernel.spectrum[row] * bend)

        right = integral(family.nodes, 0)
        best = right
        for i in range(self._intervals):
            left, right = right, integral(family.nodes, i + 1)
            c = np.maximum(integral(family.bends, i), TINY)
            excess = np.maximum(c - np.abs(right - left), 0.0)
            best = np.maximum(best, np.maximum(left, right) + excess * excess / (4.0 * c))
        found: Array = best + integral(family.flat, 0)
        return found

    def _crude(self, g: Array, spectrum: ComplexArray) -> Array:
        """Return a bound on S(g), for g >= 0 that need not be convex."""
        circle = self.circle
        bends = circle.slopes(g)
        up, down = np.maximum(bends, 0.0), np.maximum(-bends, 0.0)
        found = circle.back(
            self.largest.spectrum * np.fft.rfft(up)
            - self.least.spectrum * np.fft.rfft(down)
            - self.base.spectrum * spectrum
        )
        total = self.largest.total
        error = 8.0 * circle.eta * (total * size_of(bends) + self.base.total * size_of(g))
        error += total * circle.slope_error(float(g.max())) + self.cut * circle.steepest(g)
        bound: Array = np.maximum(found + g + error * MARGIN, 0.0)
        return bound


def parabolas(below: Array, above: Array, bounds: Array, rises: Mask, width: float) -> Array:
    """Return c of each interval: by how much time values may exceed chords between nodes, times 4.

    Args:
        below: time values at the nodes, one of which is beyond the last interval, from below.
        above: the same from above, which chords are between.
        bounds: on second derivatives, for each interval and that beyond.
        rises: where time values rise.
        width: of an interval.
    """
    gap = np.maximum((above - below).max(axis=0), 0.0)
    falls = above[:-1] - above[1:]
    found = []
    for i in range(len(bounds) - 1):
        astray = bounds[max(i - 1, 0) : i + 2].max(axis=0) * width**2 + gap
        before = falls[i] - falls[i - 1] if i else falls[i]
        after = falls[i + 1] - falls[i]
        secants = np.maximum(before + astray, 0.0) + np.maximum(after + astray, 0.0)
        found.append(np.where(rises, 0.5 * bounds[i] * width**2, secants))
    return np.array(found)
