"""Skellam and binomial noise, sums of discrete Gaussians, truncated discrete Laplace noise.

`tests/losses/contract` holds their laws; here are values, whole questions, and what is refused.
"""

from __future__ import annotations

import random

import pytest
from mpmath import mp, mpf

import privcalc
from privcalc.accounting.compose import compose
from privcalc.errors import PrivcalcError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.pairs import bracket, built
from tests.truths.brute import BruteForce

# Epsilons at a delta, by convolutions of Poisson masses, exact rationals, and sums in 30 digits.
EPSILONS = {
    ("skellam:variance=100", 1e-5): 0.3360744278,
    ("skellam:sigma=2", 1e-6): 1.641961809,
    ("skellam:variance=100,sensitivity=10", 1e-5): 4.269592672,
    ("skellam:variance=1", 1e-5): 2.406677266,
    ("skellam:variance=2500,sensitivity=50", 1e-6): 4.880260518,
    ("binomial:n=2000,sensitivity=8", 1e-6): 1.567601535,
    ("binomial:n=500", 1e-6): 0.3551395108,
    ("binomial:n=60", 1e-9): 1.712369795,
    ("binomial:n=300,p=0.2", 1e-6): 0.6926860986,
    ("discrete-gaussian:variance=0.5,clients=10", 1e-5): 1.757618621,
    ("discrete-gaussian:variance=0.25,clients=10", 1e-5): 2.456211876,
    ("discrete-gaussian:variance=0.25,clients=4", 1e-5): 4.699363915,
    ("discrete-gaussian:variance=1,clients=16,sensitivity=2", 1e-5): 1.988946838,
}
DELTAS = {
    ("discrete-laplace:scale=4,bound=40", 0.26): 5.645841993e-6,
    ("discrete-laplace:scale=4,bound=40,sensitivity=2", 0.51): 1.289524661e-5,
    ("discrete-laplace:scale=4,bound=40,sensitivity=2", 0.3): 0.1019163168,
    ("discrete-laplace:scale=10,bound=200,sensitivity=5", 0.51): 6.35157073e-10,
}
RENYI = {
    ("skellam:variance=100", 8): 0.0399456838,
    ("skellam:variance=100,sensitivity=10", 8): 3.614700171,
    ("skellam:variance=4", 2): 0.2457213156,
    ("skellam:variance=1", 3): 1.070733128,
}


@pytest.mark.parametrize(("text", "at"), EPSILONS)
def test_epsilons(text: str, at: float) -> None:
    """The bracket is narrow, and holds the value to the digits that are given."""
    low, high = bracket(text, delta=at)
    assert low * (1 - 1e-9) <= EPSILONS[text, at] <= high * (1 + 1e-9)
    assert high - low <= 1e-7 * high


@pytest.mark.parametrize(("text", "at"), DELTAS)
def test_deltas(text: str, at: float) -> None:
    """Beyond the largest loss delta is the mass of outputs that only one neighbour has."""
    low, high = bracket(text, epsilon=at)
    assert low * (1 - 1e-8) <= DELTAS[text, at] <= high * (1 + 1e-8)
    assert high - low <= 1e-9 * high


def _renyi(text: str, order: int) -> tuple[float, float]:
    answer = privcalc.convert(text, to="rdp", orders=[order]).to_dict()
    (row,) = answer["result"]["renyi_epsilon"]
    return row["lower"], row["upper"]


@pytest.mark.parametrize(("text", "order"), RENYI)
def test_renyi_divergences(text: str, order: int) -> None:
    """Those of Skellam noise are finite at every order."""
    low, high = _renyi(text, order)
    assert low * (1 - 1e-9) <= RENYI[text, order] <= high * (1 + 1e-9)


