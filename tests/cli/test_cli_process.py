"""What only a process of its own shows: imports, pipes, signals, the same bytes twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import MNIST, process, unmeasured

# Cheap, and between the budgets 2 and 3 at delta 1e-5.
CHEAP = "pure:epsilon=2.5"
DP_SGD = "gaussian:sigma=1@poisson:q=0.01@1000"
HEAVY = {"numpy", "scipy", "rich", "pydantic", "jsonschema", "mpmath"}
SLOW_TO_IMPORT = {"rich", "jsonschema", "importlib.metadata", "pydantic", "matplotlib"}


@cache
def modules(*arguments: str) -> frozenset[str]:
    """Run the command line and return the modules that it imported."""
    script = (
        "import sys\nfrom privcalc.__main__ import main\nstatus = main()\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=unmeasured(),
    )
    return frozenset(done.stderr.splitlines())


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run `privcalc` with the rest of a line of bash, redirections and all."""
    return subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m privcalc {line}'],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


class TestImports:
    @pytest.mark.few(3)
    @pytest.mark.parametrize(
        "line",
        [
            "compose --help",
            "--help-spec",
            "--show-completion zsh",
            "compose gausian:sigma=1 --delta 1e-5",
            "select gaussian:sigma=4 --runs zipf:mean=3 --delta 1e-6",
            "calibrate gaussian:sigma=_",
        ],
    )
    def test_nothing_heavy_without_a_number(self, line: str) -> None:
        """Help, version and errors in what was written need no numerics."""
        assert not modules(*line.split()) & HEAVY

    @pytest.mark.parametrize("line", ["--version", "-h", "compose --help"])
    def test_what_is_written_down_does_not_even_import_typer(self, line: str) -> None:
        """The version and the help are printed first of all."""
        assert "typer" not in modules(*line.split())

    @pytest.mark.parametrize("extra", [(), ("--json",)])
    def test_what_people_ask_most_loads_little(self, extra: tuple[str, ...]) -> None:
        """An answer in a pipe pays for no boxes, pictures, other commands, or foreign events.

        Of the two libraries scipy takes as long to load as numpy and the answer together.
        """
        loaded = modules("compose", DP_SGD, "--delta", "1e-5", *extra)
        assert {"numpy", "privcalc.commands.compose", "privcalc.spec.read"} <= loaded
        assert not loaded & {*SLOW_TO_IMPORT, "scipy", "tomllib", "privcalc.commands.convert"}
        assert not loaded & {"privcalc.picture", "privcalc.render.statement"}
        ours = {each for each in loaded if each.startswith("privcalc.")}
        assert not {each for each in ours if "events" in each or "check" in each.rpartition(".")[2]}


