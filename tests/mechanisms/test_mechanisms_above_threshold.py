"""The sparse vector technique, against enumerated short streams and the published bounds."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from privcalc.errors import DomainError
from privcalc.mechanisms.above_threshold import AboveThreshold
from tests.asked import deltas
from tests.asked import epsilon as epsilon_of
from tests.pairs import built
from tests.truths import normal_delta

if TYPE_CHECKING:
    from collections.abc import Sequence


EPSILONS = [0.0, 0.1, 0.3, 0.7, 1.2, 2.0]
# A composite Gauss rule on either side of 0, for densities with a kink there.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def below(noise: str, x: Any) -> Any:
    """Return the distribution function of noise of size 1."""
    if noise == "gaussian":
        return ndtr(x)
    return np.where(x < 0.0, 0.5 * np.exp(-np.abs(x)), 1.0 - 0.5 * np.exp(-np.abs(x)))


def chances(
    noise: str, sizes: tuple[float, float], gaps: Sequence[float], cutoff: int
) -> dict[str, float]:
    """Return the chance of each answer to a stream whose queries are so far below the threshold.

    Panels of the integral over the noise of the threshold end where a density has a kink.
    """
    reach = 45.0 * sizes[0] if noise == "laplace" else 11.0 * sizes[0]
    kinks = {-reach, reach, 0.0, *(-gap for gap in gaps if abs(gap) < reach)}
    ends = np.unique(np.concatenate([sorted(kinks), np.linspace(-reach, reach, 200)]))
    half, centre = 0.5 * np.diff(ends)[:, None], 0.5 * (ends[1:] + ends[:-1])[:, None]
    rho, weight = (centre + half * NODES).ravel(), (half * WEIGHTS).ravel()
    z = rho / sizes[0]
    if noise == "gaussian":
        density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    else:
        density = 0.5 * np.exp(-np.abs(z))
    found: dict[str, float] = {}
    for answers in product("01", repeat=len(gaps)):
        word = "".join(answers)
        if word.count("1") >= cutoff:
            places = [i for i, answer in enumerate(word) if answer == "1"]
            word = word[: places[cutoff - 1] + 1]
        if word in found:
            continue
        parts = density * weight / sizes[0]
        for answer, gap in zip(word, gaps, strict=False):
            x = (gap + rho) / sizes[1]
            parts = parts * (below(noise, x) if answer == "0" else below(noise, -x))
        found[word] = float(parts.sum())
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)
    return found


@pytest.mark.slow
@pytest.mark.dear("gaussian-sizes4-2-0.32675]")
@pytest.mark.parametrize(
    ("noise", "sizes", "cutoff", "largest"),
    [
        ("laplace", (2.0, 4.0), 1, 0.27837),
        pytest.param("laplace", (1.0, 1.5), 2, 0.25816, marks=pytest.mark.slow),
        pytest.param("laplace", (3.0, 2.0), 3, 0.18906, marks=pytest.mark.slow),
        pytest.param("gaussian", (2.0, 4.0), 1, 0.46585, marks=pytest.mark.slow),
        ("gaussian", (3.0, 2.0), 2, 0.32675),
    ],
)
def test_no_short_stream_costs_more(
    noise: str, sizes: tuple[float, float], cutoff: int, largest: float
) -> None:
    """Streams of three queries, all extreme neighbours: the largest share of the bound."""
    text = f"svt:noise={noise},threshold_noise={sizes[0]},query_noise={sizes[1]},cutoff={cutoff}"
    length = ",length=3" if noise == "gaussian" else ""
    found = deltas(text + length, EPSILONS)
    worst, best = 0.0, [0.0] * len(EPSILONS)
    for gaps in product((-2.0, 3.0, 12.0), repeat=3):
        first = chances(noise, sizes, gaps, cutoff)
        for move in product((-1.0, 1.0), repeat=3):
            other = chances(noise, sizes, np.add(gaps, move).tolist(), cutoff)
            for k, epsilon in enumerate(EPSILONS):
                excess = (p - math.exp(epsilon) * other[word] for word, p in first.items())
                best[k] = max(best[k], sum(x for x in excess if x > 0.0))
    for true, bound in zip(best, found, strict=True):
        assert true <= bound.upper * (1.0 + 1e-10) + 1e-14
        worst = max(worst, true / bound.upper if bound.upper else 0.0)
    assert worst == pytest.approx(largest, rel=0.01)


def test_laplace_is_pure() -> None:
    """At delta 0 the bound is that of the textbooks, to which streams come near."""
    bound = epsilon_of("svt:threshold_noise=10,query_noise=40,cutoff=3", 0.0)
    assert bound.upper == pytest.approx(0.1 + 2 * 3 / 40, rel=1e-12)
    bound = epsilon_of("svt:threshold_noise=10,query_noise=20", 1e-6)
    assert bound.lower is not None
    assert 0.95 * 0.2 < bound.lower < bound.upper < 0.2


def test_far_out_gaussian_noise_is_a_multiple_of_one_profile() -> None:
    """N h(mu) with 1 + 5 + 10 answers for two of five queries, where their sum has no digits."""
    mu = math.sqrt(1 / 4.0 + 4 * 2 / 25.0)
    text = "svt:noise=gaussian,threshold_noise=2,query_noise=5,cutoff=2,length=5"
    far = epsilon_of(text, 1e-60)
    assert mpmath.log10(16 * normal_delta(mu, far.upper)) == pytest.approx(-60.0, abs=0.05)


@pytest.mark.parametrize(("length", "cutoff", "answers"), [(10, 1, 11), (10, 9, 1023), (2, 2, 4)])
def test_all_answers_are_counted(length: int, cutoff: int, answers: int) -> None:
    """Not c (length choose c), which Remark 7.2.8 of the thesis prints: 10 and 90 of the first."""
    text = f"svt:noise=gaussian,threshold_noise=9,query_noise=9,cutoff={cutoff},length={length}"
    mechanism = built(text)
    assert isinstance(mechanism, AboveThreshold)
    assert mechanism.answers == answers


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("cutoff", [1, 2])
def test_nonnegative_streams_cost_at_most_their_bound(cutoff: int) -> None:
    """Streams of four queries at 0 and above, all extreme neighbours that are not negative."""
    sizes, threshold = (2.0, 5.0), 6.0
    text = "svt:noise=gaussian,threshold_noise=2,query_noise=5,threshold=6"
    found = deltas(f"{text},cutoff={cutoff}", EPSILONS)
    capped = deltas(f"{text},cutoff={cutoff},length=4", EPSILONS)
    plain = deltas(
        f"svt:noise=gaussian,threshold_noise=2,query_noise=5,cutoff={cutoff},length=4", EPSILONS
    )
    best = [0.0] * len(EPSILONS)
    for queries in product((1.0, 5.0), repeat=4):
        first = chances("gaussian", sizes, [threshold - x for x in queries], cutoff)
        for move in product((-1.0, 1.0), repeat=4):
            gaps = [threshold - x - y for x, y in zip(queries, move, strict=True)]
            other = chances("gaussian", sizes, gaps, cutoff)
            for k, epsilon in enumerate(EPSILONS):
                excess = (p - math.exp(epsilon) * other[word] for word, p in first.items())
                best[k] = max(best[k], sum(x for x in excess if x > 0.0))
    for true, any_length, four, signed in zip(best, found, capped, plain, strict=True):
        assert true <= four.upper <= any_length.upper * (1.0 + 1e-9)
        assert four.upper <= signed.upper * 1.01
        assert four.lower is not None
        assert any_length.lower is not None
        assert four.lower <= any_length.lower * (1.0 + 1e-9)


@pytest.mark.slow
def test_streams_of_any_length_below_a_high_threshold() -> None:
    """Few answers are "above": epsilon is finite, and not twice what one stream costs."""
    found = epsilon_of("svt:noise=gaussian,threshold_noise=4,query_noise=8,threshold=40", 1e-6)
    assert found.lower is not None
    assert found.lower <= found.upper <= 2.0 * found.lower


@pytest.mark.slow
def test_several_uses_and_groups() -> None:
    """Uses compose within the sum of their guarantees, and a group multiplies the sensitivity."""
    several = epsilon_of("svt:threshold_noise=10,query_noise=20@10", 1e-6)
    assert several.lower is not None
    assert several.lower < several.upper < 2.0
    group, wide = (
        epsilon_of(f"svt:threshold_noise=10,query_noise=20{tail}", 1e-6)
        for tail in ("@group:k=2", ",sensitivity=2")
    )
    assert group == wide


@pytest.mark.slow
def test_a_group_of_a_highest_threshold() -> None:
    """Three records move a query by three times as much, and no threshold: to the last digit."""
    text = "svt:noise=gaussian,threshold_noise=9,query_noise=15,threshold=12"
    group = deltas(f"{text}@group:k=3", [0.1, 1.2])
    assert group == deltas(f"{text},sensitivity=3", [0.1, 1.2])
    assert all(bound.lower for bound in group)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("noise=gaussian,threshold_noise=9,query_noise=9", "needs length, .* or threshold"),
        ("noise=gaussian,threshold_noise=0.05,query_noise=9,length=5", "too small"),
        ("threshold_noise=0.01,query_noise=0.001", "in"),
        (
            "noise=gaussian,threshold_noise=99,query_noise=999,cutoff=900,length=1000000",
            "too many",
        ),
        # C(950, 475) has 945 bits, more than the 900 that are counted, and (950/475)^475 fewer.
        ("noise=gaussian,threshold_noise=99,query_noise=999,cutoff=475,length=950", "too many"),
    ],
)
def test_refusals(text: str, words: str) -> None:
    """Errors name what is out of range."""
    with pytest.raises(DomainError, match=words):
        epsilon_of(f"svt:{text}", 1e-5)
