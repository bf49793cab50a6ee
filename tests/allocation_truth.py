"""Random allocation without lattices: Laplace transforms, sampling, and sums over permutations."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.arrays import Array


def put(sigma: float, steps: int, strike: float) -> float:
    """Return E (strike - S)_+ for the sum S of all ratios, by inverting its Laplace transform."""
    v = 1.0 / sigma
    z = np.linspace(-11.0, 11.0, 1201)
    u = np.exp(v * z - 0.5 * v * v)
    w = np.exp(-0.5 * z * z)
    w /= w.sum()
    rates = np.geomspace(1e-5, 1e5, 300)
    with np.errstate(divide="ignore"):
        logs = steps * np.log(np.exp(-np.outer(rates, u)) @ w) + rates * strike - 2 * np.log(rates)
    logs[np.isneginf(logs)] = np.inf
    g, top = float(rates[np.argmin(logs)]), float(logs.min())
    tilted = w * np.exp(-g * u)
    tilted /= tilted.sum()
    mean = float(tilted @ u)
    wide = math.sqrt(steps * (float(tilted @ (u * u)) - mean * mean) + 2.0 / g**2)
    step = 0.1 / wide
    total = 0.0
    for first in range(0, 200_000, 256):
        rate = g + 1j * step * np.arange(first, first + 256)
        moments = np.exp(-np.outer(rate, u)) @ w
        terms = np.exp(steps * np.log(moments) + rate * strike - top) / rate**2
        terms[0] *= 1.0 if first else 0.5
        total += float(terms.real.sum())
        if float(np.abs(terms).max()) < 1e-15:
            break
    return total * step / math.pi * math.exp(top)


def delta_once(sigma: float, steps: int, epsilon: float, *, add: bool) -> float:
    """Return delta of one epoch."""
    if add:
        return math.exp(epsilon) / steps * put(sigma, steps, steps * math.exp(-epsilon))
    return -math.expm1(epsilon) + put(sigma, steps, steps * math.exp(epsilon)) / steps


def sampled_delta(
    sigma: float, steps: int, epochs: int, epsilon: float, *, add: bool, seed: int, size: int
) -> tuple[float, float]:
    """Return delta of several epochs with its standard error, sampled where the record is."""
    rng = np.random.default_rng(seed)
    v = 1.0 / sigma
    total = np.zeros(size)
    for _ in range(epochs):
        x = rng.standard_normal((size, steps))
        if not add:
            x[:, 0] += v
        ratio = np.exp(v * x - 0.5 * v * v).mean(axis=1)
        total += -np.log(ratio) if add else np.log(ratio)
    values = np.maximum(-np.expm1(epsilon - total), 0.0)
    return float(values.mean()), float(values.std() / math.sqrt(size))


def permuted_delta(
    sigma: float, epsilon: float, others: Callable[[int, Array], Array], steps: int, points: int
) -> tuple[float, float]:
    """Return delta for removing and adding one of `steps` records, one in each batch.

    Args:
        sigma: the noise.
        epsilon: see above.
        others: what the i-th other record adds to its step, given the last output.
        steps: 2 or 3.
        points: of the grid, in each direction.
    """
    axis = np.linspace(-1.0 - 7.0 * sigma, 1.0 + 7.0 * sigma, points)
    outputs = np.meshgrid(*[axis] * steps, indexing="ij")
    laws = []
    for own in (1.0, 0.0):
        density = np.zeros(outputs[0].shape)
        for order in itertools.permutations(range(steps)):
            product = np.ones(outputs[0].shape)
            last = np.zeros(outputs[0].shape)
            for place, output in zip(order, outputs, strict=True):
                mean = np.full(last.shape, own) if place == 0 else others(place, last)
                product *= np.exp(-0.5 * ((output - mean) / sigma) ** 2)
                last = output
            density += product
        laws.append(density / density.sum())
    growth = math.exp(epsilon)
    first, second = laws
    return (
        float(np.maximum(first - growth * second, 0.0).sum()),
        float(np.maximum(second - growth * first, 0.0).sum()),
    )
