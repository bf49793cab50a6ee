"""Why a bracket is wide, has no lower end or is infinite, and which deltas have an epsilon.

What is said names a part of the specification, by what was worked out of it for the answer
(`accounting/realize.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, round_down, round_up
from privcalc.record import record, replace
from privcalc.render.report import OneSided
from privcalc.render.words import number, written
from privcalc.spec.registry import entry
from privcalc.spec.tree import Leaf, Repeated, Several, Wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from privcalc.accounting.realize import Part, Seen
    from privcalc.render.report import Report
    from privcalc.spec.tree import Node

# A reader of an epsilon notices no less.
NOTICED = 0.01
# Kinds of mechanisms that are named.
_MOST = 3
# What answers are compared with.
_COMPARED = ("methods", "constants", "candidates", "runs")
# Nobody tells apart numbers below this.
_FAINT = 1e-300

# Of what nothing else explains.
_NARROWEST = "no method proves narrower ends here; -v says what each of them came to"


def explained(reports: Sequence[Report], seen: Seen, engine: str = "auto") -> list[Report]:
    """Return the answers to one question with the reasons of those that need any.

    Args:
        reports: the answers.
        seen: what `explaining` of `accounting/realize.py` has kept of the question.
        engine: which was asked.
    """
    known: dict[int, tuple[Part, ...]] = {}
    found: list[Report] = []
    for report in reports:
        shape = _Shape.of(report)
        if not shape:
            found.append(report)
            continue
        if id(report.spec) not in known:
            known[id(report.spec)] = _parts(report, seen)
        parts = known[id(report.spec)]
        reasons = list(_reasons(report, shape, parts))
        if engine != "auto" and (shape.open or shape.missing or shape.wide):
            reasons.insert(0, f"engine {engine} was asked alone; without --engine others are, too")
        found.append(replace(report, reasons=tuple(reasons or [_NARROWEST] * bool(parts))))
    return found


@record
class _Shape:
    """What is to be explained of an answer.

    Attributes:
        infinite: whether a number is infinite for certain.
        open: whether an upper end is infinite, and the number may not be.
        missing: whether a lower end is not known.
        wide: whether the ends of a bracket are farther apart than a reader leaves unnoticed, and
            than was asked for.
    """

    infinite: bool
    open: bool
    missing: bool
    wide: bool

    def __bool__(self) -> bool:
        """Say whether there is anything."""
        return self.infinite or self.open or self.missing or self.wide

    @classmethod
    def of(cls, report: Report) -> _Shape:
        """Look at all brackets of an answer but those of what it is compared with."""
        values = [
            value
            for name, value in report.result.items()
            if name not in _COMPARED and not name.startswith("base_")
        ]
        bounds = list(_bounds(values))
        infinite = any(bound.lower == math.inf for bound in bounds)
        infinite = infinite or any(_one_sided(value) for value in values)
        open_ends = any(bound.upper == math.inf != bound.lower for bound in bounds)
        missing = any(bound.lower is None for bound in bounds)
        missing = missing or ("sufficient" in report.result and "insufficient" not in report.result)
        width = max(map(_width, bounds), default=0.0)
        gap = 0.0
        insufficient, sufficient = (report.result.get(n) for n in ("insufficient", "sufficient"))
        if isinstance(insufficient, float | int) and isinstance(sufficient, float | int):
            # What is printed of a whole number is next to the other one.
            gap = abs(sufficient - insufficient)
            gap = 0.0 if gap <= isinstance(sufficient, int) else gap / max(sufficient, insufficient)
        wide = max(gap if "parameter" in report.result else width, 0.0) > NOTICED
        # Of a search, and of the best of several runs, the tolerance is that of something else.
        met = report.method.tolerance_met and report.command not in ("calibrate", "select")
        decided = report.check is not None and report.check.verdict.value != "undecided"
        return cls(infinite, open_ends, missing, wide and not met and not decided)


def _bounds(values: Iterable[object]) -> Iterator[Bound]:
    for value in values:
        if isinstance(value, Bound):
            yield value
        elif isinstance(value, list | tuple):
            yield from _bounds(value)
        elif isinstance(value, Mapping):
            yield from _bounds(value.values())


def _one_sided(value: object) -> bool:
    """Say whether a column has an infinite number that is a bound by itself."""
    cells = value if isinstance(value, list) else [value]
    return any(isinstance(cell, OneSided) and cell.value == math.inf for cell in cells)


def _width(bound: Bound) -> float:
    if bound.lower is None or bound.upper == math.inf or bound.upper < _FAINT:
        return 0.0
    return bound.width / bound.upper


def _parts(report: Report, seen: Seen) -> tuple[Part, ...]:
    """Return what is known of the parts; of a selection by itself, of those of one run."""
    from privcalc.accounting.realize import last_parts, parts

    tree = report.spec
    if "base" in report.result and isinstance(tree, Wrapped):
        # Of a curve with and without sampling, what is infinite is so without.
        inside = entry(tree.name).inner_relation or report.relation
        return parts(seen, tree.event, inside)
    found = parts(seen, tree, report.relation)
    while not found and isinstance(tree, Wrapped | Repeated):
        tree = tree.event
        found = parts(seen, tree, report.relation)
    if not found and report.command == "calibrate":
        # What is known of parts does not change with the value that a search was for.
        found = last_parts(seen)
    return found


def _reasons(report: Report, shape: _Shape, parts: Sequence[Part]) -> Iterator[str]:
    """Yield a sentence for each thing that is to be explained."""
    if shape.infinite or shape.open:
        yield from _of_infinity(report, shape, parts)
    above = [part for part in parts if part.above]
    if shape.missing or (shape.wide and above):
        yield from _of_kinds(above, "above", _above_cause)
    envelopes = [part for part in parts if part.apart]
    if shape.missing and envelopes and not above:
        yield from _of_envelopes(report, envelopes)
    # What has no lower end is not said to have two.
    elif shape.wide and not above:
        yield from _of_kinds(envelopes, "between", _between_cause)
        if not envelopes and _selects(report.spec):
            yield f"@select: {entry('repeat_and_select').between}"


def _of_envelopes(report: Report, parts: Sequence[Part]) -> Iterator[str]:
    """Say why what has both ends elsewhere has no lower end here."""
    if report.command == "calibrate":
        yield from _of_kinds(parts, "between", _between_cause)
        return
    yield (
        f"{_kinds(parts)}: no data sets are known to cost most at every epsilon at once; compose"
        " answers epsilon at a delta from both sides"
    )


def _selects(tree: Node) -> bool:
    """Say whether the whole is a private selection."""
    if isinstance(tree, Several):
        return False
    return not isinstance(tree, Leaf) and (tree.name if isinstance(tree, Wrapped) else "") == (
        "repeat_and_select"
    )


def _of_kinds(
    parts: Sequence[Part], field: str, cause: Callable[[Node], tuple[str, str] | None]
) -> Iterator[str]:
    """Yield what stands between the two ends of each kind of part, each clause once."""
    clauses: dict[str, list[str]] = {}
    for part in parts:
        found = cause(part.tree)
        name, clause = found or (kind(part.tree), "")
        names = clauses.setdefault(clause, [])
        if name not in names:
            names.append(name)
    for clause, names in clauses.items():
        named = _listed(names)
        if clause:
            yield f"{named}: {clause}"
        elif field == "above":
            yield f"{named}: only an upper bound of what it costs is known"
        else:
            yield f"{named}: what it costs is known between two privacy loss distributions only"


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST:
        return f"{', '.join(names[:_MOST])} and {len(names) - _MOST} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _calls(tree: Node) -> list[Leaf | Wrapped]:
    """Return the mechanisms of a part, then what is done to them, from the inside out."""
    if isinstance(tree, Several):
        return [each for event in tree.events for each in _calls(event)]
    if isinstance(tree, Repeated):
        return _calls(tree.event)
    return [tree] if isinstance(tree, Leaf) else [*_calls(tree.event), tree]


def kind(tree: Node) -> str:
    """Name a part without its numbers: gaussian@batches."""
    if isinstance(tree, Repeated):
        return kind(tree.event)
    if isinstance(tree, Several):
        return "+".join(dict.fromkeys(map(kind, tree.events)))
    name = entry(tree.name).spelling
    if isinstance(tree, Leaf):
        return name
    inner = kind(tree.event)
    return f"({inner})@{name}" if "+" in inner else f"{inner}@{name}"


def _above_cause(tree: Node) -> tuple[str, str] | None:
    """Return what takes the lower end of a part away, and how that is said.

    A mechanism that is known by a bound decides, then a selection, then what was done last.
    """
    calls = _calls(tree)
    leaves = [each for each in calls if isinstance(each, Leaf)]
    selects = [each for each in calls if each.name == "repeat_and_select"]
    for each in (*leaves, *selects, *reversed(calls)):
        if clause := entry(each.name).above:
            return kind(tree), clause
    return None


def _between_cause(tree: Node) -> tuple[str, str] | None:
    """Return what there are two ends of in a part, and what they are: from the inside out."""
    for each in _calls(tree):
        if clause := entry(each.name).between:
            return kind(tree), clause
    return None


def _of_infinity(report: Report, shape: _Shape, parts: Sequence[Part]) -> Iterator[str]:
    """Say which part has losses that are infinite, or of any size, and what would not have."""
    delta = report.query.get("delta") if "epsilon" in report.result else None
    revealing = [part for part in parts if part.certain > 0.0]
    if delta is not None:
        yield from _infinite_epsilon(delta, parts, revealing)
        return
    names = [n for n in ("mu", "rho", "renyi_epsilon", "base") if n in report.result]
    subject = names[0] if names and names[0] in ("mu", "rho") else "divergence"
    finite = f"no {subject} is finite" + " without sampling" * ("base" in names)
    total = math.fsum(part.mass for part in parts) * (1.0 + 1e-12)
    where = f"; at deltas above {_above(total)} there is an epsilon" if total < 1.0 else ""
    endless = _kinds(part for part in parts if part.endless)
    curves = _kinds(part for part in parts if part.curve)
    cut = _kinds(part for part in parts if part.mass > 0.0)
    if revealing:
        yield f"{_masses(revealing)}, and so {finite}{where}"
    elif curves:
        yield f"{curves}: nothing is said of Renyi orders above those that are given"
    elif cut:
        yield (
            f"{cut}: what is proved from above leaves out probability {_above(total)}, and so no"
            f" finite {subject} is proved{where}"
        )
    elif shape.infinite and endless:
        every = " at every order" if subject == "divergence" else ""
        yield f"{endless}: large losses are too likely for a finite {subject}{every}{where}"
    elif subject == "mu" and shape.open:
        yield (
            "no mu is proved to hold at every delta; --delta 1e-6, say, asks for the one that holds"
            " there"
        )


def _kinds(parts: Iterable[Part]) -> str:
    """Name parts by their kinds, each once."""
    return _listed(list(dict.fromkeys(kind(part.tree) for part in parts)))


def _masses(parts: Sequence[Part]) -> str:
    """Say what happens with which probability, of the part where that is largest."""
    worst = max(parts, key=lambda part: part.certain)
    reveals = "an output comes up that only one of two neighbours has"
    for call in _calls(worst.tree):
        reveals = entry(call.name).reveals or reveals
    # The double below 1e-5 is not printed as 9.99e-6.
    least = number(float(round_down(worst.certain * (1.0 + 1e-12), 3)))
    uses = worst.tree.count if isinstance(worst.tree, Repeated) and not worst.apart else 1
    often = f" in {uses} uses" if uses != 1 else ""
    more = len(parts) - 1
    more_words = f" (and {more} more part{'s' if more > 1 else ''} with the like)" if more else ""
    return f"{kind(worst.tree)}: with probability {least}{often}{more_words} {reveals}"


def _infinite_epsilon(
    delta: float, parts: Sequence[Part], revealing: Sequence[Part]
) -> Iterator[str]:
    """Say why there is no finite epsilon at a delta, and at which there is."""
    total = math.fsum(part.mass for part in parts) * (1.0 + 1e-12)
    if revealing:
        enough = f"a delta above {_above(total)} has an epsilon"
        if total >= 1.0:
            enough = "no delta below 1 is known to have an epsilon"
        yield f"{_masses(revealing)}, more often than delta {written(delta)}: {enough}"
    elif delta == 0.0 and any(part.endless for part in parts):
        named = _kinds(part for part in parts if part.endless)
        yield f"{named}: losses may be of any size, so that only deltas above 0 have an epsilon"
    elif total >= 1.0:
        named = _kinds(part for part in parts if part.mass > 0.0)
        yield f"{named}: what is proved from above says nothing at any delta below 1"
    elif total > 0.0 and delta <= total:
        named = _kinds(part for part in parts if part.mass > 0.0)
        yield (
            f"{named}: what is proved from above leaves out probability {_above(total)}; deltas"
            " above that have an epsilon"
        )


def _above(total: float) -> str:
    """Write a probability with a few digits, rounded up."""
    return number(float(round_up(min(1.0, total), 3)))
