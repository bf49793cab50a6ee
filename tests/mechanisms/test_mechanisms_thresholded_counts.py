"""Thresholded counts against formulas and enumeration, also for groups and samples."""

from __future__ import annotations

import random
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.errors import DomainError, NotCertifiedError, UnsupportedError
from privcalc.spec.parse import parse
from tests.asked import delta, deltas, epsilon
from tests.oracles.keys import parted
from tests.truths import hockey_stick, laplace_delta, meet, normal_delta

if TYPE_CHECKING:
    from privcalc.bounds import Bound


def test_several_uses_bracket_one_data_set() -> None:
    """The same counts in every use cost at least the lower end, which is near the upper one."""
    mu = mp.sqrt(3) / 4
    found = epsilon("thresholded-counts:noise=gaussian,sigma=4,threshold=30@3", 1e-5)
    assert found.lower is not None
    assert normal_delta(mu, mpf(found.lower)) >= mpf(1e-5) * (1 - mpf("1e-9"))
    assert normal_delta(mu, mpf(found.upper)) <= mpf(1e-5)
    assert found.upper < found.lower * (1.0 + 1e-6)
    # All three uses may be of new keys, whose probability is below delta only together.
    assert epsilon("thresholded-counts:scale=2,threshold=30@3", 1e-7).lower == mp.inf


def test_laplace_keys_are_between_their_tests_and_one_count() -> None:
    """The upper end is that of one count that changes by 3, and the lower one of 3 half-lines."""
    found = deltas("thresholded-counts:scale=2,threshold=40,keys=3", [1.2])[0]
    assert found.lower is not None
    assert found.upper == pytest.approx(float(laplace_delta(mpf(3) / 2, mpf("1.2"))), rel=1e-9)
    q = mp.exp(-mpf(1) / 2) / 2
    rows = [
        (mp.binomial(3, k) / 8, mp.binomial(3, k) * q**k * (1 - q) ** (3 - k)) for k in range(4)
    ]
    tests = hockey_stick(rows, mp.exp(mpf("1.2")))
    assert found.lower == pytest.approx(float(tests), rel=1e-9)


def test_a_trade_off_curve_is_not_that_of_one_data_set() -> None:
    """At a rate of 1e-6 a new key has power 1.25217e-6, an old one 1.64872e-6; their hull more."""
    tree = parse("thresholded-counts:scale=2,threshold=30").tree
    found = convert(tree, ConversionQuery(to="risk", false_positive_rates=(1e-6,)))
    assert "lossless" not in found.kind
    [power] = cast("list[dict[str, Bound]]", found.answers[0].result["tpr_at_fpr"])
    bound = power["tpr"]
    assert bound.lower is None or bound.lower <= 1.64873e-6
    assert 1.9e-6 < bound.upper < 1.91e-6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("noise=gaussian,scale=2,threshold=9", "takes sigma"),
        ("sigma=2,threshold=9", "takes scale"),
        ("scale=2,threshold=9000", "is as good"),
        ("noise=discrete-laplace,scale=2,threshold=9,keys=2", "write keys=1, and @2"),
    ],
)
def test_refusals(text: str, words: str) -> None:
    """Errors name what to write instead."""
    with pytest.raises(DomainError, match=words):
        epsilon(f"thresholded-counts:{text}", 1e-5)


def test_mixtures_of_new_and_old_keys_are_refused_where_they_may_cost_more() -> None:
    """With a low threshold some old keys and some new ones do cost more than either."""
    text = "thresholded-counts:noise=gaussian,sigma=30,threshold=30,keys=10"
    with pytest.raises(NotCertifiedError, match="raise the threshold"):
        epsilon(text, 1e-3)


@pytest.mark.slow
def test_a_group_with_losses_beyond_all_doubles() -> None:
    """e^-700 is more than any probability may be below, though one person's losses are 20."""
    text = "thresholded-counts:noise=discrete-laplace,scale=0.05,threshold=31"
    assert delta(text, 20.0).upper > 0.0
    with pytest.raises(UnsupportedError, match="beyond the range of doubles"):
        delta(f"{text}@group:k=35", 20.0)


LOSSES = [0.0, 0.1, 0.4, 0.9, 1.6, 2.4, 4.0]
REACH = 160


@cache
def masses(noise: str, spread: float) -> Any:
    """Return the probabilities of noise from -REACH to REACH."""
    x = np.abs(np.arange(-REACH, REACH + 1)).astype(float)
    weights = (
        np.exp(-x / spread) if noise == "discrete-laplace" else np.exp(-0.5 * (x / spread) ** 2)
    )
    return weights / weights.sum()


