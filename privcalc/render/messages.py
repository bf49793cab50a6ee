"""What goes to standard error in addition to an answer: warnings, failed checks, and -v."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict
from privcalc.render.data import numbers
from privcalc.render.report import Estimate
from privcalc.render.words import at, bracket, number, short_exponent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from privcalc.accounting.directions import Method
    from privcalc.render.report import Report

# What an answer is called that was asked at no one place, by a name in its result.
_SUBJECTS = {
    "orders": "the Renyi curve",
    "alpha": "the trade-off curve",
    "advantage": "attack success",
    "rho": "rho",
    "mu": "mu",
    "epsilon": "the profile",
    "dp_event": "the event",
}
# Begins what an engine says of a bracket that was wider than the tolerance.
_WIDTH = "relative width "
# Six digits are more than a privacy cost is used with, whatever tolerance was asked for; three are
# of the best of several runs, of which more are known by chance.
_NARROW, _NARROW_SELECTION = 1e-6, 1e-3


def warnings(reports: Sequence[Report], place: str = "", *, verbose: bool = False) -> Iterator[str]:
    """Say where a number is worth less than was asked for, each time on one line.

    What is narrow for most uses is said with -v only, which has said why already.
    """
    for report in reports:
        # A budget that was decided needed nothing narrower.
        decided = report.check is not None and report.check.verdict is not Verdict.UNDECIDED
        if any(isinstance(value, Estimate) for value in report.result.values()):
            yield f"privcalc: {place}warning: {subject(report)} is an estimate without certificate"
        elif not report.method.tolerance_met and not decided:
            if not verbose and _narrow(report):
                continue
            why = "" if verbose or report.reasons else "; -v says why"
            yield f"privcalc: {place}warning: {_fault(report)}{why}"


def _narrow(report: Report) -> bool:
    """Return whether all that is missing is width, and little of it."""
    bounds = _wide(report)
    whole = all(bound.lower is not None and math.isfinite(bound.upper) for bound in bounds)
    enough = _NARROW_SELECTION if report.command == "select" else _NARROW
    return whole and bool(bounds) and "parameter" not in report.result and _width(bounds) < enough


def failed_checks(reports: Sequence[Report], place: str = "") -> Iterator[str]:
    """Say why the exit status is 1."""
    for report in reports:
        if report.check is not None and report.failed:
            yield f"privcalc: {place}{report.check.sentence}"


def details(reports: Sequence[Report], place: str = "") -> Iterator[str]:
    """Show the proof, the error terms, each direction, and what other engines came to."""
    for report in reports:
        method = report.method
        yield f"{place}{subject(report)}: {proof_words(method)}{_terms(method.terms)}"
        said = {note for each in report.directions for note in each.method.notes}
        for direction in report.directions:
            bound, about = direction.bound, direction.estimate
            value = "no number" if about is None else f"about {number(about)}"
            value = value if bound is None else bracket(bound)
            terms = _terms(direction.method.terms)
            yield f"  {direction.adjacency}: {value}, {proof_words(direction.method)}{terms}"
            yield from (f"    {line}" for line in _tried(direction.method.notes))
        yield from (f"  {line}" for line in _tried(n for n in method.notes if n not in said))
        yield from (f"  {line}" for line in report.details)


def subject(report: Report, *, unproved: bool = False) -> str:
    """Name what was asked, such as `epsilon at delta 1e-5`; or what of it lacks a lower end."""
    if report.evidence:
        return "the evidence"
    if "parameter" in report.result:
        return f"{report.result['parameter']}"
    if report.place is None:
        return next((words for key, words in _SUBJECTS.items() if key in report.result))
    names = [
        key
        for key, value in report.result.items()
        if isinstance(value, Estimate | Bound) and not key.startswith("base_")
        if not (unproved and isinstance(value, Bound) and value.lower is not None)
    ]
    return f"{' and '.join(names)}{at(report)}"


def proof_words(method: Method) -> str:
    """Name the proof and its engine, with the Renyi order behind an upper end if there is one."""
    order = ""
    if method.order is not None:
        order = f", order {method.order:.6g}, conversion {method.conversion}"
    return f"{method.proof.words} (engine {method.engine}{order})"


def _tried(notes: Iterable[str]) -> Iterator[str]:
    """Yield one line for each engine of notes `engine: what came of it`; it may have several."""
    found: dict[str, list[str]] = {}
    for note in notes:
        engine, _, outcome = note.partition(": ")
        found.setdefault(engine, []).append(outcome)
    for engine, said in found.items():
        widths = [float(each.removeprefix(_WIDTH)) for each in said if each.startswith(_WIDTH)]
        words = list(dict.fromkeys(w for w in said if w and not w.startswith(_WIDTH)))
        if finite := [width for width in widths if math.isfinite(width)]:
            low, high = _rough(min(finite)), _rough(max(finite))
            words.insert(0, _WIDTH + (low if low == high else f"{low} to {high}"))
        if len(finite) < len(widths):
            words.append("no lower end")
        yield ": ".join([engine, "; ".join(words)] if words else [engine])


def _fault(report: Report) -> str:
    """Say how far a bracket falls short of the tolerance."""
    if "parameter" in report.result:
        if "insufficient" in report.result:
            return f"between the two values of {subject(report)} nothing is proved"
        return f"no {subject(report)} is proved to miss the target"
    wide = _wide(report)
    if any(math.isinf(bound.upper) for bound in wide):
        return f"no finite upper end of {subject(report)} is proved"
    if any(bound.lower is None for bound in wide):
        words = subject(report, unproved=True)
        return f"{words} {'are' if ' and ' in words else 'is'} proved from above only"
    width = _rough(_width(wide))
    return f"the bracket of {subject(report)} is wider than the tolerance: {_WIDTH}{width}"


def _wide(report: Report) -> list[Bound]:
    """Return the brackets of an answer that are no single number."""
    found = (value for *_, value in numbers(report))
    return [value for value in found if isinstance(value, Bound) and value.width > 0.0]


def _width(bounds: Iterable[Bound]) -> float:
    """Return the largest relative width."""
    return max((bound.width / bound.upper for bound in bounds), default=0.0)


def _terms(terms: Mapping[str, float]) -> str:
    return "".join(f", {name} {_rough(value)}" for name, value in terms.items())


def _rough(value: float) -> str:
    return short_exponent(f"{value:.2g}")
