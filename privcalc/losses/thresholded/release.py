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
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import NotCertifiedError
from privcalc.losses.term import Term
from privcalc.losses.thresholded.cut import at_any, cut
from privcalc.losses.thresholded.law import ThresholdedLaw
from privcalc.losses.thresholded.members import KeyMembers
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw
    from privcalc.losses.thresholded.cut import Heights


def thresholded(
    noise: Callable[[int], tuple[LossLaw, Heights]],
    new: tuple[float, float],
    keys: int,
    *,
    remove: bool,
) -> Term:
    """Return the term of a release.

    Args:
        noise: the law of the noise on so many counts, the same for both orders, and its profile.
        new: bounds on p.
        keys: k.
        remove: whether P has the person.

    Raises:
        NotCertifiedError: rounding hides where both profiles meet, or p is large.
    """
    law, heights = noise(keys)
    mass = several_new(new, keys)
    x, error = cut(heights, mass)
    for old in range(1, keys):
        # -log w^j, rounded down; G falls.
        shift = -(keys - old) * math.log1p(-new[0]) * (1.0 - 8.0 * UNIT)
        loss = (x - error + shift) - 4.0 * UNIT * (1.0 + abs(x) + shift)
        if at_any(noise(old)[1], loss)[1] >= several_new(new, old)[0]:
            raise NotCertifiedError(
                f"a new key shows with probability {new[1]:.3g}, and a person with new and old keys"
                " may cost more than one with either; raise the threshold, or write keys=1 and"
                f" @{keys}, an upper bound"
            )
    middle = 0.5 * (mass[0] + mass[1])
    wrong = (0.5 * (mass[1] - mass[0]) / middle) * (1.0 + 4.0 * UNIT) + 2.0 * UNIT
    found = ThresholdedLaw(law, middle, wrong, x, error, remove)
    return Term(found, found, members=KeyMembers(law, Fraction(mass[0]), remove))


def several_new(new: tuple[float, float], keys: int) -> tuple[float, float]:
    """Return bounds on 1 - (1 - p)^k."""
    low, high = (-math.expm1(keys * math.log1p(-p)) if p < 1.0 else 1.0 for p in new)
    return low * (1.0 - 16.0 * UNIT), min(high * (1.0 + 16.0 * UNIT), 1.0)
