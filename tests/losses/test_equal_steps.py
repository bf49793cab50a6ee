"""Laws with many losses on a lattice, on a vertical line, against their definition at 40 digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpc, mpf

import privcalc.losses.atomic.equal_steps as module
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.equal_steps import EqualStepsContour, EqualStepsLaw

mp.dps = 40
STEP = 0.0078125
T = np.array([0.0, 1e-4, 0.3, 5.0, 41.0, 700.0, 1e5])


def lattice_law(count: int, *, gap: float = 1.0, last: float = 7.1) -> AtomicLaw:
    """Return uneven masses on a lattice, every third point left out, and a loss beside it."""
    places = [j for j in range(-count, count) if j % 3]
    losses = [STEP * j for j in places] + [last]
    weights = [math.exp(-((j / count) ** 2) * 4.0) * (1.0 + 0.5 * math.sin(j)) for j in places]
    total = math.fsum(weights) * (1.0 + 1e-6)
    masses = [each / total for each in weights]
    return AtomicLaw(tuple(losses), (*masses, gap - math.fsum(masses)), loss_units=0.0)


def true_log_mgf(law: AtomicLaw, c: float, t: float) -> tuple[mpf, mpf]:
    """Return log |M| and the phase of M e^{-it top}."""
    top = mpf(law.max_loss)
    z = mpc(c, t)
    both = zip(law.losses, law.masses, strict=True)
    value = mp.log(mp.fsum(mpf(p) * mp.exp(z * (mpf(x) - top)) for x, p in both)) + z * top
    return value.real, value.imag


def errors(contour: EqualStepsContour) -> tuple[list[float], np.ndarray]:
    """Return how far values are from the truth, with what they are said to be off by."""
    found, said = contour.log_mgf(T)
    off = []
    for value, t in zip(found, T.tolist(), strict=True):
        real, turn = true_log_mgf(contour.law, contour.c, t)
        away = (mpf(float(value.imag)) - turn + mp.pi) % (2 * mp.pi) - mp.pi
        off.append(float(abs(mpc(mpf(float(value.real)) - real, away))))
    return off, said


@pytest.mark.few(2)
@pytest.mark.parametrize("c", [0.1, 3.0, 60.0])
@pytest.mark.parametrize("count", [1, 2, 300, 900])
def test_values_are_off_by_no_more_than_they_say(count: int, c: float) -> None:
    """Also where points of the lattice have no mass, and where a loss is not on it."""
    off, said = errors(EqualStepsContour(lattice_law(count), c, STEP))
    assert (np.array(off) <= said).all()
    assert (said[:3] < 1e-10).all()


def test_losses_may_be_rounded_multiples() -> None:
    """Multiples of a step of many bits are rounded, as is what the law says of its losses."""
    step = 1.0 / 97.0
    losses = tuple(step * j for j in range(-60, 61))
    law = AtomicLaw(losses, (1.0 / 121.0,) * 121, loss_units=0.0)
    off, said = errors(EqualStepsContour(law, 1.0, step))
    assert (np.array(off) <= said).all()
    # None is on another lattice.
    off, said = errors(EqualStepsContour(law, 1.0, 0.011))
    assert (np.array(off) <= said).all()


def test_losses_beside_the_lattice_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said holds because they are looked for: without that it does not."""
    zeros = np.zeros((len(T), 1), np.complex128)
    monkeypatch.setattr(module, "phase_sums", lambda *_: zeros)
    off, said = errors(EqualStepsContour(lattice_law(300), 3.0, STEP))
    assert (np.array(off) > said).any()


@pytest.mark.parametrize("c", [0.5, 5.0])
def test_bounds_of_cells_hold_and_fall(c: float) -> None:
    """No value in a cell is above its bound, next to t = 0, between, and where |phi| comes back."""
    law = lattice_law(600, last=3.0)
    tilted = EqualStepsContour(law, c, STEP).tilted
    rng = np.random.default_rng(4)
    back = 2.0 * math.pi / STEP
    starts = np.concatenate([[0.0, 0.1, 0.5 * back], rng.uniform(0.0, 2.2 * back, 60)])
    starts = np.append(starts, [back, 2.0 * back, back - 0.01, 0.999 * back])
    for width in (0.02, 1.0, 40.0):
        bounds = tilted.cell_bounds(starts, width)
        for place in np.linspace(0.0, width, 9):
            found, said = tilted.sums(starts + place)
            assert (np.log(np.maximum(np.abs(found) - said, 1e-300)) <= bounds).all()
    smooth = [math.exp(-40.0 * (j / 600.0) ** 2) for j in range(-600, 600)]
    masses = tuple(each / math.fsum(smooth) for each in smooth)
    even = AtomicLaw(tuple(STEP * j for j in range(-600, 600)), masses, loss_units=0.0)
    tilted = EqualStepsContour(even, c, STEP).tilted
    assert tilted.cell_bounds(np.array([0.5 * back]), 1.0)[0] < math.log(1e-3)


