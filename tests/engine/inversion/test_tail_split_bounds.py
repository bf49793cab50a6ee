"""The inequalities of the split, one by one: each bounds what it says, and each is needed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np
import pytest

from privcalc.engine.certified import Deltas
from privcalc.engine.composition import Composition
from privcalc.engine.inversion import line_sum, solve, tail_lines
from privcalc.engine.inversion.line_sum import Closed, Measures, Reversed
from privcalc.engine.inversion.solve import TailSplit
from privcalc.engine.inversion.tail_lines import Frame, Reals
from privcalc.engine.inversion.tail_search import Parts
from privcalc.engine.lists.factor import Wanted
from privcalc.errors import NotCertifiedError
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.sampled import decay
from privcalc.losses.sampled.cut import CutLaw
from privcalc.losses.sampled.decay import VariationCells, log_suprema
from privcalc.losses.sampled.parts import SampledPart
from privcalc.numerics.rounding import expm1_with_error
from privcalc.record import replace
from tests.engine.inversion.sampled_cases import delta_by, rare, tuned, uses
from tests.truths import tail

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

# Of this cell no term is negligible.
CELL, EPSILON, DELTA = (1.0, 1e-4, 10_000), 0.136010567737, 1e-12


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def bracket(**change: float) -> tuple[float, float]:
    """Return the bracket of delta over the truth."""
    bound = delta_by(tuned(uses(*CELL), **change), EPSILON, 1e-9).bound
    assert bound.lower is not None
    return bound.lower / DELTA, bound.upper / DELTA


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
def test_no_later_modulus_exceeds_the_bound(
    cut: CutLaw, order: float, *, remove: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        "all": log_suprema(cut.part, exponent, contour.mgf_range, ts),
    }
    part = cut.part
    assert isinstance(part, SampledPart)
    for height in decay.HEIGHTS:
        monkeypatch.setattr(decay, "HEIGHTS", (height,))
        bounds[f"line {height}"] = decay._shifted(part, exponent, ts) - math.log(mass)
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


@pytest.mark.slow
def test_the_edge_of_the_shifted_line_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far out the edge is all that is left: without the vertical the bound is false."""
    cut, ts = CUTS[2], np.array([1e4])
    contour = cut.near(6.0, 0.0, -25.0, remove=True)
    x = np.linspace(cut.low, cut.top, 2_000_001)
    piece = cut.piece
    loss = np.log1p(cut.law.rate * np.expm1(x))
    weight = np.exp(piece.constant + (piece.slope - 0.5 * piece.curvature * x) * x + 7.0 * loss)
    seen = abs(np.exp(1j * ts[0] * loss) @ weight) / weight.sum()
    assert seen <= math.exp(log_suprema(cut.part, 7.0, contour.mgf_range, ts)[0])
    monkeypatch.setattr(decay, "_vertical", lambda *_: 0.0)
    assert seen > math.exp(log_suprema(cut.part, 7.0, contour.mgf_range, ts)[0])


@pytest.mark.parametrize("cut", CUTS)
def test_transforms_are_within_their_errors(cut: CutLaw) -> None:
    """A and J at complex points against 25 digits, also where quadrature is coarse."""
    for log_error in (-30.0, -9.0):
        right = cut.near(3.0, 8.0, log_error, remove=True)
        left = cut.near(2.0, 8.0, log_error, remove=False)
        far = cut.beyond(2.0, 8.0, log_error + math.log(cut.tails[0]), remove=False)
        j, j_error = far.progression(4.0, 3)
        for k, t in enumerate((0.0, 4.0, 8.0)):
            at = np.array([t])
            value, error = right._sum.minus_one(at)
            truth = transform(cut, complex(4.0, t), cut.low, cut.top)
            assert abs(complex(value[0]) + 1.0 - truth) <= error[0] + 4e-15
            value, error = left._sum.minus_one(at)
            truth = transform(cut, complex(-2.0, -t), cut.low, cut.top)
            assert abs(complex(value[0]) + 1.0 - truth) <= error[0] + 4e-15
            truth = transform(cut, complex(-2.0, -t), cut.top, cut.far)
            assert abs(complex(j[k]) - truth) <= j_error[k]
            if log_error < -20.0:
                assert j_error[k] < 1e-9 * abs(truth)
    assert far.mgf_range[0] <= transform(cut, -2.0, cut.top, cut.far).real <= far.mgf_range[1]


