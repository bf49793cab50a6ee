"""Every error has one form and one exit status, and none of them is 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from privcalc import __version__
from privcalc.cli.failure import ExitStatus
from privcalc.errors import DisagreementError, DomainError, NotCertifiedError, UnsupportedError
from privcalc.render.ci import annotation

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from tests.fake_accounting import FakeAccounting

QUESTION = ("compose", "gaussian:sigma=2", "--delta", "1e-5")


def test_statuses_are_the_documented_ones() -> None:
    """Scripts rely on the numbers."""
    assert {status.name: int(status) for status in ExitStatus} == {
        "OK": 0,
        "BUDGET": 1,
        "ERROR": 2,
        "INTERRUPTED": 130,
    }


class TestErrors:
    def test_bytes_that_are_no_text(self, run: Callable[..., Outcome]) -> None:
        """Lone surrogates, which stand for such bytes, are never printed."""
        outcome = run("compose", "gaussian:sigma=\udcff1", "--delta", "1e-5")
        assert outcome == type(outcome)(2, "", "privcalc: not UTF-8 text\n")
        for form in ((), ("--json",)):
            outcome = run("compose", '{"type": "\\udcff"}', "--delta", "1e-5", *form)
            assert outcome.status == 2
            assert "udcff" not in outcome.stderr

    def test_hole_in_json(self, run: Callable[..., Outcome]) -> None:
        """There is no text to point at, so the place is named."""
        twin = '{"type": "self_composed", "count": "_", "event": {"type": "pure", "epsilon": 1}}'
        outcome = run("compose", twin, "--delta", "1e-5")
        assert outcome.stderr == (
            "privcalc: only calibrate finds a free parameter (at count)\n"
            "hint: write a number for _\n"
        )

    def test_hole(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """A hole is for calibrate, in each of several specifications."""
        outcome = run("compose", "pure:epsilon=1", "gaussian:sigma=_", "--delta", "1e-5")
        assert outcome.status == 2
        assert "only calibrate finds a free parameter\n  gaussian:sigma=_\n" in outcome.stderr
        assert accounting.calls == []

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (DomainError("delta must be in [0, 1]"), "domain"),
            (UnsupportedError("noisy-max has no law under replace-one"), "unsupported"),
            (NotCertifiedError("no engine proves a finite upper end: 1 step"), "not_certified"),
            (
                DisagreementError(
                    "engines contour and fft: two certified brackets do not meet: [1.0, 1.5] and"
                    " [2.0, 2.5]"
                ),
                "disagreement",
            ),
        ],
    )
    def test_of_accounting(
        self,
        error: Exception,
        code: str,
        run: Callable[..., Outcome],
        accounting: FakeAccounting,
    ) -> None:
        """Each kind has a code; the message is the error's own."""
        accounting.error = error
        outcome = run(*QUESTION)
        assert outcome == type(outcome)(2, "", f"privcalc: {error}\n")
        printed = json.loads(run(*QUESTION, "--json").stderr)
        assert printed == {"schema": "privcalc/error/v1", "code": code, "message": str(error)}

    def test_internal(
        self,
        run: Callable[..., Outcome],
        accounting: FakeAccounting,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A fault of the program is status 2 and one line; -v or PRIVCALC_DEBUG shows where."""
        accounting.error = ZeroDivisionError("float division\nby zero")
        outcome = run(*QUESTION)
        assert outcome == type(outcome)(
            2,
            "",
            "privcalc: internal error: ZeroDivisionError: float division by zero "
            "(-v shows where)\n",
        )
        assert json.loads(run(*QUESTION, "--json").stderr)["code"] == "internal"
        assert "Traceback" in run(*QUESTION, "-v").stderr
        monkeypatch.setenv("PRIVCALC_DEBUG", "1")
        assert "Traceback" in run(*QUESTION).stderr

    def test_interrupt(self, run: Callable[..., Outcome], accounting: FakeAccounting) -> None:
        """Ctrl-C is quiet."""
        accounting.error = KeyboardInterrupt()  # type: ignore[assignment]
        outcome = run(*QUESTION)
        assert outcome == type(outcome)(130, "", "")


class TestTopics:
    def test_version(self, run: Callable[..., Outcome]) -> None:
        """The version is one line."""
        assert run("--version").stdout == f"privcalc {__version__}\n"

    @pytest.mark.parametrize("name", ["result", "spec", "error"])
    def test_schema(self, name: str, run: Callable[..., Outcome]) -> None:
        """Each schema is printed as it is shipped."""
        assert json.loads(run("--schema", name).stdout)["$schema"].endswith("2020-12/schema")

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_completion(self, shell: str, run: Callable[..., Outcome]) -> None:
        """The completions of each shell are printed."""
        assert "gaussian:" in run("--show-completion", shell).stdout


class TestHostileText:
    """What is read from files and specifications must not act on the terminal, or on a workflow."""

    @pytest.mark.parametrize(
        "bad", ["\x1b[31m", "\x07", "\x9b31m", "\u202e", "\x00", "\x7f", "\x08"]
    )
    @pytest.mark.parametrize("form", ["table", "github", "json"])
    def test_control_characters_are_escaped(
        self,
        bad: str,
        form: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        run: Callable[..., Outcome],
    ) -> None:
        """Whether they come from a file, an option, a specification or its JSON twin."""
        monkeypatch.chdir(tmp_path)
        Path("curve.csv").write_text(f"1 {bad}2\n", encoding="utf-8")
        Path("curve.json").write_text(json.dumps([["1", f"{bad}2"]]), encoding="utf-8")
        twin = json.dumps({"type": "gaussian", f"{bad}x": 1.0})
        for arguments in (
            ("compose", "profile:file=./curve.csv"),
            ("compose", "rdp:file=./curve.json"),
            ("compose", f"gauss{bad}ian:sigma=1"),
            ("compose", f"gaussian:sigma=1{bad}"),
            ("compose", twin),
            ("compose", "gaussian:sigma=1", "--delta", f"1{bad}"),
            ("compose", "gaussian:sigma=1", f"--{bad}"),
            ("compose", "gaussian:sigma=1", "--relation", bad),
            ("select", "gaussian:sigma=1", "--delta", "0.1", "--runs", f"geometric:mea{bad}n=1"),
            ("calibrate", "gaussian:sigma=_", "--mu", "1", "--sweep", f"{bad}=1..2/3log"),
            ("--help-spec", f"a{bad}"),
        ):
            options = () if arguments[0] == "--help-spec" else ("--format", form)
            done = run(*arguments, *options)
            assert (done.status, done.stdout) == (2, ""), arguments
            assert "internal" not in done.stderr, (arguments, done)
            assert all(each == "\n" or each.isprintable() for each in done.stderr), arguments

    def test_of_a_line_of_standard_input(self, run: Callable[..., Outcome]) -> None:
        """As everywhere, and the next line is answered."""
        done = run(
            "compose", "-", "--delta", "0.1", "-t", stdin="pure:epsilon=\x1b[2J\npure:epsilon=1"
        )
        assert (done.status, len(done.stdout.split())) == (2, 1)
        assert "\x1b" not in done.stderr

    def test_properties_of_annotations(self) -> None:
        """A colon or a comma would end a property."""
        found = annotation("error", "a: b, 100%\n", "c: d, 100%\r\n")
        assert found == "::error title=a%3A b%2C 100%25%0A::c: d, 100%25%0D%0A"
