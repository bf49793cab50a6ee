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
from privcalc.render.neighbours import listed, records_together, relation_words, sampling_words
from privcalc.render.words import number
from privcalc.spec.entry import number_text
from privcalc.spec.registry import entry, spelled, under
from privcalc.spec.tree import Leaf, Repeated, Several, leaves

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
