"""What a reader should know of a question that is asked correctly and may be meant otherwise.

Each note is a sentence: on standard error, and in JSON. Most are about sampling, where a slip makes
the answer too small: epochs that are written as steps, uses that see one sample, rates of 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.relation import Relation
from privcalc.render.assumptions import NAME, given, listed, records_together, sensitivities
from privcalc.spec.entry import number_text
from privcalc.spec.registry import entry, spelled
from privcalc.spec.tree import Count, Repeated, Several, leaves, nodes

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
    if report.sampling == "none":
        return found
    from privcalc.render.passes import passes

    often = passes(report.spec)
    return found if not often or any(each.startswith(often) for each in found) else [often, *found]


def notes(reports: Sequence[Report], *, bare: bool = False) -> Iterator[tuple[str, str]]:
    """Yield what should be known of groups, samples and sensitivities, each with what to write.

    `bare` is whether nothing else that is printed names them.
    """
    for about in (_partly_grouped, _rounded):
        yield from dict.fromkeys(each for report in reports for each in about(report.spec))
    if any(each.sampling != "none" for each in reports):
        from privcalc.render.passes import slips

        yield from dict.fromkeys((each, "") for report in reports for each in slips(report))
    yield from dict.fromkeys((each, "") for report in reports for each in report.notes)
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


def _rounded(tree: Node) -> Iterator[tuple[str, str]]:
    """Say which counts were worked out, and are no whole numbers."""
    for each in nodes(tree):
        count = each.count if isinstance(each, Repeated) else None
        if isinstance(count, Count) and count.written:
            yield f"{count.written}, and {count} uses are counted", ""


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