@pytest.mark.parametrize(
    "noise", ["skellam:variance=0.5", "discrete-gaussian:variance=0.25,clients=4"]
)
def test_renyi_divergences_far_out(noise: str) -> None:
    """At large orders far outcomes decide, of which no double has the mass."""
    low, high = _renyi(noise, 30)
    with mp.workdps(40):
        f = _masses(noise)
        truth = mp.log(mp.fsum(f[k] ** 30 / f[k - 1] ** 29 for k in f if k - 1 in f)) / 29
    assert low * (1 - 1e-12) <= truth <= high * (1 + 1e-12)
    assert high - low < 1e-8


def _masses(text: str) -> dict[int, mpf]:
    """Return the masses of a noise by their definition, all but 1e-30 of them."""
    name, _, rest = text.partition(":")
    numbers = dict(part.split("=") for part in rest.split(","))
    if name == "skellam":
        v = mpf(numbers["variance"])
        return {k: mp.exp(-v) * mp.besseli(abs(k), v) for k in range(-60, 61)}
    if name == "binomial":
        n, p = int(numbers["n"]), mpf(numbers["p"])
        return {k: mp.binomial(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}
    if name == "discrete-laplace":
        bound, scale = int(numbers["bound"]), mpf(numbers["scale"])
        found = {k: mp.exp(-abs(k) / scale) for k in range(-bound, bound + 1)}
    else:
        one = {k: mp.exp(-mpf(k * k) / (2 * mpf(numbers["variance"]))) for k in range(-60, 61)}
        found = {0: mpf(1)}
        for _ in range(int(numbers["clients"])):
            last = found
            found = {
                k: mp.fsum(last[k - i] * mass for i, mass in one.items() if k - i in last)
                for k in range(-60, 61)
            }
    total = mp.fsum(found.values())
    return {k: mass / total for k, mass in found.items()}


def _drawn(rng: random.Random) -> str:
    return rng.choice(
        [
            f"skellam:variance={rng.uniform(0.05, 5):.3g}",
            f"binomial:n={rng.randint(4, 30)},p={rng.choice(['0.5', '0.3', '0.85'])}",
            f"discrete-laplace:scale={rng.uniform(0.3, 4):.3g},bound={rng.randint(3, 9)}",
            f"discrete-gaussian:variance={rng.uniform(0.2, 5):.3g},clients={rng.randint(2, 4)}",
        ]
    )


def _enumerated(rng: random.Random) -> tuple[str, float, float, float, mpf]:
    """Ask a random question about few uses; say delta by adding up all outcomes of all uses."""
    noise, shift, count = _drawn(rng), rng.randint(1, 4), rng.choice([1, 1, 2])
    text = f"{noise},sensitivity={shift}" + (f"@{count}" if count > 1 else "")
    epsilon = round(rng.uniform(0.0, 4.0), 3)
    with mp.workdps(30):
        f = _masses(noise)
        # Of noise without bounds the outcomes at the ends of the table have no mass to speak of.
        bounded = noise.startswith(("binomial", "discrete-laplace"))
        places = range(-30, 40) if bounded else [k for k in f if k - shift in f]
        rows = [(f.get(k, mpf(0)), f.get(k - shift, mpf(0))) for k in places]
        rows = [row for row in rows if max(row) > mpf(10) ** -60]
        truth = max(
            BruteForce([(pair, count)]).delta(epsilon) for pair in (rows, [(q, p) for p, q in rows])
        )
    answer = compose(parse(text).tree, epsilons=[epsilon]).answers[0].bound
    assert answer is not None
    return text, epsilon, answer.lower or 0.0, answer.upper, truth


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]
)
def test_few_uses_are_those_of_all_outcomes(seed: int) -> None:
    """One and two uses, the dearer direction, by enumeration."""
    rng = random.Random(seed)
    for _ in range(8 if seed == 0 else 25):
        text, epsilon, low, high, truth = _enumerated(rng)
        about = text, epsilon, low, high, truth
        assert low * (1 - 1e-12) <= truth + 1e-30, about
        assert truth <= high * (1 + 1e-12) + 1e-30, about
        assert high - low <= 1e-5 * high + 1e-15, about


