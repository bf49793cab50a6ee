"""Pictures in the terminal, read back from their own ticks and held against the answers."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import pytest

from privcalc.cli.output import Terminal
from privcalc.picture.picture import Axis, Curve, Picture, Point
from privcalc.picture.terminal import draw

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

PROFILE = ("compose", "gaussian:sigma=2@3")
TRADE_OFF = ("convert", "gaussian:sigma=1.5", "--to", "tradeoff", "--points", "9")
RENYI = ("convert", "laplace:scale=2@5", "--to", "rdp")
TARGET = ("--epsilon", "1", "--delta", "0", "--sweep", "sensitivity=0.1..100/4log")
SWEEP = ("calibrate", "laplace:scale=_,sensitivity=1", *TARGET)
SUBSAMPLED = ("subsample", "gaussian:sigma=3", "--q", "1%", "--orders", "2,4,8")
DELTAS = ("compose", "gaussian:sigma=3", "--delta", "1e-3,1e-9,1e-5")


# A line of a picture, up to its vertical axis.
IS_ROW = re.compile(r"[ 0-9.e-]*[|+]").match


def ends(value: Any) -> tuple[float, float]:
    """Return both ends of a bracket in JSON; a missing one is the other."""
    return value.get("lower", value["upper"]), value["upper"]


def truth(arguments: tuple[str, ...], run: Callable[..., Outcome]) -> list[tuple[float, float]]:
    """Return the places and the upper ends that a picture has, from JSON."""
    answers = [json.loads(line) for line in run(*arguments, "--json").stdout.splitlines()]
    result, query = answers[0]["result"], answers[0]["query"]
    if isinstance(next(iter(result.values())), list):
        places, values = list(result.values())[:2]
        return [(x, ends(y)[1]) for x, y in zip(places, values, strict=True)]
    if "sufficient" in result:
        pairs = [(a["query"]["sensitivity"], a["result"]["sufficient"]) for a in answers]
        return [(x, y) for x, y in pairs if isinstance(y, float)]
    assert "delta" in query
    return sorted((a["query"]["delta"], ends(a["result"]["epsilon"])[1]) for a in answers)


def scale(ticks: dict[int, float], *, logarithmic: bool) -> Callable[[float], float]:
    """Return where a number stands, as two ticks of an axis say."""
    (a, low), *_, (b, high) = sorted(ticks.items())
    mapped = math.log if logarithmic else float

    def place(value: float) -> float:
        return a + (b - a) * (mapped(value) - mapped(low)) / (mapped(high) - mapped(low))

    return place


def read(text: str) -> tuple[list[str], dict[int, float], dict[int, float], int]:
    """Return the rows of a picture, its ticks on both axes, and the column of its left end."""
    lines = text.splitlines()
    rows = [line for line in lines if IS_ROW(line)]
    left = re.search("[|+]", rows[0]).end()  # type: ignore[union-attr]
    marked = {i: float(row[: left - 1]) for i, row in enumerate(rows) if row[left - 1] == "+"}
    ruler = next(line for line in lines if re.match(" *'[-+]", line))
    labels = lines[lines.index(ruler) + 1]
    columns = [match.start() for match in re.finditer(r"[+]", ruler)]
    spots = [(m.start() + (len(m[0]) - 1) / 2, m[0]) for m in re.finditer(r"\S+", labels)]
    found = {}
    for middle, word in spots:
        near = min(columns, key=lambda column: abs(column - middle))
        found[near - left] = float(word)
    return rows, marked, found, left


@pytest.mark.parametrize(
    ("arguments", "x_log", "y_log"),
    [
        (PROFILE, False, True),
        (TRADE_OFF, False, False),
        (RENYI, True, False),
        (SWEEP, True, True),
        (DELTAS, True, False),
    ],
)
def test_marks_stand_where_the_ticks_say(
    arguments: tuple[str, ...], x_log: bool, y_log: bool, run: Callable[..., Outcome]
) -> None:
    """Every point of the answer has its mark, not a cell away from where it belongs."""
    text = run(*arguments, "--plot").stdout
    rows, y_ticks, x_ticks, left = read(text)
    across, down = scale(x_ticks, logarithmic=x_log), scale(y_ticks, logarithmic=y_log)
    marks = {(i, j - left) for i, row in enumerate(rows) for j, c in enumerate(row) if c == "*"}
    points = [(x, y) for x, y in truth(arguments, run) if y > 0.0 or not y_log]
    # A tick stands in the middle of a cell, half a cell from where it is, at either end.
    for x, y in points:
        assert any(abs(across(x) - j) < 2.0 and abs(down(y) - i) < 1.5 for i, j in marks), (x, y)
    for i, j in marks:
        assert any(abs(across(x) - j) < 2.0 and abs(down(y) - i) < 1.5 for x, y in points), (i, j)


@pytest.mark.parametrize("arguments", [PROFILE, TRADE_OFF, RENYI, SWEEP, DELTAS])
def test_pictures_fit_one_screen(arguments: tuple[str, ...], run: Callable[..., Outcome]) -> None:
    """They name relation, sampling and sensitivity, on at most 23 lines of 80 columns."""
    lines = run(*arguments, "--plot").stdout.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert lines[1] == "relation  add-or-remove-one (one data set has one record more)"
    assert lines[2].startswith("sampling  none, sensitivity ")
    assert any("both ends" in line for line in lines)


def test_a_sweep_names_its_target(run: Callable[..., Outcome]) -> None:
    """What is found and what is varied are holes of the specification, and delta is named."""
    lines = run(*SWEEP, "--plot").stdout.splitlines()
    assert lines[0].split() == ["spec", "laplace:scale=_,sensitivity=_"]
    assert "target    epsilon <= 1 at delta 0" in lines
    assert "scale that meets the target" in lines


def test_random_guesses_are_above_every_trade_off(run: Callable[..., Outcome]) -> None:
    """The line from (0, 1) to (1, 0) is drawn, and no mark lies above it."""
    rows, _, _, _ = read(run(*TRADE_OFF, "--plot").stdout)
    for row in rows:
        guess, mark = row.find("\\"), row.rfind("*")
        assert mark < 0 or guess < 0 or mark < guess + 4
    assert sum(row.count("\\") for row in rows) > 40


def drawn(*points: Point, logarithmic: bool = False) -> list[str]:
    """Draw one curve."""
    axis = Axis("x", logarithmic=False)
    curve = Curve("y", points, narrow=False)
    facts, remarks = (("relation", "some"),), ("a remark",)
    picture = Picture("spec", facts, axis, Axis("y", logarithmic), (curve,), False, remarks)
    return list(draw(picture, columns=60))


def test_a_band_is_shaded_between_both_ends() -> None:
    """Ends that differ have marks of their own, and the band between."""
    points = [Point(x, 1.0 + x / 4.0, 9.0 - x) for x in (0.0, 1.0, 2.0, 3.0, 4.0)]
    lines = drawn(*points)
    rows, _, _, _ = read("\n".join(lines))
    columns = {j for row in rows for j, c in enumerate(row) if c == "*"}
    assert len(columns) == 5
    for column in columns:
        cells = [row[column] if column < len(row) else " " for row in rows]
        inside = cells[cells.index("*") + 1 : cells.index("o")]
        assert len(inside) >= 2
        assert set(inside) == {":"}
    assert "* at most  o at least  : between" in lines
    assert lines[-1] == "a remark"


def test_a_lower_end_of_0_lies_below_a_logarithmic_axis() -> None:
    """It has no mark, and the band goes down to the foot of the picture."""
    lines = drawn(
        Point(0.0, 0.5, 1.0), Point(1.0, 0.0, 0.3), Point(2.0, 1e-3, 0.2), logarithmic=True
    )
    rows, _, _, _ = read("\n".join(lines))
    assert sum(row.count("o") for row in rows) == 2
    assert ":" in rows[-1]


def test_pictures_are_ascii(run: Callable[..., Outcome]) -> None:
    """Every terminal, and every pipe, can show them."""
    text = run(*TRADE_OFF, "--plot").stdout
    assert text.isascii()
    assert text.count("*") > 6


def test_what_cannot_be_drawn_is_counted(run: Callable[..., Outcome]) -> None:
    """Zeros have no place on a logarithmic axis, and infinite ends on none."""
    zeros = run("convert", "laplace:scale=3", "--to", "profile", "--points", "6", "--plot").stdout
    assert "not drawn: 1 of 6 points, which are 0" in zeros
    infinite = run(
        "convert",
        "gaussian-pair:mean=0,deviation=1,other_mean=0,other_deviation=2",
        "--to",
        "rdp",
        "--orders",
        "1.1,1.2,9",
        "--plot",
    ).stdout
    assert "not drawn: 1 of 3 points, which have no finite upper end" in infinite


def test_answers_beside_a_curve_stay(run: Callable[..., Outcome]) -> None:
    """The epsilon of `subsample` stands in its table below the picture of the curve."""
    text = run("subsample", "gaussian:sigma=3", "--q", "1%", "--delta", "1e-5", "--plot").stdout
    assert "x both ends" in text
    assert re.search(r"^1e-5 +0\.\d+", text, re.MULTILINE)


def test_verdicts_stay(run: Callable[..., Outcome]) -> None:
    """A budget check ends below the picture, with its status."""
    done = run(*DELTAS, "--max-epsilon", "0.5", "--plot")
    assert done.status == 1
    assert done.stdout.splitlines()[-1].startswith("over budget")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*PROFILE, "--plot", "--json"), "--plot draws on standard output"),
        ((*PROFILE, "--plot", "-q"), "--plot draws on standard output"),
        (("compose", "gdp:mu=1", "--delta", "1e-5", "--plot", "-t"), "--plot draws on"),
        (("compose", "gdp:mu=1", "--delta", "1e-5", "--plot"), "a picture needs a curve"),
        (("convert", "gdp:mu=1", "--to", "risk", "--plot"), "a picture needs a curve"),
        (("compose", "gdp:mu=1", "--delta", "0.1,0.2", "--epsilon", "1", "--plot"), "one curve"),
        (("compose", "gdp:mu=1", "--delta", "0.1,0.2", "--engine", "afa", "--plot"), "certificate"),
        (("convert", "approx:epsilon=1,delta=0.1", "--to", "rdp", "--plot"), "nothing to draw"),
    ],
)
def test_what_has_no_picture_is_refused(
    arguments: tuple[str, ...], words: str, run: Callable[..., Outcome]
) -> None:
    """One line says why."""
    done = run(*arguments)
    assert (done.status, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("compose - --delta 1e-5", "a picture needs a curve"),
        ("compose - --epsilon 1,1", "a picture needs a curve"),
        ("compose - --epsilon 1,2 --delta 0.1", "a picture has one curve"),
        ("convert - --delta 1e-5", "a picture needs a curve"),
        ("convert - --to gdp --delta 0.1,0.2", "a picture needs a curve"),
        ("convert - --to risk", "a picture needs a curve"),
        ("select - --runs fixed:n=2 --delta 1e-5", "a picture needs a curve"),
        ("calibrate - --mu 1", "a picture needs a curve"),
    ],
)
def test_no_line_of_a_pipe_is_read_where_none_has_a_picture(
    line: str, words: str, run: Callable[..., Outcome]
) -> None:
    """It is said once, however many lines there are."""
    done = run(*line.split(), "--plot", stdin="gdp:mu=1\n" * 30)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith(f"privcalc: {words}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("line", ["compose -", "compose - --delta 0.1,0.2", "subsample - --q 0.1"])
def test_lines_of_a_pipe_that_are_curves_are_drawn(line: str, run: Callable[..., Outcome]) -> None:
    """Profiles, several deltas and Renyi curves."""
    done = run(*line.split(), "--plot", stdin="gdp:mu=1\n" * 2)
    assert (done.status, done.stdout.count("spec ")) == (0, 2)


def test_lines_of_a_pipe_have_a_picture_each(run: Callable[..., Outcome]) -> None:
    """What cannot be drawn is reported with its line, and the others are drawn."""
    specs = "gdp:mu=1\napprox:epsilon=1,delta=0.1\npure:epsilon=2\n"
    done = run("convert", "-", "--to", "rdp", "--plot", stdin=specs)
    assert done.status == 2
    assert done.stdout.count("spec ") == 2
    assert done.stderr.startswith("privcalc: line 2: there is nothing to draw")


@pytest.mark.parametrize("question", [PROFILE, TRADE_OFF, RENYI, DELTAS])
def test_a_narrow_terminal_is_not_overrun(
    question: tuple[str, ...], run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands above and below the picture is broken as the picture is."""
    narrow = Terminal(boxed=True, colour=False, columns=40)
    monkeypatch.setattr("privcalc.cli.output.terminal", lambda _: narrow)
    lines = run(*question, "--plot").stdout.splitlines()
    assert max(map(len, lines)) <= 40
    assert any(line.startswith("relation") for line in lines)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (80, 36), (100, 50), (120, 200), (80, 9)])
