"""What is printed of an end is on its safe side: read as the decimal that it is, in each format."""

from __future__ import annotations

import csv
import json
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from privcalc.bounds import Bound
from privcalc.render.data import csv_header, csv_lines, encoded, json_line
from privcalc.render.report import OneSided
from privcalc.render.words import named, one_sided
from tests.cli.test_render import report

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Run = Callable[..., Outcome]

# Doubles are printed as decimals on either side of them: of many both kinds are among these.
SOURCE = random.Random(41)
NUMBERS = [SOURCE.random() * 10.0 ** SOURCE.randint(-12, 3) for _ in range(200)]


def row(line: str) -> dict[str, str]:
    """Return the cells of a line of CSV by their columns."""
    header, cells = csv.reader([csv_header(), line])
    return dict(zip(header, cells, strict=True))


@pytest.mark.parametrize("form", ["json", "csv"])
def test_brackets_for_programs(form: str) -> None:
    """The decimals that stand there enclose the number that the doubles enclose."""
    for number in NUMBERS:
        answer = report({"epsilon": Bound(number, number)})
        if form == "json":
            ends = json.loads(json_line(answer), parse_float=str)["result"]["epsilon"]
        else:
            (line,) = csv_lines(answer)
            ends = row(line)
        assert Fraction(ends["lower"]) <= Fraction(number) <= Fraction(ends["upper"])


@pytest.mark.parametrize("upper", [True, False])
def test_bounds_of_one_side(upper: bool) -> None:
    """Each stands in the column of its side, and is rounded to it in all formats."""
    for number in NUMBERS:
        value = OneSided(number, is_upper=upper)
        (line,) = csv_lines(report({"rho": value}))
        cells = row(line)
        assert cells["lower" if upper else "upper"] == ""
        texts = cells["upper" if upper else "lower"], repr(encoded(value)), one_sided(value)
        for text in texts:
            assert (
                Fraction(text) >= Fraction(number) if upper else Fraction(text) <= Fraction(number)
            )


def test_a_named_bracket_is_no_less_than_its_upper_end() -> None:
    """Where there is room for one number of a bracket, it is a guarantee."""
    for number in NUMBERS:
        assert Fraction(named(Bound(number, 0.0))) >= Fraction(number)


@pytest.mark.parametrize("budget", ["5/7", "2/3", "1/3", "0.123456789012345678"])
def test_a_printed_budget_is_no_more_than_what_was_written(run: Run, budget: str) -> None:
    """Whoever compares the printed end with it passes nothing that the budget does not."""
    words = "compose", "pure:epsilon=0.1", "--delta", "0", "--max-epsilon", budget
    (line,) = run(*words, "--json").stdout.splitlines()
    assert Fraction(json.loads(line, parse_float=str)["check"]["max_epsilon"]) <= Fraction(budget)
    _, line = run(*words, "--format", "csv").stdout.splitlines()
    assert Fraction(row(line)["budget"]) <= Fraction(budget)
