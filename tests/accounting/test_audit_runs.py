"""Audits of independent runs: published numbers, and how often a true claim is refuted, exactly."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta, binom, norm

import privcalc
from privcalc.accounting import audit_runs as runs
from privcalc.accounting.audit import audit
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    Claim = Callable[[float], float]

NAMES = ("true positives", "false negatives", "false positives", "true negatives")


def dp(epsilon: float, delta: float) -> Claim:
    """Return the least false negative rate of (epsilon, delta)."""
    e = math.exp(epsilon)
    return lambda x: max(0.0, 1.0 - delta - e * x, (1.0 - delta - x) / e)


def gaussian(mu: float) -> Claim:
    """Return the trade-off function of mu-GDP."""
    return lambda x: float(norm.cdf(norm.ppf(1.0 - x) - mu))


def p_value(test: tuple[int, ...], claim: Claim, cells: int = 40) -> float:
    """Return the p-value of a claim in closed form."""
    # A little below, as a lower end is.
    betas = [max(0.0, claim(x) - 1e-13) for x in alphas(test[2], test[3], cells)]
    return runs.p_value(test, runs.claim_levels(0.05, cells), betas)


@cache
def alphas(alarms: int, rejections: int, cells: int) -> list[float]:
    """Return where a claim is asked, once for all counts of true positives."""
    return runs.alphas((0, 0, alarms, rejections), runs.claim_levels(0.05, cells))


def reference(test: tuple[int, ...], delta: float, level: float, cells: int) -> float:
    """Return the least epsilon over cells by quantiles of scipy: what is published, in doubles."""
    tp, fn, fp, tn = test
    c = brentq(lambda c: c * (1 - math.log(c)) - level, 1e-300, level, xtol=1e-17)
    levels = np.geomspace(1.0, c, cells + 1)
    u = beta.isf(levels[1:], fp + 1, tn) if tn else np.ones(cells)
    v = beta.isf(c / levels[:-1], fn + 1, tp) if tp else np.ones(cells)
    with np.errstate(all="ignore"):
        both = np.fmax(np.log((1 - v - delta) / u), np.log((1 - u - delta) / v))
    return float(np.nan_to_num(np.fmax(both, 0.0)).min())


EXAMPLES = [  # test, delta, box; epsilon with 200 cells and with 4000, mu of the box, mu
    ((500, 500, 50, 950), 1e-5, 1.969242909, (2.0125, 2.01358, 1.43211, 1.49218)),
    ((1000, 0, 0, 1000), 1e-5, 5.600577494, (6.0378, 6.0426, 5.35982, 5.6485)),
    ((50, 50, 10, 90), 0.0, 0.8155105822, (0.9904, 0.99265, 0.67216, 0.84866)),
]


@pytest.mark.parametrize(("test", "delta", "box", "numbers"), EXAMPLES)
def test_worked_examples(
    test: tuple[int, ...], delta: float, box: float, numbers: tuple[float, ...]
) -> None:
    """The box is that of other tools; the product lies between 200 cells and what it tends to."""
    coarse, limit, box_mu, mu = numbers
    corner = runs.box(test, 0.05)
    assert corner.epsilon(delta) == pytest.approx(box, abs=1e-9)
    assert corner.mu == pytest.approx(box_mu, abs=1e-5)
    found = runs.least(test, 0.05, lambda each: each.epsilon(delta))
    assert coarse - 1e-4 <= found <= max(limit, reference(test, delta, 0.05, 8000)) + 5e-4
    assert 0.995 * mu <= runs.least(test, 0.05, lambda each: each.mu) <= mu + 5e-4
    assert found >= reference(test, delta, 0.05, 200) - 1e-9


def test_the_limits_of_the_box() -> None:
    """Those of Clopper and Pearson, outward by nothing that anybody could see."""
    corner = runs.box((500, 500, 50, 950), 0.05)
    assert (corner.x, 1.0 - corner.miss) == pytest.approx((0.06539048792, 0.468549173), abs=1e-9)


@pytest.mark.parametrize("level", [0.05, 0.01, 0.4, 1e-6])
def test_fishers_product(level: float) -> None:
    """The product c (1 - log c) is the level, from below; a product is no p-value by itself."""
    c = runs.product(level)
    assert level * (1 - 1e-10) <= c * (1 - math.log(c)) <= level
    assert runs.of_product(c) == pytest.approx(level)
    assert runs.of_product(1.0) == 1.0
    assert {0.05: 0.00870494, 0.01: 0.00130918}.get(level, c) == pytest.approx(c, abs=1e-8)


VERDICTS = [("gaussian:sigma=1", True), ("gaussian:sigma=0.7", True), ("gaussian:sigma=0.6", False),
            ("gaussian:sigma=0.5", False), ("rr:epsilon=2", True),
            ("gaussian:sigma=1.1@poisson:q=256/60000@14063", True),
            ("gaussian:sigma=0.7@poisson:q=0.02@3000", False)]  # fmt: skip


@pytest.mark.parametrize(("spec", "refuted"), VERDICTS)
def test_specifications_against_the_first_example(spec: str, refuted: bool) -> None:
    """Their own trade-off curves decide, also where epsilon at a delta would not."""
    found = audit(parse(spec).tree, {"": (500, 500, 50, 950)})
    assert found.refuted is refuted
    assert found.p_value is not None
    assert (found.p_value <= 0.05) is refuted


@pytest.mark.parametrize("mu", [1.0, 1.0 / 0.7, 2.5])
def test_the_p_value_is_that_of_the_curve_in_closed_form(mu: float) -> None:
    """Asked of the curve that is certified, it is hardly more."""
    test = (500, 500, 50, 950)
    exact = p_value(test, gaussian(mu), runs.CLAIM_CELLS)
    found = audit(parse(f"gdp:mu={mu!r}").tree, {"": test}).p_value
    assert found is not None
    assert exact * (1 - 1e-6) <= found <= exact * 1.001
    x = np.linspace(1e-6, 1 - 1e-6, 20_001)
    y = norm.cdf(norm.ppf(1 - x) - mu)
    largest = float((binom.cdf(50, 1000, x) * binom.cdf(500, 1000, y)).max())
    # Cells are up to 0.16 deviations wide.
    assert (
        runs.of_product(largest) * (1 - 1e-6)
        <= found
        <= max(runs.of_product(min(1.0, 1.7 * largest)), 4e-11)
    )


TRUE: list[tuple[str, Claim]] = [
    ("pure", dp(1.0, 0.0)),
    ("approx", dp(0.5, 0.1)),
    ("gdp", gaussian(1.0)),
]


@pytest.mark.parametrize(("members", "others"), [(7, 9), (3, 12)])
@pytest.mark.parametrize("claim", [each for _, each in TRUE], ids=[name for name, _ in TRUE])
def test_a_true_claim_is_refuted_as_seldom_as_said(claim: Claim, members: int, others: int) -> None:
    """Over all outcomes, at rates that the claim just allows: the chance of each is summed."""
    level = 0.2
    refuted = np.zeros((members + 1, others + 1))
    for tp, fp in np.ndindex(refuted.shape):
        test = (tp, members - tp, fp, others - fp)
        refuted[tp, fp] = p_value(test, claim) <= level
    assert refuted.any()
    for x in (0.02, 0.1, 0.3, 0.6):
        y = 1.0 - claim(x)
        chance = np.outer(
            binom.pmf(range(members + 1), members, y), binom.pmf(range(others + 1), others, x)
        )
        assert float((chance * refuted).sum()) <= level


def test_what_epsilon_says_is_what_is_refuted() -> None:
    """(epsilon, delta) is refuted below the bound, but for the width of cells, and not above it."""
    test, delta = (60, 40, 10, 90), 1e-3
    bound = runs.least(test, 0.05, lambda corner: corner.epsilon(delta))
    assert p_value(test, dp(bound - 0.1, delta)) <= 0.05 < p_value(test, dp(bound + 0.02, delta))


def test_a_mirror_is_the_same_audit() -> None:
    """With members and others exchanged, and both guesses, the other inequality says it."""
    test = (97, 3, 40, 60)
    mirror = (test[3], test[2], test[1], test[0])
    one, other = (runs.least(t, 0.05, lambda c: c.epsilon(1e-5)) for t in (test, mirror))
    assert one == pytest.approx(other, rel=2e-3)
    assert one > 1.0


def test_ranks() -> None:
    """n/2, n/8, ..., 1 on both sides; ties are no successes."""
    assert [*map(runs.ranks, (100, 1))] == [[50, 13, 4, 1], [1]]
    tests = runs.rank_tests(range(60, 160), range(100))
    assert len(tests) == 8
    assert tests["above the 1. largest score without"] == (60, 40, 0, 100)
    assert tests["above the 13. largest score without"] == (72, 28, 12, 88)
    assert tests["below the 13. least score with the record"] == (88, 12, 28, 72)
    tied = runs.rank_tests([1.0] * 8, [1.0] * 8)
    assert all(tp == 0 or tn == 0 for tp, _, _, tn in tied.values())
    found = audit(None, tests, delta=0.0)
    assert found.epsilon == pytest.approx(2.236, abs=0.01)


def test_delta_counts_in_both_inequalities() -> None:
    """Each has it, and the mirror is what is seen where few members are missed."""
    corner = runs.Corner(0.6, 0.01)
    assert corner.epsilon(0.1) == pytest.approx(math.log(0.3 / 0.01), rel=1e-12)
    assert runs.Corner(0.01, 0.6).epsilon(0.1) == pytest.approx(math.log(0.3 / 0.01), rel=1e-12)
    assert runs.Corner(1.0, 1.0).epsilon(0.0) == 0.0


def test_the_p_value_of_several_tests() -> None:
    """It is the least, as often as there are tests."""
    tests = {"one": (90, 10, 60, 40), "other": (50, 50, 30, 70)}
    found = audit(parse("gdp:mu=0.5").tree, tests).p_value
    alone = [p_value(test, gaussian(0.5), runs.CLAIM_CELLS // 2) for test in tests.values()]
    assert found == pytest.approx(2 * min(alone), rel=0.03)


def test_the_level_is_that_of_the_confidence() -> None:
    """A p-value between 2.5 and 5 percent refutes at 95 percent, and does not at 97.5."""
    tree, tests = parse("rr:epsilon=2").tree, {"": (500, 500, 50, 950)}
    found = audit(tree, tests)
    assert found.p_value is not None
    assert 0.025 < found.p_value < 0.05
    assert [audit(tree, tests, confidence=each).refuted for each in (0.95, 0.975)] == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("size", [50, 500])
@pytest.mark.parametrize("claim", [1, 2, 3], ids=["pure", "gdp", "approx"])
def test_simulated_audits_of_counts(claim: int, size: int) -> None:
    """4,000 audits of a claim that holds refute it in at most 5 % and two standard errors."""
    rng = np.random.default_rng([claim, size])
    f: Claim = {1: dp(1.0, 0.0), 2: gaussian(1.0), 3: dp(0.3, 0.05)}[claim]
    x = 0.2
    tp = rng.binomial(size, 1.0 - f(x), 4000)
    fp = rng.binomial(size, x, 4000)
    _check_share(
        [(int(a), size - int(a), int(b), size - int(b)) for a, b in zip(tp, fp, strict=True)], f
    )


def _check_share(tests: list[tuple[int, ...]], claim: Claim, most: float = 0.05) -> None:
    known = {test: p_value(test, claim) <= 0.05 for test in set(tests)}
    share = sum(known[test] for test in tests) / len(tests)
    assert share <= most + 2.0 * math.sqrt(most * (1 - most) / len(tests))


@pytest.mark.slow
@pytest.mark.parametrize("size", [50, 200])
def test_simulated_audits_at_ranks(size: int) -> None:
    """So do audits at ranks, of which each has its part of the level."""
    rng = np.random.default_rng(size)
    claim = gaussian(1.0)
    refuted, known = 0, {}
    for _ in range(4000):
        tests = runs.rank_tests(rng.normal(1.0, 1.0, size).tolist(), rng.normal(size=size).tolist())
        for test in tests.values():
            if test not in known:
                known[test] = p_value(test, claim) * len(tests) <= 0.05
        refuted += any(known[test] for test in tests.values())
    assert refuted / 4000 <= 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / 4000)


@pytest.mark.slow
@pytest.mark.parametrize(("claim", "least"), [(0.8, 0.60), (0.5, 0.99)])
def test_power_is_that_of_the_product(claim: float, least: float) -> None:
    """Of mu 1, with 500 runs each: as often as doubles with many cells, and more than the box."""
    rng = np.random.default_rng(5)
    draws = [
        (rng.binomial(500, 1 - gaussian(1.0)(0.31)), rng.binomial(500, 0.31)) for _ in range(1000)
    ]
    tests = [(int(a), 500 - int(a), int(b), 500 - int(b)) for a, b in draws]
    known = {test: p_value(test, gaussian(claim)) <= 0.05 for test in set(tests)}
    boxes = {test: runs.box(test, 0.05) for test in set(tests)}
    by_box = sum(gaussian(claim)(boxes[t].x) > boxes[t].miss for t in tests) / 1000
    share = sum(known[test] for test in tests) / 1000
    assert share >= max(least, by_box)


def test_counts_of_a_billion() -> None:
    """Blocks of terms answer them as quickly."""
    found = privcalc.audit(
        "gaussian:sigma=1",
        design="runs",
        counts=(5 * 10**8, 5 * 10**8, 10**7, 99 * 10**7),
        delta=1e-5,
    )
    assert found.epsilon.lower == pytest.approx(math.log(0.5 / 0.01), abs=2e-3)
    assert found.verdict.value == "refuted"
