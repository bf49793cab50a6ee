"""Laws for groups of records, along a chain of neighbours, for any law."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.losses.composed import chain, grouped, sampled_group, step_of
from privcalc.losses.term import Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.law import LossLaw


def chained_term(law: LossLaw, records: int, lower: LossLaw | None = None) -> Term:
    """Return laws for a group of records that are changed one by one.

    Args:
        law: the law of one record.
        records: size of the group.
        lower: the law of what is known by its pair alone, so that chains attain what they may; None
            where there is an upper bound only.
    """
    if records == 1:
        return Term(law, lower)
    above = grouped(law, records)
    if lower is None:
        return Term(above)
    return Term(above, chain(step_of(lower, records, above=False), records, above=False)[-1])


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

    def mixture(*, above: bool) -> AtomicLaw | None:
        steps = [step_of(law, records, above=above) for law in laws]
        steps = chain(steps[0], records, above=above) if len(steps) < records else steps
        return sampled_group(steps, q, remove=remove, exact=exact, above=above)

    found = mixture(above=True)
    if found is None:
        return None
    return Term(found, mixture(above=False) if attained else None)
