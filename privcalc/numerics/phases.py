"""Sums of weighted phases, sum_j w_j e^{i t l_j}, for many t at once.

On an arithmetic progression t = k h with k = a B + b the phase factors,
e^{itl} = e^{i a B h l} e^{i b h l}, and the whole table is a matrix product of two small tables:
about 2 sqrt(n) exponentials a node instead of n, the rest is multiplication. Where losses are an
arithmetic progression the same is done with them.

Rounding: each factor's angle is off by 2 units of itself (h is exact, a B h and b h too when h has
few bits, the product with l rounds once, and so does l's own last digit), sine and cosine by
4 units of 1 each, the complex product by 3: below 32 units of |w| plus 4 units of |w| |t l|. The
sum over j is formed of runs of SUMMED terms, so that no term sees more roundings than those of its
run and one for each run; `sum_units` is what that comes to, and is for the caller to charge.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from privcalc.numerics.rounding import COMPLEX_TERM
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray

Matrix = TypeVar("Matrix", "Array", "ComplexArray")

PHASE_ULPS = 32.0
# Below this many points a plain table is as fast.
FACTOR_FROM = 48
CHUNK = 400_000
# Terms of a run of a sum.
SUMMED = 128
# Work for each sine and cosine, and for each complex product of a sum.
PER_PHASE, PER_PRODUCT = 0.3, 0.005


def sum_units(count: int) -> float:
    """Return the units of the moduli by which a sum of so many terms is off, formed of runs."""
    return COMPLEX_TERM * (min(count, SUMMED) + -(-count // SUMMED))


def run_sums(terms: Array) -> Array:
    """Return the sums of rows of real terms, formed of runs; the axis is kept."""
    if terms.shape[-1] <= SUMMED:
        whole: Array = terms.sum(axis=-1, keepdims=True)
        return whole
    starts = np.arange(0, terms.shape[-1], SUMMED)
    result: Array = np.add.reduceat(terms, starts, axis=-1).sum(axis=-1, keepdims=True)
    return result


def _product(left: Matrix, right: Matrix) -> Matrix:
    """Return a product of matrices, whose sums are formed of runs."""
    total: Matrix = left[..., :SUMMED] @ right[..., :SUMMED, :]
    for i in range(SUMMED, left.shape[-1], SUMMED):
        total += left[..., i : i + SUMMED] @ right[..., i : i + SUMMED, :]
    return total


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
        result.real[i : i + rows] = _product(np.cos(angles), weights)
        result.imag[i : i + rows] = _product(np.sin(angles, out=angles), weights)
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
            result[i : i + rows, :, j] = _product(table * column, fine)
    return result.reshape(-1, weights.shape[1])[:count]


def phase_rows(t: Array, loss: Array, weights: Array) -> ComplexArray:
    """Return sum_j w_j e^{i t l_j} for every t, a row for each row of losses and weights."""
    charge(PER_PHASE * len(t) * loss.size)
    result: ComplexArray = np.empty((len(loss), len(t)), np.complex128)
    rows = max(1, CHUNK // max(1, len(t) * loss.shape[1]))
    for i in range(0, len(loss), rows):
        part = slice(i, i + rows)
        angles = t[None, :, None] * loss[part, None, :]
        column = weights[part, :, None]
        result.real[part] = _product(np.cos(angles), column)[:, :, 0]
        result.imag[part] = _product(np.sin(angles, out=angles), column)[:, :, 0]
    return result


def progression_rows(step: float, count: int, loss: Array, weights: Array) -> ComplexArray:
    """Return the same at t = k step, k < count."""
    block = 1 << math.ceil(math.log2(max(2.0, math.sqrt(count))))
    coarse, fine = step * block * np.arange(-(-count // block)), step * np.arange(block)
    charge(loss.size * (PER_PHASE * (len(coarse) + block) + PER_PRODUCT * count))
    result: ComplexArray = np.empty((len(loss), len(coarse) * block), np.complex128)
    rows = max(1, CHUNK // max(1, (len(coarse) + block) * loss.shape[1]))
    for i in range(0, len(loss), rows):
        part = slice(i, i + rows)
        far = np.exp(1j * (coarse[None, :, None] * loss[part, None, :])) * weights[part, None, :]
        near = np.exp(1j * (loss[part, :, None] * fine))
        result[part] = _product(far, near).reshape(len(far), -1)
    return result[:, :count]
