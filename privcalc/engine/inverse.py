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
from privcalc.engine.certified import EPSILON_FLOOR, PAD, Certified
from privcalc.engine.source import why
from privcalc.errors import NotCertifiedError
from privcalc.record import mutable

if TYPE_CHECKING:
    from privcalc.engine.source import Deltas, Source

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
# Parts of a distance, and of what was missing of log delta, that are not worth another trial.
NEAR, SPARE = 1e-6, 0.01


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
    if centre <= pad and proof.missing([0.0])[0][0] <= 0.0:
        return Certified.of(source, Bound(0.0, 0.0), source.proof, proof.terms)
    up, down = _End(centre, 1.0, pad, rate), _End(centre, -1.0, pad, rate)
    for _ in range(TRIALS):
        ends = [end for end in (down, up) if not end.done]
        if not ends:
            break
        missing = proof.missing([end.epsilon for end in ends])
        for end, (above, below) in zip(ends, missing, strict=True):
            end.saw(above if end is up else below)
    if up.proved == math.inf:
        raise NotCertifiedError(why(source.proof.engine, proof.last))
    bound = Bound(centre + up.proved, max(0.0, centre - down.proved))
    return Certified.of(source, bound, source.proof, proof.terms)


def root(
    source: Source,
    log_delta: float,
    guess: float,
    *,
    usual: float = 0.0,
    longest: float = math.inf,
    trusted: float = math.inf,
) -> tuple[float, float]:
    """Return about the epsilon >= 0 at which delta is e^{log_delta}, and how fast log delta falls.

    0 where delta is below the target there. By Newton's method on log delta, which is nearly linear
    in epsilon, within the epsilons that are known to be on either side. Where it leaves them, by
    the tangent in e^epsilon, of which delta is convex, and linear between two atoms; or by halving.

    Args:
        source: asked for estimates alone.
        log_delta: log of the target.
        guess: where to begin.
        usual: how fast log delta falls on the whole, if known: between two atoms the slope may be
            far from that, and a source may be good near the answer only.
        longest: steps are at most so long; where delta is near 1 the slope vanishes.
        trusted: where a step leads so far from the guess, it is the last one: what the source says
            there is no good.
    """
    low, high, tangent = -1.0, math.inf, math.nan
    epsilon, rate, before = max(guess, 0.0), 0.0, math.inf
    # The excess that the last step along a tangent started from; infinite after another one.
    started = math.inf
    for trial in range(STEPS):
        values, above = source.estimates(np.array([epsilon]), log_delta)
        # A sum that overflows, and so is no number, is far too large.
        value, mass = float(np.nan_to_num(values[0], nan=np.inf)), float(above[0])
        excess = math.log(value) if value > 0.0 else -math.inf
        rate = (mass - value) / value if value > 0.0 else 0.0
        if excess > 0.0:
            low = epsilon
            tangent = epsilon + _growth(value, mass)
        else:
            high = epsilon
            if epsilon == 0.0:
                break
        most = longest if usual == 0.0 else min(longest, 2.0 * (abs(excess) + 1.0) / usual)
        step = _step(excess, rate, most)
        if abs(step) <= ROUNDING * epsilon or abs(excess) <= NOISE:
            return max(0.0, epsilon + step), rate
        # Noise: what is left of the step does not shrink any more.
        if abs(step) >= 0.5 * before and abs(step) <= 1e-11 * epsilon:
            break
        before = abs(step)
        wanted = epsilon + step
        # Now and then halve what is left, lest steps become ever shorter.
        slow = started < math.inf and FASTER * abs(excess) > started
        halve = trial > SMOOTH and high < math.inf and slow
        started = math.inf
        if low < wanted < high and not halve:
            epsilon, started = max(0.0, wanted), abs(excess)
        elif low < 0.0:
            epsilon = 0.0
        elif low < tangent < high and not halve:
            epsilon, started = tangent, abs(excess)
        else:
            epsilon = max(2.0 * low, 1.0) if high == math.inf else 0.5 * (low + high)
        if not low < epsilon < high or max(epsilon - LARGEST, abs(epsilon - guess) - trusted) > 0.0:
            epsilon = min(epsilon if low < epsilon < high else high, LARGEST)
            break
    return epsilon, rate


