"""Questions: several specifications are one sum, and answers bring their relations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from privcalc.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.spec.read import Question


class Asking(Protocol):
    """What is asked of every specification of one invocation, such as `Composing`."""

    @property
    def relation(self) -> Relation | None:
        """The relation that is asked for, where one is."""
        ...

    def __call__(self, question: Question) -> Sequence[Report]:
        """Answer one question."""
        ...


def question(text: str, *, holes: bool = False, relation: Relation | None = None) -> Question:
    """Read one question, asked under a relation; without `holes` it has to be complete."""
    from privcalc.spec.read import read
    from privcalc.spec.registry import reject_holes

    found = read(text, relation)
    if not holes:
        reject_holes(found)
    return found


def joined(
    specs: Sequence[str], *, holes: bool = False, relation: Relation | None = None
) -> Question:
    """Read the specifications as one question, their sum.

    Args:
        specs: texts or JSON; answers that bring different relations have no sum.
        holes: whether there may be holes.
        relation: the one that is asked for.
    """
    return summed([question(spec, holes=holes, relation=relation) for spec in specs])


def summed(questions: Sequence[Question]) -> Question:
    """Return the sum of questions; those that bring different relations have none."""
    if len(questions) == 1:
        return questions[0]
    from privcalc.spec.read import Question
    from privcalc.spec.text import to_text
    from privcalc.spec.tree import Composed

    trees = [each.tree for each in questions]
    events = [e for t in trees for e in (t.events if isinstance(t, Composed) else (t,))]
    tree = Composed(tuple(events))
    return Question(tree, common_relation(questions), to_text(tree))


def common_relation(questions: Sequence[Question]) -> Relation | None:
    """Return the relation that questions bring; None where none of them is an answer."""
    relations = {each.relation for each in questions if each.relation is not None}
    if len(relations) > 1:
        names = " and ".join(sorted(each.text for each in relations))
        raise UsageError(
            f"the answers hold under different relations, {names}, and have no sum; give their"
            " texts, with --relation"
        )
    return relations.pop() if relations else None


def relation_in_force(asked: Relation | None, brought: Relation | None) -> Relation | None:
    """Return the relation to answer under; None for the default of the specification.

    Args:
        asked: by the command line.
        brought: by an answer, or an event of another library, that is asked about.

    Raises:
        UsageError: they differ. Sensitivities are stated under the relation in force, so that the
            same specification under another relation is another guarantee.
    """
    if asked is not None and brought is not None and asked is not brought:
        raise UsageError(
            f"what was read holds under {brought.text}, and --relation says {asked.text}; give its"
            " text to ask about another guarantee"
        )
    return asked or brought
