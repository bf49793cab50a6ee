"""Budget checks as reports of continuous integration: JUnit XML, and Code Quality of GitLab.

Each is one document, which is whole before any of it is printed. Both are read by GitLab, as the
artifacts `reports: junit` and `reports: codequality`; JUnit is read nearly everywhere else, too.
"""

from __future__ import annotations

import hashlib
import json
import re
from posixpath import normpath
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from privcalc.bounds import Verdict
from privcalc.errors import UsageError
from privcalc.render.github import sentence
from privcalc.render.words import title, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Report

# What XML 1.0 has no form for; names of files may have it in them.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Of a number that is too large, and of one that may be.
_SEVERITY = {Verdict.EXCEEDED: "critical", Verdict.UNDECIDED: "major"}


def junit(reports: Sequence[Report]) -> Iterator[str]:
    """Render all answers to one question: a test case each, which fails as its check does.

    The elements and attributes are those that the schema of Jenkins has (junit-10.xsd). What a
    failure says is its text, too: GitLab shows that, and not the message.
    """
    failed = sum(1 for each in reports if _fails(each))
    counts = {"tests": str(len(reports)), "failures": str(failed), "errors": "0"}
    root = ET.Element("testsuites", {"name": "privcalc", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": "privacy budget", **counts})
    for each in reports:
        names = {"name": _xml(_name(each)), "classname": f"privcalc.{each.command}"}
        case = ET.SubElement(suite, "testcase", names)
        check, said = each.check, sentence(each)
        if check is not None and _fails(each):
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
    quantity = next(iter(report.result)) if report.check is None else report.check.name[4:]
    at = f" at {report.place[0]} {written(report.place[1])}" if report.place else ""
    of = title([report]) if report.source is None else normpath(report.source[0])
    return f"{quantity}{at} of {of}"


def gitlab(reports: Sequence[Report]) -> Iterator[str]:
    """Render the checks of budget files: a finding for each that is not satisfied, at its line.

    The fingerprint is the same as long as it is the same budget of the same file that fails.

    Raises:
        UsageError: there is no line to show a finding at.
    """
    found = []
    for each in reports:
        if each.check is None or each.source is None:
            raise UsageError(
                "--format gitlab shows findings at lines of a budget file: name one with --file,"
                " or write --format junit"
            )
        path = normpath(each.source[0])
        if _fails(each):
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


def _fails(report: Report) -> bool:
    return report.check is not None and report.check.verdict is not Verdict.WITHIN


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