def test_a_coarse_transform_beyond_needs_its_error() -> None:
    """With few panels the sum is off by far more than rounding, and less than it says."""
    cut = CUTS[1]
    beyond = cut.beyond(2.0, 30.0, math.log(0.3 * cut.tails[0]), remove=False)
    j, error = beyond.progression(30.0, 2)
    truth = transform(cut, complex(-2.0, -30.0), cut.top, cut.far)
    assert 1e-13 * abs(truth) < abs(complex(j[1]) - truth) <= error[1]


@pytest.mark.parametrize("cut", CUTS)
def test_tails_and_the_closed_form(cut: CutLaw) -> None:
    """Against the tails in 40 digits, for the means and deviations as they stand."""
    with mp.workdps(40):
        mu = mp.mpf(cut.piece.deviation)
        r = tail(cut.top / mu + mu / 2)
        w = tail(cut.top / mu - mu / 2)
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
        below = tail(-mu / 2 - cut.low / mu)
        assert cut.log_below >= mp.log(below)
        far = tail(cut.far / mu + mu / 2)
        assert cut.log_far >= mp.log(far)


def test_complex_expm1_keeps_its_accuracy() -> None:
    """Near 0, where numpy's own has none, and far away."""
    points = np.array([1e-15 + 2e-16j, -3e-9 + 1e-20j, 0.5 + 3.0j, 1e-3 - 1e3j, 20.0 + 1j])
    value, error = expm1_with_error(points, np.zeros(len(points)))
    with mp.workdps(40):
        for z, v, e in zip(points, value, error, strict=True):
            truth = mp.expm1(mp.mpc(z))
            assert abs(mp.mpc(complex(v)) - truth) <= e
            assert e <= 1e-13 * abs(truth)


def test_dropping_the_left_term_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is some per cent of delta here."""
    low, high = bracket()
    assert low <= 1.0 + 1e-10
    assert 1.0 - 1e-10 <= high <= low * (1 + 2e-9)
    honest = Reversed.deltas

    def nothing(self: Reversed, epsilons: Array, log_scale: float) -> Deltas:
        found = honest(self, epsilons, log_scale)
        return replace(
            found,
            value=0.0 * found.value,
            lower=found.lower - found.value,
            upper=found.upper - found.value,
        )

    monkeypatch.setattr(Reversed, "deltas", nothing)
    monkeypatch.setattr(Reversed, "least", -math.inf)
    low, high = bracket()
    assert high < 0.99


def test_dropping_the_closed_form_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is most of delta here."""
    zero = np.zeros(1)
    nothing = Deltas(zero, zero, zero, zero, {})
    monkeypatch.setattr(Closed, "deltas", lambda *_: nothing)
    monkeypatch.setattr(Closed, "estimates", lambda *_: (zero, zero))
    assert bracket()[1] < 0.9


def test_zeroing_the_aliasing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """With steps twice as long the sums exceed the integrals by what the bound allows for."""
    low, high = bracket(refine=0.45)
    assert low <= 1.0 <= high
    assert high > low * (1 + 1e-9)
    monkeypatch.setattr(line_sum, "aliasings", lambda *_: np.zeros(1))
    low, high = bracket(refine=0.45)
    assert low > 1.0 + 1e-9


