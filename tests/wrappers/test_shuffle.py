"""Shuffled reports against all data sets of few people, and against sums by other libraries."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import realize
from privcalc.errors import PrivcalcError, UnsupportedError
from privcalc.losses import shuffled as pairs
from privcalc.losses.shuffled import blanket, window
from privcalc.numerics.work import allowance
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from privcalc.tradeoff.function import trade_off
from tests.asked import deltas as deltas_of
from tests.asked import epsilon as epsilon_of
from tests.truths.shuffle import pairs as all_pairs
from tests.truths.shuffle import power, response, worst

SHARES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)


def check_all_data_sets(epsilon: float, categories: int, n: int, rounds: int = 1) -> None:
    """Hold brackets against the worst pair of data sets, whatever it is."""
    epsilons = [epsilon * rounds * share for share in SHARES]
    growths = [Fraction(math.exp(each)) for each in epsilons]
    truth = worst(response(Fraction(math.exp(epsilon)), categories), n, growths, rounds)
    text = f"rr:epsilon={epsilon!r},categories={categories}@shuffle:n={n}@{rounds}"
    for bound, exact in zip(deltas_of(text, epsilons), truth, strict=True):
        assert bound.lower is not None
        slack = 1e-12 * float(exact) + 1e-15
        assert bound.lower <= float(exact) + slack
        assert float(exact) <= bound.upper + slack


@pytest.mark.parametrize(
    ("epsilon", "categories", "n"),
    [
        (1.0, 2, 7),
        (3.0, 2, 6),
        (5.0, 3, 3),
        pytest.param(0.5, 5, 3, marks=pytest.mark.slow),
    ],
)
def test_brackets_hold_for_every_data_set(epsilon: float, categories: int, n: int) -> None:
    """All pairs of neighbouring data sets of few people, counted."""
    check_all_data_sets(epsilon, categories, n)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "categories", "n"), [(1.0, 2, 4), pytest.param(1.5, 3, 3, marks=pytest.mark.slow)]
)
def test_two_rounds_hold_for_every_data_set(epsilon: float, categories: int, n: int) -> None:
    """The same pair of data sets in two rounds."""
    check_all_data_sets(epsilon, categories, n, rounds=2)


@pytest.mark.parametrize(
    ("epsilon", "categories", "n", "level"),
    [(4.0, 2, 4, 0.05), (0.01, 3, 3, 0.05), (1.0, 2, 6, 0.3)],
)
def test_tests_are_those_of_one_pair(epsilon: float, categories: int, n: int, level: float) -> None:
    """The largest power is inside, though no pair attains all of the profile."""
    rows = response(Fraction(math.exp(epsilon)), categories)
    truth = max(power(p, q, Fraction(level)) for p, q in all_pairs(rows, n))
    text = f"rr:epsilon={epsilon!r},categories={categories}@shuffle:n={n}"
    found = trade_off(realize(parse(text).tree, Relation.REPLACE_ONE), [level], 1e-6)
    [bound] = found.worst.power
    assert bound.lower is not None
    assert bound.lower <= float(truth) * (1.0 + 1e-12)
    assert float(truth) <= bound.upper * (1.0 + 1e-12)
    assert bound.lower >= 0.9 * float(truth)


@pytest.mark.slow
def test_reports_of_one_guarantee_hold() -> None:
    """Random reports of that epsilon on three values, all data sets of up to four people."""
    rng = random.Random(5)
    for _ in range(12):
        rows = []
        symbols = rng.randint(2, 4)
        weights = [rng.random() for _ in range(symbols)]
        for _ in range(3):
            tilted = [w * rng.choice([1.0, 1.0, rng.uniform(1, 4), 4.0]) for w in weights]
            rows.append([Fraction(t) / sum(map(Fraction, tilted)) for t in tilted])
        ratio = max(a / b for x in rows for y in rows for a, b in zip(x, y, strict=True))
        epsilon = math.log(ratio) * (1 + 1e-9) + 1e-9
        epsilons = [epsilon * share for share in SHARES]
        n = rng.randint(2, 4)
        truth = worst(rows, n, [Fraction(math.exp(x)) for x in epsilons])
        found = deltas_of(f"pure:epsilon={epsilon!r}@shuffle:n={n}", epsilons)
        for bound, exact in zip(found, truth, strict=True):
            assert float(exact) <= bound.upper + 1e-12


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("text", "delta", "lower", "upper", "width"),
    [
        ("rr:epsilon=1@shuffle:n=10000", 1e-6, 0.03565882, 0.04320616, 1e-9),
        ("pure:epsilon=1@shuffle:n=10000", 1e-6, 0.03565882, 0.05300532, 1e-9),
        ("rr:epsilon=1,categories=100@shuffle:n=10000", 1e-6, 0.00718331, 0.00718331, 1e-4),
        ("rr:epsilon=4@shuffle:n=100000000", 1e-10, 0.00350115, 0.00496653, 4e-5),
    ],
)
def test_rows(text: str, delta: float, lower: float, upper: float, width: float) -> None:
    """Values of eight digits from sums without certificates; ends are beyond, by little."""
    bound = epsilon_of(text, delta)
    assert bound.lower is not None
    digits = 1e-8 if "100000000" not in text else 1e-7
    assert upper - digits <= bound.upper <= upper * (1.0 + width) + digits
    assert bound.lower >= lower * (1.0 - width) - digits
    assert bound.lower <= (upper if "pure" in text else lower) + digits


def test_groups_of_sizes_are_outward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many sizes share one sum, ends move apart and not towards one another."""
    with allowance(1e9):
        exact = [blanket(3000, 1.5, 4, upper=up) for up in (True, False)]
    monkeypatch.setattr(pairs, "CELLS", 1)
    with allowance(1e9):
        rough = [blanket(3000, 1.5, 4, upper=up) for up in (True, False)]
    assert rough[0].size < exact[0].size
    for loss in (0.0, 0.02, 0.05, 0.1, 0.2):
        up, down = (
            [pair.above(loss).delta(loss) for pair in each]
            for each in zip(rough, exact, strict=True)
        )
        assert up[0][1] >= up[1][0]
        assert down[0][0] <= down[1][1]
        assert up[0][1] == pytest.approx(up[1][1], rel=0.05)


