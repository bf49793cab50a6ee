"""The command `subsample`: what `compose` answers, and what is below every double."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.test_cli_schema import objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

GAUSSIAN = "gaussian:sigma=5"
ORDERS = "2,8,32,128,512"

Run = "Callable[..., Outcome]"


@pytest.mark.slow
def test_the_exact_epsilon_is_that_of_compose(run: Callable[..., Outcome]) -> None:
    """One question in two commands has one answer."""
    found = objects(run("subsample", GAUSSIAN, "--q", "0.001", "--delta", "1e-6", "--count",
                        "5000", "--json"))[1]  # fmt: skip
    [same] = objects(
        run("compose", f"{GAUSSIAN}@poisson:q=0.001@5000", "--delta", "1e-6", "--json")
    )
    assert found["result"]["epsilon"] == same["result"]["epsilon"]
    terse = run("subsample", GAUSSIAN, "--q", "0.001", "--delta", "1e-6", "--count", "5000", "-t")
    upper = same["result"]["epsilon"]["upper"]
    assert upper <= float(terse.stdout) <= upper * (1.0 + 1e-9)


def test_underflow_is_no_zero(run: Callable[..., Outcome]) -> None:
    """A divergence below the smallest double is at most that, and not at most 0."""
    [found] = objects(
        run("subsample", "rr:epsilon=1", "--q", "1e-170", "--orders", "2,1000", "--json")
    )
    assert all(bound["lower"] == 0.0 < bound["upper"] for bound in found["result"]["exact"])
    [none] = objects(run("subsample", "pure:epsilon=0", "--q", "0.1", "--orders", "2", "--json"))
    assert none["result"]["exact"] == [{"lower": 0.0, "upper": 0.0}]
    assert none["result"]["base"] == [0.0]