def test_zeroing_the_truncation_is_caught() -> None:
    """A sum that is cut early misses what the bound allows for."""
    parts = Parts.of(uses(*CELL))
    assert parts is not None
    frame = Frame(parts, parts.cut(0.12, -60.0), EPSILON, math.log(DELTA), 1e-11).small
    whole = tail_lines.make_line(frame, 150.0, 0.0, right=True)
    line = replace(whole.line, nodes=int(0.15 * whole.line.nodes))
    bounds = tail_lines._Decay(frame, line.c, right=True)
    near, _ = frame.laws(line.c, line.end, right=True).values(line.step, line.nodes)
    short = line_sum.LineSum(replace(line, log_cut=bounds.beyond(line.end)), near)
    at, log_scale = np.array([EPSILON]), math.log(DELTA)
    truth, found = whole.deltas(at, log_scale), short.deltas(at, log_scale)
    missing = float(abs(truth.value - found.value)[0])
    slack = float((truth.upper - truth.lower)[0])
    allowed = float(found.terms["truncation"][0])
    assert missing <= allowed + slack
    assert missing > float((found.upper - found.value)[0]) - allowed + slack


def test_bounds_of_decay_hold_beside_other_laws() -> None:
    """|F| beyond each t is below what is said there, which falls; the first of them is enough."""
    composition = Composition.of(
        [(rare(0.7, 0.01), 40), (LaplaceLaw(0.3), 5), (GaussianLaw(0.05), 3)]
    )
    sketched = Parts.of(composition)
    assert sketched is not None
    parts = sketched.listed(Wanted(8.0, 8.0, 1.0, 1e-6, whole=True))
    frame = Frame(parts, parts.cut(0.5, -60.0), 1.0, math.log(1e-6), 1e-9).small
    c = 8.0
    bounds = tail_lines._Decay(frame, c, right=True)
    values = frame.laws(c, 400.0, right=True).values(0.25, 1600)
    sizes = values[0][0].real
    said = [bounds.beyond(t) for t in (5.0, 20.0, 60.0, 150.0)]
    largest = [sizes[math.ceil(t / 0.25) :].max() for t in (5.0, 20.0, 60.0, 150.0)]
    assert (np.array(largest) <= np.array(said)).all()
    assert said == sorted(said, reverse=True)
    assert said[-1] < sizes[0] - 5.0
    target = bounds.beyond(60.0) - math.log(60.0 * math.pi)
    assert 40.0 < bounds.first(target) <= 60.0 * tail_lines.END_RATIO
    with pytest.raises(NotCertifiedError, match="too slowly"):
        bounds.first(-math.inf)
    with pytest.raises(NotCertifiedError, match="nothing is known"):
        bounds.beyond(1e-9)


def test_values_on_the_real_axis_are_bounds() -> None:
    """Log F at an abscissa, right and left, is at least the truth, and hardly more."""
    sigma, q, count = CELL
    parts = Parts.of(uses(sigma, q, count))
    assert parts is not None
    frame = Frame(parts, parts.cut(0.12, -60.0), EPSILON, math.log(DELTA), 1e-11)
    cut = frame.cuts[0][0]
    with mp.workdps(30):
        a = mp.mpf(transform(cut, 151.0, cut.low, cut.top).real)
        truth = count * mp.log(a)
        found = Reals.of(frame.small, 150.0, right=True).log_f
        assert truth <= found <= truth + mp.mpf(10) ** -6
        a = mp.mpf(transform(cut, -80.0, cut.low, cut.top).real)
        j = mp.mpf(transform(cut, -80.0, cut.top, cut.far).real)
        truth = mp.log((a + j) ** count - a**count)
        found = Reals.of(frame, 80.0, right=False).log_f
        assert truth <= found <= truth + mp.mpf(10) ** -6


def test_dropped_parts_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the event is dropped, its mass is part of the upper end."""
    composition = uses(1.0, 0.05, 100)
    honest = delta_by(TailSplit(composition), 5.0, 1e-3).bound
    cut = solve.split

    def early(*args: Any, **kwargs: Any) -> Measures:
        parts, choice, *rest = args
        return cut(parts, replace(choice, level=3.2, left=None), *rest, **kwargs)

    monkeypatch.setattr(solve, "split", early)
    found = delta_by(TailSplit(composition), 5.0, 1e-3).bound
    assert honest.lower is not None
    assert found.lower is not None
    assert found.lower < honest.lower
    assert honest.upper < found.upper
    assert found.upper > 1.02 * found.lower