def test_windows_against_exact_binomials() -> None:
    """Probabilities and what is left out, at 40 digits."""
    with mp.workdps(40):
        for n, p in ((1, 0.3), (50, 0.5), (1000, 1e-3), (1000, 0.999), (10**6, 0.1)):
            outcomes, found, error = window(n, p, 1.0 - p)
            for k, mass in list(zip(outcomes.tolist(), found.tolist(), strict=True))[::97]:
                truth = mp.binomial(n, int(k)) * mpf(p) ** int(k) * (1 - mpf(p)) ** (n - int(k))
                assert abs(mass - truth) <= error * truth
            assert abs(math.fsum(found) - 1.0) < 1e-12 * n**0.5


def test_ends_that_are_known() -> None:
    """One person is not shuffled; nothing is said at epsilon 0; delta 0 takes all of epsilon."""
    alone = epsilon_of("rr:epsilon=1@shuffle:n=1", 1e-6)
    assert alone.upper == pytest.approx(epsilon_of("rr:epsilon=1", 1e-6).upper, rel=1e-12)
    assert epsilon_of("rr:epsilon=0@shuffle:n=9", 1e-6).upper == 0.0
    whole = epsilon_of("rr:epsilon=2,categories=3@shuffle:n=50", 0.0)
    assert whole.upper == 2.0


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("rr:epsilon=50@shuffle:n=2", 49.99, 50.0),
        ("rr:epsilon=60,categories=4@shuffle:n=2@2", 50.0, 120.0),
        ("pure:epsilon=700@shuffle:n=5@2", 50.0, 1400.0),
        ("rr:epsilon=1e-300@shuffle:n=5@3", None, 0.0),
        ("rr:epsilon=10@shuffle:n=1000000000", 0.0149, 0.0217),
        ("rr:epsilon=3,categories=1000000000000000@shuffle:n=1000", 0.0, 1e-9),
    ],
)
def test_extremes(text: str, least: float | None, most: float) -> None:
    """Numbers at the ends of their ranges."""
    bound = epsilon_of(text, 1e-6)
    assert bound.upper <= most
    assert (bound.lower is None) == (least is None)
    assert (bound.lower or 0.0) >= (least or 0.0)


@pytest.mark.parametrize(
    "text",
    [
        "gaussian:sigma=1@shuffle:n=10",
        "rr:p=0.05,categories=10@shuffle:n=10",
        "rr:epsilon=1@shuffle:n=10@poisson:q=0.1",
        "rr:epsilon=1@poisson:q=0.1@shuffle:n=10",
        "rr:epsilon=1@group:k=2@shuffle:n=10",
    ],
)
def test_refusals(text: str) -> None:
    """What is no report of one person is refused in one line."""
    with pytest.raises(UnsupportedError) as caught:
        epsilon_of(text, 1e-6)
    assert "\n" not in str(caught.value)


def test_only_replacing_a_record() -> None:
    """The number of reports is seen, so that nobody can be missing."""
    tree = parse("rr:epsilon=1@shuffle:n=10").tree
    with pytest.raises(PrivcalcError, match="replace-one"):
        compose(tree, relation=Relation.ADD_OR_REMOVE_ONE, deltas=[1e-6])
