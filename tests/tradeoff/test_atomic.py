"""Trade-off functions of pairs with few outcomes against brute force, at corners above all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mpmath import mp, mpf

from privcalc.tradeoff.function import trade_off
from tests.trade_off_helpers import (
    ALPHAS,
    TOLERANCE,
    brute_powers,
    check,
    curve_of,
    laws_of,
    laws_of_rows,
    narrow,
)

if TYPE_CHECKING:
    from pathlib import Path

CORNERS = [
    [("1e-6", "1/2"), ("0.999999", "1/2")],
    [("1/2", "0"), ("1/2", "1")],
    [("1/2", "0"), ("1/2", "0.999999"), ("0", "1e-6")],
    [("0.001", "0.999"), ("0.999", "0.001")],
    [("1", "1e-40"), ("0", f"0.{40 * '9'}")],
    [("1/3", "1/3"), ("1/3", "1/2"), ("1/3", "1/6")],
]


@pytest.mark.parametrize("rows", CORNERS)
def test_corners(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    """Where the chance of an outcome begins or ends brackets are as narrow as elsewhere."""
    with mp.workdps(60):
        pairs = [(mpf_of(first), mpf_of(other)) for first, other in rows]
        alphas = [0.0, 1e-9, 1e-6, 0.001, 1 / 3, 0.5, 2 / 3, 0.999, 0.999999, 1.0]
        found = trade_off(laws_of_rows(tmp_path, rows), alphas, TOLERANCE)
        for name, curve in found.directions.items():
            pair = [(q, p) for p, q in pairs] if name == "remove" else pairs
            falling = sorted(pair, key=lambda each: each[1] / each[0] if each[0] else mp.inf)
            check(curve, alphas, brute_powers(falling, alphas))
            for beta, power in zip(curve.beta, curve.power, strict=True):
                assert narrow(power, 1e-8)
                # Masses are known to 32 units and losses to 160, not to those of a small beta.
                assert beta.width <= 1e-8


def mpf_of(word: str) -> Any:
    """Return the number that a decimal or a ratio stands for."""
    top, _, bottom = word.partition("/")
    return mpf(top) / mpf(bottom or 1)


def test_nothing_in_common(tmp_path: Path) -> None:
    """Laws that share no outcome are told apart without error, alone and among others."""
    rows = [("1", "0"), ("0", "1")]
    laws = laws_of_rows(tmp_path, rows)
    path = tmp_path / "table.csv"
    for each in (laws, laws_of(f"pmf:file={path}@3+gaussian:sigma=1")):
        for engine in ("auto", "contour", "fft"):
            curve = trade_off(each, [0.0, 0.3, 1.0], TOLERANCE, engine=engine).worst
            assert [(power.lower, power.upper) for power in curve.power] == [(1.0, 1.0)] * 3
            assert [(beta.lower, beta.upper) for beta in curve.beta] == [(0.0, 0.0)] * 3


@pytest.mark.parametrize("engine", ["contour", "fft"])
def test_extreme_losses(tmp_path: Path, engine: str) -> None:
    """Losses that are all 0 are no obstacle to engines that are forced."""
    alphas = [0.0, 1e-300, 0.3, 0.999999, 1.0]
    laws_of_rows(tmp_path, [("1", "1")])
    same = laws_of(f"pmf:file={tmp_path / 'table.csv'}@5")
    check(trade_off(same, alphas, TOLERANCE, engine=engine).worst, alphas, map(mpf, alphas))


def test_groups_follow_the_chain(tmp_path: Path) -> None:
    """The power of a group of two with few outcomes is that of the power of one."""
    laws_of_rows(tmp_path, [("1/2", "1/3"), ("1/2", "2/3")])
    curve = curve_of(f"pmf:file={tmp_path / 'table.csv'}@group:k=2", [0.0, 0.1, 0.5, 1.0]).worst
    single = curve_of(f"pmf:file={tmp_path / 'table.csv'}", [0.0, 0.1, 0.5, 1.0]).worst
    # With (first, other) the power is 3 y / 2 up to 1/3, so that 0.1 gives 0.15 and 0.225; with the
    # columns exchanged it is 4 y / 3 up to 1/2, then (1 + 2 y) / 3: 1/2 gives 2/3 and 7/9.
    for index, power in ((1, 0.225), (2, 7.0 / 9.0)):
        lower = curve.power[index].lower
        assert lower is not None
        assert lower <= power <= curve.power[index].upper
        assert lower == pytest.approx(curve.power[index].upper, rel=1e-8)
        assert lower > 1.1 * single.power[index].upper
        assert curve.beta[index].lower == pytest.approx(1.0 - curve.power[index].upper)
        assert curve.beta[index].upper == pytest.approx(1.0 - lower)


@pytest.mark.parametrize("p", ["0.73", "0.999", "0.501"])
def test_randomized_response(p: str) -> None:
    """The power is alpha p / (1 - p) up to alpha = 1 - p, and then rises to 1 as slowly."""
    right = mpf(float(p))
    alphas = [*ALPHAS, 1.0 - float(p), 0.25]
    ratio = right / (1 - right)
    powers = [min(mpf(a) * ratio, 1 - (1 - mpf(a)) / ratio) for a in alphas]
    curve = curve_of(f"rr:p={p}", alphas).worst
    check(curve, alphas, powers)
    assert all(narrow(a) or narrow(b) for a, b in zip(curve.power, curve.beta, strict=True))


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (0.0, 1e-8), (3.0, 0.0), (0.1, 0.3)])
def test_approximate_guarantee(epsilon: float, delta: float) -> None:
    """Beta = max(0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha))."""
    alphas = [0.0, *ALPHAS, 1.0]
    e, d = mp.exp(mpf(epsilon)), mpf(delta)
    betas = [max(mpf(0), 1 - d - e * mpf(a), (1 - d - mpf(a)) / e) for a in alphas]
    curve = curve_of(f"approx:epsilon={epsilon},delta={delta}", alphas).worst
    check(curve, alphas, [1 - beta for beta in betas])
    assert all(narrow(power) for power in curve.power)
