"""Truncated Laplace noise, against integrals of its density and the published formula of delta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.errors import DomainError
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from privcalc.bounds import Bound


class Noise:
    """The noise in units of its scale, by its definition."""

    def __init__(self, scale: str, bound: str, sensitivity: str) -> None:
        """Take the numbers as they are written."""
        self.text = f"truncated-laplace:scale={scale},bound={bound},sensitivity={sensitivity}"
        top, _, below = sensitivity.partition("/")
        self.step = mpf(top) / mpf(below or 1) / mpf(scale)
        self.end = mpf(bound) / mpf(scale)

    def density(self, x: Any) -> Any:
        """Return the density at a point."""
        inside = abs(x) <= self.end
        return mp.exp(-abs(x)) / (2 * (1 - mp.exp(-self.end))) if inside else mpf(0)

    def loss(self, x: Any) -> Any:
        """Return the loss of an output that both data sets may have."""
        return abs(x - self.step) - abs(x)


def deltas(text: str, *epsilons: float) -> list[Bound]:
    """Return delta at epsilons."""
    answers = compose(parse(text).tree, epsilons=list(epsilons)).answers
    return [answer.bound for answer in answers if answer.bound is not None]


def holds(bound: Bound, true: Any, width: float = 1e-12) -> None:
    """Check that a bracket holds the truth, and is narrow."""
    assert bound.lower is not None
    # The quadrature of the truth is good for far more digits than doubles have.
    assert bound.lower <= true * (1 + mpf("1e-20"))
    assert true * (1 - mpf("1e-20")) <= bound.upper
    assert bound.upper - bound.lower <= width * bound.upper


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-9), (3.0, 0.01)])
def test_the_published_bound_has_its_delta(epsilon: float, delta: float) -> None:
    """Geng, Ding, Guo, Kumar 2020: B = s/eps log(1 + (e^eps - 1) / (2 delta))."""
    scale = 1 / mpf(epsilon)
    bound = scale * mp.log(1 + mp.expm1(mpf(epsilon)) / (2 * mpf(delta)))
    text = f"truncated-laplace:scale=1/{epsilon:g},bound={mp.nstr(bound, 17)}"
    for answer in deltas(text.replace("1/0.5", "2"), epsilon, 2 * epsilon):
        assert answer.lower is not None
        assert answer.lower * (1 - 1e-13) <= delta <= answer.upper * (1 + 1e-13)


def test_two_uses_are_a_double_integral() -> None:
    """Delta of two uses: what one use reveals, and the other's delta at what its loss leaves."""
    noise = Noise("2", "8", "1")

    def one(epsilon: Any) -> Any:
        # Half-lines are the best tests: closed forms of both distribution functions.
        h = mp.exp(-noise.end)

        def below(x: Any) -> Any:
            x = min(max(x, -noise.end), noise.end)
            return ((mp.exp(x) if x < 0 else 2 - mp.exp(-x)) - h) / (2 * (1 - h))

        if epsilon < -noise.step:
            return 1 - mp.exp(epsilon) * below(noise.end - noise.step)
        corner = noise.step - noise.end if epsilon >= noise.step else (noise.step - epsilon) / 2
        return below(corner) - mp.exp(epsilon) * below(corner - noise.step)

    left = noise.step - noise.end
    revealed = mp.quad(noise.density, [-noise.end, left])
    for epsilon in (0.0, 0.6):
        # Where the loss that is left is the largest, and minus that.
        turns = (noise.step - mpf(epsilon) / 2, -mpf(epsilon) / 2)
        corners = {left, mpf(0), noise.step, noise.end}
        corners |= {turn for turn in turns if 0 < turn < noise.step}
        rest = mp.quad(
            lambda x, e=epsilon: noise.density(x) * one(e - noise.loss(x)), sorted(corners)
        )
        # At 0 the loss of both uses has an atom, where lower ends of lattices are of first order.
        holds(deltas(f"{noise.text}@2", epsilon)[0], revealed + rest, 2e-6 if epsilon else 2e-5)


def test_a_group_moves_the_output_as_far_as_its_records_do() -> None:
    """Three records are a sensitivity of 3, while that is less than the bound."""
    for epsilon in (0.2, 1.0, 2.0):
        found = deltas("truncated-laplace:scale=2,bound=9@group:k=3", epsilon)
        assert found == deltas("truncated-laplace:scale=2,bound=9,sensitivity=3", epsilon)
    far = deltas("truncated-laplace:scale=2,bound=2.5@group:k=3", 1.0)[0]
    assert far.upper <= 1.0


def test_what_is_refused() -> None:
    """A bound that neighbours leave, and what is no longer truncated."""
    for text, words in (
        ("truncated-laplace:scale=1,bound=1", "more than sensitivity"),
        ("truncated-laplace:scale=1,bound=2,sensitivity=3", "more than sensitivity"),
        ("truncated-laplace:scale=1,bound=1e6", "at most 600"),
        ("truncated-laplace:scale=1e40,bound=2", "at least 1e-30"),
    ):
        with pytest.raises(DomainError, match=words):
            deltas(text, 0.5)
