"""Privacy filters: exact sums in three forms, what is admitted, and the price of adaptivity."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.accounting.convert import ConversionQuery
from privcalc.accounting.filters import filtered
from privcalc.bounds import Bound
from privcalc.errors import NotCertifiedError, UsageError
from privcalc.spec.parse import parse
from tests.cli.test_cli_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.accounting.convert import ConvertedAnswer
    from tests.conftest import Outcome


def answer(text: str, budget: str, delta: float = 1e-5) -> ConvertedAnswer:
    """Return what a filter says."""
    tree, limit = parse(text).tree, parse(budget).tree
    (found,) = filtered(tree, limit, ConversionQuery(deltas=(delta,))).answers
    return found


def facts(text: str, budget: str) -> tuple[object, object, object]:
    """Return what was spent, what is left, and how many steps were admitted."""
    result = answer(text, budget).result
    return result["spent"], result["left"], result["admitted"]


@pytest.mark.parametrize(
    ("text", "budget", "expected"),
    [
        # rho = 1/8, mu^2 = 1/4, and 8/8 at order 8.
        ("gaussian:sigma=2@5", "zcdp:rho=1", (0.625, 0.375, 5)),
        ("gaussian:sigma=2@9", "zcdp:rho=1", (1.0, 0.0, 8)),
        ("gaussian:sigma=2@3+gaussian:sigma=1@9", "gdp:mu=2", (3.75, 0.25, 6)),
        ("gaussian:sigma=2@12", "rdp:order=8,epsilon=4", (4.0, 0.0, 4)),
        ("zcdp:rho=0.25@2+gdp:mu=1", "zcdp:rho=1.5", (1.0, 0.5, 3)),
        ("gaussian:sigma=1+gaussian:sigma=9@5", "zcdp:rho=0.25", (0.0, 0.25, 0)),
        ("(gaussian:sigma=2@2+gaussian:sigma=1)@2", "zcdp:rho=2", (1.5, 0.5, 2)),
    ],
)
def test_costs_add_up_exactly(text: str, budget: str, expected: tuple[float, float, int]) -> None:
    """Gaussian noise and zcdp lose no digit, and a step is refused as a whole."""
    assert facts(text, budget) == expected


def test_other_mechanisms_are_rounded_up() -> None:
    """Randomised response at order 3, and the Laplace mechanism in all forms."""
    with mp.workdps(30):
        p = mpf(3) / 4
        true = 2 * mp.log(p**3 * (1 - p) ** -2 + (1 - p) ** 3 * p**-2) / 2
    spent, left, admitted = facts("rr:p=0.75@2", "rdp:order=3,epsilon=2")
    assert isinstance(spent, float)
    assert isinstance(left, float)
    assert admitted == 2
    assert float(true) <= spent <= float(true) * (1 + 1e-9)
    assert 2 - spent * (1 + 1e-12) <= left <= 2 - float(true)
    for budget in ("zcdp:rho=9", "gdp:mu=9"):
        assert facts("laplace:scale=2@3", budget)[2] == 3


def test_squares_of_mu_add_up() -> None:
    """The smallest mu of randomised response is twice the normal quantile of its truth."""
    spent, _, admitted = facts("rr:p=0.75@2", "gdp:mu=9")
    with mp.workdps(30):
        true = 2 * (2 * mp.sqrt(2) * mp.erfinv(mpf(1) / 2)) ** 2
    assert admitted == 2
    assert isinstance(spent, float)
    assert true <= spent <= true * (1 + mpf(10) ** -5)


@pytest.mark.parametrize("order", ["2.1", "7/3", "8.3"])
def test_a_cost_is_that_of_no_smaller_order(monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    """Divergences grow with the order, and few that are written are doubles."""
    asked: list[float] = []

    class Fake:
        """What is asked of directions."""

        def __init__(self, *_: object) -> None:
            """Take anything."""

        def renyi(self, orders: list[float]) -> list[Bound]:
            """Say what a divergence of this order is at most."""
            asked.extend(orders)
            return [Bound(0.25)]

    monkeypatch.setattr("privcalc.accounting.filters.Directions", Fake)
    assert facts("rr:p=0.75@2", f"rdp:order={order},epsilon=2")[0] == 0.5
    assert asked
    assert all(Fraction(each) >= Fraction(order) for each in asked)


@pytest.mark.slow
def test_adaptivity_never_costs_less() -> None:
    """Random lists: the answer is that of the budget, and the list fixed in advance is below it."""
    rng = random.Random(4)
    for _ in range(12):
        steps = [f"gaussian:sigma={rng.uniform(1, 9):.3g}@{rng.randint(1, 9)}" for _ in range(2)]
        steps.append(f"laplace:scale={rng.uniform(2, 9):.3g}")
        budget = rng.choice(("zcdp:rho=0.7", "gdp:mu=1.1", "rdp:order=9,epsilon=5"))
        found = answer("+".join(steps), budget).result
        (alone,) = compose(parse(budget).tree, deltas=[1e-5]).answers
        (fixed,) = compose(parse("+".join(steps)).tree, deltas=[1e-5]).answers
        adaptive, listed = found["epsilon"], found["fixed_epsilon"]
        assert isinstance(adaptive, Bound)
        assert isinstance(listed, Bound)
        assert alone.bound is not None
        assert fixed.bound is not None
        assert adaptive.upper == alone.bound.upper
        assert adaptive.lower is None
        assert listed.upper <= adaptive.upper
        total = sum(1 if "@" not in step else int(step.rpartition("@")[2]) for step in steps)
        if found["admitted"] == total:
            assert listed.upper == fixed.bound.upper


def test_what_is_spent_is_what_the_budget_would_have_been() -> None:
    """A GDP budget that is spent to the last is the composition itself."""
    found = answer("gaussian:sigma=2@4", "gdp:mu=1").result
    adaptive, listed = found["epsilon"], found["fixed_epsilon"]
    assert isinstance(adaptive, Bound)
    assert isinstance(listed, Bound)
    assert math.isclose(adaptive.upper, listed.upper, rel_tol=1e-9)


def test_refusals() -> None:
    """Budgets of another form, steps without a cost in it, and other questions."""
    for budget in ("laplace:scale=1", "zcdp:rho=1,xi=0.1", "zcdp:rho=1@2"):
        with pytest.raises(UsageError, match="a budget is zcdp"):
            answer("gaussian:sigma=1", budget)
    with pytest.raises(NotCertifiedError, match="no finite cost of approx"):
        answer("approx:epsilon=1,delta=1e-6", "zcdp:rho=1")
    with pytest.raises(NotCertifiedError, match="no finite"):
        answer("zcdp:rho=0.1", "gdp:mu=1")
    with pytest.raises(UsageError, match="--filter goes with"):
        filtered(
            parse("gaussian:sigma=1").tree, parse("gdp:mu=1").tree, ConversionQuery(epsilons=(1.0,))
        )


def test_the_command_prints_both(run: Callable[..., Outcome]) -> None:
    """JSON fits the schema, -t prints the guarantee, and no command takes it for the list."""
    asked = ("convert", "gaussian:sigma=2@5", "--filter", "zcdp:rho=1", "--delta", "1e-5")
    data = json.loads(run(*asked, "--json").stdout)
    validator("result").validate(data)
    result = data["result"]
    assert result["epsilon"]["upper"] > result["fixed_epsilon"]["upper"]
    assert (result["spent"], result["left"], result["admitted"]) == (0.625, 0.375, 5)
    upper = result["epsilon"]["upper"]
    assert upper <= float(run(*asked, "-t").stdout) <= upper * (1.0 + 1e-9)
    table = run(*asked).stdout
    assert "fixed_epsilon upper bound" in table
    assert "however steps are chosen" in table
    assert "warning: epsilon at delta 1e-5 is proved from above" in run(*asked).stderr
    assert "left are rho" in " ".join(table.split())
    refused = run("compose", "-", "--delta", "1e-5", stdin=run(*asked, "--json").stdout)
    assert refused.status == 2
    assert "a filter guarantees its budget" in refused.stderr
    both = run(*asked, "--data-dependent", "votes.txt")
    assert both.status == 2
