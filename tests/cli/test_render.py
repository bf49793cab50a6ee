"""The formats by themselves: boxed tables, estimates in every format, escapes, terminals."""

from __future__ import annotations

import math
import os
import re
import sys
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.directions import Direction, Method
from privcalc.accounting.realize import sampling_words
from privcalc.bounds import Bound, Proof, Verdict
from privcalc.cli.output import Output, Printer, Terminal, terminal
from privcalc.errors import UsageError
from privcalc.record import replace
from privcalc.relation import Relation
from privcalc.render import ci, data, messages, plain, words
from privcalc.render.assumptions import assumptions, relation_words, sampling_name
from privcalc.render.report import Check, Estimate, Report
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.render.report import Quantity

INVERSION = "characteristic-function inversion (engine contour)"
TEXT = "gaussian:sigma=2@poisson:q=0.01@100"


def report(
    result: Mapping[str, Quantity | Estimate],
    *,
    query: Mapping[str, float] | None = None,
    check: Check | None = None,
    notes: tuple[str, ...] = (),
) -> Report:
    """Make one answer."""
    method = Method(Proof.INVERSION, tolerance_met=True, terms={"aliasing": 1.25e-12}, notes=notes)
    return Report(
        command="compose",
        spec=parse(TEXT).tree,
        relation=Relation.ADD_OR_REMOVE_ONE,
        sampling="Poisson",
        query={"delta": 1e-5} if query is None else query,
        result=result,
        method=method,
        directions=(
            Direction("add", None, 2.375, method),
            Direction("remove", None, None, method),
        ),
        check=check,
    )


BRACKET = {"epsilon": Bound(2.5, 2.25)}
ESTIMATE = {"epsilon": Estimate(2.375)}
OVER = Check("max_epsilon", 2.0, Verdict.EXCEEDED, "over budget: epsilon >= 2.25, budget 2")


class TestBoxedTable:
    def test_without_colour_it_has_no_escapes(self) -> None:
        """Boxes, the relation, the sampling; the verdict stands last."""
        text = plain.boxed([report(BRACKET, check=OVER)], colour=False, width=80)
        lines = text.splitlines()
        assert lines[0] == TEXT
        assert "│  1e-5 │                2.25 │                 2.5 │" in lines
        assert any(line.startswith("relation: add-or-remove-one") for line in lines)
        assert any(line.startswith("sampling: Poisson") for line in lines)
        assert lines[-1] == OVER.sentence
        assert "\x1b" not in text

    def test_colour_adds_nothing_but_escapes(self) -> None:
        """Nothing is said by colour alone."""
        reports = [report(BRACKET, check=OVER)]
        coloured = plain.boxed(reports, colour=True, width=80)
        assert "\x1b[1;31mover budget" in coloured
        without = plain.boxed(reports, colour=False, width=80)
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == without

    @pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
    def test_terminal_gets_boxes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a real terminal the table is boxed; the answer is the same."""
        import pty

        monkeypatch.setenv("TERM", "xterm")
        child, master = pty.fork()
        if child == 0:  # pragma: no cover
            os.execv(  # noqa: S606
                sys.executable,
                [sys.executable, "-m", "privcalc", "compose", "pure:epsilon=1", "--delta", "0"],
            )
        printed = b""
        try:
            while part := os.read(master, 4096):
                printed += part
        except OSError:
            pass  # the way in which Linux says that the other side is closed
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert "╭───────┬" in printed.decode()

    def test_headings_are_broken_where_a_terminal_is_narrow(self) -> None:
        """They take as many lines as they need, at spaces."""
        answers = [report(BRACKET), report(BRACKET)]
        assert "delta  epsilon lower bound  epsilon upper bound" in plain.lines(answers)
        lines = plain.boxed(answers, colour=False, width=40).splitlines()
        assert lines[2:4] == [
            "│       │ epsilon lower │      epsilon │",
            "│ delta │         bound │  upper bound │",
        ]

    @pytest.mark.parametrize("columns", range(20, 60))
    def test_no_number_is_cut(
        self, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Where the terminal is too narrow for the numbers, the lines are longer."""
        narrow = report({"epsilon": Bound(2.381689726157, 2.381689726140)}, check=OVER)
        monkeypatch.setenv("COLUMNS", str(columns))
        shape = Terminal(boxed=True, colour=False, columns=columns)
        Printer(Output("table", False, False, False, shape)).print([narrow])
        text = capsys.readouterr().out
        for word in ("1e-5", "epsilon", "lower", "upper", "2.381689726", "2.381689727", TEXT):
            assert word in text
        widest = max(len(line) for line in text.splitlines() if "│" in line)
        assert widest <= max(columns, 37)
        assert columns < 53 or widest == 53