class TestPipes:
    @pytest.mark.parametrize(
        "arguments", [("--help",), ("--help-spec",), ("compose", CHEAP, "--delta", "1e-5")]
    )
    def test_closed_pipe_is_quiet(self, arguments: tuple[str, ...]) -> None:
        """A reader that goes away is no error."""
        with subprocess.Popen(
            [sys.executable, "-m", "privcalc", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.close()
            assert running.stderr.read() == b""
            assert running.wait(60) == 0

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_full_disk_is_an_error(self) -> None:
        """An answer that cannot be written is status 2, in one line."""
        for arguments in ("--help-spec", "--version"):
            done = shell(f"{arguments} >/dev/full")
            assert (done.returncode, done.stderr) == (2, "privcalc: No space left on device\n")

    @pytest.mark.few(2)
    @pytest.mark.parametrize(
        "arguments", ["--help-spec", "--version", "--help", f"compose {CHEAP} --delta 1e-5"]
    )
    def test_closed_standard_output(self, arguments: str) -> None:
        """An answer that is lost is an error."""
        done = shell(f"{arguments} >&-")
        assert (done.returncode, done.stderr) == (2, "privcalc: Bad file descriptor\n")

    @pytest.mark.slow
    def test_closed_standard_output_is_not_missed_where_nothing_is_printed(self) -> None:
        """With -q the exit status is the answer."""
        check = f"compose {CHEAP} --delta 1e-5 --max-epsilon"
        assert shell(f"{check} 3 -q >&-").returncode == 0
        assert shell(f"{check} 2 -q >&-").returncode == 1

    @pytest.mark.slow
    @pytest.mark.few(1)
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    @pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-", "2> >(exec true)"])
    def test_error_that_nobody_reads(self, stderr: str) -> None:
        """An error is status 2 also where it cannot be written."""
        for arguments in ("compose foo", "compose", "compose - --delta 1 <<< foo"):
            assert shell(f"{arguments} {stderr}").returncode == 2

    @pytest.mark.slow
    def test_verdict_does_not_depend_on_the_reader(self) -> None:
        """A budget that is exceeded stays exceeded when the reader of the table has gone."""
        check = f"compose {CHEAP} --delta 1e-5 --max-epsilon"
        for budget, status in (("2", "1"), ("3", "0")):
            done = shell(f"{check} {budget} | true; echo ${{PIPESTATUS[0]}}")
            assert done.stdout == f"{status}\n"

    def test_closed_standard_input(self) -> None:
        """Without standard input there are no questions, and no budget is kept."""
        for stdin in ("<&-", "</dev/null"):
            done = shell(f"compose - --delta 1e-5 --max-epsilon 1 {stdin}")
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr == "privcalc: no question on standard input\n"


# A child inherits an ignored SIGINT, from a background job or nohup, and Python leaves it ignored.
HEEDED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from privcalc.__main__ import main
"""


def test_interrupt_while_waiting_for_a_line() -> None:
    """Ctrl-C ends the program with 130 and without a traceback."""
    with subprocess.Popen(
        [sys.executable, "-c", HEEDED + "sys.exit(main())", "compose", "-", "--delta", "1e-5"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdin.write("nonsense\n")
        running.stdin.flush()
        # Once the first line is answered, the program waits for the second.
        assert running.stderr.readline().startswith("privcalc: line 1: ")
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert "Traceback" not in running.stderr.read()


INTERRUPTED = f"""{HEEDED}
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == awaited:
            os.kill(os.getpid(), signal.SIGINT)

awaited = sys.argv[1]
sys.meta_path.insert(0, Interrupt())
# Two flags in one word are read by Typer.
sys.argv = ["privcalc", "compose", "gaussian:sigma=1", "--delta", "1e-5", "-tv"]
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["privcalc.cli.app", "typer", "privcalc.spec", "numpy"])
def test_interrupt_while_modules_load(name: str) -> None:
    """Ctrl-C in the first tenth of a second is as quiet as later."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, name],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


class TestAnswers:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "text",
        ["gaussian:sigma=1@poisson:q=0.01@50", pytest.param(MNIST, marks=pytest.mark.slow)],
    )
    def test_same_question_same_bytes(self, text: str) -> None:
        """Nothing of the host or the moment is printed, nor the order of a set."""
        question = ("compose", text, "--delta", "1e-5,1e-8", "--epsilon", "1", "--json")
        first = process(*question, env={**os.environ, "PYTHONHASHSEED": "1"})
        second = process(*question, env={**os.environ, "PYTHONHASHSEED": "2"})
        assert first.stdout == second.stdout
        assert first.returncode == second.returncode == 0

    def test_stream_answers_as_questions_arrive(self) -> None:
        """The first answer does not wait for the last question."""
        with subprocess.Popen(
            [sys.executable, "-m", "privcalc", "compose", "-", "--delta", "1e-5", "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            # An answer that does not come must not keep the test waiting for ever.
            guard = threading.Timer(60, running.kill)
            guard.start()
            for text in ("gaussian:sigma=5@10", "gaussian:sigma=5@20"):
                running.stdin.write(text + "\n")
                running.stdin.flush()
                assert json.loads(running.stdout.readline())["text"] == text
            running.stdin.close()
            assert running.wait(60) == 0
            guard.cancel()
