"""What `--sweep` says: its values, and the number of a specification that they are put for."""

from __future__ import annotations

import doctest
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from privcalc.cli import sweep
from privcalc.cli.sweep import read_sweep, swept
from privcalc.commands.command import Asking
from privcalc.commands.questions import joined
from privcalc.exact import exact
from privcalc.relation import Relation
from privcalc.render.words import written

if TYPE_CHECKING:
    from pathlib import Path


def values(text: str, *, whole: bool = False) -> tuple[str, ...]:
    """Return the values of a sweep, as they are printed."""
    return tuple(map(written, read_sweep(text).values(whole=whole)))


def texts(spec: str, text: str, *, free: bool = False) -> list[str]:
    """Return the specifications that a sweep asks about."""
    found = swept(joined([spec], holes=True), read_sweep(text), free=free)
    return [found.question(value).text for value in found.values]


def test_examples() -> None:
    """Those of the documentation."""
    assert doctest.testmod(sweep).failed == 0


def test_steps_are_equal() -> None:
    """Thirteen values from 0.8 to 2 are a tenth apart, exactly."""
    assert values("sigma=0.8..2/13") == (
        "0.8", "0.9", "1", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "2"
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_values_are_where_they_should_be(seed: int) -> None:
    """Ends are those that were written; between them differences, or ratios, are the same."""
    rng = random.Random(seed)
    low = Fraction(rng.randint(1, 999))
    high = low * rng.randint(2, 1000)
    steps, logarithmic = rng.randint(2, 40), rng.random() < 0.5
    text = f"x={low}..{high}/{steps}{'log' * logarithmic}"
    found = [exact(float(Fraction(each))) for each in values(text)]
    assert len(found) == steps
    for step, each in enumerate(found):
        share = step / (steps - 1)
        ratio = float(high / low) ** share if logarithmic else 1 + share * float(high / low - 1)
        assert float(each / low) == pytest.approx(ratio, rel=6e-6)


@pytest.mark.parametrize(
    ("text", "whole", "expected"),
    [
        ("q=1/100..1/10/3", False, ("1/100", "0.055", "1/10")),
        ("q=1%..10%/3", False, ("1%", "0.055", "10%")),
        ("count=1..5/20", True, ("1", "2", "3", "4", "5")),
        ("count=10..1000/3log", True, ("10", "100", "1000")),
        ("mean=-1..1/3", False, ("-1", "0", "1")),
        ("0.5,1/3,2", False, ("0.5", "1/3", "2")),
        ("q = 2,1,2.0", False, ("2", "1")),
        ("x=1..2/4", False, ("1", "1.33333", "1.66667", "2")),
        ("x=1e-9..1/2log", False, ("1e-9", "1")),
        ("x=1e-9..1/4log", False, ("1e-9", "1e-6", "0.001", "1")),
    ],
)
def test_forms(text: str, whole: bool, expected: tuple[str, ...]) -> None:
    """Ratios, percentages, whole numbers, numbers below 0, lists, and the first form."""
    assert values(text, whole=whole) == expected


@pytest.mark.parametrize(
    ("spec", "text", "free", "expected"),
    [
        ("gaussian:sigma=3@10", "sigma=1,2", False, ["gaussian:sigma=1@10", "gaussian:sigma=2@10"]),
        ("gaussian:sigma=3@10", "standard-deviation=1%", False, ["gaussian:sigma=0.01@10"]),
        ("gaussian:sigma=3@10", "count=7", False, ["gaussian:sigma=3@7"]),
        ("gaussian:sigma=_@10", "1,2", False, ["gaussian:sigma=1@10", "gaussian:sigma=2@10"]),
        ("gaussian:sigma=_@10", "sigma=1", False, ["gaussian:sigma=1@10"]),
        ("gaussian:sigma=_+gaussian:sigma=_@2", "0.25", False,
         ["gaussian:sigma=0.25+gaussian:sigma=0.25@2"]),
        ("gaussian:sigma=1+gaussian:sigma=2", "sigma#2=5", False,
         ["gaussian:sigma=1+gaussian:sigma=5"]),
        ("gaussian:sigma=1+gaussian:sigma=2", "sigma#1=5", False,
         ["gaussian:sigma=5+gaussian:sigma=2"]),
        ("(gaussian:sigma=1@5+laplace:scale=2@7)@3", "count#2=9", False,
         ["(gaussian:sigma=1@5+laplace:scale=2@9)@3"]),
        ("gaussian:sigma=_@poisson:q=0.1@10", "q=1/3", True, ["gaussian:sigma=_@poisson:q=1/3@10"]),
        ('{"type": "gaussian", "standard_deviation": 2}', "sigma=1", False, ["gaussian:sigma=1"]),
    ],
)  # fmt: skip
def test_places(spec: str, text: str, free: bool, expected: list[str]) -> None:
    """By name, by `_`, by number where a name is written more than once, and in data."""
    assert texts(spec, text, free=free) == expected


def test_what_has_no_places_in_its_text(tmp_path: Path) -> None:
    """A number of a history in a file, or of a sum, stands in the text of what was read."""
    file = tmp_path / "h.json"
    file.write_text('{"history": [[1.1, 0.25, 5], [2.0, 0.5, 7]], "mechanism": "rdp"}')
    assert texts(f"opacus:file={file}", "q#2=1/3") == [
        "gaussian:noise_multiplier=1.1@poisson:q=0.25@5+gaussian:noise_multiplier=2@poisson:q=1/3@7"
    ]
    found = swept(joined(["gaussian:sigma=1@10", "laplace:scale=2%"]), read_sweep("scale=3"))
    assert found.question(3).text == "gaussian:sigma=1@10+laplace:scale=3"
    inside = "ptr:test=(gaussian:sigma=8),mechanism=(gaussian:sigma=4),false_positive=0.1"
    [text] = texts(inside, "sigma#2=5")
    assert text == inside.replace("sigma=4", "sigma=5")


def test_an_answer_brings_its_relation() -> None:
    """Its guarantee holds under that."""
    answer = (
        '{"schema": "privcalc/result/v1", "spec": {"type": "gaussian", "standard_deviation": 2},'
        ' "relation": "replace_one"}'
    )
    found = swept(joined([answer]), read_sweep("sigma=1,3"))
    assert found.question(3).relation is Relation.REPLACE_ONE
    assert found.question(3).text == "gaussian:sigma=3"


def test_what_is_swept_does_not_hide_where_it_was_asked() -> None:
    """A delta of the mechanism, and the delta at which epsilon is asked, are two numbers."""
    found = swept(joined(["approx:epsilon=1,delta=0@3"]), read_sweep("delta=1e-9,1e-8"))
    ask = Asking("compose", {"delta": (1e-5,)})
    for value in found.values:
        (row,) = found.reports(value, ask(found.question(value)))
        assert row.query["delta"] == 1e-5
        assert row.at == ("delta", float(value))
        assert sorted(row.query.values()) == [float(value), 1e-5]
