"""The integrand of two uses: the outer loss's density times the inner law's closed-form delta.

With the outer law's outcome z ~ R = N(0, 1) and M(z) = 1 - q + q e^{mu z - mu^2 / 2} (its loss is
log M for removing, -log M for adding), and the inner law of q', mu' (q' = 1: a Gaussian),

    delta(epsilon) = E_P[delta'(epsilon - L)] = int phi(z) (F T(s) - K T(s + mu')) dz,

where T(x) = P(N > x), s = log(K / F) / mu' - mu' / 2, and (`losses/sampled/tails.py`)

    remove:  F = q' M,                          K = e^epsilon - (1 - q') M,
    add:     F = 1 - (1 - q') e^epsilon M,      K = q' e^epsilon M.

Where K <= 0 (remove), or s is far below 0, the inner delta is all of (F - K)_+; where F <= 0 (add)
there is none. In both directions the one that may vanish, and call it N, is A - B e^{mu z}, and
falls in z; the other is a multiple of M, and grows.

G = T(s) - b T(s + mu') with b = K / F is int_0^inf phi(s + u) (1 - e^{-mu' u}) du, as b phi(s + u +
mu') = phi(s + u) e^{-mu' u}. So it is entire in s, falls on the real line, and

    |G(s + iv)| <= e^{v^2 / 2} G(s).

On a rectangle |Im z| <= d, theta = mu d < pi / 2, where N > 0 at the right end: Re N >= N(right),
|M| <= M(right), |M| >= Re M >= 1 - q + q e^{x_left} cos theta. |arg M| is largest at the right, at
the height d; so is |arg N|, N = A (1 - r e^{i theta}), while cos theta >= r, and its maximum for
any theta is arcsin r. |v| <= (|arg N| + |arg M|) / mu' then bounds the integrand.

For any s, F T(s) - K T(s + mu') is at most the integrand, which is its maximum over s: an error of
s, lambda / mu' say, costs at most F phi(s) lambda^2 / mu', and errors of F and K count by T(s) and
T(s + mu') alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

ROOT = math.sqrt(2.0)
LOG_DENSITY = -0.5 * math.log(2.0 * math.pi)
# No exponential of more than this is formed.
LARGE = 690.0
# Roundings of logarithms of bounds.
SLACK = 1e-9
# Heights times mu beyond this have no bound.
WIDEST = 1.5


@record
class Use:
    """One use of a Gaussian, sampled or not.

    Attributes:
        rate: sampling probability; 1 for a Gaussian by itself.
        mu: sensitivity over standard deviation.
        error: relative error of mu.
    """

    rate: float
    mu: float
    error: float


@record
class Values:
    """The integrand at real places, and what it is made of.

    Attributes:
        value: the integrand.
        error: a bound on its absolute error.
        tail: phi e^epsilon times the inner Q-mass above, for the slope.
    """

    value: Array
    error: Array
    tail: Array


@record
class Pair:
    """The integrand at one epsilon.

    Attributes:
        outer: the sampled Gaussian that is integrated over.
        inner: the law whose delta is in closed form.
        remove: direction.
        epsilon: at least 0.
    """

    outer: Use
    inner: Use
    remove: bool
    epsilon: float

    @property
    def kappa(self) -> float:
        """Return the factor of M."""
        return self.inner.rate * (1.0 if self.remove else math.exp(self.epsilon))

    @property
    def line(self) -> tuple[float, float]:
        """Return A and B: N = A - B e^x, x = mu z - mu^2 / 2."""
        q, rest, rise = self.outer.rate, 1.0 - self.inner.rate, math.expm1(self.epsilon)
        if self.remove:
            return rise + self.inner.rate + rest * q, rest * q
        growth = rest * math.exp(self.epsilon)
        return self.inner.rate - rest * rise + growth * q, growth * q

    def x(self, z: Array) -> Array:
        """Return the exponent, cut off where it is too large to matter."""
        mu = self.outer.mu
        x: Array = np.minimum(mu * z - 0.5 * mu * mu, LARGE)
        return x

    def place(self, s: float) -> float:
        """Return about the z at which the inner threshold is s; infinite where there is none.

        For removing s falls in z, from a finite height to -inf; for adding it rises from one.
        """
        q, mu = self.outer.rate, self.outer.mu
        (a, b), kappa = self.line, self.kappa
        ratio = math.exp(max(-LARGE, min(self.inner.mu * (s + 0.5 * self.inner.mu), LARGE)))
        if not self.remove:
            ratio = 1.0 / ratio
        # N / (kappa M) is that ratio.
        top = a - ratio * kappa * (1.0 - q)
        if not top > 0.0:
            return -math.inf
        return (math.log(top) - math.log(b + ratio * kappa * q)) / mu + 0.5 * mu

    def at(self, z: float) -> tuple[float, float, float]:
        """Return upper bounds on F and K at z, and s, about; -inf or inf beyond the end of N."""
        m, n, (_, off) = self._terms(np.array([z]), np.zeros(1))
        multiple, other = self.kappa * float(m[0]), float(n[0])
        bounds = multiple * (1.0 + 1e-12), max(other, 0.0) + 2.0 * float(off[0]) + 1e-300
        front, back = bounds if self.remove else bounds[::-1]
        if not other > 0.0:
            return front, back, -math.inf if self.remove else math.inf
        log_b = math.log(other / multiple) * (1.0 if self.remove else -1.0)
        return front, back, log_b / self.inner.mu - 0.5 * self.inner.mu

    def pace(self, z: float) -> tuple[float, float]:
        """Return |ds/dz|, and the distance at which N vanishes linearly; both for searches."""
        power = float(np.exp(self.x(np.array([z])))[0])
        (a, b), q = self.line, self.outer.rate
        n = max(a - b * power, 1e-300)
        steep = b * power / n
        share = q * power / (1.0 - q + q * power)
        mu = self.outer.mu
        return (steep + share) * mu / self.inner.mu, 1.0 / max(steep * mu, 1e-300)

    def _terms(self, z: Array, moved: Array) -> tuple[Array, Array, tuple[Array, Array]]:
        """Return M, N and their errors, z being off by `moved`.

        x is off by 8 units of mu z and 12 of mu^2 (mu itself by 4), and by mu moved; y = q (e^x -
        1) by q e^x times that and 8 units; rates, e^epsilon and its difference from 1 by 4 units.
        """
        q, mu = self.outer.rate, self.outer.mu
        x = self.x(z)
        off = UNIT * (8.0 * mu * np.abs(z) + 12.0 * mu * mu) + mu * moved
        power, y = q * np.exp(x), q * np.expm1(x)
        wrong = power * off + 8.0 * UNIT * np.abs(y)
        m = (1.0 - q) + power
        rest, rise = 1.0 - self.inner.rate, math.expm1(self.epsilon)
        if self.remove:
            n = (rise + self.inner.rate) - rest * y
            terms, scale = rise + self.inner.rate + rest * np.abs(y), rest
        else:
            growth = math.exp(self.epsilon)
            n = self.inner.rate - rest * (rise + growth * y)
            terms, scale = self.inner.rate + rest * (rise + growth * np.abs(y)), rest * growth
        return m, n, (power * off + 8.0 * UNIT * m, scale * wrong + 10.0 * UNIT * terms)

    def values(self, z: Array, moved: Array) -> Values:
        """Return the integrand at real z, which are off by `moved`, with N > 0.

        Tails are off by 8 units and, for their arguments, 3 x (x + 1) units; phi by 4 units, 2 of
        z^2 and |z| moved. An error of mu' counts F phi(s) mu' times (the derivative of the
        Gaussian profile). Errors of F and K count by T(s) and T(s + mu'), 1 % more where these
        hardly change between what is computed and the truth, by 1 elsewhere.
        """
        m, n, (m_off, n_off) = self._terms(z, moved)
        n = np.maximum(n, 1e-300)
        kappa, mu = self.kappa, self.inner.mu
        multiple, multiple_off = kappa * m, kappa * m_off + 8.0 * UNIT * kappa * m
        if self.remove:
            front, back, front_off, back_off = multiple, n, multiple_off, n_off
        else:
            front, back, front_off, back_off = n, multiple, n_off, multiple_off
        log_b = np.log(back / front)
        s = log_b / mu - 0.5 * mu
        t = s + mu
        first, second = tails(s), tails(t)
        with np.errstate(under="ignore"):
            phi = np.exp(LOG_DENSITY - 0.5 * z * z)
            own = np.exp(LOG_DENSITY - 0.5 * s * s)
        value = front * first - back * second
        # How far log b is off as a function of both, and how far the inputs are off.
        rounded = UNIT * (8.0 * np.abs(log_b) + 12.0 * mu * mu + 8.0)
        loose = (front_off / front + back_off / back) * (1.0 + np.abs(s)) / min(mu, 1.0)
        near = loose < 1e-2
        wrong = np.where(near, front_off * first + back_off * second, front_off + back_off)
        wrong = wrong + UNIT * (front * first * _units(s) + back * second * _units(t))
        wrong = wrong + front * own * (mu * self.inner.error + 1.1 * rounded * rounded / mu)
        relative = UNIT * (16.0 + 4.0 * z * z) + np.abs(z) * moved
        error = phi * (wrong * 1.01 + np.abs(value) * relative) + 1e-300
        if self.remove:
            above = math.exp(self.epsilon) * second
        else:
            q = self.inner.rate
            above = math.exp(self.epsilon) * m * ((1.0 - q) * first + q * second)
        return Values(phi * value, error, phi * above)

    def log_supremum(self, low: Array, high: Array, height: Array) -> Array:
        """Bound the log of the integrand's modulus on rectangles; infinite where nothing is known.

        Of numbers that are off by more than a share of 1e-12 only N is a difference: it is less by
        its error.
        """
        mu, q = self.outer.mu, self.outer.rate
        theta = mu * height
        m, n, (_, off) = self._terms(high, np.zeros(1))
        n = n - 2.0 * off
        known = (n > 0.0) & (theta <= WIDEST) & (self.x(high) < LARGE)
        n, theta = np.where(known, n, 1.0), np.where(known, theta, 0.0)
        (_, b), kappa = self.line, self.kappa
        power, sine, cosine = np.exp(self.x(high)), np.sin(theta), np.cos(theta)
        half = b * power * sine
        share = b * power / (n + b * power)
        turn = np.arctan2(half, n + b * power * (1.0 - cosine))
        turn = np.where(cosine < share, np.arcsin(share), turn)
        turn = turn + np.arctan2(q * power * sine, (1.0 - q) + q * power * cosine)
        if self.remove:
            log_front = np.log(kappa * m)
            log_b = np.log(n) - log_front
        else:
            left = np.exp(self.x(low)) * cosine
            widest = n + 4.0 * off + b * (power - left)
            log_front = 0.5 * np.log(widest * widest + half * half)
            log_b = np.log(kappa * ((1.0 - q) + q * left)) - log_front
        own = self.inner.mu * (1.0 - self.inner.error - 1e-12)
        away = turn / own
        s = log_b / self.inner.mu - 0.5 * self.inner.mu
        s = s - 1e-9 * (1.0 + np.abs(s) + 1.0 / self.inner.mu)
        z = np.clip(0.0, low, high)
        bound = LOG_DENSITY - 0.5 * z * z + 0.5 * height * height + log_front
        bound = bound + 0.5 * away * away + log_gap_above(s, self.inner.mu * (1.0 + 1e-9))
        return np.where(known, bound + SLACK * (1.0 + 1e-3 * np.abs(bound)), np.inf)

    def log_largest(self, low: Array, high: Array) -> Array:
        """Bound the log of the integrand on intervals.

        Also where the sign of N is not known: it is at most phi F and, where N < 0, phi (F - K).
        """
        m, _, (_, off) = self._terms(high, np.zeros(1))
        if self.remove:
            front = self.kappa * m + 4.0 * off
        else:
            front = 4.0 * off + self.line[1] * (np.exp(self.x(high)) - np.exp(self.x(low)))
        z = np.clip(0.0, low, high)
        plain = LOG_DENSITY - 0.5 * z * z + np.log(front) + SLACK * (1.0 + np.abs(z))
        unsure = ~np.isfinite(bound := self.log_supremum(low, high, np.zeros(len(low))))
        return np.where(unsure & (self.x(high) < LARGE), plain, bound)


def tails(x: Array) -> Array:
    """Return P(N > x) for each x, by erfc."""
    return np.array([0.5 * math.erfc(each) for each in (x / ROOT).tolist()])


def _units(x: Array) -> Array:
    """Return the units that a tail, its argument and its product with a factor are off by."""
    return 16.0 + 4.0 * np.abs(x) * (np.abs(x) + 1.0)


def log_gap_above(s: Array, mu: float) -> Array:
    """Return an upper bound on log G(s).

    G <= 1, and for s >= 0, with 1 - e^{-mu u} <= min(1, mu u), at most phi(s) times Mills' ratio R
    <= 2 / (s + (s^2 + 8 / pi)^{1/2}) (Pollak 1956), and phi(s) mu (1 - s R), R >= 2 / (s + (s^2 +
    4)^{1/2}) (Birnbaum 1942). For s < 0 the second is mu (phi(s) - s T(s)) <= mu (0.4 + |s|).
    """
    up = np.maximum(s, 0.0)
    ratio = 2.0 / (up + np.sqrt(up * up + 8.0 / math.pi))
    root = np.sqrt(up * up + 4.0)
    # 1 - 2 s / (s + root) = (root - s) / (root + s) = 4 / (root + s)^2.
    small = mu * 4.0 / (root + up) ** 2
    right = LOG_DENSITY - 0.5 * up * up + np.log(np.minimum(ratio, small))
    left = np.log(np.minimum(1.0, mu * (0.4 - np.minimum(s, 0.0))))
    return np.where(s >= 0.0, right, left)