def test_where_a_sum_becomes_a_parabola() -> None:
    """On both sides of that variance the law is nearly the same, and near that of one."""
    ends = [
        bracket(f"discrete-gaussian:variance={v},clients=9", delta=1e-6)
        for v in ("3.9999999", "4.0000001")
    ]
    one = bracket("discrete-gaussian:variance=36", delta=1e-6)
    assert all(low == pytest.approx(one[0], rel=1e-7) for low, _ in ends)
    assert all(high == pytest.approx(one[1], rel=1e-7) for _, high in ends)


def test_one_client_is_the_mechanism() -> None:
    """With one client it is discrete Gaussian noise."""
    assert (
        built("discrete-gaussian:sigma=2,clients=1").law()
        == built("discrete-gaussian:sigma=2").law()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("skellam:variance=1e-4", "the variance must be at least 0.001"),
        ("skellam:sigma=1e177", "1e4|10000"),
        ("binomial:n=3,sensitivity=4", "sensitivity must be at most n, the number of coins"),
        ("discrete-laplace:scale=1,bound=2,sensitivity=5", "bound must be at least half"),
        ("discrete-gaussian:variance=0.25,clients=2000", "clients must be at most 1225"),
        ("binomial:n=5,p=1", "p"),
        ("skellam:sigma=3,variance=9", "variance"),
        ("discrete-laplace:epsilon=1,bound=4", "bound"),
        ("discrete-gaussian:rho=1,clients=4", "clients"),
    ],
)
def test_what_has_no_meaning_is_refused(text: str, message: str) -> None:
    """A range is named, and so is what does not go together."""
    with pytest.raises(PrivcalcError, match=message):
        compose(parse(text).tree, deltas=[1e-5])


def test_a_record_is_replaced_by_coins_of_one_kind() -> None:
    """With p other than 1/2 the directions differ, and nothing is said of both."""
    tree = parse("binomial:n=9,p=0.3").tree
    with pytest.raises(PrivcalcError, match="supported for p=1/2"):
        compose(tree, deltas=[1e-2], relation=Relation.REPLACE_ONE)


def _entries(total: int, square: int, most: int) -> list[list[int]]:
    """Return all decreasing lists of positive whole numbers with these sums, or less."""
    found: list[list[int]] = [[]]
    for s in range(1, most + 1):
        if s <= total and s * s <= square:
            found += [[s, *rest] for rest in _entries(total - s, square - s * s, s)]
    return found


@pytest.mark.few(3)
@pytest.mark.parametrize("case", range(64))
def test_vectors_of_skellam_noise(case: int) -> None:
    """Of every vector that the norms allow the divergence is a sum of Bessel functions."""
    rng = random.Random(f"vectors {case}")
    variance = rng.choice(("0.5", "1", "4", "9.5"))
    l1, square = rng.randint(2, 9), rng.randint(2, 30)
    with mp.workdps(40):
        f = _masses(f"skellam:variance={variance}")
        orders = (1.25, 2, 5, 12)
        shifted = {
            (s, a): mp.log(mp.fsum(f[k] ** a * f[k - s] ** (1 - a) for k in f if k - s in f))
            for s in range(1, 6)
            for a in orders
        }
        spec = f"skellam:variance={variance},l1={l1},l2={square**0.5 + 1e-9}"
        answer = privcalc.convert(spec, to="rdp", orders=list(orders)).to_dict()
        for a, row in zip(orders, answer["result"]["renyi_epsilon"], strict=True):
            lists = _entries(l1, square, 5)
            true = max(mp.fsum(shifted[s, a] for s in each) for each in lists) / (a - 1)
            assert row["lower"] <= true * (1 + mpf("1e-9"))
            assert true <= row["upper"] * (1 + mpf("1e-9"))
            assert row["upper"] <= 1.6 * true
