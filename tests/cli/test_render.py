"""The formats by themselves: boxed tables, estimates in every format, escapes, terminals."""

from __future__ import annotations

import math
import re
import sys
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.directions import Direction, Method
from privcalc.bounds import Bound, Proof, Verdict
from privcalc.cli.output import Output, Printer, Terminal, terminal
from privcalc.errors import UsageError
from privcalc.record import replace
from privcalc.relation import Relation
from privcalc.render import ci, data, messages, plain
from privcalc.render.assumptions import assumptions, sampling_name
from privcalc.render.report import Check, Estimate, Report
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.render.report import Quantity

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
TEXT = "gaussian:sigma=2@poisson:q=0.01@100"


def report(
    result: Mapping[str, Quantity | Estimate],
    *,
    check: Check | None = None,
    notes: tuple[str, ...] = (),
) -> Report:
    """Make one answer."""
    method = Method(Proof.INVERSION, tolerance_met=True, terms={"aliasing": 1.25e-12}, notes=notes)
    return Report(
        command="compose",
        spec=parse(TEXT).tree,
        relation=Relation.ADD_OR_REMOVE_ONE,
        query={"delta": 1e-5},
        result=result,
        method=method,
        directions=(
            Direction("add", None, 2.375, method),
            Direction("remove", None, None, method),
        ),
        check=check,
    )


BRACKET = {"epsilon": Bound(2.5, 2.25)}
OVER = Check("max_epsilon", 2.0, Verdict.EXCEEDED, "over budget: epsilon >= 2.25, budget 2")


class TestBoxedTable:
    def test_without_colour_it_has_no_escapes(self) -> None:
        """Boxes, the relation, the sampling; the verdict stands last; colour adds nothing."""
        reports = [report(BRACKET, check=OVER)]
        text = plain.boxed(reports, colour=False, width=80)
        lines = text.splitlines()
        assert lines[0] == TEXT
        assert "│  1e-5 │                2.25 │                 2.5 │" in lines
        assert [line[:9] for line in lines if line[:2] in ("re", "sa")] == [
            "relation:",
            "sampling:",
        ]
        assert lines[-1] == OVER.sentence
        coloured = plain.boxed(reports, colour=True, width=80)
        assert "\x1b[1;31mover budget" in coloured
        assert ESCAPES.sub("", coloured) == text

    def test_headings_are_broken_where_a_terminal_is_narrow(self) -> None:
        """They take as many lines as they need, at spaces."""
        lines = plain.boxed([report(BRACKET)] * 2, colour=False, width=40).splitlines()
        assert lines[2:4] == [
            "│       │ epsilon lower │      epsilon │",
            "│ delta │         bound │  upper bound │",
        ]

    def test_no_number_is_cut(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Where the terminal is too narrow for the numbers, the lines are longer."""
        narrow = report({"epsilon": Bound(2.381689726157, 2.381689726140)}, check=OVER)
        for columns in range(20, 60):
            monkeypatch.setenv("COLUMNS", str(columns))
            shape = Terminal(boxed=True, colour=False, columns=columns)
            Printer(Output("table", False, False, False, shape)).print([narrow])
            text = capsys.readouterr().out
            for word in ("1e-5", "epsilon", "lower", "upper", "2.381689726", "2.381689727", TEXT):
                assert word in text
            widest = max(len(line) for line in text.splitlines() if "│" in line)
            assert widest <= max(columns, 37)
            assert columns < 53 or widest == 53


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

    def test_one_line_for_each_engine(self) -> None:
        """Engines stand in the order in which they were asked, below the direction."""
        found = list(messages.details([report(BRACKET, notes=self.NOTES)]))
        assert found[2:6] == [
            "    contour: relative width 1.5e-7 to 4e-6",
            "    fft: losses beyond 1e+08 are too likely",
            "    rdp: no lower end",
            "    a note",
        ]

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


def test_estimates_are_never_in_the_columns_of_a_bracket() -> None:
    """They are named in every format; a bare number cannot say what it is."""
    answer = report({"epsilon": Estimate(2.375)})
    row = dict(zip(data.HEADER, next(data.csv_lines(answer)).split(","), strict=True))
    assert (row["lower"], row["upper"], row["estimate"]) == ("", "", "2.375")
    with pytest.raises(UsageError, match="-t prints one number"):
        plain.terse_line(answer)


def test_a_bound_without_a_lower_end_is_never_0_below() -> None:
    """JSON leaves the key out, CSV the cell; tables say that it is unknown."""
    answer = report({"epsilon": Bound(2.5)})
    assert "1e-5   unknown              2.5" in plain.lines([answer])
    assert '"result": {"epsilon": {"upper": 2.5}}' in data.json_line(answer)
    row = dict(zip(data.HEADER, next(data.csv_lines(answer)).split(","), strict=True))
    assert (row["lower"], row["upper"]) == ("", "2.5")


def test_github_escapes() -> None:
    """Line breaks and percent signs do not end a workflow command, nor commas a property."""
    line = ci.annotation("error", "a:b,c", "50%\r\nover: d, e")
    assert line == "::error title=a%3Ab%2Cc::50%25%0D%0Aover: d, e"


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
    asked = replace(report(BRACKET), spec=parse(text).tree, query={"sampling_probability": 0.5})
    line = dict(assumptions([asked]))["sampling"]
    spelled = {f"@{each.partition(':')[0]}" for each in (wrapper, other)}
    if len(spelled) > 1:
        assert name in line
        assert all(f" at {each}" in line for each in spelled)
        # None of the sum is any of them alone, and whose sample it is the specification says.
        assert not any(words in line for words in ("not shuffling", "where sampled", "q=0.5"))
        assert f",{asked.sampling}," in next(data.csv_lines(asked))
    assert name in sampling_name(asked)


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


def test_colour_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe has colour only where it is forced, on headings and verdict, and boxes never."""
    assert not terminal("auto").colour
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert (terminal("auto").colour, terminal("auto").boxed) == (True, False)
    reports = [report(BRACKET, check=OVER)]
    coloured = list(plain.lines(reports, colour=True))
    assert "\x1b[1mdelta  epsilon lower bound  epsilon upper bound\x1b[0m" in coloured
    assert coloured[-1] == f"\x1b[31m{OVER.sentence}\x1b[0m"
    assert [ESCAPES.sub("", line) for line in coloured] == list(plain.lines(reports))


def test_a_column_has_one_notation() -> None:
    """Both ends have exponents where any does; no digit changes, and places stay as they are."""

    def rows(*deltas: Bound) -> tuple[tuple[str, ...], ...]:
        curve = replace(report(BRACKET), query={})
        curve = replace(curve, result={"epsilon": [0.0, 1e-5, 2.0], "delta": [*deltas]})
        (found,) = plain.grids([curve])
        return found[1:]

    assert rows(Bound(0.25, 0.125), Bound(2.0**-20, 2.0**-21), Bound(0.0, 0.0)) == (
        ("0", "1.25e-1", "2.5e-1"),
        ("1e-5", "4.76e-7", "9.54e-7"),
        ("2", "0", "0"),
    )
    assert {row[1:] for row in rows(*[Bound(0.25, 0.125)] * 3)} == {("0.125", "0.25")}
