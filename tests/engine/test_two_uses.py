"""Two uses by one integral: truths, its inequalities at complex places, and what it is for."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from privcalc.engine.arbiter import certified_delta, certified_epsilon
from privcalc.engine.composition import Composition
from privcalc.engine.many import many_deltas
from privcalc.engine.nested.ends import Ends
from privcalc.engine.nested.pair import Pair, Use, log_gap_above
from privcalc.engine.nested.two_uses import TwoUses, two_uses
from privcalc.engine.split.answer import split_delta
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.sampled.law import sampled
from tests.engine.split.cases import TRUTHS, holds, meet, relative, written

CELLS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "oracles" / "two_uses.json").read_text()
)["cells"]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def law(sigma: float, q: float, *, remove: bool = True) -> Any:
    """Return a law of a stored cell."""
    base = GaussianLaw(1.0 / sigma)
    return base if q == 1.0 else sampled(base, q, remove=remove)


def source(first: Any, second: Any) -> TwoUses:
    """Return the source of two laws."""
    found = two_uses(Composition.of([(first, 1), (second, 1)]))
    assert found is not None
    return found


@pytest.mark.parametrize("row", CELLS, ids=str)
def test_delta_is_bracketed_to_twelve_digits(row: dict[str, Any]) -> None:
    """Integrals in 40 digits, in both directions, from delta 1e-100 to 0.3."""
    laws = (law(*row[name], remove=row["remove"]) for name in ("first", "second"))
    found = source(*laws).deltas(np.array([float(row["epsilon"])]))
    truth = mp.mpf(row["delta"])
    assert found.lower[0] <= truth <= found.upper[0]
    assert (found.upper[0] - found.lower[0]) / float(truth) <= 3e-11


@pytest.mark.parametrize("row", TRUTHS["pairs"], ids=str)
def test_the_truths_of_the_split(row: dict[str, Any]) -> None:
    """The split contour's pairs, by this integral, and through the front door."""
    composition = Composition.of([(written(row["first"]), 1), (written(row["second"]), 1)])
    found = certified_delta(composition, float(row["epsilon"]), 1e-9)
    assert found.engine == "closed-form"
    assert holds(found.bound, row["delta"])
    assert relative(found.bound) <= 1e-10


def test_random_epsilons_belong_to_their_deltas() -> None:
    """The arbiter's brackets are narrow, and a delta at either end is on its side of the target."""
    rng = random.Random(4)
    for _ in range(12):
        remove = rng.random() < 0.6
        pair = [
            law(rng.uniform(0.4, 4.0), 10.0 ** rng.uniform(-4, -0.5), remove=remove)
            for _ in range(2)
        ]
        delta = 10.0 ** rng.uniform(-12, -3)
        composition = Composition.of([(each, 1) for each in pair])
        found = certified_epsilon(composition, delta, 1e-9).bound
        assert found.width <= max(1e-9 * found.upper, 1e-12)
        if found.upper > 0.0:
            ends = source(*pair).deltas(np.array([found.lower, found.upper]))
            assert ends.upper[0] >= delta >= ends.lower[1]


@pytest.mark.parametrize("remove", [True, False])
def test_which_law_is_integrated_over_does_not_matter(*, remove: bool) -> None:
    """The brackets of both orders meet."""
    first, second = Use(0.01, 1.5, 1e-15), Use(0.2, 0.3, 1e-15)
    for epsilon in (0.01, 0.1, 0.2, 1.0 if remove else 0.23):
        a = TwoUses(first, second, remove).deltas(np.array([epsilon]))
        b = TwoUses(second, first, remove).deltas(np.array([epsilon]))
        assert max(a.lower[0], b.lower[0]) <= min(a.upper[0], b.upper[0])
        assert abs(a.value[0] / b.value[0] - 1.0) < 1e-11


def _modulus(pair: Pair, z: complex) -> float:
    """Return the modulus of the integrand at a complex place, in 30 digits."""
    with mp.workdps(30):
        q, mu = mp.mpf(pair.outer.rate), mp.mpf(pair.outer.mu)
        rate, inner = mp.mpf(pair.inner.rate), mp.mpf(pair.inner.mu)
        z = mp.mpc(z)
        m = 1 - q + q * mp.exp(mu * z - mu**2 / 2)
        grown = mp.exp(mp.mpf(pair.epsilon))
        if pair.remove:
            front, back = rate * m, grown - (1 - rate) * m
        else:
            front, back = 1 - (1 - rate) * grown * m, rate * grown * m
        s = (mp.log(back) - mp.log(front)) / inner - inner / 2
        value = front * mp.erfc(s / mp.sqrt(2)) / 2
        value -= back * mp.erfc((s + inner) / mp.sqrt(2)) / 2
        return float(abs(mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi) * value))


