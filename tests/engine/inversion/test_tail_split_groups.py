"""Groups of records on the split contour: truths, and each bound that it takes from the law."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from privcalc.engine.composition import Composition
from privcalc.engine.inversion.decaying import DECAYING
from privcalc.engine.inversion.tail_split import TAIL_SPLIT
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.sampled.cut import CutLaw
from privcalc.losses.sampled.decay import log_suprema
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from tests.engine.inversion.sampled_cases import holds, meet, relative

CELLS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "oracles" / "groups.json").read_text()
)["cells"]
LAWS = [
    GaussianMixtureLaw(1.0, 0.01, 3, remove=True),
    GaussianMixtureLaw(0.4, 0.2, 6, remove=True),
    GaussianMixtureLaw(1.6, 1e-4, 2, remove=True),
]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def ratio(law: GaussianMixtureLaw, z: Any) -> Any:
    """Return the mixture's density over that of N(0, 1), in mpmath."""
    q, mu, k = mp.mpf(law.q), mp.mpf(law.mu), law.size
    return sum(
        mp.binomial(k, j) * q**j * (1 - q) ** (k - j) * mp.exp(j * mu * z - (j * mu) ** 2 / 2)
        for j in range(k + 1)
    )


def transform(law: GaussianMixtureLaw, exponent: complex, low: float, high: float) -> Any:
    """Return E_R[r^a; low < z <= high], and the same of moduli, by Gauss-Legendre."""
    points, weights = np.polynomial.legendre.leggauss(40)
    count = 4 * int(high - low) + 4
    half = (high - low) / (2 * count)
    z = (low + half * (2.0 * np.arange(count)[:, None] + 1.0 + points)).ravel()
    terms = [
        math.comb(law.size, j)
        * law.q**j
        * (1 - law.q) ** (law.size - j)
        * np.expm1(j * law.mu * z - (j * law.mu) ** 2 / 2)
        for j in range(1, law.size + 1)
    ]
    density = np.tile(half * weights, count) * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    values = density * np.exp(exponent * np.log1p(sum(terms)))
    return values.sum(), np.abs(values).sum()


@pytest.mark.parametrize("row", CELLS, ids=str)
def test_delta_is_that_of_a_long_contour(row: dict[str, Any]) -> None:
    """Whole laws in 80-bit numbers, two contours: all the digits on which they agree."""
    sigma, q, k, count, remove = row["law"]
    law = GaussianMixtureLaw(1.0 / float(sigma), float(q), k, remove)
    solve = TAIL_SPLIT.delta if remove else certified_delta
    found = solve(Composition.of([(law, count)]), float(row["epsilon"]), 1e-9)
    assert holds(found.bound, row["delta"])
    assert relative(found.bound) <= (1e-8 if remove else 1e-6)


def test_a_group_of_one_is_a_sample() -> None:
    """Both contours, of two parametrizations of one pair, agree to ten digits."""
    group = GaussianMixtureLaw(1.25, 1e-3, 1, remove=True)
    one = sampled(GaussianLaw(1.25), 1e-3, remove=True)
    found = [
        TAIL_SPLIT.epsilon(Composition.of([(law, 2000)]), 1e-7, 1e-7, 1e-10).bound
        for law in (group, one)
    ]
    assert meet(*found)
    assert max(relative(each) for each in found) <= 1e-9


def test_where_it_is_split_does_not_matter() -> None:
    """Levels, abscissas and steps are choices; so is a plain contour."""
    composition = Composition.of([(GaussianMixtureLaw(0.9, 1e-3, 4, remove=True), 3000)])
    base = TAIL_SPLIT.delta(composition, 0.9, 1e-9).bound
    assert relative(base) <= 1e-8
    changes: list[dict[str, float]] = [
        {"move": 0.7},
        {"move": 1.3},
        {"shift": 0.9},
        {"refine": 1.3},
    ]
    for change in changes:
        assert meet(base, TAIL_SPLIT.delta(composition, 0.9, 1e-9, **change).bound), change
    assert meet(base, DECAYING.delta(composition, 0.9, 1e-6).bound)


