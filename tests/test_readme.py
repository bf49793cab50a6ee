"""The README is true: its console blocks run and print what they show."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from privcalc.spec.describe import loops
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
# The files that commands of README read: one is shown, one is what a shown program writes.
(BUDGET,) = re.findall(r"^```toml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PROGRAMS = re.findall(r"^```python\n((?!>>>).*?)^```$", README, re.MULTILINE | re.DOTALL)
ENGINE = """
from types import SimpleNamespace
history = [(1.1, 1 / 235, 5), (1.1, 1 / 235, 14095)]
state = {"history": history, "mechanism": "rdp"}
accountant = SimpleNamespace(state_dict=lambda: state)
privacy_engine = SimpleNamespace(accountant=accountant)
"""
MARK = "---- next command ----"
# More digits than tables print: the last of sixteen depends on the processor.
NOISE = re.compile(r"[1-9](?:\.?\d){11,}")

# What people come for, each in one command. These are in README: what no other command there has.
SHOWN = {
    "Opacus epsilon": "compose opacus:file=history.json",
    "noise for a target": "calibrate gaussian:sigma=_",
    "CI, over budget": "--max-epsilon 2",
    "jq and back": "| jq . | privcalc compose - ",
    "1,000 specifications": "seq 1000 |",
    "CSV": "--format csv",
    "trade-off": "--to tradeoff --fpr",
    "tuning": "privcalc select ",
    "group": "@group:k=3",
    "census": "discrete-gaussian:sigma=7.5@100",
    "plot": "--plot-file tradeoff.svg",
    "DpEvent": "| privcalc compose - --delta 1e-5",
    "statement": "--format statement",
}
# These are not, and have an exit status.
CHECK = "--delta 1e-5 --max-epsilon 2"
OTHERS = {
    "CI, undecided": (f"privcalc compose zcdp:rho=0.5 {CHECK}", 1),
    "CI, typo": (f"privcalc compose zcdp:roh=0.5 {CHECK}", 2),
    "CI, infinite": (f"privcalc compose approx:epsilon=1,delta=1e-4 {CHECK}", 1),
    "CI, empty file": ("privcalc compose --file /dev/null", 2),
    "CI, empty history": (f"echo '{{\"history\": []}}' | privcalc compose - {CHECK}", 2),
    "configuration": ("privcalc compose --file privacy.toml --format github", 0),
    "history": ("privcalc compose - --delta 1e-5 < history.json", 0),
    "library": ("python -c 'import privcalc; print(privcalc.compose(\"gdp:mu=1\", delta=0.1))'", 0),
}


def commands(block: str) -> list[tuple[str, str]]:
    """Split a block into commands and what they print."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run lines of bash beside the files of README, with the package under test as `privcalc`."""
    for name, module in (("privcalc", " -m privcalc"), ("python", "")):
        (tmp_path / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{module} "$@"\n', "utf-8")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "privacy.toml").write_text(BUDGET, encoding="utf-8")
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}

    def call(script: str) -> subprocess.CompletedProcess[str]:
        if "history.json" in script:
            for program in PROGRAMS:
                subprocess.run([sys.executable, "-c", ENGINE + program], check=True, cwd=tmp_path)
        return subprocess.run(
            ["bash", "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            # Blocks may write files.
            cwd=tmp_path,
            env=environment,
        )

    return call


def skip_without_jq(script: str) -> None:
    """Leave out what needs jq where there is none."""
    if "jq" in script and shutil.which("jq") is None:
        pytest.skip("needs jq")


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_console_block(
    block: str, shell: Callable[[str], subprocess.CompletedProcess[str]]
) -> None:
    """Each command prints the lines below it, on either stream."""
    skip_without_jq(block)
    shown = commands(block)
    # The mark must not change $?, which a block may show.
    script = "\n".join(f"{command}\n(s=$?; echo '{MARK}'; exit $s)" for command, _ in shown)
    printed = shell(script).stdout.split(f"{MARK}\n")
    for (command, expected), found in zip(shown, printed[: len(shown)], strict=True):
        assert found == expected, command
        assert not NOISE.search(expected), command


@pytest.mark.parametrize("task", SHOWN)
def test_task_is_one_command_of_readme(task: str) -> None:
    """What people come for is in README, where one command does it, which runs above."""
    shown = [command for block in BLOCKS for command, _ in commands(block)]
    assert len([command for command in shown if SHOWN[task] in command]) == 1


@pytest.mark.few(2)
@pytest.mark.parametrize("task", OTHERS)
def test_task_is_one_command(
    task: str, shell: Callable[[str], subprocess.CompletedProcess[str]]
) -> None:
    """Other tasks are one command, too; what is not proved and what is wrong does not pass."""
    command, status = OTHERS[task]
    done = shell(command)
    assert done.returncode == status, done.stdout
    assert done.stdout
    assert "Traceback" not in done.stdout


def test_the_samplings_are_those_of_the_help() -> None:
    """The table is a part of that of `--help-spec sampling`, each specification of which is run."""
    table = README.partition("## Which sampling is mine?")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.*) \| `([^`|]*)` \|$", table, re.MULTILINE)
    assert rows == [(loop.brief, loop.spec) for loop in loops() if loop.brief]
    assert len(rows) > 10


def test_the_first_screen_is_a_command_its_output_and_a_picture() -> None:
    """Nothing stands before them but what it is, and a line of what the command says."""
    first = README.partition("\n## ")[0]
    assert first.index("```console\n$ privcalc compose ") < first.index("<img src=")
    assert len(first.splitlines()) < 25


def test_picture_is_the_one_of_its_command(run: Callable[..., Outcome], tmp_path: Path) -> None:
    """The picture in README says what its command draws today, and is small."""
    pytest.importorskip("matplotlib")
    path = ROOT / "man" / "tradeoff.svg"
    assert path.stat().st_size < 60_000
    assert f'<img src="{path.relative_to(ROOT).as_posix()}"' in README
    [command] = re.findall(r"^\$ privcalc (.*--plot-file tradeoff.svg.*)$", README, re.MULTILINE)
    assert run(*command.replace("tradeoff.svg", str(tmp_path / "new.svg")).split()).status == 0
    # Of every text that is drawn matplotlib leaves a comment.
    labels = [
        re.findall(r"<!-- (.*) -->", each.read_text(encoding="utf-8"))
        for each in (path, tmp_path / "new.svg")
    ]
    assert labels[0] == labels[1]
    assert "random guess" in labels[0]


def test_is_short() -> None:
    """What is reference is in the manual pages."""
    assert len(README.splitlines()) <= 200


def test_first_command_is_the_main_job() -> None:
    """The first block installs and asks the question that the project is measured by."""
    first = re.search(r"^```sh\n(.*?)\n```$", README, re.MULTILINE | re.DOTALL)
    assert first is not None
    assert first[1] == (
        "pip install . && "
        "privcalc compose gaussian:sigma=1.1@poisson:q=256/60000@14063 --delta 1e-5"
    )


@pytest.mark.parametrize(
    "words", ["1,000,000 characters", "a wider bracket is still a certified one"]
)
def test_says_what_the_limits_are(words: str) -> None:
    """Limits are stated where people look first."""
    assert words in " ".join(README.split())


@pytest.mark.parametrize("words", ["steps = epochs x n / b", "Poisson sampling is not shuffling"])
def test_says_what_people_get_wrong(words: str) -> None:
    """Two mistakes give numbers that are much too small."""
    assert words in README
