"""Answers for continuous integration: GitHub annotations, JUnit XML, and Code Quality of GitLab.

An annotation is a line for each answer. The others are one document, whole before any of it is
printed; GitLab reads them as the artifacts `reports: junit` and `reports: codequality`, and JUnit
is read nearly everywhere else, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from posixpath import normpath
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict
from privcalc.errors import UsageError
from privcalc.render.assumptions import NAME, sampling_name, sensitivities
from privcalc.render.report import End, Estimate, OneSided
from privcalc.render.words import (
    COLUMNS,
    METHODS,
    at,
    bracket,
    named,
    number,
    one_sided,
    title,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Report

# What XML 1.0 has no form for; names of files may have it in them.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Of a number that is too large, and of one that may be.
_SEVERITY = {Verdict.EXCEEDED: "critical", Verdict.UNDECIDED: "major"}


def github(report: Report) -> Iterator[str]:
    """Render one answer: an error if it fails its check, a notice otherwise."""
    if report.check is not None:
        level = "error" if report.failed else "notice"
        about = "privacy audit" if report.evidence else "privacy budget"
        yield annotation(level, about, sentence(report), report.source)
    elif report.caution:
        yield annotation("warning", "no privacy guarantee", sentence(report))
    else:
        yield annotation("notice", "privacy", sentence(report))


def sentence(report: Report) -> str:
    """Say what was found, and of what, on one line: what a check proved, or the numbers."""
    about = f"{title([report])}; relation {report.relation.text}, sampling {sampling_name(report)}"
    about = about if report.text else ""
    about = f"{report.name}: {about}" if report.name else about
    about = "; ".join(filter(None, (about, *(words for _, words in report.facts))))
    if given := sensitivities([report]):
        about += f", {NAME} {given}"
    why = "".join(f"; {reason}" for reason in report.reasons)
    if report.check is not None:
        return f"{report.check.sentence}{why} ({about})"
    shown = {name for table in report.tables for name in table} or set(report.result)
    parts = (_words(name, value) for name, value in report.result.items() if name in shown)
    found = [text for text in parts if text]
    words = f"{', '.join(found)}{at(report)}{why} ({about})"
    return f"{report.caution}: {words}" if report.caution else words


def annotation(level: str, title: str, message: str, source: tuple[str, int] | None = None) -> str:
    """Write one workflow command, escaped as the runner expects it; the source is file and line."""
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
        return f"{name} {'' if value.lower is None else 'in '}{bracket(value)}"
    if isinstance(value, Estimate):
        return f"{name} about {number(value.value)} (estimate, not certified)"
    if isinstance(value, Mapping):
        words = ", ".join(f"{METHODS.get(k, k)} {named(v)}" for k, v in value.items())
        return words if name == "methods" else f"{COLUMNS.get(name, name)} ({words})"
    if isinstance(value, list):
        ends = [str(bracket(item)) for item in value if isinstance(item, Bound)]
        ends += [one_sided(item) for item in value if isinstance(item, OneSided)]
        return f"{name} from {ends[0]} to {ends[-1]}" if ends else ""
    if isinstance(value, End):
        return f"{name} at {'most' if value.is_upper else 'least'} {one_sided(value)}"
    return f"{name} {one_sided(value) if isinstance(value, OneSided) else value}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def junit(reports: Sequence[Report]) -> Iterator[str]:
    """Render all answers to one question: a test case each, which fails as its check does.

    The elements and attributes are those that the schema of Jenkins has (junit-10.xsd). What a
    failure says is its text, too: GitLab shows that, and not the message.
    """
    from xml.etree import ElementTree as ET

    failed = sum(each.failed for each in reports)
    counts = {"tests": str(len(reports)), "failures": str(failed), "errors": "0"}
    root = ET.Element("testsuites", {"name": "privcalc", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": "privacy budget", **counts})
    for each in reports:
        names = {"name": _xml(_name(each)), "classname": f"privcalc.{each.command}"}
        case = ET.SubElement(suite, "testcase", names)
        check, said = each.check, sentence(each)
        if check is not None and each.failed:
            if each.source is not None:
                said = f"{normpath(each.source[0])}:{each.source[1]}: {said}"
            attributes = {"type": check.verdict.value, "message": _xml(check.sentence)}
            ET.SubElement(case, "failure", attributes).text = _xml(said)
        else:
            ET.SubElement(case, "system-out").text = _xml(said)
    ET.indent(root, "")
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield ET.tostring(root, encoding="unicode")


def _name(report: Report) -> str:
    """Name what was asked: `epsilon at delta 1e-5 of gaussian:sigma=2`, or of a file."""
    quantity = report.check.name[4:] if report.check is not None else ""
    quantity = quantity or next(iter(report.result))
    of = title([report]) if report.source is None else normpath(report.source[0])
    of = of or "the evidence"
    return f"{quantity}{at(report)} of {of}"


def gitlab(reports: Sequence[Report]) -> Iterator[str]:
    """Render the checks of budget files: a finding for each that is not satisfied, at its line.

    The fingerprint is the same as long as it is the same budget of the same file that fails.

    Raises:
        UsageError: there is no line to show a finding at.
    """
    import hashlib
    import json

    found = []
    for each in reports:
        if each.check is None or each.source is None:
            raise UsageError(
                "--format gitlab shows findings at lines of a budget file: name one with --file,"
                " or write --format junit"
            )
        path = normpath(each.source[0])
        if each.failed:
            mark = "\0".join((path, _name(each)))
            found.append(
                {
                    "description": sentence(each),
                    "check_name": "privacy-budget",
                    "fingerprint": hashlib.sha256(mark.encode(errors="replace")).hexdigest(),
                    "severity": _SEVERITY[each.check.verdict],
                    "location": {"path": path, "lines": {"begin": each.source[1]}},
                }
            )
    yield json.dumps(found)


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
