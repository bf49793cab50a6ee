"""Quadrature on a line above the real one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privcalc.errors import NotCertifiedError
from privcalc.losses.sampled.parts import ShiftedPart
from tests.engine.inversion.sampled_cases import rare

CASES = [
    (rare(0.5, 0.01), (0.5, 6.0), 2.1),
    (rare(0.4, 1e-5), (3.0, 16.0), 8.0),
    (rare(0.7, 1e-3), (0.0, 6.0), -50.0),
    (rare(2.0, 0.1), (0.3, 1.5), 4.0),
    (rare(1.0, 0.9), (0.1, 4.0), -3.0),
    (rare(1.0, 0.9), (-2.0, 1.0), -3.0),
    (rare(0.5, 0.3), (-3.0, 2.0), 2.5),
]


pytestmark = pytest.mark.usefixtures("quiet")


def dense(law: Any, ends: tuple[float, float], exponent: float, t: Any) -> tuple[Any, float]:
    """Return the integral at every t on the real line, and that of the modulus."""
    top = float(np.log1p(law.q * np.expm1(ends[1])))
    points, weights = np.polynomial.legendre.leggauss(48)
    edges = np.linspace(*ends, 400 + int(float(np.max(t)) * top / 8.0))
    half = 0.5 * np.diff(edges)[:, None]
    x = (edges[:-1, None] + half * (1.0 + points)).ravel()
    mu = law.normal.deviation
    density = np.exp(-0.5 * ((x + 0.5 * mu * mu) / mu) ** 2) / (mu * math.sqrt(2.0 * math.pi))
    loss = np.log1p(law.q * np.expm1(x))
    terms = (half * weights).ravel() * density * np.exp(exponent * loss)
    return np.array([(terms * np.exp(1j * each * loss)).sum() for each in t]), float(terms.sum())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("start", [64.0, 1024.0])
def test_the_shifted_line_gives_the_real_one(case: Any, start: float) -> None:
    """At both ends of a block, fine and coarse, within the error, which is needed."""
    law, ends, exponent = case
    path = law.between(*ends), exponent, (start, 2.0 * start)
    t = start + start / 8.0 * np.arange(9)
    truth, mass = dense(law, ends, exponent, t)
    for part_of_mass in (1e-13, 1e-4):
        part = ShiftedPart(*path, math.log(mass * part_of_mass))
        found = part.progression(start / 8.0, 8, 9)
        off = np.abs(found - truth)
        assert (off <= part.error + 1e-13 * mass).all()
        assert part.error <= 1.1 * mass * part_of_mass + 2e-12 * mass
    assert off.max() > 1e-12 * mass


def test_what_it_is_not_for() -> None:
    """The beginning, t = 0."""
    law, ends, exponent = CASES[0]
    with pytest.raises(NotCertifiedError):
        ShiftedPart(law.between(*ends), exponent, (0.0, 2.0), -20.0)
    # Far too long for its panels; they would fill the memory.
    with pytest.raises(NotCertifiedError, match="panels"):
        ShiftedPart(law.between(0.0, 1e7), exponent, (1.0, 2.0), -20.0)
