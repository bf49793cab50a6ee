"""Audits of one run: both bounds against every attack on tiny mechanisms; published numbers."""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom, norm

import privcalc
from privcalc.accounting.audit import audit
from privcalc.accounting.audit_one_run import OneRun, published, right_guesses
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    Mechanism = np.ndarray[Any, np.dtype[np.float64]]

GRID = [*np.linspace(0.0, 4.0, 60).tolist()]


def gaussian_pairs(mu: float) -> list[tuple[float, float]]:
    """Return what mu-GDP proves at many epsilons."""
    grid = np.linspace(0.0, 8.0 * mu, 400)
    delta = norm.cdf(mu / 2 - grid / mu) - np.exp(grid) * norm.cdf(-mu / 2 - grid / mu)
    return [(float(e), float(d) + 1e-13) for e, d in zip(grid, delta, strict=True)]


# Tiny mechanisms: rows are the coins of m canaries, columns the outputs.


def coins(m: int) -> list[tuple[int, ...]]:
    """Return all coins."""
    return [*itertools.product((0, 1), repeat=m)]


def profile(mechanism: Mechanism, m: int, epsilon: float) -> float:
    """Return the delta that it keeps at an epsilon, for every canary, given all others."""
    rows = {each: mechanism[i] for i, each in enumerate(coins(m))}
    found = 0.0
    for each, i in itertools.product(rows, range(m)):
        other = rows[*each[:i], 1 - each[i], *each[i + 1 :]]
        found = max(found, float(np.maximum(rows[each] - math.exp(epsilon) * other, 0.0).sum()))
    return min(1.0, found)


def best_attack(mechanism: Mechanism, m: int, r: int, v: int) -> float:
    """Return the largest P(W >= v) over all ways to guess about r canaries, output by output."""
    truth = np.array(coins(m))
    total = 0.0
    for column in mechanism.T / len(truth):
        chances = [
            float(column[(truth[:, list(which)] == guess).sum(axis=1) >= v].sum())
            for which in itertools.combinations(range(m), r)
            for guess in itertools.product((0, 1), repeat=r)
        ]
        total += max(chances)
    return total


def mechanisms(m: int) -> Iterator[Mechanism]:
    """Yield mechanisms at random, reports, and reports that betray one canary or all, at times."""
    rng = np.random.default_rng(m)
    yield from (rng.dirichlet(np.full(4, 0.6), 2**m) for _ in range(12))
    truth = coins(m)
    for keep, leak in itertools.product((0.6, 0.75), (0.0, 0.02, 0.2)):
        same = np.array(
            [[sum(x == y for x, y in zip(a, b, strict=True)) for b in truth] for a in truth]
        )
        reports = keep**same * (1 - keep) ** (m - same)
        yield np.hstack([(1 - leak) * reports, leak * np.eye(2**m)])
        one = np.zeros((2**m, 2 * m))
        for row, each in enumerate(truth):
            for i, coin in enumerate(each):
                one[row, 2 * i + coin] = leak / m
        yield np.hstack([(1 - leak) * reports, one])


SIZES = [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3)]


@pytest.mark.parametrize(("m", "r"), SIZES)
def test_no_attack_on_a_tiny_mechanism_does_better(m: int, r: int) -> None:
    """Each bound holds for the best attack on each mechanism, at each number of right guesses."""
    near = 0.0
    for mechanism, v in itertools.product(mechanisms(m), range(1, r + 1)):
        run, chance = OneRun(m, r, v), best_attack(mechanism, m, r, v)
        pairs = [(e, profile(mechanism, m, e) + 1e-13) for e in GRID]
        bounds = [run.posterior(*pair) for pair in pairs]
        assert chance <= min(bounds)
        assert chance <= run.p_value(pairs, 0.05)[0]
        for e, d in pairs[::7]:
            assert chance <= run.p_value([(e, d)], 0.05)[0]
        near = max(near, chance / min(bounds))
    assert near > 0.9


