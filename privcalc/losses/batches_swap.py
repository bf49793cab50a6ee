"""Shuffled batches from above: the record is swapped from the first slot into another.

What is bounded is the profile of one epoch at alpha >= 1, in either order of the data sets, for any
adaptive steps with Gaussian noise: t slots of b records, v = 1 / sigma, h(alpha, v) the profile of
one step without sampling. T = t - 1, J = T b.

The swap, of slots of b records each. Put the record into slot 1, and all others evenly; then let it
change places with one of all t b records, drawn evenly, itself among them. This is an even
permutation. Profiles are jointly convex, so it is enough to bound what is left given the first
arrangement: with probability 1 / t the record stays in slot 1; else one of the J records j of slots
2, ..., t comes to slot 1, and the record to slot t(j). Let y_j, |y_j| <= v in units of sigma, be
what record j adds to slot 1, where no step was before that it could depend on, m = mean_j N(y_j)
about what the other b - 1 records there add, and R the outputs where slot 1 is drawn from m, and
the others are those of the first arrangement. With omega_j = dN(y_j)/dm of the first output z, D_j
below at slot t(j), given the past, l_x and l_0 the densities of N(x) and N(0) over m,

    H_alpha = E_R ((l_x - alpha l_0) / t + (1 / t) sum_{k >= 2} (1 / b) sum_{j in k} omega_j D_j)_+

(the first term l_0 - alpha l_x in the other order). The arrangement of slots 2, ..., t is
independent of z, so given z the weights w_k = (1 / b) sum_{j in k} omega_j are constants, of mean 1
over k; and from the last slot to the first, (1 / b) sum omega_j D_j may be replaced by w_k times a
copy of D*.

Caps. Drop what is subtracted, and take l_x / T <= beta + (l_x / T - beta)_+, whose last part has
the mean kappa_x(beta T) / T at most. The rest is (T / t) E Phi(w), Phi(w) = E (beta + mean_k w_k
D*_k)_+, a convex and symmetric function. Let 1 <= N <= T, M = T / N, e = mean_k (w_k - M)_+, which
has the mean kappa(M) at most. Then Phi(w) <= Phi(min(w, M)) + e h(alpha, v). Of weights
in [0, M] with mean 1 - e the largest Phi has M on as many slots as there are, and the rest on one:
it is below the chord of psi_m = E (beta + (1 / N) sum_{i <= m} D*_i)_+ at m = N (1 - e). With g >=
psi_N and s >= (psi_m - g) N / (N - m) for 0 <= m < N that is at most g + e s. Altogether

    H_alpha <= (T / t) (g + kappa(M) (h(alpha, v) + s) + kappa_x(beta T) / T),

and H_alpha <= h(alpha, v), given any arrangement.

The slope s. Let G_m = E (beta + mean_{i <= m} D*_i)_+, which falls with m (means are a reversed
martingale). As psi_m <= (m / N) G_m + (1 - m / N) beta,

    (psi_m - g) N / (N - m) <= beta - g + (m / (N - m)) (G_m - g),

and for a <= m <= b the last is at most (b / (N - b)) (G_a - g)_+. G_1 <= beta + h(alpha, v).

Any N and beta will do; they are searched for.

Other slots: b_k <= b records in slot k, with b_1 = b. Now J = sum_{k >= 2} b_k, and of
the J + b records the one that x changes places with is in slot 1 with probability b / (J + b). So

    H_alpha = (J / (J + b)) E_R ((b / J)(l_x - alpha l_0) + (1 / T) sum_{k >= 2} W_k D_k)_+,

D_k an average of D_j, and W_k = (T / J) sum_{j in k} omega_j, of mean 1 over k. Let f(s) be the
mean of E ((T / J) sum omega_j - M)_+ over draws of s records. No omega_j is negative, so that the
same next record adds the more to it the larger the sum is: f is convex, f(0) = 0, f(b_k) <= (b_k /
b) f(b), and the mean over k is at most J / (T b) f(b) <= kappa(M J / (T b)) where J >= b. And
l_x b / J <= beta + (b / J)(l_x - beta J / b)_+. All the rest is the same: for M = T / N

    H_alpha <= (J / (J + b)) (g + kappa(J / (b N)) (h(alpha, v) + s) + (b / J) kappa_x(beta J / b)).

Records in no slot. Given which are, the rest is such a permutation, and where the record is one of
them nothing tells the data sets apart: the bound counts as often as the record is in a slot.

One slot: the largest law of a difference of likelihood ratios. At a slot that one record leaves and
the record enters, let p and x be how leaving and entering move the mean, |p|, |x| <= v. With U =
dN(p + x)/dN(0) and U' = dN(p)/dN(0) at the noise of the slot, N(0, I), the difference is

    D = U - alpha U',  or  D = U' - alpha U  where the orders of the data sets are exchanged,

of mean 1 - alpha. Every such D is below one law D* in convex order, that is, E (D - c)_+ <= E (D* -
c)_+ for all c. With u_a the density of N(a v, 1) over N(0, 1), D* has the part above 0 of u_2 -
alpha u_1, the part below 0 of 1 - alpha u_1, and else is 0; in the other order the part above 0 of
u_1 - alpha, and below 0 of u_1 - alpha u_2. And E D*_+ = h(alpha, v), the profile of one step.

Proof. As means agree it is enough to bound E (D - c)_+ for c >= 0 and E (c - D)_+ for c <= 0. Both
are E phi(U, U') with second derivatives d, -alpha d, alpha^2 d (or, in the other order, alpha^2 d,
-alpha d, d), d = delta(D - c). If the covariance G of the exponents moves with a number r, then
d/dr E phi = (1/2) sum_ij G'_ij E U_i U_j phi_ij (Price 1958). Write p and x for their lengths, too.

- D = U - alpha U'. In <p, x>: E d U (U - alpha U') = c E d U, so that for c >= 0 they are parallel,
  for c <= 0 opposite. Parallel: in p, E d (U - alpha U') ((p + x) U - alpha p U') = E d c (p c +
  x U) >= 0; in x, E d U (p c + x U) >= 0. Opposite, with |p - x| for |p + x|: in p, E d c (p c -
  x U) >= 0; in x, E d U (x U - p c) >= 0. So p = x = v, and U, U' are u_2, u_1 or 1, u_1.
- D = U' - alpha U. In <p, x>: -alpha c E d U, the other way round. Opposite, c >= 0: in p,
  E d c (p c + alpha x U); in x, alpha E d U (p c + alpha x U). Parallel, c <= 0: in p, E d c (p c -
  alpha x U); in x, alpha E d U (alpha x U - p c). All are >= 0.

At c = 0 either pair has E D_+ = h(alpha, v), so that the parts fit, and the rest, at 0, has a
probability: each part is where z is above a root. An average of D's of one slot with weights of sum
w is below w D*, as it is below the mixture.

On a lattice D* is moved up in convex and increasing order: the mass of each cell of z to the values
at its ends, so that its mean stays, and each value to its neighbours on the lattice; what is above
a cut to the cut, its mean excess being told apart, and what is below -deep to -deep. All masses and
all values are rounded up.

How uneven the hint in the first slot can be: what caps on likelihood ratios leave out. Records are
vectors y_1, ..., y_J with |y_j| <= 1, k = 1 / sigma^2, and N(y) is the law of y with noise. One of
them, drawn evenly, is seen: z has the law m = mean_j N(y_j), and the ratio of record j is omega_j =
dN(y_j) / dm (z), of mean 1 over j. With h(A, mu) = H_A(N(mu) || N(0)):

    kappa_1(A) = sup mean_j E_m (omega_j - A)_+,   kappa_x(A) = sup_{|x| <= 1} E_m (dN(x)/dm - A)_+.

Let y be the mean of the y_j, c = |y|, and s_j = |y_j - y|^2, of mean s_0 <= 1 - c^2. By Jensen's
inequality, in the exponent, m >= e^{-k s_0 / 2} N(y). Hence with A' = A e^{-k (1 - c^2) / 2}

    E_m (omega_j - A)_+ = H_A(N(y_j) || m) <= h(A', v s_j^{1/2}),
    E_m (dN(x)/dm - A)_+ <= h(A', v (1 + c)),

both 1 at most. As a function of s, h(A', v s^{1/2}) is 0 at 0, where A' >= 1, and first convex,
then concave: by the formula of its derivative in mu, phi(log A' / mu - mu / 2), the log of its
derivative in s is -log(s)/2 - (log A')^2 / (2 v^2 s) - v^2 s / 8 + const, whose derivative changes
its sign once, from + to -. So its mean over laws of s on [0, (1 + c)^2] with mean s_0, its concave
envelope, is at most sup_{s >= s_0} (s_0 / s) h(A', v s^{1/2}), and grows with s_0.

A slot of b records has w = mean of omega over its b records, which are drawn without replacement
and do not depend on z. For b = 1 the mean over slots of E (w - M)_+ is kappa_1(M) at
most; as (w - M)_+ is convex in the omega_j, so it is for every b. And for any theta with b theta >=
1

    mean E (w - M)_+ <= kappa_1(b theta) + theta E (X - M / theta)_+,  X ~ Poisson(1 / theta).

Proof. omega = min(omega, b theta) + the rest, and the rest of w has mean kappa_1(b theta) at most.
The sum of b draws without replacement is below that with replacement in convex order (Hoeffding
1963, Theorem 4); each draw min(omega, b theta) / b is in [0, theta] with mean at most 1 / b, so
below theta times a coin of probability 1 / (b theta), increasing convex; and a sum of b such coins
is below Poisson(1 / theta), as a coin of probability p is below Poisson(p).

Suprema over c and s are taken over cells, each factor at the end of the cell where it is largest.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, ndtr

from privcalc.losses.lattice_sums import TAIL_ERROR, LatticeSums, plan_sums, slot_cells
from privcalc.numerics.normal import gaussian_profile, short_intervals
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.lattice_sums import SlotCells, SumPlan
    from privcalc.numerics.rounding import Array


@record
class Slots:
    """The slots of an epoch whose outputs are seen.

    Slot 1 has b records, and no other has more. Where b t records are fewer than n, some are in no
    slot, which are as random as the rest of the permutation: those of a last batch that is dropped,
    or of an epoch that is stopped.

    Attributes:
        steps: t, how many slots there are.
        batch: b.
        records: n >= b.
    """

    steps: int
    batch: int
    records: int

    @property
    def seen(self) -> int:
        """How many records are in a slot."""
        return min(self.records, self.steps * self.batch)

    @property
    def skipped(self) -> float:
        """The probability that a record is in no slot, rounded."""
        return (self.records - self.seen) / self.records

    @property
    def others(self) -> int:
        """J, how many records are in slots 2, ..., t."""
        return self.seen - self.batch

    @property
    def even(self) -> float:
        """J / b, by how many slots of b records those are as many as, rounded."""
        return self.others / self.batch


# More than what is lost where the roots of D are rounded, in units of 1 + alpha.
SLIVER = 1e-26
# Nearer to an edge than this no cell begins.
NEAR_EDGE = 1e-6


@record
class OneSide:
    """The part of D* on one side of 0: values at the edges of cells, with masses.

    Attributes:
        values: |D|, increasing from 0 on.
        masses: split to the values, rounded up.
        shares: of them, what comes from below the value.
        rough: absolute errors of the values.
        factors: D is the sum of these times u_0, u_1 and u_2.
        edges: z of each value.
        v: of the cells.
    """

    values: Array
    masses: Array
    shares: Array
    rough: Array
    factors: tuple[float, float, float]
    edges: Array
    v: float

    def ended(self, cut: float) -> tuple[Array, Array, Array, float]:
        """Return values up to a cut, with masses and errors, and what is beyond them.

        All that is beyond the last value is moved there, but for its mean excess.
        """
        last = int(np.searchsorted(self.values, cut, side="right")) - 1
        z, value = float(self.edges[last]), float(self.values[last])
        tails = [float(ndtr(a * self.v - z)) for a in (0.0, 1.0, 2.0)]
        terms = [f * t for f, t in zip(self.factors, tails, strict=True)]
        wrong = TAIL_ERROR * (1.0 + z * z)
        scale = sum(map(abs, terms)) + value * tails[0]
        excess = max(0.0, sum(terms) - value * tails[0]) + wrong * scale
        masses = self.masses[: last + 1].copy()
        masses[last] = self.shares[last] + tails[0] * (1.0 + wrong)
        return self.values[: last + 1], masses, self.rough[: last + 1], excess


def one_side(cells: SlotCells, factors: tuple[float, float, float], root: float) -> OneSide:
    """Return the law of D = sum_a factors_a u_a(z) for z above its last root, from where it grows.

    Args:
        cells: of z.
        factors: see above.
        root: where D is 0; below it D* is something else. Nothing is taken before the first cell,
            where only the part below 0 may be, which is larger at 0.
    """
    v = cells.v
    first = int(np.searchsorted(cells.edges, root + NEAR_EDGE, side="right"))
    edges = np.append(root, cells.edges[first:]) if first else cells.edges
    start = int(first > 0)
    values, rough = np.zeros(len(edges)), np.zeros(len(edges))
    mass: Array = np.zeros(len(edges) - 1)
    mean, scale, error = (np.zeros(len(edges) - 1) for _ in range(3))
    for a, factor in enumerate(factors):
        if factor == 0.0 and a:
            continue
        masses, wrong = cells.masses[a][first:], cells.error[first:]
        if start:
            part, off = short_intervals(edges[:2], a * v)
            masses, wrong = np.append(part, masses), np.append(off, wrong)
        if a == 0:
            mass = masses
        error = np.maximum(error, wrong)
        mean += factor * masses
        scale += abs(factor) * masses
        ratios = cells.ratios[a][first:]
        values[start:] += factor * ratios
        logs = a * v * np.abs(edges[start:]) + 0.5 * (a * v) ** 2
        rough[start:] += abs(factor) * ratios * (UNIT * (24.0 + 8.0 * logs))
    if start and len(edges) > 1:
        rough[0] = rough[1]
    gaps = np.diff(values)
    high = np.clip((mean - values[:-1] * mass) / gaps, 0.0, mass)
    # What a share is off by, for all of its terms.
    wrong = 2.0 * ((error + 32.0 * UNIT) * scale + mass * (rough[:-1] + rough[1:])) / gaps
    wrong += mass * (error + 8.0 * UNIT)
    shares = np.append(0.0, high + wrong)
    whole = shares + np.append(mass - high + wrong, 0.0)
    return OneSide(values, whole, shares, rough, factors, edges, v)


class GluedLaw:
    """D* at one alpha > 1 in one order of the data sets."""

    def __init__(self, cells: SlotCells, epsilon: float, *, remove: bool) -> None:
        """Take the cells and log alpha; `remove` where P has the record."""
        alpha, v = math.exp(epsilon), cells.v
        self._alpha = alpha
        part = epsilon / v
        if remove:
            sides = ((0.0, -alpha, 1.0), part + 1.5 * v), ((-1.0, alpha, 0.0), 0.5 * v - part)
        else:
            sides = ((-alpha, 1.0, 0.0), part + 0.5 * v), ((0.0, -1.0, alpha), 1.5 * v - part)
        self._sides = tuple(one_side(cells, *side) for side in sides)
        roots = [max(root, float(cells.edges[0])) for _, root in sides]
        rest = 1.0 - sum(float(ndtr(-root)) for root in roots)
        self._rest = rest + TAIL_ERROR * (1.0 + sum(root * root for root in roots))

    @property
    def about(self) -> tuple[Array, Array]:
        """Return values and masses, for a plan."""
        up, down = self._sides
        return (
            np.concatenate([-down.values[::-1], [0.0], up.values]),
            np.concatenate([down.masses[::-1], [self._rest], up.masses]),
        )

    def on_lattice(self, plan: SumPlan) -> tuple[int, Array, float]:
        """Return the first index, masses on a lattice, and the mean of what is beyond the cut."""
        up, down = self._sides[0].ended(plan.cut), self._sides[1].ended(plan.deep)
        values = np.concatenate([-down[0], [0.0], up[0]])
        rough = np.concatenate([down[2], [0.0], up[2]])
        masses = np.concatenate([down[1], [self._rest], up[1]])
        places = (values + rough) / plan.step
        places += 8.0 * UNIT * np.abs(places)
        index = np.floor(places).astype(np.intp)
        share = places - index
        first = int(index.min())
        both = np.concatenate([index, index + 1]) - first
        weights = np.concatenate([masses * (1.0 - share), masses * share])
        found: Array = np.bincount(both, weights) * (1.0 + UNIT * (len(values) + 16.0))
        return first, found, up[3] + SLIVER * (1.0 + self._alpha)


# Cells of c and of s.
LENGTHS, SQUARES = 96, 240
# Values of theta, from 1.5 / b on; and the largest.
THETAS, LARGEST_THETA, LEAST_THETA = 32, 2.0, 1.5
# Terms of a Poisson sum, before what bounds the rest.
SUMMED = 400
# Arguments are lowered to powers of this: both bounds fall with A.
RATIO = 1.004
PER_VALUE = 0.8
# More than what underflow hides.
NOTHING = 1e-300


def tilted_hockey(a: Array, mu: Array) -> Array:
    """Return upper bounds on h(A, mu) = P(N > log A / mu - mu / 2) - A P(N > log A / mu + mu / 2).

    Tails are off by FUNCTION_ULPS, and by 4 (1 + x^2) units for what their arguments x are off by.
    """
    charge(PER_VALUE * max(a.size, mu.size))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle, half = np.log(a) / mu, 0.5 * mu
        first, second = ndtr(half - middle), a * ndtr(-half - middle)
        x = np.abs(middle) + half
        found = first - second + UNIT * (first + second) * (16.0 + 8.0 * (1.0 + x) ** 2)
    # At distance 0, and where A <= 1, all is known.
    found = np.where(mu > 0.0, found, np.maximum(1.0 - a, 0.0))
    bounded: Array = np.minimum(np.maximum(found, 0.0) + NOTHING, 1.0)
    return bounded


class HintCaps:
    """The bounds for one v and one size of batches, each worked out when it is first asked for."""

    def __init__(self, v: float, batch: int) -> None:
        """Take v = 1 / sigma and b."""
        self._v, self._batch = v, batch
        c = np.linspace(0.0, 1.0, LENGTHS + 1)
        self._least, self._most = c[:-1], c[1:]
        # |y|^2 is least at the left end of a cell, with the largest deviation about the mean.
        self._spread = 1.0 - self._least**2
        share = np.linspace(0.0, 1.0, SQUARES + 1)
        start = 1.0 - self._most**2
        squares = start[:, None] + share * ((1.0 + self._most) ** 2 - start)[:, None]
        squares[-1, 0] = 0.0
        self._left, self._right = squares[:, :-1], squares[:, 1:]
        with np.errstate(divide="ignore"):
            self._part = np.minimum(1.0, self._spread[:, None] / self._left)
        # A' = A e^{-k (1 - c^2) / 2} in each cell of c, relatively to A.
        self._lowered = np.exp(-0.5 * v**2 * self._spread) * (1.0 - 64.0 * UNIT)
        self._ones: dict[int, float] = {}
        self._caps: dict[float, float] = {}

    def one(self, a: float) -> float:
        """Return an upper bound on kappa_1(A), which is lowered to a power of RATIO."""
        power = math.floor(math.log(a) / math.log(RATIO) - 1e-9) if a > 1.0 else -1
        if power not in self._ones:
            mu = self._v * np.sqrt(self._right) * (1.0 + 4.0 * UNIT)
            self._ones[power] = self._largest(RATIO**power, mu, self._part)
        return self._ones[power]

    def own(self, a: float) -> float:
        """Return an upper bound on kappa_x(A)."""
        mu = self._v * (1.0 + self._most[:, None]) * (1.0 + 4.0 * UNIT)
        return self._largest(a, mu, np.ones_like(mu))

    def _largest(self, a: float, mu: Array, part: Array) -> float:
        """Return the largest part of h(A', mu) in all cells; 1 where an A' is not above 1."""
        lowered = a * self._lowered[:, None]
        if not float(lowered.min()) > 1.0:
            return 1.0
        return min(1.0, float((part * tilted_hockey(lowered, mu)).max()) * (1.0 + 8.0 * UNIT))

    def cap(self, most: float) -> float:
        """Return an upper bound on the mean over slots of E (w - M)_+, M >= 1."""
        if self._batch == 1:
            return self.one(most)
        if most not in self._caps:
            first = min(LEAST_THETA / self._batch, LARGEST_THETA)
            thetas = np.geomspace(first, LARGEST_THETA, THETAS)
            rest = np.array([self.one(self._batch * theta) for theta in thetas.tolist()])
            self._caps[most] = min(1.0, float((rest + poisson_excess(thetas, most)).min()))
        return self._caps[most]


def poisson_excess(theta: Array, most: float) -> Array:
    """Return upper bounds on theta E (X - M / theta)_+, X ~ Poisson(1 / theta).

    With L = 1 / theta, K = M / theta, and k the first whole number above K, that is the sum of
    (j - K) p_j over j >= k. Quotients of neighbouring probabilities are r_j = L / (j + 1), so that
    beyond SUMMED terms the rest is at most that of a geometric law, p_j ((j - K) / (1 - r) +
    r / (1 - r)^2). K is rounded down, which makes it larger. A product of SUMMED quotients is off
    by three units for each, which MARGIN covers; logarithms by 8 units of their size and, as that
    of the mean is off by 2 units, by 2 k.

    Args:
        theta: of shape (n,).
        most: M > 1.
    """
    mean, strike = 1.0 / theta, most / theta * (1.0 - 4.0 * UNIT)
    k = np.floor(strike) + 1.0
    terms = k * np.log(mean), -mean, -gammaln(k + 1.0)
    log_p = sum(terms)
    j = k[:, None] + np.arange(SUMMED + 1.0)
    ratios = mean[:, None] / j
    ratios[:, 0] = 1.0
    p = np.cumprod(ratios, axis=1)
    r = mean / (j[:, -1] + 1.0)
    rest = p[:, -1] * ((j[:, -1] - strike) / (1.0 - r) + r / (1.0 - r) ** 2)
    total = ((j[:, :-1] - strike[:, None]) * p[:, :-1]).sum(axis=1) + rest
    wrong = UNIT * (16.0 * sum(map(np.abs, terms)) + 4.0 * k + 16.0)
    found: Array = theta * total * np.exp(log_p + wrong) * MARGIN + NOTHING
    return found


# Counts N that are tried, each so many times smaller than the last; beta over alpha - 1.
THINNER, LEAST_CAP = 1.12, 1.02
# How many of them are looked at before a search, or how far from a choice nearby it goes.
LOOKS, NEAR = 8, 4
SHIFTS = (0.003, 0.01, 0.02, 0.035, 0.055, 0.08, 0.115, 0.16, 0.23)
USUAL_SHIFT = 0.05
LEAST_EPSILON = 1e-9
# Choices are made on a lattice of log epsilon.
SPACING = 0.1
POINTS, FEW_POINTS = 200.0, 80.0
# Parts of the total that are not worth while, and intervals for what they take.
ENOUGH, MOST_PARTS = 0.005, 30


class SwapBound:
    """The upper bound for one epoch, at any epsilon and in both orders."""

    def __init__(self, slots: Slots, v: float) -> None:
        """Take t >= 2 slots, and v = 1 / sigma."""
        self._slots, self._v = slots, v
        self._seen = slots.seen / slots.records
        self._caps = HintCaps(v, slots.batch)
        self._cells = slot_cells(v)
        counts = []
        count = slots.even / LEAST_CAP
        while count >= 2.0:
            counts.append(int(count))
            count = min(count / THINNER, count - 1.0)
        self._counts = counts
        self.known: dict[tuple[float, bool], float] = {}
        self._choices: dict[tuple[int, bool], tuple[int, float] | None] = {}

    def at(self, epsilon: float, *, remove: bool) -> float:
        """Return an upper bound on the profile at epsilon >= 0."""
        key = epsilon, remove
        if key not in self.known:
            self.known[key] = self._at(epsilon, remove=remove)
        return self.known[key]

    def _at(self, epsilon: float, *, remove: bool) -> float:
        plain = gaussian_profile(self._v, epsilon).upper * self._seen * (1.0 + 4.0 * UNIT)
        if epsilon < LEAST_EPSILON or not self._counts:
            return plain
        place = round(math.log(epsilon) / SPACING)
        key = place, remove
        if key not in self._choices:
            self._choices[key] = self._chosen(place, remove=remove)
        choice = self._choices[key]
        return plain if choice is None else min(plain, self._bound(epsilon, choice, remove=remove))

    def _sums(
        self, epsilon: float, count: int, points: float, *, remove: bool
    ) -> tuple[LatticeSums, float]:
        """Return sums of D*, and what their hinges lack."""
        law = GluedLaw(self._cells, epsilon, remove=remove)
        gap = math.expm1(epsilon)
        near = USUAL_SHIFT * gap, SHIFTS[-1] * gap
        plan = plan_sums((*law.about, None), count, near, points)
        first, masses, excess = law.on_lattice(plan)
        return LatticeSums.planned(plan, first, masses, 0.0), excess

    def _chosen(self, place: int, *, remove: bool) -> tuple[int, float] | None:
        """Return N and beta / (alpha - 1), or None where there is nothing to gain.

        That s is beta - g is all but true, and enough for a choice. The search begins where one in
        the other order, or nearby, ended.
        """
        epsilon = math.exp(place * SPACING)
        plain = gaussian_profile(self._v, epsilon).upper
        shifts = math.expm1(epsilon) * np.array(SHIFTS)
        even, counts = self._slots.even, self._counts
        own = np.array([self._caps.own(shift * even) for shift in shifts.tolist()]) / even
        sums, excess = self._sums(epsilon, counts[0], FEW_POINTS, remove=remove)

        @cache
        def value(i: int) -> tuple[float, float]:
            kappa = self._cap(counts[i])
            if kappa >= 1.0:
                return math.inf, 0.0
            total = sums.hinges(counts[i], shifts) + excess + kappa * (plain + shifts) + own
            best = int(np.argmin(total))
            return float(total[best]), SHIFTS[best]

        keys = (place, not remove), (place - 1, remove), (place + 1, remove)
        near = [choice[0] for choice in map(self._choices.get, keys) if choice]
        step = NEAR if near else max(1, len(counts) // LOOKS)
        best = counts.index(near[0]) if near else min(range(0, len(counts), step), key=value)
        while step > 1:
            step -= step // 2
            around = (best - step, best, best + step)
            best = min((i for i in around if 0 <= i < len(counts)), key=value)
        total, part = value(best)
        return (counts[best], part) if total < plain else None

    def _cap(self, count: int) -> float:
        """Return an upper bound on mean_k E (W_k - M)_+ for N."""
        slots = self._slots
        return self._caps.cap(slots.others / (slots.batch * count))

    def _bound(self, epsilon: float, choice: tuple[int, float], *, remove: bool) -> float:
        count, part = choice
        # So that its exponential is rounded down: profiles fall.
        epsilon -= 8.0 * UNIT * (1.0 + epsilon)
        plain = gaussian_profile(self._v, epsilon).upper
        sums, excess = self._sums(epsilon, count, POINTS, remove=remove)
        beta = part * math.expm1(epsilon)
        shift = np.array([beta])

        def mean(fewer: int) -> float:
            found = plain + beta
            if fewer > 1:
                found = min(found, float(sums.hinges(fewer, shift)[0]) + excess)
            return found * (1.0 + 4.0 * UNIT)

        g = mean(count)
        kappa = self._cap(count)
        slots = self._slots
        own = self._caps.own(beta * slots.even * (1.0 - 4.0 * UNIT)) / slots.even
        enough = ENOUGH * (g + kappa * (plain + beta) + own) / kappa
        slope = max(0.0, beta - g + _steeper(count, g, mean, enough)) + 4.0 * UNIT * beta
        total = g + kappa * (plain + slope) + own
        return total * (slots.others / slots.records) * (1.0 + 64.0 * UNIT)


def _steeper(count: int, g: float, mean: Callable[[int], float], enough: float) -> float:
    """Return an upper bound on (m / (N - m)) (G_m - g)_+ for 1 <= m < N.

    The worst interval of m is divided until it is good enough.

    Args:
        count: N.
        g: G_N.
        mean: upper bounds on G_m.
        enough: what is as good as nothing.
    """

    def bounded(a: int, b: int) -> tuple[float, int, int]:
        return b / (count - b) * max(0.0, known[a] - g), a, b

    known = {1: mean(1)}
    intervals = [bounded(1, count - 1)]
    for _ in range(MOST_PARTS):
        worst, a, b = max(intervals)
        if worst <= enough or a == b:
            break
        # Halfway in the logarithm of N - m.
        middle = count - math.isqrt((count - a) * (count - b))
        middle = min(max(middle, a + 1), b)
        known[middle] = mean(middle)
        intervals.remove((worst, a, b))
        intervals += [bounded(a, middle - 1), bounded(middle, b)]
    return max(intervals)[0]