class TestEstimates:
    def test_csv_has_a_column_for_them(self) -> None:
        """An estimate is never in the columns of the bracket."""
        row = dict(zip(data.HEADER, next(data.csv_lines(report(ESTIMATE))).split(","), strict=True))
        assert (row["lower"], row["upper"], row["estimate"]) == ("", "", "2.375")

    def test_github_and_markdown_name_them(self) -> None:
        """The words are in the annotation and in the header."""
        (line,) = ci.github(report(ESTIMATE))
        assert "epsilon about 2.375 (estimate, not certified) at delta 1e-5" in line
        text = "\n".join(plain.markdown_lines([report(ESTIMATE)]))
        assert "| delta | epsilon (estimate, not certified) |" in text

    def test_terse_refuses_them(self) -> None:
        """A bare number cannot say that it is an estimate."""
        with pytest.raises(UsageError, match="-t prints one number"):
            plain.terse_line(report(ESTIMATE))

    def test_details_show_what_there_is(self) -> None:
        """A direction may have an estimate, or nothing."""
        assert list(messages.details([report(ESTIMATE, notes=("a note",))])) == [
            f"epsilon at delta 1e-5: {INVERSION}, aliasing 1.2e-12",
            f"  add: about 2.375, {INVERSION}, aliasing 1.2e-12",
            "    a note",
            f"  remove: no number, {INVERSION}, aliasing 1.2e-12",
            "    a note",
        ]


class TestTried:
    """With -v each engine that fell short has a line."""

    NOTES = (
        "contour: relative width 1.5e-07",
        "fft: losses beyond 1e+08 are too likely",
        "contour: relative width 4.0e-06",
        "rdp: relative width inf",
        "a note",
        "a note",
    )
    LINES = (
        "contour: relative width 1.5e-7 to 4e-6",
        "fft: losses beyond 1e+08 are too likely",
        "rdp: no lower end",
        "a note",
    )

    def test_one_line_for_each_engine(self) -> None:
        """Engines stand in the order in which they were asked, below the direction."""
        found = list(messages.details([report(BRACKET, notes=self.NOTES)]))
        assert found[2:6] == [f"    {line}" for line in self.LINES]

    def test_of_a_profile(self) -> None:
        """A curve has no directions; its points are taken together."""
        curve = replace(report({"epsilon": [0.0], "delta": [Bound(0.5)]}, query={}), directions=())
        curve = replace(curve, method=Method(Proof.LATTICE, tolerance_met=False, notes=self.NOTES))
        assert list(messages.details([curve])) == [
            "the profile: lattice FFT (engine fft)",
            *(f"  {line}" for line in self.LINES),
        ]

    @pytest.mark.parametrize(
        ("result", "words"),
        [
            (
                {"epsilon": Bound(2.5, 2.25)},
                (
                    "the bracket of epsilon at delta 1e-5 is wider than the tolerance: "
                    "relative width 0.1"
                ),
            ),
            ({"epsilon": Bound(2.5)}, "epsilon at delta 1e-5 is proved from above only"),
            (
                {"epsilon": Bound(math.inf, 1.0)},
                "no finite upper end of epsilon at delta 1e-5 is proved",
            ),
        ],
    )
    def test_warning_is_one_line(self, result: dict[str, Bound], words: str) -> None:
        """However much there is to tell, the warning points to -v, and with -v it does not."""
        wide = report(result, notes=self.NOTES)
        wide = replace(wide, method=replace(wide.method, tolerance_met=False))
        assert list(messages.warnings([wide])) == [f"privcalc: warning: {words}; -v says why"]
        assert list(messages.warnings([wide], verbose=True)) == [f"privcalc: warning: {words}"]

    @pytest.mark.parametrize(
        ("bound", "said"),
        [
            (Bound(2.5, 2.5 * (1 - 0.9e-6)), 0),
            (Bound(2.5, 2.5 * (1 - 1.1e-6)), 1),
            (Bound(2.5), 1),
            (Bound(math.inf, 2.5), 1),
        ],
    )
    def test_six_digits_are_enough(self, bound: Bound, said: int) -> None:
        """A bracket narrower than 1e-6 that missed a finer tolerance is said with -v only."""
        wide = report({"epsilon": bound})
        wide = replace(wide, method=replace(wide.method, tolerance_met=False))
        assert len(list(messages.warnings([wide]))) == said
        assert len(list(messages.warnings([wide], verbose=True))) == 1


