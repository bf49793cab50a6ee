"""Shuffled batches by brute force: sums over arrangements, grids of outputs, and sampling."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from privcalc.numerics.rounding import Array

    # What record j adds to slot k, given the outputs so far.
    Others = Callable[[int, int, Sequence[Array]], Array | float]


def arrangements(
    records: tuple[int, ...], sizes: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield every way to put records into slots of these sizes, in order; some may be left over."""
    if not sizes:
        yield ()
        return
    for first in itertools.combinations(records, sizes[0]):
        rest = tuple(each for each in records if each not in first)
        for others in arrangements(rest, sizes[1:]):
            yield (first, *others)


def arranged_deltas(
    sigma: float,
    epsilon: float,
    others: Others,
    sizes: Sequence[int],
    points: int,
    *,
    records: int = 0,
) -> tuple[float, float]:
    """Return delta for removing and for adding record 0, which is at +1, on a grid of outputs.

    Args:
        sigma: the noise.
        epsilon: see above.
        others: what they add.
        sizes: records of each slot.
        points: of the grid, in each direction.
        records: how many there are, at least as many as in the slots.
    """
    steps, records = len(sizes), records or sum(sizes)
    reach = max(sizes) + 7.0 * sigma
    axis = np.linspace(-reach, reach, points)
    outputs = list(np.meshgrid(*[axis] * steps, indexing="ij"))
    laws = [np.zeros(outputs[0].shape) for _ in range(2)]
    for arrangement in arrangements(tuple(range(records)), sizes):
        products = [np.ones(outputs[0].shape) for _ in range(2)]
        for k, slot in enumerate(arrangement):
            mean = sum((others(j, k, outputs[:k]) for j in slot if j), np.zeros(outputs[0].shape))
            for i, own in enumerate((1.0, 0.0)):
                away = outputs[k] - mean - own * (0 in slot)
                products[i] *= np.exp(-0.5 * (away / sigma) ** 2)
        laws = [law + product for law, product in zip(laws, products, strict=True)]
    first, second = (law / law.sum() for law in laws)
    growth = math.exp(epsilon)
    return (
        float(np.maximum(first - growth * second, 0.0).sum()),
        float(np.maximum(second - growth * first, 0.0).sum()),
    )


def sampled_attack(
    sigma: float, steps: int, epsilon: float, *, remove: bool, seed: int, size: int
) -> tuple[float, float]:
    """Return delta of all others at the opposite sign, with its standard error, by sampling.

    P is drawn with the record in slot 1. Of four parts of the samples two have that output drawn
    further out, where large losses come from one output, and one has all of them moved, where they
    come from many; weights make up for that.
    """
    rng = np.random.default_rng(seed)
    v = 1.0 / sigma
    own, other = (2.0, 1.0) if remove else (1.0, 2.0)
    far = (epsilon + math.log(steps)) / v - 0.5 * (own + other) * v
    far = min(max(0.0, far), 3.0)
    all_of_them = (3.5 if remove else -3.5) / math.sqrt(steps)
    total, square, count = 0.0, 0.0, 0
    rows = max(1, 4_000_000 // steps)
    for _ in range(0, size, rows):
        e = rng.standard_normal((rows, steps))
        way = rng.integers(4, size=rows)
        e[way == 1, 0] += far
        e[way == 2, 0] += 0.5 * far
        e[way == 3] += all_of_them
        ones = [np.exp(x * e[:, 0] - 0.5 * x * x) for x in (far, 0.5 * far)]
        every = np.exp(all_of_them * e.sum(axis=1) - 0.5 * steps * all_of_them**2)
        weight = 4.0 / (1.0 + ones[0] + ones[1] + every)
        e[:, 0] += own * v
        ratios = [np.exp(a * v * (e - 0.5 * a * v)).mean(axis=1) for a in (own, other)]
        gain = weight * np.maximum(1.0 - math.exp(epsilon) * ratios[1] / ratios[0], 0.0)
        total, square, count = total + gain.sum(), square + (gain * gain).sum(), count + rows
    mean = float(total) / count
    return mean, math.sqrt(max(float(square) / count - mean * mean, 0.0) / count)


def hinted_delta(
    sigma: float, steps: int, epsilon: float, part: float, points: int = 2**14
) -> float:
    """Return about E ((l_x - alpha l_0) / t + (1 / t) sum_k w_k D_k)_+ for removing the record.

    In slot 1 a part of the others is at +1, the rest at -1; later all are at -1, and the record is
    at +1: w_k is the likelihood ratio of the record that slot k would have had. Two groups of
    numbers are convolved on a lattice of nearest points, for each first output.
    """
    v, alpha, others = 1.0 / sigma, math.exp(epsilon), steps - 1
    z = np.linspace(-9.0, 9.0 + 2.0 * v, 20001)
    masses = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) * (z[1] - z[0])
    d = np.exp(2.0 * v * z - 2.0 * v * v) - alpha * np.exp(v * z - 0.5 * v * v)
    groups = round(part * others), others - round(part * others)
    found = 0.0
    firsts = np.linspace(-7.0, 7.0, 29)
    for first in firsts.tolist():
        up, down = math.exp(v * first - 0.5 * v * v), math.exp(-v * first - 0.5 * v * v)
        m = part * up + (1.0 - part) * down
        scales = up / m / steps, down / m / steps
        chance = math.exp(-0.5 * first * first) / math.sqrt(2.0 * math.pi) * 0.5 * m
        mean = float((masses * d).sum()) * sum(n * s for n, s in zip(groups, scales, strict=True))
        spread = math.sqrt(
            float((masses * np.minimum(d, 50.0) ** 2).sum())
            * sum(n * s * s for n, s in zip(groups, scales, strict=True))
        )
        step = (abs(mean) * 4.0 + 24.0 * spread) / points
        spectrum = np.ones(points // 2 + 1, complex)
        for count, scale in zip(groups, scales, strict=True):
            place = np.rint(np.minimum(d * scale / step, 0.4 * points)).astype(int) % points
            spectrum *= np.fft.rfft(np.bincount(place, masses, points)) ** count
        law = np.fft.irfft(spectrum, points)
        index = np.arange(points)
        sums = step * np.where(index < 0.6 * points, index, index - points)
        own = (up - alpha) / m / steps
        found += chance * float((np.maximum(own + sums, 0.0) * law).sum())
    return found
