"""Both parts of a sampled Gaussian that is cut smoothly, against 30 digits."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpc, mpf

from privcalc.errors import NotCertifiedError
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.sampled import smooth
from privcalc.losses.sampled.law import SampledLaw, sampled
from privcalc.losses.sampled.smooth import WIDTH, SmoothContour, SmoothPart, smoothly_parted

# Noise, rate, where it is cut, abscissa.
CASES = (
    (0.4, 1e-4, 9.0, 1.5),
    (0.4, 0.02, 6.0, 1.3),
    (0.34, 4.89e-5, 11.6, 1.5),
    (1.0, 0.01, 4.0, 5.0),
    (0.4568, 1e-6, 11.0, 3.0),
    (0.4568, 1e-6, 9.5, 10.0),
    (0.7, 0.3, 3.0, 2.0),
)
TIMES = (0.25, 6.0, 70.0)


def part_of(case: tuple[float, float, float, float], *, beyond: bool) -> SmoothPart:
    """Return one part."""
    sigma, q, place, _ = case
    law = sampled(GaussianLaw(1.0 / sigma), q, remove=True)
    assert isinstance(law, SampledLaw)
    return smoothly_parted(law, place)[beyond]


@cache
def transform(case: tuple[float, float, float, float], beyond: bool, t: float) -> mpc:
    """Return E_R V (1 + y)^(s + 1) at s = c + it: a long sum on the real line, in 30 digits."""
    sigma, q, place, c = (mpf(each) for each in case)
    with mp.workdps(30):
        s = 1 / sigma
        mean, sign = -s * s / 2, -1 if beyond else 1
        step = mpf(1) / 25
        first = int(mp.floor((mean - 13 * s) / step))
        last = int((max(mean + s * s * (c + 2), place) + 14 * s) / step)

        def term(x: mpf) -> mpc:
            weight = mp.erfc(sign * (x - place) / mpf(WIDTH) / mp.sqrt(2)) / 2
            density = mp.exp(-((x - mean) ** 2) / (2 * s * s)) / (s * mp.sqrt(2 * mp.pi))
            return weight * density * (1 - q + q * mp.exp(x)) ** mpc(c + 1, t)

        return step * mp.fsum(term(k * step) for k in range(first, last))


def deviations(
    case: tuple[float, float, float, float], *, beyond: bool
) -> list[tuple[float, float]]:
    """Return by how much S / W is off, and what is claimed; first those of the log of the mass."""
    part = part_of(case, beyond=beyond)
    phases, log_mass, error, centre = part.tilted(case[3])
    with mp.workdps(30):
        mass = transform(case, beyond, 0.0).real
        found = [(float(abs(mp.log(mass) - mpf(log_mass))), error)]
        values = phases.blocks(np.array(TIMES), 0.125, 1)[:, 0]
        errors = phases.error(np.array(TIMES))
        bounds = np.exp(phases.beyond(np.array(TIMES)))
        for t, value, wrong, bound in zip(TIMES, values, errors, bounds, strict=True):
            expected = transform(case, beyond, t) / mass * mp.exp(mpc(0, -t) * mpf(centre))
            found.append((float(abs(expected - mpc(complex(value)))), float(wrong)))
            assert abs(expected) <= bound * (1 + 1e-12)
    assert all(wrong <= claimed for wrong, claimed in found)
    return found


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_masses_and_bounds(
    case: tuple[float, float, float, float],
    beyond: bool,
) -> None:
    """All are within their errors, which are some thousand units; searches know the same."""
    part, c = part_of(case, beyond=beyond), case[3]
    assert max(claimed for _, claimed in deviations(case, beyond=beyond)) < 1e-11
    phases, log_mass, error, _ = part.tilted(c)
    assert float(phases.error(np.zeros(1))[0]) < 1e-11
    rough, mean, variance = part.cumulants(c)
    assert rough == pytest.approx(log_mass, abs=1e-8)
    h = 1e-4 * c
    below, above = part.cumulants(c - h), part.cumulants(c + h)
    assert mean == pytest.approx((above[0] - below[0]) / (2 * h), rel=1e-4, abs=1e-9)
    assert variance == pytest.approx((above[1] - below[1]) / (2 * h), rel=1e-4, abs=1e-9)
    value, wrong = SmoothContour(part, c).log_mgf(np.zeros(1))
    assert (float(value[0].real), float(wrong[0])) == (log_mass, error)


def test_what_is_far_falls() -> None:
    """The part beyond falls to nothing, which a sharp cut does not; a coarse bound holds later."""
    part = part_of(CASES[1], beyond=True)
    phases = part.tilted(1.3)[0]
    assert float(phases.beyond(np.array([60.0]))[0]) < math.log(1e-12)
    assert (np.diff(phases.beyond(np.geomspace(1e-3, 1e9, 200))) <= 0.0).all()
    assert float(phases.error(np.array([1e30]))[0]) < 1e-15


@pytest.mark.parametrize(("name", "value"), [("LOG_ERROR", -3.0), ("LOG_LEFT_OUT", -16.5)])
def test_what_is_missed_is_in_the_error(
    name: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a long step, or few terms, sums are off by more than rounding, and no more than said."""
    monkeypatch.setattr(smooth, name, value)
    found = [deviations(CASES[k], beyond=beyond) for k in (1, 4) for beyond in (False, True)]
    assert max(wrong for rows in found for wrong, _ in rows) > 1e-9


def test_what_is_far_beyond_the_place_counts() -> None:
    """There the weight of the near part is below the doubles, and tilts make it decide."""
    case = (0.667, 8e-7, 0.0, 400.0)
    part = part_of(case, beyond=False)
    # In 30 digits; all but the far end come to -0.263.
    assert part.cumulants(400.0)[0] == pytest.approx(1303.05, abs=0.01)
    with pytest.raises(NotCertifiedError, match="rounding errors"):
        part.tilted(400.0)


def test_refusals() -> None:
    """What only outcomes far out decide, too much noise, and what contours alone know."""
    part = part_of(CASES[0], beyond=True)
    assert math.isinf(part.cumulants(1000.0)[0])
    with pytest.raises(NotCertifiedError, match="far out"):
        part.tilted(1000.0)
    for sigma in (3.0, 0.01):
        with pytest.raises(NotCertifiedError, match="noise"):
            part_of((sigma, 0.01, 1.0, 1.0), beyond=True).tilted(1.0)
    with pytest.raises(NotCertifiedError, match="below the doubles"):
        part_of((0.4, 1e-290, 9.0, 1.0), beyond=False).tilted(1.0)
    for refused in (part.tails, part.renyi, SmoothContour(part, 1.5).log_mgf):
        with pytest.raises(NotCertifiedError, match="contour only"):
            refused(np.ones(1))