class TestWithoutLowerEnd:
    """An upper bound alone, in every format."""

    ANSWER = report(
        {"epsilon": Bound(2.5)},
        check=Check("max_epsilon", 2.0, Verdict.UNDECIDED, "undecided: epsilon <= 2.5"),
    )

    def test_tables(self) -> None:
        """The lower end is called unknown, never 0."""
        assert "1e-5   unknown              2.5" in plain.lines([self.ANSWER])
        assert "| 1e-5 | unknown | 2.5 |" in plain.markdown_lines([self.ANSWER])
        assert "│             unknown │" in plain.boxed([self.ANSWER], colour=False, width=80)

    def test_data(self) -> None:
        """JSON leaves the key out, CSV the cell."""
        assert data.as_object(self.ANSWER)["result"] == {"epsilon": Bound(2.5)}
        assert '"result": {"epsilon": {"upper": 2.5}}' in data.json_line(self.ANSWER)
        row = dict(zip(data.HEADER, next(data.csv_lines(self.ANSWER)).split(","), strict=True))
        assert (row["lower"], row["upper"], row["verdict"]) == ("", "2.5", "undecided")

    def test_lines(self) -> None:
        """The bare number is the upper end; an annotation says at most."""
        assert plain.terse_line(self.ANSWER) == "2.5"
        assert next(ci.github(self.ANSWER)).startswith("::error title=privacy budget::undecided")
        plain_answer = replace(self.ANSWER, check=None)
        assert "privacy::epsilon at most 2.5 at delta 1e-5 (" in next(ci.github(plain_answer))


class TestPlainNumbers:
    """Later commands have columns of plain numbers beside brackets."""

    CURVE = report(
        {"orders": [2.0, 8.0], "exact": [Bound(0.5, 0.25), Bound(0.75)], "tight": [0.5, 0.75]},
        query={},
    )

    def test_grid(self) -> None:
        """Each kind has its columns."""
        (found,) = plain.grids([self.CURVE])
        assert found[0] == ("order", "exact lower bound", "exact upper bound", "tight")
        assert found[1:] == (("2", "0.25", "0.5", "0.5"), ("8", "unknown", "0.75", "0.75"))

    def test_csv(self) -> None:
        """One row for each number of each curve; what bounds nothing has a column of its own."""
        rows = [line.split(",")[3:9] for line in data.csv_lines(self.CURVE)]
        assert rows == [
            ["orders", "2", "exact", "0.25", "0.5", ""],
            ["orders", "8", "exact", "", "0.75", ""],
            ["orders", "2", "tight", "", "", "0.5"],
            ["orders", "8", "tight", "", "", "0.75"],
        ]

    def test_single_numbers(self) -> None:
        """A plain number is a column of its own."""
        answer = report({"parameter": 2.0}, query={"epsilon": 1.0})
        (found,) = plain.grids([answer])
        assert (found[0], found[1:]) == (("epsilon", "parameter"), (("1", "2"),))
        (line,) = ci.github(answer)
        assert "parameter 2.0 at epsilon 1" in line


def test_github_escapes() -> None:
    """Line breaks and percent signs do not end a workflow command."""
    line = ci.annotation("error", "a:b,c", "50%\r\nover")
    assert line == "::error title=a%3Ab%2Cc::50%25%0D%0Aover"


