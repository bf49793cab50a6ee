"""Truncated Laplace noise, against integrals of its density and the published formula of delta."""

from __future__ import annotations

import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError
from tests.asked import deltas


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-9), (3.0, 0.01)])
def test_the_published_bound_has_its_delta(epsilon: float, delta: float) -> None:
    """Geng, Ding, Guo, Kumar 2020: B = s/eps log(1 + (e^eps - 1) / (2 delta))."""
    scale = 1 / mpf(epsilon)
    bound = scale * mp.log(1 + mp.expm1(mpf(epsilon)) / (2 * mpf(delta)))
    text = f"truncated-laplace:scale=1/{epsilon:g},bound={mp.nstr(bound, 17)}"
    for answer in deltas(text.replace("1/0.5", "2"), [epsilon, 2 * epsilon]):
        assert answer.lower is not None
        assert answer.lower * (1 - 1e-13) <= delta <= answer.upper * (1 + 1e-13)


def test_a_group_moves_the_output_as_far_as_its_records_do() -> None:
    """Three records are a sensitivity of 3, while that is less than the bound."""
    for epsilon in (0.2, 1.0, 2.0):
        found = deltas("truncated-laplace:scale=2,bound=9@group:k=3", [epsilon])
        assert found == deltas("truncated-laplace:scale=2,bound=9,sensitivity=3", [epsilon])
    far = deltas("truncated-laplace:scale=2,bound=2.5@group:k=3", [1.0])[0]
    assert far.upper <= 1.0


def test_what_is_refused() -> None:
    """A bound that neighbours leave, and what is no longer truncated."""
    for text, words in (
        ("truncated-laplace:scale=1,bound=1", "more than sensitivity"),
        ("truncated-laplace:scale=1,bound=1e6", "at most 600"),
        ("truncated-laplace:scale=1e40,bound=2", "at least 1e-30"),
    ):
        with pytest.raises(DomainError, match=words):
            deltas(text, [0.5])
