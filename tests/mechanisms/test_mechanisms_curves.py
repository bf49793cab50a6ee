"""Mechanisms that are known by their Renyi curve only: zcdp and rdp."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privcalc.accounting.compose import compose
from privcalc.errors import DomainError, NotCertifiedError, SpecError, UnsupportedError
from privcalc.renyi.curve import PointsCurve
from privcalc.spec.parse import parse
from tests.pairs import built

if TYPE_CHECKING:
    from pathlib import Path

    from privcalc.accounting.directions import Answer
    from privcalc.relation import Relation


def ask(text: str, delta: float, relation: Relation | None = None) -> Answer:
    """Return the answer to one question."""
    return compose(parse(text).tree, deltas=[delta], relation=relation).answers[0]


def upper(text: str, delta: float) -> float:
    """Return the upper end, and assert that there is no lower one."""
    answer = ask(text, delta)
    assert answer.bound is not None
    assert answer.bound.lower is None
    assert answer.method.engine == "rdp"
    return answer.bound.upper


class TestZcdp:
    def test_census(self) -> None:
        """Rho = 2.56 at delta 1e-10 costs at most what the conversion of Balle et al. gives."""
        answer = ask("zcdp:rho=2.56", 1e-10)
        assert answer.bound is not None
        assert 17.0 < answer.bound.upper <= 17.158309
        assert answer.method.order == pytest.approx(3.909, abs=0.02)
        assert upper("zcdp:rho=2.56+zcdp:rho=0.07", 1e-10) == pytest.approx(
            upper("zcdp:rho=2.63", 1e-10), rel=1e-12
        )

    def test_groups(self) -> None:
        """Rho grows with the square of the size, and xi > 0 is refused."""
        assert upper("zcdp:rho=0.1@group:k=3", 1e-6) == pytest.approx(
            upper("zcdp:rho=0.9", 1e-6), rel=1e-12
        )
        with pytest.raises(UnsupportedError, match="xi=0"):
            ask("zcdp:rho=0.1,xi=1@group:k=2", 1e-6)

    def test_at_delta_0_and_1(self) -> None:
        """Nothing is proved at delta 0, and everything holds at 1."""
        with pytest.raises(NotCertifiedError):
            ask("zcdp:rho=0.1", 0.0)
        bound = ask("zcdp:rho=0.1", 1.0).bound
        assert bound is not None
        assert bound.upper == 0.0

    def test_with_an_infinite_loss(self) -> None:
        """What may reveal everything takes its probability from delta."""
        alone = upper("zcdp:rho=0.1", 1e-6)
        both = upper("zcdp:rho=0.1+approx:epsilon=0,delta=5e-7", 1e-6)
        assert alone < both < alone + 0.2
        bound = ask("zcdp:rho=0.1+approx:epsilon=0,delta=1e-5", 1e-6).bound
        assert bound is not None
        assert bound.upper == math.inf


class TestRdp:
    def test_file(self, tmp_path: Path) -> None:
        """Points in any order, and JSON or text."""
        text = tmp_path / "a.csv"
        text.write_text("order epsilon\n32 0.64\n2 0.04\n8 0.16\n")
        other = tmp_path / "a.json"
        other.write_text('{"order": [2, 8, 32], "epsilon": [0.04, 0.16, 0.64]}')
        first, second = (upper(f"rdp:file={file}", 1e-6) for file in (text, other))
        assert first == second
        assert upper("zcdp:rho=0.02", 1e-6) <= first

    def test_infinite_order(self, tmp_path: Path) -> None:
        """`inf` is pure differential privacy: a bound at every delta."""
        file = tmp_path / "a.csv"
        file.write_text("2 0.1\ninf 0.3\n")
        bound = ask(f"rdp:file={file}", 0.0).bound
        assert bound is not None
        assert bound.lower is None
        assert bound.upper == pytest.approx(0.3)
        assert upper(f"rdp:file={file}", 1e-30) <= 0.3 * (1 + 1e-12)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("1 0.5\n", "the order must be > 1"),
            ("2 -0.5\n", "epsilon must be in"),
        ],
    )
    def test_bad_files(self, content: str, message: str, tmp_path: Path) -> None:
        """A fault is named with its line."""
        file = tmp_path / "a.csv"
        file.write_text(content)
        with pytest.raises(DomainError, match=message):
            ask(f"rdp:file={file}", 1e-5)

    def test_what_is_refused(self, tmp_path: Path) -> None:
        """Both forms at once, neither, an order of 1, and groups."""
        for text in ("rdp:order=2", "rdp:order=1,epsilon=2", "rdp:epsilon=1"):
            with pytest.raises(SpecError):
                parse(text)
        file = tmp_path / "a.csv"
        file.write_text("2 1\n")
        with pytest.raises(UnsupportedError, match="state the points for the group"):
            ask(f"rdp:file={file}@group:k=2", 1e-5)

    def test_both_forms_build(self) -> None:
        """One point is the file of one line."""
        assert built("rdp:order=3,epsilon=0.25").points == ((3.0, 0.25),)
        curve = built("rdp:order=3,epsilon=0.25").law().curve
        assert curve.upper(np.array([2.0]))[0] == pytest.approx(0.5, rel=1e-15)


@given(
    st.lists(
        st.tuples(st.floats(0.01, 100.0), st.floats(0.0, 50.0)), min_size=1, max_size=6,
        unique_by=lambda point: point[0],
    ),
    st.one_of(st.just(math.inf), st.floats(0.1, 60.0)),
    st.floats(0.005, 200.0),
)  # fmt: skip
def test_points_give_the_largest_convex_curve(
    points: list[tuple[float, float]], limit: float, c: float
) -> None:
    """The bound is the least of all chords between two points, the origin and the last slope."""
    points = sorted(points)
    found = float(PointsCurve(tuple(points), limit).upper(np.array([c]))[0])
    corners = [(mpmath.mpf(0), mpmath.mpf(0))] + [(mpmath.mpf(x), mpmath.mpf(k)) for x, k in points]
    bounds = [k for x, k in corners if x == c]
    bounds += [k + (c - x) * (j - k) / (y - x) for x, k in corners for y, j in corners if x < c < y]
    if limit < math.inf:
        bounds += [k + (c - x) * mpmath.mpf(limit) for x, k in corners if x <= c]
    if not bounds:
        assert found == math.inf
    else:
        least = min(bounds)
        assert found >= least
        assert found <= least * (1 + mpmath.mpf("1e-12")) + mpmath.mpf("1e-12")


@pytest.mark.parametrize(
    ("text", "delta", "simple", "value"),
    [
        # The conversion in closed form, and the least over orders of that of Canonne, Kamath,
        # Steinke (2020).
        ("zcdp:rho=0.1,omega=20", 1e-6, 2.450788000, 2.141938928),
        ("zcdp:rho=0.1,omega=5", 1e-6, 3.953877639, 3.328374610),
        ("zcdp:rho=0.01,omega=10", 1e-9, 2.402585093, 2.041381789),
        ("zcdp:rho=0.5,omega=4", 1e-5, 5.837641822, 5.087861629),
    ],
)
def test_truncated_concentration(text: str, delta: float, simple: float, value: float) -> None:
    """Epsilon is no more than published conversions prove, and not below that of a Gaussian."""
    gaussian = upper(text.split(",", maxsplit=1)[0], delta)
    assert gaussian * (1 - 1e-9) <= upper(text, delta) <= value * (1 + 1e-9) < simple


def test_beyond_omega_nothing_is_known() -> None:
    """The order itself counts; sums know the least; a group is refused."""
    curve = built("zcdp:rho=0.5,omega=4").law().curve
    found = curve.upper(np.array([3.0, 3.001]))
    assert found[0] == pytest.approx(3.0 * 0.5 * 4)
    assert found[1] == math.inf
    both = upper("zcdp:rho=0.25,omega=4+zcdp:rho=0.25,omega=9", 1e-5)
    assert both == pytest.approx(upper("zcdp:rho=0.5,omega=4", 1e-5), rel=1e-6)
    with pytest.raises(UnsupportedError, match="all orders only"):
        ask("zcdp:rho=0.1,omega=5@group:k=2", 1e-5)
