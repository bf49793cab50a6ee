"""What smoothed lines are made of: its payoff, bounds on cells, powers of laws."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.engine.inversion import cells
from privcalc.engine.inversion import certificate as payoff
from privcalc.engine.inversion.edged import EdgedBlocks
from privcalc.engine.inversion.laws import prepared
from privcalc.engine.inversion.smoothed import SMOOTHED
from privcalc.engine.planner import certified_delta
from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.phases import NearOne
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.sampled.discrete_gaussian import sampled_atoms
from privcalc.losses.sampled.law import sampled
from privcalc.numerics.work import allowance, left
from tests.engine.inversion.listed_cases import Number, compositions, random_law

if TYPE_CHECKING:
    from privcalc.losses.sampled.cut import EdgedLaw


class TestPayoff:
    """The theorem of `certificate.py`."""

    @pytest.mark.parametrize("tau", ["1e-3", "0.1", "1"])
    def test_the_gap_lies_between_0_and_g(self, tau: str) -> None:
        """0 <= f_tau - f <= G in 40 digits, with f_tau by its closed form."""
        with mp.workdps(40):
            t = mpf(tau)
            for k in range(-40, 41):
                x = t * mpf(k) / 4
                smooth = mp.ncdf(x / t + t / 2) - mp.exp(-x) * mp.ncdf(x / t - t / 2)
                true = max(mpf(0), 1 - mp.exp(-x))
                gap = t / mp.sqrt(2 * mp.pi) * mp.exp(-x / 2 - x * x / (2 * t * t))
                assert -(mpf(10) ** -35) <= smooth - true <= gap * (1 + mpf(10) ** -30)

    def test_the_transforms(self) -> None:
        """Both transforms by quadrature at a complex point, and the factor between them."""
        with mp.workdps(25):
            t, z = mpf("0.3"), mp.mpc("1.5", "2.5")
            points = [-6, -2, -0.5, 0, 0.5, 2, 6, 40]

            def smooth(x: Number) -> Number:
                payoff_at = mp.ncdf(x / t + t / 2) - mp.exp(-x) * mp.ncdf(x / t - t / 2)
                return payoff_at * mp.exp(-z * x)

            def gap(x: Number) -> Number:
                return t / mp.sqrt(2 * mp.pi) * mp.exp(-x / 2 - x * x / (2 * t * t) - z * x)

            common = mp.exp(t * t * z * (z + 1) / 2)
            assert abs(mp.quad(smooth, points) / (common / (z * (z + 1))) - 1) < 1e-12
            assert abs(mp.quad(gap, points) / (common * payoff.gap_factor(0.3)) - 1) < 1e-12


class TestCells:
    """Bounds on |phi| over cells."""

    @pytest.mark.parametrize("text", ["rr:p=0.7", "laplace:scale=0.7", "discrete-gaussian:sigma=2",
                                      "gaussian:sigma=3"])  # fmt: skip
    def test_a_cell_is_bounded(self, text: str) -> None:
        """No point of a fine grid inside a cell is above its bound."""
        [composition] = compositions(text).values()
        [(law, _)] = composition.terms
        block = prepared(law.on_contour(0.8, 0.0, -30.0), 1)
        for width in (0.01, 0.3, 2.0):
            starts = width * np.arange(200)
            bounds = block.cell_bounds(starts, width, uniform=True)
            inside, _ = block.powers(starts, width / 16, 17, 1)
            inside = np.abs(inside)
            bounds = np.maximum(bounds, math.log(1e-290))
            inside = np.maximum(inside, 1e-300)
            assert (np.log(inside).max(axis=1) <= bounds + 1e-12).all()
            again = block.cell_bounds(starts, width, uniform=False)
            assert np.allclose(np.maximum(again, math.log(1e-290)), bounds, rtol=1e-9, atol=1e-9)

    def test_random_atoms(self) -> None:
        """The same for random atoms, whose bounds are sharp where cells are small."""
        rng = random.Random(5)
        for _ in range(20):
            law = random_law(rng)
            block = prepared(law.on_contour(rng.uniform(0.1, 5.0), 0.0, -30.0), 1)
            width = 10.0 ** rng.uniform(-2.0, 0.5)
            starts = width * np.arange(100)
            bounds = block.cell_bounds(starts, width, uniform=True)
            inside, error = block.powers(starts, width / 16, 17, 1)
            assert (np.log(np.abs(inside)).max(axis=1) <= bounds + 1e-12).all()
            assert error.max() < 1e-11

    def test_what_is_skipped_is_charged(self) -> None:
        """The sum over the nodes left out, evaluated, is below the charge."""
        [composition] = compositions("rr:p=0.7@400+rr:p=0.6@300").values()
        laws = [(prepared(law.on_contour(0.7, 0.0, -30.0), n), n) for law, n in composition]
        nodes = cells.Nodes(0.011, 3000.0, 1e-3, 1e-9, 0.9)
        blocks = cells.choose_blocks(laws, nodes)
        everything = np.arange(round((blocks.end / blocks.step - 0.5) / blocks.size + 0.5))
        every = everything * (blocks.size * blocks.step)
        left_out = np.setdiff1d(np.rint(every / blocks.step), np.rint(blocks.starts / blocks.step))
        assert 0 < len(left_out) < len(every)
        starts = left_out * blocks.step
        t = starts[:, None] + blocks.step * np.arange(blocks.size)
        product = np.exp(-0.5 * (1e-3 * t) ** 2)
        for law, count in laws:
            product = product * np.abs(law.powers(starts, blocks.step, blocks.size, count)[0])
        assert float((product / (math.pi * t**2)).sum()) * blocks.step <= blocks.skipped <= 1e-9
        assert float(product.sum()) * blocks.step / math.pi <= blocks.gap_skipped


class TestLaws:
    """What the engine asks of laws, in 40 digits."""

    @pytest.mark.parametrize("t", [0.0, 0.3, 40.0, 3e4])
    @pytest.mark.parametrize("text", ["laplace:scale=0.7", "rr:p=0.3", "staircase:epsilon=0.7",
                                      "discrete-gaussian:sigma=1.5"])  # fmt: skip
    def test_powers(self, text: str, t: float) -> None:
        """phi^count and K(c) within their errors."""
        [composition] = compositions(text).values()
        [(law, _)] = composition.terms
        c = 0.75
        block = prepared(law.on_contour(c, 0.0, -30.0), 3)
        found, error = block.powers(np.array([t]), 0.25, 4, 3)
        at, at_error = block.log_mgf_at
        with mp.workdps(40):
            base = moment(text, mp.mpc(c))
            assert abs(mp.log(base.real) - at) <= at_error
            for k in range(4):
                z = mp.mpc(c, t + 0.25 * k)
                truth = (moment(text, z) / base * mp.expj(-(t + 0.25 * k) * block.centre)) ** 3
                assert abs(truth - mp.mpc(complex(found[0, k]))) <= error[0, k]
        assert error.max() < 1e-8

    @pytest.mark.parametrize("remove", [True, False])
    def test_the_outcomes_of_a_sampled_discrete_gaussian(self, remove: bool) -> None:
        """Losses and masses within their units, and little left out."""
        variance, q = Fraction(9, 4), 0.125
        law = sampled_atoms(variance, 1, q, -60.0, remove=remove)
        assert law is not None
        with mp.workdps(40):
            v = mpf(9) / 4
            norm = mp.nsum(lambda k: mp.exp(-k * k / (2 * v)), [-mp.inf, mp.inf])
            places = range(-40, 42)
            r = {k: mp.exp(-(mpf(k) ** 2) / (2 * v)) / norm for k in places}
            w = {k: mp.exp(-((mpf(k) - 1) ** 2) / (2 * v)) / norm for k in places}
            mixed = {k: mpf(1) * 7 / 8 * r[k] + w[k] / 8 for k in places}
            first = -(len(law.losses) - 2) // 2
            total = mpf(0)
            for index, (loss, mass) in enumerate(zip(law.losses, law.masses, strict=True)):
                k = first + index
                p, other = (mixed[k], r[k]) if remove else (r[k], mixed[k])
                assert abs(mass / p - 1) <= 32 * mpf(2) ** -53
                truth = mp.log(p / other)
                assert abs(loss - truth) <= law.loss_units * mpf(2) ** -53 * abs(truth)
                total += p
            assert 1 - total <= mp.exp(-60)

    def test_near_one(self) -> None:
        """M - 1 of rare large losses keeps its relative accuracy, with a mass at infinity."""
        losses = np.array([-1e-4, 3e-3, 0.7])
        masses = np.array([0.96, 0.0399, 1e-6])
        infinity = float(1 - sum(Fraction(float(p)) for p in masses))
        near = NearOne.of(losses, masses, 2.0, (infinity, 1e-17), (0.0, 4.0))
        value, error = near.log_mgf(np.array([0.0, 0.5, 30.0]))
        with mp.workdps(40):
            for index, t in enumerate((0.0, 0.5, 30.0)):
                z = mp.mpc(2.0, t)
                terms = [mpf(float(p)) * mp.exp(z * mpf(float(x)))
                         for x, p in zip(losses, masses, strict=True)]  # fmt: skip
                truth = mp.log(mp.fsum(terms))
                assert abs(truth - mp.mpc(complex(value[index]))) <= error[index]
                assert error[index] < 1e-15 * (1.0 + t)


def moment(text: str, z: Number) -> Number:
    """Return M(z) of a few mechanisms in high precision."""
    name, value = text.split(":", 1)[0], mpf(text.split("=", 1)[1])
    if name == "laplace":
        e = 1 / value
        u = z + mpf(1) / 2
        return mp.exp(-e / 2) * (mp.cosh(e * u) + mp.sinh(e * u) / (2 * u))
    if name == "discrete-gaussian":
        v, places = value**2, range(-60, 61)
        norm = mp.fsum(mp.exp(-(mpf(k) ** 2) / (2 * v)) for k in places)
        return mp.fsum(
            mp.exp(-(mpf(k) ** 2) / (2 * v)) / norm * mp.exp(z * (1 - 2 * k) / (2 * v))
            for k in places
        )
    if name == "rr":
        p = 1 - value
        loss = mp.log(p / (1 - p))
        return p * mp.exp(z * loss) + (1 - p) * mp.exp(-z * loss)
    # A staircase has the losses epsilon, 0 and -epsilon.
    law = compositions(text)["both"].terms[0][0]
    assert isinstance(law, AtomicLaw)
    e = value
    exact = {1: e, 0: mpf(0), -1: -e}
    masses = {
        round(loss / float(e)): mpf(m) for loss, m in zip(law.losses, law.masses, strict=True)
    }
    return mp.fsum(m * mp.exp(z * exact[k]) for k, m in masses.items())


def test_losses_below_the_doubles_are_refused() -> None:
    """Samples of noise so small that no loss has a size make no blocks, and divide by nothing."""
    law = sampled(GaussianLaw(3.9e-26), 3.56e-05, remove=True)
    with pytest.raises(NotCertifiedError):
        EdgedBlocks.of(cast("EdgedLaw", law), 0.3, 5790)


def test_a_line_for_many_epsilons_stays_affordable() -> None:
    """Where many epsilons are asked for a finer tau is not worth its nodes; brackets stay true."""
    (composition,) = compositions("laplace:scale=2@54").values()
    with allowance(2.5e6):
        nodes = SMOOTHED.near(composition, 4.343, 1e-10, 3.0, 150)
        epsilons = np.linspace(0.3, 7.0, 57)
        found = nodes.deltas(epsilons, 0.0)
        assert left() > 0.0
    for epsilon, lower, upper in zip(
        epsilons[::14], found.lower[::14], found.upper[::14], strict=True
    ):
        exact = certified_delta(composition, float(epsilon), 1e-9).bound
        assert exact.lower is not None
        assert max(float(lower), exact.lower) <= min(float(upper), exact.upper)
        assert upper - lower <= 1e-6 * upper
