"""The methods that bracket delta: where each applies, and what width and work it predicts.

A prediction is no proof, and costs little: the peak of an integrand above delta says how many
digits are lost to rounding, the lattice of a transform how many points it takes. What each method
proves is proved where it is; which of them is asked is decided in `engine/planner.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from privcalc.engine.certified import CLOSED, CONTOUR, DELTA_FLOOR, EPSILON_FLOOR
from privcalc.engine.inverse import FIRST_LOG_DELTA, inverse
from privcalc.engine.source import Source, bracket
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import remembered
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.solve import Inversion

    Answer = Callable[..., Certified]

LATTICE = "fft"
# The relative width of sums in closed form.
EXACT = 4e-11
# Rounding errors at the peak of an integrand, relative to it.
ROUNDING = 1e-13
# Relative width of what is as wide as the pad of a tolerance, as a part of it.
PADDED = 0.04
# Work of a whole line where |phi|^n falls as that of a Gaussian does, for each law (4e4 to 9e4 of
# 90 runs of DP-SGD), and of a tail split, in milliseconds more than in nodes (7 to 20 of them).
LINE, SPLIT = 5e4, 1e5
# Where it falls more slowly, the line takes so much more.
SLOWER = 2e5
# What a list takes beside its points, and one of them; W in deviations, and the part of a tolerance
# that is left. Splits tilt by no more than this.
PER_LIST, PER_POINT, WINDOW, LISTED, MOST_TILT = 1e4, 3.0, 15.0, 0.5, 30.0
# Where less than one sample of little noise is expected, more digits than six take so much more.
FEW_FINER = 30.0
# What the work budget counts of a tail split, for each law: 7e3 to 1.7e4 of 1 to 20 laws.
SPLIT_COUNTED = 2e4
# With little noise quadratures are what takes long: 10 to 100 nodes of 1e5 values each.
NODES = 30.0
# Each of many that are one array: 2e3 to 4e3 of 300 to 3,000.
JOINED = 3.6e3
# |phi|^n falls so fast if its logarithm at these multiples of where a Gaussian is e^-DIGITS of
# delta is STEEP times that at least; a Gaussian's is four times that at the first. Of 120 lines
# all that took more than twice the work, or missed 1e-9, failed it.
DIGITS, STEEP, FURTHER = 18.4, 1.5, (2.0, 2.7, 3.5)
# What a look may drop, as a part of delta: a search for the line drops as much.
LOG_DROP = math.log(1e-14)
# Log of the error of a look at |phi|.
LOOK = -12.0


class Prediction(NamedTuple):
    """What a method is likely to give: a relative width, for so many units of work.

    Attributes:
        width: relative.
        work: by which methods are compared: what it takes in time.
        counted: of that, what the work budget counts, where it is less; else 0.
    """

    width: float
    work: float
    counted: float = 0.0

    @property
    def charged(self) -> float:
        """Return what is taken from the work that is left."""
        return self.counted or self.work


class Saddle(NamedTuple):
    """The saddle point of the integrand of delta (`engine/inversion/saddle.py`).

    Attributes:
        composition: truncated laws.
        c: abscissa.
        epsilon: where delta is asked for, about.
        deviation: of the tilted loss.
        lost: by how much the peak is above delta, in logarithms.
    """

    composition: Composition
    c: float
    epsilon: float
    deviation: float
    lost: float

    def look(self) -> float:
        """Return what a node costs where |phi|^n falls about as fast as that of a Gaussian.

        That is of this deviation; else infinity.
        """
        needed = DIGITS + self.lost
        t = math.sqrt(2.0 * needed) / self.deviation * np.array([0.0, *FURTHER])
        total, size = np.zeros(len(t)), 0.0
        for law, count in self.composition.terms:
            logs, nodes = law.decay_estimates(self.c, t, LOOK)
            total, size = total + count * logs, size + nodes
        return size if total[1:].max() <= -STEEP * needed else math.inf


@remembered(4)
def look_at(saddle: Saddle) -> float:
    """Return what `Saddle.look` does, once."""
    return saddle.look()


@record
class Question:
    """The least epsilon >= 0 whose finite part of delta is a target; or that delta at an epsilon.

    Attributes:
        composition: laws and counts of one adjacency.
        low: the target is at least this ...
        high: ... and at most this.
        epsilon: where delta is asked for; None where epsilon is.
    """

    composition: Composition
    low: float = 0.0
    high: float = 0.0
    epsilon: float | None = None

    @property
    def quantity(self) -> str:
        """Return what is asked for."""
        return "epsilon" if self.epsilon is None else "delta"

    @property
    def at(self) -> float:
        """Return the epsilon where delta is asked for, which is given."""
        return 0.0 if self.epsilon is None else self.epsilon

    @property
    def floor(self) -> float:
        """Return the absolute width below which a relative one does not matter."""
        return EPSILON_FLOOR if self.epsilon is None else DELTA_FLOOR

    @property
    def log_delta(self) -> float:
        """Return log of delta, or of where the search for it begins."""
        return math.log(self.low) if self.epsilon is None else FIRST_LOG_DELTA

    def put(self, of_epsilon: Answer, of_delta: Answer, *rest: float) -> Certified:
        """Ask a method that has two functions for the two questions."""
        if self.epsilon is None:
            return of_epsilon(self.composition, self.low, self.high, *rest)
        return of_delta(self.composition, self.epsilon, *rest)

    def of_source(self, source: Source, tolerance: float) -> Certified:
        """Ask a source that knows everything."""
        if self.epsilon is None:
            return inverse(source, self.low, self.high, tolerance)
        return bracket(source, self.epsilon, tolerance)

    def renyi(self) -> Certified:
        """Bound from above by the best Renyi order."""
        from privcalc.engine.renyi import renyi_delta, renyi_epsilon

        if self.epsilon is None:
            return renyi_epsilon(self.composition, self.low)
        return renyi_delta(self.composition, self.epsilon)

    def rough(self, *, sharp: bool = True) -> float:
        """Return about what one Renyi order proves; `sharp` as of `Composition.renyi_curve`."""
        from privcalc.engine.renyi import rough

        at = self.low if self.epsilon is None else self.epsilon
        return rough(self.composition, self.quantity, at, sharp=sharp)


@remembered(4)
def saddle_of(question: Question) -> Saddle:
    """Look where the line of the whole runs.

    Raises:
        NotCertifiedError: there is no saddle point, or K is not known.
    """
    from privcalc.engine.inversion.saddle import saddle_for_delta, scale_at
    from privcalc.engine.lists.factor import rough

    log_delta = question.log_delta
    seen = rough(question.composition.joined, log_delta)
    if question.epsilon is None:
        whole = seen.truncated(log_delta + LOG_DROP)
        c, epsilon = saddle_for_delta(whole, log_delta)
    else:
        epsilon = question.epsilon
        c, log_delta, whole = scale_at(seen, epsilon)
    log_mgf, _, variance = whole.cumulants(c)
    peak = log_mgf - c * epsilon - math.log(c) - math.log1p(c)
    # Far beyond all losses the tilted loss has no spread that doubles know.
    if not 0.0 < variance < math.inf or not math.isfinite(peak):
        raise NotCertifiedError("the loss is so concentrated that no saddle point was found")
    return Saddle(whole, c, epsilon, math.sqrt(variance), max(0.0, peak - log_delta))


def lists_on_line(saddle: Saddle, c: float, tolerance: float) -> tuple[float, float]:
    """Return the relative width that lists leave on a line, and the work that they take.

    Args:
        saddle: of the whole.
        c: the tilt.
        tolerance: relative width wished for.
    """
    from privcalc.engine.lists.factor import LEAST_WIDTH, Wanted, sketched

    laws = sketched(saddle.composition)
    if not laws:
        return 0.0, 0.0
    step = float(Wanted(c, c, saddle.epsilon, tolerance * c * saddle.epsilon).step(laws))
    spans = sum(law.seen.high - law.seen.low for law, _ in laws)
    points = (spans + WINDOW * saddle.deviation * len(laws)) / step
    return max(LEAST_WIDTH, LISTED * tolerance), PER_LIST * len(laws) + PER_POINT * points


class Near(Source, Protocol):
    """A source that is good around one epsilon."""

    @property
    def deviation(self) -> float:
        """Return how far that is, about; 0 where it is not known."""
        ...


class Method:
    """One way to a bracket.

    Attributes:
        name: the engine that it is part of.
        costly: whether the prediction itself takes some hundredths of a second.
        refinable: whether a finer tolerance helps where the width that was predicted is missed.
    """

    name = CLOSED.engine
    costly = False
    refinable = False

    def applies(self, composition: Composition) -> bool:
        """Say whether it may answer; without any work."""
        raise NotImplementedError

    def knows_more(self, composition: Composition) -> bool:
        """Say whether other methods are about a law of which less is known."""
        del composition
        return False

    def predict(self, question: Question, tolerance: float) -> Prediction:
        """Predict what it gives if it is asked with a tolerance.

        Raises:
            NotCertifiedError: it has no answer.
        """
        raise NotImplementedError

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Prove a bracket.

        Raises:
            NotCertifiedError: there is none.
        """
        raise NotImplementedError

    def near(self, question: Question, tolerance: float, reach: float) -> Near | None:
        """Prepare a source for an epsilon and its neighbours; None where there is none for them.

        Args:
            question: of delta at an epsilon.
            tolerance: target of relative widths.
            reach: for how many deviations of the tilted loss around it.

        Raises:
            NotCertifiedError: there is no such source.
        """
        del question, tolerance, reach
        return None


