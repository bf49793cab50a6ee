"""What the tests of trade-off functions share: questions, oracles and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp, mpf

from privcalc.accounting.realize import default_relation, realize
from privcalc.spec.parse import parse
from privcalc.tradeoff.function import trade_off
from tests.truths import holds, tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from privcalc.bounds import Bound
    from privcalc.engine.terms import Realized
    from privcalc.tradeoff.brackets import Curve
    from privcalc.tradeoff.function import TradeOff

mp.dps = 40
TOLERANCE = 1e-9
SMALL = [float(alpha) for alpha in np.geomspace(1e-9, 0.5, 20)]
ALPHAS = [*SMALL, *(1.0 - alpha for alpha in SMALL[::-1])]


def laws_of(text: str) -> dict[str, Realized]:
    """Realize a text under its default relation."""
    tree = parse(text).tree
    return realize(tree, default_relation(tree))


def curve_of(text: str, alphas: Sequence[float] = ALPHAS) -> TradeOff:
    """Return the trade-off function of a text."""
    return trade_off(laws_of(text), alphas, TOLERANCE)


def narrow(bound: Bound, tolerance: float = TOLERANCE) -> bool:
    """Say whether a bracket is relatively narrow."""
    return bound.width <= tolerance * bound.upper


def check(curve: Curve, alphas: Sequence[float], powers: Iterable[Any]) -> None:
    """Check brackets against the true power."""
    for alpha, beta, power, true in zip(alphas, curve.beta, curve.power, powers, strict=True):
        assert holds(power, true), (alpha, power, true)
        assert holds(beta, 1 - true), (alpha, beta, 1 - true)


def quantile(p: Any) -> Any:
    """Return the x with P(N > x) = p, by bisection."""
    low, high = mpf(-60), mpf(60)
    for _ in range(150):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > p else (low, middle)
    return low


def brute_powers(outcomes: Sequence[tuple[Any, Any]], alphas: Sequence[Any]) -> list[Any]:
    """Return the power of the best tests: outcomes by falling ratio, the last one by chance."""
    found = []
    for alpha in alphas:
        left, power = mpf(alpha), mpf(0)
        for p, q in outcomes:
            if q > left:
                power += p * left / q
                break
            power, left = power + p, left - q
        # The probabilities add up to 1 but for the last digits.
        found.append(mp.one if alpha == 1.0 else power)
    return found


def laws_of_rows(directory: Path, rows: Sequence[tuple[str, str]]) -> dict[str, Realized]:
    """Realize a mechanism of these probabilities."""
    path = directory / "table.csv"
    path.write_text("".join(f"{first} {other}\n" for first, other in rows))
    return laws_of(f"pmf:file={path}")
