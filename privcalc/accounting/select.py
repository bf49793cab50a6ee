"""What the best of a random number of runs costs: the entry function of the command `select`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np

from privcalc.accounting.answer import Answer, Direction, Method
from privcalc.accounting.compose import compose
from privcalc.accounting.realize import default_relation, realize, sampling_words
from privcalc.accounting.sampling import SELECT
from privcalc.bounds import Bound
from privcalc.engine.choose import certified_delta, certified_epsilon
from privcalc.engine.composition import Composition
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import QUESTION, allowance
from privcalc.spec.tree import Wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privcalc.accounting.selection_methods import Methods
    from privcalc.accounting.terms import Realized
    from privcalc.losses.law import LossLaw
    from privcalc.relation import Relation
    from privcalc.selection.runs.protocol import Runs
    from privcalc.spec.tree import Node, Parameters

# Profiles of the base are asked for at this width at the narrowest: what a selection adds is
# never known so well.
BASE_TOLERANCE = 1e-7
# Relative error of epsilon where it decides on three digits of a number of runs.
ROUGH = 1e-3
# Where delta is at least this, convexity of the profile matters.
LARGE = 1e-3


@dataclass(frozen=True, slots=True)
class Selected:
    """One answer.

    Attributes:
        query: {"delta": d} or {"epsilon": e}.
        quantity: what was asked: epsilon or delta.
        bound: its bracket: the smallest number that is proved, and what one order of results costs.
        base: the same of one run.
        methods: what each method proves, the worse direction.
        constants: C of the methods that have one.
        candidates: the mean number of runs at which a method proves what `paper` does.
        method: how the base was accounted for.
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


@dataclass(frozen=True, slots=True)
class Selection:
    """All answers to one question, and what they assume.

    Attributes:
        tree: the specification with its selection.
        relation: the neighbouring relation in force.
        sampling: as `compose` names it.
        runs: what is known of the number of runs, by name.
        mean: its expectation.
        answers: in the order of the deltas, then of the epsilons.
        methods: what proved them, by direction.
    """

    tree: Node
    relation: Relation
    sampling: str
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
    tolerance: float = 1e-9,
    engine: str = "auto",
) -> Selection:
    """Bracket the privacy of private selection.

    Args:
        tree: what one run costs, without holes.
        runs: the distribution of the number of runs, as the parameters of `@select`.
        relation: the neighbouring relation; None for the default of the specification.
        deltas: for each, epsilon is bracketed.
        epsilons: for each, delta is bracketed.
        tolerance: relative width wished for of what one run costs.
        engine: for the base: auto, contour, fft or rdp.

    Raises:
        DomainError: a number is out of range.
        UnsupportedError: the relation, or a part of the tree.
        UsageError: there is a hole.
        NotCertifiedError: no finite upper end could be proved.
    """
    from privcalc.accounting.runs import runs_of
    from privcalc.accounting.selection_base import bases
    from privcalc.accounting.selection_methods import Methods

    whole = Wrapped(SELECT, runs, tree)
    number = runs_of(whole)
    base = compose(
        tree,
        relation=relation,
        deltas=deltas,
        epsilons=epsilons,
        tolerance=tolerance,
        engine=engine,
    )
    relation = relation or default_relation(tree)
    directions = realize(tree, relation)
    pairs = bases(directions, max(tolerance, BASE_TOLERANCE), engine)
    methods = {
        name: Methods.of(number, directions[name], pair, engine) for name, pair in pairs.items()
    }
    asked = _Asked(whole, directions, methods)
    facts: dict[str, float | str] = {"family": number.family, **number.parameters}
    facts.setdefault("mean", number.mean.upper)
    facts["no_run"] = number.no_runs.upper
    return Selection(
        whole,
        relation,
        sampling_words(tree),
        facts,
        number.mean.upper,
        tuple(asked.answer(answer) for answer in base.answers),
        methods,
    )


