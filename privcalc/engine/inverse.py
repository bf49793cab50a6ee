"""From delta to epsilon: one search and one proof for every source.

The search needs no certificate, as any two epsilons may be tried; the proof is what a source says
at the very doubles that are returned. delta is non-increasing in epsilon: an epsilon whose delta is
proved to be at most the target is at least the answer, and one whose delta is proved to be at least
the target is at most the answer. Neither of the two proofs is taken to be monotone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.certified import EPSILON_FLOOR, PAD, Certified, why
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import remembered

if TYPE_CHECKING:
    from privcalc.engine.certified import Deltas, Source
    from privcalc.engine.composition import Composition

# Part of the pad that each error term of a contour may use up, and the relative errors of delta
# that are asked for: below is rounding, above is vague.
SHARE = 0.25
LEAST_ERROR, MOST_ERROR = 1e-14, 1e-3
# Where the search for a delta begins.
FIRST_LOG_DELTA = -20.0
# Epsilons below 1e-5 are bracketed more narrowly than the floor of the tolerance asks.
LEAST_WIDTH = 0.01 * EPSILON_FLOOR
# Steps of the search; after so many, what is left is halved where a step along a tangent does not
# make the excess so many times smaller.
STEPS, SMOOTH, FASTER = 120, 10, 4.0
# No larger epsilon is looked at.
LARGEST = 1e18
# log delta is not known better than this, nor epsilon than its own rounding.
NOISE, ROUNDING = 1e-15, 2e-16
# Trials to prove an end: after so many the distance from the estimate at least doubles.
SLOW_TRIALS, TRIALS = 12, 92
# In pads, what is added to a distance that should do.
LITTLE = 0.1


def error_for(width: float) -> float:
    """Return what each relative error of delta may be, for a bracket of that relative width."""
    return min(max(SHARE * PAD * width, LEAST_ERROR), MOST_ERROR)


def inverse(
    source: Source, low: float, high: float, tolerance: float, guess: float = 0.0
) -> Certified:
    """Bracket the least epsilon >= 0 at which the finite part of delta is at most a target.

    Args:
        source: what proves brackets of delta.
        low: the target is at least this ...
        high: ... and at most this; the upper end is proved with the first, the lower with the
            second.
        tolerance: relative width wished for.
        guess: where the search begins.

    Raises:
        NotCertifiedError: no finite upper end could be proved.
    """
    return around(source, low, high, tolerance, root(source, math.log(low), guess))


def around(
    source: Source, low: float, high: float, tolerance: float, found: tuple[float, float]
) -> Certified:
    """Prove both ends around an estimate of epsilon, and of how fast log delta falls there.

    See `inverse` for the rest.
    """
    centre, rate = found
    pad = PAD * max(tolerance * centre, LEAST_WIDTH)
    proof = _Proof(source, low, high)
    # 0 needs no proof as a lower end, and is both ends if delta is low enough there.
    if centre <= pad and proof.missing(0.0, 1.0) <= 0.0:
        return Certified.of(source, Bound(0.0, 0.0), source.proof, proof.terms)
    down, up = (_distance(proof, centre, sign, pad, rate) for sign in (-1.0, 1.0))
    if up == math.inf:
        raise NotCertifiedError(why(source.proof.engine, proof.last))
    bound = Bound(centre + up, max(0.0, centre - down))
    return Certified.of(source, bound, source.proof, proof.terms)


def root(source: Source, log_delta: float, guess: float) -> tuple[float, float]:
    """Return about the epsilon >= 0 at which delta is e^{log_delta}, and how fast log delta falls.

    0 where delta is below the target there. By Newton's method on log delta, which is nearly linear
    in epsilon, within the epsilons that are known to be on either side; by halving where it leaves
    them, or where a step does not make the excess FASTER times smaller.

    Args:
        source: asked for estimates alone.
        log_delta: log of the target.
        guess: where to begin.
    """
    low, high, epsilon, rate = -1.0, math.inf, max(guess, 0.0), 0.0
    step = before = math.inf
    for trial in range(STEPS):
        values, above = source.estimates(np.array([epsilon]), log_delta)
        # A sum that overflows, and so is no number, is far too large.
        value, mass = float(np.nan_to_num(values[0], nan=np.inf)), float(above[0])
        excess = math.log(value) if value > 0.0 else -math.inf
        rate = (mass - value) / value if value > 0.0 else 0.0
        low, high = (epsilon, high) if excess > 0.0 else (low, epsilon)
        if high == 0.0:
            break
        # Not a number where there is none.
        last, step = abs(step), excess / rate if rate > 0.0 else math.nan
        if abs(step) <= ROUNDING * epsilon or abs(excess) <= NOISE:
            return max(0.0, epsilon + step), rate
        # Noise: what is left of the step does not shrink any more.
        if 0.5 * last <= abs(step) <= 1e-11 * epsilon:
            break
        wanted = epsilon + step
        slow = trial > SMOOTH and high < math.inf and FASTER * abs(excess) > before
        before = abs(excess)
        if low < wanted < high and not slow:
            epsilon = max(0.0, wanted)
        elif low < 0.0:
            epsilon = 0.0
        else:
            epsilon = max(2.0 * low, 1.0) if high == math.inf else 0.5 * (low + high)
        if not low < epsilon < high or epsilon > LARGEST:
            epsilon = min(epsilon if low < epsilon < high else high, LARGEST)
            break
    return epsilon, rate


class _Proof:
    """What a source proves at the epsilons that are tried."""

    def __init__(self, source: Source, low: float, high: float) -> None:
        """Take the question."""
        self._source = source
        self._target = low, high
        self.terms: dict[str, float] = {}
        self.last: Deltas

    def missing(self, epsilon: float, sign: float) -> float:
        """Return by how much log delta is too large for an upper end, or too small for a lower one.

        An end is proved where that is at most 0. A source that does not work in absolute units has
        e^{log low} for one, which is `low` up to units of the log that its rounding accounts for.
        """
        low, high = self._target
        found = self._source.deltas(np.array([epsilon]), math.log(low))
        self.last = found
        absolute = found.log_scale[0] == 0.0
        least, most = (low, high) if absolute else (1.0, high / low * (1.0 + 4e-16))
        for name, each in found.terms.items():
            self.terms[name] = max(self.terms.get(name, 0.0), float(each[0]) / least)
        lower, upper = float(found.lower[0]), float(found.upper[0])
        return _log_excess(upper, least) if sign > 0.0 else _log_excess(most, lower)


def _distance(proof: _Proof, centre: float, sign: float, pad: float, rate: float) -> float:
    """Return how far the nearest end is that is proved, of those that were tried; maybe infinity.

    Where a proof lacks some of log delta, the next distance is as far as that asks for, and a
    little more; from then on it doubles at most, and in the end at least.

    Args:
        proof: what the source proves.
        centre: the estimate.
        sign: 1 for an upper end, -1 for a lower one, which is 0 at least.
        pad: the first distance, and the least.
        rate: how fast log delta falls at the estimate, about; 0 where that is not known.
    """
    distance = pad
    for trial in range(TRIALS):
        if sign < 0.0 and distance >= centre:
            return centre
        missing = proof.missing(centre + sign * distance, sign)
        if missing <= 0.0:
            return distance
        more = missing / rate if rate > 0.0 and missing < math.inf else distance
        if trial > 0:
            more = max(more, distance) if trial > SLOW_TRIALS else min(more, distance)
        distance += more + LITTLE * pad
    return math.inf


def _log_excess(above: float, below: float) -> float:
    """Return log(above / below), at most 0 if and only if above <= below."""
    if above <= below:
        return math.log(above / below) if above > 0.0 else -math.inf
    if not (below > 0.0 and above < math.inf):
        return math.inf
    return max(math.log(above / below), 5e-324)


# The saddle point is looked for among these, and found to a part of itself.
SMALLEST, LARGEST_C, CLOSE = 2.0**-26, 1e40, 1e-4


def log_delta_at(composition: Composition, c: float) -> tuple[float, float]:
    """Return epsilon for which c is the saddle, and the saddle-point value of log delta there."""
    return _at_saddle(composition, c)[:2]


def _at_saddle(composition: Composition, c: float) -> tuple[float, float, float]:
    """Return both, and the second derivative of the log of the integrand at c.

    As c grows, epsilon grows by that, and log delta falls by c times that, but for its last term.
    """
    k0, k1, k2 = composition.cumulants(c)
    epsilon = k1 - 1.0 / c - 1.0 / (1.0 + c)
    psi = k0 - c * epsilon - math.log(c) - math.log1p(c)
    curvature = max(k2, 0.0) + 1.0 / c**2 + 1.0 / (1.0 + c) ** 2
    return epsilon, psi - 0.5 * math.log(2.0 * math.pi * curvature), curvature


@remembered(16)
def saddle(composition: Composition, epsilon: float | None, log_delta: float | None) -> float:
    """Return the c that is the saddle at an epsilon, or where the saddle-point delta is that.

    By Newton's method, between the c that are known to be too small and too large.
    """
    low, high, c = SMALLEST, LARGEST_C, 1.0
    for _ in range(STEPS):
        at, size, curvature = _at_saddle(composition, c)
        excess = epsilon - at if epsilon is not None else (size - (log_delta or 0.0)) / c
        # What is no number, or too large for one, is too far.
        low, high = (c, high) if 0.0 < excess < math.inf else (low, c)
        wanted = c + excess / curvature
        if abs(wanted - c) <= CLOSE * c or high - low <= CLOSE * low:
            break
        if not low < wanted < high:
            known = low > SMALLEST and high < LARGEST_C
            wanted = math.sqrt(low) * math.sqrt(high) if known else 4.0 * c if c == low else c / 4.0
        c = min(max(wanted, SMALLEST), LARGEST_C)
    return c
