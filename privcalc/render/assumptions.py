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
from privcalc.render.words import number, sample
from privcalc.spec.entry import number_text
from privcalc.spec.registry import entry, spelled, under
from privcalc.spec.tree import Count, Leaf, Repeated, Several, Wrapped, leaves, nested, nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from privcalc.render.report import Report
    from privcalc.spec.tree import Node

# Heads the line, and the column, that says so.
NAME = "sensitivity"
# So many are named one by one.
_MOST = 3
_TO_WRITE = (
    "write sensitivity=2 where the noise is in units of C, or sensitivity=1 if that is what one"
    " record changes"
)
# Of which record a sensitivity is that, where the answer is about other neighbours.
_OF = {
    Relation.ADD_OR_REMOVE_ONE: "of one record more",
    Relation.REPLACE_ONE: "of one record with another value",
    Relation.REPLACE_SPECIAL: "of one record zeroed out",
}


def assumptions(reports: Sequence[Report], *, paper: bool = False) -> tuple[tuple[str, str], ...]:
    """Say what the numbers assume; every table shows these lines, and so does a paper."""
    report, given = reports[0], sensitivities(reports)
    return (
        ("relation", relation_words(report.relation, report.spec)),
        *(((NAME, given),) if given else ()),
        ("sampling", sampling_words(report, paper=paper)),
        *((("caution", report.caution),) if report.caution else ()),
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


def _given(reports: Sequence[Report]) -> tuple[Given, ...]:
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
        if not parameter.contribution:
            continue
        value, multiple = values.get(parameter.name), None
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
    for each in (found := _given(reports)):
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
        for each in _given([report])
        if each.assumed
    ]


def notes(reports: Sequence[Report], *, bare: bool = False) -> Iterator[tuple[str, str]]:
    """Yield what should be known of groups and of sensitivities, each with what to write.

    `bare` is whether nothing else that is printed names them.
    """
    yield from dict.fromkeys(each for report in reports for each in _partly_grouped(report.spec))
    yield from dict.fromkeys(each for report in reports for each in _rounded(report.spec))
    found = _given(reports)
    replaced = [each for each in found if each.relation is Relation.REPLACE_ONE]
    changes = "a record that is replaced changes a sum of records clipped to norm C by up to 2 C"
    guessed = [each for each in replaced if each.assumed and each.parameter == NAME]
    if guessed:
        mechanisms = listed(each.mechanism for each in guessed)
        yield f"sensitivity 1 is assumed of {mechanisms}, and {changes}", _TO_WRITE
    multiples = [each for each in replaced if each.multiple is not None]
    if multiples:
        yield _of_multiples(multiples, changes)
    if bare and not guessed and any(each.assumed for each in found):
        yield f"{NAME} {sensitivities(reports)}", ""


def _rounded(tree: Node) -> Iterator[tuple[str, str]]:
    """Say which counts were worked out, and are no whole numbers."""
    for each in nodes(tree):
        count = each.count if isinstance(each, Repeated) else None
        if isinstance(count, Count) and count.written:
            yield f"{count.written}, and {count} uses are counted", ""


def _partly_grouped(tree: Node) -> Iterator[tuple[str, str]]:
    """Say of which parts of a sum a person has one record, where of others there are several."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for part in tree.events if isinstance(tree, Several) else ():
        names = [entry(each.name).spelling for each in leaves(part)]
        found[max(records_together(part)) > 1].extend(names)
    if all(found.values()):
        several, one = (listed(found[grouped]) for grouped in (True, False))
        size = max(records_together(tree))
        words = f"@group is of {several} only: of {one} a person has one record"
        yield words, f"write (A+B)@group:k={size} where a person's records are in all parts"


def _of_multiples(multiples: Sequence[Given], changes: str) -> tuple[str, str]:
    """Say that a multiple of the sensitivity may have been meant as one of the clipping norm."""
    named = dict.fromkeys(each.multiple for each in multiples if each.multiple is not None)
    (name, value), *others = named
    known = spelled(multiples[0].mechanism.replace("-", "_"), "mechanism")
    noise = next(group[0] for group in known.one_of if group[0] != name)
    spelling = next(each.spelling for each in known.parameters if each.name == noise)
    amount = "S" if others else number_text(value)
    mechanisms = listed(each.mechanism for each in multiples)
    return (
        f"{name} of {mechanisms} counts the noise in sensitivities, and {changes}",
        f"write {spelling}={amount},sensitivity=2 where the noise is {amount} C",
    )


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


_NOT_SHUFFLED = "; not shuffling"
_JOINS = "each record joins each batch independently"
_BY_LOT = "each batch is drawn by lot, anew"
_ONE_STEP = "each record joins one step of an epoch, by lot"
_OWN_COINS = (
    "each record has a coin of its own at each level; clients that are sampled with all their"
    " records cost more, and this is not their number"
)
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