class _Asked:
    """One selection, and what answers questions about it."""

    def __init__(
        self, whole: Wrapped, directions: Mapping[str, Realized], methods: dict[str, Methods]
    ) -> None:
        """Take the selection, what one run costs, and the methods of each direction."""
        self._whole, self._directions, self._methods = whole, directions, methods

    def answer(self, base: Answer) -> Selected:
        """Answer where the base was answered: the best method by direction, then the worse one."""
        if base.bound is None:
            raise AssertionError("the engines that are admitted prove brackets")
        at = base.query["delta" if base.quantity == "epsilon" else "epsilon"]
        each = {name: part.proved(base.quantity, at) for name, part in self._methods.items()}
        hull = self._hull(base.quantity, at, max(found["pointwise"] for found, _ in each.values()))
        bounds: dict[str, Bound] = {}
        for name, (found, lower) in each.items():
            found["pointwise"] = min(found["pointwise"], hull)
            upper = min(found.values())
            bounds[name] = Bound(upper, None if lower is None else min(lower, upper))
        names = list(next(iter(each.values()))[0])
        worst = {name: max(found[name] for found, _ in each.values()) for name in names}
        bound = self._at_least_one_run(base, reduce(Bound.maximum, bounds.values()))
        if math.isinf(bound.upper):
            raise NotCertifiedError(_why(self._methods, base.query))
        return Selected(
            base.query,
            base.quantity,
            bound,
            base.bound,
            worst,
            {
                name: max(part.constants[name] for part in self._methods.values())
                for name in ("paper", "tight")
            },
            _candidates(self._methods, worst, base),
            base.method,
            tuple(Direction(name, bound, None, base.method) for name, bound in bounds.items()),
        )

    def _hull(self, quantity: str, at: float, pointwise: float) -> float:
        """Return what convexity in e^epsilon and the mirror image make of the pointwise bound.

        It is what `@select` composes with; only where delta is large does it matter.
        """
        delta = at if quantity == "epsilon" else pointwise
        if delta < LARGE or any(part.laws.upper.curves for part in self._methods.values()):
            return math.inf
        solve = certified_epsilon if quantity == "epsilon" else certified_delta
        try:
            return solve(Composition.of([(self._law, 1)]), at, BASE_TOLERANCE).bound.upper
        except NotCertifiedError:
            return math.inf

    @cached_property
    def _law(self) -> LossLaw:
        from privcalc.accounting.selection_node import selection_law

        return selection_law(self._whole, self._directions).upper

    def _at_least_one_run(self, base: Answer, bound: Bound) -> Bound:
        """Raise the lower end to what one run costs.

        Where results are ranked by lot, the best is one of them by lot: what is published has the
        law of one run, with probability P(K > 0).
        """
        none = next(iter(self._methods.values())).runs.no_runs.upper
        lower = None if base.bound is None else base.bound.lower
        if bound.lower is None or lower is None:
            return bound
        if base.quantity == "delta":
            lower *= (1.0 - none) * (1.0 - 4.0 * UNIT)
        elif none > 0.0:
            return bound
        return Bound(bound.upper, min(max(bound.lower, lower), bound.upper))


def candidates_of_answer(found: Selection, answer: Selected) -> float | None:
    """Return the mean of the runs that the pointwise bound allows at the published price.

    For -v: it takes some times as long as the answer. None where there is none.
    """
    from privcalc.accounting.selection_gain import mean_at_price
    from privcalc.selection.pointwise import Pointwise

    if not answer.candidates:
        return None
    delta = answer.query["delta"]

    def epsilon_at(runs: Runs) -> float:
        bounds = (Pointwise(runs, part.forward, ROUGH) for part in found.methods.values())
        return max(bound.epsilon(delta) for bound in bounds)

    runs = next(iter(found.methods.values())).runs
    return mean_at_price(runs, answer.methods["paper"], epsilon_at)


def _why(methods: dict[str, Methods], query: dict[str, float]) -> str:
    """Say why there is no finite epsilon."""
    part = next(iter(methods.values()))
    mass = max(each.forward.infinity_mass for each in methods.values())
    mean = part.runs.mean.upper
    if mass > 0.0 and query.get("delta", 1.0) <= mean * mass * (1.0 + 1e-9):
        return (
            f"one run may reveal everything with probability {mass:.6g}, and {mean:.6g} runs are"
            " expected: ask for a delta above the product"
        )
    return f"no method proves a finite epsilon for {part.runs.family} runs of this base"


def _candidates(
    methods: dict[str, Methods], worst: dict[str, float], base: Answer
) -> dict[str, float]:
    """Return the mean of the runs, and what the tight constant allows at the published price."""
    from privcalc.accounting.selection_gain import mean_at_price

    # Of a Renyi curve every point of the profile is a search of its own.
    if base.quantity != "epsilon" or any(part.laws.upper.curves for part in methods.values()):
        return {}
    delta = base.query["delta"]
    runs = next(iter(methods.values())).runs

    def epsilon_at(other: Runs) -> float:
        return max(part.tight_epsilon(other, delta) for part in methods.values())

    found = mean_at_price(runs, worst["paper"], epsilon_at)
    return {} if found is None else {"paper": runs.mean.upper, "tight": found}
