"""delta at many epsilons: what one epsilon costs, over and over, is shared where it can be.

A source (`engine/source.py`) proves brackets at every epsilon, so that one of them serves a group
of neighbours. All there is to decide is which brackets are narrow enough to keep.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound, Proof
from privcalc.engine.arbiter import certified_delta, sharpened_delta
from privcalc.engine.asking import FFT_REACH, weight
from privcalc.engine.averaged import averaged
from privcalc.engine.certified import CLOSED, CONTOUR, Certified
from privcalc.engine.inverse import FIRST_LOG_DELTA
from privcalc.engine.inversion.bulk_and_tail import BULK_AND_TAIL
from privcalc.engine.inversion.bulk_and_tail import applies as parted_applies
from privcalc.engine.inversion.decaying import DECAYING
from privcalc.engine.inversion.smoothed import SMOOTHED
from privcalc.engine.inversion.tail_split import TAIL_SPLIT, applies, is_split
from privcalc.engine.lattice.answer import lattice_at
from privcalc.engine.question import exact_sum, single_use
from privcalc.engine.ranges import Range, Ranges
from privcalc.engine.renyi import STOPPED, rough_deltas
from privcalc.engine.shared_work import GOOD, Work
from privcalc.engine.wish import POINTS, ROUGH_LATTICES, affordable
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import OutOfWorkError, share
from privcalc.numerics.work import left as left_over

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.line_sum import LineSum
    from privcalc.engine.inversion.measures import Measures
    from privcalc.engine.source import Source
    from privcalc.numerics.arrays import Array

# A contour is made to serve so many deviations of the tilted loss around its epsilon, and goes
# through one that lies so many right of the first epsilon without a bracket.
REACH = 3.0
STRIDE = 1.8
# Of the work that is left one contour is to take one of so many parts, and may take so much.
PARTS, MOST_PART = 4, 0.5
# After so many contours in a row that did not even serve their own epsilon no more are tried.
MOST_FAILURES = 2
# What a contour is asked for where widths are relative to a mass: thresholds are searched for.
MOVES = 150
# Of so few uses the split goes on to be asked once it was better than one contour.
FEW_USES = 30
# Where the tolerance is out of reach, a neighbour's bracket may be so many times wider.
WIDER = 3.0
# The same for later epsilons, where widths are relative to a mass.
LOOSER = 10.0
# A relative width that has to do there, if one lattice, or one epsilon by itself, proves it.
ROUGH = 1e-7
# The work that may be spent on those, in all: a lattice of the finest kind costs FULL, others, and
# all engines together at one epsilon, COARSE. What is left wide gets what monotony tells.
MOST_WORK, FULL, COARSE = 4, 2, 1
COARSER_POINTS = POINTS // 2
# So many epsilons where contours failed have rough brackets first, by lattices at some of them.
MANY_LEFT, ROUGHLY_AT = 6, (0.0, 0.25, 0.5, 0.75)
# Epsilons at which a sharper curve is asked.
MOST_SHARPENED = 60
# Beyond this relative width nothing is shared.
HOPELESS = 0.1


def many_deltas(
    composition: Composition,
    epsilons: Sequence[float],
    tolerance: float,
    *,
    engine: str = "auto",
) -> list[Certified]:
    """Bracket delta at many epsilons >= 0, as `certified_delta` does at one, but faster.

    A bracket meets the tolerance, or it is at most `WIDER` times as wide, relatively, as that of
    `certified_delta` at a neighbouring epsilon.

    Args:
        composition: laws and counts of one adjacency.
        epsilons: where, in any order.
        tolerance: relative width wished for.
        engine: auto, or the only one to ask: contour, fft or rdp.

    Returns:
        Brackets in the order of the epsilons. Neither their upper nor their lower ends increase
        with epsilon, as delta does not: no two of them contradict each other.

    Raises:
        NotCertifiedError: no finite upper end could be proved for one of them.
        DisagreementError: the brackets of two engines do not meet.
    """
    return ManyDeltas(composition, tolerance, engine=engine).brackets(epsilons)


class ManyDeltas:
    """The privacy profile of a composition; it keeps what it has worked out for later calls."""

    def __init__(
        self,
        composition: Composition,
        tolerance: float,
        *,
        engine: str = "auto",
        width: float = 0.0,
        of_mass: bool = False,
    ) -> None:
        """Take the question; see `many_deltas`.

        Args:
            composition: laws and counts of one adjacency.
            tolerance: relative width wished for.
            engine: auto, or the only one to ask.
            width: relative width that will do, where it is above the tolerance.
            of_mass: whether widths are relative to P(L > epsilon) and not to delta, which may be
                far smaller; and whether what is expensive may be left wide.
        """
        self._composition = composition
        self._tolerance = tolerance
        self._width = max(width, tolerance)
        self._of_mass = of_mass
        self._engine = engine
        self._mass = composition.infinity_mass()
        self._largest = composition.max_loss().upper
        self._deviation = 0.0
        self._failures = 0
        # Where a contour was made and was not narrow enough.
        self._tried: set[float] = set()
        self._work = MOST_WORK
        # Where finite losses have no mass, or too little for doubles, delta is 1.
        self._certain = self._mass.upper >= 1.0
        self._laws = not composition.curves and not self._certain
        self._contours = self._laws and engine in ("auto", CONTOUR)
        # Whether contours are split ones.
        self._split = self._contours and not of_mass and is_split(composition)
        # Whether the FFT engine was the best at the last epsilon that was looked at by itself.
        self._lattices = self._laws and engine in ("auto", "fft") and not self._split
        # Whether Renyi divergences may be asked, and what bounds delta by them.
        self._renyi = engine in ("auto", "rdp")
        self._rough: Callable[[Array], Array] | None = None
        self._ranges = Ranges()
        asked = self._laws and engine == "auto"
        single = single_use(composition) if asked else None
        self._best = asked and composition.has_exact_single_use_profile
        self._sharper = engine == "auto" and composition.rdp_tighter_than_pld
        self._exact = exact_sum(composition) if asked and not self._best else single
        mean = averaged(composition) if asked else None
        if mean is not None and mean.exclusive:
            self._best, self._exact, single = True, mean, None
        self._whole = [
            each for each in dict.fromkeys((self._exact, mean, single)) if each is not None
        ]

    @np.errstate(all="ignore")
    def brackets(self, epsilons: Sequence[float]) -> list[Certified]:
        """Bracket delta at each epsilon; see `many_deltas`."""
        work = Work(
            self._mass,
            self._tolerance,
            self._width,
            epsilons,
            of_mass=self._of_mass,
            sharper=self._sharper,
        )
        if self._certain:
            for epsilon in list(work.pending):
                work.keep(epsilon, Certified(self._mass, CLOSED), math.inf)
        work.close(self._largest)
        for source in self._whole:
            exact = (self._of_mass or self._best) and source is self._exact
            work.ask(source, work.pending, math.inf if exact else self._width)
        try:
            self._settle(work)
        except OutOfWorkError:
            # What is left may be wide, if anything is known.
            if not (self._renyi or (self._of_mass and work.known)):
                raise
        if self._renyi and left_over() <= 0.0:
            self._by_renyi(work, epsilons)
        found = work.sharpened(epsilons)
        if self._sharper and not self._of_mass:
            known = dict(zip(map(float, epsilons), found, strict=True))
            # Of very many, some: a smaller upper end holds to the right.
            for epsilon in sorted(known)[:: 1 + len(known) // MOST_SHARPENED]:
                if left_over() <= 0.0:
                    break
                work.below(epsilon, sharpened_delta(self._composition, epsilon, known[epsilon]))
            found = work.sharpened(epsilons)
        return found

    def _by_renyi(self, work: Work, epsilons: Sequence[float]) -> None:
        """Bound from above, by Renyi divergences that take no work, what was left wide."""
        wide = [each for each in map(float, epsilons) if not work.relative(each) <= HOPELESS]
        if self._certain or not wide:
            return
        if self._rough is None:
            self._rough = rough_deltas(self._composition)
        for epsilon, delta in zip(wide, self._rough(np.array(wide)).tolist(), strict=True):
            bound = Bound(delta).plus(self._mass)
            work.keep(epsilon, Certified(bound, Proof.RENYI, notes=(STOPPED,)))

    def _settle(self, work: Work) -> None:
        """Prove what no source knew that is there already."""
        for each in self._ranges:
            work.ask(each.source, each.near(work.pending), each.width)
        if self._contours:
            self._by_contours(work)
            if self._failures >= MOST_FAILURES and self._engine == "auto" and not self._of_mass:
                self._roughly(work)
        if self._of_mass:
            self._by_neighbours(work)
            if self._laws and self._engine != "rdp":
                self._by_budget(work)
                return
        self._one_by_one(work)

    @property
    def exact(self) -> bool:
        """Whether one source knows everything, at any epsilon."""
        return bool(self._whole)

    @property
    def given_up(self) -> bool:
        """Whether the work that may be spent is used up, so that brackets are left wide."""
        return self._work <= 0

    @property
    def deviation(self) -> float:
        """Return the standard deviation of the tilted loss where it was last looked at, or 0."""
        return self._deviation

    def estimates(self, epsilons: Array) -> tuple[Array, Array] | None:
        """Return the finite part of delta and P(epsilon < L < inf) without error bound, fast.

        The nearest sources that have served brackets are asked; None where there are none, or no
        work is left.
        """
        try:
            if self._whole:
                return self._whole[0].estimates(epsilons)
            return self._ranges.estimates(epsilons)
        except OutOfWorkError:
            return None

    def _by_contours(self, work: Work) -> None:
        """Serve groups of epsilons by contours, from left to right."""
        left: list[float] = []
        while work.pending and self._failures < MOST_FAILURES and left_over() > 0.0:
            first = work.pending[0]
            pivot = min(work.pending, key=lambda e: abs(e - first - STRIDE * self._deviation))
            self._share(work, pivot, self._tolerance, self._width)
            if pivot not in work.pending:
                self._failures = 0
                continue
            self._tried.add(pivot)
            relative = work.relative(pivot)
            later = {pivot}
            if relative <= ROUGH:
                # What it proves of its neighbours may do, if nothing proves more of one of them.
                later.update(e for e in work.pending if work.relative(e) <= WIDER * relative)
            else:
                self._failures += 1
            work.pending = [e for e in work.pending if e not in later]
            left += later
        work.pending = sorted([*work.pending, *left])

    def _share(self, work: Work, pivot: float, wish: float, width: float) -> None:
        """Make a contour through the pivot, and serve what it can."""
        for reach in (REACH, 0.0):
            # One that takes more serves too few epsilons for what it leaves to the others.
            try:
                parts = PARTS if self._of_mass else min(PARTS, len(work.pending))
                with share(parts, MOST_PART):
                    source = self._contour(pivot, wish, reach)
            except NotCertifiedError:
                continue
            self._deviation = source.deviation
            self._serve(work, source, pivot, width)
            break
        if self._of_mass and pivot in work.pending and applies(self._composition):
            # One contour tilts towards outcomes that are too rare to matter.
            with suppress(NotCertifiedError), share(PARTS):
                split = TAIL_SPLIT.near(self._composition, pivot, wish, REACH)
                self._serve(work, split, pivot, width)
                # Few uses decay slowly everywhere.
                uses = sum(count for _, count in self._composition)
                self._split = uses <= FEW_USES and pivot not in work.pending

    def _contour(self, pivot: float, tolerance: float, reach: float) -> LineSum | Measures:
        if self._split:
            return TAIL_SPLIT.near(self._composition, pivot, tolerance, reach)
        # With edges a mollified contour costs too much for neighbours of one epsilon.
        if self._composition.power_does_not_decay and not self._composition.has_atoms_and_edges:
            if parted_applies(self._composition, FIRST_LOG_DELTA, pivot):
                return BULK_AND_TAIL.near(self._composition, pivot, tolerance, reach)
            moves = MOVES if self._of_mass else 0
            return SMOOTHED.near(self._composition, pivot, tolerance, reach, moves)
        return DECAYING.near(self._composition, pivot, tolerance, reach)

    def _serve(self, work: Work, source: Source, pivot: float, width: float) -> None:
        """Ask a source at all pending epsilons, and remember for which it was good.

        Where a contour misses the width that was asked for, but is as narrow as a lattice has to
        be, it has to do if what is expensive may be left wide.
        """
        if self._of_mass:
            work.ask(source, [pivot], 0.0)
            relative = work.relative(pivot)
            width = max(width, WIDER * relative) if relative <= ROUGH else width
        near = work.pending if width <= self._width else work.around(pivot)
        served = work.ask(source, sorted({*near, pivot}), width)
        # What is almost 0 is settled by any source.
        good = [epsilon for epsilon in served if work.relative(epsilon) <= width]
        if pivot in good:
            self._ranges.add(Range(source, good[0], good[-1], width))

    def _by_neighbours(self, work: Work) -> None:
        """Ask the nearest sources where they are not good enough, and be content with less."""
        for each in self._ranges:
            nearest = self._ranges.nearest(each, work.pending)
            work.ask(each.source, nearest, LOOSER * each.width)

    def _roughly(self, work: Work) -> None:
        """Prove wide brackets of what is left by few points: one by one takes all of the work."""
        for place in ROUGHLY_AT:
            # One lattice may settle all that was left.
            if len(work.pending) < MANY_LEFT:
                break
            pivot = work.pending[int(place * len(work.pending))]
            if work.relative(pivot) <= HOPELESS:
                continue
            with suppress(NotCertifiedError), share(PARTS):
                source = lattice_at(self._composition, pivot, *ROUGH_LATTICES[0])
                work.ask(source, list(work.pending), self._width)

    def _one_by_one(self, work: Work) -> None:
        """Prove brackets at one epsilon, and share what proves them as far as it goes.

        Once the work that is allowed is used up, the rest gets what monotony tells.
        """
        while work.pending and (left_over() > 0.0 or not (work.known or self._of_mass)):
            pivot, contour = work.pivot()
            before = work.relative(pivot)
            # Where no contour was made, one may be narrower than a lattice that falls short.
            most = GOOD if pivot in self._tried or not self._contours else WIDER * FFT_REACH
            if self._lattices and not contour and self._by_lattice(work, pivot, most):
                continue
            found = self._single(work, pivot)
            relative = work.relative(pivot)
            if pivot in work.pending and relative <= HOPELESS and found == "fft":
                self._by_lattice(work, pivot, math.inf)
            self._lattices = found == "fft"
            work.settle(pivot)
            if relative <= before <= min(WIDER * relative, ROUGH):
                work.settle_within(WIDER * relative)

    def _by_budget(self, work: Work) -> None:
        """Prove what a few lattices, and a few epsilons by themselves, give, and leave the rest.

        A lattice serves all epsilons at which it is not too rough, and costs about as much as the
        FFT engine at one epsilon. Only the first is of the finest kind.
        """
        while work.pending and self._work > 0:
            pivot, _ = work.pivot()
            if self._lattices and not work.spared(pivot):
                first = self._work == MOST_WORK
                points = POINTS if first else COARSER_POINTS
                self._work -= FULL if first else COARSE
                if self._by_lattice(work, pivot, HOPELESS, points):
                    continue
            if work.relative(pivot) == math.inf:
                self._work -= COARSE
                self._single(work, pivot)
            if not work.relative(pivot) <= HOPELESS:
                # Farther out it is no better.
                for epsilon in [e for e in work.pending if e > pivot]:
                    work.settle(epsilon)
            for epsilon in list(work.pending):
                if epsilon == pivot or work.relative(epsilon) <= ROUGH:
                    work.settle(epsilon)

    def _single(self, work: Work, pivot: float) -> str:
        """Ask all engines at one epsilon, share the best contour, and return the best engine."""
        found = certified_delta(self._composition, pivot, self._tolerance, engine=self._engine)
        work.keep(pivot, found)
        relative = work.relative(pivot)
        if pivot in work.pending and relative <= HOPELESS and found.engine == CONTOUR:
            self._share(work, pivot, max(self._tolerance, relative), WIDER * relative)
        return found.engine

    def _by_lattice(self, work: Work, pivot: float, most: float, points: int = POINTS) -> bool:
        """Serve an epsilon and its neighbours by the FFT engine; say whether that was best.

        `certified_delta` looks no further where the FFT engine is narrower than the contour. A
        relative width above `most` is not good enough.
        """
        if self._engine == "auto":
            points = affordable(points, weight(self._composition))
        try:
            source = lattice_at(self._composition, pivot, self._tolerance, points)
        except NotCertifiedError:
            return False
        before = work.relative(pivot)
        work.ask(source, [pivot], 0.0)
        relative = work.relative(pivot)
        if not relative <= min(most, before):
            return False
        rough = ROUGH if self._of_mass else 0.0
        self._serve(work, source, pivot, max(self._width, WIDER * relative, rough))
        work.settle(pivot)
        return True
