"""The budget file: what it says, how a check of it ends, and where its mistakes are."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import jsonschema
import pytest

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


def upper(run: Callable[..., Outcome], *specs: str) -> float:
    """Return the safe epsilon of specifications."""
    return float(run("compose", *specs, "--delta", "1e-5", "-t").stdout)


def test_table(check: Callable[..., Outcome], run: Callable[..., Outcome]) -> None:
    """A line for each mechanism, the total, the budget, the notes, and the verdict last."""
    outcome = check(BUDGET.format(3) + MECHANISMS)
    lines = outcome.stdout.splitlines()
    assert outcome.status == 0
    table = [line.split() for line in lines if line.startswith("1e-5")]
    assert [row[1] for row in table] == ["training", "counts", "total", "budget"]
    assert table[3] == ["1e-5", "budget", "3"]
    for row, specs in zip(table, (SPECS[:1], SPECS[1:], SPECS), strict=False):
        assert float(row[2]) <= upper(run, *specs) <= float(row[3]) * (1 + 1e-4)
    assert "counts  of 2026" in lines
    assert lines[-1].startswith("within budget: epsilon <= ")


def test_json(check: Callable[..., Outcome]) -> None:
    """One object, about the whole, which any command reads; parts are beside the total."""
    outcome = check(BUDGET.format(3) + MECHANISMS, "--json")
    found = json.loads(outcome.stdout)
    schema = json.loads((ROOT / "privcalc/schema/result-v1.json").read_text(encoding="utf-8"))
    jsonschema.validate(found, schema)
    assert found["text"] == "+".join(SPECS)
    assert [each["name"] for each in found["result"]["mechanisms"]] == ["training", "counts"]
    assert found["check"] == {"max_epsilon": 3, "verdict": "within"}


def test_other_formats(check: Callable[..., Outcome], run: Callable[..., Outcome]) -> None:
    """CSV has a verdict for what was checked only; -t is the total; -q the status."""
    content = BUDGET.format(0.1) + MECHANISMS
    rows = list(csv.DictReader(check(content, "--format", "csv").stdout.splitlines()))
    assert [(row["given"], row["at"], row["verdict"]) for row in rows] == [
        ("delta", "1e-5", "exceeded"),
        ("name", "training", ""),
        ("name", "counts", ""),
    ]
    assert float(check(content, "-t").stdout) == pytest.approx(upper(run, *SPECS), rel=1e-3)
    quiet = check(content, "-q")
    assert (quiet.status, quiet.stdout, quiet.stderr) == (1, "", "")
    markdown = check(content, "--format", "markdown").stdout
    assert "| 1e-5 | budget |  | 0.1 |" in markdown
    assert "- **over budget**" in markdown


def test_annotation(check: Callable[..., Outcome]) -> None:
    """The annotation stands beside the specification that costs most."""
    over = check(BUDGET.format(0.1) + MECHANISMS, "--format", "github")
    assert over.status == 1
    assert over.stdout.startswith("::error file=privacy.toml,line=11,title=privacy budget::over")
    assert "counts costs most, 0.4" in over.stdout
    within = check(BUDGET.format(3) + MECHANISMS, "--format", "github")
    assert within.stdout.startswith("::notice file=privacy.toml,line=11,title=privacy budget::")


def test_relation(check: Callable[..., Outcome]) -> None:
    """That of the file, of the command line, or of what is in it; they must not contradict."""
    one = '[[mechanism]]\nname = "a"\nspec = "{}"\n'
    asked = BUDGET.format(9) + 'relation = "replace_one"\n'

    def relation(content: str, *arguments: str) -> str:
        outcome = check(content, "--json", *arguments)
        return str(json.loads(outcome.stdout or outcome.stderr).get("relation", outcome.stderr))

    gaussian = one.format("gaussian:sigma=2")
    assert relation(asked + gaussian) == "replace_one"
    assert relation(BUDGET.format(9) + gaussian) == "add_or_remove_one"
    assert relation(BUDGET.format(9) + gaussian, "--relation", "replace-one") == "replace_one"
    assert relation(BUDGET.format(9) + one.format("gaussian:sigma=2@wor:n=9,m=1")) == "replace_one"
    assert "holds under" in relation(asked + gaussian, "--relation", "add-or-remove-one")
    assert "holds under" in relation(asked + one.format("GaussianDpEvent(noise_multiplier=2)"))
    # Each by itself is read as in the whole.
    whole = one.format("gaussian:sigma=2@wor:n=9,m=9").replace('"a"', '"b"')
    found = json.loads(check(BUDGET.format(9) + gaussian + whole, "--json").stdout)
    alone = json.loads(check(asked + gaussian, "--json").stdout)
    assert found["result"]["mechanisms"][0] == alone["result"]["mechanisms"][0]


OTHERS = [
    # 10 (1 / 30)^2 and 1 / 2 of it; Laplace noise of scale 2 has a largest loss of 1 / 2, and its
    # rho is the divergence of order 1: 1 / b + e^(-1 / b) - 1.
    ("rho", 10 / 1800, 0.5 + math.exp(-0.5) - 1, "within"),
    ("mu", math.sqrt(10) / 30, None, "within"),
]


@pytest.mark.parametrize(("quantity", "first", "second", "verdict"), OTHERS)
def test_budgets_of_rho_and_mu(
    quantity: str, first: float, second: float | None, verdict: str, check: Callable[..., Outcome]
) -> None:
    """They hold at every delta: the parts, the total, the verdict and what it is about."""
    content = f"[budget]\n{quantity} = {{}}\n{MECHANISMS}"
    done = check(content.format(1), "--json")
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    schema = json.loads((ROOT / "privcalc/schema/result-v1.json").read_text(encoding="utf-8"))
    jsonschema.validate(found, schema)
    assert found["check"] == {f"max_{quantity}": 1, "verdict": verdict}
    parts = [each[quantity] for each in found["result"]["mechanisms"]]
    assert parts[0]["lower"] <= first * (1 + 1e-12)
    assert parts[0]["upper"] >= first * (1 - 1e-12)
    if second is not None:
        assert parts[1]["lower"] <= second * (1 + 1e-9)
        assert parts[1]["upper"] == pytest.approx(second, rel=1e-6)
    total = found["result"][quantity]["upper"]
    assert max(first, second or 0.0) < total
    over = check(content.format(total / 2), "--format", "github")
    assert over.status == 1
    assert over.stdout.startswith("::error file=privacy.toml,line=10,title=privacy budget::over")
    assert f"over budget: {quantity} >= " in over.stdout
    assert "counts costs most" in over.stdout
    assert total <= float(check(content.format(1), "-t").stdout) <= total * (1 + 1e-9)
    table = check(content.format(1)).stdout
    assert f"{quantity} lower bound" in table
    assert "budget" in table
    assert list(csv.DictReader(check(content.format(1), "--format", "csv").stdout.splitlines()))


@pytest.mark.parametrize("by_file", [True, False])
def test_events_are_read_under_the_relation(by_file: bool, check: Callable[..., Outcome]) -> None:
    """That of the file, or of the command line: some events say nothing without it."""
    event = "SampledWithoutReplacementDpEvent(100, 3, GaussianDpEvent(9))"
    asked = 'relation = "replace-one"\n' if by_file else ""
    content = f'{BUDGET.format(3)}{asked}[[mechanism]]\nname = "a"\nspec = "{event}"\n'
    words = () if by_file else ("--relation", "replace-one")
    done = check(content, "--json", *words)
    assert done.status == 0, done.stderr
    assert json.loads(done.stdout)["text"] == "gaussian:sigma=9,sensitivity=2@wor:n=100,m=3"
    assert "pass --relation replace-one" in check(content.replace(asked, "")).stderr


WRONG = [
    (f"[budget]\nrho = 1\nmu = 1\n{MECHANISMS}", 3, "[budget] has rho or mu, not both"),
    (f"[budget]\nrho = 1\nepsilon = 1\n{MECHANISMS}", 2, "has epsilon or rho, not both"),
    (f"[budget]\nrho = 1\ndelta = 0.1\n{MECHANISMS}", 3, "rho holds at every delta"),
    (f"[budget]\nmu = -1\n{MECHANISMS}", 2, "mu must be >= 0, got -1"),
    (f"[budget]\nrho = 1\nro = 1\n{MECHANISMS}", 3, "[budget] has no key ro; known: rho, rel"),
    ("", None, "a table [budget] with epsilon and delta is needed"),
    ("# nothing\n", None, "a table [budget] with epsilon and delta is needed"),
    (BUDGET.format(3), None, "there is no mechanism, and nothing to check"),
    (BUDGET.format(3) + "mechanism = []", None, "write [[mechanism]]"),
    ("mechanism = []\n" + BUDGET.format(3), None, "there is no mechanism"),
    ("mechanism = 3\n" + BUDGET.format(3), None, "there is no mechanism"),
    (BUDGET.format(3) + f"[mechanism]\n{COUNTS}", None, "write [[mechanism]]"),
    (BUDGET.format(3) + f"[[budget.mechanism]]\n{COUNTS}", None, "write [[mechanism]]"),
    (BUDGET.format(3) + 'mechanism = [{name = "a"}]\n', None, "write [[mechanism]]"),
    (BUDGET.format(3).replace("1e-5", "1") + MECHANISMS, 3, "delta must be below 1"),
    (BUDGET.format(3).replace("1e-5", '"100%"') + MECHANISMS, 3, "delta must be below 1"),
    (BUDGET.format(3) + MECHANISMS.replace("counts", "total"), 10, "no mechanism is called total"),
    (BUDGET.format(3) + MECHANISMS.replace("counts", "Budget"), 10, "no mechanism is called Bud"),
    (BUDGET.format("") + MECHANISMS, 2, "not TOML: Invalid value"),
    (BUDGET.format(3) + "[budget]\n", 4, "not TOML: Cannot declare"),
    (BUDGET.format("inf") + MECHANISMS, 2, "epsilon must be finite"),
    (BUDGET.format("nan") + MECHANISMS, 2, "epsilon must be finite"),
    (BUDGET.format("-1") + MECHANISMS, 2, "epsilon must be >= 0, got -1"),
    (BUDGET.format("true") + MECHANISMS, 2, "epsilon takes a number"),
    (BUDGET.format('"three"') + MECHANISMS, 2, "epsilon takes a number"),
    (BUDGET.format(3).replace("1e-5", "2") + MECHANISMS, 3, "delta must be between 0 and 1"),
    (BUDGET.format(3).replace("delta", "detla") + MECHANISMS, 3, "[budget] has no key detla"),
    (BUDGET.format(3).replace("delta = 1e-5", "") + MECHANISMS, 1, "[budget] needs delta"),
    (BUDGET.format(3) + 'relation = "remove"\n' + MECHANISMS, 4, "relation is one of"),
    (BUDGET.format(3) + "[project]\nx = 1\n" + MECHANISMS, 4, "unknown table: project"),
    (BUDGET.format(3) + '[[mechanism]]\nname = "a"\n', 4, "[[mechanism]] needs spec"),
    (BUDGET.format(3) + f"[[mechanism]]\n{COUNTS}x = 1\n", 8, "[[mechanism]] has no key x"),
    (
        BUDGET.format(3) + f"[[mechanism]]\n{COUNTS}epsilon = 1\n",
        8,
        "[[mechanism]] has no key epsilon; the budget is that of all mechanisms together",
    ),
    (BUDGET.format(3) + MECHANISMS.replace('"counts"', "3"), 10, "name takes text in quotes"),
    (BUDGET.format(3) + MECHANISMS.replace("counts", ""), 10, "a name has 1 to 80 characters"),
    (BUDGET.format(3) + MECHANISMS.replace("counts", "training"), 10, "two mechanisms are called"),
    (BUDGET.format(3) + MECHANISMS.replace("counts", r"\u001b[31m"), 10, "not printed"),
    (BUDGET.format(3) + MECHANISMS.replace("of  2026", r"\u202e"), 12, "not printed"),
    (BUDGET.format(3) + MECHANISMS.replace("laplace", "laplase"), 11, "did you mean laplace?"),
    (BUDGET.format(3) + MECHANISMS.replace("scale=2", "scale=_"), 11, "only calibrate finds"),
    (BUDGET.format(3) + MECHANISMS.replace("laplace:scale=2", "-"), 11, "a mechanism is expected"),
    (
        BUDGET.format(3) + MECHANISMS.replace("laplace:scale=2", "rdp:file=./x"),
        11,
        "cannot be read",
    ),
    (
        BUDGET.format(3) + MECHANISMS.replace("laplace:scale=2", "opacus:file=./x"),
        11,
        "cannot be read",
    ),
    (
        BUDGET.format(3) + MECHANISMS.replace('"laplace:scale=2"', "'{\"history\": []}'"),
        11,
        "mechanism is one of",
    ),
    (
        BUDGET.format(3)
        + MECHANISMS.replace("laplace:scale=2", "gaussian:sigma=1@wor:q=0.1").replace(
            "@10", "@poisson:q=0.1"
        ),
        None,
        "@poisson and @wor in one specification",
    ),
]


@pytest.mark.parametrize(("content", "line", "message"), WRONG)
def test_mistakes_are_pointed_at(
    content: str, line: int | None, message: str, check: Callable[..., Outcome]
) -> None:
    """Each has the file, and its line where it has one, in all three forms; the status is 2."""
    text = check(content)
    place = "privacy.toml" + (f", line {line}" if line else "")
    assert (text.status, text.stdout) == (2, "")
    assert text.stderr.startswith(f"privcalc: {place}: ")
    assert message in text.stderr
    assert text.stderr.replace("\n", "").isprintable()
    found = json.loads(check(content, "--json").stderr)
    schema = json.loads((ROOT / "privcalc/schema/error-v1.json").read_text(encoding="utf-8"))
    jsonschema.validate(found, schema)
    assert (found["file"], found.get("line")) == ("privacy.toml", line)
    annotation = check(content, "--format", "github").stderr
    assert annotation.startswith(f"::error file=privacy.toml,line={line or 1},title=privcalc::")


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


def test_file_stands_alone(check: Callable[..., Outcome], run: Callable[..., Outcome]) -> None:
    """The file has the specifications and the budget; other options say how to ask."""
    content = BUDGET.format(3) + MECHANISMS
    for extra in (("gaussian:sigma=1",), ("-",), ("--delta", "1e-5"), ("--max-epsilon", "9")):
        outcome = check(content, *extra)
        assert outcome.status == 2
        assert "give neither as well" in outcome.stderr
    assert check(content, "--engine", "fft", "--tolerance", "1e-3").status == 0
    assert "needs a proof" in check(content, "--engine", "afa").stderr
    for name, message in (("/dev/zero", "it is no regular file"), ("none.toml", "cannot be read")):
        outcome = run("compose", "--file", name)
        assert outcome.status == 2
        assert message in outcome.stderr


def test_standard_input(run: Callable[..., Outcome]) -> None:
    """`-` is read as a file is; it has no line that an annotation could stand beside."""
    content = BUDGET.format(3) + MECHANISMS
    done = run("compose", "--file", "-", stdin=content)
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("within budget")
    annotation = run("compose", "--file", "-", "--format", "github", stdin=content).stdout
    assert annotation.startswith("::notice title=privacy budget::")
    wrong = run("compose", "--file", "-", stdin=content.replace("laplace", "laplase"))
    assert wrong.status == 2
    assert wrong.stderr.startswith("privcalc: standard input, line 11: unknown mechanism")
    assert "is needed" in run("compose", "--file", "-", stdin="").stderr
    long = run("compose", "--file", "-", stdin="#" * 1_000_001)
    assert (long.status, "more than 1,000,000 characters" in long.stderr) == (2, True)
    for name in ("", " "):
        unnamed = run("compose", "--file", name)
        assert unnamed.status == 2
        assert "--file needs the name of a file" in unnamed.stderr


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
        script = "\n".join(line.strip() for line in workflow.partition("run: |\n")[2].splitlines())
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


@pytest.mark.parametrize("most", ["1.12499999999999999999999999999", '"1/3"', '"1%"'])
def test_the_budget_is_shown_as_it_was_written(check: Callable[..., Outcome], most: str) -> None:
    """The row of the budget has its digits, or the ratio."""
    spec = '[[mechanism]]\nname = "a"\nspec = "gaussian:sigma=2/3"\n'
    done = check(f"[budget]\nrho = {most}\n{spec}")
    shown = most.strip('"')
    assert done.status == 1
    assert re.search(rf"^budget +{re.escape(shown)}$", done.stdout, re.MULTILINE)
    assert f"budget {shown}" in done.stdout


def test_every_quantity_is_named_where_none_is_known(check: Callable[..., Outcome]) -> None:
    """A misspelled key of [budget] is answered with all that there may be."""
    done = check(f"[budget]\nRho = 1\n{MECHANISMS}")
    assert done.status == 2
    assert "no key Rho; known: epsilon, delta, rho, mu, relation" in done.stderr
