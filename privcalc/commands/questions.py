"""What is asked: specifications in any form, of which several are one sum; and the relation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from privcalc.errors import SpecError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.relation import Relation
    from privcalc.spec.read import Question


class Recorded(str):
    """A specification as a text, with what it was read as: of that no length is too long."""

    __slots__ = ("question",)

    question: Question

    @classmethod
    def of(cls, text: str, question: Question) -> Recorded:
        """Return a text that stands for a question."""
        found = cls(text)
        found.question = question
        return found


def question(spec: object, *, holes: bool = False, relation: Relation | None = None) -> Question:
    """Read one question, asked under a relation; `holes` is whether it may have free parameters.

    It is a text or JSON; or what Python has of either: an object of the JSON form, or an answer,
    which is read as the guarantee that its numbers are about.
    """
    from privcalc.spec.read import read, reject_holes

    known = spec.question if isinstance(spec, Recorded) else None
    found = known or read(_text(spec), relation, holes=holes)
    if not holes:
        reject_holes(found)
    return found


def _text(spec: object) -> str:
    """Write a specification as the command line takes it: there is one reader."""
    if isinstance(spec, str):
        return spec
    from privcalc.commands.result import Result

    if isinstance(spec, Result):
        return spec.to_json()
    if isinstance(spec, Mapping):
        return as_json(spec)
    hint = ""
    if isinstance(spec, list | tuple):
        hint = "several are arguments of their own: give *specs"
    elif hasattr(spec, "__float__"):
        hint = "numbers have names, as in delta=1e-5"
    kind = type(spec).__name__
    raise SpecError(f"a specification is a text, an object or an answer, got {kind}", hint=hint)


def as_json(value: object) -> str:
    """Write what Python has as JSON, and what JSON has not as the text that it prints."""
    import json

    try:
        return json.dumps(_exactly(value), default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise SpecError(f"not JSON: {error}") from None


def _exactly(value: object) -> object:
    """Return data with numbers of numpy as those of Python, and what is no double as a text."""
    from decimal import Decimal
    from fractions import Fraction

    from privcalc.commands.values import plain, read_number
    from privcalc.exact import Written, shown

    value = plain(value)
    if isinstance(value, Mapping):
        return {key: _exactly(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_exactly(each) for each in value]
    if isinstance(value, Fraction | Decimal):
        value = read_number("a value", value)
    return shown(value) if isinstance(value, Written) else value


def joined(
    specs: Sequence[object], *, holes: bool = False, relation: Relation | None = None
) -> Question:
    """Read specifications in any form as one question, their sum; see `question`."""
    if not specs:
        raise UsageError("a question needs a specification")
    try:
        return summed([question(spec, holes=holes, relation=relation) for spec in specs])
    except SpecError as error:
        from privcalc.spec.read import as_one

        error.hint = as_one(specs) or error.hint
        raise


def unstated() -> Question:
    """Return a question about evidence alone: of a sum of nothing, which no format shows."""
    from privcalc.spec.read import Question
    from privcalc.spec.tree import Composed

    return Question(Composed(()), None, "")


def summed(questions: Sequence[Question]) -> Question:
    """Return the sum of questions; those that bring different relations have none."""
    if len(questions) == 1:
        return questions[0]
    from privcalc.spec.read import Question
    from privcalc.spec.tree import Composed

    trees = [each.tree for each in questions]
    events = [e for t in trees for e in (t.events if isinstance(t, Composed) else (t,))]
    tree = Composed(tuple(events))
    text = "+".join(each.text for each in questions)
    return Question(tree, common_relation(questions), text)


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
    """Return the relation to answer under, of one that is asked for and one that an answer brings.

    None for the default of the specification. Sensitivities are stated under the relation in force:
    the same specification under another relation is another guarantee, and two of them an error.
    """
    if asked is not None and brought is not None and asked is not brought:
        raise UsageError(
            f"what was read holds under {brought.text}, and --relation says {asked.text}; give its"
            " text to ask about another guarantee"
        )
    return asked or brought