def _step(excess: float, rate: float, most: float) -> float:
    """Return Newton's step on log delta, at most so long; not a number where there is none."""
    if not rate > 0.0:
        return math.nan if most == math.inf else math.copysign(most, excess)
    return math.copysign(min(most, abs(excess / rate)), excess)


def _growth(value: float, mass: float) -> float:
    """Return how far off the tangent in e^epsilon is 1, from a delta above 1 in the same units."""
    return math.log1p((value - 1.0) / (mass - value)) if mass > value else math.nan


class _Proof:
    """What a source proves at the epsilons that are tried."""

    def __init__(self, source: Source, low: float, high: float) -> None:
        """Take the question."""
        self._source = source
        self._target = low, high
        self.terms: dict[str, float] = {}
        self.last: Deltas

    def missing(self, epsilons: list[float]) -> list[tuple[float, float]]:
        """Return by how much log delta is too large for an upper end, and too small for a lower.

        An end is proved where that is at most 0. A source that does not work in absolute units has
        e^{log low} for one, which is `low` up to units of the log that its rounding accounts for.
        """
        low, high = self._target
        found = self._source.deltas(np.array(epsilons), math.log(low))
        self.last = found
        absolute = found.log_scale[0] == 0.0
        least, most = (low, high) if absolute else (1.0, high / low * (1.0 + 4e-16))
        for name, each in found.terms.items():
            self.terms[name] = max(self.terms.get(name, 0.0), float(each.max()) / least)
        return [
            (_log_excess(float(upper), least), _log_excess(most, float(lower)))
            for lower, upper in zip(found.lower, found.upper, strict=True)
        ]


@mutable
class _End:
    """The way from an estimate, up or down, to the nearest epsilon whose proof succeeds.

    Attributes:
        centre: the estimate.
        sign: 1 for an upper end, -1 for a lower one.
        pad: the first distance from the estimate, and the least.
        rate: how fast log delta falls at the estimate, about; 0 where that is not known.
        distance: the next one to try.
        failed: the largest distance that is known to be too short.
        excess: by how much log delta missed there.
        proved: the distance of an end that is proved; infinite for none.
        done: whether nothing nearer is wanted.
    """

    centre: float
    sign: float
    pad: float
    rate: float
    distance: float = 0.0
    failed: float = 0.0
    excess: float = math.inf
    proved: float = math.inf
    done: bool = False
    trials: int = 0

    def __post_init__(self) -> None:
        """Begin a pad away."""
        self._try(self.pad)

    @property
    def epsilon(self) -> float:
        """Return what to try next."""
        return self.centre + self.sign * self.distance

    def saw(self, missing: float) -> None:
        """Take note of a trial: the proof lacked so much of log delta, or succeeded.

        The next distance is as far as what is missing asks for, and a little more; in the end it
        doubles. If that was much too far, it is one between the two by false position.
        """
        self.trials += 1
        if missing > 0.0:
            self.failed, self.excess = self.distance, missing
            more = missing / self.rate if self.rate > 0.0 else math.inf
            wanted = self.failed + (more if more < math.inf else self.failed) + LITTLE * self.pad
            self._try(max(wanted, 2.0 * self.failed if self.trials > SLOW_TRIALS else 0.0))
            return
        self.proved = self.distance
        far = self.proved - self.failed > 2.0 * self.pad + NEAR * self.proved
        spare = self.excess == math.inf or -missing > SPARE * self.excess
        self.done = not (far and spare)
        part = self.excess / (self.excess - missing) if self.excess < math.inf else 0.5
        self._try(self.failed + min(max(part, 0.1), 0.9) * (self.proved - self.failed))

    def _try(self, distance: float) -> None:
        """Go there next, but not below 0."""
        if self.failed < self.proved < math.inf:
            distance = min(distance, self.proved)
        if self.sign < 0.0 and distance >= self.centre:
            self.proved, self.done = self.centre, True
        self.distance = distance


def _log_excess(above: float, below: float) -> float:
    """Return log(above / below), at most 0 if and only if above <= below."""
    if above <= below:
        return math.log(above / below) if above > 0.0 else -math.inf
    if not (below > 0.0 and above < math.inf):
        return math.inf
    return max(math.log(above / below), 5e-324)
