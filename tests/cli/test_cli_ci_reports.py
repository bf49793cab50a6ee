"""Reports for continuous integration: documents that say what the exit status says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import jsonschema
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

# What the schema of Jenkins, junit-10.xsd, has of each element: attributes, then elements.
JUNIT = {
    "testsuites": ({"name", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"testcase"}),
    "testcase": ({"name", "classname"}, {"failure", "system-out"}),
    "failure": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}
# What GitLab reads of a Code Quality report, and needs.
CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    # Relative to the repository, without ./ before it.
                    "path": {"type": "string", "pattern": "^[^./]"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
BUDGET = """[budget]
epsilon = {}
delta = 1e-5

[[mechanism]]
name = "training"
spec = "gaussian:sigma=30@10"

[[mechanism]]
name = "counts"
spec = "{}"
"""


@pytest.fixture
def check(
    run: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Check a budget file with this budget and this second mechanism."""
    monkeypatch.chdir(tmp_path)

    def call(form: str, budget: float, spec: str = "laplace:scale=2") -> Outcome:
        text = BUDGET.format(budget, spec)
        (tmp_path / "privacy.toml").write_text(text, encoding="utf-8")
        return run("compose", "--file", "./privacy.toml", "--format", form)

    return call


def document(text: str) -> ET.Element:
    """Read a JUnit report, and see that all of it is in the schema and that its counts are true."""
    root = ET.fromstring(text)  # noqa: S314  (it was written here)
    for each in root.iter():
        attributes, elements = JUNIT[each.tag]
        assert set(each.attrib) == attributes
        assert {child.tag for child in each} <= elements
    cases = [*root.iter("testcase")]
    failures = [*root.iter("failure")]
    for each in (root, *root.iter("testsuite")):
        counts = [each.get(name) for name in ("tests", "failures", "errors")]
        assert counts == [str(len(cases)), str(len(failures)), "0"]
    return root


@pytest.mark.parametrize(
    ("budget", "spec", "verdict", "severity"),
    [
        (3, "laplace:scale=2", "within", None),
        (0.1, "laplace:scale=2", "exceeded", "critical"),
        (0.2, "zcdp:rho=0.1", "undecided", "major"),
    ],
)
def test_reports_of_a_budget_file(
    budget: float, spec: str, verdict: str, severity: str | None, check: Callable[..., Outcome]
) -> None:
    """They fail as the exit status does, and say where, and why; a finding keeps its mark."""
    junit, gitlab = check("junit", budget, spec), check("gitlab", budget, spec)
    (case,) = document(junit.stdout).iter("testcase")
    assert case.get("name") == "epsilon at delta 1e-5 of privacy.toml"
    found = json.loads(gitlab.stdout)
    jsonschema.validate(found, CODE_QUALITY)
    if severity is None:
        assert (junit.status, junit.stderr, gitlab.status, found) == (0, "", 0, [])
        assert not [*case.iter("failure")]
        return
    # The documents go into a file, and the log of the job says it too.
    assert (junit.status, gitlab.status) == (1, 1)
    assert f"epsilon {'>=' if verdict == 'exceeded' else '<='} " in junit.stderr == gitlab.stderr
    (failure,) = case
    assert failure.get("type") == verdict
    assert str(failure.text).startswith(f"privacy.toml:11: {failure.get('message')}")
    (finding,) = found
    assert finding["location"] == {"path": "privacy.toml", "lines": {"begin": 11}}
    assert finding["severity"] == severity
    assert finding["description"].startswith(failure.get("message"))
    (other,) = json.loads(check("gitlab", budget / 2, spec).stdout)
    assert other["fingerprint"] == finding["fingerprint"]


@pytest.mark.parametrize("name", ["a&b<c>.toml", "a\x01b.toml", 'a"b.toml'])
def test_what_xml_has_no_form_for(
    name: str, run: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of files are written so that any reader of XML takes them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(BUDGET.format(0.1, "laplace:scale=2"), encoding="utf-8")
    done = run("compose", "--file", name, "--format", "junit")
    assert done.status == 1
    (case,) = document(done.stdout).iter("testcase")
    shown = name.replace("\x01", "\ufffd")
    assert str(case.get("name")).endswith(f" of {shown}")
    assert str(case[0].text).startswith(f"{shown}:11: over budget")
