"""What a reader should know of a question that is asked correctly and may be meant otherwise.

Each note is a sentence: on standard error, and in JSON. Most are about sampling, where a slip makes
the answer too small: epochs that are written as steps, uses that see one sample, rates of 1.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from privcalc.exact import exact
from privcalc.relation import Relation
from privcalc.render.assumptions import NAME, given, listed, records_together, sensitivities
from privcalc.render.passes import SAMPLED, draws, passes
from privcalc.render.words import written
from privcalc.spec.entry import number_text
from privcalc.spec.registry import call_text, entry, spelled
from privcalc.spec.tree import Repeated, Several, Wrapped, leaves, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.assumptions import Given
    from privcalc.render.report import Report
    from privcalc.spec.tree import Node

_TO_WRITE = (
    "write sensitivity=2 where the noise is in units of C, or sensitivity=1 if that is what one"
    " record changes"
)


def said(report: Report) -> list[str]:
    """Return the sentences that JSON has, which no option takes away."""
    found = [words for words, _ in notes([report])]
    often = passes(report.spec)
    return found if not often or any(each.startswith(often) for each in found) else [often, *found]


def notes(reports: Sequence[Report], *, bare: bool = False) -> Iterator[tuple[str, str]]:
    """Yield what should be known of groups, samples and sensitivities, each with what to write.

    `bare` is whether nothing else that is printed names them.
    """
    for about in (_partly_grouped, _of_samples):
        yield from dict.fromkeys(each for report in reports for each in about(report.spec))
    yield from dict.fromkeys(each for report in reports for each in _of_delta(report))
    found = given(reports)
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


_FEW = "over the data; if the count is one of epochs, write steps: epochs divided by the rate"


def _of_samples(tree: Node) -> Iterator[tuple[str, str]]:
    """Say where fewer records are drawn than one pass has, and which samples are none."""
    found = [*draws(tree)]
    often = passes(tree)
    few = sum((each.rate * each.uses for each in found if each.rate < 1), Fraction(0)) < 1
    if often and few and any(each.uses > 1 for each in found):
        yield f"{often} {_FEW}", ""
    wrapped = (each for each in nodes(tree) if isinstance(each, Wrapped) and each.name in SAMPLED)
    several = [(call_text(each), _count(each.event)) for each in wrapped]
    if several := [each for each in several if each[1] > 1]:
        (call, count), more = several[0], _more(several)
        words = f"{count:,} uses before @{call}{more} see the same sample"
        yield f"{words}; write @{call}@{count} for a new sample in each", ""
    whole = [call_text(each.node) for each in found if each.rate == 1]
    if whole and len(whole) < len(found):
        words = f"@{whole[0]}{_more(whole)} samples nothing: its steps use every record"
        yield f"{words}, other steps a sample", ""


def _more(several: Sequence[object]) -> str:
    return f" (and {len(several) - 1} more)" if len(several) > 1 else ""


def _count(tree: Node) -> int:
    """Return how often what is sampled is used in each sample."""
    if isinstance(tree, Repeated) and isinstance(tree.count, int):
        return tree.count * _count(tree.event)
    return 1


def _of_delta(report: Report) -> Iterator[tuple[str, str]]:
    """Say that a delta is above 1/n, of the fewest records that a sampling names."""
    delta = report.query.get("delta", 0.0)
    sizes = [
        size
        for each in nodes(report.spec)
        if isinstance(each, Wrapped)
        for name, size in each.parameters
        if name in ("source_dataset_size", "users") and isinstance(size, int)
    ]
    least = min([*sizes, *(each.records or inf for each in draws(report.spec))], default=inf)
    if least < inf and exact(delta) * int(least) > 1:
        words = f"delta {written(delta)} is above 1/n for n = {int(least):,} records"
        yield f"{words}: it allows that one of them, drawn by lot, is published", ""


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
