"""Histories and ledgers of many different parts: widths, orders, and independent sums."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.pairs import bracket

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array


def history(n: int, seed: int) -> list[tuple[float, float, int]]:
    """Return noise that falls and batches that grow, all of them different."""
    r = random.Random(f"history {n} {seed}")
    noise = [1.5 * (0.829 / 1.5) ** (k / n) * r.uniform(1.0, 1.001) for k in range(n)]
    return [(s, 0.004 * r.uniform(1.0, 1.5), r.randint(5, 20)) for s in noise]


def text(parts: list[tuple[float, float, int]]) -> str:
    """Return the specification of a history."""
    return "+".join(f"gaussian:sigma={s!r}@poisson:q={q!r}@{n}" for s, q, n in parts)


KINDS: dict[str, Callable[[random.Random], str]] = {
    "laplace": lambda r: f"laplace:scale={r.uniform(20, 200):.6g}",
    "rr": lambda r: f"rr:epsilon={r.uniform(0.005, 0.1):.6g}",
    "pure": lambda r: f"pure:epsilon={r.uniform(0.005, 0.1):.6g}",
    "discrete-laplace": lambda r: f"discrete-laplace:epsilon={r.uniform(0.005, 0.1):.6g}",
    "discrete-gaussian": lambda r: f"discrete-gaussian:sigma={r.uniform(20, 200):.6g}",
}


def ledger(kind: str, n: int) -> str:
    """Return n different releases of a kind, or of all kinds."""
    r = random.Random(f"ledger {kind} {n}")
    kinds = list(KINDS.values()) if kind == "mixed" else [KINDS[kind]]
    return "+".join(r.choice(kinds)(r) for _ in range(n))


def relative(spec: str, delta: float = 1e-6) -> float:
    """Return the relative width of epsilon."""
    low, high = bracket(spec, delta=delta)
    return (high - low) / high


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("n", "seed"),
    [
        (10, 1),
        (100, 1),
        pytest.param(1000, 3, marks=pytest.mark.slow),
    ],
)
def test_histories_are_narrow(n: int, seed: int) -> None:
    """However long they are; 300 were refused."""
    assert relative(text(history(n, seed))) <= 1e-6


@pytest.mark.few(2)
@pytest.mark.parametrize("n", [30, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [*KINDS, "mixed"])
def test_ledgers_are_narrow(kind: str, n: int) -> None:
    """The width that ten parts have is that of hundreds."""
    assert relative(ledger(kind, n)) <= (1e-6 if n < 100 else 1e-5)


STEP, CELLS, USED = 2e-5, 2**19, 180_000


def _rounded(
    parts: list[tuple[float, float, int]], *, remove: bool, up: bool
) -> tuple[Array, float]:
    """Return P-masses of total losses on a grid, of losses rounded up or down, and what is beyond.

    Cells of one use have the masses of intervals of the output, by erfc; what is above all of them
    is beyond where losses are rounded up, and in the last cell where not.
    """
    from scipy.special import ndtr

    total, beyond = np.ones(CELLS // 2 + 1, complex), 0.0
    for sigma, q, count in parts:
        mu, floor = 1.0 / sigma, math.log1p(-q)
        ends = STEP * np.arange(math.floor(floor / STEP), math.floor(floor / STEP) + USED)
        # The output at which log(1 - q + q e^{mu z - mu^2 / 2}) is a loss.
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.log(np.maximum(np.exp(ends) - (1.0 - q), 0.0) / q) / mu + mu / 2.0
        plain, moved = ndtr(z), ndtr(z - mu)
        if remove:
            masses = np.diff((1.0 - q) * plain + q * moved)
            first = round(ends[0] / STEP)
            places = first + np.arange(len(masses)) + (1 if up else 0)
            rest = (1.0 - q) * ndtr(-z[-1]) + q * ndtr(mu - z[-1])
            masses[-1] += 0.0 if up else rest
            beyond += count * rest if up else 0.0
        else:
            masses = np.diff(plain)
            places = -(round(ends[0] / STEP) + np.arange(len(masses))) - (0 if up else 1)
        grid = np.zeros(CELLS)
        np.add.at(grid, places % CELLS, masses)
        total *= np.fft.rfft(grid) ** count
    return np.fft.irfft(total, CELLS), beyond


def _delta(found: tuple[Array, float], epsilon: float) -> float:
    masses, beyond = found
    losses = STEP * (np.arange(CELLS) - CELLS * (np.arange(CELLS) >= CELLS // 2))
    above = losses > epsilon
    return beyond + float((masses[above] * -np.expm1(epsilon - losses[above])).sum())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_histories_agree_with_naive_sums(seed: int) -> None:
    """Losses of 50 different entries rounded up, and down, to a grid, and composed by FFT."""
    r = random.Random(seed)
    parts = [
        (r.uniform(0.8, 2.0), math.exp(r.uniform(math.log(1e-3), math.log(2e-2))), r.randint(1, 40))
        for _ in range(50)
    ]
    uses = sum(n for _, _, n in parts)
    epsilon = 1.0
    low, high = bracket(text(parts), epsilon=epsilon)
    found = {
        (remove, up): _delta(_rounded(parts, remove=remove, up=up), epsilon)
        for remove in (True, False)
        for up in (True, False)
    }
    # Rounding of the transforms, and outcomes beyond the grid.
    slack = 1e-13 * uses
    assert low <= max(found[True, True], found[False, True]) + slack
    assert high >= max(found[True, False], found[False, False]) - slack
    assert high - low <= 1e-6 * high
