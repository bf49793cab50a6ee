"""Laws of the amplified Renyi curve, on random mechanisms of every kind."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.compose import compose
from privcalc.accounting.subsample import Subsampled, subsample
from privcalc.errors import DomainError, NotCertifiedError, UnsupportedError
from privcalc.spec.parse import parse
from privcalc.spec.tree import Wrapped
from tests.random_mechanisms import Generator
from tests.random_specs import log_uniform

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

ORDERS = (1.25, 1.5, 2.0, 2.75, 3.0, 4.0, 5.0, 8.0, 12.5, 16.0, 32.0, 64.0)
# What rounding of a column may take from a law that holds for the numbers themselves.
SLACK = 1e-9


def questions(directory: Path, seed: int, number: int) -> Iterator[tuple[str, float]]:
    """Return random specifications with a sample and a delta."""
    rng = random.Random(seed)
    generator = Generator(rng, directory)
    for _ in range(number):
        parts = [generator.base().text for _ in range(rng.choices((1, 2), (5, 1))[0])]
        count = rng.choices((1, 2, 3), (6, 1, 1))[0]
        text = "+".join(parts) if count == 1 else f"({'+'.join(parts)})@{count}"
        if rng.random() < 0.75:
            sample = f"poisson:q={log_uniform(rng, 1e-5, 0.9)!r}"
        else:
            size = rng.randint(1, 10_000)
            sample = f"wor:n={size + rng.randint(1, 50_000)},m={size}"
        yield f"({text})@{sample}", log_uniform(rng, 1e-10, 0.1)


def check_curve(label: str, found: Subsampled) -> None:
    """Assert the order of the columns, monotonicity and convexity."""
    curve = found.curve
    for i, order in enumerate(curve.orders):
        upper = curve.upper[i]
        least = [column[i] for column in (curve.lower, curve.tight) if column is not None]
        assert upper <= curve.base[i] * (1.0 + SLACK), f"{label}: sampling adds, order {order}"
        if curve.lower is not None:
            assert min([upper, *least]) >= curve.lower[i], f"{label}: lower, order {order}"
        if curve.exact is None:
            continue
        exact = curve.exact[i]
        assert exact.lower is not None
        assert exact.lower <= upper, f"{label}: exact and upper, order {order}"
        if curve.lower is not None:
            assert curve.lower[i] <= exact.upper, f"{label}: lower and exact, order {order}"
        if curve.tight is not None:
            tight = curve.tight[i]
            assert exact.lower <= tight <= upper * (1.0 + SLACK), f"{label}: tight, order {order}"
            if order == int(order):
                assert tight <= exact.lower * (1.0 + 1e-6) + 1e-300, f"{label}: attained"
    check_shape(label, curve.orders, curve.upper)
    if curve.tight is not None:
        check_shape(label, curve.orders, curve.tight)
    if curve.exact is not None:
        check_shape(label, curve.orders, [bound.upper for bound in curve.exact])


def check_shape(label: str, orders: Sequence[float], column: Sequence[float]) -> None:
    """Assert that a column does not decrease, and (order - 1) times it is convex where finite."""
    finite = [(a - 1.0, (a - 1.0) * d) for a, d in zip(orders, column, strict=True) if d < math.inf]
    for (c, k), (d, j) in pairwise(finite):
        assert k / c <= j / d * (1.0 + SLACK) + 1e-300, f"{label}: decreases at order {d + 1.0}"
    for (b, i), (c, k), (d, j) in zip(finite, finite[1:], finite[2:], strict=False):
        chord = i + (j - i) * (c - b) / (d - b)
        assert k <= chord * (1.0 + 1e-6) + 1e-300, f"{label}: not convex at order {c + 1.0}"


def check_epsilon(label: str, found: Subsampled) -> None:
    """Assert that no Renyi accountant undercuts the certified epsilon."""
    for each in found.accounted:
        bound = each.answer.bound
        assert bound is not None
        floor = (bound.lower or 0.0) * (1.0 - 1e-12)
        assert floor <= each.rdp_best <= each.rdp_classic * (1.0 + 1e-12), label


def run(directory: Path, seed: int, number: int) -> None:
    """Ask and check; refusals have reasons of their own and are not what is tested here."""
    answered = 0
    for text, delta in questions(directory, seed, number):
        label, sampled = text, parse(text).tree
        assert isinstance(sampled, Wrapped)
        try:
            found = subsample(sampled, ORDERS, deltas=[delta], count=20, tolerance=1e-5)
        except (UnsupportedError, DomainError, NotCertifiedError):
            continue
        answered += 1
        check_curve(label, found)
        check_epsilon(label, found)
    assert answered >= 0.6 * number


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_many_random_mechanisms(seed: int, tmp_path: Path) -> None:
    """Eighty more."""
    run(tmp_path, seed, 20)


@pytest.mark.parametrize("text", ["gaussian:sigma=2", "laplace:scale=1", "rr:p=0.7"])
def test_sampling_never_costs(text: str) -> None:
    """Epsilon with a sampling is at most epsilon without, and grows with the rate."""
    last = 0.0
    for rate in ("1e-4", "0.01", "0.9"):
        bound = compose(parse(f"{text}@poisson:q={rate}@50").tree, deltas=[1e-6]).answers[0].bound
        assert bound is not None
        assert bound.lower is not None
        assert last <= bound.upper
        last = bound.lower
    whole = compose(parse(f"{text}@50").tree, deltas=[1e-6]).answers[0].bound
    assert whole is not None
    assert last <= whole.upper
