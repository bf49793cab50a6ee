"""Guess, root, refine: from what makes sources to one that is good where it was asked for.

All of it is search, and free: what is proved is what the source says in the end
(`engine/inverse.py`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.certified import PAD
from privcalc.engine.inverse import LEAST_WIDTH, SHARE, around, error_for, root
from privcalc.engine.source import Source, bracket
from privcalc.errors import DisagreementError, NotCertifiedError
from privcalc.numerics.work import OutOfWorkError, left
from privcalc.record import mutable, record, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.engine.source import Deltas

ROUNDS = 8
# A width for which each term may make an error of 1e-4: what is made far from where it is wanted.
COARSE = 1e-4 / (SHARE * PAD)
# Where terms change by more logarithms, the sums of a source may be noise.
TRUSTED = 8.0
# Part of how fast the terms change that log delta falls with on the whole, at least.
USUAL = 0.25
# A source is made anew where epsilon changes by more than this part of itself.
FAR = 0.5
# A source is made anew where its errors may be so many times larger than they should be.
ROUGH = 2.0
# Where no source is made for a width, one is tried for so many times as much.
LOOSER = 30.0
# Nothing is made finer where rounding is so much more than the width that was wished for.
NOISE = 100.0
# A step between two epsilons is at least this part of the way.
LEAST_PART = 0.1
# Slopes of log delta below this part of what the terms have are not believed.
LEAST_SLOPE = 1e-3


@record
class Tuning:
    """What tests change; any values give valid brackets.

    Attributes:
        shift: multiplies the abscissas.
        refine: divides the steps.
        move: multiplies the level at which tails are cut off.
    """

    shift: float = 1.0
    refine: float = 1.0
    move: float = 1.0


PLAIN = Tuning()


@record
class Aim:
    """What a source is made for.

    Attributes:
        epsilon: where delta is wanted.
        log_delta: log of delta there, about.
        width: relative width of delta wished for.
        slope: -d log delta / d epsilon, about.
        reach: standard deviations of the tilted loss around epsilon where it is to be good, too.
    """

    epsilon: float
    log_delta: float
    width: float
    slope: float
    reach: float = 0.0


class Near(Source, Protocol):
    """A source that is good near one epsilon."""

    @property
    def fastest(self) -> float:
        """Return how fast the largest term's logarithm changes with epsilon."""
        ...

    @property
    def deviation(self) -> float:
        """Return the change of epsilon that is felt."""
        ...


_S = TypeVar("_S", bound=Near)
_S_co = TypeVar("_S_co", bound=Near, covariant=True)


class Maker(Protocol[_S_co]):
    """What makes sources, from rough estimates."""

    @property
    def stale(self) -> float:
        """Return the logarithms by which terms may change before another source is made."""
        ...

    @property
    def loosens(self) -> bool:
        """Return whether fewer digits may be had where there are too many nodes for all."""
        ...

    def start(self, log_delta: float) -> tuple[float, float, float]:
        """Return about the epsilon at which delta is that, the slope, and the first width."""
        ...

    def expected(self, epsilon: float, width: float) -> tuple[float, float, float]:
        """Return about log delta, the slope, and the first width."""
        ...

    def make(self, aim: Aim) -> _S_co:
        """Make a source."""
        ...


@record
class Inversion(Generic[_S]):
    """A way to invert: what makes its sources, for a composition as tests tune it."""

    maker: Callable[[Composition, Tuning], Maker[_S]]

    def epsilon(
        self,
        composition: Composition,
        delta_low: float,
        delta_high: float,
        tolerance: float,
        **tuning: float,
    ) -> Certified:
        """Bracket the least epsilon >= 0 at which the finite part of delta is at most a target.

        Args:
            composition: laws and counts of one adjacency.
            delta_low: the target is at least this ...
            delta_high: ... and at most this.
            tolerance: relative width wished for.
            tuning: see `Tuning`.

        Raises:
            NotCertifiedError: no finite upper end could be proved.
        """
        maker = self.maker(composition, Tuning(**tuning))
        return solved(maker, (delta_low, delta_high), tolerance)

    def delta(
        self, composition: Composition, epsilon: float, tolerance: float, **tuning: float
    ) -> Certified:
        """Bracket the finite part of delta at an epsilon, to that relative width.

        Raises:
            NotCertifiedError: no bracket could be proved.
        """
        maker, width = self.maker(composition, Tuning(**tuning)), tolerance
        while True:
            try:
                return bracket(made_near(maker, epsilon, width), epsilon, tolerance)
            except NotCertifiedError as error:
                width *= LOOSER
                if isinstance(error, OutOfWorkError) or not maker.loosens or width > COARSE:
                    raise

    def near(
        self,
        composition: Composition,
        epsilon: float,
        tolerance: float,
        reach: float = 0.0,
    ) -> _S:
        """Make a source for an epsilon and its neighbours; see `made_near`.

        Raises:
            NotCertifiedError: there is no such source.
        """
        return made_near(self.maker(composition, PLAIN), epsilon, tolerance, reach)


