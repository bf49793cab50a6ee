"""What a whole composition costs: the entry function of the command `compose`."""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from privcalc.accounting.directions import (
    FLOORS,
    UPPER_ONLY,
    Answer,
    ComposedAnswers,
    Direction,
    Directions,
    Method,
    Quantity,
    round_points,
)
from privcalc.accounting.realize import alternatives, default_relation, realize
from privcalc.bounds import TOLERANCE, Bound, Proof, falling
from privcalc.errors import DomainError, NotCertifiedError, UsageError
from privcalc.exact import exact
from privcalc.numerics.work import QUESTION, allowance, share
from privcalc.record import replace
from privcalc.spec.registry import holes, wrappers_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privcalc.engine.terms import Realized
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node, Wrapped

ENGINES = ("auto", "contour", "fft", "rdp", "afa")
PROFILE_POINTS = 21
# One question of many that wishes for no less may have rough laws.
ROUGH = 1e-4
# The profile runs to about the epsilon of this delta.
PROFILE_DELTA = 1e-10
# What several answers may cost, and one: so many times less of it where only largest losses count.
SEVERAL, ROUGHER = 1.5, 8


def compose(
    tree: Node,
    *,
    relation: Relation | None = None,
    deltas: Sequence[float] = (),
    epsilons: Sequence[float] = (),
    tolerance: float = TOLERANCE,
    engine: str = "auto",
    max_epsilon: float | None = None,
    max_delta: float | None = None,
    quick: bool = False,
) -> ComposedAnswers:
    """Bracket what a specification costs under adaptive composition.

    Args:
        tree: the specification, without holes.
        relation: neighbouring relation; None for the default of the specification.
        deltas: for each, the least epsilon is bracketed.
        epsilons: for each, delta is bracketed. With neither, a profile of 21 points.
        tolerance: target relative width, > 0.
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
    asked = len(deltas) + len(epsilons)
    with allowance(QUESTION * (SEVERAL if asked > 1 else 1.0)):
        # At delta 0 the largest losses say all, however rough the laws are.
        with share(1 if epsilons or any(deltas) or not deltas else ROUGHER):
            solver = _solver(tree, relation, tolerance, engine, quick=quick)
        if not asked:
            return ComposedAnswers(tree, relation, (_profile(solver),))
        found = _answers(solver, "epsilon", deltas, max_epsilon, len(epsilons))
        found += _answers(solver, "delta", epsilons, max_delta)
    return ComposedAnswers(tree, relation, tuple(found))


def _answers(
    solver: _Solver,
    quantity: Quantity,
    points: Sequence[float],
    budget: float | None = None,
    others: int = 0,
) -> list[Answer]:
    """Answer at each point: first amid all of them, with all the work that one question may cost.

    What is made for that serves others (`engine/planner.py`), and proves ends of theirs: delta does
    not rise with epsilon, nor epsilon with delta.
    """
    order = sorted(range(len(points)), key=lambda i: exact(points[i]))
    middle = order.pop(len(order) // 2) if order else 0
    found: dict[int, Answer] = {}
    for number, i in enumerate([middle, *order][: len(points)]):
        parts = len(points) + others - number
        with allowance(QUESTION) if number == 0 else share(parts):
            found[i] = solver.answer(quantity, points[i], budget)
    return monotone([found[i] for i in range(len(points))])


def monotone(answers: Sequence[Answer]) -> list[Answer]:
    """Return the same with ends that do not rise, as a whole and in each direction by itself."""
    if any(answer.bound is None for answer in answers):
        return list(answers)
    points = [exact(at) for answer in answers for at in answer.query.values()]
    bounds = falling(points, [answer.proved for answer in answers])
    ways = [{way.adjacency: way for way in answer.directions} for answer in answers]
    for name in dict.fromkeys(name for each in ways for name in each):
        having = [(x, each) for x, each in zip(points, ways, strict=True) if name in each]
        known = [each[name].bound or Bound(math.inf) for _, each in having]
        for (_, each), bound in zip(having, falling([x for x, _ in having], known), strict=True):
            each[name] = replace(each[name], bound=bound)
    return [
        replace(answer, bound=bound, directions=tuple(each.values()))
        for answer, bound, each in zip(answers, bounds, ways, strict=True)
    ]


def _lone_selection(tree: Node) -> Wrapped | None:
    """Return the private selection that is all there is, if any; most trees have no wrapper."""
    if not wrappers_in(tree):
        return None
    from privcalc.wrappers.base import lone_selection

    return lone_selection(tree)


def _solver(
    tree: Node, relation: Relation, tolerance: float, engine: str, *, quick: bool
) -> _Solver:
    """Return what answers: a selection that stands alone is answered as `select` does."""
    if engine == "afa":
        return _Estimator(realize(tree, relation))
    lone = _lone_selection(tree)
    if lone is not None:
        return _LoneSelection(lone, relation, tolerance, engine)
    trees = alternatives(tree, relation)
    if len(trees) > 1 and any(_lone_selection(each) is not None for each in trees):
        from privcalc.spec.brief import told_apart

        return _Worst(
            {
                text: _solver(each, relation, tolerance, engine, quick=quick)
                for each, text in zip(trees, told_apart(trees), strict=True)
            }
        )
    parts = realize(tree, relation, rough=quick and tolerance >= ROUGH)
    return Directions(parts, tolerance, engine, quick=quick)


class _Solver(Protocol):
    """What answers one question at a time: certified, or a selection by itself, or estimated."""

    def answer(self, quantity: Quantity, at: float, budget: float | None = None) -> Answer:
        """Return the bracket of one quantity at a given value of the other."""
        ...

    @property
    def infinity_mass(self) -> float:
        """Return an upper bound on the probability of an infinite loss."""
        ...


def _profile(solver: _Solver) -> Answer:
    """Return delta at 21 round epsilons, from 0 to where delta is about 1e-10."""
    # Laws that are made of as many points as there is work for are made here.
    with share(2):
        epsilons = _epsilons(solver)
    if isinstance(solver, Directions):
        bounds, method = solver.profile(epsilons)
        found = tuple(zip(epsilons, bounds, strict=True))
        return Answer("profile", {}, None, None, found, (), method)
    points = []
    for number, epsilon in enumerate(epsilons):
        with share(len(epsilons) - number):
            points.append(solver.answer("delta", epsilon))
    points = monotone(points)
    pairs = tuple((point.query["epsilon"], point.proved) for point in points)
    # The proof of the widest bracket stands for all.
    widest = max(points, key=lambda point: point.proved.width)
    met = all(point.method.tolerance_met for point in points)
    terms: dict[str, float] = {}
    for point in points:
        for name, value in point.method.terms.items():
            terms[name] = max(terms.get(name, 0.0), value)
    notes = tuple(dict.fromkeys(note for point in points for note in point.method.notes))
    method = Method(widest.method.proof, met, terms, notes)
    return Answer("profile", {}, None, None, pairs, (), method)


def _epsilons(solver: _Solver) -> tuple[float, ...]:
    if isinstance(solver, Directions):
        return round_points(solver.reach(PROFILE_DELTA), PROFILE_POINTS)
    try:
        reach = solver.answer("epsilon", solver.infinity_mass + PROFILE_DELTA).proved.upper
    except (DomainError, NotCertifiedError):
        reach = math.inf
    return round_points(reach, PROFILE_POINTS)


class _LoneSelection:
    """A private selection and nothing else: one code path with `select`."""

    def __init__(self, tree: Wrapped, relation: Relation, tolerance: float, engine: str) -> None:
        from privcalc.accounting.selection import SelectionBrackets

        self._brackets = SelectionBrackets(tree, relation, tolerance, engine)
        self._tolerance = tolerance

    def answer(self, quantity: Quantity, at: float, budget: float | None = None) -> Answer:
        """Return the bracket that `select` prints."""
        del budget
        found = self._brackets.answer(quantity, at)
        base, bound = found.base.method, found.bound
        met = bound.within_tolerance(self._tolerance, FLOORS[quantity])
        best = min(found.methods, key=lambda name: found.methods[name])
        note = f"selection: the method {best} is the best; `privcalc select` shows all of them"
        notes = (note,) if bound.lower is not None else (note, UPPER_ONLY)
        method = Method(base.proof, met, notes=notes)
        parts = (Direction(name, each, None, method) for name, each in found.directions.items())
        return Answer(quantity, found.base.query, bound, None, (), tuple(parts), method)

    @property
    def infinity_mass(self) -> float:
        """Return E[K] times that of one run."""
        masses = (part.forward.infinity_mass for part in self._brackets.methods.values())
        return min(1.0, self._brackets.runs.mean.upper * max(masses))


class _Worst:
    """Alternatives, of which one at least is a selection by itself: at each point the largest."""

    def __init__(self, solvers: Mapping[str, _Solver]) -> None:
        """Take what answers each, by its text."""
        self._solvers = solvers

    def answer(self, quantity: Quantity, at: float, budget: float | None = None) -> Answer:
        """Return the larger bracket, with the directions of all."""
        found: dict[str, tuple[Answer, Bound]] = {}
        for number, (name, solver) in enumerate(self._solvers.items()):
            with share(len(self._solvers) - number):
                answer = solver.answer(quantity, at, budget)
            found[name] = answer, answer.proved
        worst, _ = max(found.values(), key=lambda each: each[1].upper)
        return replace(
            worst,
            bound=reduce(Bound.maximum, [bound for _, bound in found.values()]),
            directions=tuple(
                replace(way, adjacency=f"{way.adjacency} of {name}")
                for name, (answer, _) in found.items()
                for way in answer.directions
            ),
        )

    @property
    def infinity_mass(self) -> float:
        """Return the largest of all."""
        return max(solver.infinity_mass for solver in self._solvers.values())


class _Estimator:
    """Estimates of the published quadrature, which have no certificate."""

    def __init__(self, directions: Mapping[str, Realized]) -> None:
        from privcalc.engine.accountants import LevyInversion

        self._directions = {name: LevyInversion(laws.upper) for name, laws in directions.items()}

    def answer(self, quantity: Quantity, at: float, budget: float | None = None) -> Answer:
        """Return the estimate of one quantity at a given value of the other; budgets need proof."""
        del budget
        method = Method(Proof.QUADRATURE, tolerance_met=False)
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

    @property
    def infinity_mass(self) -> float:
        """Refuse what a profile begins with: it is made of brackets."""
        raise UsageError("engine afa gives estimates and no profile; ask for --delta or --epsilon")


def check(
    tree: Node,
    deltas: Sequence[float],
    epsilons: Sequence[float],
    tolerance: float,
    engine: str,
) -> None:
    """Refuse a question that cannot be answered; see `compose` for what is raised."""
    if holes(tree):
        raise UsageError("compose needs every value; calibrate finds a free parameter")
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
