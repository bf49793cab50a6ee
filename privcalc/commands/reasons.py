"""Why a bracket is wide, has no lower end or is infinite, and which deltas have an epsilon.

What is said names a part of the specification, by what was worked out of it for the answer
(`accounting/realize.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, round_down, round_up
from privcalc.record import replace
from privcalc.render.report import OneSided
from privcalc.render.words import number, written
from privcalc.spec.brief import kind
from privcalc.spec.registry import entry
from privcalc.spec.tree import Leaf, Repeated, Wrapped, calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from privcalc.accounting.realize import Part, Seen
    from privcalc.render.report import Report
    from privcalc.spec.tree import Node

# A reader of an epsilon notices no less.
NOTICED = 0.01
# Kinds of mechanisms that are named.
_MOST = 3
# What answers are compared with.
_COMPARED = ("methods", "constants", "candidates", "runs")

# Of what nothing else explains.
_NARROWEST = "no method proves narrower ends here; -v says what each of them came to"


def explained(reports: Sequence[Report], seen: Seen, engine: str = "auto") -> list[Report]:
    """Return answers with the reasons of those that need any; `seen` is that of `explaining`."""
    known: dict[int, tuple[Part, ...]] = {}
    found: list[Report] = []
    for report in reports:
        faults = _faults(report)
        if not faults:
            found.append(report)
            continue
        if id(report.spec) not in known:
            known[id(report.spec)] = _parts(report, seen)
        parts = known[id(report.spec)]
        reasons = list(_reasons(report, faults, parts))
        if engine != "auto" and faults != {INFINITE}:
            reasons.insert(0, f"engine {engine} was asked alone; without --engine others are, too")
        found.append(replace(report, reasons=tuple(reasons or [_NARROWEST] * bool(parts))))
    return found


# What is to be explained: a number that is infinite for certain, or may be finite; a lower end that
# is not known; ends that are farther apart than a reader leaves unnoticed, and than was asked for.
INFINITE, OPEN, MISSING, WIDE = "infinite", "open", "missing", "wide"


def _faults(report: Report) -> set[str]:
    """Return what is to be explained of all brackets but those of what it is compared with."""
    result = report.result
    values = [
        value
        for name, value in result.items()
        if name not in _COMPARED and not name.startswith("base_")
    ]
    bounds = list(_bounds(values))
    found: set[str] = set()
    if any(bound.lower == math.inf for bound in bounds) or any(map(_one_sided, values)):
        found.add(INFINITE)
    if any(bound.upper == math.inf != bound.lower for bound in bounds):
        found.add(OPEN)
    searched = "sufficient" in result and "insufficient" not in result
    if searched or any(bound.lower is None for bound in bounds):
        found.add(MISSING)
    # Of a search, and of the best of several runs, the tolerance is that of something else.
    met = report.method.tolerance_met and report.command not in ("calibrate", "select")
    decided = report.check is not None and report.check.verdict.value != "undecided"
    width = _gap(result) if "parameter" in result else max(map(_width, bounds), default=0.0)
    if width > NOTICED and not met and not decided:
        found.add(WIDE)
    return found


def _gap(result: Mapping[str, object]) -> float:
    """Return how far apart the two values of a search are, relatively."""
    insufficient, sufficient = (result.get(name) for name in ("insufficient", "sufficient"))
    if not (isinstance(insufficient, float | int) and isinstance(sufficient, float | int)):
        return 0.0
    # What is printed of a whole number is next to the other one.
    gap = abs(sufficient - insufficient)
    return 0.0 if gap <= isinstance(sufficient, int) else gap / max(sufficient, insufficient)


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
    known = bound.lower is not None and 0.0 < bound.upper < math.inf
    return bound.width / bound.upper if known else 0.0


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


def _reasons(report: Report, faults: set[str], parts: Sequence[Part]) -> Iterator[str]:
    """Yield a sentence for each thing that is to be explained."""
    if faults & {INFINITE, OPEN}:
        yield from _of_infinity(report, faults, parts)
    above = [part for part in parts if part.above]
    if MISSING in faults or (WIDE in faults and above):
        yield from _of_kinds(above, "above")
    envelopes = [part for part in parts if part.apart]
    if MISSING in faults and envelopes and not above:
        # What has no lower end is not said to have two; of a search it has.
        if report.command == "calibrate":
            yield from _of_kinds(envelopes, "between")
        else:
            yield f"{_kinds(envelopes)}: {_NO_WORST}"
    elif WIDE in faults and not above:
        yield from _of_kinds(envelopes, "between")
        tree = report.spec
        if not envelopes and isinstance(tree, Wrapped) and tree.name == "repeat_and_select":
            yield f"@select: {entry(tree.name).between}"


_NO_WORST = (
    "no data sets are known to cost most at every epsilon at once; compose answers epsilon at a"
    " delta from both sides"
)
# What is said of a mechanism that has no words of its own.
_CAUSES = {
    "above": "only an upper bound of what it costs is known",
    "between": "what it costs is known between two privacy loss distributions only",
}


def _of_kinds(parts: Sequence[Part], field: str) -> Iterator[str]:
    """Yield what stands between the two ends of each kind of part, each clause once."""
    clauses: dict[str, list[Part]] = {}
    for part in parts:
        clauses.setdefault(_cause(part.tree, field), []).append(part)
    yield from (f"{_kinds(named)}: {clause}" for clause, named in clauses.items())


def _cause(tree: Node, field: str) -> str:
    """Return what takes the lower end of a part away, or what there are two ends of.

    For the former a mechanism that is known by a bound decides, then a selection, then what was
    done last; for the latter what was done first.
    """
    # From the inside out.
    inner = calls(tree)[::-1]
    if field == "above":
        leaves = [each for each in inner if isinstance(each, Leaf)]
        selects = [each for each in inner if each.name == "repeat_and_select"]
        inner = [*leaves, *selects, *reversed(inner)]
    clauses = (getattr(entry(each.name), field) for each in inner)
    return next(filter(None, clauses), _CAUSES[field])


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST:
        return f"{', '.join(names[:_MOST])} and {len(names) - _MOST} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _of_infinity(report: Report, faults: set[str], parts: Sequence[Part]) -> Iterator[str]:
    """Say which part has losses that are infinite, or of any size, and what would not have."""
    delta = report.query.get("delta") if "epsilon" in report.result else None
    if delta is not None:
        yield from _infinite_epsilon(delta, parts)
        return
    names = [n for n in ("mu", "rho", "renyi_epsilon", "base") if n in report.result]
    subject = names[0] if names and names[0] in ("mu", "rho") else "divergence"
    finite = f"no {subject} is finite" + " without sampling" * ("base" in names)
    revealing, cut, total = _lost(parts)
    where = f"; at deltas above {_above(total)} there is an epsilon" if total < 1.0 else ""
    endless = _kinds(part for part in parts if part.endless)
    if revealing:
        yield f"{revealing}, and so {finite}{where}"
    elif curves := _kinds(part for part in parts if part.curve):
        yield f"{curves}: nothing is said of Renyi orders above those that are given"
    elif cut:
        yield f"{cut}, and so no finite {subject} is proved{where}"
    elif INFINITE in faults and endless:
        every = " at every order" if subject == "divergence" else ""
        yield f"{endless}: large losses are too likely for a finite {subject}{every}{where}"
    elif subject == "mu" and OPEN in faults:
        words = "no mu is proved to hold at every delta; --delta 1e-6, say, asks for the one that"
        yield f"{words} holds there"


def _infinite_epsilon(delta: float, parts: Sequence[Part]) -> Iterator[str]:
    """Say why there is no finite epsilon at a delta, and at which there is."""
    revealing, cut, total = _lost(parts)
    endless = _kinds(part for part in parts if part.endless)
    if revealing:
        enough = f"a delta above {_above(total)} has an epsilon"
        enough = enough if total < 1.0 else "no delta below 1 is known to have an epsilon"
        often = "together more often" if " in each of " in revealing else "more often"
        yield f"{revealing}, {often} than delta {written(delta)}: {enough}"
    elif delta == 0.0 and endless:
        yield f"{endless}: losses may be of any size, so that only deltas above 0 have an epsilon"
    elif cut and delta <= total:
        yield f"{cut}; {'deltas above that have an epsilon' if total < 1.0 else 'no delta has one'}"


def _lost(parts: Sequence[Part]) -> tuple[str, str, float]:
    """Say what reveals a record, and what a proof leaves out; or "", and with which probability."""
    total = math.fsum(part.mass for part in parts) * (1.0 + 1e-12)
    revealing = [part for part in parts if part.certain > 0.0]
    cut = _kinds(part for part in parts if part.mass > 0.0)
    words = f"{cut}: what is proved from above leaves out probability {_above(total)}"
    return _masses(revealing) if revealing else "", words if cut else "", total


def _kinds(parts: Iterable[Part]) -> str:
    """Name parts by their kinds, each once."""
    return _listed(list(dict.fromkeys(kind(part.tree) for part in parts)))


def _masses(parts: Sequence[Part]) -> str:
    """Say what happens with which probability, of the part where that is largest."""
    worst = max(parts, key=lambda part: part.certain)
    reveals = "an output comes up that only one of two neighbours has"
    for call in calls(worst.tree)[::-1]:
        reveals = entry(call.name).reveals or reveals
    # The double below 1e-5 is not printed as 9.99e-6.
    least = number(float(round_down(worst.certain * (1.0 + 1e-12), 3)))
    uses = worst.tree.count if isinstance(worst.tree, Repeated) else 1
    often = f" in {'each of ' * worst.apart}{uses} uses" if uses != 1 else ""
    more = len(parts) - 1
    more_words = f" (and {more} more part{'s' if more > 1 else ''} with the like)" if more else ""
    return f"{kind(worst.tree)}: with probability {least}{often}{more_words} {reveals}"


def _above(total: float) -> str:
    """Write a probability with a few digits, rounded up."""
    return number(float(round_up(min(1.0, total), 3)))
