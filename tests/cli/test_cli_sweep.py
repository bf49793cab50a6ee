"""Sweeps on the command line: each value is a question of its own, and all are one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.test_cli_schema import objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

SPEC = "gaussian:sigma=1@poisson:q=1%@100"
AT = ("--delta", "1e-5")
# A command line, what is swept in it, and the same with one value in the place of a sweep.
SAME = [
    (("compose", SPEC, *AT), "sigma=1,2", ("compose", "gaussian:sigma=2@poisson:q=1%@100", *AT)),
    (("compose", SPEC, "--epsilon", "1"), "count=10..1000/3log",
     ("compose", "gaussian:sigma=1@poisson:q=1%@1000", "--epsilon", "1")),
    (("convert", "zcdp:rho=1", *AT), "rho=1..2/3", ("convert", "zcdp:rho=2", *AT)),
    (("convert", "gaussian:sigma=1@3", "--to", "gdp"), "sigma=1,4",
     ("convert", "gaussian:sigma=4@3", "--to", "gdp")),
    (("select", "pure:epsilon=_", "--runs", "geometric:mean=3", *AT), "0.5,1",
     ("select", "pure:epsilon=1", "--runs", "geometric:mean=3", *AT)),
    (("calibrate", "gaussian:sigma=_@10", "--mu", "1"), "count=5,20",
     ("calibrate", "gaussian:sigma=_@20", "--mu", "1")),
]  # fmt: skip

LAST = {"sigma=1,2": 2, "count=10..1000/3log": 1000, "rho=1..2/3": 2, "sigma=1,4": 4, "0.5,1": 1,
        "count=5,20": 20}  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize(("line", "sweep", "alone"), SAME)
def test_each_value_is_a_question(
    line: tuple[str, ...], sweep: str, alone: tuple[str, ...], run: Callable[..., Outcome]
) -> None:
    """The last answer of a sweep is that of its value alone, with the value beside the query."""
    found = objects(run(*line, "--sweep", sweep, "--json"))[-1]
    [one] = objects(run(*alone, "--json"))
    (name,) = found["query"].keys() - one["query"].keys()
    assert found["query"].pop(name) == LAST[sweep]
    assert found == one


@pytest.mark.slow
def test_processes_give_the_same_bytes(run: Callable[..., Outcome]) -> None:
    """In the same order, errors too."""
    line = ("compose", SPEC, *AT, "--sweep", "q=0.1,2,0.2,0.3,7", "--json")
    alone, several = run(*line), run(*line, "--jobs", "3")
    assert alone == several
    assert alone.status == 2
    assert alone.stdout.count("\n") == 3
