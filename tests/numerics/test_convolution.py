"""Cyclic sums against convolutions of whole numbers, and transforms against sums at 40 digits."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from mpmath import mp

from privcalc.numerics.fourier import Spectrum, fast_size, power, transform_error


def cyclic_sums(masses: list[int], first: int, size: int, count: int) -> list[int]:
    """Return masses of sums of so many numbers, added up one by one."""
    found = [1] + [0] * (size - 1)
    for _ in range(count):
        more = [0] * size
        for i, have in enumerate(found):
            for j, mass in enumerate(masses):
                more[(i + first + j) % size] += have * mass
        found = more
    return found


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize(("size", "first"), [(64, 0), (64, -5), (80, 61), (90, -200)])
def test_sums_are_within_their_error(count: int, size: int, first: int) -> None:
    """Whole numbers over 2^20, which are added up exactly; and the error is one of rounding."""
    rng = random.Random(f"{size} {first}")
    masses = [rng.choice((0, 1, 5, rng.randrange(2**16))) for _ in range(100)]
    spectrum = Spectrum.of(np.array(masses) / 2.0**20, first, size)
    values, error = spectrum.power(count)
    truth = cyclic_sums(masses, first, size, count)
    off = [
        abs(mp.mpf(v) - mp.mpf(t) / 2 ** (20 * count)) for v, t in zip(values, truth, strict=True)
    ]
    assert max(off) <= error
    assert error <= 1e-12 * max(1, count) * spectrum.total**count


def test_what_is_small_is_omitted_with_its_bound() -> None:
    """Of many numbers all frequencies but the lowest vanish: every sum is as likely."""
    spectrum = Spectrum.of(np.full(20, 0.05), 0, 64)
    values, error = spectrum.power(10**6)
    assert np.abs(values - 1.0 / 64.0).max() <= error
    assert error < 1e-8


@pytest.mark.parametrize("size", [64, 90, 120])
def test_transforms_are_as_good_as_is_said(size: int) -> None:
    """Each value by itself, and all together, by sums of 40 digits."""
    values = np.random.default_rng(size).random(size)
    found = np.fft.rfft(values)
    with mp.workdps(40):
        turns = [mp.expjpi(mp.mpf(-2 * k) / size) for k in range(size)]
        truth = [
            mp.fsum(mp.mpf(float(x)) * turns[j * k % size] for j, x in enumerate(values))
            for k in range(size // 2 + 1)
        ]
        off = [float(abs(mp.mpc(complex(a)) - b)) for a, b in zip(found, truth, strict=True)]
    assert max(off) <= transform_error(size) * float(values.sum())
    squares = 2.0 * sum(each**2 for each in off)
    assert math.sqrt(squares / size) <= transform_error(size) * float(np.linalg.norm(values))


def test_powers_and_sizes() -> None:
    """Powers by squaring; sizes are even and have no other factors than 2, 3 and 5."""
    assert power(np.array([2.0 + 1.0j]), 11)[0] == pytest.approx((2.0 + 1.0j) ** 11, rel=1e-14)
    assert [fast_size(n) for n in (1, 65, 97, 1000, 1025)] == [2, 72, 100, 1024, 1080]
    for least in range(1, 3000, 7):
        size = rest = fast_size(least)
        assert size >= least
        assert size % 2 == 0
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        assert rest == 1
