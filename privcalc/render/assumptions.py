"""What the numbers assume: the neighbours, the sampling, and the sensitivity of each noise.

A sensitivity says what one record does to what is computed, under the relation that the mechanism
is read under: inside a wrapper that may be another than that of the answer. Where it is left out, 1
stands for it. That is a guess, which every format names. It is most often wrong where a record is
replaced: what is clipped to norm C then changes by 2 C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.record import record
from privcalc.relation import Relation
from privcalc.render.words import number
from privcalc.spec.entry import number_text
from privcalc.spec.registry import entry, spelled, under
from privcalc.spec.tree import Leaf, Repeated, Several, Wrapped, leaves, nested, nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from privcalc.render.report import Report
    from privcalc.spec.tree import Node

NAME = "sensitivity"
"""Heads the line, and the column, that says so."""

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
    """What bounds the part of one record in a mechanism.

    Attributes:
        mechanism: its name, as text has it.
        parameter: the name of the bound, as text has it.
        value: the bound; None where the noise is a multiple of it.
        multiple: the parameter that is such a multiple, with its value, or None.
        assumed: whether it was left out.
        relation: the neighbours that it is about.
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
    known, values = entry(leaf.name), dict(leaf.parameters)
    for parameter in known.parameters:
        if not parameter.contribution:
            continue
        value, name = values.get(parameter.name), known.spelling
        if isinstance(value, int | float):
            yield Given(name, parameter.spelling, value, None, assumed=False, relation=relation)
            continue
        for other, excluded in known.excludes:
            multiple = values.get(other) if excluded == parameter.name else None
            if isinstance(multiple, int | float):
                found = other, multiple
                yield Given(name, parameter.spelling, None, found, assumed=False, relation=relation)
                break
        else:
            default = parameter.default
            if not isinstance(default, int | float):
                raise TypeError(f"{parameter.name} has no default, and cannot be left out")
            # As a plain number: 1 for 1.0.
            default = int(default) if default == int(default) else default
            yield Given(name, parameter.spelling, default, None, assumed=True, relation=relation)


def sensitivities(reports: Sequence[Report]) -> str:
    """Name the sensitivity of each noise on one line: `gaussian 1 (assumed), laplace 2`; or "".

    Hundreds of parts are named by kind, with the least value and the largest.
    """
    found = _given(reports)
    kinds: dict[tuple[str, str, Relation], list[Given]] = {}
    for each in found:
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
        assumed = any(each.assumed for each in found)
        pieces[-1] += ", some of them assumed" if assumed else ""
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

    Args:
        reports: the answers.
        bare: whether nothing else that is printed names them.
    """
    yield from dict.fromkeys(each for report in reports for each in _partly_grouped(report.spec))
    found = _given(reports)
    replaced = [each for each in found if each.relation is Relation.REPLACE_ONE]
    changes = "a record that is replaced changes a sum of records clipped to norm C by up to 2 C"
    guessed = [each for each in replaced if each.assumed and each.parameter == NAME]
    if guessed:
        mechanisms = _listed(each.mechanism for each in guessed)
        yield f"sensitivity 1 is assumed of {mechanisms}, and {changes}", _TO_WRITE
    multiples = [each for each in replaced if each.multiple is not None]
    if multiples:
        yield _of_multiples(multiples, changes)
    if bare and not guessed and any(each.assumed for each in found):
        yield f"{NAME} {sensitivities(reports)}", ""


def _partly_grouped(tree: Node) -> Iterator[tuple[str, str]]:
    """Say which parts of a sum have several records of a person where others have one."""
    while isinstance(tree, Repeated):
        tree = tree.event
    if not isinstance(tree, Several):
        return
    alone: list[str] = []
    grouped: list[str] = []
    for part in tree.events:
        names = [entry(each.name).spelling for each in leaves(part)]
        (grouped if max(records_together(part)) > 1 else alone).extend(names)
    if alone and grouped:
        most = max(records_together(tree))
        yield (
            f"@group is of {_listed(grouped)} only: of {_listed(alone)} a person has one record",
            f"write (A+B)@group:k={most} where a person's records are in all parts",
        )


def _of_multiples(multiples: Sequence[Given], changes: str) -> tuple[str, str]:
    """Say that a multiple of the sensitivity may have been meant as one of the clipping norm."""
    named = dict.fromkeys(each.multiple for each in multiples if each.multiple is not None)
    (name, value), *others = named
    known = spelled(multiples[0].mechanism.replace("-", "_"), "mechanism")
    noise = next(group[0] for group in known.one_of if group[0] != name)
    parameter = known.parameter(noise)
    spelling = noise if parameter is None else parameter.spelling
    amount = "S" if others else number_text(value)
    mechanisms = _listed(each.mechanism for each in multiples)
    return (
        f"{name} of {mechanisms} counts the noise in sensitivities, and {changes}",
        f"write {spelling}={amount},sensitivity=2 where the noise is {amount} C",
    )


def _listed(names: Iterable[str]) -> str:
    """Join names, each once, and not more than a few."""
    found = list(dict.fromkeys(names))
    more = len(found) - _MOST
    return listed([*found[:_MOST], f"{more} more"] if more > 1 else found)


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
