"""What a mechanism costs on the data at hand: no guarantee, and itself sensitive.

A guarantee is about all data sets. What only one of them and its neighbours cost may be far less,
but that is a number which depends on the data: publishing it reveals something, and choosing by it
what to publish does, too. So it stands by itself, and is part of no total.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from privcalc.accounting.answer import Method
from privcalc.accounting.convert import UPPER, Conversion, Converted, check_question, lossless
from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import default_relation, sampling_words
from privcalc.engine.terms import Realized
from privcalc.errors import UnsupportedError, UsageError
from privcalc.numerics.work import QUESTION, allowance
from privcalc.spec import registry
from privcalc.spec.tree import Leaf

if TYPE_CHECKING:
    from privcalc.accounting.answer import Value
    from privcalc.accounting.convert import Question
    from privcalc.mechanisms.base import Mechanism
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node


@allowance(QUESTION)
def on_data(
    tree: Node,
    file: str,
    question: Question,
    *,
    relation: Relation | None = None,
    tolerance: float = 1e-9,
) -> Conversion:
    """State what the uses of one mechanism cost on the data that a file describes.

    Args:
        tree: one mechanism, without count or wrapper: the file has a line for each use.
        file: see the mechanism.
        question: to dp or rdp.
        relation: the neighbouring relation; None for the default.
        tolerance: relative width wished for.

    Raises:
        DomainError: the file is none of its kind.
        UnsupportedError: the tree is more than one mechanism, or one whose cost is not known.
        UsageError: the question is another.
        NotCertifiedError: no finite upper end could be proved.
    """
    check_question(tree, question, tolerance)
    if question.to not in ("dp", "rdp") or question.records != 1:
        raise UsageError("--data-dependent goes with --to dp and --to rdp, and with no --group")
    if not isinstance(tree, Leaf):
        raise UnsupportedError(
            "--data-dependent takes one mechanism, with no count, sampling or sum: the file has a"
            " line for each use"
        )
    relation = relation or default_relation(tree)
    registry.check_relation(tree, relation)
    known = {each.name: each for each in registry.mechanisms() if "on_data" in vars(each.factory)}
    if tree.name not in known:
        *others, last = [each.spelling for each in known.values()]
        raise UnsupportedError(
            "what this mechanism costs on the data at hand is not known; --data-dependent takes one"
            f" use of {', '.join(others)} or {last}, and a file for it"
        )
    part = Realized.of(cast("Mechanism", registry.build(tree)).on_data(file))
    directions = Directions({"both": part}, tolerance)
    found: list[Converted] = []
    if question.to == "rdp":
        bounds = tuple(directions.renyi(question.orders))
        met = all(bound.within_tolerance(tolerance, 1e-300) for bound in bounds)
        values: dict[str, Value] = {"orders": question.orders, "renyi_epsilon": bounds}
        found.append(Converted({}, values, Method("rdp", met)))
    else:
        answers = [directions.answer("epsilon", delta) for delta in question.deltas]
        answers += [directions.answer("delta", epsilon) for epsilon in question.epsilons]
        for answer in answers:
            if answer.bound is None:
                raise AssertionError("only proved engines are asked")
            result: dict[str, Value] = {answer.quantity: answer.bound}
            found.append(Converted(answer.query, result, answer.method, answer.directions))
    kind = lossless(found) if directions.known else UPPER
    return Conversion(tree, relation, sampling_words(tree), kind, tuple(found))
