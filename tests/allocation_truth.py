"""Random allocation without lattices: sums over permutations."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array


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
