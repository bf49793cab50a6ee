"""Narrow terminals and archives."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import zipapp
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.dear("compose gaussian:sigma=5 --delta 1e-5 --max-epsilon 0.1]")
@pytest.mark.parametrize(
    "line",
    [
        "compose gaussian:sigma=5 --delta 1e-5 --max-epsilon 0.1",
        "select pure:epsilon=1 --runs fixed:n=1 --delta 0",
    ],
)
def test_on_a_terminal_of_48_columns(line: str) -> None:
    """Every line of a table fits; what is longer below it the terminal breaks."""
    import fcntl
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 48, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    done = subprocess.run(
        [sys.executable, "-m", "privcalc", *line.split()],
        stdin=slave, stdout=slave, stderr=subprocess.PIPE, check=False, timeout=60,
        env={**environment, "TERM": "xterm"},
    )  # fmt: skip
    os.close(slave)
    seen = re.sub(r"\x1b\[[0-9;]*m", "", os.read(master, 1 << 16).decode())
    os.close(master)
    assert done.returncode in (0, 1), done.stderr
    lines = [line for line in seen.splitlines() if line[0] in "╭│├╰"]
    assert lines
    assert max(map(len, lines)) <= 48


@pytest.mark.slow
def test_archive(tmp_path: Path) -> None:
    """From a zip archive the program does what it does from a folder, exit statuses and all."""
    archive = tmp_path / "privcalc.pyz"
    zipapp.create_archive(
        ROOT,
        archive,
        main="privcalc.__main__:start",
        filter=lambda path: path.parts[0] == "privcalc" and path.suffix != ".pyc",
    )
    for arguments, stdin in (
        (("--version",), ""),
        (("compose", "--help"), ""),
        (("--schema", "error"), ""),
        (("--help-spec", "gaussian"), ""),
        (("compose", "gausian:sigma=1"), ""),
        (("compose", "pure:epsilon=1", "--delta", "0", "--max-epsilon", "0.5"), ""),
        (("compose", "-", "--delta", "1e-5", "--json", "--jobs", "2"), '["gaussian:sigma=2"]'),
    ):
        outcomes = [
            subprocess.run(
                [sys.executable, "-W", "error", *start, *arguments],
                input=stdin, capture_output=True, text=True, check=False, timeout=120,
                cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
            )
            for start, path in (([str(archive)], ""), (["-m", "privcalc"], str(ROOT)))
        ]  # fmt: skip
        one, other = ((each.returncode, each.stdout, each.stderr) for each in outcomes)
        assert one == other