def test_one_style_of_exponents() -> None:
    """Where something was asked and what was found are written alike, and read back exactly."""
    (found,) = plain.grids([report({"epsilon": Bound(9.94e-6, 9.5e-6)}, query={"delta": 1e-6})])
    assert found[1:] == (("1e-6", "9.50e-6", "9.94e-6"),)
    for value, text in ((1e-6, "1e-6"), (1.5e-300, "1.5e-300"), (1e30, "1e30"), (0.1, "0.1")):
        assert words.number(value) == text
        assert float(text) == value


def test_sampling_of_a_part_only() -> None:
    """The words are true of a sum of which only a part is sampled."""
    text = dict(assumptions([report(BRACKET)]))["sampling"]
    assert text.startswith("Poisson where sampled (")
    assert "sampling Poisson where sampled, sensitivity 1 (assumed))" in next(
        ci.github(report(BRACKET))
    )


@pytest.mark.parametrize(
    "text",
    [
        "gaussian:sigma=1",
        "gaussian:sigma=1+gaussian:sigma=2@poisson:q=0.1@9",
        "(gaussian:sigma=1@wor:q=0.1+pure:epsilon=1)@9@group:k=2",
        "gaussian:sigma=1@poisson:q=0.1,max=20,n=100",
        "gaussian-mixture:sigma=2,sensitivities=0,1,probabilities=0.8,0.2",
        "rr:epsilon=1@shuffle:n=100+gaussian:sigma=1@batches:t=3+gaussian:sigma=1@allocation:t=3",
    ],
)
def test_every_sampling_has_words(text: str) -> None:
    """Whatever accounting calls the sampling, tables can say what it means."""
    asked = replace(report(BRACKET), sampling=sampling_words(parse(text).tree))
    assert sampling_name(asked)
    assert dict(assumptions([asked]))["sampling"].endswith(")")


@pytest.mark.parametrize(
    ("wrapper", "name"),
    [
        ("poisson:q=0.1", "Poisson"),
        ("poisson:q=0.1,max=20,n=100", "Poisson with a cap"),
        ("wor:q=0.1", "fixed size without replacement"),
        ("allocation:t=10", "random allocation"),
        ("batches:t=10", "shuffled batches of fixed size"),
    ],
)
@pytest.mark.parametrize("other", ["poisson:q=0.2", "batches:t=3", "allocation:t=3"])
def test_every_kind_of_sampling_is_named(wrapper: str, name: str, other: str) -> None:
    """A sum of parts that are sampled in different ways is not said to be sampled in one."""
    text = f"gaussian:sigma=3@{wrapper}+gaussian:sigma=3@{other}"
    asked = replace(report(BRACKET), sampling=sampling_words(parse(text).tree), sample="q=0.5")
    line = dict(assumptions([asked]))["sampling"]
    spelled = {f"@{each.partition(':')[0]}" for each in (wrapper, other)}
    if len(spelled) > 1:
        assert name in line
        assert all(f" at {each}" in line for each in spelled)
        # None of the sum is any of them alone.
        assert "not shuffling" not in line
        assert "where sampled" not in line
        # Whose sample it is the specification says.
        assert "q=0.5" not in line
        assert f",{asked.sampling},delta," in next(data.csv_lines(asked))
    assert name in sampling_name(asked)


def test_sampling_of_several_kinds_in_one_line() -> None:
    """It is a list in the order of the documentation, each with its meaning."""
    text = (
        "gaussian:sigma=3@batches:t=10+gaussian:sigma=3@allocation:t=3+pure:epsilon=1@poisson:q=0.1"
    )
    asked = replace(report(BRACKET), sampling=sampling_words(parse(text).tree))
    assert asked.sampling == "Poisson and random allocation and shuffled batches"
    name = "Poisson at @poisson, random allocation at @allocation"
    assert sampling_name(asked) == f"{name} and shuffled batches of fixed size at @batches"


