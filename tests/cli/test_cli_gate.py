"""The budget file: what it says, how a check of it ends, and where its mistakes are."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.test_cli_schema import objects, validator
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

BUDGET = "[budget]\nepsilon = {}\ndelta = 1e-5\n"
TRAINING = 'name = "training"\nspec = "gaussian:sigma=30@10"\n'
COUNTS = 'name = "counts"\nspec = "laplace:scale=2"\nnote = "of  2026"\n'
MECHANISMS = f"\n[[mechanism]]\n{TRAINING}\n[[mechanism]]\n{COUNTS}"
SPECS = ("gaussian:sigma=30@10", "laplace:scale=2")


@pytest.fixture
def check(
    run: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Check a budget file with this content."""
    monkeypatch.chdir(tmp_path)

    def call(content: str | bytes, *arguments: str) -> Outcome:
        raw = content.encode() if isinstance(content, str) else content
        (tmp_path / "privacy.toml").write_bytes(raw)
        return run("compose", "--file", "privacy.toml", *arguments)

    return call


def test_parts_and_total(check: Callable[..., Outcome], run: Callable[..., Outcome]) -> None:
    """One object, about the whole, which any command reads; parts are what they cost alone."""
    outcome = check(BUDGET.format(3) + MECHANISMS, "--json")
    [found] = objects(outcome)
    assert found["text"] == "+".join(SPECS)
    assert found["check"] == {"max_epsilon": 3, "verdict": "within"}
    parts = found["result"]["mechanisms"]
    assert [each["name"] for each in parts] == ["training", "counts"]
    for row, specs in zip((*parts, found["result"]), (SPECS[:1], SPECS[1:], SPECS), strict=True):
        alone = float(run("compose", *specs, "--delta", "1e-5", "-t").stdout)
        assert row["epsilon"]["lower"] <= alone <= row["epsilon"]["upper"] * (1 + 1e-4)
    # Each by itself is read under the relation of the whole.
    whole = MECHANISMS.replace("laplace:scale=2", "gaussian:sigma=2@wor:n=9,m=9")
    content = BUDGET.format(9) + whole
    asked = json.loads(check(content, "--json").stdout)
    written = content.replace("1e-5\n", '1e-5\nrelation = "replace_one"\n', 1)
    assert asked["relation"] == "replace_one"
    assert asked["result"] == json.loads(check(written, "--json").stdout)["result"]


@pytest.mark.parametrize(
    ("quantity", "first", "second"),
    [
        # 10 (1 / 30)^2 and 1 / 2 of it; Laplace noise of scale 2 has a largest loss of 1 / 2, and
        # its rho is the divergence of order 1: 1 / b + e^(-1 / b) - 1.
        ("rho", 10 / 1800, 0.5 + math.exp(-0.5) - 1),
        ("mu", math.sqrt(10) / 30, None),
    ],
)
def test_budgets_of_rho_and_mu(
    quantity: str, first: float, second: float | None, check: Callable[..., Outcome]
) -> None:
    """They hold at every delta: the parts, the total and the verdict."""
    content = f"[budget]\n{quantity} = {{}}\n{MECHANISMS}"
    [found] = objects(check(content.format(1), "--json"))
    assert found["check"] == {f"max_{quantity}": 1, "verdict": "within"}
    for part, truth in zip(found["result"]["mechanisms"], (first, second), strict=True):
        if truth is not None:
            assert part[quantity]["lower"] <= truth * (1 + 1e-9)
            assert truth * (1 - 1e-12) <= part[quantity]["upper"] <= truth * (1 + 1e-6)
    total = found["result"][quantity]["upper"]
    assert max(first, second or 0.0) < total
    over = check(content.format(total / 2))
    assert over.status == 1
    assert f"over budget: {quantity} >= " in over.stdout
    assert "counts costs most" in over.stdout


FILTER = '\n[[mechanism]]\nname = "filter"\nspec = "{}"\nfilter = {}\n'


def test_a_filter_is_its_guarantee(check: Callable[..., Outcome]) -> None:
    """However many steps it admits: sqrt(M)-GDP for M = 2, here and in a sum, with a sentence."""
    mu = math.sqrt(2.0)
    content = BUDGET.format(9) + FILTER.format(f"gdp:mu={mu!r}", "true")
    assert "who was dropped stays secret" in check(content).stdout
    alone = json.loads(check(content, "--json").stdout)["result"]["epsilon"]
    assert alone["lower"] <= 6.572970067 + 1e-8
    assert alone["upper"] == pytest.approx(6.572970067, rel=1e-8)
    whole = json.loads(check(content + MECHANISMS, "--json").stdout)["result"]
    plain = json.loads(check(content.replace("filter = true", "") + MECHANISMS, "--json").stdout)
    assert whole == plain["result"]


