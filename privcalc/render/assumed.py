"""What numbers assume, in words: neighbouring data sets, the unit of privacy, and the sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.record import record
from privcalc.spec.tree import Leaf, Repeated, Several, Wrapped, nested

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.spec.tree import Node


@record
class _Kind:
    """Words for one kind of sampling.

    Attributes:
        name: what it is called.
        where: which parts of a sum it is said of, if it is the only kind.
        at: the same if there are others.
        meaning: what is assumed.
        hint: what tables add.
        apart: what a statement adds instead: in a paper nobody can look up a wrapper.
    """

    name: str
    where: str
    at: str
    meaning: str
    hint: str = ""
    apart: str = ""


_PLANNED = (
    "each record joins at most as many steps, and as far apart, as participations and separation"
    " say; of samples, by lot"
)
_TO_BATCHES = "; for shuffling see @batches"
_NOT_SHUFFLED = "; not shuffling"
_SAMPLING = {
    "none": _Kind("none", "", "", "every step uses every record"),
    "Poisson": _Kind(
        "Poisson",
        " where sampled",
        " at @poisson",
        "each record joins each batch independently",
        _TO_BATCHES,
        _NOT_SHUFFLED,
    ),
    "Poisson with a cap": _Kind(
        "Poisson with a cap",
        " where sampled",
        " at @poisson with max",
        "each record joins each batch independently, and a batch of more than max is cut to max by"
        " lot",
        _TO_BATCHES,
        _NOT_SHUFFLED,
    ),
    "fixed size without replacement": _Kind(
        "fixed size without replacement",
        " where sampled",
        " at @wor",
        "each batch is drawn by lot, anew",
        _NOT_SHUFFLED,
        _NOT_SHUFFLED,
    ),
    "random allocation": _Kind(
        "random allocation",
        " where allocated",
        " at @allocation",
        "each record joins one step of an epoch, by lot",
        _TO_BATCHES,
        _NOT_SHUFFLED,
    ),
    "shuffled reports": _Kind(
        "shuffled reports",
        " where shuffled",
        " at @shuffle",
        "one of each person, without names",
        "; for batches see @batches",
    ),
    "shuffled batches": _Kind(
        "shuffled batches of fixed size",
        " where shuffled",
        " at @batches",
        "at most as without sampling, at least as with @allocation",
    ),
    "drawn contributions": _Kind(
        "drawn contributions",
        " in the mixture",
        " in the mixture",
        "how much a record contributes is drawn anew in every use, as the probabilities say",
    ),
    "planned participations": _Kind(
        "planned participations",
        " in matrix-gaussian",
        " in matrix-gaussian",
        _PLANNED,
    ),
    "planned participations, tree completed": _Kind(
        "planned participations",
        " in matrix-gaussian, tree completed",
        " in matrix-gaussian, tree completed",
        f"{_PLANNED}; virtual steps make their number a power of two, and complete every node",
    ),
    "planned participations, tree not completed": _Kind(
        "planned participations",
        " in matrix-gaussian, tree not completed",
        " in matrix-gaussian, tree not completed",
        f"{_PLANNED}; nodes that end after the last step are not published",
        "; for virtual steps that complete them see completion=true",
    ),
}
# Of one record, and of several.
_RELATION = {
    "add_or_remove_one": ("one data set has {} more", "one data set has {} more"),
    "replace_one": ("{} has another value", "{} have other values"),
    "replace_special": ("{} is zeroed out", "{} are zeroed out"),
}
_MIXTURE = " (a record being what the mixture draws the part of, such as all data of one person)"


def relation_words(relation: Relation, spec: Node) -> str:
    """Say which data sets are neighbours; those of groups differ in several records."""
    sizes = set(_sizes(spec, 1))
    size = max(sizes)
    one, several = _RELATION[relation.value]
    if len(sizes) > 1:
        meaning = several.format("all records of one person")
        return f"{relation.text} of a person's records ({meaning})"
    if size > 1:
        return f"{relation.text}, {size:d} times ({several.format(f'{size:d} records')})"
    return f"{relation.text} ({one.format('one record')})"


def unit(spec: Node) -> str:
    """Say what is protected: one record, or as many as `@group` says."""
    sizes = set(_sizes(spec, 1))
    size = max(sizes)
    words = "one record" if size == 1 else f"{size:d} records together"
    if len(sizes) > 1:
        words = "one person, with as many records in each part as @group says there, else one"
    return words + (_MIXTURE if _drawn(spec) else "")


def sampling_name(report: Report) -> str:
    """Name every kind of sampling, without what it means."""
    kinds = _kinds(report)
    return _and([_named(each, report, kinds) for each in kinds])


def sampling_words(report: Report, *, paper: bool = False) -> str:
    """Name every kind of sampling with what it means, for tables or for a paper."""
    kinds = _kinds(report)
    found = []
    for each in kinds:
        # Of several kinds none is the one that another should be looked up for.
        more = "" if len(kinds) > 1 else each.apart if paper else each.hint
        meaning = each.meaning.replace("@", "random ") if paper else each.meaning
        found.append(f"{_named(each, report, kinds)} ({meaning}{more})")
    return _and(found)


def _kinds(report: Report) -> list[_Kind]:
    return [_SAMPLING[each] for each in report.sampling.split(" and ")]


def _named(kind: _Kind, report: Report, kinds: list[_Kind]) -> str:
    if len(kinds) > 1:
        return kind.name + kind.at
    return f"{kind.name}, {report.sample}" if report.sample else kind.name + kind.where


def _and(words: list[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _sizes(node: Node, size: int) -> Iterator[int]:
    """Yield how many records each mechanism protects together."""
    if isinstance(node, Several):
        for event in node.events:
            yield from _sizes(event, size)
    elif isinstance(node, Repeated):
        yield from _sizes(node.event, size)
    elif isinstance(node, Wrapped):
        records = dict(node.parameters).get("records") if node.name == "group" else None
        yield from _sizes(node.event, size * records if isinstance(records, int) else size)
    elif isinstance(node, Leaf) and nested(node):
        for event in nested(node):
            yield from _sizes(event, size)
    else:
        yield size


def _drawn(node: Node) -> bool:
    """Say whether a mixture has its own idea of what a record is."""
    if isinstance(node, Several):
        return any(_drawn(event) for event in node.events)
    if isinstance(node, Leaf):
        return node.name == "gaussian_mixture" or any(_drawn(each) for each in nested(node))
    return _drawn(node.event)
