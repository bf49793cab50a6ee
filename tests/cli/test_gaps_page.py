"""The manual page on gaps: every row is still so, and what may be asked of has a row."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from privcalc.spec import registry
from privcalc.spec.parse import parse
from privcalc.spec.tree import Leaf, Several
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.spec.tree import Node
    from tests.conftest import Outcome

PAGE = (ROOT / "man" / "privcalc-gaps.7").read_text(encoding="utf-8").replace("\\-", "-")
SOURCE = ROOT / "man" / "src"
TABLE: dict[str, Any] = tomllib.loads((SOURCE / "gaps.toml").read_text(encoding="utf-8"))
GAPS: list[dict[str, Any]] = TABLE["gaps"]
SAMPLES: dict[str, Any] = tomllib.loads((SOURCE / "survey.toml").read_text(encoding="utf-8"))
COLUMNS: list[dict[str, Any]] = SAMPLES["columns"]
SURVEY: list[tuple[str, str]] = [(spec, marks) for spec, marks in SAMPLES["rows"]]
AGREE: float = SAMPLES["agree"]
# How far an answer may be from what the page says before that is brought up to date.
NEAR = 0.012


def ends(value: Any) -> dict[str, Any] | None:
    """Return the first bracket of a result."""
    if isinstance(value, dict) and "upper" in value and set(value) <= {"lower", "upper"}:
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for each in inner if (found := ends(each))), None)


def marked(gap: dict[str, Any]) -> Any:
    """Leave what takes seconds to the slow tests."""
    return pytest.param(gap, id=gap["title"], marks=pytest.mark.slow if gap.get("slow") else ())


@pytest.mark.dear("The best of several runs]")
@pytest.mark.dear("Report noisy max, Laplace noise]")
@pytest.mark.few(16)
@pytest.mark.parametrize("gap", [marked(each) for each in GAPS])
def test_the_gap_is_as_the_page_says(gap: dict[str, Any], run: Callable[..., Outcome]) -> None:
    """The answer is that of the row: a better one is good news, and a row that is out of date."""
    done = run(*shlex.split(gap["ask"]), "--json")
    if gap["kind"] == "refused":
        assert done.status == 2
        assert gap["printed"][0] in json.loads(done.stderr.splitlines()[-1])["message"]
        return
    assert done.status == 0, done.stderr
    found = ends(json.loads(done.stdout.splitlines()[0])["result"])
    assert found is not None
    if gap["kind"] == "above":
        assert "lower" not in found
    else:
        low = float(gap["printed"][0])
        assert low <= found["lower"] <= low + NEAR * max(low, 1e-300)
    if gap["kind"] == "infinite":
        assert found["upper"] == "Infinity"
        return
    high = float(gap["printed"][-1])
    assert high * (1.0 - NEAR) <= found["upper"] <= high
    if gap["kind"] == "apart":
        assert high - low > AGREE * high


def mark(run: Callable[..., Outcome], spec: str) -> str:
    """Return what kind of answer a question of the survey has."""
    done = run("compose", spec, "--delta", "1e-6", "--json")
    if done.status == 2:
        return "-"
    found = ends(json.loads(done.stdout.splitlines()[0])["result"])
    assert found is not None
    if "lower" not in found:
        return "^"
    return "=" if found["upper"] - found["lower"] <= AGREE * found["upper"] else "<"


@pytest.mark.parametrize(
    ("spec", "marks"),
    [pytest.param(*row, id=row[0], marks=pytest.mark.slow) for row in SURVEY],
)
def test_the_survey(spec: str, marks: str, run: Callable[..., Outcome]) -> None:
    """Each cell is of the kind that its mark says."""
    assert "".join(mark(run, f"{spec}{column['tail']}") for column in COLUMNS) == marks


# What is quick.
QUICK = ("one", "poi", "gro", "shu")


@pytest.mark.parametrize("spec", ["pure:epsilon=1", "rdp:order=8,epsilon=1", "gdp:mu=0.5"])
def test_a_part_of_the_survey(spec: str, run: Callable[..., Outcome]) -> None:
    """Some rows, where they take no time."""
    marks = dict(SURVEY)[spec]
    for column, expected in zip(COLUMNS, marks, strict=True):
        if column["heading"] in QUICK:
            assert mark(run, f"{spec}{column['tail']}") == expected, column


def calls(tree: Node) -> Iterator[str]:
    """Yield the names of the mechanisms and wrappers of a specification."""
    if isinstance(tree, Several):
        for event in tree.events:
            yield from calls(event)
        return
    if not isinstance(tree, Leaf):
        yield from calls(tree.event)
    if hasattr(tree, "name"):
        yield tree.name


def asked(kind: str) -> set[str]:
    """Return the names in all questions of a kind."""
    specs = [shlex.split(gap["ask"])[1] for gap in GAPS if gap["kind"] == kind]
    return {name for spec in specs for name in calls(parse(spec).tree)}


@pytest.mark.parametrize("kind", ["between", "above"])
def test_whatever_has_a_gap_has_a_row(kind: str) -> None:
    """What says why its ends are apart, or why it has none below, is on the page."""
    entries = (*registry.mechanisms(), *registry.wrappers())
    said = {entry.name for entry in entries if getattr(entry, kind)}
    assert said <= asked("apart" if kind == "between" else kind)


def test_the_survey_has_every_mechanism() -> None:
    """But for those that read a file, which are other mechanisms by then."""
    files = {"profile", "pmf"}
    named = {name for spec, _ in SURVEY for name in calls(parse(spec).tree)}
    assert named | files == {entry.name for entry in registry.mechanisms()}
    assert all(len(marks) == len(COLUMNS) and set(marks) <= set("=<^-") for _, marks in SURVEY)


def test_commands_can_be_pasted() -> None:
    """Also those of several lines, into a shell, indented as the page is."""
    text = PAGE.replace("\\e", "\\").replace("\\(aq", "'")
    found = re.findall(r"^\.Dl (privcalc .*)$", text, re.MULTILINE)
    for block in re.findall(
        r"^\.Bd -literal.*?\n(privcalc .*?)^\.Ed", text, re.MULTILINE | re.DOTALL
    ):
        found.append("".join(f"       {line}\n" for line in block.splitlines()))
    # A shell takes a backslash away with the newline behind it; shlex does so outside of quotes.
    words = [shlex.split(each.replace("\\\n", "")) for each in found]
    # Blanks between the parts of a specification mean nothing.
    shown = [[each[1], each[2].replace(" ", ""), *each[3:]] for each in words]
    assert sorted(shown) == sorted(shlex.split(gap["ask"]) for gap in GAPS)
    broken = [each[2] for each in words if " " in each[2]]
    assert broken
    assert all(parse(spec).tree == parse(spec.replace(" ", "")).tree for spec in broken)
