"""A release says the same everywhere: its version, its date, and the Pythons that it is for."""

from __future__ import annotations

import re
import tomllib

from privcalc.version import __version__
from tests.conftest import ROOT


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


PROJECT = tomllib.loads(_text("pyproject.toml"))["project"]


def test_the_changelog_has_this_version_with_its_date() -> None:
    """It is the first below what is not released, and none is named twice."""
    headings = re.findall(r"^## \[(.*)\](.*)$", _text("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    version, date = headings[1]
    assert version == __version__
    assert re.fullmatch(r" - 20\d\d-\d\d-\d\d", date)
    assert len({name for name, _ in headings}) == len(headings)


def test_the_readme_compares_this_version() -> None:
    """Every number of a version in it is that of this one."""
    assert set(re.findall(r"privcalc (\d+\.\d+\.\d+)", _text("README.md"))) == {__version__}


def test_every_python_of_the_classifiers_is_tested() -> None:
    """The workflow has the same list, and the oldest is the one that is required."""
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    tested = re.search(r"python: \[(.*)\]", _text(".github/workflows/ci.yml"))
    assert tested is not None
    assert re.findall(r"3\.\d+", tested[1]) == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_workflow_does_what_a_person_does() -> None:
    """One script has all that has to hold; it builds the package and checks it."""
    assert ".ci/run" in _text(".github/workflows/ci.yml")
    script = _text(".ci/run")
    assert "python -m build" in script
    assert "twine check --strict" in script


def test_who_and_what_it_is() -> None:
    """What a package index shows is there."""
    assert PROJECT["authors"] == [{"name": "privcalc developers"}]
    assert PROJECT["readme"] == "README.md"
    assert PROJECT["license"] == "Apache-2.0"
