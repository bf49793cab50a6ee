"""What a printed answer guarantees: its specification, under its relation.

Whoever pipes an answer on means what its numbers are about. The field `spec` says that, with the
sampling, the rounds, the selection and the group that a command added; an answer that guarantees
nothing, or of which it is not certain what it guarantees, is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

from privcalc.errors import SpecError
from privcalc.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

RESULT_SCHEMA = "privcalc/result/v1"
_FIELDS = {
    "schema",
    "version",
    "command",
    "spec",
    "text",
    "relation",
    "query",
    "result",
    "method",
    "check",
}
_SAMPLES = {
    "poisson_sampled": ("sampling_probability",),
    "sampled_without_replacement": ("source_dataset_size", "sample_size"),
}
_ASK = 'give its "text" to ask about that'


def guaranteed(answer: Mapping[str, object]) -> tuple[object, Relation]:
    """Return the specification that an answer is about, as JSON, and its relation.

    Args:
        answer: an object with a schema.

    Raises:
        SpecError: it is no answer, or none that guarantees something.
    """
    schema = answer["schema"]
    if schema != RESULT_SCHEMA:
        hint = "an error has no specification: the command before this one failed"
        _fail(
            f'an answer has the schema "{RESULT_SCHEMA}"',
            hint if schema == "privcalc/error/v1" else "",
        )
    if "spec" not in answer or "relation" not in answer:
        _fail('an answer has the fields "spec" and "relation"')
    if "caution" in answer:
        _fail(
            "this answer depends on the data at hand: it is no guarantee, itself sensitive, and"
            " part of no total",
            "what its mechanism costs on all data is guaranteed; " + _ASK,
        )
    if set(answer) - _FIELDS:
        # What they say of the guarantee is not known here.
        _fail("this answer has fields that are not known: a later version of privcalc printed it")
    _check_result(answer.get("command"), _object(answer, "query"), _object(answer, "result"))
    if answer.get("command") == "subsample":
        _check_sample(_object(answer, "query"), answer["spec"])
    relations = {relation.value: relation for relation in Relation}
    relation = answer["relation"]
    if not isinstance(relation, str) or relation not in relations:
        _fail(f"relation is one of {', '.join(relations)}")
    return answer["spec"], relations[relation]


def _check_result(
    command: object, query: Mapping[str, object], result: Mapping[str, object]
) -> None:
    """Refuse numbers that are no guarantee, or not that of the specification beside them."""
    if any(isinstance(value, dict) and "estimate" in value for value in result.values()):
        _fail("this answer is an estimate without certificate, and guarantees nothing", _ASK)
    if "thresholds" in result:
        _fail("thresholds are about candidates, which this answer has not: it is no guarantee")
    if "fixed_epsilon" in result:
        _fail("a filter guarantees its budget, and not the list of its steps", "ask about that")
    if command == "subsample" and "orders" in result and query.get("count", 1) != 1:
        _fail(
            f"this Renyi curve is of one round, and {query['count']!r} were asked about: take the"
            " line with epsilon, which is of all"
        )


def _check_sample(query: Mapping[str, object], spec: object) -> None:
    """Refuse an answer whose specification is without the sampling and rounds of its query.

    So it was at first, and what was read from it was the mechanism on all records, once.
    """
    node = spec
    count = query.get("count", 1)
    if count != 1 and isinstance(node, dict):
        node = node.get("event") if node.get("count") == count else None
    if isinstance(node, dict):
        names = _SAMPLES.get(str(node.get("type")), ())
        if names and all(name in query and _same(query[name], node.get(name)) for name in names):
            return
    _fail("this answer is of an earlier version: its specification lacks the sampling; ask again")


def _same(asked: object, kept: object) -> bool:
    """Say whether a number of a query, a double, is the one of the specification."""
    from privcalc.spec.json.value import read_number

    number = read_number(kept)
    return number is not None and asked == float(number)


def _object(answer: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = answer.get(name, {})
    if not isinstance(found, dict):
        _fail(f'the field "{name}" of an answer is an object')
    return cast("dict[str, object]", found)


def _fail(message: str, hint: str = "") -> NoReturn:
    raise SpecError(message, hint=hint)
