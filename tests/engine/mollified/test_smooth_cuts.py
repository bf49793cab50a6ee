"""Few samples of Gaussians with little noise: the measure beyond a smooth cut on its contour."""

from __future__ import annotations

import json
import math
import random
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.special import ndtr

from privcalc.accounting.compose import compose
from privcalc.engine.composition import Composition
from privcalc.engine.lattice.answer import fft_epsilon
from privcalc.engine.mollified import parted
from privcalc.engine.mollified.cuts import Search
from privcalc.engine.split.answer import split_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.losses.sampled import smooth
from privcalc.record import replace
from privcalc.spec.parse import parse
from tests.engine.split.cases import meet, rare, relative, uses, written
from tests.random_specs import log_uniform

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.numerics.arrays import Array

CELLS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "oracles" / "two_uses.json").read_text()
)["cells"]
# Noise, rate, epsilon.
THREE = ((0.4, 0.02, 9.0), (0.36, 0.002, 4.0), (0.5, 0.0003, 1.5))


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def one_sample(sigma: float, q: float, epsilon: Array) -> Array:
    """Return delta of one sample, record removed: q Q1 - (e^epsilon - 1 + q) Q0 above a place."""
    s, lowest = 1.0 / sigma, math.log1p(-q)
    place = np.log(np.expm1(epsilon) / q + 1.0)
    above = q * ndtr((0.5 * s * s - place) / s)
    above -= (np.expm1(epsilon) + q) * ndtr((-0.5 * s * s - place) / s)
    return np.where(epsilon > lowest, above, -np.expm1(epsilon))


def nodes(q: float, epsilon: float, low: float, high: float) -> tuple[Array, Array]:
    """Return a rule in x that is finer where the loss of x is near epsilon."""
    edges = {low, high, *np.arange(math.ceil(low), high, 0.25).tolist()}
    # What the others cost bends where their losses are between k log(1 - q) and 0.
    for k in range(4):
        rest = epsilon - k * 0.5 * math.log1p(-q)
        bend = math.log1p(math.expm1(rest) / q) if rest > math.log1p(-q) else low
        edges |= {bend + sign * 2.0**-j for sign in (-1.0, 1.0) for j in range(40)}
    ordered = np.array(sorted(each for each in edges if low <= each <= high))
    x, weights = np.polynomial.legendre.leggauss(16)
    half, middle = 0.5 * np.diff(ordered), 0.5 * (ordered[1:] + ordered[:-1])
    return (middle[:, None] + half[:, None] * x).ravel(), np.multiply.outer(half, weights).ravel()


def three_samples(sigma: float, q: float, epsilon: float) -> float:
    """Return delta of three: what one costs, integrated over the outcomes of two, in doubles."""
    s = 1.0 / sigma
    low, high = -0.5 * s * s - 9.0 * s, 0.5 * s * s + 10.0 * s

    def rule(epsilon: float) -> tuple[Array, Array]:
        x, weights = nodes(q, epsilon, low, high)
        means = (-0.5 * s * s, 0.5 * s * s)
        without, with_record = (np.exp(-0.5 * ((x - mean) / s) ** 2) for mean in means)
        density = ((1.0 - q) * without + q * with_record) / (s * math.sqrt(2.0 * math.pi))
        return np.log1p(q * np.expm1(x)), weights * density

    total = 0.0
    for loss, mass in zip(*rule(epsilon), strict=True):
        if mass > 1e-25:
            losses, masses = rule(epsilon - loss)
            total += mass * float(one_sample(sigma, q, epsilon - loss - losses) @ masses)
    return total


@pytest.mark.parametrize(
    ("sigma", "q", "epsilon"),
    [*(pytest.param(*each, marks=pytest.mark.slow) for each in THREE[:2]), THREE[2]],
)
def test_three_samples_by_integrals(sigma: float, q: float, epsilon: float) -> None:
    """Delta is what integrals over the outcomes of two of them come to."""
    found = parted.parted_delta(uses(sigma, q, 3), epsilon, 1e-8).bound
    truth = three_samples(sigma, q, epsilon)
    assert found.lower is not None
    assert found.lower * (1.0 - 1e-10) <= truth <= found.upper * (1.0 + 1e-10)
    assert relative(found) < 1e-7


@pytest.mark.parametrize("index", [0, 1])
def test_two_samples_in_forty_digits(index: int) -> None:
    """Alone, and beside a Gaussian mechanism, as nested integrals have them."""
    rows = [row for row in CELLS if row["first"] == [0.42, 0.0002] or row["second"] == [50.0, 1.0]]
    row = [each for each in rows if each["remove"]][index]
    laws = [
        written(row[name] if row[name][1] < 1.0 else ["gaussian", 0.02])
        for name in ("first", "second")
    ]
    composition = Composition.of([(law, 1) for law in laws])
    found = parted.parted_delta(composition, float(row["epsilon"]), 1e-8).bound
    assert found.lower is not None
    assert found.lower <= float(row["delta"]) * (1.0 + 1e-15)
    assert float(row["delta"]) * (1.0 - 1e-15) <= found.upper
    assert relative(found) < 1e-7


