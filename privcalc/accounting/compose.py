"""What a whole composition costs: the entry function of the command `compose`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from privcalc.accounting.answer import Answer, Composition, Direction, Method, Quantity
from privcalc.accounting.realize import default_relation, realize, sampling_words
from privcalc.accounting.sampling import lone_selection
from privcalc.bounds import Bound, Verdict
from privcalc.engine.certified import DELTA_FLOOR, EPSILON_FLOOR, Certified
from privcalc.engine.wish import Stop
from privcalc.errors import DomainError, NotCertifiedError, UsageError
from privcalc.exact import Enclosed
from privcalc.numerics.work import QUESTION, allowance
from privcalc.spec.registry import holes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privcalc.accounting.terms import Realized
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node, Wrapped

ENGINES = ("auto", "contour", "fft", "rdp", "afa")
PROFILE_POINTS = 21
UPPER_ONLY = "only an upper bound is known for the privacy loss of a part, so there is no lower end"
# The profile runs to about the epsilon of this delta.
PROFILE_DELTA = 1e-10


@allowance(QUESTION)
def compose(
    tree: Node,
    *,
    relation: Relation | None = None,
    deltas: Sequence[float] = (),
    epsilons: Sequence[float] = (),
    tolerance: float = 1e-9,
    engine: str = "auto",
    max_epsilon: float | None = None,
    max_delta: float | None = None,
    quick: bool = False,
) -> Composition:
    """Bracket what a specification costs under adaptive composition.

    Args:
        tree: the specification, without holes.
        relation: neighbouring relation; None for the default of the specification.
        deltas: for each, the least epsilon is bracketed.
        epsilons: for each, delta is bracketed. With neither, a profile of 21 points.
        tolerance: relative width wished for, > 0.
        engine: one of ENGINES.
        max_epsilon: a budget for every epsilon; the first bracket that decides it is the answer.
        max_delta: the same for every delta.
        quick: whether this is one question of many, none of which may take seconds.

    Raises:
        DomainError: delta outside [0, 1], epsilon negative or not finite, tolerance not in (0, 1).
        UnsupportedError: relation, engine or a part of the tree.
        NotCertifiedError: no finite upper end could be proved.
        UsageError: the tree has a hole.
    """
    check(tree, deltas, epsilons, tolerance, engine)
    relation = relation or default_relation(tree)
    solver = _solver(tree, relation, tolerance, engine, quick=quick)
    answers = [solver.answer("epsilon", delta, max_epsilon) for delta in deltas]
    answers += [solver.answer("delta", epsilon, max_delta) for epsilon in epsilons]
    if not answers:
        answers = [solver.profile()]
    return Composition(relation, sampling_words(tree), tuple(answers))


def _solver(
    tree: Node, relation: Relation, tolerance: float, engine: str, *, quick: bool
) -> Solver | _LoneSelection | _Estimator:
    """Return what answers: a selection that stands alone is answered as `select` does."""
    if engine == "afa":
        return _Estimator(realize(tree, relation))
    lone = lone_selection(tree)
    if lone is not None:
        return _LoneSelection(lone, relation, tolerance, engine)
    return Solver(realize(tree, relation), tolerance, engine, quick=quick)


class _Profiles(ABC):
    """What answers one question at a time, and a profile by many of them."""

    @abstractmethod
    def answer(self, quantity: Quantity, at: float, budget: float | None = None) -> Answer:
        """Return the bracket of one quantity at a given value of the other."""

    @property
    @abstractmethod
    def infinity_mass(self) -> float:
        """Return an upper bound on the probability of an infinite loss."""

    def profile(self) -> Answer:
        """Return delta at 21 round epsilons, from 0 to where delta is about 1e-10."""
        points = [self.answer("delta", epsilon) for epsilon in self._epsilons()]
        pairs = tuple(
            (point.query["epsilon"], point.bound) for point in points if point.bound is not None
        )
        # The engine of the widest bracket stands for all.
        widest = max(points, key=lambda point: 0.0 if point.bound is None else point.bound.width)
        engine = widest.method.engine
        met = all(point.method.tolerance_met for point in points)
        terms: dict[str, float] = {}
        for point in points:
            for name, value in point.method.terms.items():
                terms[name] = max(terms.get(name, 0.0), value)
        notes = tuple(dict.fromkeys(note for point in points for note in point.method.notes))
        return Answer("profile", {}, None, None, pairs, (), Method(engine, met, terms, notes))

    def _epsilons(self) -> list[float]:
        mass = self.infinity_mass
        target = min(mass + PROFILE_DELTA, 0.5 + 0.5 * mass)
        try:
            bound = self.answer("epsilon", target).bound
            reach = bound.upper if bound is not None else 1.0
        except NotCertifiedError:
            reach = 1.0
        if not 0.0 < reach < math.inf:
            reach = 1.0
        step = round_step(reach / (PROFILE_POINTS - 1))
        # Dividing by a power of ten keeps the points short: 0.3, not 0.30000000000000004.
        power = 10.0 ** max(0, 2 - math.floor(math.log10(step)))
        return [round(step * power) * i / power for i in range(PROFILE_POINTS)]


class Solver(_Profiles):
    """Certified answers, each direction by itself and the maximum at the end."""

    def __init__(
        self,
        directions: Mapping[str, Realized],
        tolerance: float,
        engine: str,
        *,
        quick: bool = False,
    ) -> None:
        """Take the composition of each direction."""
        self._directions = directions
        self._tolerance = tolerance
        self._engine = engine
        self._quick = quick

    def answer(self, quantity: Quantity, at: float, budget: float | None = None) -> Answer:
        """Return the bracket of one quantity at a given value of the other.

        Where a budget is exceeded for certain, a direction without bracket leaves the upper end
        open, and is no error.
        """
        found, failed = self._found(quantity, at, budget)
        bounds = [direction.bound for direction in found if direction.bound is not None]
        if failed is not None:
            if not _exceeded(bounds, math.nextafter(math.inf, 0.0) if budget is None else budget):
                raise failed
            bounds.append(Bound(math.inf if quantity == "epsilon" else 1.0))
        bound = bounds[0]
        for other in bounds[1:]:
            bound = bound.maximum(other)
        decisive = max(found, key=lambda direction: _upper(direction.bound))
        method = Method(
            decisive.method.engine,
            bound.within_tolerance(self._tolerance, _floor(quantity)),
            decisive.method.terms,
            tuple(note for direction in found for note in direction.method.notes),
            decisive.method.order,
            decisive.method.conversion,
        )
        query = {"delta" if quantity == "epsilon" else "epsilon": at}
        return Answer(quantity, query, bound, None, (), tuple(found), method)

    def _found(
        self, quantity: Quantity, at: float, budget: float | None
    ) -> tuple[list[Direction], NotCertifiedError | None]:
        """Answer each direction; where one is infinite for certain, others need no answer.

        Where one exceeds the budget, a rough answer of the others will do, as it will where they
        cost less than another does for certain.
        """
        found: list[Direction] = []
        failed = None
        for name, laws in self._directions.items():
            bounds = [each.bound for each in found if each.bound is not None]
            lowers = [bound.lower for bound in bounds if bound.lower is not None]
            first = budget is not None and _exceeded(bounds, budget)
            stop = Stop(budget, max(lowers, default=None), first, self._quick)
            try:
                result = self._certified(quantity, laws, at, stop)
            except NotCertifiedError as error:
                failed = failed or error
                continue
            method = self._method(quantity, result.bound, result)
            found.append(Direction(name, result.bound, None, method))
        return found, failed

    @property
    def infinity_mass(self) -> float:
        """Return the larger mass of the directions."""
        return max(laws.upper.infinity_mass().upper for laws in self._directions.values())

    def _certified(self, quantity: Quantity, laws: Realized, at: float, stop: Stop) -> Certified:
        """Prove the upper end with one composition and the lower with the other, if there is."""
        from privcalc.engine.choose import certified_delta, certified_epsilon

        solve = certified_epsilon if quantity == "epsilon" else certified_delta
        wanted = Enclosed.probability(at) if quantity == "epsilon" else Enclosed.of(at)
        wish = max(self._tolerance, laws.accuracy)
        found = solve(laws.upper, wanted, wish, engine=self._engine, stop=stop)
        if laws.lower is laws.upper:
            return found
        from privcalc.accounting.lower_ends import lower_end

        notes = (*found.notes, UPPER_ONLY) if laws.lower is None else found.notes
        stop = replace(stop, first=stop.enough(found.bound.upper))
        lower = lower_end(
            laws, quantity, wanted, tolerance=self._tolerance, engine=self._engine, stop=stop
        )
        # The proof of an infinite epsilon is one of the bound, not of the mechanism.
        return replace(found, bound=Bound.joined(found.bound, lower), notes=notes)

    def _method(self, quantity: Quantity, bound: Bound, result: Certified) -> Method:
        met = bound.within_tolerance(self._tolerance, _floor(quantity))
        return Method(
            result.engine, met, result.terms, result.notes, result.order, result.conversion
        )


class _LoneSelection(_Profiles):
    """A private selection and nothing else: one code path with `select`."""

    def __init__(self, tree: Wrapped, relation: Relation, tolerance: float, engine: str) -> None:
        from privcalc.accounting.selection_bracket import SelectionBrackets

        self._brackets = SelectionBrackets(tree, relation, tolerance, engine)
        self._tolerance = tolerance

    def answer(self, quantity: Quantity, at: float, budget: float | None = None) -> Answer:
        """Return the bracket that `select` prints."""
        del budget
        found = self._brackets.answer(quantity, at)
        base, bound = found.base.method, found.bound
        met = bound.within_tolerance(self._tolerance, _floor(quantity))
        best = min(found.methods, key=lambda name: found.methods[name])
        note = f"selection: the method {best} is the best; `privcalc select` shows all of them"
        notes = (note,) if bound.lower is not None else (note, UPPER_ONLY)
        method = Method(base.engine, met, notes=notes)
        parts = (Direction(name, each, None, method) for name, each in found.directions.items())
        return Answer(quantity, found.base.query, bound, None, (), tuple(parts), method)

    @property
    def infinity_mass(self) -> float:
        """Return E[K] times that of one run."""
        masses = (part.forward.infinity_mass for part in self._brackets.methods.values())
        return min(1.0, self._brackets.runs.mean.upper * max(masses))


class _Estimator:
    """Estimates of the published quadrature, which have no certificate."""

    def __init__(self, directions: Mapping[str, Realized]) -> None:
        from privcalc.engine.afa import LevyInversion

        self._directions = {name: LevyInversion(laws.upper) for name, laws in directions.items()}

    def answer(self, quantity: Quantity, at: float, budget: float | None = None) -> Answer:
        """Return the estimate of one quantity at a given value of the other; budgets need proof."""
        del budget
        method = Method("afa", tolerance_met=False)
        found = tuple(
            Direction(
                name,
                None,
                levy.epsilon(at) if quantity == "epsilon" else levy.delta(at),
                method,
            )
            for name, levy in self._directions.items()
        )
        worst = max(direction.estimate or 0.0 for direction in found)
        query = {"delta" if quantity == "epsilon" else "epsilon": at}
        return Answer(quantity, query, None, worst, (), found, method)

    def profile(self) -> Answer:
        """Refuse: a profile is made of brackets."""
        raise UsageError("engine afa gives estimates and no profile; ask for --delta or --epsilon")


def round_step(value: float) -> float:
    """Return the least of 1, 2, 2.5, 5 times a power of ten that is at least `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * digit for digit in (1.0, 2.0, 2.5, 5.0, 10.0) if power * digit >= value)


def _exceeded(bounds: Sequence[Bound], budget: float) -> bool:
    """Say whether a number of which some bounds are known is above a budget for certain."""
    return any(bound.verdict(budget) is Verdict.EXCEEDED for bound in bounds)


def _floor(quantity: Quantity) -> float:
    return EPSILON_FLOOR if quantity == "epsilon" else DELTA_FLOOR


def _upper(bound: Bound | None) -> float:
    return -math.inf if bound is None else bound.upper


def check(
    tree: Node,
    deltas: Sequence[float],
    epsilons: Sequence[float],
    tolerance: float,
    engine: str,
) -> None:
    """Refuse a question that cannot be answered; see `compose` for what is raised."""
    if holes(tree):
        raise UsageError("compose needs every value; calibrate finds the value of a hole")
    if engine not in ENGINES:
        raise UsageError(f"engine must be one of {', '.join(ENGINES)}, got {engine}")
    for delta in deltas:
        if not 0.0 <= delta <= 1.0:
            raise DomainError(f"delta must be in [0, 1], got {delta!r}")
    for epsilon in epsilons:
        if not 0.0 <= epsilon < math.inf:
            raise DomainError(f"epsilon must be >= 0 and finite, got {epsilon!r}")
    if not 0.0 < tolerance < 1.0:
        raise DomainError(f"tolerance must be in (0, 1), got {tolerance!r}")
