"""Audits of one run with many canaries: how many right guesses a claim allows.

Each of m canaries was in by its own fair coin; of the output, r guesses were made whether some of
them were in, r fixed beforehand; W is how many are right. Confidence limits of its rate are
invalid: the outcomes depend on each other through the one output. Two bounds on P(W >= v) hold, and
so does the smaller.

**Posteriors**, for (epsilon, delta). Let b(v) = P(Bin(r, q) >= v), q = e^epsilon / (1 + e^epsilon).
Then

    P(W >= v) <= b(v) + m delta / (1 + e^epsilon).

Proof. Given the output t, reveal the coins in turn: given t and the earlier ones the guess on
canary i is right with its posterior probability q_i; let it be so if U_i <= q_i, U_i uniform and
independent of t and of what came before. With B_i = [U_i <= q] and F_i = [q < U_i <= q_i] a right
guess needs B_i or F_i. Given t the B_i of guessed canaries are independent, so their number is
Bin(r, q). F_i has probability E (q_i - q)_+. Fix the earlier coins, and let p and p' be the
densities of t given that canary i is in or out, the later ones mixed: a pair that keeps (epsilon,
delta), as mixtures do. t has the density (p + p') / 2, and for the guess "in" (p / (p + p') - q) (p
+ p') / 2 is (p - e^epsilon p') / (2 (1 + e^epsilon)), of which the positive part has at most the
integral delta / (2 (1 + e^epsilon)); so has that of "out". Both guesses together, at all m
canaries: m delta / (1 + e^epsilon), and the union bound. (With delta = 0 this is Theorem 5.2 of
Steinke, Nasr, Jagielski 2023, whose term of delta is another.) A specification keeps many (epsilon,
delta), and the smallest bound holds.

**The recursion**, for a trade-off function f, convex and its own inverse. For p_j = P(W = j)

    sum over j >= i of j p_j / m  <=  1 - f(sum over j >= i - 1 of (r - j) p_j / m),  i = 1, ..., r:

of one canary, the other coins fixed, "right, and i - 1 others are" and "wrong, and i - 1 others
are" have probabilities (a + b') / 2 and (a' + b) / 2, for its two guesses, with a <= 1 - f(a') and
b' <= 1 - f(b); 1 - f is concave, so it is so for the means over guesses, coins and canaries; where
the canary is wrong W is the number of the others (Mahloujifar, Melis, Chaudhuri 2024). So of H =
sum of (r - j) p_j and R = sum of j p_j, from j = i on, H >= g(R) = m f(1 - R / m) one step on. If
P(W >= v) >= t, begin with R = t v and H = t (r - v) and for i = v - 1, ..., 0 let H' = max(H,
g(R)), R' = R + (H' - H) i / (r - i). Then R + H <= r in the end, as it is for the true sums R* and
H*.

Proof. With a = H* - H and b = R* - R it holds throughout that b >= 0, b >= a i / (r - i), and a + b
>= 0 where a < 0. In the beginning as P(W >= v) >= t. In a step b grows by (a' - a) i / (r - i), to
at least a' i / (r - i). If H' > H then H*' >= g(R*) >= g(R) = H', and a' >= 0. Else a' >= a, and if
a' < 0 then b does not fall, and neither does a + b. Any smaller H' >= H and any smaller R' only
make b larger, or keep a' >= 0: both may be rounded down, and g may be any non-decreasing function
below. Where H' = H nothing changes any more. Here f is the largest of the lines that (epsilon,
delta), for each of several, puts below it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from privcalc.numerics.binomials import log_below
from privcalc.numerics.rounding import UNIT, exp_bound, few_bits
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    # Intercept and slope of a line below g, and its rounding.
    Line = tuple[float, float, float]

# Bits of a level t, so that t r is exact up to so many guesses.
BITS, MOST = 20, 2**33
# Steps of all passes of the recursion together, and passes of one search.
STEPS, PASSES = 5_000_000, 50
LEAST_LOG, LARGEST = -690.0, 500.0
DOWN = 1.0 - 4.0 * UNIT
# The bounds, as answers name them.
POSTERIORS, RECURSION = "posteriors", "recursion"


@record
class OneRun:
    """The evidence: canaries, guesses, and how many of them are right."""

    canaries: int
    guesses: int
    correct: int

    def posterior(self, epsilon: float, delta: float) -> float:
        """Return b(v) + m delta / (1 + e^epsilon), from above.

        1 - q is rounded down, by exp's units and what adds up.
        """
        odds = exp_bound(epsilon)
        wrong = (1.0 - 16.0 * UNIT) / (1.0 + odds) if odds < math.inf else 0.0
        log_b = log_below(self.guesses, self.guesses - self.correct, wrong)[0]
        # e^epsilon from below, as delta may count for less where it is larger.
        term = self.canaries * delta / (1.0 + math.exp(min(epsilon, LARGEST)) * (1.0 - 8.0 * UNIT))
        return min(1.0, (exp_bound(log_b) + term) * (1.0 + 16.0 * UNIT))

    def lines(self, guarantees: Iterable[tuple[float, float]]) -> list[Line]:
        """Return the upper envelope of the lines of (epsilon, delta) in R, flat ones first.

        With x = 1 - R / m those of f, 1 - delta - E x and (1 - delta - x) / E, are m (1 - delta -
        E) + E R and (R - m delta) / E. E is rounded up, a weaker claim, and is then exact; what
        rounding moves a line by is taken off. Where hull or order suffer from rounding, there are
        fewer lines than might be.
        """
        m, found = float(self.canaries), []
        for epsilon, delta in guarantees:
            odds = exp_bound(epsilon)
            if odds < math.inf and delta < 1.0:
                found.append((m * (1.0 - delta - odds), odds, m * (1.0 + odds)))
                found.append((-m * delta / odds, 1.0 / odds, m))
        hull: list[Line] = []
        for c, s, size in sorted(found, key=lambda line: (line[1], line[0])):
            line = (c, s, 8.0 * UNIT * (size + s * m))
            while hull and (
                hull[-1][1] == s or (len(hull) > 1 and _idle(hull[-2], hull[-1], line))
            ):
                hull.pop()
            hull.append(line)
        return hull

    def steps(self, lines: Sequence[Line], level: float, most: int = STEPS) -> tuple[bool, int]:
        """Return whether the recursion proves that P(W >= v) < level, and how many steps it took.

        The level has BITS bits. Nothing is proved by a pass that is not finished.
        """
        r, v = self.guesses, self.correct
        high, low = level * v, level * (r - v)
        place, last = 0, len(lines) - 1
        if last < 0 or r > MOST:
            return False, 0
        c, s, slack = lines[0]
        for i in range(v - 1, max(-1, v - 1 - most), -1):
            while place < last and lines[place + 1][0] + lines[place + 1][1] * high >= c + s * high:
                place += 1
                c, s, slack = lines[place]
            new = c + s * high - slack
            if new <= low:
                return (high + low) * DOWN > r, v - i
            high = (high + (new - low) * i / (r - i) * DOWN) * DOWN
            low = new
            if high > r:
                return True, v - i
        return v <= most and (high + low) * DOWN > r, min(v, most)

    def p_value(self, guarantees: Sequence[tuple[float, float]], level: float) -> tuple[float, str]:
        """Return a p-value of a claim, from above, and the bound that gives it.

        Whatever level a pass refutes is one. The first is that of the verdict; then its square, and
        so on, and what is between is halved.

        Args:
            guarantees: pairs (epsilon, delta) that the claim implies.
            level: of the verdict.
        """
        found = min((self.posterior(*each) for each in guarantees), default=1.0)
        lines, left = self.lines(guarantees), STEPS

        def refuted(log_level: float) -> bool:
            nonlocal left
            proved, steps = self.steps(lines, few_bits(math.exp(log_level), BITS), left)
            left -= steps
            return proved

        start = math.log(max(min(found, level), 1e-290))
        if refuted(start):
            down = _last(refuted, start, lambda each: max(2.0 * each, LEAST_LOG))
        elif found <= level or not refuted(-1e-6):
            return found, POSTERIORS
        else:
            down = -_last(lambda each: refuted(-each), 1e-6, lambda _: -start)
        return min((few_bits(math.exp(down), BITS), RECURSION), (found, POSTERIORS))

    def epsilon(self, delta: float, level: float) -> tuple[float, str]:
        """Return an epsilon with (epsilon, delta) refuted at a level, or 0, and what refutes it.

        Whatever is refuted is a lower confidence bound: of a larger epsilon the critical number of
        right guesses is that of a weaker claim, and the events are nested.
        """
        exact, left = few_bits(level, BITS), STEPS

        def posterior(epsilon: float) -> bool:
            return self.posterior(epsilon, delta) <= level

        def recursion(epsilon: float) -> bool:
            nonlocal left
            proved, steps = self.steps(self.lines([(epsilon, delta)]), exact, left)
            left -= steps
            return proved

        def further(epsilon: float) -> float:
            return min(LARGEST, 2.0 * epsilon + 0.25)

        found = _last(posterior, 0.0, further) if posterior(0.0) else 0.0
        start = found * (1.0 + 1e-9) + 1e-12
        if recursion(start):
            return _last(recursion, start, further), RECURSION
        return found, POSTERIORS


def _idle(before: Line, line: Line, after: Line) -> bool:
    """Return whether a line is nowhere the largest, given a flatter and a steeper one."""
    rise, whole = line[0] - before[0], after[0] - before[0]
    return rise * (after[1] - before[1]) <= (line[1] - before[1]) * whole


def _last(holds: Callable[[float], bool], start: float, further: Callable[[float], float]) -> float:
    """Return a point at which something holds, as it does at `start`: as far on as few tries find.

    Steps lead on as long as it holds; then what is between is halved.
    """
    good, bad = start, math.nan
    for _ in range(PASSES):
        point = 0.5 * (good + bad) if bad == bad else further(good)  # noqa: PLR0124
        if point == good:
            break
        if holds(point):
            good = point
        else:
            bad = point
        if abs(bad - good) <= 1e-12 * (1.0 + abs(good)):
            break
    return good


def published(run: OneRun, delta: float, level: float) -> float:
    """Return the epsilon of Steinke, Nasr, Jagielski 2023 by their term of delta, not proved here.

    P(W >= v) <= b(v) + 2 m delta max over i of (b(v - i) - b(v)) / i, in plain doubles.
    """
    import numpy as np
    from scipy.stats import binom

    r, v = run.guesses, run.correct

    def tail(epsilon: float) -> float:
        q = 1.0 / (1.0 + math.exp(-epsilon))
        deviations = 10.0 * math.sqrt(r * q * (1.0 - q)) + 40.0
        most = int(min(v, max(1.0, v - r * q + deviations)))
        i = np.unique(np.linspace(1, most, min(most, 20_000)).round())
        least = float(binom.sf(v - 1, r, q))
        terms = (binom.sf(v - i - 1, r, q) - least) / i if delta and v else np.zeros(1)
        return least + 2.0 * run.canaries * delta * max(0.0, float(terms.max()))

    if tail(0.0) > level:
        return 0.0
    return _last(lambda each: tail(each) <= level, 0.0, lambda each: min(LARGEST, 2 * each + 1))


def right_guesses(members: Sequence[float], others: Sequence[float], top: int, bottom: int) -> int:
    """Return how many guesses by rank are right: the top ones "in", the bottom ones "out".

    Of a tie across a cut as many as possible count as wrong, as any of the tied may have been
    guessed; by the order of a file, which may list members first, they might all be right.

    Args:
        members: scores of canaries that were in.
        others: scores of those that were out.
        top: how many of all are guessed in.
        bottom: how many are guessed out.
    """
    right = 0
    for count, sign, good, bad in ((top, 1, members, others), (bottom, -1, others, members)):
        if not count:
            continue
        true, false = sorted(sign * x for x in good), sorted(sign * x for x in bad)
        cut = sorted(true + false)[-count]
        sure = len(true) - bisect_right(true, cut)
        tied = bisect_right(false, cut) - bisect_left(false, cut)
        room = count - sure - (len(false) - bisect_right(false, cut))
        right += sure + max(0, room - tied)
    return right
