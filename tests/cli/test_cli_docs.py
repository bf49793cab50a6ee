"""Manual pages, completions, the README's list: generated, and no older than the program."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from privcalc.commands.command import COMMANDS
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome
    from tests.fake_accounting import FakeAccounting

BUILD: dict[str, Any] = runpy.run_path(str(ROOT / "man" / "build.py"))
FILES: dict[Path, str] = BUILD["documents"]()
PAGES = sorted(path for path in FILES if path.parent.name == "man")


@pytest.mark.parametrize("path", sorted(FILES), ids=lambda path: path.name)
def test_committed_file_is_up_to_date(path: Path) -> None:
    """The committed text is what the generator writes now."""
    assert path.read_text(encoding="utf-8") == FILES[path], "run python man/build.py"


def test_check_and_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """--check is quiet when all is well; anything else is a usage error."""
    assert BUILD["main"](["--check"]) == 0
    assert BUILD["main"](["--chek"]) == 2
    assert capsys.readouterr().out == ""


def test_every_command_has_a_page_and_every_option_help() -> None:
    """A new command cannot be forgotten."""
    for name, summary in COMMANDS.items():
        assert (ROOT / "man" / f"privcalc-{name}.1").exists()
        assert summary
        assert all(option.help.endswith(".") for option in BUILD["options"](name))


def test_wheel_installs_every_file() -> None:
    """Each generated file has a place in the wheel; help is in the package itself."""
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shared = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert set(shared) == {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        if path.suffix != ".txt" and path.name != "README.md"
    }


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="needs mandoc")
def test_manual_pages_are_well_formed() -> None:
    """Mandoc has nothing to warn of."""
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", *map(str, PAGES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize(
    ("shell", "name"), [("bash", "privcalc.bash"), ("zsh", "_privcalc"), ("fish", "privcalc.fish")]
)
def test_completions_are_well_formed(shell: str, name: str) -> None:
    """Each shell accepts its file."""
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    done = subprocess.run(
        [shell, "-n", str(ROOT / "privcalc" / "cli" / "completions" / name)],
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def examples() -> list[str]:
    """Return the commands that the manual pages show."""
    found = []
    for path in PAGES:
        text = path.read_text(encoding="utf-8").replace("\\-", "-").replace("\\e\n", "")
        found += re.findall(r"^(?:\.Dl )?\$ privcalc (.*)$", text, re.MULTILINE)
    return [each for each in found if not re.search(r"[$|<>]", each)]


def marked(example: str) -> Any:
    """Leave what asks many questions at once to the slow tests."""
    words = ("--sweep", "--thresholds", "--points", "logarithmic")
    many = any(word in example for word in words)
    return pytest.param(example, marks=pytest.mark.slow if many else ())


@pytest.mark.few(2)
@pytest.mark.parametrize("example", [marked(each) for each in examples()])
def test_examples_of_the_manual_pages_run(
    example: str, run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """What the manual pages show can be typed."""
    assert accounting.calls == []
    assert run(*example.split()).status == 0


def test_long_examples_do_not_wrap() -> None:
    """A command that wraps cannot be pasted: lines of examples fit in 80 columns."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8").replace("\\-", "-").replace("\\e", "\\")
        lines = re.findall(r"^\.Dl (.*)$", text, re.MULTILINE)
        for block in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", text, re.MULTILINE | re.DOTALL):
            lines += block.splitlines()
        assert lines
        assert max(map(len, lines)) <= 67


def test_limits_are_documented() -> None:
    """The language page has the limits and defines its terminals."""
    text = (ROOT / "man" / "privcalc-spec.7").read_text(encoding="utf-8")
    for words in (
        "1,000,000 characters",
        "at most 100 deep",
        "at most 1e15",
        "name   =",
        "path   =",
    ):
        assert words in text


def test_generator_writes_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It writes stale files and names them; --check only names them."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    stale = text.replace("`gaussian:sigma=1.1@60@batches:t=234`", "x")
    (tmp_path / "README.md").write_text(stale, encoding="utf-8")
    for folder in ("man", "privcalc/cli/completions", "privcalc/cli/help"):
        (tmp_path / folder).mkdir(parents=True)
    main = BUILD["main"]
    monkeypatch.setitem(main.__globals__, "ROOT", tmp_path)
    assert main(["--check"]) == 1
    said = capsys.readouterr().err
    assert "man/privcalc.1 is stale" in said
    assert "README.md is stale" in said
    assert main([]) == 0
    assert main(["--check"]) == 0
    for path, text in FILES.items():
        assert (tmp_path / path.relative_to(ROOT)).read_text(encoding="utf-8") == text