def solved(maker: Maker[_S], target: tuple[float, float], tolerance: float) -> Certified:
    """Bracket the least epsilon >= 0 at which delta is at most a target, known by two bounds.

    Raises:
        NotCertifiedError: no finite upper end could be proved.
    """
    log_delta = math.log(target[0])
    centre, slope, first = maker.start(log_delta)
    least, ends = first, _Ends(target[1] / target[0] * (1.0 + 4e-16))
    source: _S | None = None
    floor, known, stale = 0.0, math.inf, True
    for trial in range(ROUNDS):
        planned = centre
        width = max(max(tolerance * centre, LEAST_WIDTH) * slope, least, floor)
        try:
            made = maker.make(Aim(planned, log_delta, width, slope))
        except NotCertifiedError as error:
            # The last source may do; or one of fewer digits than these, but more than it has.
            if source is None:
                raise
            floor = LOOSER * width
            out = isinstance(error, OutOfWorkError) or floor > COARSE or not maker.loosens
            if out or (floor >= known and not stale):
                break
            continue
        source, known = made, width
        # Between two atoms the slope may be far from what it is on the whole.
        usual, trusted = max(slope, USUAL * source.fastest), TRUSTED / source.fastest
        centre, rate = root(source, log_delta, planned, usual=usual, trusted=trusted)
        slope = max(rate, LEAST_SLOPE * source.fastest) if math.isfinite(rate) else source.fastest
        found = source.deltas(np.array([planned, centre]), log_delta)
        terms = {name: float(each[1]) for name, each in found.terms.items()}
        ends.saw(planned, found)
        centre = ends.within(centre)
        wish = max(tolerance * centre, LEAST_WIDTH) * slope
        moved = abs(centre - planned)
        # Elsewhere other measures, and other terms, may matter.
        stale = moved * source.fastest > maker.stale or (
            moved > FAR * max(centre, planned) and maker.stale < math.inf
        )
        least = first if stale else 0.0
        again = stale or error_for(width) > ROUGH * error_for(max(wish, floor))
        # Far from where a source was made it is the way that makes noise; and quadrature is as good
        # as was asked for.
        rounding = terms.get("rounding", 0.0)
        lost = trial > 0 and not stale and rounding > NOISE * max(wish, width)
        nought = centre <= 0.0 and not stale
        if not again or lost or nought or left() <= 0.0:
            break
    if source is None:
        raise AssertionError("the first source is made, or refused")
    answer = around(source, *target, tolerance, (centre, slope))
    upper, lower = answer.bound.upper, answer.bound.lower or 0.0
    if ends.proved > upper * (1.0 + 1e-12):
        raise DisagreementError(
            f"two lines contradict each other: epsilon at least {ends.proved!r}, and at most"
            f" {upper!r}"
        )
    return answer.with_bound(Bound(upper, max(lower, min(ends.proved, upper))))


def made_near(maker: Maker[_S], epsilon: float, tolerance: float, reach: float = 0.0) -> _S:
    """Make a source for an epsilon that is good `reach` deviations around it.

    On the way delta may fall as fast as the terms may grow: that much smaller errors are asked for.

    Args:
        maker: what makes it.
        epsilon: where.
        tolerance: relative width of delta wished for.
        reach: see above.
    """
    log_delta, slope, first = maker.expected(epsilon, tolerance)
    width = max(tolerance, first)
    aim = Aim(epsilon, log_delta, width, slope, reach)
    for _ in range(ROUNDS):
        source = maker.make(aim)
        value = float(source.estimates(np.array([epsilon]), aim.log_delta)[0][0])
        moved = math.log(value) if 0.0 < value < math.inf else math.nan
        good = not abs(moved) > maker.stale
        if (good and aim.width <= tolerance) or left() <= 0.0:
            break
        if good:
            aim = replace(aim, width=tolerance)
        else:
            aim = replace(aim, log_delta=min(0.0, aim.log_delta + moved))
    return source


@mutable
class _Ends:
    """Epsilons between which the one that is sought lies, as sources made for them prove.

    Attributes:
        most: the upper bound of the target over the lower one.
        low: one below it, with log delta there less that of the target.
        high: one above it.
        proved: the largest that is proved to be at most the one that is sought, or 0.
    """

    most: float
    low: tuple[float, float] | None = None
    high: tuple[float, float] | None = None
    proved: float = 0.0

    def saw(self, epsilon: float, found: Deltas) -> None:
        """Take notice of what a source proves of the epsilon that it was made for, the first."""
        value, lower, upper = (float(x[0]) for x in (found.value, found.lower, found.upper))
        if not (0.0 < value < math.inf):
            return
        here = epsilon, math.log(value)
        if lower >= self.most:
            self.proved = max(self.proved, epsilon)
        if lower > 1.0:
            self.low = max(self.low or here, here)
        elif upper < 1.0:
            self.high = min(self.high or here, here)

    def within(self, epsilon: float) -> float:
        """Return an epsilon itself, or where log delta is linear if it is not between the two."""
        if self.low is None or self.high is None:
            return epsilon
        (low, above), (high, below) = self.low, self.high
        if low <= epsilon <= high or not low < high:
            return epsilon
        part = above / (above - below) if math.isfinite(above - below) else 0.5
        return low + min(max(part, LEAST_PART), 1.0 - LEAST_PART) * (high - low)
