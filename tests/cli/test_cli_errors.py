"""Every error has one form and one exit status, and none of them is 1."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from privcalc import __version__
from privcalc.cli.failure import ExitStatus
from privcalc.errors import DisagreementError, DomainError, NotCertifiedError, UnsupportedError
from privcalc.render.github import annotation

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


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("compse",), "no such command 'compse'. Did you mean 'compose'? (see privcalc"),
            (("-v", *QUESTION), "no such option: -v (options stand after the command"),
            (("--versio",), "no such option: --versio (did you mean --version?)"),
            ((*QUESTION, "--eps", "3"), "no such option: --eps (did you mean --epsilon?)"),
            ((*QUESTION, "--poisson", "3"), "no such option: --poisson (sampling stands after"),
            ((*QUESTION, "--alpha", "3"), "no such option: --alpha (convert --fpr takes false"),
            ((*QUESTION, "--zzz"), "no such option: --zzz (see privcalc compose --help)"),
            ((*QUESTION, "--format", "xml"), "invalid value for '--format': 'xml' is not one of"),
            ((*QUESTION, "--relation"), "option '--relation' requires an argument"),
            (("compose", "--delta", "1e-5"), "missing argument 'SPEC...'"),
            (("--schema", "x"), "invalid value for '--schema'"),
        ],
    )  # fmt: skip
    def test_one_line(
        self, arguments: tuple[str, ...], message: str, run: Callable[..., Outcome]
    ) -> None:
        """The parser's complaints are one line, with where to look."""
        outcome = run(*arguments)
        assert (outcome.status, outcome.stdout) == (2, "")
        assert outcome.stderr.startswith(f"privcalc: {message}")
        assert outcome.stderr.count("\n") == 1

    @pytest.mark.parametrize(
        "arguments",
        [
            ("compose", "x", "--json", "--fomat", "csv"),
            ("compose", "x", "--format", "json", "--engine", "magic"),
            ("compose", "x", "--format=json", "--delta"),
        ],
    )
    def test_object_under_json(
        self, arguments: tuple[str, ...], run: Callable[..., Outcome]
    ) -> None:
        """Even arguments that cannot be parsed get an error object where JSON was asked for."""
        outcome = run(*arguments)
        assert (outcome.status, outcome.stdout) == (2, "")
        assert json.loads(outcome.stderr)["code"] == "usage"

    def test_words_after_two_dashes_are_no_options(self, run: Callable[..., Outcome]) -> None:
        """A specification is not an option."""
        assert run("compose", "--", "--json").stderr.startswith("privcalc: ")

    def test_no_arguments_show_the_help(self, run: Callable[..., Outcome]) -> None:
        """The short help goes to standard error, with the status of an error."""
        for arguments in ((), ("compose",)):
            outcome = run(*arguments)
            assert (outcome.status, outcome.stdout) == (2, "")
            assert outcome.stderr.startswith("Usage: privcalc")


