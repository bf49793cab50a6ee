"""The inequalities of the split, one by one: each bounds what it says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np
import pytest

from privcalc.engine.composition import Composition
from privcalc.engine.inversion import tail_lines, tail_split
from privcalc.engine.inversion.tail_cut import Frame, Reals
from privcalc.engine.inversion.tail_search import Parts
from privcalc.engine.inversion.tail_split import TAIL_SPLIT, Closed
from privcalc.engine.lists.factor import Wanted
from privcalc.errors import NotCertifiedError
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.sampled import decay
from privcalc.losses.sampled.cut import CutLaw
from privcalc.losses.sampled.decay import VariationCells, log_suprema
from privcalc.losses.sampled.parts import SampledPart
from privcalc.record import replace
from tests.engine.inversion.sampled_cases import rare, uses

if TYPE_CHECKING:
    from privcalc.engine.inversion.measures import Measures

# Of this cell no term is negligible.
CELL, EPSILON, DELTA = (1.0, 1e-4, 10_000), 0.136010567737, 1e-12


pytestmark = pytest.mark.usefixtures("quiet")


def transform(cut: CutLaw, exponent: complex, low: float, high: float) -> complex:
    """Return E_R[(1 + y)^a; low < x <= high] to about 1e-15 of the integral of the modulus."""
    points, weights = np.polynomial.legendre.leggauss(32)
    edges = np.linspace(low, high, 401)
    half = 0.5 * np.diff(edges)[:, None]
    x = (edges[:-1, None] + half * (1.0 + points)).ravel()
    mu = cut.piece.deviation
    density = np.exp(-0.5 * ((x + 0.5 * mu * mu) / mu) ** 2) / (mu * math.sqrt(2.0 * math.pi))
    terms = (
        (half * weights).ravel() * density * np.exp(exponent * np.log1p(cut.law.rate * np.expm1(x)))
    )
    return complex(math.fsum(np.real(terms)), math.fsum(np.imag(terms)))


CUTS = [
    CutLaw(rare(0.7, 1e-3), -9.0, 5.0, 14.0),
    CutLaw(rare(0.5, 0.02), -20.0, 3.0, 25.0),
    CutLaw(rare(2.0, 0.1), -4.0, 1.5, 5.0),
]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(("remove", "order"), [(True, 6.0), (False, 6.0), (False, 40.0)])
def test_no_later_modulus_exceeds_the_bound(cut: CutLaw, order: float, *, remove: bool) -> None:
    """A hard edge, one use: |phi| on a dense grid of t against every bound, and against all."""
    exponent = order + 1.0 if remove else -order
    x = np.linspace(cut.low, cut.top, 100_001)
    piece = cut.piece
    loss = np.log1p(cut.law.rate * np.expm1(x))
    weight = np.exp(piece.constant + (piece.slope - 0.5 * piece.curvature * x) * x)
    weight = weight * np.exp(exponent * loss) * (x[1] - x[0])
    weight[[0, -1]] *= 0.5
    mass = float(weight.sum())
    contour = cut.near(order, 0.0, -25.0, remove=remove)
    assert contour.mgf_range[0] <= mass * (1 + 1e-9)
    assert mass * (1 - 1e-9) <= contour.mgf_range[1]
    ts = 0.5 * 1.6 ** np.arange(16)
    seen = np.array([abs(np.exp(1j * t * loss) @ weight) / mass for t in np.append(ts, ts * 1.27)])
    at = np.append(ts, ts * 1.27)
    bounds = {
        "all": log_suprema(cut.part, exponent, contour.mgf_range, ts, shifted=True),
        "plain": log_suprema(cut.part, exponent, contour.mgf_range, ts, shifted=False),
    }
    part = cut.part
    assert isinstance(part, SampledPart)
    for height in decay.HEIGHTS:
        bounds[f"line {height}"] = decay._shifted(part, exponent, height, ts) - math.log(mass)
    for name, bound in bounds.items():
        for t, value in zip(at, seen, strict=True):
            index = int(np.flatnonzero(ts <= t)[-1])
            assert value <= math.exp(min(bound[index], 0.0)) * (1 + 1e-9), name
    # And they are of use: the least of them is within a small factor of what comes later.
    for index in range(len(ts)):
        later = seen[at >= ts[index]].max()
        assert math.exp(bounds["all"][index]) <= 12.0 * later
    cells = VariationCells.of(cut.part, exponent)
    density = weight[1:-1] / np.diff(loss)[1:]
    assert np.abs(np.diff(density)).sum() <= cells.variation() * (1 + 1e-3)


@pytest.mark.parametrize("cut", CUTS)
def test_tails_and_the_closed_form(cut: CutLaw) -> None:
    """Against erfc in 40 digits, for the means and deviations as they stand."""
    with mp.workdps(40):
        mu = mp.mpf(cut.piece.deviation)
        r = mp.erfc((cut.top + mu * mu / 2) / mu / mp.sqrt(2)) / 2
        w = mp.erfc((cut.top - mu * mu / 2) / mu / mp.sqrt(2)) / 2
        found_r, found_w, error = cut.tails
        assert abs(found_r / r - 1) <= error
        assert abs(found_w / w - 1) <= error
        q = mp.mpf(cut.law.rate)
        p_event = 1 - (1 - (1 - q) * r - q * w) ** 50
        q_event = 1 - (1 - r) ** 50
        closed = Closed.of([(cut, 50)], [])
        found = closed.deltas(np.array([0.3]), -5.0)
        slack = float(found.terms["rounding"][0])
        truth = (p_event - mp.exp(mp.mpf(0.3)) * q_event) * mp.exp(5)
        assert abs(float(found.value[0]) - truth) <= slack
        assert slack <= 1e-11 * float((p_event + q_event) * mp.exp(5))
        assert closed.log_q >= mp.log(q_event)
        below = mp.erfc((-mu * mu / 2 - cut.low) / mu / mp.sqrt(2)) / 2
        assert cut.log_below >= mp.log(below)
        far = mp.erfc((cut.far + mu * mu / 2) / mu / mp.sqrt(2)) / 2
        assert cut.log_far >= mp.log(far)


def test_bounds_of_decay_hold_beside_a_law_with_atoms() -> None:
    """|F| beyond each t is below what is said there, which falls; the first of them is enough."""
    composition = Composition.of([(rare(0.7, 0.01), 40), (LaplaceLaw(0.3), 5)])
    sketched = Parts.of(composition)
    assert sketched is not None
    parts = sketched.listed(Wanted(8.0, 8.0, 1.0, 1e-6, whole=True))
    frame = Frame(parts, parts.cut(0.5, -60.0), 1.0, math.log(1e-6), 1e-9).small
    c = 8.0
    bounds = tail_lines._Decay(frame, Reals.of(frame, c, right=True), c, right=True)
    values = frame.laws(c, 400.0, right=True).values(0.25, 1600)
    sizes = values[0][0].real
    said = [bounds.beyond(t) for t in (5.0, 20.0, 60.0, 150.0)]
    largest = [sizes[math.ceil(t / 0.25) :].max() for t in (5.0, 20.0, 60.0, 150.0)]
    assert (np.array(largest) <= np.array(said)).all()
    assert said == sorted(said, reverse=True)
    assert said[-1] < sizes[0] - 5.0
    target = bounds.beyond(60.0) - math.log(60.0 * math.pi)
    assert 40.0 < bounds.first(target) <= 60.0 * tail_lines.RATIO
    with pytest.raises(NotCertifiedError, match="too slowly"):
        bounds.first(-1e9)
    with pytest.raises(NotCertifiedError, match="nothing is known"):
        bounds.beyond(1e-9)


def test_dropped_parts_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the event is dropped, its mass is part of the upper end."""
    composition = uses(1.0, 0.05, 100)
    honest = TAIL_SPLIT.delta(composition, 5.0, 1e-3).bound
    cut = tail_split.split

    def early(*args: Any, **kwargs: Any) -> Measures:
        parts, choice, *rest = args
        return cut(parts, replace(choice, level=3.2, left=None), *rest, **kwargs)

    monkeypatch.setattr(tail_split, "split", early)
    found = TAIL_SPLIT.delta(composition, 5.0, 1e-3).bound
    assert honest.lower is not None
    assert found.lower is not None
    assert found.lower < honest.lower
    assert honest.upper < found.upper
    assert found.upper > 1.02 * found.lower
