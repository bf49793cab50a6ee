"""What only a process of its own shows: imports, pipes, signals, the same bytes twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.conftest import MNIST, process

HEAVY = {"numpy", "scipy", "rich", "pydantic", "jsonschema", "mpmath"}
SLOW_TO_IMPORT = {"rich", "jsonschema", "importlib.metadata", "pydantic", "matplotlib"}


def modules(*arguments: str) -> set[str]:
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
    )
    return set(done.stderr.splitlines())


class TestImports:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("--help",),
            ("--version",),
            ("compose", "--help"),
            ("compose", "gausian:sigma=1", "--delta", "1e-5"),
            ("--help-spec",),
            ("--show-completion", "zsh"),
        ],
    )
    def test_nothing_heavy_without_a_number(self, arguments: tuple[str, ...]) -> None:
        """Help, version and errors in a specification need no numerics."""
        assert not modules(*arguments) & HEAVY

    def test_version_does_not_even_import_typer(self) -> None:
        """The version is printed first of all."""
        assert "typer" not in modules("--version")

    def test_answer_in_json_needs_no_tables(self) -> None:
        """A pipe does not pay for boxes."""
        assert not modules("compose", "gaussian:sigma=5@10", "--delta", "1e-5", "--json") & (
            SLOW_TO_IMPORT
        )

    def test_plain_table_needs_no_tables(self) -> None:
        """Neither do plain columns."""
        assert "rich" not in modules("compose", "gaussian:sigma=5@10", "--delta", "1e-5")


class TestPipes:
    @pytest.mark.parametrize(
        "arguments", [("--help",), ("--help-spec",), ("compose", MNIST, "--delta", "1e-5")]
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

    def test_head(self) -> None:
        """The usual reader that goes away early."""
        command = f'"{sys.executable}" -m privcalc --help-spec | head -c 1; echo ${{PIPESTATUS[0]}}'
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60
        )
        assert (done.stdout, done.stderr) == ("A0\n", "")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_full_disk_is_an_error(self) -> None:
        """An answer that cannot be written is status 2, in one line."""
        with Path("/dev/full").open("w") as full:
            done = process("--help-spec", capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 2
        assert done.stderr == "privcalc: No space left on device\n"

    def test_closed_standard_output(self) -> None:
        """Without standard output there is nothing to say."""
        command = f'"{sys.executable}" -m privcalc --help-spec >&-'
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")

    def test_closed_standard_input(self) -> None:
        """Without standard input there are no questions."""
        command = f'"{sys.executable}" -m privcalc compose - --delta 1e-5 <&-'
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_interrupt_while_waiting_for_a_line() -> None:
    """Ctrl-C ends the program with 130 and without a traceback."""
    with subprocess.Popen(
        [sys.executable, "-m", "privcalc", "compose", "-", "--delta", "1e-5"],
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


class TestAnswers:
    def test_same_question_same_bytes(self) -> None:
        """Nothing of the host or the moment is printed."""
        question = ("compose", MNIST, "--delta", "1e-5,1e-8", "--epsilon", "1", "--json")
        first = process(*question)
        second = process(*question, env={**os.environ, "PYTHONHASHSEED": "7"})
        assert first.stdout == second.stdout
        assert first.returncode == second.returncode == 0

    def test_printed_answer_is_a_question(self) -> None:
        """JSON goes in where JSON came out, and the answer is the same."""
        first = process("compose", MNIST, "--delta", "1e-5", "--json")
        again = process("compose", "-", "--delta", "1e-5", "--json", input=first.stdout)
        assert again.stdout == first.stdout

    def test_exit_statuses(self) -> None:
        """0 within, 1 exceeded, 2 for an error in the specification."""
        check = ("--delta", "1e-5", "--max-epsilon")
        assert process("compose", MNIST, *check, "3").returncode == 0
        assert process("compose", MNIST, *check, "2").returncode == 1
        assert process("compose", "gausian:sigma=1", *check, "3").returncode == 2

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
