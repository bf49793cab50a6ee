"""How often all samples of a specification go through the data, and which of them may be slips.

Only where the number of records is known, or the rate is a ratio such as 256/60000 or 1/235.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from privcalc.exact import exact
from privcalc.record import record
from privcalc.render.words import short_exponent, written
from privcalc.spec.registry import call_text
from privcalc.spec.tree import Composed, Repeated, Wrapped, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Report
    from privcalc.spec.tree import Node

# Whose samples are counted, and the rate, of a size or a probability, that is theirs.
SAMPLED = ("poisson_sampled", "sampled_without_replacement")
# Numbers of records, or rates, that are named one by one.
_MOST = 3
_RATIO = re.compile(r"([0-9_]+)/([0-9_]+)")


@record
class Draw:
    """What is sampled a number of times: at which rate, of how many records.

    With a rate of 1/n, which is that of n batches, too, nobody wrote how many records there are.
    """

    node: Wrapped
    uses: int
    rate: Fraction
    records: int | None
    ratio: str


def draws(tree: Node, uses: int = 1) -> Iterator[Draw]:
    """Yield the samples of a tree that all are of the same data, and whose sizes are known.

    Samples of samples are none, nor those of the runs of a selection or of disjoint parts.
    """
    if isinstance(tree, Repeated) and isinstance(tree.count, int):
        yield from draws(tree.event, uses * tree.count)
    elif isinstance(tree, Composed):
        for event in tree.events:
            yield from draws(event, uses)
    elif isinstance(tree, Wrapped) and tree.name == "group":
        yield from draws(tree.event, uses)
    elif isinstance(tree, Wrapped) and tree.name in SAMPLED:
        inside = (each.name for each in nodes(tree.event) if isinstance(each, Wrapped))
        if (found := _rate(tree)) is not None and not {*SAMPLED} & {*inside}:
            yield Draw(tree, uses, *found)


def _rate(tree: Wrapped) -> tuple[Fraction, int | None, str] | None:
    """Return the rate, the number of records or None, and a ratio that was written; or None."""
    values = dict(tree.parameters)
    size, sample = values.get("source_dataset_size"), values.get("sample_size")
    if isinstance(size, int) and isinstance(sample, int):
        return Fraction(sample, size), size, ""
    rate = values.get("sampling_probability")
    if not isinstance(rate, float | int):
        return None
    text = written(rate)
    ratio = _RATIO.fullmatch(text)
    if not isinstance(size, int):
        size = int(ratio[2]) if ratio and int(ratio[1]) > 1 else None
    return exact(rate), size, text if ratio else ""


def passes(tree: Node) -> str:
    """Say how often all samples go through the data: `15,360 samples of 60,000 records: ...`."""
    sized: dict[int, Fraction] = {}
    steps: dict[str, int] = {}
    rest = Fraction(0)
    # What uses every record samples nothing.
    for each in (draw for draw in draws(tree) if draw.rate < 1):
        if each.records is not None:
            sized[each.records] = sized.get(each.records, Fraction(0)) + each.rate * each.uses
        elif each.ratio:
            steps[each.ratio] = steps.get(each.ratio, 0) + each.uses
            rest += each.rate * each.uses
    found = [
        f"{_some(total * size, 'sample')} of {size:,} records: {_some(total, 'pass')}"
        for size, total in sized.items()
    ]
    if steps:
        rates = f"rate {next(iter(steps))}" if len(steps) == 1 else f"{len(steps):,} rates"
        found.append(f"{_some(sum(steps.values()), 'step')} at {rates}: {_some(rest, 'pass')}")
    more = len(found) - _MOST
    return " and ".join([*found[:_MOST], *([f"{more} more of this kind"] if more > 0 else [])])


def _some(value: Fraction | int, what: str) -> str:
    """Count in words: three digits, or all those of the whole part."""
    plain = value.denominator == 1 or value >= 1000
    text = f"{round(value):,}" if plain else short_exponent(f"{float(value):.3g}")
    return f"{text} {what}{'' if text == '1' else 'es' if what == 'pass' else 's'}"


def slips(report: Report) -> Iterator[str]:
    """Say what is often a slip that makes the cost too small: each a sentence."""
    yield from _of_samples(report.spec)
    yield from _of_delta(report)


_FEW = "over the data; if the count is one of epochs, write steps: epochs divided by the rate"


def _of_samples(tree: Node) -> Iterator[str]:
    """Say where fewer records are drawn than one pass has, and which samples are none."""
    found = [*draws(tree)]
    often = passes(tree)
    few = sum((each.rate * each.uses for each in found if each.rate < 1), Fraction(0)) < 1
    if often and few and any(each.uses > 1 for each in found):
        yield f"{often} {_FEW}"
    wrapped = (each for each in nodes(tree) if isinstance(each, Wrapped) and each.name in SAMPLED)
    several = [(call_text(each), _count(each.event)) for each in wrapped]
    if several := [each for each in several if each[1] > 1]:
        (call, count), more = several[0], _more(several)
        words = f"{count:,} uses before @{call}{more} see the same sample"
        yield f"{words}; write @{call}@{count} for a new sample in each"
    whole = [call_text(each.node) for each in found if each.rate == 1]
    if whole and len(whole) < len(found):
        words = f"@{whole[0]}{_more(whole)} samples nothing: its steps use every record"
        yield f"{words}, other steps a sample"


def _more(several: Sequence[object]) -> str:
    return f" (and {len(several) - 1} more)" if len(several) > 1 else ""


def _count(tree: Node) -> int:
    """Return how often what is sampled is used in each sample."""
    if isinstance(tree, Repeated) and isinstance(tree.count, int):
        return tree.count * _count(tree.event)
    return 1


def _of_delta(report: Report) -> Iterator[str]:
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
        yield f"{words}: it allows that one of them, drawn by lot, is published"
