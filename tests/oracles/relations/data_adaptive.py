"""Data-adaptive mechanisms with random parameters, and random programs that fit them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from tests.oracles.relations.noise import above, below, cells, density, masses, quadrature
from tests.oracles.relations.ordinary import (
    Described,
    gaussian_profile,
    laplace_profile,
)
from tests.oracles.relations.spaces import moving, pull
from tests.random_numbers import log_uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracles.relations.spaces import Space

Array = Any
Numbers = Any


def _outer(one: Array, other: Array) -> Array:
    """Return the laws of two independent outputs, one row a state."""
    return (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)


def _noisy(rng: Numbers) -> tuple[str, float, str]:
    """Draw a noise, its size, and how a specification names that."""
    noise, size = str(rng.choice(["laplace", "gaussian"])), log_uniform(rng, 0.6, 3)
    return noise, size, f"{'sigma' if noise == 'gaussian' else 'scale'}={size!r}"


def sparse_vector(rng: Numbers) -> Described:
    """Streams of up to four questions, each chosen by the answers so far."""
    noise = str(rng.choice(["laplace", "laplace", "gaussian"]))
    rho, nu, cutoff = log_uniform(rng, 1, 5), log_uniform(rng, 1, 8), int(rng.choice([1, 1, 2]))
    length = int(rng.integers(cutoff, 5))
    unit = log_uniform(rng, 0.5, 2) if rng.random() < 0.3 else 1.0
    nonnegative = noise == "gaussian" and rng.random() < 0.35
    highest = log_uniform(rng, 0.5, 4)
    text = f"svt:noise={noise},threshold_noise={rho!r},query_noise={nu!r},cutoff={cutoff}"
    text += f",sensitivity={unit!r}"
    if nonnegative:
        text += f",threshold={highest!r}"
    elif noise == "gaussian" or rng.random() < 0.3:
        text += f",length={length}"

    def long(space: Space, rng: Numbers) -> Array:
        """Many equal questions that are below, and then those above: whether all came so."""
        many = int(rng.integers(0, length - cutoff + 1))
        if "length" not in text:
            many = int(60 ** rng.random()) - 1
        value = pull(space, -1.0 if rng.random() < 0.8 else 1.0)[space.needed]
        low, high = (value - value.min(), value.max() - value) if nonnegative else (value, -value)
        levels = rng.normal(0.0, rng.choice([0.7, 2.0, 4.0]) * max(rho, nu), 2)
        if nonnegative:
            levels = np.minimum(levels, highest)
        corners = np.r_[low * unit - levels[0], high * unit - levels[1], 0.0]
        reach = (9.0 if noise == "gaussian" else 40.0) * rho
        z, w = quadrature(corners, reach, min(rho, nu))
        w = w * density(noise, z / rho) / rho
        first = below(noise, (levels[0] + z[None, :] - low[:, None] * unit) / nu) ** many
        then = above(noise, (levels[1] + z[None, :] - high[:, None] * unit) / nu) ** cutoff
        chance = (first * then) @ w
        return np.column_stack([chance, 1 - chance])

    def program(space: Space, rng: Numbers) -> Array:
        if rng.random() < 0.6:
            return long(space, rng)
        fixed, one_way = rng.random() < 0.6, rng.random() < 0.5
        asked: dict[Any, tuple[Array, float]] = {}

        def question(history: tuple[bool, ...]) -> tuple[Array, float]:
            key = len(history) if fixed else history
            if key not in asked:
                value = moving(space, rng)
                if one_way:
                    value = pull(space, -1.0 if len(history) < length - cutoff else 1.0)
                if nonnegative:
                    value = np.maximum(value - (value.min() if rng.random() < 0.5 else 0), 0.0)
                level = float(rng.normal(0.0, 1.5 * max(rho, nu)))
                asked[key] = value[space.needed] * unit, min(level, highest if nonnegative else 99)
            return asked[key]

        stack: list[tuple[bool, ...]] = [()]
        leaves = []
        while stack:
            history = stack.pop()
            if len(history) == length or sum(history) == cutoff:
                leaves.append(history)
                continue
            question(history)
            stack += [(*history, False), (*history, True)]
        corners = np.unique(np.concatenate([q - t for q, t in asked.values()] + [np.zeros(1)]))
        reach = (9.0 if noise == "gaussian" else 40.0) * rho
        z, w = quadrature(corners, reach, min(rho, nu))
        w = w * density(noise, z / rho) / rho
        found = []
        for leaf in leaves:
            chance: Any = np.ones((len(space.needed), len(z)))
            for i, yes in enumerate(leaf):
                q, level = question(leaf[:i])
                # q + nu >= level + z.
                needed = (level + z[None, :] - q[:, None]) / nu
                chance = chance * (above(noise, needed) if yes else below(noise, needed))
            found.append(chance @ w)
        return np.column_stack(found)

    return Described(text, program)


def _release(rng: Numbers) -> tuple[str, Callable[[Array], Array], float]:
    """Draw what propose-test-release publishes: noise on a number."""
    noise, size, said = _noisy(rng)
    return f"{noise}:{said}", lambda at: cells(noise, at, size, 40), size


def propose_test_release(rng: Numbers) -> Described:
    """A noisy test, and a release that tells everything where nothing is promised."""
    noise, size, said = _noisy(rng)
    other, release, spread = _release(rng)
    mode = str(rng.choice(["sum", "uniform", "max", "bit"]))
    if rng.random() < 0.5:
        threshold = log_uniform(rng, 1, 4) * size
        wrong = float(above(noise, threshold / size))
        given = f"threshold={threshold!r}"
    else:
        wrong = log_uniform(rng, 1e-3, 0.2)
        tail = ndtri(1 - wrong) if noise == "gaussian" else -math.log(2 * wrong)
        threshold, given = size * float(tail), f"false_positive={wrong!r}"
    text = f"ptr:test=({noise}:{said}),mechanism=({other}),{given},mode={mode}"

    def program(space: Space, rng: Numbers) -> Array:
        near = space.distances <= 1
        count = len(space.states)
        value = moving(space, rng)
        secret = np.arange(count) * 100.0 * spread
        if mode in ("sum", "uniform"):
            # Published is t + noise; what it says is wrong where the noise is above the threshold.
            t = moving(space, rng) if rng.random() < 0.7 else np.zeros(count)
            even = np.linspace(t.min() - 6 * size, t.max() + 6 * size, 25)
            ends = np.unique(np.r_[even, t, t + threshold])
            test = masses(noise, t[space.needed], size, ends)
            found = []
            for i in range(test.shape[1]):
                # The cell is above the threshold of a state from its left end on.
                left = -np.inf if i == 0 else ends[i - 1]
                bad = t + threshold <= left
                alone = np.array([bad[near[s]].all() for s in range(count)])
                at = np.where(alone, secret + 1e4, value)
                found.append(test[:, [i]] * release(at[space.needed]))
            width = max(each.shape[1] for each in found)
            return np.column_stack(
                [np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in found]
            )
        bad = _bad_states(space, rng)
        t = moving(space, rng) + rng.uniform(0, 2) * threshold
        if bad.any():
            t = np.minimum(space.distances[:, bad].min(axis=1), 99).astype(float)
        alone = np.array([bad[near[s]].all() for s in range(count)])
        at = np.where(alone, secret, value)[space.needed]
        t = t[space.needed]
        published = release(at)
        if mode == "bit":
            passed = above(noise, (threshold - t) / size)[:, None]
            return np.column_stack([1 - passed, passed * published])
        low = np.unique(np.r_[np.linspace(t.min() - 6 * size, threshold, 20), t[t < threshold]])
        high = np.unique(np.r_[np.linspace(threshold, t.max() + 6 * size, 20), t[t > threshold]])
        ends = np.unique(np.r_[low, threshold, high])
        test = masses(noise, t, size, ends)
        fails = int(np.searchsorted(ends, threshold)) + 1
        return np.column_stack([test[:, :fails], _outer(test[:, fails:], published)])

    return Described(text, program)


def _bad_states(space: Space, rng: Numbers) -> Array:
    """Draw the states for which the proposal does not hold: none, all, or some."""
    kind, count = rng.random(), len(space.states)
    if kind < 0.35:
        return np.zeros(count, bool)
    if kind < 0.6:
        return np.ones(count, bool)
    if kind < 0.8:
        return space.distances[int(rng.integers(count))] <= int(rng.integers(0, 3))
    return rng.random(count) < 0.5


def stability(rng: Numbers) -> Described:
    """An answer that is published where it is far from any other."""
    noise, size, said = _noisy(rng)
    threshold = round(log_uniform(rng, 0.8, 4) * size, 4)

    def program(space: Space, rng: Numbers) -> Array:
        count = len(space.states)
        answer = rng.integers(0, 3, count)
        kind = rng.random()
        if kind < 0.4:
            answer = np.zeros(count, int)
        elif kind < 0.6:
            answer = np.arange(count)
        elif kind < 0.8:
            moved = pull(space)
            answer = np.where(moved > 0, 1, np.where(moved < 0, 2, 0))
        away = moving(space, rng) + rng.uniform(-1, 2) * threshold
        for value in np.unique(answer):
            here, there = answer == value, answer != value
            if there.any():
                away[here] = space.distances[np.ix_(here, there)].min(axis=1) - 1.0
        passed = above(noise, (threshold - away) / size)[space.needed]
        told = np.eye(int(answer.max()) + 1)[answer[space.needed]]
        return np.column_stack([1 - passed, passed[:, None] * told])

    wrong = float(above(noise, threshold / size))
    plain = gaussian_profile(1 / size) if noise == "gaussian" else laplace_profile(1 / size)
    return Described(
        f"stability:{said},threshold={threshold!r}",
        program,
        lambda a: np.maximum(plain(a), wrong),
    )


def noisy_screening(rng: Numbers) -> Described:
    """Whether a number of votes, with noise, reaches a threshold."""
    sigma, votes = log_uniform(rng, 0.5, 5), int(rng.integers(1, 9))
    threshold = round(float(rng.uniform(-1, votes + 1.5)), 2)

    def chances(t: Array) -> Array:
        no = below("gaussian", (threshold - t) / sigma)
        return np.column_stack([no, above("gaussian", (threshold - t) / sigma)])

    def program(space: Space, rng: Numbers) -> Array:
        t = np.rint(moving(space, rng, whole=True)) + rng.integers(-1, votes + 2)
        return chances(np.clip(t, 0, votes))[space.needed]

    def profile(a: Array) -> Array:
        laws = chances(np.arange(votes + 1.0))
        found = np.zeros(len(a))
        for one, other in pairwise(laws):
            for p, q in ((one, other), (other, one)):
                gain = np.maximum(p[None, :] - a[:, None] * q[None, :], 0.0).sum(axis=1)
                found = np.maximum(found, gain)
        return found

    text = f"noisy-screening:sigma={sigma!r},threshold={threshold!r},votes={votes}"
    return Described(text, program, profile)


def gnmax(rng: Numbers) -> Described:
    """Noisy votes for two answers, whose difference moves by 2; each person has one teacher."""
    sigma = log_uniform(rng, 0.7, 6)

    def program(space: Space, rng: Numbers) -> Array:
        persons = space.holds.shape[1]
        brought = rng.integers(-1, 2, persons).astype(float)
        if space.swap:
            # Who takes a place moves the vote of one teacher.
            brought = rng.integers(0, 2, persons).astype(float)
        votes = space.holds @ brought
        if rng.random() < 0.5:
            votes = pull(space)
        return cells("gaussian", votes[space.needed], sigma / math.sqrt(2), 300)

    return Described(f"gnmax:sigma={sigma!r}", program, gaussian_profile(math.sqrt(2) / sigma))


def gnss(rng: Numbers) -> Described:
    """A number with noise of its smooth sensitivity, and the log of that with noise."""
    sigma, beta = log_uniform(rng, 2, 12), log_uniform(rng, 0.01, 0.3)

    def program(space: Space, rng: Numbers) -> Array:
        logs = beta * moving(space, rng)
        if rng.random() < 0.3:
            logs = np.zeros_like(logs)
        # The longest numbers whose steps are at most the smaller sensitivity of both ends.
        near = space.distances == 1
        step = np.where(near, np.exp(np.minimum(logs[:, None], logs[None, :])), np.inf)
        np.fill_diagonal(step, 0.0)
        for k in range(len(step)):
            step = np.minimum(step, step[:, [k]] + step[[k], :])
        at = space.needed
        value = step[int(rng.integers(len(step)))][at] * (1 if rng.random() < 0.5 else -1)
        spread = sigma * np.exp(logs[at])
        low, high = (value - 7 * spread).min(), (value + 7 * spread).max()
        ends = np.linspace(low, high, 180)
        first = np.vstack(
            [masses("gaussian", np.array([v]), s, ends) for v, s in zip(value, spread, strict=True)]
        )
        return _outer(first, cells("gaussian", logs[at] / beta, sigma, 32))

    return Described(f"gnss:sigma={sigma!r},beta={beta!r}", program)


def _crowd(space: Space, rng: Numbers) -> tuple[int, Array]:
    """Draw how many others have a key in both data sets, and the law of how many are sampled."""
    size = int(400 ** rng.random()) if rng.random() < 0.6 else 0
    if space.rate is None:
        return size, np.eye(1, size + 1, size)[0]
    j = np.arange(size + 1)
    ways = np.array([float(math.comb(size, i)) for i in range(size + 1)])
    return size, ways * space.rate**j * (1 - space.rate) ** (size - j)


def _with_crowd(by_count: Array, count: Array, chances: Array) -> Array:
    """Return the law of the output for the counts of persons, with so many others."""
    return np.vstack([chances @ by_count[c : c + len(chances)] for c in count.astype(int)])


def thresholded_counts(rng: Numbers) -> Described:
    """Noisy counts of up to two keys, published above a threshold."""
    noise, size, said = _noisy(rng)
    keys, whole_noise = int(rng.choice([1, 1, 2])), bool(rng.random() < 0.3)
    if whole_noise:
        noise, keys = f"discrete-{noise}", 1
    threshold = round(1 + log_uniform(rng, 0.1, 4) * size, 3)

    def released(counts: Array, fine: int) -> Array:
        """Return the laws of what is published of a key with so many, one row each."""
        if whole_noise:
            values = np.arange(math.ceil(threshold), max(threshold, counts[-1]) + 40 * size)
            x = values[None, :] - counts[:, None]
            around = np.arange(-math.ceil(60 * size), math.ceil(60 * size) + 1)
            power = (np.abs(x), np.abs(around)) if "laplace" in noise else (x * x, around**2)
            unit = size if "laplace" in noise else 2 * size * size
            shown = np.exp(-power[0] / unit) / np.exp(-power[1] / unit).sum()
            return np.column_stack([1 - shown.sum(axis=1), shown])
        high = max(threshold, counts[-1]) + (8 * size if noise == "gaussian" else 0.0)
        whole = np.arange(math.ceil(threshold), math.ceil(high) + 1)
        ends = np.unique(np.r_[threshold, whole, np.linspace(threshold, high, fine)])
        return masses(noise, counts, size, ends)

    def program(space: Space, rng: Numbers) -> Array:
        persons = space.holds.shape[1]
        has = rng.random((persons, 2)) < 0.6
        if keys == 1:
            has[:, 1] &= ~has[:, 0]
        if rng.random() < 0.4:
            has[: space.others] = False
        counts = (space.holds.astype(int) @ has.astype(int))[space.needed]
        found = np.ones((len(counts), 1))
        fine = 200 if keys == 1 and not has[:, 1].any() else 40
        for count in counts.T:
            others, chances = _crowd(space, rng)
            by_count = released(np.arange(count.max() + others + 1.0), fine)
            by_count[0] = np.eye(1, by_count.shape[1])
            found = _outer(found, _with_crowd(by_count, count, chances))
        return found

    text = f"thresholded-counts:noise={noise},{said},threshold={threshold!r},keys={keys}"
    if whole_noise or keys > 1:
        return Described(text, program, None, ("add",))
    new = float(above(noise, (threshold - 1) / size))
    plain = gaussian_profile(1 / size) if noise == "gaussian" else laplace_profile(1 / size)
    return Described(text, program, lambda a: np.maximum(plain(a), new), ("add",))


def partition_selection(rng: Numbers) -> Described:
    """Which of up to two keys are published, each with the largest probability."""
    epsilon, delta = log_uniform(rng, 0.1, 2), log_uniform(rng, 1e-4, 0.1)
    chances = [0.0]
    for _ in range(4000):
        p = chances[-1]
        grown = min(math.exp(epsilon) * p + delta, 1 - math.exp(-epsilon) * (1 - p - delta), 1.0)
        chances.append(grown)
        if grown == 1.0:
            break
    chance = np.array(chances)

    def program(space: Space, rng: Numbers) -> Array:
        persons = space.holds.shape[1]
        key = rng.integers(0, 2, persons) if rng.random() < 0.4 else np.zeros(persons, int)
        found = np.ones((len(space.needed), 1))
        for k in range(2):
            count = (space.holds @ (key == k).astype(int))[space.needed]
            others, chances = _crowd(space, rng)
            p = chance[np.minimum(np.arange(count.max() + others + 1), len(chance) - 1)]
            found = _outer(found, _with_crowd(np.column_stack([p, 1 - p]), count, chances))
        return found

    def profile(a: Array) -> Array:
        found = np.zeros(len(a))
        for p, q in zip(chance[1:], chance[:-1], strict=True):
            for one, other in (((p, 1 - p), (q, 1 - q)), ((q, 1 - q), (p, 1 - p))):
                gain = sum(np.maximum(x - a * y, 0.0) for x, y in zip(one, other, strict=True))
                found = np.maximum(found, gain)
        return found

    text = f"partition-selection:epsilon={epsilon!r},delta={delta!r}"
    return Described(text, program, profile, ("add",))


def posterior_regression(rng: Numbers) -> Described:
    """Ridge regression on numbers, and one sample of its posterior."""
    gamma, ridge = log_uniform(rng, 0.1, 2), log_uniform(rng, 1, 30)
    size, norm, response = 6, log_uniform(rng, 0.5, 2), log_uniform(rng, 0.5, 2)

    def program(space: Space, rng: Numbers) -> Array:
        persons = space.holds.shape[1]
        x, y = rng.uniform(-norm, norm, persons), rng.uniform(-response, response, persons)
        if rng.random() < 0.7:
            x = np.full(persons, norm)
            y = np.where(rng.random(persons) < 0.5, response, -response)
        held = space.holds[space.needed].astype(float)
        h = held @ (x * x) + ridge
        centre, spread = (held @ (x * y)) / h, 1 / np.sqrt(gamma * h)
        ends = np.linspace((centre - 8 * spread).min(), (centre + 8 * spread).max(), 300)
        return np.vstack(
            [
                masses("gaussian", np.array([c]), s, ends)
                for c, s in zip(centre, spread, strict=True)
            ]
        )

    text = f"ops:gamma={gamma!r},lambda={ridge!r},n={size}"
    text += f",row_norm={norm!r},response={response!r}"
    return Described(text, program, None, ("add", "special"))


ADAPTIVE = {
    "svt": sparse_vector,
    "ptr": propose_test_release,
    "stability": stability,
    "noisy-screening": noisy_screening,
    "gnmax": gnmax,
    "gnss": gnss,
    "thresholded-counts": thresholded_counts,
    "partition-selection": partition_selection,
    "ops": posterior_regression,
}
