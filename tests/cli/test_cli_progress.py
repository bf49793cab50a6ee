"""Long work shows itself on a terminal, and is not seen anywhere else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from privcalc.cli.progress import Progress
from privcalc.numerics.work import allowance, charge, trying, under_way
from tests.conftest import process, unmeasured

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import IO

# As the command line, of which some things take longer.
SLOW = """
import sys, time
import privcalc.cli.progress as progress
progress.PATIENCE = 0.05
from privcalc.accounting import amplification, compose, convert, selection
from privcalc.numerics import work
own = compose.realize
def slowly(*args, **more):
    with work.trying("something slow"):
        work.charge(0.2 * work.QUESTION)
        time.sleep(0.4)
    return own(*args, **more)
for module in (amplification, compose, convert, selection):
    module.realize = slowly
from privcalc.__main__ import main
sys.exit(main())
"""
GAUSSIAN = "gaussian:sigma=2@3"
COMMANDS = {
    "compose": f"compose {GAUSSIAN} --delta 1e-5",
    "several deltas": f"compose {GAUSSIAN} --delta 1e-5,1e-6",
    "plot": f"compose {GAUSSIAN} --plot",
    "convert": f"convert {GAUSSIAN} --to gdp",
    "subsample": "subsample gaussian:sigma=2 --q 0.1",
    "select": f"select {GAUSSIAN} --runs geometric:mean=3 --delta 1e-5",
    "calibrate": "calibrate gaussian:sigma=_ --mu 1",
    "sweep": f"compose {GAUSSIAN} --delta 1e-5 --sweep sigma=1,2",
}


def watched(
    script: str,
    *arguments: str,
    stdin: IO[str] | int = subprocess.DEVNULL,
    output_too: bool = False,
    environment: Mapping[str, str] | None = None,
) -> tuple[subprocess.CompletedProcess[bytes], str]:
    """Run a script with a terminal as standard error; return what the terminal was sent."""
    master, slave = pty.openpty()
    stdout = slave if output_too else subprocess.PIPE
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        stdin=stdin, stdout=stdout, stderr=slave, check=False, timeout=60,
        env={**os.environ, "TERM": "xterm", **(environment or {})},
    )  # fmt: skip
    os.close(slave)
    seen = ""
    try:
        while piece := os.read(master, 1 << 16):
            seen += piece.decode(errors="replace")
    except OSError:
        # So ends a terminal that nobody writes to any more.
        pass
    os.close(master)
    return done, seen


def left_over(seen: str) -> list[str]:
    """Return the lines that a terminal shows in the end."""
    lines, row = [""], 0
    for piece in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|\r\n|[\r\n]|[^\x1b\r\n]+", seen):
        if "\n" in piece:
            row += 1
            lines += [""] * (row == len(lines))
        elif piece == "\x1b[1A":
            row -= 1
        elif piece == "\x1b[2K":
            lines[row] = ""
        elif piece[0] not in "\r\x1b":
            lines[row] += piece
    return [line.rstrip() for line in lines if line.strip()]


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("question", COMMANDS)
def test_any_question_shows_itself(question: str) -> None:
    """A terminal sees, without colours, how much of the work is spent; in the end nothing."""
    done, seen = watched(SLOW, *COMMANDS[question].split(), environment={"FORCE_COLOR": "1"})
    assert done.returncode == 0
    assert done.stdout
    part = r"[01]/2, [0-9] s" if question == "sweep" else r"[1-9][0-9]?% of the work it may take"
    assert re.search(part, seen)
    assert "something slow" in seen
    assert not re.search(r"\x1b\[[0-9;]*m", seen)
    assert left_over(seen) == []


@pytest.mark.slow
def test_the_answer_follows_on_the_same_terminal() -> None:
    """What is left is the answer, and nothing that was drawn before it."""
    done, seen = watched(SLOW, *COMMANDS["compose"].split(), "-t", output_too=True)
    assert done.returncode == 0
    assert "20%" in seen
    assert left_over(seen) == [process(*COMMANDS["compose"].split(), "-t").stdout.strip()]


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(("extra", "term"), [("-q", "xterm"), ("-t", "dumb")])
def test_who_cannot_see_it_is_sent_nothing(extra: str, term: str) -> None:
    """Neither a terminal that writes nothing over, nor whoever wants no output."""
    asked = (*COMMANDS["compose"].split(), extra)
    done, seen = watched(SLOW, *asked, environment={"TERM": term})
    assert (done.returncode, seen) == (0, "")


@pytest.mark.slow
def test_an_error_follows_it() -> None:
    """It stands on a line of its own; a pipe has nothing else, however long it takes."""
    script = SLOW.replace("return own(*args, **more)", "raise ValueError('no more')")
    done, seen = watched(script, *COMMANDS["compose"].split())
    assert done.returncode == 2
    assert "20%" in seen
    [line] = left_over(seen)
    assert line.startswith("privcalc: internal error: ValueError: no more")
    piped = subprocess.run(
        [sys.executable, "-c", script, *COMMANDS["compose"].split()],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (piped.returncode, piped.stdout, piped.stderr) == (2, "", f"{line}\n")


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [(), ("--jobs", "2")])
def test_lines_of_standard_input(jobs: tuple[str, ...], tmp_path: Path) -> None:
    """They are counted, by as many processes as there are, and an error is not drawn over."""
    file = tmp_path / "specs.txt"
    file.write_text("pure:epsilon=1\n" * 3 + "nonsense\n" + "pure:epsilon=2\n" * 2, "utf-8")
    with file.open() as stdin:
        asked = ("compose", "-", "--delta", "1e-5", "-t", *jobs)
        done, seen = watched(SLOW, *asked, stdin=stdin)
    assert (done.returncode, done.stdout.count(b"\n")) == (2, 5)
    assert re.search("[0-2] done", seen)
    assert "fork" not in seen
    assert left_over(seen)[0].startswith("privcalc: line 4: ")
    assert left_over(seen)[-1].startswith("hint: ")


def test_quick_questions_load_nothing() -> None:
    """No thread is started, and rich is not loaded, where nobody looks."""
    script = (
        "import sys\nfrom privcalc.__main__ import main\nmain()\n"
        "print([m for m in sys.modules if m in ('rich', 'privcalc.cli.progress', 'threading')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *COMMANDS["compose"].split(), "-t"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=unmeasured(),
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_progress_that_is_not_wanted() -> None:
    """It does nothing."""
    with Progress(3, watched=False) as quiet:
        assert list(quiet.over([1, 2])) == [1, 2]
        with quiet.next(1):
            pass


def test_what_is_under_way() -> None:
    """The work of a question and of its parts is counted once, and attempts are named in order."""
    assert under_way() == (0.0, "")
    with allowance(100.0):
        charge(10.0)
        with allowance(50.0), trying("a"), trying("b"):
            charge(20.0)
            assert under_way() == (0.3, "a: b")
        assert under_way() == (0.3, "")
    assert under_way() == (0.0, "")
