"""A budget file is checked for all of its parts together, under the relation that is in force."""

from __future__ import annotations

import math

import pytest

from privcalc.bounds import Bound, Verdict
from privcalc.commands.check import checked
from privcalc.commands.command import Asking
from privcalc.relation import Relation
from tests.truths import epsilon_of, normal_delta

BUDGET = "[budget]\nepsilon = {}\ndelta = 1e-5\n"


def content(budget: str, *specs: str) -> str:
    """Return a budget file."""
    parts = (f'\n[[mechanism]]\nname = "part {k}"\nspec = "{s}"\n' for k, s in enumerate(specs))
    return BUDGET.format(budget) + "".join(parts)


def epsilon(square: float, delta: float) -> float:
    """Solve the closed form of Gaussian noise, given mu^2."""
    return epsilon_of(lambda x: normal_delta(math.sqrt(square), x), delta)


def ask(relation: Relation | None = None) -> Asking:
    """Return what asks."""
    return Asking("compose", {"relation": relation, "tolerance": 1e-9})


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_every_part_counts(parts: int) -> None:
    """The total is that of the sum of all, to nine digits, and decides."""
    specs = [f"gaussian:sigma={2 + k}@{k + 1}" for k in range(parts)]
    truth = epsilon(sum((k + 1) / (2 + k) ** 2 for k in range(parts)), 1e-5)
    for budget, verdict in ((truth * (1 + 1e-6), "within"), (truth * (1 - 1e-6), "exceeded")):
        report = checked("privacy.toml", ask(), content(repr(budget), *specs))
        total = report.result["epsilon"]
        assert isinstance(total, Bound)
        assert total.upper == pytest.approx(truth, rel=1e-8)
        assert report.check is not None
        assert report.check.verdict is Verdict(verdict)
        rows = report.result["mechanisms"]
        assert isinstance(rows, list)
        assert len(rows) == parts
        for k, row in enumerate(rows):
            assert isinstance(row, dict)
            cost = row["epsilon"]
            assert isinstance(cost, Bound)
            assert cost.upper == pytest.approx(epsilon((k + 1) / (2 + k) ** 2, 1e-5), rel=1e-8)


@pytest.mark.parametrize("relation", Relation)
def test_relation(relation: Relation) -> None:
    """That of the file is in force, or that of the command line: a replaced record counts twice."""
    written = f'delta = 1e-5\nrelation = "{relation.text}"\n'
    text = content("9", "pure:epsilon=0.5@3", "gdp:mu=0.5@poisson:q=1")
    mu = 1.0 if relation is Relation.REPLACE_ONE else 0.5
    for asked, inside in ((None, text.replace("delta = 1e-5\n", written)), (relation, text)):
        report = checked("privacy.toml", ask(asked), inside)
        assert report.relation is relation
        rows = report.result["mechanisms"]
        assert isinstance(rows, list)
        costs = [row["epsilon"] for row in rows if isinstance(row, dict)]
        bounds = [cost for cost in costs if isinstance(cost, Bound)]
        assert bounds[0].upper <= 1.5
        assert bounds[1].upper == pytest.approx(epsilon(mu**2, 1e-5), rel=1e-8)