class TestErrors:
    def test_specification(self, run: Callable[..., Outcome]) -> None:
        """The fault is pointed at, and the message says what to write."""
        outcome = run("compose", "gausian:sigma=2", "--delta", "1e-5")
        assert (outcome.status, outcome.stdout) == (2, "")
        assert outcome.stderr == (
            "privcalc: unknown mechanism: gausian\n"
            "  gausian:sigma=2\n"
            "  ^^^^^^^\n"
            "hint: did you mean gaussian?\n"
        )

    def test_specification_under_json(self, run: Callable[..., Outcome]) -> None:
        """The same as an object."""
        error = json.loads(run("compose", "gausian:sigma=2", "--json").stderr)
        assert error == {
            "schema": "privcalc/error/v1",
            "code": "spec",
            "message": "unknown mechanism: gausian",
            "hint": "did you mean gaussian?",
            "text": "gausian:sigma=2",
            "span": [0, 7],
        }

    def test_specification_on_github(self, run: Callable[..., Outcome]) -> None:
        """The same as an annotation."""
        outcome = run("compose", "gausian:sigma=2", "--format", "github")
        assert outcome.stderr.startswith("::error title=privcalc::unknown mechanism: gausian%0A")

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

    def test_language(self, run: Callable[..., Outcome]) -> None:
        """The whole language, or one name of it, also among other options."""
        overview = run("--help-spec")
        assert "gaussian" in overview.stdout
        assert "poisson" in overview.stdout
        assert run("--help-spec", "rr").stdout.startswith("randomized-response: ")
        assert run("--help-spec=rr").stdout.startswith("randomized-response: ")
        assert run("--help-spec", "--version").stdout == overview.stdout

    @pytest.mark.parametrize(
        "arguments", [("--help-spec", "gaussian", "laplace"), ("--help-spec=gaussian", "laplace")]
    )
    def test_language_takes_one_name(
        self, arguments: tuple[str, ...], run: Callable[..., Outcome]
    ) -> None:
        """A second name is not silently ignored."""
        outcome = run(*arguments)
        assert (outcome.status, outcome.stdout) == (2, "")
        assert outcome.stderr == "privcalc: --help-spec takes one NAME, and 'laplace' follows it\n"

    def test_language_without_such_a_name(self, run: Callable[..., Outcome]) -> None:
        """An unknown name is an error with a suggestion."""
        outcome = run("--help-spec", "gausian")
        assert (outcome.status, outcome.stdout) == (2, "")
        assert "did you mean gaussian?" in outcome.stderr

    @pytest.mark.parametrize("name", ["result", "spec", "error"])
    def test_schema(self, name: str, run: Callable[..., Outcome]) -> None:
        """Each schema is printed as it is shipped."""
        assert json.loads(run("--schema", name).stdout)["$schema"].endswith("2020-12/schema")

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_completion(self, shell: str, run: Callable[..., Outcome]) -> None:
        """The completions of each shell are printed."""
        assert "gaussian:" in run("--show-completion", shell).stdout

    def test_help_says_what_things_mean(self, run: Callable[..., Outcome]) -> None:
        """The engines and the ranges are stated; nothing is announced."""
        text = " ".join(run("compose", "--help-all").stdout.split())
        assert "available yet" not in text
        for words in (
            "closed form, contour, fft, Renyi",
            "rdp (upper end only)",
            "> 0 and < 1; what costs nothing is narrower. A bracket of epsilon narrower than 1e-12",
            "at 21 values of epsilon",
        ):
            assert words in text

    @pytest.mark.parametrize("option", ["-h", "--help"])
    def test_help(self, option: str, run: Callable[..., Outcome]) -> None:
        """Both spellings work everywhere, and the help has examples."""
        assert run(option).stdout.startswith("Usage: privcalc [OPTIONS] COMMAND")
        assert "--file ./privacy.toml\n\nOptions:\n" in run("compose", option).stdout
        assert run("compose", "--help-all").stdout.rstrip().endswith("--max-epsilon 5")


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

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("compose", "gaussian:sigma=1", "--delta", "7%7"), "--delta takes a number such"),
            (
                ("compose", "gaussian:a=1,\n::b"),
                "got '\\n'%0A  gaussian:a=1, ::b%0A",
            ),
            (("compose", "gaussian:sigma=1%%"), "%25"),
            (("compose", "gaussian:sigma=1", "--fomat"), "no such option: --fomat"),
            (
                ("convert", "gaussian:sigma=1", "--orders", "2"),
                "--orders says nothing to --to profile",
            ),
            (("calibrate", "gaussian:sigma=1", "--mu", "1"), ""),
            (("select", "gaussian:sigma=1", "--runs", "x:y", "--delta", "0.1"), "--runs: "),
            (("subsample", "gaussian:sigma=1"), "subsample needs to know the sample"),
        ],
    )
    def test_errors_are_annotations(
        self, arguments: tuple[str, ...], message: str, run: Callable[..., Outcome]
    ) -> None:
        """One workflow command, on one line, with what would end it escaped."""
        for options in (("--format", "github"), ("--format=github",)):
            done = run(*arguments, *options)
            assert (done.status, done.stdout) == (2, "")
            assert done.stderr.startswith("::error title=privcalc::")
            assert message in done.stderr
            assert done.stderr.count("\n") == 1
            assert not re.search("%(?!25|0A|0D)", done.stderr)

    def test_properties_of_annotations(self) -> None:
        """A colon or a comma would end a property."""
        found = annotation("error", "a: b, 100%\n", "c: d, 100%\r\n")
        assert found == "::error title=a%3A b%2C 100%25%0A::c: d, 100%25%0D%0A"
