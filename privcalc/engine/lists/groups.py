"""Laws for groups of records, along a chain of neighbours, for any law."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.lists.factor import sketch, spaced
from privcalc.engine.lists.losses import cells, connect_the_dots
from privcalc.errors import UnsupportedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.power import (
    chain,
    grouped,
    lower_law,
    of_cells,
    power_function,
    sampled_group,
    upper_law,
)
from privcalc.losses.term import Term
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.atomic.power import PowerFunction
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

# A law that is not atomic gets so many values in each of three directions.
POINTS = 200
# Of a law with no more losses than this, on a lattice, all are taken.
MOST_LOSSES = 1500
# The log of the mass that may be left out on either side.
LOG_LEFT_OUT = -92.0
LARGEST_LOSS = 600.0


def chained_term(law: LossLaw, records: int, lower: LossLaw | None = None) -> Term:
    """Return laws for a group of records that are changed one by one.

    Args:
        law: the law of one record.
        records: size of the group.
        lower: the law of what is known by its pair alone, so that chains attain what they may; None
            where there is an upper bound only.
    """
    below = None if lower is None else lower_law(chain(_below(lower), records, below=True)[-1])
    return Term(grouped(_atoms(law), records), below)


def sampled_term(
    laws: Sequence[LossLaw],
    records: int,
    rate: tuple[float, bool],
    *,
    remove: bool,
    attained: bool,
) -> Term | None:
    """Return laws for a group of records that are each sampled by Poisson sampling.

    Args:
        laws: those of 1, 2, ... records in the direction that is asked for, or that of one.
        records: size of the group.
        rate: the sampling probability, and whether it is exact.
        remove: whether the records are in the first data set.
        attained: whether one family of events attains all of these laws, or the chain of the one.

    Returns:
        The laws; None where there is too much to add up.
    """
    q, exact = rate

    def mixture(steps: list[PowerFunction], *, below: bool) -> PowerFunction | None:
        whole = chain(steps[0], records, below=below) if len(steps) < records else steps
        return sampled_group(whole, q, remove=remove, exact=exact, below=below)

    above = mixture([power_function(_atoms(law)) for law in laws], below=False)
    if above is None:
        return None
    below = mixture([_below(law) for law in laws], below=True) if attained else None
    return Term(upper_law(above), None if below is None else lower_law(below))


def _below(law: LossLaw) -> PowerFunction:
    """Return a function below the power function of a law: cells of a lattice are told apart."""
    if isinstance(law, AtomicLaw):
        return power_function(law)
    found = cells(law, _points(law, 0.5))
    p, q = found.p - found.p_error, found.q + found.q_error
    return of_cells(law.infinity_mass * (1.0 - law.infinity_mass_error), p[::-1], q[::-1])


# Overflow and underflow far out give masses of 0 or infinite errors, never a smaller bound.
@np.errstate(all="ignore")
def _atoms(law: LossLaw) -> AtomicLaw:
    """Return a law with finitely many values that is no better: connect the dots on a lattice.

    Losses are taken to be larger by all that they may be off. What lies above LARGEST_LOSS, where
    Q-masses leave the range of doubles, is lost to infinity.
    """
    if isinstance(law, AtomicLaw) and (law.lower_masses or not law.losses):
        return law
    points = _points(law)
    off = 4.0 * UNIT * float(np.abs(points).max())
    found = cells(law, points)
    masses, _, _ = connect_the_dots(found, points, off)
    losses = points + (found.shift + 2.0 * off) * (1.0 + 4.0 * UNIT)
    kept = masses > 0.0
    losses, masses = losses[kept], masses[kept]
    infinity_mass = min(1.0, law.infinity_mass * (1.0 + law.infinity_mass_error) + found.above)
    # Masses that add up to more than 1, by rounding, give way at the smallest losses.
    room = 1.0 - infinity_mass
    from_top = np.cumsum(masses[::-1])[::-1]
    masses = np.minimum(masses, np.maximum(room - (from_top - masses), 0.0))
    used = masses > 0.0
    losses, masses = losses[used], masses[used]
    lower = masses * np.exp(-losses)
    missing = max(0.0, 1.0 - math.fsum(lower))
    return AtomicLaw(
        tuple(float(x) for x in losses),
        tuple(float(x) for x in masses),
        infinity_mass,
        missing,
        lower_masses=tuple(float(x) for x in lower),
    )


def _points(law: LossLaw, beside: float = 0.0) -> Array:
    """Cover the range of a law evenly, and its median at every scale; or take all its losses.

    Of these `beside` says by what part of their step the points are moved: cells that are told
    apart must not end at a loss, which may be counted on either side.
    """
    seen = sketch(law, LOG_LEFT_OUT, 1)
    low, high = max(seen.low, -LARGEST_LOSS), min(seen.high, LARGEST_LOSS)
    if not low <= high:
        raise UnsupportedError("losses beyond the range of doubles are too likely to bound a group")
    if law.lattice is not None:
        # A cell with one loss at one of its ends loses nothing.
        origin, gap = (float(each) for each in law.lattice)
        first, last = (round((end - origin) / gap) for end in (low, high))
        if last - first <= MOST_LOSSES:
            found: Array = origin + gap * (np.arange(first - 2, last + 3) + beside)
            return found
    return spaced(low, min(max(seen.median, low), high), high, POINTS)
