"""delta at many epsilons: what one epsilon costs, over and over, is shared where it can be.

A source (`engine/source.py`) proves brackets at every epsilon, so that one of them serves a group
of neighbours. The planner is asked at one epsilon of them at a time, with a source that is good
around it in the place of an answer: all there is to decide here is where, and which brackets are
narrow enough to keep.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import TOLERANCE, Bound, Proof
from privcalc.engine.certified import CLOSED, DELTA_FLOOR, Certified
from privcalc.engine.methods import Game, Single
from privcalc.engine.planner import FINE, delta_at, sharpened_delta
from privcalc.engine.source import bracket, brackets
from privcalc.errors import DisagreementError, NotCertifiedError
from privcalc.numerics.work import OutOfWorkError, allowance, left, share
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from privcalc.engine.composition import Composition
    from privcalc.engine.methods import Method, Question
    from privcalc.engine.source import Source
    from privcalc.numerics.arrays import Array

# A source is made to serve so many deviations of the tilted loss around its epsilon, and is made
# for one that lies so many right of the first epsilon without a bracket.
REACH, STRIDE = 3.0, 1.8
# Of the work that is left one source is to take one of so many parts, and may take so much.
PARTS, MOST_PART = 4, 0.5
# Neighbours of an epsilon have brackets of this width, if that is below the target; or so many
# times wider ones than it has itself.
NEIGHBOUR, WIDER = 1e-8, 3.0
# A relative width that is sufficient where it is relative to a mass, if one lattice proves it.
ROUGH = 1e-7
# Of how many epsilons a source is asked where widths are relative to a mass: thresholds are
# searched for. And the work for all of those: about that of two transforms of the finest kind.
MOVES, BUDGET = 150, 1.6e7
# Epsilons at which a sharper curve is asked.
MOST_SHARPENED = 60
# Beyond this relative width nothing is shared, and farther out it is no better.
HOPELESS = 0.1
# A source is tried so far outside the epsilons that it has served, in units of their range and
# of the deviation.
NEAR = 0.25
# So many are kept: those of many nodes take some megabytes.
KEPT = 24
# Where widths are relative to a mass, this is none.
FAINT = 1e-50
# An estimate of a probability may be so much above 1; one beyond is of no use.
ROUNDING = 1e-5


def profile_at(
    composition: Composition,
    epsilons: Sequence[float],
    tolerance: float = TOLERANCE,
    *,
    engine: str = "auto",
) -> list[Certified]:
    """Bracket delta at many epsilons >= 0, as `certified_delta` does at one, but faster.

    A bracket meets the tolerance, or it is at most `WIDER` times as wide, relatively, as that of
    `certified_delta` at a neighbouring epsilon.

    Args:
        composition: laws and counts of one adjacency.
        epsilons: where, in any order.
        tolerance: target of relative widths.
        engine: auto, or the only one to ask: contour, fft or rdp.

    Returns:
        Brackets in the order of the epsilons. Neither their upper nor their lower ends increase
        with epsilon, as delta does not: no two of them contradict each other.

    Raises:
        NotCertifiedError: no finite upper end could be proved for one of them.
        DisagreementError: the brackets of two methods do not meet.
    """
    return PrivacyProfile(composition, tolerance, engine=engine).brackets(epsilons)


class PrivacyProfile:
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
        """Take the question; see `profile_at`.

        Args:
            composition: laws and counts of one adjacency.
            tolerance: target of relative widths.
            engine: auto, or the only one to ask.
            width: relative width that is sufficient, where it is above the tolerance.
            of_mass: whether widths are relative to P(L > epsilon) and not to delta, which may be
                far smaller; and whether what is expensive may be left wide.
        """
        self._composition = composition
        self._tolerance = min(tolerance, FINE) if tolerance <= TOLERANCE else tolerance
        self._width = max(width, tolerance)
        self._of_mass = of_mass
        self._engine = engine
        self._mass = composition.infinity_mass()
        self._largest = composition.max_loss().upper
        self._budget = BUDGET if of_mass else math.inf
        self._kept: list[_Range] = []
        self.deviation = 0.0
        """The standard deviation of the tilted loss where it was last looked at, or 0."""
        # Where finite losses have no mass, or too little for doubles, delta is 1.
        self._certain = self._mass.upper >= 1.0
        self._sharper = engine == "auto" and composition.rdp_tighter_than_pld
        # Whether Renyi divergences may be asked, and what bounds delta by them.
        self._renyi = engine in ("auto", "rdp")
        self._rough: Callable[[Array], Array] | None = None
        # The source that knows everything, of one use, and whether others know less.
        self._everywhere: Source | None = None
        self._knows_more = False
        if engine == "auto" and not composition.curves and not self._certain:
            for method in (Single(), Game()):
                if method.applies(composition):
                    self._everywhere = method.source(composition)
                    self._knows_more = method.knows_more(composition)

    @np.errstate(all="ignore")
    def brackets(self, epsilons: Sequence[float]) -> list[Certified]:
        """Bracket delta at each epsilon; see `profile_at`."""
        known = Known(
            self._mass,
            self._tolerance,
            self._width,
            epsilons,
            of_mass=self._of_mass,
            sharper=self._sharper,
            one_sided=self._composition.one_sided,
        )
        if self._certain:
            for epsilon in list(known.pending):
                known.keep(epsilon, Certified(self._mass, CLOSED), math.inf)
        known.close(self._largest)
        if self._everywhere is not None:
            last = self._of_mass or self._knows_more
            known.ask(self._everywhere, known.pending, math.inf if last else self._width)
        try:
            self._settle(known)
        except OutOfWorkError:
            # What is left may be wide, if anything is known.
            if not (self._renyi or (self._of_mass and known.any)):
                raise
        if self._renyi and left() <= 0.0:
            self._by_renyi(known, epsilons)
        if self._sharper and not self._of_mass:
            self._sharpen(known, epsilons)
        return known.monotone(epsilons)

    @property
    def exact(self) -> bool:
        """Whether one source knows everything, at any epsilon."""
        return self._everywhere is not None

    @property
    def given_up(self) -> bool:
        """Whether the work that may be spent is used up, so that brackets are left wide."""
        return self._budget <= 0.0

    def estimates(self, epsilons: Array) -> tuple[Array, Array] | None:
        """Return the finite part of delta and P(epsilon < L < inf) without error bound, fast.

        The nearest sources that have served brackets are asked; None where there are none, or no
        work is left.
        """
        try:
            if self._everywhere is not None:
                return self._everywhere.estimates(epsilons)
            return self._nearest(epsilons) if self._kept else None
        except OutOfWorkError:
            return None

    def _nearest(self, epsilons: Array) -> tuple[Array, Array]:
        """Ask the nearest source at each epsilon."""
        away = np.array([[each.away(e) for e in epsilons.tolist()] for each in self._kept])
        nearest = np.argmin(away, axis=0)
        deltas, above = np.zeros(len(epsilons)), np.zeros(len(epsilons))
        with np.errstate(all="ignore"):
            for index in np.unique(nearest):
                at = nearest == index
                deltas[at], above[at] = self._kept[index].source.estimates(epsilons[at])
        return deltas, above

    def _settle(self, known: Known) -> None:
        """Prove what no source knew that is there already, from left to right."""
        for each in self._kept:
            known.ask(each.source, each.near(known.pending), each.width)
        while known.pending and not self.given_up:
            # Once all work is done, the rest gets what monotony tells.
            if left() <= 0.0 and (known.any or self._of_mass):
                return
            pivot = known.pivot(STRIDE * self.deviation)
            serving = _Serving(known, pivot, self._width, of_mass=self._of_mass)
            with allowance(self._budget):
                before = left()
                try:
                    found = delta_at(
                        self._composition,
                        pivot,
                        self._width,
                        engine=self._engine,
                        serving=serving,
                    )
                    known.keep(pivot, found, math.inf)
                finally:
                    self._budget -= before - left() if before < math.inf else 0.0
            known.settle(pivot)
            self.deviation = serving.deviation or self.deviation
            relative = known.relative(pivot)
            if serving.best is not None:
                width = max(min(self._width, NEIGHBOUR), WIDER * relative)
                self._keep(serving.best, serving.served, width)
            if relative <= HOPELESS:
                # Where one meets the target its neighbours are to meet it, too.
                met = relative <= self._width
                known.settle_within(self._width if met else WIDER * relative)
            elif self._of_mass:
                for epsilon in [e for e in known.pending if e > pivot]:
                    known.settle(epsilon)

    def _keep(self, source: Source, served: list[float], width: float) -> None:
        """Keep a source for later epsilons, and drop the oldest of many."""
        self._kept.append(_Range(source, min(served), max(served), width, self.deviation))
        del self._kept[:-KEPT]

    def _by_renyi(self, known: Known, epsilons: Sequence[float]) -> None:
        """Bound from above, by Renyi divergences that take no work, what was left wide."""
        from privcalc.engine.renyi import STOPPED, rough_deltas

        wide = [each for each in map(float, epsilons) if not known.relative(each) <= HOPELESS]
        if self._certain or not wide:
            return
        if self._rough is None:
            self._rough = rough_deltas(self._composition)
        for epsilon, delta in zip(wide, self._rough(np.array(wide)).tolist(), strict=True):
            bound = Bound(delta).plus(self._mass)
            known.keep(epsilon, Certified(bound, Proof.RENYI, notes=(STOPPED,)))

    def _sharpen(self, known: Known, epsilons: Sequence[float]) -> None:
        """Take the Renyi curve of the mechanisms where it proves more than the laws do.

        Of very many epsilons, at some: a smaller upper end holds to the right.
        """
        found = dict(zip(map(float, epsilons), known.monotone(epsilons), strict=True))
        for epsilon in sorted(found)[:: 1 + len(found) // MOST_SHARPENED]:
            if left() <= 0.0:
                break
            known.below(epsilon, sharpened_delta(self._composition, epsilon, found[epsilon]))


class _Serving:
    """Methods asked at one epsilon, whose sources serve its neighbours, too.

    Attributes:
        deviation: of the tilted loss, where a method knows it.
        best: the source that was narrowest at the epsilon, if any.
        served: the epsilons for which it was good.
    """

    def __init__(self, known: Known, pivot: float, width: float, *, of_mass: bool) -> None:
        """Take the epsilon, and what is known of all others."""
        self._known, self._pivot, self._width, self._of_mass = known, pivot, width, of_mass
        self.deviation = 0.0
        self.best: Source | None = None
        self.served: list[float] = []

    @property
    def enough(self) -> bool:
        """Return whether the epsilon has a bracket that is narrow enough."""
        return self._pivot not in self._known.pending

    def solve(self, method: Method, question: Question, tolerance: float) -> Certified:
        """Prepare a source that is good around the epsilon, or else at it, and ask it."""
        parts = PARTS if self._of_mass else min(PARTS, len(self._known.pending))
        for reach in (REACH, 0.0):
            with suppress(NotCertifiedError), share(parts, MOST_PART):
                source = method.near(question, tolerance, reach)
                if source is None:
                    break
                self.deviation = source.deviation or self.deviation
                rough = ROUGH if self._of_mass and method.costly else 0.0
                self._serve(source, rough)
                return bracket(source, self._pivot, tolerance)
        return method.solve(question, tolerance)

    def _serve(self, source: Source, rough: float) -> None:
        """Ask a source at all pending epsilons, and remember for which it was good."""
        before = self._known.relative(self._pivot)
        self._known.ask(source, [self._pivot], self._width)
        relative = self._known.relative(self._pivot)
        if not relative < before or relative > HOPELESS:
            return
        width = max(min(self._width, NEIGHBOUR), rough)
        near = [e for e in self._known.pending if e != self._pivot]
        served = self._known.ask(source, near, width)
        good = [e for e in served if self._known.relative(e) <= width]
        self.best, self.served = source, [self._pivot, *good]


@record
class _Range:
    """A source with the epsilons it has served and the relative width it was good for."""

    source: Source
    low: float
    high: float
    width: float
    deviation: float

    def near(self, epsilons: Sequence[float]) -> list[float]:
        """Return the epsilons at which it is worth a try."""
        margin = NEAR * (self.high - self.low + self.deviation)
        return [e for e in epsilons if self.low - margin <= e <= self.high + margin]

    def away(self, epsilon: float) -> float:
        """Return the distance of an epsilon from the range."""
        return max(self.low - epsilon, epsilon - self.high, 0.0)


class Known:
    """The brackets found so far, and the epsilons that are still pending, increasing."""

    def __init__(
        self,
        mass: Bound,
        tolerance: float,
        width: float,
        epsilons: Iterable[float],
        *,
        of_mass: bool,
        sharper: bool = False,
        one_sided: bool = False,
    ) -> None:
        """Put all epsilons on the list; for the rest see `PrivacyProfile`.

        Where a Renyi curve may be sharper than the laws, the two are about different pairs: upper
        ends hold, lower ones are of the laws, and what lies above a curve's upper end is dropped.
        Bounds of one side (`LossLaw.one_sided`) are those of no one profile: they may rise, and
        where they do nothing follows for other epsilons.
        """
        self.tolerance = tolerance
        self.pending = sorted({float(epsilon) for epsilon in epsilons})
        self._mass = mass
        self._width = width
        self._of_mass = of_mass
        self._sharper, self._one_sided = sharper, one_sided
        self._found: dict[float, Certified] = {}
        self._relative: dict[float, float] = {}

    def close(self, largest: float) -> None:
        """Settle the epsilons at which no finite loss counts."""
        for epsilon in [e for e in self.pending if e >= largest and e not in self._found]:
            self._found[epsilon] = Certified(self._mass, CLOSED)
            self.settle(epsilon)

    def ask(self, source: Source, epsilons: list[float], width: float) -> list[float]:
        """Keep what a source proves, and settle brackets of at most this relative width.

        Returns those epsilons.
        """
        if not epsilons:
            return []
        asked = np.array(epsilons)
        found = brackets(source, asked, self.tolerance)
        floors = np.zeros(len(asked))
        if self._of_mass:
            masses = source.estimates(asked)[1]
            # Far from where a source is good it estimates anything.
            floors = np.where((masses > 0.0) & (masses < 1.0 + ROUNDING), masses, 0.0)
        return [
            epsilon
            for epsilon, each, mass in zip(list(epsilons), found, floors, strict=True)
            if each is not None
            and self.keep(epsilon, each.with_bound(each.bound.plus(self._mass)), width, float(mass))
        ]

    def keep(self, epsilon: float, found: Certified, width: float = 0.0, mass: float = 0.0) -> bool:
        """Intersect a bracket with what was found before, and say whether that is enough.

        It is if its width is at most `width` of delta, or of a mass above it.
        """
        known = self._found.get(epsilon)
        merged = found if known is None else self._merged(known, found)
        self._found[epsilon] = merged
        size = max(merged.bound.upper, mass)
        self._relative[epsilon] = merged.bound.width / size if size > 0.0 else 0.0
        floor = FAINT if self._of_mass else DELTA_FLOOR
        enough = merged.bound.width <= max(width * size, floor) or width == math.inf
        if enough:
            self.settle(epsilon)
            self._vanish(epsilon, merged)
        return enough

    def below(self, epsilon: float, found: Certified) -> None:
        """Take a bracket by a curve that says more than the laws do: it need not meet theirs."""
        self._found[epsilon] = found

    def _merged(self, known: Certified, found: Certified) -> Certified:
        """Return the intersection, or the smaller of two upper ends where there is none."""
        lower = min(known, found, key=lambda each: each.bound.upper)
        ends = known.bound.lower, found.bound.lower
        if self._sharper and not all(end is not None and end <= lower.bound.upper for end in ends):
            return lower
        if self._one_sided:
            with suppress(DisagreementError):
                return known.merged(found)
            return known
        return known.merged(found)

    @property
    def any(self) -> bool:
        """Say whether there is a bracket anywhere."""
        return bool(self._found)

    def pivot(self, stride: float) -> float:
        """Return the pending epsilon that is about so far right of the first; or one amid all."""
        if stride == 0.0:
            return self.pending[len(self.pending) // 2]
        return min(self.pending, key=lambda e: abs(e - self.pending[0] - stride))

    def relative(self, epsilon: float) -> float:
        """Return how wide the bracket found so far is, relatively; infinity for none."""
        return self._relative.get(epsilon, math.inf)

    def settle(self, epsilon: float) -> None:
        """Take an epsilon off the list, if it is on it."""
        if epsilon in self.pending:
            self.pending.remove(epsilon)

    def settle_within(self, width: float) -> None:
        """Take off the list all that is known to a relative width."""
        self.pending = [each for each in self.pending if not self.relative(each) <= width]

    def _vanish(self, epsilon: float, found: Certified) -> None:
        """Settle all larger epsilons where delta has come down to the mass at infinity.

        delta lies between this mass and its value at a smaller epsilon.
        """
        bound = Bound(found.bound.upper, self._mass.lower)
        if not self._one_sided and bound.within_tolerance(self._width, DELTA_FLOOR):
            for larger in [e for e in self.pending if e > epsilon]:
                self._found[larger] = replace(found, bound=bound, terms={})
                self.settle(larger)

    def monotone(self, epsilons: Sequence[float]) -> list[Certified]:
        """Return the brackets in the order asked for, made monotone.

        delta(e) <= delta(e') for e >= e': an upper end holds to the right, a lower one to the left.

        Raises:
            DisagreementError: two brackets contradict each other.
        """
        for epsilon in epsilons:
            # Nothing may be known here but what the mass at infinity and the neighbours tell.
            open_ = Certified(Bound(1.0, self._mass.lower), CLOSED)
            self._found.setdefault(float(epsilon), open_)
        order = sorted(self._found)
        uppers = np.minimum.accumulate([self._found[e].bound.upper for e in order])
        lowers = [self._found[e].bound.lower for e in order]
        least = np.array([-math.inf if low is None else low for low in lowers])
        least = np.maximum.accumulate(least[::-1])[::-1]
        for epsilon, upper, lower in zip(order, uppers, least, strict=True):
            if lower > upper and self._one_sided:
                continue
            if lower > upper and not self._sharper:
                raise DisagreementError(
                    f"the brackets of delta near epsilon {epsilon!r} contradict those elsewhere:"
                    f" at most {upper!r}, at least {lower!r}"
                )
            known = -math.inf < lower <= upper
            bound = Bound(float(upper), float(lower) if known else None)
            self._found[epsilon] = self._found[epsilon].with_bound(bound)
        return [self._found[float(epsilon)] for epsilon in epsilons]
