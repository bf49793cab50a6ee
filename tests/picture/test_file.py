"""Pictures in files: what matplotlib is given, what it writes, and what is refused before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from privcalc.picture import picture as pictures
from privcalc.picture.picture import Axis, Curve, Picture, Point

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome
    from tests.fake_accounting import FakeAccounting

PROFILE = ("compose", "gaussian:sigma=2@3")
MAGIC = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "suffix", ["svg", *(pytest.param(each, marks=pytest.mark.slow) for each in ("png", "pdf"))]
)
def test_each_format_is_written(suffix: str, tmp_path: Path, run: Callable[..., Outcome]) -> None:
    """The answer is printed as ever, and the same picture is the same bytes."""
    pytest.importorskip("matplotlib")
    paths = [tmp_path / f"{name}.{suffix}" for name in ("one", "two")]
    without = run(*PROFILE, "--json").stdout
    for path in paths:
        done = run(*PROFILE, "--plot-file", str(path), "--json")
        assert (done.status, done.stdout) == (0, without)
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(MAGIC[suffix])
    assert first == second


@pytest.mark.slow
@pytest.mark.slow
def test_words_of_a_picture(tmp_path: Path, run: Callable[..., Outcome]) -> None:
    """It names the specification, the relation, the sampling, delta, and how wide the band is."""
    pytest.importorskip("matplotlib")
    path = tmp_path / "a.svg"
    assert run(*PROFILE, "-q", "--plot-file", str(path)).status == 0
    text = path.read_text(encoding="utf-8")
    for words in (
        "gaussian:sigma=2@3",
        "relation: add-or-remove-one (one data set has one record more)",
        "sampling: none",
        "delta",
        "epsilon",
        "both ends",
        "privcalc ",
    ):
        assert f"<!-- {words}" in text, words


def axes_of(picture: Picture) -> Any:
    """Return what matplotlib is given."""
    pytest.importorskip("matplotlib")
    from privcalc.picture.figure import figure

    (axes,) = figure(picture).axes
    return axes


def test_both_ends_and_the_band_are_drawn() -> None:
    """The lines go through the ends, and the shade lies between; 1 - x is the random guess."""
    points = (Point(0.1, 0.2, 0.8), Point(0.5, 0.1, 0.4), Point(0.9, 0.0, 0.1))
    axis = Axis("x", logarithmic=False)
    curve = Curve("beta", points, narrow=False)
    picture = Picture("spec", (), axis, axis, (curve,), unit=True, remarks=())
    axes = axes_of(picture)
    drawn = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert drawn["at most"] == [[0.1, 0.8], [0.5, 0.4], [0.9, 0.1]]
    assert drawn["at least"] == [[0.1, 0.2], [0.5, 0.1]]
    assert drawn["random guess"] == [[0.0, 1.0], [1.0, 0.0]]
    (band,) = axes.collections
    corners = {tuple(map(float, corner)) for corner in band.get_paths()[0].vertices}
    assert {(p.x, end) for p in points for end in (p.lower, p.upper)} <= corners


def test_curves_differ_by_more_than_colour() -> None:
    """Each has a line and a mark of its own, and all of it is grey."""
    axis = Axis("order", logarithmic=True)
    curves = tuple(
        Curve(f"curve {i}", (Point(2.0, None, i + 1.0), Point(9.0, None, i + 2.0)), narrow=False)
        for i in range(4)
    )
    axes = axes_of(Picture("spec", (), axis, axis, curves, unit=False, remarks=()))
    styles = {(line.get_linestyle(), line.get_marker()) for line in axes.lines}
    assert len(styles) == 4
    assert all(0.0 <= float(line.get_color()) < 0.6 for line in axes.lines)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_what_is_missing_is_named(
    run: Callable[..., Outcome],
    accounting: FakeAccounting,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Without matplotlib the message says what to install, and so does JSON."""
    monkeypatch.setattr(pictures, "find_spec", lambda _: None)
    done = run(*PROFILE, "--plot-file", str(tmp_path / "a.svg"), "--json")
    assert (done.status, accounting.calls) == (2, [])
    error = json.loads(done.stderr)
    assert error["code"] == "usage"
    assert "pip install 'privcalc[plot]'" in error["message"]


def test_a_file_that_cannot_be_written_is_an_error(
    tmp_path: Path, run: Callable[..., Outcome]
) -> None:
    """Nothing is printed then: the answer has two parts, and one is not there."""
    pytest.importorskip("matplotlib")
    (tmp_path / "a.svg").mkdir()
    done = run(*PROFILE, "--plot-file", str(tmp_path / "a.svg"))
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith("privcalc: --plot-file: ")
