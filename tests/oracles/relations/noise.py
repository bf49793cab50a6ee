"""Laws of noise in cells, and probabilities of comparisons between noisy numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtr

Array = Any
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def below(noise: str, x: Array) -> Array:
    """Return P(noise <= x), for noise of scale or deviation 1."""
    if noise == "gaussian":
        return ndtr(x)
    if noise == "laplace":
        return np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0)), 1 - 0.5 * np.exp(-np.maximum(x, 0)))
    if noise == "exponential":
        return -np.expm1(-np.maximum(x, 0.0))
    raise ValueError(noise)


def above(noise: str, x: Array) -> Array:
    """Return P(noise > x)."""
    if noise in ("gaussian", "laplace"):
        return below(noise, -x)
    return np.exp(-np.maximum(x, 0.0))


def density(noise: str, x: Array) -> Array:
    """Return the density of noise of scale or deviation 1."""
    if noise == "gaussian":
        return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    if noise == "laplace":
        return 0.5 * np.exp(-np.abs(x))
    return np.where(x >= 0, np.exp(-np.maximum(x, 0)), 0.0)


def cells(noise: str, centres: Array, scale: float, count: int) -> Array:
    """Return the masses of noisy numbers (rows) in cells (columns) that are told apart.

    Telling cells apart instead of numbers forgets something. Of Laplace noise all that matters is
    between the centres, where each is an end of a cell.
    """
    low, high = float(np.min(centres)), float(np.max(centres))
    reach = 8.5 * scale if noise == "gaussian" else 0.0
    ends = np.unique(np.r_[np.linspace(low - reach, high + reach, count), centres])
    return masses(noise, centres, scale, ends)


def masses(noise: str, centres: Array, scale: float, ends: Array) -> Array:
    """Return the masses between the ends, and beyond them."""
    x = (ends[None, :] - np.asarray(centres, float)[:, None]) / scale
    x = np.concatenate([np.full((len(x), 1), -np.inf), x, np.full((len(x), 1), np.inf)], axis=1)
    left, right = below(noise, x), above(noise, x)
    return np.where(x[:, 1:] <= 0.0, np.diff(left, axis=1), -np.diff(right, axis=1))


def quadrature(corners: Array, reach: float, width: float) -> tuple[Array, Array]:
    """Return nodes and weights that are exact for smooth functions between the corners."""
    points = np.unique(np.r_[-reach, reach, np.clip(corners, -reach, reach)])
    edges = [points[:1]]
    for left, right in pairwise(points):
        parts = max(1, int(np.ceil((right - left) / width)))
        edges.append(np.linspace(left, right, parts + 1)[1:])
    ends = np.concatenate(edges)
    half = 0.5 * np.diff(ends)
    middle = 0.5 * (ends[1:] + ends[:-1])
    nodes = (middle[:, None] + half[:, None] * NODES[None, :]).ravel()
    return nodes, (half[:, None] * WEIGHTS[None, :]).ravel()


def winners(noise: str, scores: Array) -> Array:
    """Return P(candidate wins), for scores (states by candidates) in units of the noise."""
    if noise == "gumbel":
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)
    found = np.empty_like(scores)
    for i, row in enumerate(scores):
        shifted = row - row.max()
        reach = (9.5 if noise == "gaussian" else 42.0) + float(-shifted.min())
        z, w = quadrature(shifted, reach, 1.0)
        left = below(noise, z[None, :] - shifted[:, None])
        dens = density(noise, z[None, :] - shifted[:, None])
        for j in range(scores.shape[1]):
            others = np.prod(np.delete(left, j, axis=0), axis=0)
            found[i, j] = float((dens[j] * others) @ w)
    return found
