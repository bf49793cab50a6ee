"""What mechanisms cost on the data at hand: no guarantee, and itself sensitive.

A guarantee is about all data sets. What only one of them and its neighbours cost may be far less,
but that is a number which depends on the data: publishing it reveals something, and choosing by it
what to publish does, too. So it stands by itself, and is part of no total.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from privcalc.accounting.answer import Method
from privcalc.accounting.convert import UPPER, Conversion, ConvertedAnswer, check_question, lossless
from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import default_relation, sampling_words
from privcalc.bounds import TOLERANCE, Proof
from privcalc.engine.terms import Realized
from privcalc.errors import UnsupportedError, UsageError
from privcalc.numerics.work import QUESTION, allowance
from privcalc.spec import registry
from privcalc.spec.tree import Composed, Leaf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.accounting.answer import Value
    from privcalc.accounting.convert import ConversionQuery
    from privcalc.mechanisms.base import Mechanism
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node


@allowance(QUESTION)
def on_data(
    tree: Node,
    files: str | Sequence[str],
    question: ConversionQuery,
    *,
    relation: Relation | None = None,
    tolerance: float = TOLERANCE,
) -> Conversion:
    """State what the uses of mechanisms cost on the data that files describe.

    Each use costs no more than it does for the neighbours that are worst for it, whichever these
    are for others, so that the curves of all uses add up, of all mechanisms.

    Args:
        tree: one mechanism or a sum, without count or wrapper: a file has a line for each use.
        files: one for all mechanisms, such as the same votes, or one for each in their order.
        question: to dp or rdp.
        relation: the neighbouring relation; None for the default.
        tolerance: target relative width.

    Raises:
        DomainError: a file is none of its kind.
        UnsupportedError: a part is no mechanism alone, or its cost is not known.
        UsageError: the question is another, or there are too few files or too many.
        NotCertifiedError: no finite upper end could be proved.
    """
    check_question(tree, question, tolerance)
    if question.to not in ("dp", "rdp") or question.records != 1:
        raise UsageError("--data-dependent goes with --to dp and --to rdp, and with no --group")
    mechanisms = [_leaf(each) for each in (tree.events if isinstance(tree, Composed) else (tree,))]
    relation = relation or default_relation(tree)
    registry.check_relation(tree, relation)
    read = (files,) if isinstance(files, str) else tuple(files)
    if len(read) not in (1, len(mechanisms)):
        raise UsageError(
            f"--data-dependent takes one file for all mechanisms, or one for each: {len(read)} for"
            f" {len(mechanisms)}"
        )
    read *= len(mechanisms) if len(read) == 1 else 1
    built = [cast("Mechanism", registry.build(each)) for each in mechanisms]
    parts = {
        adjacency.value: [
            term
            for each, file in zip(built, read, strict=True)
            for term in each.on_data(file, adjacency)
        ]
        for adjacency in relation.adjacencies
    }
    directions = Directions(Realized.directions(parts), tolerance)
    found: list[ConvertedAnswer] = []
    if question.to == "rdp":
        bounds = tuple(directions.renyi(question.orders))
        met = all(bound.within_tolerance(tolerance, 1e-300) for bound in bounds)
        values: dict[str, Value] = {"orders": question.orders, "renyi_epsilon": bounds}
        found.append(ConvertedAnswer({}, values, Method(Proof.RENYI, met)))
    else:
        answers = [directions.answer("epsilon", delta) for delta in question.deltas]
        answers += [directions.answer("delta", epsilon) for epsilon in question.epsilons]
        for answer in answers:
            result: dict[str, Value] = {answer.quantity: answer.proved}
            found.append(ConvertedAnswer(answer.query, result, answer.method, answer.directions))
    kind = lossless(found) if directions.known else UPPER
    return Conversion(tree, relation, sampling_words(tree), kind, tuple(found))


def _leaf(tree: Node) -> Leaf:
    """Return a part as the mechanism that it is, of which it is known what it costs."""
    if not isinstance(tree, Leaf):
        raise UnsupportedError(
            "--data-dependent takes one mechanism or a sum of several, with no count and no"
            " sampling: the file has a line for each use"
        )
    known = {each.name: each for each in registry.mechanisms() if "on_data" in vars(each.factory)}
    if tree.name not in known:
        *others, last = [each.spelling for each in known.values()]
        raise UnsupportedError(
            f"what {registry.entry(tree.name).spelling} costs on the data at hand is not known;"
            f" --data-dependent takes {', '.join(others)} or {last}, and a file for it"
        )
    return tree
