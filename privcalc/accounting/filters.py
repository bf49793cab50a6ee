"""Privacy filters: what is left of a budget after some steps that were chosen on the way.

Where the parameters of a step, and not only the mechanism, may depend on earlier outputs, costs do
not compose as those of a list that was fixed in advance. A filter admits steps while their costs
add up to at most a budget B, and refuses the next one else. The whole, however the steps were
chosen, then costs no more than the budget:

* Renyi divergences of one order, (order, B)-RDP (Feldman, Zrnic 2021; Zhu 2023, Theorem 5.2.4, for
  the budget of each record by itself),
* rho, B-zCDP: that is the same at all orders at once, with costs rho a and budget B a,
* mu, as squares, B-GDP (Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023).

Proof. Let r be the likelihood ratio of all outputs so far, s what was spent, and V(r, b) the most
that is made of r with a budget b left: r^a e^{(a - 1) b} for a divergence of order a, and for mu
E_Q (r P / Q - e^epsilon)_+ with P = N(b^{1/2}, 1), Q = N(0, 1). V is convex in r and grows with b,
and a step of cost c that is dominated by one with equality, r^a and Gaussian noise of mu^2 = c,
has E_Q V(r p / q, b - c) <= V(r, b) for any c <= b. So V(r, B - s) does not grow on average from
V(1, B), the cost of the budget, whatever is chosen and whenever it is stopped.

The guarantee is that of the budget and not of what was spent: when to stop may depend on outputs,
too. It is never below the exact cost of the admitted steps as a list that was fixed in advance,
which is one way to choose them; the difference is the price of adaptivity.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from privcalc.accounting.compose import compose
from privcalc.accounting.convert import UPPER, Conversion, ConvertedAnswer, check_question
from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import default_relation, realize
from privcalc.bounds import TOLERANCE, Bound
from privcalc.errors import NotCertifiedError, UsageError
from privcalc.exact import doubles, exact
from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.gaussian import GaussianLaw
from privcalc.numerics.work import QUESTION, allowance
from privcalc.renyi.concentrated import smallest_rho
from privcalc.renyi.curve import LinearCurve
from privcalc.spec.tree import Composed, Leaf, Repeated
from privcalc.tradeoff.mu import smallest_mu

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from privcalc.accounting.convert import ConversionQuery
    from privcalc.accounting.directions import Method, Value
    from privcalc.engine.terms import Realized
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node

BUDGETS = "a budget is zcdp:rho=, gdp:mu= or rdp:order=,epsilon="


@allowance(QUESTION)
def filtered(
    tree: Node,
    budget: Node,
    question: ConversionQuery,
    *,
    relation: Relation | None = None,
    tolerance: float = TOLERANCE,
) -> Conversion:
    """State what a filter leaves of a budget after the steps of a specification, in their order.

    Args:
        tree: the steps.
        budget: zcdp with xi = 0, gdp, or rdp at one order.
        question: to dp, at deltas.
        relation: the neighbouring relation; None for the default of the steps.
        tolerance: target relative width.

    Raises:
        UsageError: the budget or the question is another.
        NotCertifiedError: no finite cost of a step is proved, or no epsilon.
    """
    check_question(tree, question, tolerance)
    if question.to != "dp" or question.epsilons or question.records != 1:
        raise UsageError("--filter goes with --to dp and --delta, and with no --group")
    relation = relation or default_relation(tree)
    if not isinstance(budget, Leaf):
        raise UsageError(BUDGETS)
    limit = _limit(budget)
    prefix: list[Node] = []
    spent, admitted = Fraction(0), 0
    for step, count in _steps(tree):
        cost = _cost(step, budget, relation, tolerance)
        fits = count if cost == 0 else min(count, int((limit - spent) / cost))
        spent, admitted = spent + fits * cost, admitted + fits
        if fits:
            prefix.append(Repeated(fits, step))
        if fits < count:
            break
    facts: dict[str, Value] = {
        "spent": doubles(spent)[1],
        "left": doubles(limit - spent)[0],
        "admitted": admitted,
    }
    found: list[ConvertedAnswer] = []
    for delta in question.deltas:
        guaranteed, method = _answered(budget, relation, delta, tolerance)
        fixed = Bound(0.0, 0.0)
        if prefix:
            fixed, _ = _answered(Composed(tuple(prefix)), relation, delta, tolerance)
            # It has the guarantee of the budget, too.
            fixed = Bound(min(fixed.upper, guaranteed.upper), fixed.lower)
        result: dict[str, Value] = {"epsilon": Bound(guaranteed.upper), "fixed_epsilon": fixed}
        found.append(ConvertedAnswer({"delta": delta}, result | facts, method))
    return Conversion(tree, relation, UPPER, tuple(found))


def _answered(
    tree: Node, relation: Relation, delta: float, tolerance: float
) -> tuple[Bound, Method]:
    (answer,) = compose(tree, relation=relation, deltas=(delta,), tolerance=tolerance).answers
    return answer.proved, answer.method


def _limit(budget: Leaf) -> Fraction:
    """Return the budget, of gdp as its square."""
    given = dict(budget.parameters)
    needed = {"zcdp": ["rho"], "gdp": ["mu"], "rdp": ["order", "epsilon"]}.get(budget.name)
    if needed is None or set(given) != set(needed):
        raise UsageError(BUDGETS)
    limit = exact(cast("float", given[needed[-1]]))
    return limit * limit if budget.name == "gdp" else limit


def _steps(tree: Node) -> Iterator[tuple[Node, int]]:
    """Yield the steps with their counts, in the order in which they are written."""
    if isinstance(tree, Composed):
        for event in tree.events:
            yield from _steps(event)
    elif isinstance(tree, Repeated) and isinstance(tree.count, int):
        yield tree.event, tree.count
    else:
        yield tree, 1


def _cost(step: Node, budget: Leaf, relation: Relation, tolerance: float) -> Fraction:
    """Return the cost of one step, rounded up; Gaussian noise and zcdp have theirs exactly."""
    parts = realize(step, relation)
    square = _square(parts, budget.name)
    given = {name: exact(cast("float", value)) for name, value in budget.parameters}
    if square is not None:
        if budget.name == "rdp":
            return square / 2 * given["order"]
        return square if budget.name == "gdp" else square / 2
    if budget.name == "gdp":
        mu = smallest_mu(parts, tolerance, "auto").mu.upper
        return _finite(mu, step) ** 2
    if budget.name == "zcdp":
        return _finite(smallest_rho(parts, tolerance).rho.upper, step)
    order = doubles(given["order"])[1]
    (bound,) = Directions(parts, tolerance).renyi([order])
    return _finite(bound.upper, step)


def _square(parts: Mapping[str, Realized], budget: str) -> Fraction | None:
    """Return mu^2 of Gaussian noise, but for gdp also 2 rho of zcdp; None of all else.

    For zcdp also that of discrete Gaussian noise, which is not its divergence at every order.
    """
    kinds = GaussianLaw | DiscreteGaussianLaw if budget == "zcdp" else GaussianLaw
    total = Fraction(0)
    if len(parts) > 1:
        return None
    (part,) = parts.values()
    for law, count in part.upper.terms:
        if not isinstance(law, kinds):
            return None
        total += law.twice_rho.high * count
    for curve, count in part.upper.curves:
        if budget == "gdp" or not isinstance(curve, LinearCurve) or curve.xi:
            return None
        total += 2 * curve.enclosure.high * count
    return total


def _finite(value: float, step: Node) -> Fraction:
    if math.isinf(value):
        from privcalc.spec.brief import brief

        raise NotCertifiedError(
            f"no finite cost of {brief(step)} is proved in the form of this budget"
        )
    return Fraction(value)
