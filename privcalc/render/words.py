"""Words that the formats for people share: numbers as they were written, brackets, what is asked.

That is which data sets are neighbours, the unit of privacy, and the sampling.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict, round_down, round_up
from privcalc.exact import Written, decimal_below
from privcalc.record import record
from privcalc.render.report import OneSided
from privcalc.spec.registry import SHOWN, to_text
from privcalc.spec.tree import Leaf, Repeated, Several, Wrapped, nested, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from privcalc.accounting.directions import Method
    from privcalc.relation import Relation
    from privcalc.render.report import Number, Report
    from privcalc.spec.tree import Node


UNKNOWN = "unknown"
"""Stands in tables for a lower end that nothing proves; an empty cell would shift columns."""

NONE = "-"
"""Stands in tables for a number that a method does not have."""

COLUMNS = {"orders": "order", "methods": "upper bound", "constants": "C", "name": "mechanism"}
"""Columns whose heading is not their name."""

METHODS = {
    "rdp_classic": "RDP, classic",
    "rdp_best": "RDP, best",
    "rdp": "RDP",
    "liu_talwar": "Liu-Talwar",
    "pure": "pure DP",
}
"""Headings of baselines."""

_CONVERSIONS = {
    "classic": "converted as in Mironov 2017",
    "balle": "converted as in Balle et al. 2020",
    "optimal": "converted optimally (Asoodeh et al. 2021)",
    "trade_off": "converted by the trade-off function of that order",
}


def number(value: float) -> str:
    """Write a double so that it reads back exactly, and as briefly as that allows."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return short_exponent(
        repr(value if isinstance(value, int) else float(value)).removesuffix(".0")
    )


def short_exponent(text: str) -> str:
    """Write the exponent as brackets have it: 1e-5 for 1e-05, and none for e+00."""
    return re.sub(
        r"e([+-]?)0*([0-9]*)", lambda f: f"e{f[1].strip('+')}{f[2]}" if f[2] else "", text
    )


def bracket(bound: Bound) -> str:
    """Write a bracket on one line, rounded outward."""
    lower, upper = bound.decimals()
    return f"[{lower}, {upper}]" if lower else f"at most {upper}"


def one_sided(value: OneSided) -> str:
    """Write a bound, rounded to its safe side; at 10 digits five columns fit 80 characters."""
    return (round_up if value.is_upper else round_down)(value.value)


def named(value: Number | str) -> str:
    """Write one of several named numbers; a bracket counts as its upper end."""
    if isinstance(value, str):
        return value
    if isinstance(value, Bound):
        return round_up(value.upper)
    return one_sided(value) if isinstance(value, OneSided) else number(value)


def title(reports: Sequence[Report]) -> str:
    """Return the specification, with _ for what answers do not share (of a sweep, say).

    A long one is described.
    """
    distinct = {id(report.spec): report.spec for report in reports}.values()
    first, *rest = dict.fromkeys(map(to_text, distinct))
    if len(first) > SHOWN:
        from privcalc.spec.brief import brief

        return brief(reports[0].spec, reports[0].written)
    parts = re.split(r"([@+:,=()])", first)
    for text in rest:
        others = re.split(r"([@+:,=()])", text)
        if len(others) != len(parts):
            return first
        parts = [a if a == b else "_" for a, b in zip(parts, others, strict=True)]
    return "".join(parts)


def names(reports: Sequence[Report]) -> tuple[tuple[str, str], ...]:
    """Return what answers to one question are called, where they have a name, as a fact."""
    return (("name", reports[0].name),) if reports[0].name else ()


def remarks(reports: Sequence[Report]) -> list[tuple[str, str]]:
    """Return what stands below the tables of the answers to one question, each line once."""
    found = [remark for report in reports for remark in report.remarks]
    reasons = [("why", reason) for report in reports for reason in report.reasons]
    return list(dict.fromkeys([*reasons, *found]))


def renyi_remark(order: float, conversion: str) -> str:
    """Say which Renyi order proved a number, and how it was converted."""
    return f"Renyi divergence of order {order:.6g}, {_CONVERSIONS[conversion]}"


VERDICTS = {
    Verdict.WITHIN: "within budget",
    Verdict.EXCEEDED: "over budget",
    Verdict.UNDECIDED: "undecided",
}


class _Double(float):
    """A number that keeps its text."""

    __slots__ = ("text",)

    text: str

    def __reduce__(self) -> tuple[object, ...]:
        """Say how a copy is made."""
        return as_written, (float(self), self.text)


class _Ratio(Written):
    """A number that is no double, and keeps its text."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Say how a copy is made."""
        return as_written, (Written(float(self), self.exact), self.text)


def as_written(value: float, text: str) -> float:
    """Return the number so that `written` gives the text; it stands for what it stood for."""
    found: _Double | _Ratio
    found = _Ratio(value, value.exact) if isinstance(value, Written) else _Double(value)
    found.text = text
    return found


def least(budget: float) -> float:
    """Return the greatest double that is printed as no more than a budget that was written.

    Whoever compares a printed upper end with it passes nothing that does not pass here.
    """
    return decimal_below(budget.exact) if isinstance(budget, Written) else budget


def written(value: float) -> str:
    """Return a number as it was written, or as it is printed where nobody wrote it."""
    return value.text if isinstance(value, _Double | _Ratio) else number(value)


def proof_remarks(method: Method, query: Mapping[str, float]) -> tuple[tuple[str, str], ...]:
    """Name the Renyi order that proved an answer, as a remark; none where there was none."""
    if method.order is None:
        return ()
    at = "".join(f"at {name} {written(value)}: " for name, value in query.items())
    return (("proof", at + renyi_remark(method.order, method.conversion)),)


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
    "Poisson on each level": _Kind(
        "Poisson on each level",
        " where a sample is sampled",
        " where a sample is sampled",
        "each record has a coin of its own at each level; clients that are sampled with all their"
        " records cost more, and this is not their number",
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
        "each pass goes through the records in an order that is drawn anew",
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
    if stated(report):
        return [_Kind(STATED, "", "", "the guarantees take it into account")]
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


# Said of sampling instead of "none".
STATED = "as stated"
_GUARANTEES = ("pure", "approx", "gdp", "zcdp", "rdp", "profile")


def stated(report: Report) -> bool:
    """Say whether a guarantee rests on others alone, which may be those of samples."""
    leaves = [each for each in nodes(report.spec) if isinstance(each, Leaf)]
    return report.sampling == "none" and all(each.name in _GUARANTEES for each in leaves)


def _drawn(tree: Node) -> bool:
    """Say whether a mixture has its own idea of what a record is."""
    return any(isinstance(each, Leaf) and each.name == "gaussian_mixture" for each in nodes(tree))
