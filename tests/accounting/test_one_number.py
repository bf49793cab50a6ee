"""mu and rho that are large: what is said beside them, and where nothing is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

RUN = "gaussian:sigma=1.1@poisson:q=256/60000@14063"


@pytest.mark.parametrize(("to", "where"), [("gdp", "at every delta"), ("zcdp", "at every Renyi")])
def test_a_training_run(to: str, where: str, run: Callable[..., Outcome]) -> None:
    """The number is that of a run without sampling, and what to ask instead is said."""
    (words,) = [x for x in run("convert", RUN, "--to", to).stdout.split("\n") if "why large" in x]
    assert where in words
    truth = math.sqrt(14063) / 1.1
    found = float(run("convert", RUN, "--to", to, "-t").stdout)
    assert found == pytest.approx(truth if to == "gdp" else truth**2 / 2)


@pytest.mark.parametrize(
    "line",
    [
        # Small; not sampled; at a delta; infinite; not one number.
        "gaussian:sigma=1.1@poisson:q=0.1 --to gdp",
        "gaussian:sigma=0.1 --to zcdp",
        f"{RUN} --to gdp --delta 1e-5 -t",
        "approx:epsilon=1,delta=1e-6 --to gdp",
        "gaussian:sigma=1.1@poisson:q=0.1@10 --to tradeoff --fpr 0.1",
    ],
)
def test_nothing_is_said_elsewhere(line: str, run: Callable[..., Outcome]) -> None:
    """A number that is large because the cost is large needs no words."""
    done = run("convert", *line.split())
    assert (done.status, "why large" in done.stdout) == (0, False)
