"""The published settings of private selection, each number as it was reproduced from them.

All numbers are in oracles/selection_tables.json: figures 1, 2, 3, 4, 6, 7 and 8 of Koskela,
Redberg, Wang 2024, reference cases, and bounds beyond the paper.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from privcalc.accounting.realize import default_relation, realize
from privcalc.accounting.select import Selected, select, tuning
from privcalc.commands.select import read_runs
from privcalc.selection.base import WorseBase, bases
from privcalc.selection.constants import negative_binomial_paper
from privcalc.selection.runs import NegativeBinomialRuns
from privcalc.spec.parse import parse
from privcalc.spec.tree import Leaf
from privcalc.wrappers.select import runs_of, selection

if TYPE_CHECKING:
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs

FILE = Path(__file__).parent.parent / "oracles" / "selection_tables.json"
TABLES: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

METHODS = {"paper", "tight", "rdp", "pure"}
ALL_VALUES = {
    *METHODS, "answer", "base_epsilon", "constant_paper", "constant_tight", "corollary_5_5",
    "epsilon_1", "order", "pointwise", "rdp_at_most", "tight_symmetric",
}  # fmt: skip


# Tables of Gaussian bases, and the part of the answer that an order is known to cost.
LITTLE_ROOM = {"figures 2 and 3": 0.997, "figure 4": 0.92}


def _name(row: dict[str, Any]) -> str:
    base = row.get("base", "")
    [(query, at)] = row["query"].items()
    return f"{row['table']}-{base}-{row['runs']}-{query}={at:g}"


def _rows() -> list[Any]:
    return [
        pytest.param(row, id=_name(row), marks=[pytest.mark.slow] * bool(row.get("slow")))
        for row in TABLES["rows"]
    ]


@cache
def asked(base: str, runs: str, delta: float | None, epsilon: float | None) -> Selected:
    """Return the one answer to a question of the command."""
    [answer] = select(
        parse(base).tree,
        read_runs(runs),
        deltas=[] if delta is None else [delta],
        epsilons=[] if epsilon is None else [epsilon],
    ).answers
    return answer


def answer_to(row: dict[str, Any]) -> Selected:
    """Return the answer to the question of a row."""
    query = row["query"]
    return asked(row["base"], row["runs"], query.get("delta"), query.get("epsilon"))


def number_of(text: str) -> Runs:
    """Return the number of runs that a text describes."""
    return runs_of(selection(Leaf("gdp", (("mu", 1.0),)), read_runs(text)))


@cache
def symmetric(base: str) -> Base:
    """Return the base whose profile is the larger of both orders' profiles."""
    tree = parse(base).tree
    pairs = bases(realize(tree, default_relation(tree)), 1e-7, "auto")
    return WorseBase(next(iter(pairs.values()))[0])


def symmetric_tight(base: str, runs: str, delta: float) -> float:
    """Return what the tight constant proves where both orders are not told apart."""
    number, worse = number_of(runs), symmetric(base)
    return number.tight(worse, worse) + worse.epsilon(delta / number.mean.upper)


def test_every_value_is_looked_at() -> None:
    """No column of the file is misspelt, and no row is there twice."""
    rows = TABLES["rows"]
    assert {name for row in rows for name in row["values"]} == ALL_VALUES
    assert len({_name(row) for row in rows}) == len(rows) > 100
    for table in LITTLE_ROOM:
        assert sum(row["table"] == table and not row.get("slow") for row in rows) > 8


@pytest.mark.few(3)
@pytest.mark.parametrize("row", _rows())
def test_row(row: dict[str, Any]) -> None:
    """Each method gives what is known of it, and the methods are in order."""
    found, values = answer_to(row), row["values"]
    exact = {name: value for name, value in found.methods.items() if name in METHODS}
    exact |= {f"constant_{name}": value for name, value in found.constants.items()}
    exact |= {"answer": found.bound.upper, "base_epsilon": found.base.upper}
    number = number_of(row["runs"])
    if "epsilon_1" in values and isinstance(number, NegativeBinomialRuns):
        base = symmetric(row["base"])
        exact["epsilon_1"] = negative_binomial_paper(number.shape, number.odds[1], base)[1]
    if "tight_symmetric" in values:
        delta = row["query"]["delta"]
        exact["tight_symmetric"] = symmetric_tight(row["base"], row["runs"], delta)
        # The command knows which order is which.
        assert found.methods["tight"] <= exact["tight_symmetric"] + 1e-6
    for name in exact.keys() & values.keys():
        value, tolerance = values[name]
        if name == "rdp":
            # Ours counts what is left over where there was no run, and converts better.
            assert value * (1.0 - 2e-3) - tolerance <= exact[name] <= value + tolerance
            continue
        assert exact[name] == pytest.approx(value, abs=tolerance, rel=0), name
    # Theirs approaches the bound from below; ours is one, and may be another where runs are many.
    at_most = {"pointwise": "pointwise", "rdp": "rdp_at_most", "paper": "corollary_5_5"}
    for name, theirs in at_most.items():
        if theirs in values:
            value, tolerance = values[theirs]
            assert found.methods[name] <= value + tolerance, name
    if "order" in values:
        value, tolerance = values["order"]
        assert found.bound.upper >= value - tolerance
        assert all(proved >= value - tolerance for proved in found.methods.values())
    in_order(found)
    if row["table"] in LITTLE_ROOM and not row.get("slow"):
        # An explicit order costs nearly what the pointwise bound proves, which is the answer.
        assert found.bound.lower is not None
        assert found.bound.upper == found.methods["pointwise"]
        assert found.bound.lower > LITTLE_ROOM[row["table"]] * found.bound.upper


def in_order(found: Selected) -> None:
    """Check that no order of the results costs more than the answer, and which bound is better."""
    answer, methods = found.bound.upper, found.methods
    assert answer <= min(methods.values())
    assert answer <= methods["tight"] <= methods["paper"]
    if found.bound.lower is not None:
        assert found.bound.lower <= answer


@pytest.mark.slow
def test_the_difference_in_candidates() -> None:
    """At what the paper charges for 30 runs, six times as many are proved to cost no more."""
    tree, runs = parse("gaussian:sigma=4").tree, read_runs("geometric:mean=30")
    [found] = select(tree, runs, deltas=[1e-6], compared=True).answers
    assert found.candidates["paper"] == 30
    more = found.candidates["tight"]
    assert more > 180
    price = found.methods["paper"]
    assert asked("gaussian:sigma=4", f"geometric:mean={more}", 1e-6, None).methods["tight"] <= price
    past = asked("gaussian:sigma=4", f"geometric:mean={1.01 * more}", 1e-6, None)
    assert past.methods["tight"] > price


@pytest.mark.parametrize("row", TABLES["thresholds"], ids=lambda row: str(row["runs"]))
def test_thresholds(row: dict[str, Any]) -> None:
    """The published choice to the digits given, and a better one."""
    query, values = row["query"], row["values"]
    found = tuning([], read_runs(row["runs"]), query["epsilon_q"], query["delta"])
    thresholds, published = found.thresholds, found.thresholds.published
    exact = {
        "mu": thresholds.mu,
        "epsilon_1": published.epsilon_1,
        "delta_1": published.delta_1,
        "epsilon_hat": published.epsilon_hat,
        "published": published.total,
        "tight": thresholds.tight.total,
    }
    for name, (value, tolerance) in values.items():
        assert exact[name] == pytest.approx(value, abs=tolerance, rel=0), name
    assert found.total.upper == thresholds.tight.total <= published.total