def test_without_delta_reports_attain_the_bound() -> None:
    """Of randomized responses about each canary the right answers are binomial."""
    run, keep = OneRun(3, 3, 2), 0.75
    *_, reports = (each for each in mechanisms(3) if each.shape[1] == 16)
    same = np.array(
        [[sum(x == y for x, y in zip(a, b, strict=True)) for b in coins(3)] for a in coins(3)]
    )
    chance = best_attack(keep**same * (1 - keep) ** (3 - same), 3, 3, 2)
    assert reports.shape == (8, 16)
    assert chance == pytest.approx(run.posterior(math.log(3.0), 0.0), rel=1e-12)
    assert chance == pytest.approx(float(binom.sf(1, 3, 0.75)), rel=1e-12)


@pytest.mark.parametrize(("m", "r", "v"), [(4, 3, 3), (6, 6, 5), (20, 8, 7), (9, 5, 2), (5, 5, 5)])
@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_the_recursion_is_the_linear_programme(m: int, r: int, v: int, mu: float) -> None:
    """The largest P(W >= v) that the constraints allow, found by another solver."""
    pairs = gaussian_pairs(mu)
    j = np.arange(r + 1)
    above, right = [], []
    for i in range(1, r + 1):
        wins = np.where(j >= i, j / m, 0.0)
        losses = np.where(j >= i - 1, (r - j) / m, 0.0)
        for e, d in pairs[::4]:
            # 1 - f is at most each of its two lines.
            above += [wins - math.exp(e) * losses, wins - math.exp(-e) * losses]
            right += [d, 1.0 - math.exp(-e) * (1.0 - d)]
    best = linprog(-(j >= v).astype(float), above, right, np.ones((1, r + 1)), [1.0])
    run, lines = OneRun(m, r, v), OneRun(m, r, v).lines(pairs[::4])
    assert not run.steps(lines, -best.fun * (1 - 1e-6))[0]
    assert run.steps(lines, -best.fun * (1 + 1e-6))[0] or best.fun == pytest.approx(-1.0)


@pytest.mark.parametrize("tight", [1e-9, 0.3])
def test_a_step_that_changes_nothing_is_the_last(tight: float) -> None:
    """A level far below all that the claim allows ends at once, and is not refuted."""
    refuted, steps = OneRun(10**6, 10**6, 600_000).steps(
        OneRun(10**6, 10**6, 600_000).lines([(8.0, 0.0)]), tight
    )
    assert (refuted, steps) == (False, 1)


def test_worked_examples() -> None:
    """Published numbers, and ours where their term of delta decided."""
    fourth, fifth, eighth = (
        OneRun(1000, 100, 95),
        OneRun(100_000, 1000, 900),
        OneRun(1000, 1000, 750),
    )
    assert published(fourth, 1e-5, 0.05) == pytest.approx(2.1651758, abs=1e-7)
    assert fourth.epsilon(1e-5, 0.05)[0] == pytest.approx(2.1688670, abs=1e-6)
    assert published(fifth, 1e-5, 0.05) == pytest.approx(1.927655587, abs=1e-8)
    assert fifth.epsilon(1e-5, 0.05)[0] == pytest.approx(2.007415710, abs=1e-6)
    assert [each.epsilon(1e-5, 0.05)[1] for each in (fourth, fifth)] == ["posteriors", "recursion"]
    assert eighth.epsilon(0.0, 0.05)[0] == pytest.approx(0.9766669636, abs=1e-9)
    assert eighth.p_value([(1.0, 0.0)], 0.05)[0] == pytest.approx(0.093514492, abs=1e-9)
    # At epsilon 1 the recursion has less than the published 6.6391447e-4, m delta and more.
    assert fourth.p_value([(1.0, 1e-5)], 0.05)[0] == pytest.approx(1.22852e-4, rel=1e-4)
    assert fifth.p_value([(1.0, 1e-5)], 0.05)[0] <= 0.0099486497


@pytest.mark.parametrize(("run", "level", "epsilon"), [
    (OneRun(500, 100, 100), 0.05, 3.4791953936), (OneRun(500, 100, 100), 0.01, 3.0231975541),
    (OneRun(500, 35, 23), 0.05, 0.0145487199), (OneRun(500, 100, 60), 0.05, 0.0507356105),
])  # fmt: skip
def test_the_published_bound(run: OneRun, level: float, epsilon: float) -> None:
    """Printed by public result files; ours differs by its term of delta."""
    assert published(run, 1e-5, level) == pytest.approx(epsilon, abs=1e-8)
    assert run.epsilon(1e-5, level)[0] == pytest.approx(epsilon, abs=0.04)


