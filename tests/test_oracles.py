"""The stored oracle values: well-formed, equal to closed forms, and worked out again.

Nothing here touches the product. What the product must satisfy is tested where it is tested.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from mpmath import mp

from tests.oracles import contour, exact, groups, laws, rare_sampling, store, values
from tests.truths import normal_delta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracles.laws import Direction, Leaf, Number
    from tests.oracles.store import Row

FILES = {"dp_sgd.json": 28, "reach.json": 24, "random_specs.json": 75}
ROWS = {name: store.load(name) for name in FILES}
EVERY_ROW = [row for rows in ROWS.values() for row in rows]


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    """Give every test 50 digits."""
    with mp.workdps(50):
        yield


def _name(row: Row) -> str:
    return f"{row['text']} {row['query']}"


def _number(written: str) -> Number:
    return mp.inf if written == "Infinity" else mp.mpf(written)


def _delta_of(row: Row, delta_at: Number, wanted: Number) -> bool:
    """Compare deltas; a unit in the last digit of epsilon may be a thousand in that of delta."""
    return bool(abs(delta_at / wanted - 1) < mp.mpf(10) ** (5 - row["digits"]))


@pytest.mark.parametrize("name", FILES)
def test_files_are_well_formed(name: str) -> None:
    """Each row has one query, the text of its leaves, and the maximum of its two directions."""
    rows = ROWS[name]
    assert len(rows) == FILES[name]
    assert len({_name(row) for row in rows}) == len(rows)
    for row in rows:
        assert set(row) == set(store.Row.__annotations__)
        assert row["text"] == laws.text(row["leaves"])
        assert len(row["query"]) == 1
        assert set(row["query"]) <= {"delta", "epsilon"}
        assert row["maximum"] in {row["remove"], row["add"]}
        assert _number(row["maximum"]) == max(_number(row["remove"]), _number(row["add"]))
        assert row["digits"] >= 16
        if values.is_symmetric(row["leaves"]):
            assert row["remove"] == row["add"]


def test_gaussian_rows_match_the_closed_form() -> None:
    """Rows of Gaussians alone are those of one, mu^2 being the sum."""
    rows = [
        row
        for row in EVERY_ROW
        if all(one["mechanism"] == "gaussian" for one in row["leaves"])
        and values.is_symmetric(row["leaves"])
    ]
    assert len(rows) >= 7
    for row in rows:
        mu = mp.sqrt(sum(one["count"] / mp.mpf(one["sigma"]) ** 2 for one in row["leaves"]))
        answer = mp.mpf(row["maximum"])
        e = mp.mpf(row["query"].get("epsilon", answer))
        delta = mp.mpf(row["query"].get("delta", answer))
        assert _delta_of(row, normal_delta(mu, e), delta), _name(row)


def test_pure_rows_match_the_binomial_sum() -> None:
    """`pure` alone is sum_j Bin(j) (1 - exp(epsilon - (2j-T) e0)) over losses above epsilon."""
    rows = [row for row in EVERY_ROW if row["text"].startswith("pure:")]
    rows = [row for row in rows if len(row["leaves"]) == 1 and values.is_symmetric(row["leaves"])]
    assert len(rows) >= 3
    for row in rows:
        e0, count = mp.mpf(row["leaves"][0]["epsilon"]), row["leaves"][0]["count"]
        p = 1 / (1 + mp.exp(-e0))
        e = mp.mpf(row["query"].get("epsilon", row["maximum"]))
        total = mp.fsum(
            mp.binomial(count, j)
            * (p**j * (1 - p) ** (count - j) - mp.exp(e) * p ** (count - j) * (1 - p) ** j)
            for j in range(count + 1)
            if (2 * j - count) * e0 > e
        )
        wanted = mp.mpf(row["query"].get("delta", row["maximum"]))
        assert _delta_of(row, total, wanted), _name(row)


def test_approx_rows_match_the_sum_of_kairouz_oh_viswanath() -> None:
    """approx(0.5, 1e-8) 100 times: their closed sum, and Infinity below the mass at infinity."""
    finite, infinite = (row for row in ROWS["reach.json"] if row["text"].startswith("approx:"))
    assert infinite["maximum"] == "Infinity"
    e0, count = mp.mpf(0.5), 100
    kept = (1 - mp.mpf(1e-8)) ** count
    e = mp.mpf(finite["maximum"])
    weights = (
        mp.binomial(count, j) * (mp.exp((count - j) * e0) - mp.exp(e + j * e0))
        for j in range(count + 1)
        if (count - 2 * j) * e0 > e
    )
    total = 1 - kept + kept * mp.fsum(weights) / (1 + mp.exp(e0)) ** count
    assert _delta_of(finite, total, mp.mpf(1e-5))
    assert abs(e - mp.mpf("31.3584746751281")) < 1e-13


@pytest.mark.slow
def test_one_sampled_use_matches_a_direct_integral() -> None:
    """(1, 0.5, 1): delta is the integral of the positive part of dP - e^epsilon dQ."""
    (row,) = (row for row in ROWS["reach.json"] if row["text"].endswith("@poisson:q=0.5"))
    directions: tuple[tuple[Direction, str], ...] = (("remove", row["remove"]), ("add", row["add"]))
    for direction, written in directions:
        a = mp.exp(mp.mpf(written))

        def gap(x: Number, direction: Direction = direction, a: Number = a) -> Number:
            without = mp.npdf(x)
            mixed = (without + mp.npdf(x - 1)) / 2
            upper, lower = (mixed, without) if direction == "remove" else (without, mixed)
            return upper - a * lower

        with mp.workdps(30):
            if direction == "remove":
                edge = mp.findroot(lambda x: gap(x) / mp.npdf(x), 4)
                total = mp.quad(gap, [edge, edge + 2, edge + 5, 20])
            else:
                edge = mp.findroot(lambda x: gap(x) / mp.npdf(x), -4)
                total = mp.quad(gap, [-20, edge - 5, edge - 2, edge])
        assert abs(total / mp.mpf(1e-6) - 1) < mp.mpf(10) ** -20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "direction"),
    [
        ("gaussian", "remove"),
        pytest.param("laplace", "add", marks=pytest.mark.slow),
        pytest.param("gaussian", "add", marks=pytest.mark.slow),
        pytest.param("laplace", "remove", marks=pytest.mark.slow),
    ],
)
def test_sampled_laws_agree_with_an_integral_over_the_output(
    direction: Direction, mechanism: str
) -> None:
    """One sampled use and a Gaussian: E_P[delta_Gaussian(epsilon - L(x))], from the densities."""
    q, noise, epsilon = mp.mpf(0.2), mp.mpf(0.75), mp.mpf(1.5)
    leaf: Leaf = {"mechanism": mechanism, "q": 0.2, "count": 1}
    if mechanism == "gaussian":
        leaf["sigma"] = 0.75
    else:
        leaf["scale"] = 0.75

    def density(x: Number) -> Number:
        if mechanism == "gaussian":
            return mp.npdf(x, 0, noise)
        return mp.exp(-abs(x) / noise) / (2 * noise)

    def integrand(x: Number) -> Number:
        without = density(x)
        mixed = (1 - q) * without + q * density(x - 1)
        upper, lower = (mixed, without) if direction == "remove" else (without, mixed)
        return upper * exact.gaussian_delta(mp.one, epsilon - mp.log(upper / lower))

    with mp.workdps(20):
        ends = 9 if mechanism == "gaussian" else 36
        expected = mp.quad(integrand, [-ends, -2, 0, 1, 3, ends])
    beside: Leaf = {"mechanism": "gaussian", "sigma": 1.0, "count": 1}
    number, digits = contour.solve([leaf, beside], direction, epsilon=epsilon)
    assert digits >= 30
    assert abs(number / expected - 1) < mp.mpf(10) ** -15


@pytest.mark.parametrize("epsilon", [0.1, 0.4])
def test_laplace_residues_match_one_use(epsilon: float) -> None:
    """One Laplace use costs delta = 1 - exp((epsilon - 1/scale)/2)."""
    expected = 1 - mp.exp((mp.mpf(epsilon) - 1 / mp.mpf(2)) / 2)
    assert abs(exact.laplace_delta(mp.mpf(2), 1, mp.mpf(epsilon)) - expected) < mp.mpf(10) ** -45


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 1.6])
def test_laplace_residues_match_two_uses(epsilon: float) -> None:
    """Two uses: the expectation, over the loss of the first, of the delta of the second."""

    def once(e: Number) -> Number:
        return -mp.expm1(e) if e <= -1 else max(mp.zero, -mp.expm1((e - 1) / 2))

    e = mp.mpf(epsilon)
    edges = sorted({mp.zero, mp.one, 1 - e / 2 if e < 2 else mp.one})
    between = mp.quad(lambda x: mp.exp(-x) / 2 * once(e - 1 + 2 * x), edges)
    expected = once(e - 1) / 2 + mp.exp(-1) / 2 * once(e + 1) + between
    assert abs(exact.laplace_delta(mp.one, 2, e) - expected) < mp.mpf(10) ** -40


@pytest.mark.slow
def test_a_sample_of_the_stored_values_is_computed_again() -> None:
    """Eight rows, drawn among those that take seconds, come out as they are stored."""
    quick = [
        row
        for row in EVERY_ROW
        if row["digits"] >= 25
        and not (row["method"] == "residues" and row["leaves"][0]["count"] > 300)
        and not (len(row["leaves"]) == 1 and row["leaves"][0].get("q") in {1e-3, 1e-9})
    ]
    for row in random.Random(7).sample(quick, 8):
        asked = store.Question(leaves=row["leaves"], query=row["query"], digits=contour.DIGITS)
        assert store.work_out(asked) == row, _name(row)


@pytest.mark.slow
def test_truths_of_samples_are_computed_again() -> None:
    """Two uses by one integral, and groups of records by one contour in 80-bit numbers."""
    stored = json.loads((store.folder / "rare_sampling.json").read_text())["pairs"]
    for row in stored[::3]:
        found = rare_sampling.pair(row["first"], row["second"], mp.mpf(row["epsilon"]))
        assert abs(found / mp.mpf(row["delta"]) - 1) < 1e-15
    for row in json.loads((store.folder / "groups.json").read_text())["cells"][::4]:
        number, _ = groups.delta((*row["law"], row["epsilon"]), 3.0, 60.0)
        assert float(number) == pytest.approx(float(row["delta"]), rel=1e-9)


@pytest.mark.slow
def test_longest_laplace_rows_give_their_delta_back() -> None:
    """A thousand Laplace uses: delta at the stored epsilon is the delta asked for."""
    rows = [row for row in EVERY_ROW if row["method"] == "residues"]
    row = max(rows, key=lambda row: row["leaves"][0]["count"])
    (leaf,) = row["leaves"]
    found = exact.laplace_delta(mp.mpf(leaf["scale"]), leaf["count"], mp.mpf(row["maximum"]))
    assert _delta_of(row, found, mp.mpf(row["query"]["delta"]))
