"""Sums of weighted phases, sum_j w_j e^{i t l_j}, for many t at once.

On an arithmetic progression t = k h with k = a B + b the phase factors,
e^{itl} = e^{i a B h l} e^{i b h l}, and the whole table is a matrix product of two small tables:
about 2 sqrt(n) exponentials a node instead of n, the rest is multiplication. Where losses are an
arithmetic progression the same is done with them.

Rounding: each factor's angle is off by 2 units of itself (h is exact, a B h and b h too when h has
few bits, the product with l rounds once, and so does l's own last digit), sine and cosine by
4 units of 1 each, the complex product by 3: below 32 units of |w| plus 4 units of |w| |t l|. The
sum over j is charged by the caller.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray

PHASE_ULPS = 32.0
# Below this many points a plain table is as fast.
FACTOR_FROM = 48
CHUNK = 400_000
# Work for each sine and cosine, and for each complex product of a sum.
PER_PHASE, PER_PRODUCT = 0.3, 0.005


def phases(t: Array, loss: Array) -> ComplexArray:
    """Return the table e^{i t l}, a row for each t."""
    charge(PER_PHASE * len(t) * len(loss))
    return _table(t, loss)


def _table(t: Array, loss: Array) -> ComplexArray:
    angles = np.outer(t, loss)
    table: ComplexArray = np.empty(angles.shape, np.complex128)
    table.real, table.imag = np.cos(angles), np.sin(angles)
    return table


def phase_sums(t: Array, loss: Array, weights: Array) -> ComplexArray:
    """Return sum_j w_j e^{i t l_j} for every t; `weights` has a column for each set of weights."""
    charge(PER_PHASE * len(t) * len(loss))
    rows = max(1, CHUNK // max(1, len(loss)))
    result: ComplexArray = np.empty((len(t), weights.shape[1]), np.complex128)
    for i in range(0, len(t), rows):
        angles = np.outer(t[i : i + rows], loss)
        result.real[i : i + rows] = np.cos(angles) @ weights
        result.imag[i : i + rows] = np.sin(angles, out=angles) @ weights
    return result


def progression_sums(
    start: float, step: float, count: int, loss: Array, weights: Array
) -> ComplexArray:
    """Return the same for t = start + k step, k < count; one row for each t."""
    if count < FACTOR_FROM:
        return phase_sums(start + step * np.arange(count), loss, weights)
    block = 1 << math.ceil(math.log2(math.sqrt(count)))
    coarse = start + step * block * np.arange(-(-count // block))
    fine = phases(step * np.arange(block), loss).T
    rows = max(1, CHUNK // max(1, len(loss)))
    charge(PER_PRODUCT * weights.shape[1] * count * len(loss))
    result: ComplexArray = np.empty((len(coarse), block, weights.shape[1]), np.complex128)
    for i in range(0, len(coarse), rows):
        table = phases(coarse[i : i + rows], loss)
        for j, column in enumerate(weights.T):
            result[i : i + rows, :, j] = (table * column) @ fine
    return result.reshape(-1, weights.shape[1])[:count]


def lattice_sums(t: Array, first: int, step: float, weights: Array) -> ComplexArray:
    """Return sum_j w_j e^{i t l_j} for every t, where l_j = (first + j) step.

    With j = a B + b the factors split as on a progression of t. The weights are real, and a sum
    has no more than B + n / B roundings. The work is for the caller to charge.
    """
    block = lattice_block(len(weights))
    table = np.pad(weights, (0, -len(weights) % block)).reshape(-1, block).T
    coarse = step * (first + block * np.arange(table.shape[1]))
    fine = step * np.arange(block)
    rows = max(1, CHUNK // block)
    result: ComplexArray = np.empty(len(t), np.complex128)
    for i in range(0, len(t), rows):
        near = _table(t[i : i + rows], fine)
        sums = near.real @ table + 1j * (near.imag @ table)
        result[i : i + rows] = (sums * _table(t[i : i + rows], coarse)).sum(axis=1)
    return result


def lattice_block(count: int) -> int:
    """Return how many neighbours `lattice_sums` takes together, of so many losses."""
    return max(1, math.isqrt(count))


def block_sums(starts: Array, step: float, size: int, loss: Array, weights: Array) -> ComplexArray:
    """Return the sums of one set of weights at t = start + k step, k < size; a row a start."""
    fine = phases(step * np.arange(size), loss).T
    rows = max(1, CHUNK // max(len(loss), size))
    charge(PER_PRODUCT * len(starts) * size * len(loss))
    table: ComplexArray = np.empty((len(starts), size), np.complex128)
    for i in range(0, len(starts), rows):
        table[i : i + rows] = (phases(starts[i : i + rows], loss) * weights) @ fine
    return table
