"""Scales: places and ticks of any range of numbers."""

from __future__ import annotations

import math
import random

import pytest

from privcalc.accounting.directions import Method
from privcalc.bounds import Bound, Proof
from privcalc.picture.picture import BELOW, Point, picture
from privcalc.picture.terminal import Scale
from privcalc.relation import Relation
from privcalc.render.report import Report
from privcalc.spec.parse import parse


def random_numbers(seed: int) -> tuple[list[float], bool, int]:
    """Draw numbers of any size, close together or far apart, and how many ticks there may be."""
    rng = random.Random(seed)
    size, spread = rng.uniform(-300, 300), rng.choice([0.0, 1e-6, 0.1, 3.0, 200.0])
    found = [min(max(size + rng.uniform(0, spread), -300), 300) for _ in range(rng.randint(1, 9))]
    signs = rng.choice([(1.0,), (-1.0,), (1.0, -1.0, 0.0)])
    values = [rng.choice(signs) * 10.0**each for each in found]
    return values, rng.random() < 0.5, rng.randint(2, 12)


@pytest.mark.few(20)
@pytest.mark.parametrize("seed", range(200))
def test_ticks_are_few_and_where_they_say(seed: int) -> None:
    """Labels are the numbers of their places, in order; places are in [0, 1] and in order."""
    values, logarithmic, most = random_numbers(seed)
    if logarithmic:
        values = [abs(value) or 1.0 for value in values]
    scale = Scale.around(values, logarithmic=logarithmic)
    assert scale.low < scale.high
    places = [scale.place(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(0.0 <= place <= 1.0 for place in places)
    ticks = scale.ticks(most)
    assert len(ticks) <= most + logarithmic
    assert len(ticks) > 1 or most < 3
    assert [place for place, _ in ticks] == sorted(place for place, _ in ticks)
    for place, label in ticks:
        assert scale.place(float(label)) == pytest.approx(place, abs=1e-3)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.3, -2.0, 1e-300, 5e-324, 1e300, -1e300])
def test_one_number_has_a_scale(value: float) -> None:
    """It stands inside, and not at an end."""
    scale = Scale.around([value], logarithmic=value > 0.0)
    assert 0.0 < scale.place(value) < 1.0


def test_zero_stands_at_the_foot_of_a_logarithmic_scale() -> None:
    """So does all that is below the range."""
    scale = Scale.around([1e-9, 1.0], logarithmic=True)
    assert (scale.place(0.0), scale.place(1e-12), scale.place(1.0)) == (0.0, 0.0, 1.0)
    assert scale.place(math.sqrt(1e-9)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "values", [[1e-320, 3e-320], [0.0, 5e-324], [1.0, 1.0 + 2**-52], [1e308, -1e308]]
)
def test_the_ends_of_the_doubles_have_a_scale(values: list[float]) -> None:
    """Ticks may be few or alike there, and are finite."""
    scale = Scale.around(values, logarithmic=False)
    assert all(0.0 <= place <= 1.0 for place, _ in scale.ticks(6))
    assert 0.0 <= scale.place(values[0]) <= 1.0


def curve(place: str, name: str, places: list[float], bounds: list[Bound]) -> tuple[Point, ...]:
    """Return the points that are drawn of an answer that is a curve."""
    report = Report(
        command="convert",
        spec=parse("gaussian:sigma=1").tree,
        relation=Relation.ADD_OR_REMOVE_ONE,
        query={},
        result={place: [*places], name: [*bounds]},
        method=Method(Proof.CLOSED_FORM, tolerance_met=True),
    )
    found, _ = picture([report])
    return found.curves[0].points


def test_lower_ends_far_below_have_no_room() -> None:
    """Of what a logarithmic axis would show of them alone they say that they are at least 0."""
    bounds = [Bound(1.0, 0.5), Bound(1e-3, 1e-3 * BELOW), Bound(1e-6, 2.0**-130)]
    points = curve("epsilon", "delta", [0.0, 1.0, 2.0], bounds)
    assert [p.lower for p in points] == [0.5, 1e-3 * BELOW, 0.0]
    points = curve("alpha", "beta", [0.0, 0.5, 1.0], bounds)
    assert points[-1].lower == pytest.approx(2.0**-130, rel=1e-9)
