"""A sum in which one law has many outcomes, and few samples are expected of others.

There the transform needs many nodes, so that the work is that of outcomes times nodes. The same
with fewer outcomes, which is on the same side of the truth, is asked first; then all, if what that
took leaves enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import left

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.engine.composition import Composition
    from privcalc.losses.sampled.cut import TailSplitLaw

_T = TypeVar("_T")

# Expected samples that are few.
FEW_SAMPLES = 3.0
# With more outcomes it takes about so many times the work.
MORE = 4.0


def resolutions(
    composition: Composition, solve: Callable[[Composition], _T], enough: Callable[[_T], bool]
) -> Iterator[_T]:
    """Yield what answers there are, at least one, up to the first that is enough.

    Raises:
        NotCertifiedError: there is none.
    """
    ladder: list[Composition] = []
    rougher: Composition | None = composition
    while rougher is not None:
        ladder.append(rougher)
        rougher = rougher.coarsened() if _samples(rougher) < FEW_SAMPLES else None
    spent, answered, failed = 0.0, False, None
    for each in reversed(ladder):
        before = left()
        if answered and MORE * spent > before:
            return
        try:
            found = solve(each)
        except NotCertifiedError as error:
            failed = error
        else:
            yield found
            answered = True
            if enough(found):
                return
        spent = before - left()
    if failed is not None and not answered:
        raise failed


def _samples(composition: Composition) -> float:
    """Return how many samples are expected; infinity where nothing is sampled."""
    rates = [
        count * cast("TailSplitLaw", law).rate
        for law, count in composition
        if law.properties.supports_tail_split
    ]
    return sum(rates) if rates else float("inf")
