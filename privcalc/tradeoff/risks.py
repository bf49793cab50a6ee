"""What an attacker can achieve: attack success rates that a privacy profile bounds.

P is the output with the record (or with its one value), Q without (or with the other); an attack
is a test A between them, with true positive rate P(A) and false positive rate Q(A). Each rate
below is attained by some attack on the dominating pair, so a mechanism that attains its pair
cannot do better than the bracket says.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.errors import DomainError

if TYPE_CHECKING:
    from collections.abc import Callable

    Profile = Callable[[float], Bound]

# Relative rounding of what is formed from a bracket here.
ROUNDING = 2.0**-50


def advantage(profile: Profile) -> Bound:
    """Return the largest P(A) - Q(A): the membership advantage, delta at epsilon 0.

    It is the total variation distance (Yeom et al. 2018, Definition 4; Kulynych et al. 2024).
    """
    return profile(0.0)


def bayes_success(present: Profile, absent: Profile, prior: float) -> Bound:
    """Return the largest probability of a right guess whether the record is there.

    With prior probability t that it is, a guess A succeeds with probability t P(A) +
    (1 - t) (1 - Q(A)), which is at most (1 - t) + t H_a(P || Q), a = (1 - t) / t, with equality for
    the likelihood ratio test. For t > 1/2 the same with the roles exchanged.

    epsilon = log a is off by 8 units of itself and 1, and delta falls no faster than epsilon
    grows (its slope is -e^epsilon Q(L > epsilon) >= -P(L > epsilon)).

    Args:
        present: brackets of delta at epsilon >= 0 of P against Q.
        absent: the same of Q against P.
        prior: t, in [0, 1].

    Raises:
        DomainError: the prior is out of range.
    """
    if not 0.0 <= prior <= 1.0:
        raise DomainError(f"a prior must be between 0 and 1, got {prior!r}")
    rare, profile = (prior, present) if prior <= 0.5 else (1.0 - prior, absent)
    if rare == 0.0:
        return Bound(1.0, 1.0)
    epsilon = max(0.0, math.log1p(-rare) - math.log(rare))
    slack = 8.0 * 2.0**-53 * (1.0 + epsilon)
    delta = profile(epsilon)
    upper = (1.0 - rare) + rare * (delta.upper + slack)
    lower = None
    if delta.lower is not None:
        lower = max(1.0 - rare, (1.0 - rare) + rare * (delta.lower - slack))
        lower *= 1.0 - ROUNDING
    return Bound(min(1.0, upper * (1.0 + ROUNDING)), lower)
