"""Which contours answer a question, in the order in which they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition

# Beside a law with more outcomes the split is asked after one contour for all.
FEW_OUTCOMES = 1000


class _Epsilon(Protocol):
    def __call__(
        self, composition: Composition, delta_low: float, delta_high: float, tolerance: float
    ) -> Certified: ...


class _Delta(Protocol):
    def __call__(self, composition: Composition, epsilon: float, tolerance: float) -> Certified: ...


def contours(
    composition: Composition, log_delta: float, epsilon: float | None = None
) -> Iterator[tuple[_Epsilon, _Delta]]:
    """Yield what brackets epsilon, and what brackets delta; a further pair if those before miss.

    Args:
        composition: laws and counts of one adjacency.
        log_delta: log of delta, or of where the search for it begins.
        epsilon: where delta is asked for; None where epsilon is.
    """
    if not composition.power_does_not_decay:
        yield from _by_decay(composition, log_delta, epsilon)
    elif composition.supports_tail_split:
        from privcalc.engine.inversion import tail_split as by_split

        split = by_split.TAIL_SPLIT.epsilon, by_split.TAIL_SPLIT.delta
        removes = by_split.removes(composition)
        few = max(law.atom_count for law, _ in composition) <= FEW_OUTCOMES
        # Adding a record, what is rare is no large loss, and one contour does as well; so it does
        # where nodes cost much.
        first = few and removes and by_split.rare_outcomes_matter(composition, log_delta, epsilon)
        if first:
            yield split
        if few or not removes:
            yield from _by_parts(composition, log_delta, epsilon)
        yield _mollified()
        if by_split.applies(composition) and not first:
            yield split
        if removes and not few:
            yield from _by_parts(composition, log_delta, epsilon)
    elif not composition.too_many_atoms:
        yield from _by_parts(composition, log_delta, epsilon)
        yield _mollified()


def _mollified() -> tuple[_Epsilon, _Delta]:
    from privcalc.engine.inversion.smoothed import SMOOTHED

    return SMOOTHED.epsilon, SMOOTHED.delta


def _by_parts(
    composition: Composition, log_delta: float, epsilon: float | None
) -> Iterator[tuple[_Epsilon, _Delta]]:
    """Yield contours of rare losses and of the others, where they are likely to be better."""
    from privcalc.engine.inversion.bulk_and_tail import BULK_AND_TAIL, applies

    if applies(composition, log_delta, epsilon):
        yield BULK_AND_TAIL.epsilon, BULK_AND_TAIL.delta


def _by_decay(
    composition: Composition, log_delta: float, epsilon: float | None
) -> Iterator[tuple[_Epsilon, _Delta]]:
    """Yield the contours for laws that decay, the split among them where it applies."""
    from privcalc.engine.inversion.decaying import DECAYING

    plain = DECAYING.epsilon, DECAYING.delta
    if not composition.supports_tail_split:
        yield plain
        return
    from privcalc.engine.inversion import tail_split as by_split

    split = by_split.TAIL_SPLIT.epsilon, by_split.TAIL_SPLIT.delta
    if not by_split.applies(composition):
        yield plain
    elif by_split.rare_outcomes_matter(composition, log_delta, epsilon):
        yield split
        yield from _by_parts(composition, log_delta, epsilon)
        yield plain
    else:
        yield plain
        yield split
