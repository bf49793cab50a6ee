"""Help: one screen with examples first, and everything on request."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from privcalc.cli.output import OUTPUT
from privcalc.commands.command import COMMANDS, load
from privcalc.commands.options import OPTIONS
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

HELP = ROOT / "privcalc" / "cli" / "help"
COMMAND_OPTIONS = {
    name: [each for each in (*load(name).options, *OUTPUT) if not each.positional]
    for name in COMMANDS
}


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_one_screen(name: str, run: Callable[..., Outcome]) -> None:
    """It has at most 24 lines of 80 columns, with examples before the options, and is written."""
    text = run(*name.split(), "--help").stdout
    lines = text.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert text.index("Examples:") < text.index("Options:")
    assert text == (HELP / f"{name or 'top-level'}.txt").read_text(encoding="utf-8")


def test_every_row_is_used() -> None:
    """The table has no option that no command takes."""
    assert {each for found in COMMAND_OPTIONS.values() for each in found} == {
        each for each in OPTIONS if not each.positional
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_named_and_explained(name: str, run: Callable[..., Outcome]) -> None:
    """The short help names each, in one of its spellings; --help-all explains each."""
    brief, full = (run(name, option).stdout for option in ("--help", "--help-all"))
    for each in COMMAND_OPTIONS[name]:
        assert any(re.search(rf"{flag}\b", brief) for flag in each.flags), each.flags
        assert all(flag in full for flag in each.flags)


def test_help_all_of_the_program(run: Callable[..., Outcome]) -> None:
    """It has that of every command, and works among other words too."""
    text = run("--help-all").stdout
    for name in COMMANDS:
        assert run(name, "--help-all").stdout.strip() in text
    done = run("compose", "gaussian:sigma=1", "--help-all")
    assert (done.status, done.stdout) == (0, run("compose", "--help-all").stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_plain_words(name: str) -> None:
    """No shell reads anything in them but words."""
    text = (HELP / f"{name}.txt").read_text(encoding="utf-8")
    for line in re.findall(r"^  (privcalc .*)$", text, re.MULTILINE):
        assert shlex.join(shlex.split(line)) == line