class _OneUse(Method):
    """A single use, of which one source knows everything, at every epsilon."""

    # Measured: 2e2 to 1e5 units of work.
    prediction = Prediction(EXACT, 2e4)
    game = False

    def applies(self, composition: Composition) -> bool:
        """Say whether there is one use, of such a law."""
        alone = [count for _, count in composition] == [1]
        return alone and composition.terms[0][0].properties.game is self.game

    def predict(self, question: Question, tolerance: float) -> Prediction:
        """Expect the same of all."""
        del question, tolerance
        return self.prediction

    def source(self, composition: Composition) -> Source:
        """Return what proves brackets at every epsilon."""
        raise NotImplementedError

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Ask the source."""
        return question.of_source(self.source(question.composition), tolerance)


class Single(_OneUse):
    """The tails of the loss of one use, or the profile that is known of it (`engine/single.py`)."""

    def knows_more(self, composition: Composition) -> bool:
        """Say whether more is known of the use than its law says."""
        return composition.has_exact_single_use_profile

    def source(self, composition: Composition) -> Source:
        """Return the tails."""
        from privcalc.engine.single import SingleUse

        return SingleUse(composition.terms[0][0])


class Game(_OneUse):
    """The value of a game, from above or from below (`engine/game.py`)."""

    # What a second gives, mostly.
    prediction = Prediction(1e-3, 1e7)
    game = True

    def knows_more(self, composition: Composition) -> bool:
        """Say that others know less of it."""
        del composition
        return True

    def source(self, composition: Composition) -> Source:
        """Return the value at many epsilons, each of which has a game near it, of few digits."""
        from privcalc.engine.game import GameValue

        return GameValue(composition.terms[0][0], 1.0)

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Ask for as many digits as are wanted."""
        from privcalc.engine.game import GameValue

        value = GameValue(question.composition.terms[0][0], tolerance)
        if question.epsilon is None:
            return value.epsilon(question.low, question.high, tolerance)
        return bracket(value, question.epsilon, tolerance)


