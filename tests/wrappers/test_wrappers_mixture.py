"""The law of a sampled group of records against 40 digits and against numerical convolution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.errors import DomainError
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from privcalc.relation import Relation
from privcalc.spec.parse import parse

mp.dps = 40
TINY = mpf("1e-290")


def weights_of(q: float, k: int) -> list[Any]:
    """Return the binomial probabilities."""
    q_ = mpf(q)
    return [mp.binomial(k, j) * q_**j * (1 - q_) ** (k - j) for j in range(k + 1)]


def log_ratio(mu: float, weights: list[Any], x: Any) -> Any:
    """Return log of the mixture's density over the standard normal one."""
    m = mpf(mu)
    return mp.log(mp.fsum(w * mp.exp(j * m * x - (j * m) ** 2 / 2) for j, w in enumerate(weights)))


def masses(mu: float, weights: list[Any], x: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return the masses right and left of x, each of the mixture and of N(0, 1)."""
    m = mpf(mu)
    right = mp.fsum(w * mp.ncdf(j * m - x) for j, w in enumerate(weights))
    left = mp.fsum(w * mp.ncdf(x - j * m) for j, w in enumerate(weights))
    return (right, mp.ncdf(-x)), (left, mp.ncdf(x))


def output_of(mu: float, q: float, weights: list[Any], loss: Any) -> Any:
    """Return the output of a log ratio above the floor, by Newton's rule; the ratio confirms it.

    What stands above the floor is a sum of exponentials of x: its logarithm is convex.
    """
    m, floor = mpf(mu), (1 - mpf(q)) ** (len(weights) - 1)
    level, x = mp.log(mp.exp(loss) - floor), mpf(0)
    for _ in range(40):
        terms = [w * mp.exp(j * m * x - (j * m) ** 2 / 2) for j, w in enumerate(weights)]
        total = mp.fsum(terms[1:])
        slope = m * mp.fsum(j * term for j, term in enumerate(terms)) / total
        move = (level - mp.log(total)) / slope
        x += move
        if abs(move) < mpf("1e-20"):
            break
    assert abs(log_ratio(mu, weights, x) - loss) < mpf("1e-36") * max(1, abs(loss))
    return x


CASES = [
    (1.0, 0.01, 2),
    (0.5, 1e-6, 5),
    (3.0, 0.3, 5),
    (1.0, 0.9, 40),
    (0.05, 0.02, 40),
    (0.01, 1e-6, 40),
    (0.1, 0.03, 60),
    (0.5, 0.1, 3),
    (1.0, 0.6, 2),
    (0.2, 0.02, 20),
]


@pytest.mark.few(3)
@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize(("mu", "q", "k"), CASES)
def test_tails_at_known_outputs(mu: float, q: float, k: int, remove: bool) -> None:
    """The loss of an output is computed here; its tails are those of an output within `shift`.

    Losses of outputs far out on both sides, a hair from the floor and below it, are asked in one
    array, with others around them.
    """
    weights = weights_of(q, k)
    law = GaussianMixtureLaw(mu, q, k, remove)
    centre = k * q * mu
    outputs = [mpf(x) for x in (-6, -2, 0, 0.7, centre, centre + 1, centre + 5)]
    below = 1.1 * k * math.log1p(-q)
    found = sorted({below, *(float(log_ratio(mu, weights, x)) for x in outputs)})
    losses = np.array(found if remove else [-loss for loss in reversed(found)])
    tails = law.tails(losses)
    error = np.broadcast_to(np.asarray(tails.error), losses.shape)
    assert (error < 1e-9).all()
    assert tails.shift < 1e-13 * max(1.0, (k * mu) ** 2)
    for i, loss in enumerate(losses):
        level = mpf(float(loss)) if remove else -mpf(float(loss))
        ends = []
        for moved in (-1, 1):
            target = level + moved * mpf(tails.shift)
            if target <= k * mp.log1p(-mpf(q)):
                ends.append(((mpf(1), mpf(1)), (mpf(0), mpf(0))))
                continue
            ends.append(masses(mu, weights, output_of(mu, q, weights, target)))
        (most, least), slack = ends, mpf(float(error[i]))
        right = (tails.above_p, tails.above_q) if remove else (tails.below_q, tails.below_p)
        left = (tails.below_p, tails.below_q) if remove else (tails.above_q, tails.above_p)
        for side in (0, 1):
            ours = mpf(float(right[side][i]))
            assert least[0][side] * (1 - slack) - TINY <= ours
            assert ours <= most[0][side] * (1 + slack) + TINY
            ours = mpf(float(left[side][i]))
            assert most[1][side] * (1 - slack) - TINY <= ours
            assert ours <= least[1][side] * (1 + slack) + TINY


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize(("mu", "q", "k"), [(1.0, 0.01, 2), (0.3, 0.4, 20)])
def test_cells_agree_with_integrals(mu: float, q: float, k: int, remove: bool) -> None:
    """Where masses between losses are told, they are right to what is said of them.

    The cell is shifted as its ends are, which changes its mass by (shift / width) at most, about.
    """
    weights = weights_of(q, k)
    grid = mp.linspace(-1, 1, 161)
    levels = [float(log_ratio(mu, weights, x)) for x in grid]
    losses = np.array(levels if remove else [-x for x in reversed(levels)])
    tails = GaussianMixtureLaw(mu, q, k, remove).tails(losses)
    assert tails.between_p is not None
    assert tails.between_q is not None
    assert tails.between_error is not None
    cells = (tails.between_p, tails.between_q) if remove else (tails.between_q, tails.between_p)
    mixture, plain = (c if remove else c[::-1] for c in cells)
    assert np.isfinite(tails.between_error).any()
    for i in range(0, 160, 16):
        (a, b), _ = masses(mu, weights, grid[i])
        (c, d), _ = masses(mu, weights, grid[i + 1])
        width = losses[1:] - losses[:-1]
        slack = 1e-11 + 4.0 * (tails.shift + 1e-16) / float(width.min())
        index = i if remove else 159 - i
        if math.isfinite(float(tails.between_error[index])):
            assert float(mixture[i]) == pytest.approx(float(a - c), rel=slack)
            assert float(plain[i]) == pytest.approx(float(b - d), rel=slack)


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize(("mu", "q"), [(1.0, 0.01), (0.2, 1e-6), (5.0, 0.9)])
def test_group_of_one_is_the_sampled_gaussian(mu: float, q: float, remove: bool) -> None:
    """The two ways to the same law agree, near the floor and far out."""
    floor = math.log1p(-q)
    near = np.array([1.1 * floor, 0.9 * floor, 0.1 * floor, 0.5 * q, 3 * q, 0.1, 1.0, 5.0])
    losses = np.sort(near if remove else -near)
    one = GaussianMixtureLaw(mu, q, 1, remove).tails(losses)
    other = sampled(GaussianLaw(mu), q, remove=remove).tails(losses)
    for name in ("above_p", "above_q", "below_p", "below_q"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-280)


def convolved_delta(
    mu: float, q: float, k: int, count: int, epsilon: float, *, remove: bool
) -> float:
    """Return delta of so many uses by numpy's FFT on a lattice of losses: no tilt, no bounds.

    Outputs are cut into narrow cells; each cell's P-mass goes to its loss, split linearly between
    two lattice points.
    """
    weights = [float(w) for w in weights_of(q, k)]
    x = np.linspace(-12.0, 12.0 + k * mu, 400_001)
    step = x[1] - x[0]
    plain = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    mixed = sum(
        w * np.exp(-0.5 * (x - j * mu) ** 2) / math.sqrt(2.0 * math.pi)
        for j, w in enumerate(weights)
    )
    loss = np.log(mixed / plain)
    mass, value = (mixed * step, loss) if remove else (plain * step, -loss)
    size, width = 2**20, 4e-5
    inside = np.abs(value) < 0.4 * size * width
    place = value[inside] / width
    low = np.floor(place).astype(int)
    part = place - low
    law = np.bincount(low % size, weights=mass[inside] * (1 - part), minlength=size)
    law += np.bincount((low + 1) % size, weights=mass[inside] * part, minlength=size)
    total = np.fft.irfft(np.fft.rfft(law) ** count, size)
    values = np.fft.fftfreq(size, 1.0 / size) * width
    gain = -np.expm1(np.minimum(epsilon - values, 0.0))
    return float((total * gain).sum())


@pytest.mark.parametrize(
    ("mu", "q", "k", "count"),
    [
        (0.5, 0.2, 3, 4),
        pytest.param(0.5, 0.2, 3, 10, marks=pytest.mark.slow),
        pytest.param(1.0, 0.01, 2, 40, marks=pytest.mark.slow),
        pytest.param(0.1, 0.02, 10, 100, marks=pytest.mark.slow),
    ],
)
def test_composition_agrees_with_a_plain_convolution(
    mu: float, q: float, k: int, count: int
) -> None:
    """Both directions, each at its own delta, to what the plain convolution knows."""
    text = f"gaussian:noise_multiplier={1 / mu}@poisson:q={q}@group:k={k}@{count}"
    epsilon = 0.4
    answer = compose(parse(text).tree, epsilons=[epsilon], tolerance=1e-6).answers[0]
    seen = {direction.adjacency: direction.bound for direction in answer.directions}
    for name in ("remove", "add"):
        bound = seen[name]
        assert bound is not None
        assert bound.lower is not None
        plain = convolved_delta(mu, q, k, count, epsilon, remove=name == "remove")
        assert bound.lower * (1 - 1e-5) - 1e-10 <= plain <= bound.upper * (1 + 1e-5) + 1e-10


def test_large_losses_below_zero() -> None:
    """Thirty-seven below zero e^loss is nothing beside 1, but not beside the floor of e^-92."""
    weights = weights_of(0.9, 40)
    tails = GaussianMixtureLaw(1.0, 0.9, 40, False).tails(np.array([37.43]))
    _, (q_mass, p_mass) = masses(1.0, weights, output_of(1.0, 0.9, weights, mpf("-37.43")))
    assert float(tails.above_p[0]) == pytest.approx(float(p_mass), rel=1e-10)
    assert float(tails.above_q[0]) == pytest.approx(float(q_mass), rel=1e-10)


def test_larger_groups_cost_more() -> None:
    """Both ends rise with the size of the group, and half the records can never cost more."""
    before = 0.0
    for k in (1, 4):
        text = f"gaussian:sigma=2@poisson:q=0.05@group:k={k}@10"
        bound = compose(
            parse(text).tree, deltas=[1e-6], tolerance=1e-6, relation=Relation.ADD_OR_REMOVE_ONE
        )
        found = bound.answers[0].bound
        assert found is not None
        assert found.lower is not None
        assert before < found.lower
        before = found.upper


@pytest.mark.parametrize(("q", "k"), [(0.5, 1000), (0.1, 1001)])
def test_groups_out_of_range(q: float, k: int) -> None:
    """Binomial probabilities that leave the range of doubles are refused."""
    with pytest.raises(DomainError, match="a sampled group"):
        GaussianMixtureLaw(1.0, q, k, True)
