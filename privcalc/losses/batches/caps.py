"""How uneven the hint in the first slot can be: what caps on likelihood ratios leave out.

Records are vectors y_1, ..., y_J with |y_j| <= 1, k = 1 / sigma^2, v = 1 / sigma, and N(y) is the
law of y with noise. One of them, drawn evenly, is seen: z has the law m = mean_j N(y_j), and the
ratio of record j is omega_j = dN(y_j) / dm (z), of mean 1 over j. With h(A, mu) = H_A(N(mu) ||
N(0)):

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
and do not depend on z (`swap.py`). For b = 1 the mean over slots of E (w - M)_+ is kappa_1(M) at
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
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, ndtr

from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

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
        if most not in self._caps:
            self._caps[most] = min(self.one(most), self._many(most))
        return self._caps[most]

    def _many(self, most: float) -> float:
        if self._batch == 1:
            return 1.0
        first = LEAST_THETA / self._batch
        thetas = np.geomspace(min(first, LARGEST_THETA), LARGEST_THETA, THETAS)
        rest = np.array([self.one(self._batch * theta) for theta in thetas.tolist()])
        return float((rest + poisson_excess(thetas, most)).min())


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