@pytest.mark.parametrize(
    ("spec", "value", "message"),
    [
        ("gaussian:sigma=4@10", "true", "line 8: a filter is a guarantee for each record"),
        ("gdp:mu=1@2", "true", "line 8: a filter is a guarantee for each record"),
        ("gdp:mu=1", '"yes"', "line 8: filter takes true or false"),
        ("gdp:mu=1+gaussian:sigma=2@wor:n=9,m=3", "false", ""),
    ],
)
def test_what_is_no_filter(
    spec: str, value: str, message: str, check: Callable[..., Outcome]
) -> None:
    """It is a guarantee, for records that are added or removed."""
    said = check(BUDGET.format(9) + FILTER.format(spec, value))
    assert message in said.stderr
    assert said.status == (2 if message else 0)
    replaced = check(
        BUDGET.format(9) + FILTER.format("gdp:mu=1", "true"), "--relation", "replace-one"
    )
    assert replaced.status == 2
    assert "filters are of add-or-remove-one: filter is one" in replaced.stderr


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (("epsilon", "epsilom"), 2, "[budget] has no key epsilom"),
        (("counts", "training"), 10, "two mechanisms are called"),
        (("laplace", "laplase"), 11, "did you mean laplace?"),
        (("of  2026", r"\u202e"), 12, "not printed"),
        (("counts", r"\u001b[31m"), 10, "not printed"),
        (("laplace:scale=2", "opacus:file=./x"), 11, "cannot be read"),
    ],
)
def test_mistakes_are_pointed_at(
    change: tuple[str, str], line: int, message: str, check: Callable[..., Outcome]
) -> None:
    """Each has the file and its line, in all three forms; nothing acts on the terminal."""
    content = (BUDGET.format(3) + MECHANISMS).replace(*change)
    text = check(content)
    assert (text.status, text.stdout) == (2, "")
    assert text.stderr.startswith(f"privcalc: privacy.toml, line {line}: ")
    assert message in text.stderr
    assert text.stderr.replace("\n", "").isprintable()
    found = json.loads(check(content, "--json").stderr)
    validator("error").validate(found)
    assert (found["file"], found["line"]) == ("privacy.toml", line)
    annotation = check(content, "--format", "github").stderr
    assert annotation.startswith(f"::error file=privacy.toml,line={line},title=privcalc::")


@pytest.mark.parametrize(
    ("content", "status"),
    [
        # Infinite, alone and in a sum.
        (BUDGET.format(3).replace("1e-5", "0") + MECHANISMS, 1),
        (
            BUDGET.format(10**9)
            + MECHANISMS.replace("laplace:scale=2", "approx:epsilon=0,delta=1"),
            1,
        ),
        # No lower end is known, and the budget is below the upper one.
        (BUDGET.format(0.9) + '[[mechanism]]\nname = "a"\nspec = "zcdp:rho=0.1"\n', 1),
        (BUDGET.format(0) + MECHANISMS, 1),
        (BUDGET.format(0) + '[[mechanism]]\nname = "none"\nspec = "pure:epsilon=0"\n', 0),
        (BUDGET.format(3) + MECHANISMS.replace("laplace", "laplase"), 2),
        (b"\xff", 2),
        (b"", 2),
        ("x = " + "[" * 10_000, 2),
        ("x" * 300_000, 2),
    ],
)
def test_fails_closed(content: str | bytes, status: int, check: Callable[..., Outcome]) -> None:
    """What is infinite, undecided, wrong or empty does not pass, in any format."""
    for form in ("table", "json", "csv", "markdown", "github"):
        outcome = check(content, "--format", form)
        assert outcome.status == status
        assert "internal" not in outcome.stderr
    assert check(content, "-q").status == status
    assert check(content, "-t").status == status


