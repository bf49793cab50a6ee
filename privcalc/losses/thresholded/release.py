"""What a person with several keys costs, some of them new, where a threshold hides new ones.

Of k keys let j be new: nobody else has them, and one of them shows with probability p, w = 1 - p.
The other k - j are old, with noise of the profile G_{k-j}. Removing the person has the profile

    H_j(a) = 1 - w^j + w^j G_{k-j}(a / w^j),

because either a new key shows, which it cannot without the person, or there is the noise. Adding
the person is the same pair in the other order. The release costs the largest H_j, and that is
max(H_0, 1 - w^k), the costs of old keys only and of new keys only, where the latter is not large.

Proof. -H_j'(a) = Q_{k-j}(L > log(a / w^j)). It is larger than -H_0'(a) = Q_k(L > log a) up to some
a, and smaller from there on: for normal noise both are P(N > z), z linear in log a, with the larger
slope 1 / mu_{k-j}; for Laplace noise of largest loss e each, both are e^{-l/2} times a constant
where they are not 0 or 1, which the former leaves or reaches at smaller losses if
k e > (k - j) e - j log w, and otherwise -H_0' is the larger everywhere. H_j = H_0 = 1 at a = 0, so
that H_j is below H_0 first and crosses it at most once (or never is below). Let H_0(e^x) = 1 - w^k.
Where H_j(e^x) < 1 - w^k it has not crossed yet at e^x: it is below H_0 before, and below 1 - w^k
from there on, as it falls. That is checked for every j with 0 < j < k.

A group of g people with K keys each adds g K to counts, g at most to each. Count these units for
keys. Noise on old keys with u of them is no better than a distance (g u)^{1/2} / sigma, as the
squares of changes c <= g of sum u add up to g u at most, or than a change by u of Laplace noise. A
new key that c of them have stays hidden with probability F(c), F(c) = P(noise < threshold - c),
which is log-concave: so log F(c) >= c log w with log w = min(log F(1), log F(g) / g), and w^j
bounds the probability that j units stay hidden. It is attained at j = g K: by as many keys of one
each, or by K of g. So all of the above holds of units with this w.

Discrete noise on one key, g people: old keys with u units are no better than a change by u, along
the chain of neighbours (`losses/atomic/power.py`; likelihood ratios of the noise increase). It is
enough that one new unit and m - 1 old ones cost no more than max(H, 1 - w^m), H that of m old ones,
for each m: applied unit by unit, mixtures being monotone, that is the claim. With f(s) = P(noise >=
s) the power functions have corners (f(s + m), f(s)) and (f(s + m), 1 - w + w f(s + 1)). The first
is the larger where 1 - w <= P(noise = s) / P(noise <= s), which falls in s: up to some s_0. It is s
>= 0 that is left, and there the line from (0, 1 - w^m) to the corner s_0 is the larger one: of
discrete Laplace noise both are linear, and of discrete normal noise all s are tried until w f(s +
1) <= w - w^m.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.term import Term
from privcalc.losses.thresholded.cut import at_any, cut
from privcalc.losses.thresholded.law import ThresholdedLaw
from privcalc.losses.thresholded.members import KeyMembers
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.lattice.discrete_gaussian import DiscreteGaussianLaw
    from privcalc.losses.law import LossLaw
    from privcalc.losses.thresholded.cut import Heights

# Mixtures of more units than this take too long to check.
MOST_UNITS = 2000


def thresholded(
    noise: Callable[[int], tuple[LossLaw, Heights]],
    new: tuple[float, float],
    keys: int,
    *,
    remove: bool,
    continuous: bool = True,
) -> Term:
    """Return the term of a release.

    Args:
        noise: the law of the noise on so many counts, the same for both orders, and its profile.
        new: bounds on p.
        keys: k, or units.
        remove: whether P has the person.
        continuous: whether mixtures are to be checked; of discrete noise they are known.

    Raises:
        NotCertifiedError: rounding hides where both profiles meet, or p is large.
    """
    if keys > MOST_UNITS:
        raise NotCertifiedError(f"at most {MOST_UNITS} keys of a group are tried, got {keys}")
    law, heights = noise(keys)
    mass = several_new(new, keys)
    x, error = cut(heights, mass)
    for old in range(1, keys if continuous else 1):
        # -log w^j, rounded down; G falls.
        shift = -(keys - old) * math.log1p(-new[0]) * (1.0 - 8.0 * UNIT)
        loss = (x - error + shift) - 4.0 * UNIT * (1.0 + abs(x) + shift)
        if at_any(noise(old)[1], loss)[1] >= several_new(new, old)[0]:
            raise may_mix(new[1], keys)
    middle = 0.5 * (mass[0] + mass[1])
    wrong = (0.5 * (mass[1] - mass[0]) / middle) * (1.0 + 4.0 * UNIT) + 2.0 * UNIT
    found = ThresholdedLaw(law, middle, wrong, x, error, remove)
    return Term(found, found, members=KeyMembers(law, Fraction(mass[0]), remove))


def may_mix(p: float, keys: int) -> NotCertifiedError:
    """Return the error of keys that are shown too often."""
    return NotCertifiedError(
        f"a new key shows with probability {p:.3g}, and a person with new and old keys"
        " may cost more than one with either; raise the threshold, or write keys=1 and"
        f" @{keys}, an upper bound"
    )


def of_units(
    one: tuple[float, float], all_: tuple[float, float], group: int
) -> tuple[float, float]:
    """Return bounds on 1 - w: the larger of p of one unit, and 1 - (1 - p)^{1/g} of p of g."""
    low, high = (-math.expm1(math.log1p(-p) / group) if p < 1.0 else 1.0 for p in all_)
    return max(one[0], low * (1.0 - 16.0 * UNIT)), max(one[1], min(high * (1.0 + 16.0 * UNIT), 1.0))


def check_mixtures(law: DiscreteGaussianLaw, needed: int, group: int, p: float) -> None:
    """Check that old and new units of a discrete normal law on one key cost no more than either.

    Args:
        law: the noise.
        needed: the least noise that takes a new key of one unit to the threshold.
        group: the people.
        p: an upper bound on 1 - w.

    Raises:
        NotCertifiedError: they may.
    """
    # From the threshold on, a key of one is shown no more often than p, and w f(s + 1) < w - w^2.
    end = max(needed, 1) + 2
    at = law.masses_around(np.arange(0.0, end + 2), 0)
    error = float(np.max(np.asarray(at.error))) * 4.0 + 32.0 * UNIT
    f = np.asarray(at.above)
    here = f[:-1] - f[1:] - error * f[:-1]
    fine = p * (1.0 - f[1:]) * (1.0 + error) <= here
    if not fine[0]:
        raise may_mix(p, group)
    first = int(np.argmin(fine)) if not fine.all() else len(fine)
    left = np.arange(first, len(fine))
    for m in range(2, group + 1):
        reached = law.masses_around(np.array([float(first - 1 + m), *(left + float(m))]), 0)
        y = np.asarray(reached.above)
        one, all_ = p, several_new((p, p), m)[0]
        start, top = all_, max(f[first - 1], all_)
        line = start + (top - start) * np.minimum(y[1:] / y[0], 1.0)
        mixed = one + (1.0 - one) * f[left + 1]
        if (mixed * (1.0 + 8.0 * error) > np.maximum(line, all_)).any():
            raise may_mix(p, group)


def several_new(new: tuple[float, float], keys: int) -> tuple[float, float]:
    """Return bounds on 1 - (1 - p)^k."""
    low, high = (-math.expm1(keys * math.log1p(-p)) if p < 1.0 else 1.0 for p in new)
    return low * (1.0 - 16.0 * UNIT), min(high * (1.0 + 16.0 * UNIT), 1.0)