def published(noise: str, spread: float, threshold: int, count: int) -> Any:
    """Return the law of nothing, and of what is published of a key with a count."""
    law = np.zeros(2 * REACH + 1)
    if count == 0:
        law[0] = 1.0
        return law
    values = np.arange(-REACH, REACH + 1) + count
    shown = values >= threshold
    law[0] = masses(noise, spread)[~shown].sum()
    kept = np.where(shown, values - threshold + 1, 0)
    inside = shown & (kept < len(law))
    np.add.at(law, kept[inside], masses(noise, spread)[inside])
    return law


def profile(p: Any, q: Any, a: float) -> float:
    """Return the larger profile of both orders."""
    return max(float(np.maximum(x - a * y, 0).sum()) for x, y in ((p, q), (q, p)))


@pytest.mark.parametrize(
    ("noise", "spread", "threshold"),
    [
        ("discrete-laplace", 1.5, 6),
        ("discrete-gaussian", 2.5, 9),
    ],
)
def test_pairs_with_any_keys(noise: str, spread: float, threshold: int) -> None:
    """Two people with one key or two, with any number of others: old, new, or nearly so."""
    best = [0.0] * len(LOSSES)
    others = [0, 1, 2, threshold, 60]
    for sizes in parted(2):
        for counts in product(others, repeat=len(sizes)):
            laws: list[Any] = []
            for people in (sizes, [0] * len(sizes)):
                law = np.ones(1)
                for n, c in zip(counts, people, strict=True):
                    law = np.outer(law, published(noise, spread, threshold, n + c)).ravel()
                laws.append(law)
            for i, loss in enumerate(LOSSES):
                best[i] = max(best[i], profile(laws[0], laws[1], float(np.exp(loss))))
    name = "scale" if noise == "discrete-laplace" else "sigma"
    text = f"thresholded-counts:noise={noise},{name}={spread},threshold={threshold}@group:k=2"
    for bound, true in zip(deltas(text, LOSSES), best, strict=True):
        assert true <= bound.upper * (1 + 1e-9) + 1e-13
        assert (bound.lower or 0.0) <= true * (1 + 1e-6) + 1e-13
        assert bound.width <= 1e-6 * bound.upper + 1e-14


@pytest.mark.few(2)
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("q", [0.1, 0.6])
@pytest.mark.parametrize(
    ("noise", "spread", "threshold"), [("discrete-laplace", 1.5, 6), ("discrete-gaussian", 1.2, 4)]
)
def test_samples_with_any_number_of_others(
    noise: str, spread: float, threshold: int, q: float, group: int
) -> None:
    """Both ends are near the largest of all numbers of others, who are sampled as well."""
    laws, best = [], [0.0] * len(LOSSES)
    single = np.array([published(noise, spread, threshold, j) for j in range(90)])
    chances = np.zeros(90)
    chances[0] = 1.0
    for _ in range(100 + group):
        laws.append(chances @ single)
        chances = (1 - q) * chances + q * np.concatenate([[0.0], chances[:-1]])
    for n in range(100):
        for i, loss in enumerate(LOSSES):
            best[i] = max(best[i], profile(laws[n + group], laws[n], float(np.exp(loss))))
    # New keys of each show with the probability that is published of one.
    best = [max(each, 1.0 - (1.0 - q * (1.0 - single[1][0])) ** group) for each in best]
    name = "scale" if noise == "discrete-laplace" else "sigma"
    text = f"thresholded-counts:noise={noise},{name}={spread},threshold={threshold}@poisson:q={q}"
    text += f"@group:k={group}" if group > 1 else ""
    for bound, true in zip(deltas(text, LOSSES), best, strict=True):
        assert true <= bound.upper * (1 + 1e-9) + 1e-13
        assert (bound.lower or 0.0) <= true * (1 + 1e-9) + 1e-13
        assert (bound.lower or 0.0) >= 0.98 * true - 1e-13
        if group == 1:
            assert bound.upper <= 1.05 * true + 1e-13


@pytest.mark.slow
@pytest.mark.dear("discrete-laplace", "discrete-gaussian")
@pytest.mark.parametrize("noise", ["laplace", "gaussian", "discrete-gaussian", "discrete-laplace"])
def test_many_different_releases_are_narrow_in_any_order(noise: str) -> None:
    """Where new keys hardly show, 30 of them have six digits, in any order."""
    rng = random.Random(noise)
    size, least, most = ("sigma", 8.0, 12.0) if "gaussian" in noise else ("scale", 36.0, 60.0)
    parts = []
    for _ in range(30):
        s = rng.uniform(4.0, 12.0)
        threshold = 1.0 + s * rng.uniform(least, most)
        parts.append(f"thresholded-counts:noise={noise},{size}={s!r},threshold={threshold!r}")
    found, turned = (epsilon("+".join(each), 1e-6) for each in (parts, parts[::-1]))
    assert meet(found, turned)
    for each in (found, turned):
        assert each.upper <= (each.lower or 0.0) * (1.0 + 1e-6)
