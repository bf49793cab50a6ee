"""Sums of weighted phases, sum_j w_j e^{i t l_j}, for many t at once; of many laws in rows.

On an arithmetic progression t = k h with k = a B + b the phase factors,
e^{itl} = e^{i a B h l} e^{i b h l}, and the whole table is a matrix product of two small tables:
about 2 sqrt(n) exponentials a node instead of n, the rest is multiplication.

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
    from collections.abc import Iterator

    from privcalc.numerics.arrays import Array, ComplexArray

Matrix = TypeVar("Matrix", "Array", "ComplexArray")

PHASE_ULPS = 32.0
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


def phase_sums(t: Array, loss: Array, weights: Array) -> ComplexArray:
    """Return sum_j w_j e^{i t l_j} for every t; a row for each row of losses and weights."""
    if loss.ndim == 1:
        one: ComplexArray = phase_sums(t, loss[None], weights[None])[0]
        return one
    charge(PER_PHASE * len(t) * loss.size)
    result: ComplexArray = np.empty((len(loss), len(t)), np.complex128)
    for part in _parts(len(loss), len(t), loss.shape[1]):
        angles = t[part[1], None] * loss[part[0], None, :]
        column = weights[part[0], :, None]
        result.real[part] = _product(np.cos(angles), column)[..., 0]
        result.imag[part] = _product(np.sin(angles, out=angles), column)[..., 0]
    return result


def progression_sums(step: float, count: int, loss: Array, weights: Array) -> ComplexArray:
    """Return the same at t = k step, k < count."""
    if loss.ndim == 1:
        one: ComplexArray = progression_sums(step, count, loss[None], weights[None])[0]
        return one
    block = 1 << math.ceil(math.log2(math.sqrt(count)))
    coarse, fine = step * block * np.arange(-(-count // block)), step * np.arange(block)
    charge(loss.size * (PER_PHASE * (len(coarse) + block) + PER_PRODUCT * count))
    result: ComplexArray = np.empty((len(loss), len(coarse), block), np.complex128)
    near: ComplexArray = np.zeros(0, np.complex128)
    for part in _parts(len(loss), len(coarse), loss.shape[1]):
        if part[1].start == 0:
            near = _table(loss[part[0], :, None] * fine)
        far = _table(coarse[part[1], None] * loss[part[0], None, :])
        far *= weights[part[0], None, :]
        result[part] = _product(far, near)
    return result.reshape(len(loss), -1)[:, :count]


def _parts(rows: int, points: int, terms: int) -> Iterator[tuple[slice, slice]]:
    """Divide rows and points, so that tables of both and all terms stay in a cache."""
    at_once = max(1, CHUNK // max(1, points * terms))
    most = max(1, CHUNK // max(1, terms))
    for i in range(0, rows, at_once):
        for j in range(0, points, most):
            yield slice(i, i + at_once), slice(j, j + most)


def _table(angles: Array) -> ComplexArray:
    table: ComplexArray = np.empty(angles.shape, np.complex128)
    table.real, table.imag = np.cos(angles), np.sin(angles)
    return table