def test_the_bound_on_rectangles_holds_inside_them() -> None:
    """At random places of random rectangles, corners among them; it is not far off either."""
    rng, slack = random.Random(7), []
    for _ in range(150):
        remove = rng.random() < 0.5
        outer = Use(10.0 ** rng.uniform(-4, -0.3), rng.uniform(0.1, 3.0), 1e-15)
        rate = 1.0 if rng.random() < 0.2 else 10.0 ** rng.uniform(-4, -0.3)
        inner = Use(rate, rng.uniform(0.1, 3.0), 1e-15)
        largest = 3.0 if remove else -math.log1p(-outer.rate) - math.log1p(-min(rate, 0.9))
        pair = Pair(outer, inner, remove, rng.random() * largest)
        ends = Ends.of(pair, 8.0)
        centre = rng.uniform(ends.low, ends.high)
        distance = pair.pace(centre)[1]
        real, height = (min(distance, 1.0) * rng.uniform(0.05, 0.9) for _ in range(2))
        height = min(height, 1.4 / outer.mu)
        box = (np.array([centre - real]), np.array([centre + real]), np.array([height]))
        bound = float(pair.log_supremum(*box)[0])
        if not math.isfinite(bound):
            continue
        seen = max(
            _modulus(pair, complex(centre + a * real, b * height))
            for a in (-1.0, rng.uniform(-1, 1), 1.0)
            for b in (rng.random(), 1.0)
        )
        assert math.log(seen + 1e-320) <= bound
        slack.append(bound - math.log(seen + 1e-320))
    assert len(slack) > 80
    assert sorted(slack)[len(slack) // 2] < 6.0


def test_the_gap_of_two_tails_is_bounded() -> None:
    """G(s) = T(s) - e^{mu s + mu^2 / 2} T(s + mu), for all s and mu."""
    for mu in (1e-3, 0.05, 0.5, 2.0, 7.0):
        for s in (-9.0, -2.0, -0.3, 0.0, 0.4, 3.0, 12.0):
            with mp.workdps(30):
                tail = [mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2 for x in (s, s + mu)]
                gap = tail[0] - mp.exp(mp.mpf(mu) * s + mp.mpf(mu) ** 2 / 2) * tail[1]
            bound = float(log_gap_above(np.array([s]), mu)[0])
            assert float(mp.log(gap)) <= bound + 1e-12
            assert bound < float(mp.log(gap)) + 1.0


@pytest.mark.parametrize("remove", [True, False])
def test_early_ends_only_add_what_they_say(
    monkeypatch: pytest.MonkeyPatch, *, remove: bool
) -> None:
    """With panels that end where much is left, the bracket is wide and still holds the truth."""
    uses = Use(0.05, 1.0, 1e-15), Use(0.02, 0.8, 1e-15)
    epsilon = np.array([0.06])
    truth, missed = TwoUses(*uses, remove).deltas(epsilon).value[0], []
    for far, reach in ((0.5, 8.0), (8.0, 2.0), (0.3, 2.0)):
        monkeypatch.setattr("privcalc.engine.nested.ends.FAR", far)
        monkeypatch.setattr("privcalc.engine.nested.two_uses._reach", lambda _, r=reach: r)
        found = TwoUses(*uses, remove).deltas(epsilon)
        assert found.lower[0] <= truth <= found.upper[0]
        missed.append(truth > found.upper[0] - found.terms["dropped"][0])
    assert any(missed)


def test_a_profile_comes_from_one_source() -> None:
    """Brackets at many epsilons are narrow, and meet those of a contour."""
    composition = Composition.of([(law(0.7, 0.01), 2)])
    epsilons = [0.05 * k for k in range(1, 30)]
    found = many_deltas(composition, epsilons, 1e-9)
    assert max(relative(each.bound) for each in found) <= 1e-9
    again = split_delta(composition, epsilons[10], 1e-3)
    assert meet(found[10].bound, again.bound)


def test_what_it_is_for() -> None:
    """Two samples, or one and Gaussians; nothing else, and no two directions."""
    one, other = law(1.0, 0.01), law(2.0, 0.1, remove=False)
    assert two_uses(Composition.of([(one, 1), (GaussianLaw(0.1), 3)])) is not None
    for terms in (
        [(one, 3)],
        [(one, 1)],
        [(one, 1), (other, 1)],
        [(one, 1), (LaplaceLaw(1.0), 1)],
        [(one, 2), (GaussianLaw(1.0), 1)],
        [(GaussianLaw(1.0), 2)],
    ):
        assert two_uses(Composition.of(terms)) is None
