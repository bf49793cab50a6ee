"""Words for what is protected: the neighbouring data sets, the unit of privacy, the sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.record import record
from privcalc.spec.tree import Leaf, Several, Wrapped, nested, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.spec.tree import Node

# Of one record, and of several.
_RELATION = {
    "add_or_remove_one": ("one data set has {} more", "one data set has {} more"),
    "replace_one": ("{} has another value", "{} have other values"),
    "replace_special": ("{} is zeroed out", "{} are zeroed out"),
}
_MIXTURE = " (a record being what the mixture draws the part of, such as all data of one person)"


def records_together(tree: Node, size: int = 1) -> Iterator[int]:
    """Yield how many records each mechanism protects together: as many as `@group` says."""
    parts = nested(tree) if isinstance(tree, Leaf) else ()
    if isinstance(tree, Leaf) and not parts:
        yield size
    elif isinstance(tree, Several):
        parts = tree.events
    elif not isinstance(tree, Leaf):
        parts = (tree.event,)
        if isinstance(tree, Wrapped) and tree.name == "group":
            records = dict(tree.parameters).get("records")
            size *= records if isinstance(records, int) else 1
    for part in parts:
        yield from records_together(part, size)


def relation_words(relation: Relation, spec: Node) -> str:
    """Name the relation, and say how neighbours differ."""
    sizes = set(records_together(spec))
    size = max(sizes)
    one, several = _RELATION[relation.value]
    if len(sizes) > 1:
        meaning = several.format("all records of one person")
        return f"{relation.text} of a person's records ({meaning})"
    if size > 1:
        return f"{relation.text}, {size:d} times ({several.format(f'{size:d} records')})"
    return f"{relation.text} ({one.format('one record')})"


def unit(spec: Node) -> str:
    """Name what is protected: one record, or as many as `@group` says."""
    sizes = set(records_together(spec))
    size = max(sizes)
    words = "one record" if size == 1 else f"{size:d} records together"
    if len(sizes) > 1:
        words = "one person, with as many records in each part as @group says there, else one"
    # A mixture has its own idea of what a record is.
    return words + (_MIXTURE if "gaussian_mixture" in _mechanisms(spec) else "")


def _mechanisms(spec: Node) -> set[str]:
    return {each.name for each in nodes(spec) if isinstance(each, Leaf)}


@record
class _Kind:
    """Words for one kind of sampling.

    Attributes:
        meaning: what is assumed.
        where: which parts of a sum it is said of, if it is the only kind.
        at: the same if there are others; "" where it is the same.
        hint: what tables add.
        apart: what a statement adds instead: in a paper nobody can look up a wrapper.
        name: what it is called, if that is not its name in the report.
    """

    meaning: str
    where: str = ""
    at: str = ""
    hint: str = ""
    apart: str = ""
    name: str = ""


_TO_BATCHES, _NOT_SHUFFLED = "; for shuffling see @batches", "; not shuffling"
_PLANNED = (
    "each record joins at most as many steps, and as far apart, as participations and separation"
    " say; of samples, by lot"
)
_MATRIX = " in matrix-gaussian"
_SAMPLING = {
    "none": _Kind("every step uses every record"),
    "Poisson": _Kind(
        "each record joins each batch independently",
        " where sampled",
        " at @poisson",
        _TO_BATCHES,
        _NOT_SHUFFLED,
    ),
    "Poisson on each level": _Kind(
        "each record has a coin of its own at each level; clients that are sampled with all their"
        " records cost more, and this is not their number",
        " where a sample is sampled",
    ),
    "Poisson with a cap": _Kind(
        "each record joins each batch independently, and a batch of more than max is cut to max by"
        " lot",
        " where sampled",
        " at @poisson with max",
        _TO_BATCHES,
        _NOT_SHUFFLED,
    ),
    "fixed size without replacement": _Kind(
        "each batch is drawn by lot, anew",
        " where sampled",
        " at @wor",
        _NOT_SHUFFLED,
        _NOT_SHUFFLED,
    ),
    "random allocation": _Kind(
        "each record joins one step of an epoch, by lot",
        " where allocated",
        " at @allocation",
        _TO_BATCHES,
        _NOT_SHUFFLED,
    ),
    "shuffled reports": _Kind(
        "one of each person, without names",
        " where shuffled",
        " at @shuffle",
        "; for batches see @batches",
    ),
    "shuffled batches": _Kind(
        "each pass goes through the records in an order that is drawn anew",
        " where shuffled",
        " at @batches",
        name="shuffled batches of fixed size",
    ),
    "drawn contributions": _Kind(
        "how much a record contributes is drawn anew in every use, as the probabilities say",
        " in the mixture",
    ),
    "planned participations": _Kind(_PLANNED, _MATRIX),
    "planned participations, tree completed": _Kind(
        f"{_PLANNED}; virtual steps make their number a power of two, and complete every node",
        f"{_MATRIX}, tree completed",
        name="planned participations",
    ),
    "planned participations, tree not completed": _Kind(
        f"{_PLANNED}; nodes that end after the last step are not published",
        f"{_MATRIX}, tree not completed",
        hint="; for virtual steps that complete them see completion=true",
        name="planned participations",
    ),
}

# Said of sampling instead of "none".
STATED = "as stated"
_GUARANTEES = {"pure", "approx", "gdp", "zcdp", "rdp", "profile"}


def stated(report: Report) -> bool:
    """Return whether a guarantee rests on others alone, which may be those of samples."""
    return report.sampling == "none" and _mechanisms(report.spec) <= _GUARANTEES


def sampling_name(report: Report) -> str:
    """Name every kind of sampling, without what it means."""
    return listed([name for name, _ in _kinds(report)])


def sampling_words(report: Report, *, paper: bool = False) -> str:
    """Name every kind of sampling with what it means, for tables or for a paper."""
    kinds = _kinds(report)
    found = []
    for name, kind in kinds:
        # Of several kinds none is the one that another should be looked up for.
        more = "" if len(kinds) > 1 else kind.apart if paper else kind.hint
        found.append(f"{name} ({kind.meaning}{more})")
    return listed(found)


def _kinds(report: Report) -> list[tuple[str, _Kind]]:
    """Return every kind of sampling with what it is called here."""
    if stated(report):
        return [(STATED, _Kind("the guarantees take it into account"))]
    keys = report.sampling.split(" and ")
    found = []
    for key in keys:
        kind = _SAMPLING[key]
        where = (kind.at or kind.where) if len(keys) > 1 else kind.where
        if report.sample and len(keys) == 1:
            where = f", {report.sample}"
        found.append(((kind.name or key) + where, kind))
    return found


def listed(words: Sequence[str]) -> str:
    """Join words as a list in a sentence."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
