"""A profile that is known, averaged over the others, against integrals of 40 digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp

from privcalc import compose
from privcalc.accounting.realize import default_relation, realize
from privcalc.engine.averaged import averaged
from privcalc.spec.read import read

DIGITS = 40


def bounded(eta: Any, x: Any) -> Any:
    """Return the profile of one bounded range."""
    if x >= eta:
        return mp.mpf(0)
    if x < -eta:
        return 1 - mp.e**x
    return (1 - mp.e ** ((x - eta) / 2)) ** 2 / (1 - mp.e**-eta)


def over_atoms(eta: str, atoms: list[tuple[Any, Any]], epsilon: str) -> Any:
    """Add up over losses with their masses."""
    return mp.fsum(p * bounded(mp.mpf(eta), mp.mpf(epsilon) - loss) for loss, p in atoms)


@pytest.mark.few(3)
@pytest.mark.dear("4.42-2.65-0.99999", "1-0.01-0.99999")
@pytest.mark.parametrize("part", ["0.9", "0.999", "0.99999"])
@pytest.mark.parametrize(("eta", "other"), [("4.42", "2.65"), ("0.155", "0.644"), ("1", "0.01")])
def test_pure(part: str, eta: str, other: str) -> None:
    """Next to the largest loss both ends are known; the lower one was not."""
    with mp.workdps(DIGITS):
        epsilon = mp.nstr(mp.mpf(part) * (mp.mpf(eta) + mp.mpf(other)), 12)
        e = mp.e ** mp.mpf(other)
        atoms = [(mp.mpf(other), e / (1 + e)), (-mp.mpf(other), 1 / (1 + e))]
        truth = over_atoms(eta, atoms, epsilon)
        found = compose(f"exponential:epsilon={eta}+pure:epsilon={other}", epsilon=epsilon).delta
        assert found.lower is not None
        assert found.lower <= truth <= found.upper
    assert found.upper <= found.lower * (1.0 + 1e-6)


@pytest.mark.few(2)
@pytest.mark.parametrize("part", ["0.5", "0.99", "0.9999"])
def test_laplace(part: str) -> None:
    """A density with atoms at its ends is averaged over in cells."""
    eta, scale = "1.61", "1.3"
    with mp.workdps(DIGITS):
        top = 1 / mp.mpf(scale)
        epsilon = mp.nstr(mp.mpf(part) * (mp.mpf(eta) + top), 12)
        atoms = [(top, mp.mpf(1) / 2), (-top, mp.e**-top / 2)]
        x = mp.mpf(epsilon)
        start = max(-top, x - mp.mpf(eta))
        unit = over_atoms(eta, atoms, epsilon)

        def part_at(loss: Any) -> Any:
            return mp.e ** ((loss - top) / 2) / 4 * bounded(mp.mpf(eta), x - loss) / unit

        truth = unit * (1 + mp.quad(part_at, mp.linspace(start, top, 5)))
        found = compose(f"exponential:epsilon={eta}+laplace:scale={scale}", epsilon=epsilon).delta
        assert found.lower is not None
        assert found.lower <= truth <= found.upper
    assert found.upper <= found.lower * (1.0 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "epsilon", "width"),
    [
        pytest.param(
            "exponential:epsilon=0.742@5+laplace:scale=2.9",
            "4.054827181",
            0.02,
            marks=pytest.mark.slow,
        ),
        ("exponential:epsilon=0.472@2+laplace:scale=0.112@poisson:q=0.1", "7.571177793", 0.01),
        pytest.param(
            "exponential:epsilon=3.74@5+rr:epsilon=0.951",
            "19.65080349",
            0.001,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_several_uses(text: str, epsilon: str, width: float) -> None:
    """Several adaptive uses are averaged over like one; brackets contradicted each other here."""
    found = compose(text, epsilon=epsilon).delta
    assert found.lower is not None
    assert 0.0 < found.lower <= found.upper <= found.lower * (1.0 + width)


def test_several_uses_by_hand() -> None:
    """Two uses next to their largest loss have a product for their profile."""
    eta, other, gap = mp.mpf("0.472"), mp.mpf("0.951"), mp.mpf("0.01")
    with mp.workdps(DIGITS):
        # All of V is from the larger loss of the other, and (1 - e^{-gap/3})^3 / (1 - e^-eta)^2.
        value = (1 - mp.e ** (-gap / 3)) ** 3 / (1 - mp.e**-eta) ** 2
        truth = value * mp.e**other / (1 + mp.e**other)
        epsilon = mp.nstr(2 * eta + other - gap, 12)
        found = compose("exponential:epsilon=0.472@2+rr:epsilon=0.951", epsilon=epsilon).delta
        assert found.lower is not None
        assert found.lower <= truth <= found.upper <= found.lower * (1.0 + 1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize(
    ("eta", "scale", "q", "epsilon"),
    [("3", "0.5", "0.1", "0.1"), ("0.5", "0.5", "0.01", "0.25"), ("8", "0.3", "0.5", "2.5")],
)
def test_sampled_laplace(eta: str, scale: str, q: str, epsilon: str, direction: str) -> None:
    """Losses of a sample to which a record is added are far below minus the largest."""
    tree = read(f"exponential:epsilon={eta}+laplace:scale={scale}@poisson:q={q}").tree
    source = averaged(realize(tree, default_relation(tree))[direction].upper)
    assert source is not None
    found = source.deltas(np.array([float(epsilon)]))
    with mp.workdps(DIGITS):
        b, rate = mp.mpf(scale), mp.mpf(q)

        def part_at(x: Any) -> Any:
            without = mp.e ** (-abs(x) / b) / (2 * b)
            held = (1 - rate) * without + rate * mp.e ** (-abs(x - 1) / b) / (2 * b)
            p, other = (held, without) if direction == "remove" else (without, held)
            return p * bounded(mp.mpf(eta), mp.mpf(epsilon) - mp.log(p / other))

        # Outside of [0, 1] the loss is constant.
        truth = b * (part_at(mp.mpf(0)) + part_at(mp.mpf(1)))
        truth += mp.quad(part_at, mp.linspace(0, 1, 65))
        assert found.lower[0] <= truth * (1 + mp.mpf("1e-9"))
        assert found.upper[0] >= truth * (1 - mp.mpf("1e-9"))
    assert found.upper[0] <= found.lower[0] * (1.0 + 1e-5)