@pytest.mark.parametrize("question", [PROFILE, TRADE_OFF, DELTAS, RENYI, SUBSAMPLED])
def test_a_picture_takes_the_height_it_has(
    question: tuple[str, ...],
    columns: int,
    lines: int,
    run: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With all that is printed, and a prompt, it fills a screen that is no higher than wide."""
    screen = Terminal(boxed=True, colour=False, columns=columns, lines=lines)
    monkeypatch.setattr("privcalc.cli.output.terminal", lambda _: screen)
    text = run(*question, "--plot").stdout
    rows = sum(bool(IS_ROW(line)) for line in text.splitlines())
    drawn_lines = text.count("\n")
    if rows > 13 and rows < columns / 2:
        assert drawn_lines == lines - 1
    assert 13 <= rows <= columns / 2
    assert drawn_lines < lines or rows == 13
    assert lines > 9 or rows == 13


@pytest.mark.dear("gaussian:sigma=1.1@")
@pytest.mark.parametrize(
    "spec", ["gaussian:sigma=2", "laplace:scale=20@1000", "gaussian:sigma=1.1@poisson:q=0.01@100"]
)
def test_a_profile_ends_where_delta_does(spec: str, run: Callable[..., Outcome]) -> None:
    """Delta has fallen to the smallest one in the last quarter, and not long before the end."""
    [found] = [json.loads(line) for line in run("compose", spec, "--json").stdout.splitlines()]
    uppers = [each["upper"] for each in found["result"]["delta"]]
    fallen = next(i for i, upper in enumerate(uppers) if upper <= 1e-10)
    assert 15 <= fallen <= 20