@pytest.mark.parametrize(
    ("text", "relation", "line"),
    [
        (
            "pure:epsilon=1",
            "add_or_remove_one",
            "add-or-remove-one (one data set has one record more)",
        ),
        (
            "pure:epsilon=1@group:k=3",
            "add_or_remove_one",
            "add-or-remove-one, 3 times (one data set has 3 records more)",
        ),
        ("pure:epsilon=1@group:k=1", "replace_one", "replace-one (one record has another value)"),
        (
            "(pure:epsilon=1@group:k=2)@group:k=3",
            "replace_one",
            "replace-one, 6 times (6 records have other values)",
        ),
        (
            "pure:epsilon=1@group:k=3+pure:epsilon=1",
            "replace_special",
            "replace-special of a person's records (all records of one person are zeroed out)",
        ),
    ],
)
def test_neighbours_of_groups(text: str, relation: str, line: str) -> None:
    """They differ in as many records as the group has."""
    assert relation_words(Relation(relation), parse(text).tree) == line


def test_infinity_in_words() -> None:
    """Infinity has one spelling everywhere."""
    assert words.number(float("inf")) == "Infinity"
    assert words.number(float("-inf")) == "-Infinity"
    assert words.number(14063.0) == "14063"
    assert words.bracket(Bound(2.5)) == "at most 2.5"


class FakeTerminal:
    """A standard output that is a terminal."""

    def isatty(self) -> bool:
        """Pretend."""
        return True


@pytest.mark.parametrize(
    ("mode", "environment", "colour"),
    [
        ("auto", {}, True),
        ("auto", {"NO_COLOR": "1"}, False),
        ("auto", {"NO_COLOR": "", "TERM": "xterm"}, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("auto", {"TERM": "dumb"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("always", {"TERM": "dumb"}, True),
        ("auto", {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_on_a_terminal(
    mode: str, environment: dict[str, str], colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option decides before NO_COLOR, that before FORCE_COLOR, that before the terminal."""
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", FakeTerminal())
    found = terminal(mode)
    assert found.colour is colour
    assert found.boxed is (environment.get("TERM") != "dumb")


def test_plain_table_has_colour() -> None:
    """In a pipe and on a dumb terminal colour is on the headers and the verdict."""
    reports = [report(BRACKET, check=OVER)]
    coloured = list(plain.lines(reports, colour=True))
    assert f"\x1b[1mspec         {TEXT}\x1b[0m" in coloured
    assert "\x1b[1mdelta  epsilon lower bound  epsilon upper bound\x1b[0m" in coloured
    assert coloured[-1] == f"\x1b[31m{OVER.sentence}\x1b[0m"
    bare = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured]
    assert bare == list(plain.lines(reports))


def test_colour_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe has colour only where it is forced, and boxes never."""
    assert not terminal("auto").colour
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = terminal("auto")
    assert found.colour
    assert not found.boxed


def test_a_column_has_one_notation() -> None:
    """Both ends have exponents where any does; no digit changes, and places stay as they are."""

    def rows(*deltas: Bound) -> tuple[tuple[str, ...], ...]:
        curve = replace(report(BRACKET), query={})
        curve = replace(curve, result={"epsilon": [0.0, 1e-5, 2.0], "delta": [*deltas]})
        (found,) = plain.grids([curve])
        assert found[0] == ("epsilon", "delta lower bound", "delta upper bound")
        return found[1:]

    assert rows(Bound(0.25, 0.125), Bound(2.0**-20, 2.0**-21), Bound(0.0, 0.0)) == (
        ("0", "1.25e-1", "2.5e-1"),
        ("1e-5", "4.76e-7", "9.54e-7"),
        ("2", "0", "0"),
    )
    assert {row[1:] for row in rows(*[Bound(0.25, 0.125)] * 3)} == {("0.125", "0.25")}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [("0.3125181000", "3.125181000e-1"), ("10.24000001", "1.024000001e1"), ("3", "3e0")],
)
def test_a_decimal_keeps_its_digits(cell: str, expected: str) -> None:
    """Zeros that say how precise a number is stay."""
    from privcalc.render.plain import _with_exponent

    assert _with_exponent(cell) == expected
    assert float(expected) == float(cell)