def brackets(composition: Composition, delta: float) -> list[Bound]:
    """Return the brackets of epsilon by all engines that have one."""
    found = []
    for solve in (parted.parted_epsilon, split_epsilon, fft_epsilon):
        with suppress(NotCertifiedError):
            found.append(solve(composition, delta, delta, 1e-9).bound)
    return found


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(k, marks=pytest.mark.slow) for k in range(8, 100))]
)
def test_engines_meet(seed: int) -> None:
    """The same of random few samples as by a sharp cut, and on a lattice."""
    r = random.Random(seed)
    sigma, q = r.uniform(0.3, 1.4), log_uniform(r, 1e-6, 0.1)
    composition = uses(sigma, q, r.randint(2, 30))
    found = brackets(composition, log_uniform(r, 1e-12, 1e-4))
    assert found
    for k, one in enumerate(found):
        assert all(meet(one, other) for other in found[k + 1 :])


@pytest.mark.parametrize(("width", "line"), [(0.25, 0.5), (0.4, 0.7), (0.3, 0.45)])
def test_the_cut_is_a_choice(width: float, line: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other widths and other paths give the same."""
    composition = uses(0.4, 0.001, 12)
    before = parted.parted_epsilon(composition, 1e-8, 1e-8, 1e-9).bound
    monkeypatch.setattr(smooth, "WIDTH", width)
    monkeypatch.setattr(smooth, "LINE", line)
    after = parted.parted_epsilon(composition, 1e-8, 1e-8, 1e-9).bound
    assert before != after
    assert meet(before, after)
    assert max(relative(before), relative(after)) < 1e-9


@pytest.mark.slow
def test_what_is_left_out_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uses up to the cut are bounded, not summed; were that not charged, the truth would be out."""
    composition, epsilon = uses(0.4, 0.02, 3), 9.0
    truth = three_samples(0.4, 0.02, epsilon)
    monkeypatch.setattr(parted, "NEGLIGIBLE", 1e9)
    search = Search.of(composition.truncated(-60.0))
    sums = parted.prepared(search, epsilon, math.log(truth), 1e-9)
    found = sums.deltas(np.array([epsilon]), 0.0)
    assert len(sums.left_out) == len(sums.sums) == 1
    assert found.lower[0] <= truth <= found.upper[0]
    assert truth > found.upper[0] - found.terms["dropped"][0]


def test_the_near_part_alone_needs_no_sum() -> None:
    """Where all is rare it is left out, at the cost of a few digits of the other."""
    composition = uses(0.45, 1e-4, 9)
    search = Search.of(composition.truncated(-60.0))
    log_small = math.log(1e-12) + math.log(1e-10)
    assert search.smooth
    peak, cut = search.best(5.78, log_small)
    assert search.peak(cut.near, 5.78)[0] < log_small
    assert peak < search.best(5.78)[0] + 7.5


@pytest.mark.parametrize(
    ("text", "delta"),
    [
        ("gaussian:sigma=0.34@poisson:q=4.89e-5@14", 8.5e-9),
        ("gaussian:sigma=0.417@poisson:q=0.0205@4", 5.06e-7),
        ("gaussian:sigma=0.302@poisson:q=7.91e-5@19+rr:epsilon=0.219@4", 1.65e-10),
        pytest.param("gaussian:sigma=0.451@poisson:q=8.64e-5@9", 1.14e-12, marks=pytest.mark.slow),
        pytest.param(
            "gaussian:sigma=0.34@poisson:q=5.5e-6@20+laplace:scale=3.63@19",
            2.09e-10,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "gaussian:sigma=0.518@poisson:q=9.27e-6@17+discrete-laplace:epsilon=0.0423@3",
            1.97e-11,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_few_samples_have_nine_digits(text: str, delta: float) -> None:
    """They were known to between three and seven."""
    bound = compose(parse(text).tree, deltas=[delta]).answers[0].bound
    assert bound is not None
    assert relative(bound) <= 1e-9


def test_several_deltas_share_the_work_of_a_question() -> None:
    """A sharp cut with as many nodes as its share pays for has nine digits, and is not refused."""
    tree = parse("gaussian:sigma=0.5@poisson:q=0.0001@10").tree
    for answer in compose(tree, deltas=[1e-6, 1e-9, 1e-12]).answers:
        assert answer.bound is not None
        assert relative(answer.bound) <= 1e-9


@pytest.mark.parametrize(
    ("text", "delta"),
    [
        ("gaussian:sigma=0.4@poisson:q=1e-200@3", 1e-250),
        ("gaussian:sigma=0.4@poisson:q=1e-290@3", 1e-5),
        ("gaussian:sigma=0.001@poisson:q=1e-5@3", 1e-9),
        ("gaussian:sigma=0.09@poisson:q=1e-5@3", 1e-9),
    ],
)
def test_extreme_samples_are_answered(text: str, delta: float) -> None:
    """Losses below the doubles' squares, and tilts that would take millions of nodes."""
    bound = compose(parse(text).tree, deltas=[delta]).answers[0].bound
    assert bound is not None
    assert math.isfinite(bound.upper)


def test_noisy_samples_are_not_cut() -> None:
    """Nor many of them, added ones or ones with hardly any noise: other contours are better."""
    added = replace(rare(0.4, 0.01), remove=False)
    for composition in (
        uses(3.0, 0.01, 10),
        uses(0.4, 0.01, 1000),
        uses(0.01, 0.01, 3),
        Composition.of([(added, 10)]),
    ):
        with pytest.raises(NotCertifiedError, match="rare"):
            Search.of(composition)
