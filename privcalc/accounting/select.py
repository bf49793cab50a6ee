"""What the best of a random number of runs costs: the entry functions of the command `select`.

`select` answers for runs that are alike, `tuning` for candidates that differ in their privacy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.accounting.compose import check
from privcalc.accounting.directions import FLOORS, Answer, Direction, Method, Quantity
from privcalc.accounting.realize import default_relation
from privcalc.accounting.selection import SelectionBrackets, facts_of
from privcalc.bounds import TOLERANCE, Bound, Verdict
from privcalc.errors import NotCertifiedError, UsageError
from privcalc.numerics.work import QUESTION, allowance
from privcalc.record import record, replace
from privcalc.spec.brief import brief
from privcalc.spec.registry import holes
from privcalc.spec.tree import Leaf, filled
from privcalc.wrappers.select import runs_of, selection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from privcalc.relation import Relation
    from privcalc.selection.methods import Methods
    from privcalc.selection.runs import Runs
    from privcalc.selection.thresholds import ProfileThresholds, TuningThresholds
    from privcalc.spec.tree import Node, Parameters

# Relative error of epsilon where it decides on three digits of a number of runs.
ROUGH = 1e-3
# Relative width with which one use of a candidate is judged.
ONE_USE = 1e-7
EXAMPLE = "gaussian:sigma=2@poisson:q=0.01@_"


@record
class Selected:
    """One answer.

    Attributes:
        query: {"delta": d} or {"epsilon": e}.
        quantity: what was asked: epsilon or delta.
        bound: its bracket: the smallest number that is proved, and what one order of results costs.
        base: the same of one run.
        methods: what each method proves, the worse direction.
        constants: C of the methods that have one.
        candidates: if asked for, the mean number of runs at which a method proves what `paper`
            does.
        method: how the base was accounted for, and whether the whole is as narrow as was asked.
        directions: each direction by itself.
    """

    query: dict[str, float]
    quantity: str
    bound: Bound
    base: Bound
    methods: dict[str, float]
    constants: dict[str, float]
    candidates: dict[str, float]
    method: Method
    directions: tuple[Direction, ...]


@record
class Selection:
    """All answers to one question, and what they assume.

    Attributes:
        tree: the specification with its selection.
        relation: the neighbouring relation in force.
        runs: what is known of the number of runs, by name.
        mean: its expectation.
        answers: in the order of the deltas, then of the epsilons.
        methods: what proved them, by direction.
    """

    tree: Node
    relation: Relation
    runs: dict[str, float | str]
    mean: float
    answers: tuple[Selected, ...]
    methods: Mapping[str, Methods]


@allowance(QUESTION)
@np.errstate(all="ignore")
def select(
    tree: Node,
    runs: Parameters,
    *,
    relation: Relation | None = None,
    deltas: Sequence[float] = (),
    epsilons: Sequence[float] = (),
    tolerance: float = TOLERANCE,
    engine: str = "auto",
    compared: bool = False,
) -> Selection:
    """Bracket the privacy of private selection.

    Args:
        tree: what one run costs, without holes.
        runs: the distribution of the number of runs, as the parameters of `@select`.
        relation: the neighbouring relation; None for the default of the specification.
        deltas: for each, epsilon is bracketed.
        epsilons: for each, delta is bracketed.
        tolerance: target relative width of what one run costs.
        engine: for the base: auto, contour, fft or rdp.
        compared: whether to say how many runs cost what the published bound charges: that takes
            about as long as an answer.

    Raises:
        DomainError: a number is out of range.
        UnsupportedError: the relation, or a part of the tree.
        UsageError: there is a hole.
        NotCertifiedError: no finite upper end could be proved.
    """
    whole = selection(tree, runs)
    relation = relation or default_relation(tree)
    check(tree, deltas, epsilons, tolerance, engine)
    brackets = SelectionBrackets(whole, relation, tolerance, engine)
    questions: list[tuple[Quantity, float]] = [("epsilon", delta) for delta in deltas]
    questions += [("delta", epsilon) for epsilon in epsilons]
    number = brackets.runs
    return Selection(
        whole,
        relation,
        facts_of(number),
        number.mean.upper,
        tuple(
            _selected(brackets, *question, tolerance, compared=compared) for question in questions
        ),
        brackets.methods,
    )


def _selected(
    brackets: SelectionBrackets, quantity: Quantity, at: float, tolerance: float, *, compared: bool
) -> Selected:
    """Answer one question, with what each method proves."""
    found = brackets.answer(quantity, at)
    base = found.base
    narrow = found.bound.within_tolerance(tolerance, FLOORS[quantity])
    constants = {
        name: max(part.constants[name] for part in brackets.methods.values())
        for name in ("paper", "tight")
    }
    return Selected(
        base.query,
        quantity,
        found.bound,
        base.proved,
        found.methods,
        constants,
        _candidates(brackets.methods, found.methods, base) if compared else {},
        base.method if narrow else replace(base.method, tolerance_met=False),
        tuple(Direction(name, each, None, base.method) for name, each in found.directions.items()),
    )


def candidates_of_answer(found: Selection, answer: Selected) -> float | None:
    """Return the mean of the runs that the pointwise bound allows at the published price.

    For -v: it takes some times as long as the answer. None where there is none.
    """
    from privcalc.selection.pointwise import Pointwise

    if not answer.candidates:
        return None
    delta = answer.query["delta"]

    def epsilon_at(runs: Runs) -> float:
        bounds = (Pointwise(runs, part.forward, ROUGH) for part in found.methods.values())
        return max(bound.epsilon(delta) for bound in bounds)

    runs = next(iter(found.methods.values())).runs
    return _priced(runs, answer.methods["paper"], epsilon_at)


def _priced(runs: Runs, price: float, epsilon_at: Callable[[Runs], float]) -> float | None:
    """Return the mean number of runs at a price; None where that takes too much work."""
    from privcalc.selection.thresholds import mean_at_price

    try:
        with allowance(QUESTION):
            return mean_at_price(runs, price, epsilon_at)
    except NotCertifiedError:
        return None


def _candidates(
    methods: dict[str, Methods], worst: dict[str, float], base: Answer
) -> dict[str, float]:
    """Return the mean of the runs, and what the tight constant allows at the published price."""
    # Of a Renyi curve every point of the profile is a search of its own.
    if base.quantity != "epsilon" or any(part.laws.upper.curves for part in methods.values()):
        return {}
    delta = base.query["delta"]
    runs = next(iter(methods.values())).runs

    def epsilon_at(other: Runs) -> float:
        return max(part.tight_epsilon(other, delta) for part in methods.values())

    found = _priced(runs, worst["paper"], epsilon_at)
    return {} if found is None else {"paper": runs.mean.upper, "tight": found}


@record
class TunedThresholds:
    """Thresholds, and the counts that they allow.

    Attributes:
        tree: the Gaussian mechanism that the thresholds are from, with its selection.
        relation: the neighbouring relation in force.
        thresholds: the published choice, and the best.
        total: epsilon of the whole: an upper end.
        runs: what is known of the number of runs, by name.
        counts: the largest count of each candidate that keeps both thresholds; 0 for none.
    """

    tree: Node
    relation: Relation
    thresholds: TuningThresholds
    total: Bound
    runs: dict[str, float | str]
    counts: tuple[int, ...]


def tuning(
    candidates: Sequence[Node],
    runs: Parameters,
    epsilon_q: float,
    delta: float,
    *,
    relation: Relation | None = None,
) -> TunedThresholds:
    """Return the thresholds of one run at (epsilon_q, delta), and what candidates may run.

    Args:
        candidates: each with one hole, a count.
        runs: the distribution of the number of runs, as the parameters of `@select`.
        epsilon_q: what a Gaussian mechanism that meets the thresholds has at delta.
        delta: of the whole.
        relation: the neighbouring relation; None for the default of the candidates.

    Raises:
        DomainError: a number is out of range.
        UnsupportedError: the number of runs, or a part of a candidate.
        UsageError: a candidate has no count left open, or something else.
    """
    from privcalc.selection.thresholds import tuning_thresholds

    for candidate in candidates:
        if [path[-1] for path in holes(candidate)] != ["count"]:
            raise UsageError(
                f"a candidate leaves one count open, as in {EXAMPLE}; got {brief(candidate)}"
            )
    number = runs_of(selection(Leaf("gdp", (("mu", 1.0),)), runs))
    found = tuning_thresholds(number, epsilon_q, delta)
    tree = selection(Leaf("gdp", (("mu", found.mu),)), runs)
    default = default_relation(candidates[0]) if candidates else default_relation(tree)
    relation = relation or default
    return TunedThresholds(
        tree,
        relation,
        found,
        Bound(found.tight.total),
        facts_of(number),
        tuple(_largest(candidate, found.tight, relation) for candidate in candidates),
    )


def _largest(candidate: Node, thresholds: ProfileThresholds, relation: Relation) -> int:
    """Return the largest count whose profile is below both points for certain; 0 for none."""
    from privcalc.accounting.calibrate import calibrate
    from privcalc.calibration.target import CalibrationTarget

    points = (
        (thresholds.epsilon_1, thresholds.delta_1),
        (thresholds.epsilon_hat, thresholds.delta_hat),
    )
    targets = [CalibrationTarget("epsilon", *point) for point in points]
    once = filled(candidate, {holes(candidate)[0]: 1})
    for target in targets:
        bound, _ = target.ask(once, relation, ONE_USE)
        if bound.verdict(target.budget) is not Verdict.WITHIN:
            return 0
    found = (calibrate(candidate, target, relation=relation) for target in targets)
    return min(int(each.sufficient) for each in found)