def test_pipes_fail_closed(run: Callable[..., Outcome], tmp_path: Path) -> None:
    """The same of standard input: nothing, an empty history, an error, and what is not proved."""
    budget = ("--delta", "1e-5", "--max-epsilon", "3")
    error = run("compose", "gausian:sigma=1", *budget, "--json").stderr
    for stdin, status in [
        ("", 2),
        ("\n \n", 2),
        ('{"history": [], "mechanism": "gdp"}', 2),
        ("NonPrivateDpEvent()", 2),
        ("ComposedDpEvent(events=[])", 2),
        (error, 2),
        ("approx:epsilon=0,delta=1", 1),
        ("zcdp:rho=0.5", 1),
        ("gaussian:sigma=9\ngausian:sigma=1\n", 2),
        ("gaussian:sigma=9\ngaussian:sigma=1\n", 1),
        ("gaussian:sigma=9\n", 0),
    ]:
        assert run("compose", "-", *budget, stdin=stdin).status == status, stdin
    (tmp_path / "empty").write_text("", encoding="utf-8")
    for spec in (f"opacus:file={tmp_path}/empty", f"rdp:file={tmp_path}/empty", ""):
        assert run("compose", spec, *budget).status == 2
    for command in ("convert", "compose"):
        assert run(command, "-", "--delta", "1e-5", "-t", stdin="").status == 2


def test_numbers_are_those_of_the_command_line(check: Callable[..., Outcome]) -> None:
    """Ratios and percentages stand in quotes; what is written exactly is meant exactly."""
    spec = '[[mechanism]]\nname = "a"\nspec = "pure:epsilon=0.1@3"\n'
    for epsilon in ("0.3", '"3/10"', '"30%"', "3e-1", "0.3_0", "+0.3"):
        text = f"[budget]\nepsilon = {epsilon}\ndelta = 0\n{spec}"
        assert check(text).status == 0, epsilon
    assert check(f"[budget]\nepsilon = 0.29999999999999993\ndelta = 0\n{spec}").status == 1


class TestRecipes:
    """What README and the repository offer to others runs as it is written."""

    def shell(self, script: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
        """Run lines of a workflow, with the package under test as `privcalc`."""
        command = tmp_path / "privcalc"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m privcalc "$@"\n', "utf-8")
        command.chmod(0o755)
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        summary = str(tmp_path / "summary.md")
        return subprocess.run(
            # As the runner does.
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={
                **os.environ,
                "PATH": path,
                "PYTHONPATH": str(ROOT),
                "GITHUB_STEP_SUMMARY": summary,
            },
        )

    @pytest.mark.slow
    def test_workflow(self, tmp_path: Path) -> None:
        """The step of README passes within budget, and fails over it with an annotation."""
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        (workflow,) = re.findall(r"^```yaml\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
        (budget,) = re.findall(r"^```toml\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
        script = "\n".join(re.findall(r"- run: (privcalc .*)$", workflow, re.MULTILINE))
        assert script.endswith("privcalc compose --file privacy.toml --format github")
        (tmp_path / "privacy.toml").write_text(budget, encoding="utf-8")
        done = self.shell(script, tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("::notice file=privacy.toml,line=")
        assert "within budget" in (tmp_path / "summary.md").read_text(encoding="utf-8")
        over = budget.replace("epsilon = 3", "epsilon = 2")
        assert over != budget
        (tmp_path / "privacy.toml").write_text(over, encoding="utf-8")
        done = self.shell(script, tmp_path)
        assert done.returncode == 1
        line = 1 + over[: over.index('spec = "gaussian')].count("\n")
        assert done.stdout.startswith(f"::error file=privacy.toml,line={line},title=")
        # The shell stops at the first failure, and the summary stands before it.
        assert "over budget" in (tmp_path / "summary.md").read_text(encoding="utf-8")
        manual = (ROOT / "man/src/privcalc-compose.1.mdoc").read_text(encoding="utf-8")
        steps = manual.partition("- run: |\n")[2].partition(".Ed")[0].replace("\\e\n", "")
        assert [line.split() for line in steps.splitlines()] == [
            line.split() for line in script.splitlines()
        ]

    @pytest.mark.slow
    def test_hook(self, tmp_path: Path) -> None:
        """The hook for pre-commit is the gate."""
        hook = dict(
            line.strip(" -").split(": ", 1)
            for line in (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8").splitlines()
            if ": " in line
        )
        assert (hook["id"], hook["pass_filenames"]) == ("privcalc-budget", "false")
        command = f"{hook['entry']} {hook['args'].strip('[]')}"
        for epsilon, status in ((3, 0), (0.1, 1)):
            content = BUDGET.format(epsilon) + MECHANISMS
            (tmp_path / "privacy.toml").write_text(content, encoding="utf-8")
            assert self.shell(command, tmp_path).returncode == status
        (tmp_path / "privacy.toml").unlink()
        assert self.shell(command, tmp_path).returncode == 2
