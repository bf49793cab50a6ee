"""Clauses on privacy profiles: against tails and truth, and of laws that enclose one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mpmath import mp, mpf

from tests.losses.contract.law_views import (
    FAINT,
    Subject,
    epsilons,
    finite_delta,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.losses.law import LossLaw


def profile_and_tails(subject: Subject) -> Iterator[str]:
    """Check that a profile is that of the tails, falls, and is convex in e^epsilon."""
    law = subject.law
    rows = []
    for epsilon in epsilons(law):
        low, high = finite_delta(law, epsilon)
        found = law.profile(epsilon)
        if found is not None:
            if found[0] > high or found[1] < low - FAINT:
                yield f"profile at {epsilon!r}: {found}, and tails {shown(low)} .. {shown(high)}"
            low, high = max(low, mpf(found[0])), min(high, mpf(found[1]))
        rows.append((mp.exp(mpf(epsilon)), low, high))
    for before, after in pairwise(rows):
        if after[1] > before[2] + FAINT:
            yield f"delta rises to {shown(after[0])}"
    for (a, _, one), (b, low, _), (c, _, other) in zip(rows, rows[1:], rows[2:], strict=False):
        if low > (one * (c - b) + other * (b - a)) / (c - a) + FAINT:
            yield f"delta is not convex at {shown(b)}"


def profile_and_truth(subject: Subject) -> Iterator[str]:
    """Check the profile; of what is an upper bound only that it is one."""
    law, truth = subject.law, subject.truth
    if truth is None:
        return
    for epsilon in epsilons(law):
        true = max(mpf(0), truth.profile(mpf(epsilon)))
        found = law.profile(epsilon)
        if subject.own:
            if found is not None and not mpf(found[0]) <= true <= mpf(found[1]) + FAINT:
                yield f"profile at {epsilon!r}: {found}, and the truth is {shown(true)}"
            low, high = finite_delta(law, epsilon)
            if not low - FAINT <= true <= high + FAINT:
                yield f"tails at {epsilon!r}: {shown(low)} .. {shown(high)}, truth {shown(true)}"
            continue
        whole = true + truth.infinity_mass
        if whole > _whole_delta(law, epsilon)[1] + FAINT:
            yield f"the upper bound at {epsilon!r} is below {shown(whole)}"
        if subject.lower is not None and _whole_delta(subject.lower, epsilon)[0] > whole + FAINT:
            yield f"the lower bound at {epsilon!r} is above {shown(whole)}"


def _whole_delta(law: LossLaw, epsilon: float) -> tuple[Any, Any]:
    """Bound delta by profile or tails, mass at infinity and all."""
    found = law.profile(epsilon)
    low, high = finite_delta(law, epsilon)
    if found is not None:
        low, high = max(low, mpf(found[0])), min(high, mpf(found[1]))
    mass, error = mpf(law.infinity_mass), mpf(law.infinity_mass_error)
    return low + mass * (1 - error), high + mass * (1 + error)


def bounds_in_order(subject: Subject) -> Iterator[str]:
    """Check that a law for lower ends has no larger profile than the one for upper ends."""
    if subject.lower is None:
        return
    for epsilon in sorted({*epsilons(subject.law), *epsilons(subject.lower)}):
        low, _ = _whole_delta(subject.lower, epsilon)
        _, high = _whole_delta(subject.law, epsilon)
        if low > high + FAINT:
            yield f"at {epsilon!r} the lower law has {shown(low)}, the upper one {shown(high)}"
