"""Sampling without replacement, for replacing a record: one pair from two halves.

Let (P, Q) dominate the event for replacing a record, in both orders at once (the relation is
symmetric, and so is the pair: its profile h satisfies h(a) = 1 - a + a h(1/a)). For a sample of a
fixed size that holds each record with probability q, the profile is at most

    H(a) = H_a((1 - q) Q + q P || Q) = q h(1 + (a - 1) / q)     for a >= 1,
    H(a) = H_a(P || (1 - q) P + q Q)                            for a < 1

(Zhu, Dong, Wang 2022, Proposition 29 and Corollary 31). H is convex, so it is the profile of a
pair: at a = 1 its slopes are h'(1) on the right and -1 + q h(1) - h'(1) on the left, and
2 h'(1) >= -1 + h(1), since Q(L > 0) = -h'(1) and, by symmetry, 2 Q(L > 0) + h(1) <= 1. The loss of
that pair above 0 is that of the sampled event for removing, below 0 that for adding, and the rest,
Q-mass Q(L = 0) + (1 - q) h(1), is an atom at 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.sampled.glued_density import GluedDensityLaw
from privcalc.losses.sampled.glued_law import GluedLaw
from privcalc.losses.sampled.law import SampledLaw, sampled

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw


def glued(event: LossLaw, q: float, *, exact: bool = True) -> LossLaw:
    """Return the law for replacing a record; `event` is the event's law for replacing one.

    Args:
        event: law of a symmetric pair.
        q: probability that a record is in the sample, 0 <= q < 1.
        exact: whether q is exact, and not rounded (then at most 1/2).
    """
    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    up = sampled(event, q, remove=True, exact=exact)
    down = sampled(event, q, remove=False, exact=exact)
    if isinstance(up, AtomicLaw) and isinstance(down, AtomicLaw) and isinstance(event, AtomicLaw):
        return _glued_atoms(event, up, down, q)
    if isinstance(up, SampledLaw) and isinstance(down, SampledLaw):
        return GluedDensityLaw(up, down)
    return GluedLaw(up, down)


def _glued_atoms(event: AtomicLaw, up: AtomicLaw, down: AtomicLaw, q: float) -> AtomicLaw:
    """Join the positive atoms of one law, the negative ones of the other, and the atom at 0.

    h(1) is the sum of p (1 - e^{-l}) over l > 0, and the infinite loss: no difference cancels.
    Losses that sampling brings below the smallest double are 0, and are counted there.
    """
    above = [
        (loss, p, r)
        for loss, p, r in zip(up.losses, up.masses, up.lower_masses, strict=True)
        if loss > 0.0
    ]
    below = [
        (loss, p, r)
        for loss, p, r in zip(down.losses, down.masses, down.lower_masses, strict=True)
        if loss < 0.0
    ]
    h = math.fsum(
        -p * math.expm1(-loss)
        for loss, p in zip(event.losses, event.masses, strict=True)
        if loss > 0.0
    )
    equal = math.fsum(p for loss, p in zip(event.losses, event.masses, strict=True) if loss == 0.0)
    hidden = math.fsum(
        p
        for law in (up, down)
        for loss, base, p in zip(law.losses, event.losses, law.masses, strict=False)
        if loss == 0.0 and base < 0.0
    )
    middle = equal + (1.0 - q) * (h + event.infinity_mass) + hidden
    atoms = above + ([(0.0, middle, middle)] if middle > 0.0 else []) + below
    return AtomicLaw(
        tuple(loss for loss, _, _ in atoms),
        tuple(p for _, p, _ in atoms),
        up.infinity_mass,
        down.lower_infinity_mass,
        lower_masses=tuple(r for _, _, r in atoms),
        infinity_mass_error=up.infinity_mass_error,
    )
