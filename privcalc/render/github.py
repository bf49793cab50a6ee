"""GitHub workflow commands: an annotation for each answer."""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import normpath
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict
from privcalc.render.assumptions import NAME, sampling_name, sensitivities
from privcalc.render.report import Estimate, OneSided
from privcalc.render.words import (
    COLUMNS,
    METHODS,
    bracket,
    named,
    number,
    one_sided,
    title,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
from privcalc.render.report import Report


def lines(report: Report) -> Iterator[str]:
    """Render one answer: an error if it fails its check, a notice otherwise."""
    if report.check is not None:
        level = "notice" if report.check.verdict is Verdict.WITHIN else "error"
        yield annotation(level, "privacy budget", sentence(report), report.source)
    elif report.caution:
        yield annotation("warning", "no privacy guarantee", sentence(report))
    else:
        yield annotation("notice", "privacy", sentence(report))


def sentence(report: Report) -> str:
    """Say what was found, and of what, on one line: what a check proved, or the numbers."""
    about = f"{title([report])}; relation {report.relation.text}, sampling {sampling_name(report)}"
    about = f"{report.name}: {about}" if report.name else about
    if given := sensitivities([report]):
        about += f", {NAME} {given}"
    why = "".join(f"; {reason}" for reason in report.reasons)
    if report.check is not None:
        return f"{report.check.sentence}{why} ({about})"
    shown = {name for table in report.tables for name in table} or set(report.result)
    found = [
        text
        for name, value in report.result.items()
        if name in shown and (text := _words(name, value))
    ]
    at = f" at {report.place[0]} {written(report.place[1])}" if report.place else ""
    words = f"{', '.join(found)}{at}{why} ({about})"
    return f"{report.caution}: {words}" if report.caution else words


def annotation(level: str, title: str, message: str, source: tuple[str, int] | None = None) -> str:
    """Write one workflow command, escaped as the runner expects it.

    Args:
        level: notice, warning or error.
        title: what it is about.
        message: what it says.
        source: the file and the line that it is shown at, if there is one.
    """
    values = {"title": title}
    if source is not None:
        values = {"file": normpath(source[0]), "line": str(source[1]), **values}
    written = (
        f"{name}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in values.items()
    )
    return f"::{level} {','.join(written)}::{_escaped(message)}"


def _words(name: str, value: object) -> str:
    if isinstance(value, Bound):
        return (
            f"{name} in {bracket(value)}" if value.lower is not None else f"{name} {bracket(value)}"
        )
    if isinstance(value, Estimate):
        return f"{name} about {number(value.value)} (estimate, not certified)"
    if isinstance(value, Mapping):
        words = ", ".join(f"{METHODS.get(k, k)} {named(v)}" for k, v in value.items())
        return words if name == "methods" else f"{COLUMNS.get(name, name)} ({words})"
    if isinstance(value, list):
        ends = [str(bracket(item)) for item in value if isinstance(item, Bound)]
        ends += [one_sided(item) for item in value if isinstance(item, OneSided)]
        return f"{name} from {ends[0]} to {ends[-1]}" if ends else ""
    return f"{name} {one_sided(value) if isinstance(value, OneSided) else value}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