def test_losses_of_one_multiple_and_far_ones_keep_their_masses() -> None:
    """Neighbouring doubles are one point of the lattice; a multiple far out is beside it."""
    near = math.nextafter(3.0 * STEP, 1.0)
    law = AtomicLaw((-STEP, 3.0 * STEP, near, 2**20 * STEP), (0.2, 0.3, 0.4, 0.1), loss_units=0.0)
    contour = EqualStepsContour(law, 1e-4, STEP)
    off, said = errors(contour)
    assert (np.array(off) <= said).all()
    assert len(contour.tilted.far) == 1
    assert len(contour.tilted.on) < 100


def test_each_part_of_the_bounds_is_needed() -> None:
    """Without the loss beside the lattice, |phi| between is above what smooth masses bound."""
    smooth = [math.exp(-40.0 * (j / 600.0) ** 2) for j in range(-600, 600)]
    masses = tuple(0.99 * each / math.fsum(smooth) for each in smooth)
    losses = tuple(STEP * j for j in range(-600, 600))
    law = AtomicLaw((*losses, 5.123), (*masses, 0.01), loss_units=0.0)
    tilted = EqualStepsContour(law, 0.0, STEP).tilted
    at = np.array([100.3])
    value = float(np.log(np.abs(tilted.sums(at)[0]))[0])
    assert value <= tilted.cell_bounds(at, 0.0)[0] < math.log(0.02)
    object.__setattr__(tilted, "weights", np.zeros(1))
    assert value > tilted.cell_bounds(at, 0.0)[0]


@pytest.mark.parametrize("c", [3.0, 60.0, 190.0])
def test_the_other_order_is_as_precise(c: float) -> None:
    """Adding a record, outcomes of a mass of 1e-12 have the largest loss, and decide far out."""
    step = 0.0078125
    losses = [step * j for j in range(-300, 301)]
    weights = [math.exp(-0.05 * abs(j)) * math.exp(max(0.0, x)) for j, x in enumerate(losses, -300)]
    total = math.fsum(weights)
    masses = tuple(each / total for each in weights)
    lower = tuple(mass * math.exp(-x) for mass, x in zip(masses, losses, strict=True))
    law = EqualStepsLaw(
        tuple(losses),
        masses,
        lower_infinity_mass=1e-3,
        loss_units=0.0,
        lower_masses=lower,
        step=step,
    )
    backward = law.reverse_direction
    assert backward is not None
    assert backward.losses == tuple(-x for x in losses)
    assert backward.masses == lower
    assert backward.infinity_mass == 1e-3
    contour = backward.on_contour(c, 0.0, 0.0)
    assert isinstance(contour, EqualStepsContour)
    off, said = errors(contour)
    assert (np.array(off) <= said).all()
    assert (said[:3] < 1e-10).all()


@pytest.mark.parametrize("spacing", [0.3 * STEP, STEP, 7.3 * STEP])
def test_masses_between_points_are_known_to_their_few_terms(spacing: float) -> None:
    """They are no differences of sums over thousands of losses, and have none of their errors."""
    law = lattice_law(20_000, last=157.0)
    points = np.arange(-120.03, 160.0, spacing)
    found = law.tails(points)
    assert found.between_p is not None
    assert found.between_q is not None
    assert found.between_error is not None
    losses = np.array(law.losses)
    gained = float(np.max(found.error)) - float(found.between_error.max())
    assert gained > 0.9 * len(losses) * math.ulp(0.5)
    for k in (0, 1, 5000 % (len(points) - 1), len(points) // 2, len(points) - 2):
        inside = np.flatnonzero((losses > points[k]) & (losses <= points[k + 1]))
        p = mp.fsum(mpf(law.masses[j]) for j in inside)
        q = mp.fsum(mpf(law.masses[j]) * mp.exp(-mpf(law.losses[j])) for j in inside)
        error = float(found.between_error[k])
        assert abs(mpf(float(found.between_p[k])) - p) <= p * error
        assert abs(mpf(float(found.between_q[k])) - q) <= q * error


@pytest.mark.parametrize("c", [0.02, 1.0, 7.0, 40.0, 4000.0])
def test_searches_look_at_groups_of_many_losses(c: float) -> None:
    """K, its slope and its curvature are those of all losses, whatever the order."""
    r = np.random.default_rng(5)
    losses = np.sort(r.uniform(-2.0, 3.0, 30_000))
    masses = r.uniform(0.5, 1.0, len(losses)) * np.exp(-(losses**2))
    masses /= masses.sum() * (1.0 + 1e-9)
    shuffled = r.permutation(len(losses))
    law = AtomicLaw(tuple(losses[shuffled].tolist()), tuple(masses[shuffled].tolist()), 1e-9)
    grown = masses * np.exp(c * (losses - 3.0))
    total = grown.sum()
    mean = grown @ losses / total
    k0, k1, k2 = law.cumulants(c)
    assert k0 == pytest.approx(math.log(total) + 3.0 * c, rel=1e-5, abs=1e-7)
    assert k1 == pytest.approx(mean, rel=1e-5)
    assert k2 == pytest.approx(grown @ (losses - mean) ** 2 / total, rel=1e-4)
