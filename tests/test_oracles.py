"""The stored oracle values: well-formed, equal to closed forms, and what their script computes.

Nothing here touches the product. What the product must satisfy is tested where it is tested.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from mpmath import mp

from tests.oracles import contour, exact, laws, store, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracles.laws import Direction, Leaf, Number
    from tests.oracles.store import Row

FILES = {"dp_sgd.json": 28, "reach.json": 24, "random_specs.json": 75}
ROWS = {name: store.load(name) for name in FILES}
EVERY_ROW = [row for rows in ROWS.values() for row in rows]

# Brackets of an earlier double-precision experiment: sigma, q, count, delta, lower, upper.
KNOWN = (
    (1.0, 0.01, 1000, 1e-5, "1.828236666513", "1.828236666531"),
    (1.0, 0.01, 1000, 1e-30, "9.341895632695", "9.341895632719"),
    (0.8, 0.001, 100_000, 1e-12, "4.646625125523", "4.646625125547"),
    (1.1, 256 / 60000, 14063, 1e-5, "2.381689726140", "2.381689726157"),
    (2.0, 1e-4, 1_000_000, 1e-8, "0.255406704220", "0.255406704222"),
    (0.6, 0.02, 5000, 1e-5, "33.893363241656", "33.893363241829"),
)


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


def test_files_hold_the_queries_promised() -> None:
    """There are 60 random rows with a delta and 15 with an epsilon."""
    asked = [next(iter(row["query"])) for row in ROWS["random_specs.json"]]
    assert (asked.count("delta"), asked.count("epsilon")) == (60, 15)


@pytest.mark.parametrize("known", KNOWN)
def test_values_lie_in_earlier_brackets(
    known: tuple[float, float, int, float, str, str],
) -> None:
    """Subsampled Gaussians agree with brackets obtained in double precision elsewhere."""
    sigma, q, count, delta, low, high = known
    leaf = {"mechanism": "gaussian", "sigma": sigma, "q": q, "count": count}
    (row,) = (
        row
        for row in ROWS["dp_sgd.json"]
        if row["leaves"] == [leaf] and row["query"] == {"delta": delta}
    )
    assert mp.mpf(low) <= mp.mpf(row["maximum"]) <= mp.mpf(high)


def test_gaussian_rows_match_the_closed_form() -> None:
    """Rows of Gaussians alone solve Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu) = delta."""
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
        first = mp.erfc((e / mu - mu / 2) / mp.sqrt(2)) / 2
        second = mp.exp(e) * mp.erfc((e / mu + mu / 2) / mp.sqrt(2)) / 2
        assert _delta_of(row, first - second, mp.mpf(row["query"].get("delta", answer))), _name(row)


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


def test_contour_agrees_with_the_closed_form_of_the_gaussian() -> None:
    """The integral, forced on a Gaussian that has no need of it, gives the closed form."""
    leaves: list[Leaf] = [{"mechanism": "gaussian", "sigma": 3.0, "count": 20}]
    number, digits = contour.solve(leaves, "remove", epsilon=2.5)
    assert digits >= 30
    expected = exact.gaussian_delta(mp.mpf(20) / 9, mp.mpf(2.5))
    assert abs(number / expected - 1) < mp.mpf(10) ** -30


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


def test_atoms_beside_a_gaussian_agree_with_the_exact_mixture() -> None:
    """Randomised response and approx beside a Gaussian: a sum of Gaussian deltas over outcomes."""
    leaves: list[Leaf] = [
        {"mechanism": "gaussian", "sigma": 2.0, "count": 9},
        {"mechanism": "rr", "p": 0.6, "categories": 3, "count": 4},
        {"mechanism": "approx", "epsilon": 0.3, "delta": 1e-9, "q": 0.25, "count": 2},
    ]
    directions: tuple[Direction, ...] = ("remove", "add")
    for direction in directions:
        points, kept = [(mp.zero, mp.one)], mp.one
        for leaf in leaves[1:]:
            atoms, infinity_mass = laws.discrete_atoms(leaf, direction) or ([], 0)
            for _ in range(leaf["count"]):
                points = [(a + b, p * r) for a, p in points for b, r in atoms]
                kept *= 1 - infinity_mass
        mixture = (p * exact.gaussian_delta(mp.mpf(9) / 4, 2 - loss) for loss, p in points)
        expected = 1 - kept + mp.fsum(mixture)
        number, _ = contour.solve(leaves, direction, epsilon=2.0)
        assert abs(number / expected - 1) < mp.mpf(10) ** -30


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


def test_laplace_residues_match_the_integral() -> None:
    """250 uses at scale 1: the atoms are rare enough for the integral, which must agree."""
    leaves: list[Leaf] = [{"mechanism": "laplace", "scale": 1.0, "count": 250}]
    number, _ = contour.solve(leaves, "remove", epsilon=90.0)
    assert abs(number / exact.laplace_delta(mp.one, 250, mp.mpf(90)) - 1) < mp.mpf(10) ** -30


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
def test_longest_laplace_rows_give_their_delta_back() -> None:
    """A thousand Laplace uses: delta at the stored epsilon is the delta asked for."""
    rows = [row for row in EVERY_ROW if row["method"] == "residues"]
    row = max(rows, key=lambda row: row["leaves"][0]["count"])
    (leaf,) = row["leaves"]
    found = exact.laplace_delta(mp.mpf(leaf["scale"]), leaf["count"], mp.mpf(row["maximum"]))
    assert _delta_of(row, found, mp.mpf(row["query"]["delta"]))
