"""Clauses on the tails of a law: against the truth, each other, and the other direction."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp, mpf

from privcalc.numerics.rounding import UNIT
from tests.losses.contract.law_views import (
    FAINT,
    LOWER_UNITS,
    Row,
    Subject,
    difference,
    row,
    shown,
    thresholds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.losses.contract.law_truth import Truth


def tails_and_truth(subject: Subject) -> Iterator[str]:
    """Compare each tail: that of losses displaced by at most `shift`, to the relative `error`."""
    law, truth = subject.law, subject.exact
    if truth is None:
        return
    for loss in thresholds(law):
        seen = row(law, loss)
        loose = seen.shift > 0
        far, near = mpf(loss) + seen.shift, mpf(loss) - seen.shift
        least = (*truth.above(far), *truth.below(near, included=not loose))
        most = (*truth.above(near, included=loose), *truth.below(far))
        for name, low, high in zip(Row._fields[:4], least, most, strict=True):
            if low > seen.most(name) or high < seen.least(name):
                yield (
                    f"{name} at {loss!r}: {shown(getattr(seen, name))} to {shown(seen.error)}, and"
                    f" the truth is {shown(low)} .. {shown(high)}"
                )


def cells_and_truth(subject: Subject) -> Iterator[str]:
    """Compare the masses between neighbouring losses."""
    law, truth = subject.law, subject.exact
    if truth is None:
        return
    for low, high in pairwise(thresholds(law)):
        found = law.tails(np.array([low, high]))
        if found.between_p is None or found.between_q is None or found.between_error is None:
            return
        error, shift = float(found.between_error[0]), mpf(found.shift)
        if not error < 1.0:
            continue
        inner = _cell(truth, mpf(low) + shift, mpf(high) - shift, included=shift == 0)
        outer = _cell(truth, mpf(low) - shift, mpf(high) + shift, included=True, whole=shift > 0)
        for k, name in enumerate("pq"):
            mass = mpf(float((found.between_p, found.between_q)[k][0]))
            least, most = mass * (1 - mpf(error)) - FAINT, mass * (1 + mpf(error)) + FAINT
            if inner[k] > most or outer[k] < least:
                yield (
                    f"between_{name} of {low!r} .. {high!r}: {shown(mass)} to {error!r}, and the"
                    f" truth is {shown(inner[k])} .. {shown(outer[k])}"
                )


def _cell(
    truth: Truth, low: Any, high: Any, *, included: bool, whole: bool = False
) -> tuple[Any, Any]:
    """Return the masses of low < L <= high, or < high, or with the left end too."""
    if not low < high:
        return mpf(0), mpf(0)
    up, down = truth.above(low, included=whole), truth.above(high, included=not included)
    left, right = truth.below(low, included=not whole), truth.below(high, included=included)
    # The difference of the smaller numbers keeps more digits.
    use = up[0] < right[0], up[1] < right[1]
    return tuple(up[k] - down[k] if use[k] else right[k] - left[k] for k in range(2))


def tails_add_up(subject: Subject) -> Iterator[str]:
    """Check that everything sums to 1, and that tails fall and rise."""
    law = subject.law
    lost, below = mpf(law.infinity_mass), mpf(law.lower_infinity_mass)
    lost_error = lost * mpf(law.infinity_mass_error)
    below_error = below * (mpf(law.infinity_mass_error) + LOWER_UNITS * UNIT)
    rows = [(loss, row(law, loss)) for loss in thresholds(law)]
    for loss, seen in rows:
        sums = (
            (seen.above_p, seen.below_p, lost, lost_error),
            (seen.above_q, seen.below_q, below, below_error),
        )
        for name, (up, down, rest, error) in zip("PQ", sums, strict=True):
            off = abs(up + down + rest - 1)
            if subject.own and off > (up + down) * seen.error + error + FAINT:
                yield f"the masses of {name} about {loss!r} miss 1 by {shown(off)}"
    for (one, before), (other, after) in pairwise(rows):
        if mpf(one) + before.shift >= mpf(other) - after.shift:
            continue
        for name in ("above_p", "above_q"):
            if after.least(name) > before.most(name):
                yield f"{name} rises from {one!r} to {other!r}"
        for name in ("below_p", "below_q"):
            if before.least(name) > after.most(name):
                yield f"{name} falls from {one!r} to {other!r}"


def masses_and_losses(subject: Subject) -> Iterator[str]:
    """Check that P-masses are e^l times Q-masses, cell by cell."""
    law = subject.law
    rows = [(loss, row(law, loss)) for loss in thresholds(law)]
    for (low, before), (high, after) in pairwise(rows):
        p, q = (difference(before, after, name) for name in "pq")
        left, right = mp.exp(mpf(low) - before.shift), mp.exp(mpf(high) + after.shift)
        if left * q[0] > p[1] + FAINT * (1 + left):
            yield f"P is below e^{low!r} Q on {low!r} .. {high!r}: {shown(p[1])}, {shown(q[0])}"
        if p[0] > right * (q[1] + FAINT):
            yield f"P is above e^{high!r} Q on {low!r} .. {high!r}: {shown(p[0])}, {shown(q[1])}"
        found = law.tails(np.array([low, high]))
        if found.between_p is None or found.between_q is None or found.between_error is None:
            continue
        error = mpf(float(found.between_error[0]))
        if not error < 1:
            continue
        wide = mp.exp(mpf(low) - found.shift), mp.exp(mpf(high) + found.shift)
        masses = [mpf(float(x[0])) for x in (found.between_p, found.between_q)]
        if wide[0] * masses[1] * (1 - error) > (masses[0] + FAINT) * (1 + error):
            yield f"between_p is below e^{low!r} between_q on {low!r} .. {high!r}"
        if masses[0] * (1 - error) > wide[1] * (masses[1] + FAINT) * (1 + error):
            yield f"between_p is above e^{high!r} between_q on {low!r} .. {high!r}"
        for mass, (least, most), name in zip(masses, (p, q), "pq", strict=True):
            if found.shift == 0 and (
                mass * (1 - error) > most + FAINT or (mass + FAINT) * (1 + error) < least
            ):
                yield f"between_{name} of {low!r} .. {high!r} is no difference of tails"


def opposite_direction(subject: Subject) -> Iterator[str]:
    """Check that the other order has P and Q exchanged and all losses turned round."""
    law, other = subject.law, subject.opposite
    if other is None or not subject.own:
        return
    for loss in thresholds(law):
        seen, mirrored = row(law, loss), row(other, -loss)
        gap = float(2 * (seen.shift + mirrored.shift) + mpf(2) ** -1000)
        near = row(other, math.nextafter(-loss - gap, -math.inf))
        far = row(other, math.nextafter(-loss + gap, math.inf))
        for mine, theirs in (("above_p", "below_q"), ("above_q", "below_p")):
            if near.least(theirs) > seen.most(mine) or far.most(theirs) < seen.least(mine):
                yield f"{mine} at {loss!r} is not {theirs} of the other order"
    mass, mirrored_mass = mpf(law.lower_infinity_mass), mpf(other.infinity_mass)
    error = LOWER_UNITS * UNIT + law.infinity_mass_error + other.infinity_mass_error
    if abs(mass - mirrored_mass) > mirrored_mass * error + FAINT:
        yield f"Q(L = -inf) is {law.lower_infinity_mass!r}, P(L = inf) {other.infinity_mass!r}"
