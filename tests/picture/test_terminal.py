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


@pytest.mark.dear("gaussian:sigma=1.1@", "laplace")
@pytest.mark.parametrize(
    "spec", ["gaussian:sigma=2", "laplace:scale=20@1000", "gaussian:sigma=1.1@poisson:q=0.01@100"]
)
def test_a_profile_ends_where_delta_does(spec: str, run: Callable[..., Outcome]) -> None:
    """Delta has fallen to the smallest one in the last quarter, and not long before the end."""
    [found] = [json.loads(line) for line in run("compose", spec, "--json").stdout.splitlines()]
    uppers = [each["upper"] for each in found["result"]["delta"]]
    fallen = next(i for i, upper in enumerate(uppers) if upper <= 1e-10)
    assert 15 <= fallen <= 20
