"""What goes to standard error beside an answer: warnings, failed checks, and -v."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Verdict
from privcalc.render.report import Estimate
from privcalc.render.words import bracket, number, short_exponent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from privcalc.render.report import Report


def warnings(reports: Sequence[Report], place: str = "") -> Iterator[str]:
    """Say where a number is worth less than was asked for; `place` names the question."""
    for report in reports:
        method = report.method
        if any(isinstance(value, Estimate) for value in report.result.values()):
            yield f"privcalc: {place}warning: {subject(report)} is an estimate without certificate"
        elif not method.tolerance_met:
            # Both directions of a relation often have the same thing to say.
            why = "".join(f"; {note}" for note in dict.fromkeys(method.notes))
            yield (
                f"privcalc: {place}warning: the bracket of {subject(report)} is wider than "
                f"the tolerance{why}"
            )


def failed_checks(reports: Sequence[Report], place: str = "") -> Iterator[str]:
    """Say why the exit status is 1."""
    for report in reports:
        if report.check is not None and report.check.verdict is not Verdict.WITHIN:
            yield f"privcalc: {place}{report.check.sentence}"


def details(reports: Sequence[Report], place: str = "") -> Iterator[str]:
    """Show engine, error terms, and each direction that was worked out."""
    for report in reports:
        method = report.method
        yield f"{place}{subject(report)}: engine {method.engine}{_terms(method.terms)}"
        for direction in report.directions:
            value = "no number"
            if direction.bound is not None:
                value = bracket(direction.bound)
            elif direction.estimate is not None:
                value = f"about {number(direction.estimate)}"
            terms = _terms(direction.method.terms)
            yield f"  {direction.adjacency}: {value}, engine {direction.method.engine}{terms}"
        for note in dict.fromkeys(method.notes):
            yield f"  note: {note}"


def subject(report: Report) -> str:
    """Name what was asked, such as `epsilon at delta 1e-5`."""
    if not report.query:
        return "the profile"
    names = " and ".join(report.result)
    return names + "".join(f" at {name} {number(value)}" for name, value in report.query.items())


def _terms(terms: Mapping[str, float]) -> str:
    return "".join(f", {name} {short_exponent(f'{value:.2g}')}" for name, value in terms.items())
