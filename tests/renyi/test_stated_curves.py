"""Curves that are given, and those of votes: nothing is claimed beyond what they say."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import exp, log, mpf, ncdf, sqrt

from privcalc.renyi.curve import LinearCurve, PointsCurve
from privcalc.renyi.votes import VotesCurve

if TYPE_CHECKING:
    from collections.abc import Sequence

POINTS = ((1.0, 0.25), (3.0, 1.25))


@pytest.mark.parametrize("limit", [math.inf, 2.0, 0.75])
def test_beyond_the_last_point(limit: float) -> None:
    """K may grow as fast as the largest loss, and without one nothing is known."""
    curve = PointsCurve(POINTS, limit)
    inside, beyond = curve.upper(np.array([0.5, 1.0, 2.0, 3.0])), curve.upper(np.array([3.5, 9.0]))
    # Chords of the convex cumulant.
    assert inside == pytest.approx([0.125, 0.25, 0.75, 1.25], rel=1e-12)
    assert (beyond >= 1.25 + limit * np.array([0.5, 6.0])).all()
    assert (beyond <= (1.25 + limit * np.array([0.5, 6.0])) * (1.0 + 1e-12)).all()


def test_the_last_order_as_it_was_written() -> None:
    """Up to there the divergence is stated, and beyond it is not, however near."""
    order = Fraction(4) + Fraction(1, 10**20)
    curve = PointsCurve(POINTS, last=(order, 1.25 / 3.0))
    c = np.full(3, math.nextafter(4.0, 5.0) - 1.0)
    near = [order - Fraction(1, 10**21), order, order + Fraction(1, 10**21)]
    found = curve.stated(c, near)
    assert found[:2] == pytest.approx([1.25, 1.25], rel=1e-12)
    assert found[2] == math.inf


def test_a_line_of_numbers_that_are_off() -> None:
    """Slope and intercept may both be larger by their error."""
    curve = LinearCurve(0.25, 0.5, error=1e-3)
    xi, rho = curve.line(np.array([2.0]))
    assert xi >= 0.5 * (1.0 + 1e-3)
    assert rho[0] >= 0.25 * (1.0 + 1e-3)
    c = np.array([0.5, 4.0])
    assert (curve.upper(c) >= c * (0.5 + 0.25 * (c + 1.0)) * (1.0 + 1e-3)).all()
    assert LinearCurve(0.0, 0.5, error=1e-3).limit >= 0.5 * (1.0 + 1e-3)


def divergences(first: Sequence[mpf], second: Sequence[mpf], c: float) -> tuple[mpf, mpf]:
    """Return K of two laws in both orders."""
    forward = sum(p * (p / q) ** c for p, q in zip(first, second, strict=True))
    back = sum(q * (q / p) ** c for p, q in zip(first, second, strict=True))
    return log(forward), log(back)


@pytest.mark.parametrize("votes", [(5, 4), (9, 1), (3, 3), (7, 0)])
def test_votes_of_two_classes(votes: tuple[int, int]) -> None:
    """The first wins where one normal number is below the gap; a vote that moves changes it by 2.

    The worse of both orders counts, of a vote that moves either way.
    """
    sigma = mpf("1.5")

    def chances(gap: int) -> tuple[mpf, mpf]:
        return ncdf(gap / (sqrt(2) * sigma)), ncdf(-gap / (sqrt(2) * sigma))

    gap = votes[0] - votes[1]
    moves = [gap - 2] + ([gap + 2] if votes[1] else [])
    for c in (0.5, 1.0, 7.0):
        truth = max(max(divergences(chances(gap), chances(to), c)) for to in moves)
        found = float(VotesCurve(votes, 1.5).upper(np.array([c]))[0])
        assert truth <= found
        assert found <= truth * (1 + mpf(10) ** -9)
    largest = max(
        abs(log(a / b)) for to in moves for a, b in zip(chances(gap), chances(to), strict=True)
    )
    assert exp(VotesCurve(votes, 1.5).limit) >= exp(largest)
