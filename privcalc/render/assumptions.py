"""What the numbers assume: the neighbours, the sampling, and the sensitivity of each noise.

A sensitivity says what one record does to what is computed, under the relation that the mechanism
is read under: inside a wrapper that may be another than that of the answer. Where it is left out, 1
stands for it. That is a guess, which every format names. It is most often wrong where a record is
replaced: what is clipped to norm C then changes by 2 C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from privcalc.record import record
from privcalc.relation import Relation
from privcalc.render.words import number, sample, title
from privcalc.spec.entry import number_text
from privcalc.spec.registry import entry, under
from privcalc.spec.tree import Leaf, Several, Wrapped, nested, nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from privcalc.render.report import Report
    from privcalc.spec.tree import Node

# Heads the line, and the column, that says so.
NAME = "sensitivity"
# So many are named one by one.
_MOST = 3
# Of which record a sensitivity is that, where the answer is about other neighbours.
_OF = {
    Relation.ADD_OR_REMOVE_ONE: "of one record more",
    Relation.REPLACE_ONE: "of one record with another value",
    Relation.REPLACE_SPECIAL: "of one record zeroed out",
}


def assumptions(reports: Sequence[Report], *, paper: bool = False) -> tuple[tuple[str, str], ...]:
    """Say what the numbers assume; every table shows these lines, and so does a paper."""
    report, noise = reports[0], sensitivities(reports)
    if not report.text:
        return report.facts
    count = ""
    if report.sampling != "none" and not paper:
        from privcalc.render.passes import passes

        # Of a sweep they may differ; a curve is of one of several rounds.
        often = [*dict.fromkeys(passes(each.spec) for each in reports)]
        alone = len(often) == 1 or title(reports) == report.text
        count = f"; {often[-1]}" if alone and often[-1] else ""
    return (
        ("relation", relation_words(report.relation, report.spec)),
        *(((NAME, noise),) if noise else ()),
        ("sampling", sampling_words(report, paper=paper) + count),
        *((("caution", report.caution),) if report.caution else ()),
        *report.facts,
    )


@record
class Given:
    """What bounds the part of one record in a mechanism; names are those of text.

    Where the noise is a multiple of it, with the parameter and its value, the bound has no value.
    """

    mechanism: str
    parameter: str
    value: float | None
    multiple: tuple[str, float] | None
    assumed: bool
    relation: Relation


def given(reports: Sequence[Report]) -> tuple[Given, ...]:
    """Return what the mechanisms of these answers were given, each once, in their order."""
    specs = {
        id(spec): (spec, report.relation)
        for report in reports
        for spec in (report.spec, *report.candidates)
    }
    calls = (each for pair in specs.values() for each in under(*pair))
    found = (_of_leaf(leaf, here) for leaf, here, _ in calls if isinstance(leaf, Leaf))
    return tuple(dict.fromkeys(each for several in found for each in several))


def _of_leaf(leaf: Leaf, relation: Relation) -> Iterator[Given]:
    known = entry(leaf.name)
    values = {key: each for key, each in leaf.parameters if isinstance(each, int | float)}
    for parameter in known.parameters:
        instead = any(a == parameter.name and b in values for a, b in known.excludes)
        value, multiple = values.get(parameter.name), None
        if not parameter.contribution or instead or (value is None and parameter.default is None):
            continue
        for other, excluded in known.excludes:
            if excluded == parameter.name and other in values:
                multiple = other, values[other]
        assumed = value is None and multiple is None
        if assumed:
            default = cast("float", parameter.default)
            # As a plain number: 1 for 1.0.
            value = int(default) if default == int(default) else default
        yield Given(known.spelling, parameter.spelling, value, multiple, assumed, relation)


def sensitivities(reports: Sequence[Report]) -> str:
    """Name the sensitivity of each noise on one line: `gaussian 1 (assumed), laplace 2`; or ""."""
    kinds: dict[tuple[str, str, Relation], list[Given]] = {}
    for each in (found := given(reports)):
        kinds.setdefault((each.mechanism, each.parameter, each.relation), []).append(each)
    alone = len({mechanism for mechanism, _, _ in kinds}) == 1
    pieces = []
    for (mechanism, parameter, relation), several in kinds.items():
        about = "" if relation is reports[0].relation else _OF[relation]
        named = ("" if alone else mechanism, "" if parameter == NAME else parameter)
        pieces.append(" ".join([*filter(None, named), _values(several, about)]))
    more = len(pieces) - _MOST
    if more > 1:
        pieces[_MOST:] = [f"and {more} more kinds of noise"]
        pieces[-1] += ", some of them assumed" if any(each.assumed for each in found) else ""
    return ", ".join(pieces)


def _values(several: Iterable[Given], about: str) -> str:
    """Say which values there are, and which of them nobody wrote."""
    values = sorted({each.value for each in several if each.value is not None and not each.assumed})
    texts = [number_text(value) for value in values]
    if len(texts) > _MOST:
        texts = [f"{number_text(values[0])} to {number_text(values[-1])}"]
    pieces = [" and ".join(texts)] if texts else []
    for each in several:
        if each.assumed and each.value is not None:
            pieces.insert(0, f"{number(each.value)} (assumed{', ' + about if about else ''})")
            about = ""
        elif each.multiple is not None:
            unit = f"the unit of {each.multiple[0]}"
            pieces += [unit] if unit not in pieces else []
    text = " and ".join(pieces)
    return f"{text} ({about})" if about else text


def assumed(report: Report) -> list[dict[str, object]]:
    """Return what was assumed as data, one object for each kind of mechanism."""
    return [
        {
            "mechanism": each.mechanism,
            "parameter": each.parameter,
            "value": each.value,
            "relation": each.relation.value,
        }
        for each in given([report])
        if each.assumed
    ]


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
    """Name the relation, and say how neighbours differ; some mechanisms have their own words."""
    sizes = set(records_together(spec))
    size = max(sizes)
    one, several = _RELATION[relation.value]
    name = f"{relation.text}, {size:d} times" if size > 1 else relation.text
    meaning = several.format(f"{size:d} records") if size > 1 else one.format("one record")
    if len(sizes) > 1:
        name = f"{relation.text} of a person's records"
        meaning = several.format("all records of one person")
    # Inside of a wrapper that has a relation of its own, neighbours are those of that.
    calls = [
        ("" if fixed else entry(leaf.name).neighbours, leaf)
        for leaf, _, fixed in under(spec, relation)
        if isinstance(leaf, Leaf)
    ]
    own = dict.fromkeys((entry(leaf.name).spelling, words) for words, leaf in calls if words)
    if len(own) == 1 and len(sizes) == 1 and all(words for words, _ in calls):
        meaning, own = next(iter(own))[1], {}
    more = "".join(f"; {kind}: {words}" for kind, words in own)
    return f"{name} ({meaning}{more})"


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


_NOT_SHUFFLED = "; not shuffling"
_JOINS = "each record joins each batch independently"
_BY_LOT = "each batch is drawn by lot, anew"
_ONE_STEP = "each record joins one step of an epoch, by lot"
_OWN_COINS = (
    "each record has a coin of its own at each level; clients that are sampled with all their"
    " records cost more: @clients"
)
_WITH_ALL = "each client joins each round independently, with all its records"
_PLANNED = (
    "each record joins at most as many steps, and as far apart, as participations and separation"
    " say; of samples, by lot"
)
_DRAWN = "how much a record contributes is drawn anew in every use, as the probabilities say"
_CUT = f"{_JOINS}, and a batch of more than max is cut to max by lot"
_PASSES = "each pass goes through the records in an order that is drawn anew"
# What each kind means, which parts of a sum it is said of if it is the only one, and if it is not.
_SAMPLING = {
    "none": ("every step uses every record", ""),
    "Poisson": (_JOINS, " where sampled", " at @poisson"),
    "Poisson on each level": (_OWN_COINS, " where a sample is sampled"),
    "Poisson with a cap": (_CUT, " where sampled", " at @poisson with max"),
    "Poisson of clients": (_WITH_ALL, " where sampled", " at @clients"),
    "fixed size without replacement": (_BY_LOT, " where sampled", " at @wor"),
    "random allocation": (_ONE_STEP, " where allocated", " at @allocation"),
    "shuffled reports": ("one of each person, without names", " where shuffled", " at @shuffle"),
    "shuffled batches": (_PASSES, " where shuffled", " at @batches"),
    "drawn contributions": (_DRAWN, " in the mixture"),
    "planned participations": (_PLANNED, " in matrix-gaussian"),
}
# What is added of virtual steps.
_TREES = {
    "tree completed": "; virtual steps make their number a power of two, and complete every node",
    "tree not completed": "; nodes that end after the last step are not published",
}
# Kinds that a statement tells from shuffling: in a paper nobody can look up a wrapper.
_NO_ORDER = ("Poisson", "Poisson with a cap", "random allocation", "fixed size without replacement")
# What tables add to the only kind.
_SEE = {
    **dict.fromkeys(_NO_ORDER, "; for shuffling see @batches"),
    "fixed size without replacement": _NOT_SHUFFLED,
    "shuffled reports": "; for batches see @batches",
    "planned participations, tree not completed": (
        "; for virtual steps that complete them see completion=true"
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
    return listed(name for name, _ in _kinds(report))


def sampling_words(report: Report, *, paper: bool = False) -> str:
    """Name every kind of sampling with what it means, for tables or for a paper."""
    # Of several kinds none is the one that another should be looked up for.
    apart = _NOT_SHUFFLED if report.sampling in _NO_ORDER else ""
    more = apart if paper else _SEE.get(report.sampling, "")
    return listed(f"{name} ({meaning}{more})" for name, meaning in _kinds(report))


def _kinds(report: Report) -> list[tuple[str, str]]:
    """Return what every kind of sampling is called here, and what it means."""
    if stated(report):
        return [(STATED, "the guarantees take it into account")]
    keys = report.sampling.split(" and ")
    found = []
    for key in keys:
        kind, _, tree = key.partition(", ")
        meaning, alone, *among = _SAMPLING[kind]
        where = among[0] if among and len(keys) > 1 else alone
        if sample(report) and len(keys) == 1:
            where = f", {sample(report)}"
        name = f"{kind} of fixed size" if kind == "shuffled batches" else kind
        name += where + (f", {tree}" if tree else "")
        found.append((name, meaning + _TREES.get(tree, "")))
    return found


def listed(words: Iterable[str]) -> str:
    """Join words, each once, as a list in a sentence."""
    *most, last = dict.fromkeys(words)
    return f"{', '.join(most)} and {last}" if most else last