class _Inverted(Method):
    """An inversion of the characteristic function, in one of its ways (`engine/inversion`)."""

    name = CONTOUR

    @property
    def way(self) -> Inversion[Any]:
        """Return which."""
        raise NotImplementedError

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Sum over the lines."""
        return question.put(self.way.epsilon, self.way.delta, tolerance)

    def near(self, question: Question, tolerance: float, reach: float) -> Near:
        """Prepare the lines for neighbours."""
        found: Near = self.way.near(question.composition, question.at, tolerance, reach)
        return found


class WholeLine(_Inverted):
    """The integral of the whole on a line, on which lists are factors."""

    def applies(self, composition: Composition) -> bool:
        """Say whether some loss is of the Gaussian family."""
        return composition.line

    def predict(self, question: Question, tolerance: float) -> Prediction:
        """Look at the saddle point, and how fast |phi|^n falls."""
        saddle = saddle_of(question)
        terms = question.composition.joined.terms
        rounding = ROUNDING * math.exp(min(saddle.lost, 700.0))
        joined = len(question.composition.terms) - len(terms)
        work = LINE * len(terms) + JOINED * joined
        each = look_at(saddle)
        width, lists = lists_on_line(saddle, saddle.c, tolerance)
        rounding, work = max(rounding, width), work + lists
        if each == math.inf:
            return Prediction(max(PADDED * tolerance, rounding), work + SLOWER)
        return Prediction(max(EXACT, rounding), work if joined else work + NODES * each)

    @property
    def way(self) -> Inversion[Any]:
        """Sum over one line."""
        from privcalc.engine.inversion.decaying import DECAYING

        return DECAYING


class TailSplit(_Inverted):
    """Sampled Gaussians cut at a loss, with put-call parity beyond it (`engine/inversion`)."""

    refinable = True

    def applies(self, composition: Composition) -> bool:
        """Say whether there is a law that can be cut."""
        return composition.supports_tail_split

    def predict(self, question: Question, tolerance: float) -> Prediction:
        """Expect all digits: of 120 splits one had less than ten.

        Of few samples with little noise a transform falls like 1 / t, and what is left out takes
        many more nodes for a finer tolerance.
        """
        from privcalc.engine.inversion.tail_search import Parts

        parts = Parts.of(question.composition)
        if parts is None:
            raise NotCertifiedError("only samples of Gaussians in one direction are cut")
        laws, exact, lists = len(question.composition.terms), EXACT, 0.0
        if parts.lists_wanted:
            saddle = saddle_of(question)
            width, lists = lists_on_line(saddle, min(saddle.c, MOST_TILT), tolerance)
            exact = max(EXACT, width)
        if parts.few:
            work = max(1.0, min(1e-6 / tolerance, FEW_FINER)) * laws
            width = max(exact, PADDED * tolerance)
            return Prediction(width, SPLIT * work + lists, SPLIT_COUNTED * work + lists)
        # Of very many laws it takes seconds, whatever is counted.
        counted = 0.0 if question.composition.joined is not question.composition else SPLIT_COUNTED
        return Prediction(exact, SPLIT * laws + lists, counted * laws and counted * laws + lists)

    @property
    def way(self) -> Inversion[Any]:
        """Split."""
        from privcalc.engine.inversion.tail_split import TAIL_SPLIT

        return TAIL_SPLIT


class Lattice(Method):
    """The FFT of losses that are rounded to a lattice (`engine/lists`)."""

    name = LATTICE
    costly = True
    refinable = True

    def applies(self, composition: Composition) -> bool:
        """Say whether there are laws: all have tails."""
        return bool(composition.terms)

    def predict(self, question: Question, tolerance: float) -> Prediction:
        """Plan the transforms."""
        from privcalc.engine.lists.answer import forecast_delta, forecast_epsilon

        if question.epsilon is None:
            found = forecast_epsilon(question.composition, question.low, AIM * tolerance)
        else:
            found = forecast_delta(question.composition, question.epsilon, AIM * tolerance)
        return Prediction(*found)

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Compose on the lattice."""
        from privcalc.engine.lists.answer import list_delta, list_epsilon

        return question.put(list_epsilon, list_delta, AIM * tolerance)

    def near(self, question: Question, tolerance: float, reach: float) -> Near:
        """Compose on a lattice for the epsilon."""
        from privcalc.engine.lists.answer import list_at

        del reach
        return list_at(question.composition, question.at, tolerance)


# A lattice is made for this part of the width: where losses are rare it is missed by 1.6 times.
AIM = 0.8


METHODS: tuple[Method, ...] = (Single(), Game(), WholeLine(), TailSplit(), Lattice())
