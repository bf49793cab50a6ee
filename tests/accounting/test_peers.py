"""dp-accounting and prv-accountant as second opinions on 50 compositions at several deltas.

Theirs must lie within the error they state around our certified bracket. In the rows listed below
they do not, all for one cause: both compose by a Fourier transform in double precision, whose
rounding leaves errors of 1e-16 to 1e-11 in each probability, and delta is a sum over the far tail.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.compose import compose
from privcalc.spec.parse import parse
from tests.oracles.peers import (
    INTERVAL,
    SPECS,
    Row,
    Spec,
    ask_dp_accounting,
    ask_prv,
    cut,
    load,
)

if TYPE_CHECKING:
    from privcalc.bounds import Bound

GAUSSIAN_LAPLACE_SAMPLED, THREE_GAUSSIANS = SPECS[42].text, SPECS[48].text
# dp-accounting's "pessimistic" epsilon is below the certified lower end; by how much.
TOO_LOW = {
    ("gaussian:sigma=50.0@2500", 1e-12): 3.3e-3,
    ("gaussian:sigma=20.0@4000", 1e-12): 2.7e-2,
    ("gaussian:sigma=0.6@poisson:q=0.02@5000", 1e-8): 2.2e-5,
    ("gaussian:sigma=0.6@poisson:q=0.02@5000", 1e-12): 1.2e-1,
    ("gaussian:sigma=1.5@poisson:q=0.1@300", 1e-12): 1.6e-4,
    ("gaussian:sigma=2.5@poisson:q=0.25@500", 1e-12): 2.1e-3,
    ("laplace:scale=100.0@5000", 1e-8): 8.8e-7,
    ("laplace:scale=100.0@5000", 1e-12): 1.0e-3,
    ("laplace:scale=2.0@poisson:q=0.01@1000", 1e-12): 2.0e-5,
    ("laplace:scale=10.0@poisson:q=0.02@10000", 1e-12): 2.0e-3,
    ("discrete-laplace:epsilon=0.1@300", 1e-5): 3.1e-10,
    ("discrete-laplace:epsilon=0.1@300", 1e-8): 2.9e-7,
    ("discrete-laplace:epsilon=0.1@300", 1e-12): 1.1e-3,
    ("pure:epsilon=0.1@500", 1e-5): 2.5e-10,
    ("pure:epsilon=0.01@5000", 1e-5): 1.1e-9,
    ("pure:epsilon=0.01@5000", 1e-8): 5.7e-7,
    ("pure:epsilon=0.01@5000", 1e-12): 3.0e-3,
    (GAUSSIAN_LAPLACE_SAMPLED, 1e-12): 2.9e-3,
    (THREE_GAUSSIANS, 1e-12): 2.5e-3,
}
# prv-accountant's interval misses the certified bracket; by how much it is above it.
MISSED = {
    ("gaussian:sigma=20.0@4000", 1e-12): 3.3e-2,
    ("pure:epsilon=0.1@500", 1e-12): -3.2e-3,
    ("pure:epsilon=0.01@5000", 1e-12): -1.1e-2,
}
# A few uses of a skewed law, or atoms of two kinds: seconds to 1e-9, and this is enough here.
LOOSER = {
    "discrete-gaussian:sigma=2.0@poisson:q=0.02@200": 1e-5,
    "gaussian:sigma=2.0@poisson:q=0.05@group:k=2@200": 1e-5,
    "gaussian:sigma=0.7@poisson:q=0.001@50": 1e-5,
    "gaussian:sigma=1.0@poisson:q=0.0001@10000": 1e-4,
    "laplace:scale=20.0@100+rr:p=0.53125,categories=2@50": 1e-6,
}
ROWS = {(row["text"], row["delta"]): row for row in load()}


@cache
def bracket(text: str, delta: float) -> tuple[Bound, Bound]:
    """Return our bracket of epsilon, and that of the direction in which the record is removed."""
    (answer,) = compose(parse(text).tree, deltas=[delta], tolerance=LOOSER.get(text, 1e-9)).answers
    removal = next(one for one in answer.directions if one.adjacency in ("remove", "both"))
    assert answer.bound is not None
    assert removal.bound is not None
    return answer.bound, removal.bound


def gap(low: float, high: float, bound: Bound) -> float:
    """Return how far [low, high] is from a bracket: 0 if they meet, negative if it is below."""
    if bound.lower is not None and high < bound.lower:
        return high - bound.lower
    return max(0.0, low - bound.upper)


def gaps(spec: Spec, row: Row) -> tuple[float, float]:
    """Return how far the two libraries' answers are from our brackets, errors allowed for."""
    whole, removal = bracket(spec.text, row["delta"])
    theirs = row["dp_accounting"]
    below = min(0.0, gap(theirs, theirs, whole))
    least, above = theirs - spec.count * INTERVAL, 0.0
    if least > whole.upper:
        with_cut, _ = bracket(spec.text, row["delta"] - cut(spec))
        above = max(0.0, least - with_cut.upper)
    interval = row.get("prv")
    return below + above, gap(interval[0], interval[-1], removal) if interval else 0.0


def test_fifty_specifications_are_stored() -> None:
    """Every specification has a row at each of its deltas, and every listed exception is one."""
    assert len({spec.text for spec in SPECS}) == 50
    assert set(ROWS) == {(spec.text, delta) for spec in SPECS for delta in spec.deltas}
    assert TOO_LOW.keys() | MISSED.keys() <= ROWS.keys()
    assert sum("prv" in row for row in ROWS.values()) > 80


@pytest.mark.few(3)
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.text)
def test_stored_answers_lie_within_their_stated_error(spec: Spec) -> None:
    """Outside the listed exceptions they do; the exceptions are off by what the lists say."""
    for delta in spec.deltas:
        here = spec.text, delta
        whole, _ = bracket(*here)
        for found, listed in zip(
            gaps(spec, ROWS[here]), (-TOO_LOW.get(here, 0.0), MISSED.get(here, 0.0)), strict=True
        ):
            width = 2.0 * whole.width if listed else 0.0
            assert found == pytest.approx(listed, rel=0.1, abs=width), here


def needs_peers() -> None:
    """Skip the test if the libraries of the `dev` extra are not installed."""
    for module in ("dp_accounting", "prv_accountant"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed; it belongs to the extra `dev`")


def answers(spec: Spec) -> list[Row]:
    """Ask both libraries again."""
    theirs, intervals = ask_dp_accounting(spec), ask_prv(spec)
    rows = []
    for delta in spec.deltas:
        row = Row(text=spec.text, delta=delta, dp_accounting=theirs[delta])
        if delta in intervals:
            row["prv"] = intervals[delta]
        rows.append(row)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.text)
def test_fresh_answers_lie_within_their_stated_error(spec: Spec) -> None:
    """Asked again they do as well; rounding, and so a listed miss, may differ by the machine."""
    needs_peers()
    for row in answers(spec):
        here = spec.text, row["delta"]
        theirs, interval = gaps(spec, row)
        assert theirs == 0.0 or here in TOO_LOW, here
        assert interval == 0.0 or here in MISSED, here
        if row["delta"] == 1e-5:
            assert row["dp_accounting"] == pytest.approx(ROWS[here]["dp_accounting"], rel=1e-6)