@pytest.mark.parametrize(
    ("sigma", "p", "refuted"), [(1, 0.02353678, True), (2, 7.69e-7, True), (0.5, 1, False)]
)
def test_a_gaussian_by_its_curve(sigma: float, p: float, refuted: bool) -> None:
    """The p-value of the curve itself, and at most 1 % more, as some lines stand for it."""
    found = audit(parse(f"gaussian:sigma={sigma}").tree, OneRun(1000, 200, 195))
    assert found.p_value is not None
    assert p * 0.999 <= found.p_value <= p * 1.01
    assert found.refuted is refuted


@pytest.mark.parametrize(
    ("delta", "guesses", "level"), [(0.0, 40, 0.05), (1e-3, 20, 0.05), (1e-2, 40, 0.2)]
)
def test_claims_from_epsilon_on_are_compatible(delta: float, guesses: int, level: float) -> None:
    """What is a little smaller is refuted, and what is a little larger is not."""
    run = OneRun(50, guesses, guesses - 2)
    epsilon, _ = run.epsilon(delta, level)
    assert epsilon > 0.5
    assert run.p_value([(epsilon * (1 - 1e-4), delta)], level)[0] <= level
    assert run.p_value([(epsilon * (1 + 1e-4), delta)], level)[0] > level


def test_many_canaries_take_few_steps_of_long_passes() -> None:
    """A million, whichever bound decides."""
    for correct in (510_000, 720_000, 10**6):
        run = OneRun(10**6, 10**6, correct)
        assert 0.0 <= run.epsilon(1e-9, 0.05)[0] <= 20.0
    found = privcalc.audit(
        "gaussian:sigma=5", design="one-run", canaries=10**6, guesses=10**6, correct=720_000
    )
    assert found.verdict.value == "refuted"


def test_ties_count_as_wrong_as_far_as_they_may() -> None:
    """The least over all orders of what is tied."""
    rng = random.Random(1)
    for _ in range(200):
        m = rng.randint(1, 6)
        scores, member = (
            [rng.randint(0, 2) for _ in range(m)],
            [rng.random() < 0.5 for _ in range(m)],
        )
        top = rng.randint(0, m)
        bottom = rng.randint(0, m - top)
        counts: dict[bool, list[int]] = {True: [], False: []}
        for order in itertools.permutations(range(m)):
            ranked = sorted(order, key=lambda i: scores[i])
            counts[True].append(sum(member[i] for i in ranked[m - top :]))
            counts[False].append(sum(not member[i] for i in ranked[:bottom]))
        least = min(counts[True]) + min(counts[False])
        inside = [score for score, there in zip(scores, member, strict=True) if there]
        outside = [score for score, there in zip(scores, member, strict=True) if not there]
        assert right_guesses(inside, outside, top, bottom) == least


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 1000])
@pytest.mark.parametrize("delta", [0.0, 0.005])
def test_simulated_audits(size: int, delta: float) -> None:
    """Of 4,000 audits of reports that keep (1, delta), and betray at times, few refute it."""
    rng = np.random.default_rng([size, round(1000 * delta)])
    q = 1.0 / (1.0 + math.exp(-1.0))
    betrayed = rng.binomial(size, delta, 4000)
    right = betrayed + rng.binomial(size - betrayed, q)
    known = {
        v: OneRun(size, size, int(v)).p_value([(1.0, delta)], 0.05)[0] <= 0.05 for v in set(right)
    }
    share = sum(known[v] for v in right) / 4000
    assert share <= 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / 4000)


@pytest.mark.slow
def test_simulated_audits_of_gaussian_canaries() -> None:
    """So are those that each meet their curve by themselves; and half of the noise is seen."""
    rng = np.random.default_rng(7)
    pairs = gaussian_pairs(1.0)
    right = rng.binomial(200, norm.cdf(0.5), 4000)
    assert not any(OneRun(200, 200, int(v)).p_value(pairs, 0.05)[0] <= 0.05 for v in set(right))
    gross = rng.binomial(200, norm.cdf(2.5), 100)
    assert all(OneRun(200, 200, int(v)).p_value(pairs, 0.05)[0] <= 0.05 for v in set(gross))
