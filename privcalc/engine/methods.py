"""The methods that bracket delta, and which of them answer.

A privacy loss is a line or a list, and so what answers follows from what the composition is:

* One use by itself is read from its tails, or is a game.
* Where some loss is of the Gaussian family, the whole is a line, on which lists are factors. Few
  samples leave a transform that does not decay: there the line is split at a large loss.
* All else is one list. It is also what is left where a line has too few digits.

What each method proves is proved where it is; `engine/planner.py` asks them one after the other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.engine.certified import CLOSED, CONTOUR, DELTA_FLOOR, EPSILON_FLOOR
from privcalc.engine.inverse import inverse
from privcalc.engine.source import bracket
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.solve import Inversion
    from privcalc.engine.lists.levels import Seen
    from privcalc.engine.source import Source

LATTICE = "fft"
# What costs nothing is asked for so many digits; a list for a part of the width that is wanted,
# which is missed where losses are rare.
FINE, AIM = 1e-9, 0.25


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
    def at(self) -> float:
        """Return the delta or the epsilon that is given."""
        return self.low if self.epsilon is None else self.epsilon

    @property
    def floor(self) -> float:
        """Return the absolute width below which a relative one does not matter."""
        return EPSILON_FLOOR if self.epsilon is None else DELTA_FLOOR

    def renyi(self) -> Certified:
        """Bound from above by the best Renyi order."""
        from privcalc.engine.renyi import renyi_delta, renyi_epsilon

        of = renyi_epsilon if self.epsilon is None else renyi_delta
        return of(self.composition, self.at)

    def rough(self) -> float:
        """Return about what one Renyi order proves."""
        from privcalc.engine.renyi import rough

        quantity = "epsilon" if self.epsilon is None else "delta"
        return rough(self.composition, quantity, self.at)


class Method:
    """One way to a bracket.

    Attributes:
        name: the engine that it is part of.
    """

    name = CLOSED.engine

    def tolerance(self, composition: Composition, width: float) -> float:
        """Return what to ask it for, where that width is wanted: digits that cost nothing."""
        del composition
        return min(FINE, width)

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Prove a bracket.

        Raises:
            NotCertifiedError: there is none.
        """
        source = self.source(question, tolerance)
        if question.epsilon is None:
            return inverse(source, question.low, question.high, tolerance, self.guess(question))
        return bracket(source, question.epsilon, tolerance)

    def guess(self, question: Question) -> float:
        """Return where the search for an epsilon begins."""
        del question
        return 0.0

    def source(self, question: Question, tolerance: float, reach: float = 0.0) -> Source:
        """Prepare a source that is good around what is asked for.

        Args:
            question: of delta at an epsilon, where that is to be good `reach` around it, too.
            tolerance: target of relative widths.
            reach: in deviations of the tilted loss.

        Raises:
            NotCertifiedError: there is no such source.
        """
        raise NotImplementedError


class Single(Method):
    """The tails of the loss of one use, or the profile that is known of it (`engine/single.py`)."""

    def source(self, question: Question, tolerance: float, reach: float = 0.0) -> Source:
        """Return the tails, which know everything."""
        from privcalc.engine.single import SingleUse

        del tolerance, reach
        return SingleUse(question.composition.terms[0][0])


class Game(Method):
    """The value of a game, from above or from below (`engine/game.py`)."""

    def tolerance(self, composition: Composition, width: float) -> float:
        """Return the width: digits take long."""
        del composition
        return width

    def guess(self, question: Question) -> float:
        """Return where the search is about to end: far from there the game says little."""
        from privcalc.engine.game import GameValue

        return GameValue(question.composition.terms[0][0], 1.0).guess(math.log(question.low))

    def source(self, question: Question, tolerance: float, reach: float = 0.0) -> Source:
        """Return the value; at many epsilons, each of which has a game near it, of few digits."""
        from privcalc.engine.game import GameValue

        return GameValue(question.composition.terms[0][0], 1.0 if reach else tolerance)


class Line(Method):
    """The inversion of the characteristic function, on one line (`engine/inversion`)."""

    name = CONTOUR

    def way(self, composition: Composition) -> Inversion:
        """Return how it is inverted."""
        from privcalc.engine.inversion.solve import Decaying

        return Decaying(composition)

    def tolerance(self, composition: Composition, width: float) -> float:
        """Return what costs nothing, unless lists are to be that fine."""
        fine = all(law.properties.line for law, _ in composition)
        return min(FINE, width) if fine else AIM * width

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Sum over the line."""
        way = self.way(question.composition)
        if question.epsilon is None:
            return way.epsilon(question.low, question.high, tolerance)
        return way.delta(question.epsilon, tolerance)

    def source(self, question: Question, tolerance: float, reach: float = 0.0) -> Source:
        """Prepare the line for an epsilon."""
        return self.way(question.composition).near(question.at, tolerance, reach)


class Split(Line):
    """Sampled Gaussians cut at a loss, with put-call parity beyond it."""

    def way(self, composition: Composition) -> Inversion:
        """Return how it is inverted."""
        from privcalc.engine.inversion.tail_split import TailSplit

        return TailSplit(composition)


class List(Method):
    """The FFT of losses that are rounded to a lattice (`engine/lists`)."""

    name = LATTICE

    def tolerance(self, composition: Composition, width: float) -> float:
        """Return a part of the width."""
        del composition
        return AIM * width

    def guess(self, question: Question) -> float:
        """Return about the epsilon."""
        return self._seen(question).epsilon

    def source(self, question: Question, tolerance: float, reach: float = 0.0) -> Source:
        """Compose on the lattice, which is good everywhere it is."""
        del reach
        seen = self._seen(question)
        # A list is made for a width of epsilon; log delta falls by about c times that.
        falls = 1.0 if question.epsilon is None else seen.c * seen.size
        return seen.source(tolerance / max(1.0, falls))

    def _seen(self, question: Question) -> Seen:
        from privcalc.engine.lists.levels import seen_for_delta, seen_for_epsilon

        if question.epsilon is None:
            return seen_for_delta(question.composition, math.log(question.low))
        return seen_for_epsilon(question.composition, question.epsilon)


SINGLE, GAME, LINE, SPLIT, LIST = Single(), Game(), Line(), Split(), List()


def everywhere(composition: Composition) -> Method | None:
    """Return what knows the profile of one use at every epsilon; None for several uses."""
    if [count for _, count in composition] != [1] or composition.curves:
        return None
    return GAME if composition.terms[0][0].properties.game else SINGLE


def methods_of(composition: Composition, engine: str = "auto") -> list[Method]:
    """Return what may answer, in the order in which it is asked."""
    single = everywhere(composition) if engine == "auto" else None
    # Of what says more of one use than its law, others know less.
    if single is not None and composition.has_exact_single_use_profile:
        return [single]
    kinds = [law.properties for law, _ in composition]
    lines: list[Method] = [LINE] if any(each.line for each in kinds) else []
    if any(each.supports_tail_split for each in kinds):
        # Many laws are one array on a line, and each by itself on both sides of a split.
        lines.insert(0 if composition.joined is composition else 1, SPLIT)
    found = [*([single] if single else []), *lines, LIST]
    return [each for each in found if engine in ("auto", each.name)]
