"""What the functions of the library are given: specifications in any form, names and numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from privcalc.errors import SpecError, UsageError
from privcalc.library.result import Result
from privcalc.relation import Relation
from privcalc.reporting.questions import joined

if TYPE_CHECKING:
    from privcalc.spec.read import Question

Spec = str | Mapping[str, object] | Result
"""A specification: text, an object of its JSON form, or an answer (which is read as the guarantee
that its numbers are about, under its relation, or refused)."""

Numbers = float | Sequence[float] | None


def asked(specs: Sequence[Spec], *, holes: bool = False) -> Question:
    """Read the specifications as one question, their sum.

    Raises:
        SpecError: one cannot be read.
        UsageError: there is none, or answers bring different relations.
    """
    if not specs:
        raise UsageError("a question needs a specification")
    return joined([_text(spec) for spec in specs], holes=holes)


def _text(spec: Spec) -> str:
    """Write a specification as the command line takes it: there is one reader."""
    if isinstance(spec, str):
        return spec
    if isinstance(spec, Result):
        return spec.to_json()
    if isinstance(spec, Mapping):
        try:
            return json.dumps(dict(spec), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise SpecError(f"not JSON: {error}") from None
    kind = type(spec).__name__
    raise SpecError(f"a specification is a text, an object or an answer, got {kind}")


def relation_named(name: str | Relation | None) -> Relation | None:
    """Return a relation by its name, with dashes or underscores; None for the default."""
    if name is None or isinstance(name, Relation):
        return name
    known = {each.value: each for each in Relation}
    if name.replace("-", "_") not in known:
        words = ", ".join(each.text for each in Relation)
        raise UsageError(f"{name!r} is no relation; known: {words}")
    return known[name.replace("-", "_")]


def numbers(given: Numbers) -> tuple[float, ...]:
    """Return one number, or several, as a tuple; none for None."""
    if given is None:
        return ()
    return tuple(map(float, given)) if isinstance(given, Sequence) else (float(given),)


def one_place(delta: float | None, epsilon: float | None) -> None:
    """Refuse two questions in one: an answer has one bracket of epsilon, or one of delta."""
    if delta is not None and epsilon is not None:
        raise UsageError("an answer is about one delta or one epsilon; ask for both in turn")