def test_groups_and_single_records_go_together() -> None:
    """One cut for each law, and a Gaussian whole; through the front door."""
    laws = [
        (GaussianMixtureLaw(1.0, 1e-3, 3, remove=True), 200),
        (sampled(GaussianLaw(0.8), 0.01, remove=True), 50),
        (GaussianLaw(0.1), 1),
    ]
    composition = Composition.of(laws)
    found = certified_epsilon(composition, 1e-6, 1e-9)
    assert found.engine == "contour"
    assert relative(found.bound) <= 1e-9
    assert found.bound.lower is not None
    assert TAIL_SPLIT.delta(composition, found.bound.lower, 1e-9).bound.upper >= 1e-6
    assert (TAIL_SPLIT.delta(composition, found.bound.upper, 1e-9).bound.lower or 0.0) <= 1e-6


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_panels_are_bounded_around_them(law: GaussianMixtureLaw) -> None:
    """|r|, its argument, and |r - 1| on rectangles, against random places in them."""
    rng = np.random.default_rng(3)
    part = law.between(-5.0, 9.0)
    known = 0
    for _ in range(120):
        low = rng.uniform(-5.0, 8.0)
        high, height = low + rng.uniform(0.01, 1.5), rng.uniform(0.0, 1.2 / law.mu / law.size)
        box = np.array([low]), np.array([high]), np.array([height])
        bounds = part.range(*box, path=False)
        far = float(part.log_distance(*box)[0])
        known += bool(bounds.turn[0] < 4.0)
        for _ in range(4):
            z = mp.mpc(rng.uniform(low, high), rng.choice([-1.0, 1.0, 0.5]) * height)
            r = ratio(law, z)
            assert float(mp.log(abs(r))) <= bounds.log_largest[0] + 1e-12
            assert float(mp.log(abs(r))) >= bounds.log_smallest[0] - 1e-12
            assert abs(float(mp.arg(r))) <= bounds.turn[0] + 1e-12
            assert float(mp.log(abs(r - 1) + mp.mpf("1e-300"))) <= far + 1e-9
    assert known > 80


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_transforms_are_within_their_errors(law: GaussianMixtureLaw) -> None:
    """A and J of a cut law, and its tails, in 25 digits."""
    cut = CutLaw(law, -9.0, 3.1, law.mu * law.size + 10.0)
    near = cut.near(3.0, 40.0, -30.0, remove=True)
    far = cut.beyond(2.0, 40.0, -40.0, remove=False)
    t = np.array([0.0, 2.5, 40.0])
    values, errors = near.log_mgf(t)
    sums, sum_errors = far.progression(20.0, 3)
    for index, each in enumerate(t):
        truth, size = transform(law, complex(4.0, each), cut.low, cut.top)
        wrong = abs(np.exp(values[index]) - truth)
        assert wrong <= abs(truth) * math.expm1(errors[index]) + 1e-14 * size
        assert errors[index] < 1e-9
    for index in range(3):
        truth, size = transform(law, complex(-2.0, -20.0 * index), cut.top, cut.far)
        assert abs(sums[index] - truth) <= sum_errors[index] + 1e-14 * size
        assert sum_errors[index] < 1e-12 * size + 1e-17
    r, w, error = cut.tails
    with mp.workdps(25):
        tail = mp.erfc(mp.mpf(cut.top) / mp.sqrt(2)) / 2
        rate = 1 - (1 - mp.mpf(law.q)) ** law.size
        moved = sum(
            mp.binomial(law.size, j)
            * mp.mpf(law.q) ** j
            * (1 - mp.mpf(law.q)) ** (law.size - j)
            * mp.erfc((mp.mpf(cut.top) - j * mp.mpf(law.mu)) / mp.sqrt(2))
            / 2
            for j in range(1, law.size + 1)
        )
        assert abs(r / tail - 1) <= error
        assert abs(w / (moved / rate) - 1) <= error
        assert abs(law.rate / rate - 1) <= 2e-15
        assert error < 1e-12


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_no_later_modulus_exceeds_the_bound(law: GaussianMixtureLaw) -> None:
    """|A(5 + it)| / A(5) on a dense grid of t, without shifted lines."""
    cut = CutLaw(law, -9.0, 3.1, law.mu * law.size + 10.0)
    near = cut.near(4.0, 60.0, -30.0, remove=True)
    values, _ = near.log_mgf_progression(0.125, 480)
    modulus = np.exp(values.real - values.real[0])
    ts = np.array([1.0, 4.0, 12.0, 30.0, 60.0])
    bounds = np.exp(log_suprema(cut.part, 5.0, near.mgf_range, ts, shifted=True))
    for at, bound in zip(ts[:-1], bounds[:-1], strict=True):
        assert modulus[int(at / 0.125) :].max() <= bound * (1.0 + 1e-12)


def test_the_place_of_a_loss() -> None:
    """Losses at the places of levels are these levels, about."""
    for law in LAWS:
        for level in (1e-3, 0.5, 4.0, 15.0):
            loss = law.losses(np.array([law.place(level)]))[1][0]
            assert abs(loss / level - 1.0) < 1e-6


def test_large_groups_are_left_to_others() -> None:
    """Panels would be too narrow; the FFT engine answers."""
    law = GaussianMixtureLaw(0.5, 1e-3, 60, remove=True)
    assert not law.properties.supports_tail_split
    with pytest.raises(NotCertifiedError):
        TAIL_SPLIT.epsilon(Composition.of([(law, 100)]), 1e-6, 1e-6, 1e-9)
