"""Ordinary mechanisms with random parameters, and random programs that fit their descriptions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.oracles.relations.noise import cells, winners
from tests.oracles.relations.spaces import moving, pull, rising
from tests.random_numbers import log_uniform
from tests.truths import gaussian_deltas

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracles.relations.spaces import Space

Array = Any
Numbers = Any
CELLS = 300


@dataclass(frozen=True)
class Described:
    """One description: its text, programs that fit it, and what they cost at most, where known.

    Attributes:
        text: the specification.
        program: draws a program and returns its output on the needed states, one a row.
        profile: the largest H_a of neighbours, in either order, at a >= 1; None where unknown.
        relations: under which it is stated.
    """

    text: str
    program: Callable[[Space, Numbers], Array]
    profile: Callable[[Array], Array] | None = None
    relations: tuple[str, ...] = ("add", "replace", "special")


def gaussian_profile(mu: float) -> Callable[[Array], Array]:
    """Return that of N(mu, 1) against N(0, 1)."""
    return lambda a: gaussian_deltas(mu, np.log(a))


def laplace_profile(epsilon: float) -> Callable[[Array], Array]:
    """Return that of Laplace noise that moves by epsilon scales."""
    return lambda a: np.maximum(-np.expm1((np.log(a) - epsilon) / 2), 0.0)


def pure_profile(epsilon: float, delta: float = 0.0) -> Callable[[Array], Array]:
    """Return that of all (epsilon, delta)-DP mechanisms."""
    top = math.exp(epsilon)
    return lambda a: delta + (1 - delta) * np.maximum((top - a) / (1 + top), 0.0)


def range_profile(eta: float) -> Callable[[Array], Array]:
    """Return that of losses in an interval of length eta."""

    def profile(a: Array) -> Array:
        x = np.minimum(np.log(a), eta)
        return np.expm1((x - eta) / 2) ** 2 / -math.expm1(-eta)

    return profile


def gaussian(rng: Numbers) -> Described:
    """Noise on one number."""
    sigma = log_uniform(rng, 0.5, 4)

    def program(space: Space, rng: Numbers) -> Array:
        return cells("gaussian", moving(space, rng)[space.needed], sigma, CELLS)

    return Described(f"gaussian:sigma={sigma!r}", program, gaussian_profile(1 / sigma))


def laplace(rng: Numbers) -> Described:
    """Noise on one number."""
    scale = log_uniform(rng, 0.5, 4)

    def program(space: Space, rng: Numbers) -> Array:
        return cells("laplace", moving(space, rng)[space.needed], scale, CELLS)

    return Described(f"laplace:scale={scale!r}", program, laplace_profile(1 / scale))


def _geometric(space: Space, rng: Numbers, step: float) -> Array:
    """Two-sided geometric noise on a whole number, of which only a window matters."""
    at = np.rint(moving(space, rng, whole=True)[space.needed])
    values = np.arange(at.min(), at.max() + 1)
    r = math.exp(-step)
    middle = (1 - r) / (1 + r) * r ** np.abs(values[None, :] - at[:, None])
    # What is below the window, and above it.
    low, high = r ** (at - at.min() + 1) / (1 + r), r ** (at.max() - at + 1) / (1 + r)
    return np.column_stack([low, middle, high])


def discrete_laplace(rng: Numbers) -> Described:
    """Noise on one whole number."""
    scale = log_uniform(rng, 0.5, 4)
    return Described(
        f"discrete-laplace:scale={scale!r}",
        lambda space, rng: _geometric(space, rng, 1 / scale),
        pure_profile(1 / scale),
    )


def truncated_laplace(rng: Numbers) -> Described:
    """Laplace noise that stays within a bound."""
    scale, bound = log_uniform(rng, 0.5, 4), log_uniform(rng, 1, 8)

    def program(space: Space, rng: Numbers) -> Array:
        at = moving(space, rng)[space.needed]
        # The ratio changes at the ends of the noise, at its centres, and smoothly between these.
        low, high = at.min(), at.max()
        ends = np.unique(np.r_[at - bound, at, at + bound, np.linspace(low, high, CELLS)])
        x = np.clip(ends[None, :] - at[:, None], -bound, bound) / scale
        missing = -math.expm1(-bound / scale)
        below = 0.5 + 0.5 * np.sign(x) * -np.expm1(-np.abs(x)) / missing
        return np.diff(below, axis=1)

    return Described(f"truncated-laplace:scale={scale!r},bound={bound!r}", program)


def discrete_gaussian(rng: Numbers) -> Described:
    """Noise on one whole number."""
    sigma = log_uniform(rng, 0.5, 4)

    def program(space: Space, rng: Numbers) -> Array:
        at = np.rint(moving(space, rng, whole=True)[space.needed])
        wide = math.ceil(12 * sigma)
        values = np.arange(at.min() - wide, at.max() + wide + 1)
        weights = np.exp(-((values[None, :] - at[:, None]) ** 2) / (2 * sigma * sigma))
        return weights / weights.sum(axis=1, keepdims=True)

    return Described(f"discrete-gaussian:sigma={sigma!r}", program)


def staircase(rng: Numbers) -> Described:
    """Noise whose density falls by the factor e^-epsilon at gamma, 1 + gamma, and so on."""
    epsilon, gamma = log_uniform(rng, 0.5, 3), round(float(rng.uniform(0.05, 0.95)), 2)

    def program(space: Space, rng: Numbers) -> Array:
        at = moving(space, rng)[space.needed]
        steps = np.arange(math.ceil(36 / epsilon) + 3)
        kinks = np.unique(np.r_[-gamma - steps, gamma + steps])
        ends = np.unique((at[:, None] + kinks[None, :]).ravel())
        middle, width = 0.5 * (ends[1:] + ends[:-1]), np.diff(ends)
        down = np.floor(np.abs(middle[None, :] - at[:, None]) + 1 - gamma)
        b = math.exp(-epsilon)
        height = (1 - b) / (2 * (gamma + b * (1 - gamma)))
        return height * np.exp(-epsilon * down) * width[None, :]

    text = f"staircase:epsilon={epsilon!r},gamma={gamma!r}"
    return Described(text, program, pure_profile(epsilon))


def pure(rng: Numbers) -> Described:
    """Geometric noise is one program."""
    epsilon = log_uniform(rng, 0.2, 2)
    return Described(
        f"pure:epsilon={epsilon!r}",
        lambda space, rng: _geometric(space, rng, epsilon),
        pure_profile(epsilon),
    )


def approx(rng: Numbers) -> Described:
    """Geometric noise, or with some probability the data."""
    epsilon, delta = log_uniform(rng, 0.2, 2), log_uniform(rng, 1e-3, 0.1)

    def program(space: Space, rng: Numbers) -> Array:
        noisy = (1 - delta) * _geometric(space, rng, epsilon)
        return np.column_stack([noisy, delta * np.eye(len(noisy))])

    text = f"approx:epsilon={epsilon!r},delta={delta!r}"
    return Described(text, program, pure_profile(epsilon, delta))


def randomized_response(rng: Numbers) -> Described:
    """Any answer to begin with, of two or three."""
    p, kinds = round(float(rng.uniform(0.4, 0.9)), 3), int(rng.integers(2, 4))

    def program(space: Space, rng: Numbers) -> Array:
        true = rng.integers(0, kinds, len(space.states))
        if rng.random() < 0.5:
            moved, (up, down, none) = pull(space), rng.integers(0, kinds, 3)
            true = np.where(moved > 0, up, np.where(moved < 0, down, none))
        found = np.full((len(space.states), kinds), (1 - p) / (kinds - 1))
        found[np.arange(len(true)), true] = p
        return found[space.needed]

    other = (1 - p) / (kinds - 1)
    high, low = max(p, other), min(p, other)
    return Described(
        f"rr:p={p!r},categories={kinds}", program, lambda a: np.maximum(high - a * low, 0.0)
    )


def _scores(space: Space, rng: Numbers, candidates: int, *, monotone: bool) -> Array:
    """Scores that change by at most 1, or rise with each person, one column a candidate."""
    if monotone and rng.random() < 0.5:
        # The first candidate is that of some persons, the others are that of all others.
        first = np.isin(np.arange(space.holds.shape[1]), list(space.coming))
        held = space.holds.astype(float)
        counts = [held @ first, held @ ~first]
        return np.column_stack(counts + counts[1:] * (candidates - 2))
    if monotone:
        return np.column_stack([rising(space, rng) for _ in range(candidates)])
    if rng.random() < 0.5:
        signs = np.where(rng.random(candidates) < 0.5, 1.0, -1.0)
        return pull(space)[:, None] * signs[None, :]
    return np.column_stack([moving(space, rng) for _ in range(candidates)])


def _levels(rng: Numbers, candidates: int, unit: float) -> Array:
    """What candidates are ahead of one another, whatever the data."""
    if rng.random() < 0.15:
        return np.zeros(candidates)
    levels = rng.normal(0.0, 2.0 * unit, candidates)
    if candidates > 2 and rng.random() < 0.3:
        levels[2:] = levels[1]
    return levels


def exponential(rng: Numbers) -> Described:
    """Weights exp(epsilon u / 2)."""
    epsilon, monotone = log_uniform(rng, 0.2, 4), bool(rng.random() < 0.35)

    def program(space: Space, rng: Numbers) -> Array:
        candidates = int(rng.integers(2, 4))
        scores = _scores(space, rng, candidates, monotone=monotone)[space.needed]
        return winners(
            "gumbel", (scores + _levels(rng, candidates, 2 / epsilon)[None, :]) * epsilon / 2
        )

    text = f"exponential:epsilon={epsilon!r}" + (",monotone=true" if monotone else "")
    return Described(text, program, range_profile(epsilon))


def noisy_max(rng: Numbers) -> Described:
    """The best of a few noisy scores."""
    noise = str(rng.choice(["gaussian", "laplace", "exponential", "gumbel"]))
    scale, candidates = log_uniform(rng, 0.7, 6), int(rng.choice([2, 2, 3, 4]))
    monotone = bool(rng.random() < 0.3)

    def program(space: Space, rng: Numbers) -> Array:
        scores = _scores(space, rng, candidates, monotone=monotone)[space.needed]
        return winners(noise, (scores + _levels(rng, candidates, scale)[None, :]) / scale)

    name = "sigma" if noise == "gaussian" else "scale"
    text = f"noisy-max:noise={noise},{name}={scale!r},candidates={candidates}"
    profile = None
    if noise == "gumbel":
        profile = range_profile(2 / scale)
    elif noise != "gaussian":
        profile = laplace_profile(2 / scale)
    elif candidates == 2:
        profile = gaussian_profile(math.sqrt(2) / scale)
    return Described(text + (",monotone=true" if monotone else ""), program, profile)


ORDINARY = {
    "gaussian": gaussian,
    "laplace": laplace,
    "truncated-laplace": truncated_laplace,
    "discrete-laplace": discrete_laplace,
    "discrete-gaussian": discrete_gaussian,
    "staircase": staircase,
    "pure": pure,
    "approx": approx,
    "rr": randomized_response,
    "exponential": exponential,
    "noisy-max": noisy_max,
}
