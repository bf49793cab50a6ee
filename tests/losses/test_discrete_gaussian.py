"""The discrete Gaussian's law: cumulant, tails and bounds on |phi| against sums over outcomes."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import NotCertifiedError
from privcalc.losses.contour import Revival
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianContour, DiscreteGaussianLaw
from privcalc.numerics.rounding import few_bits

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Sigma, sensitivity.
# Its sums at 60 digits and more take seconds.
LARGEST = ("20", 3)
LAWS = [
    ("0.45", 1),
    ("0.45", 4),
    ("0.7", 2),
    ("1", 1),
    ("1.23456789", 3),
    ("2.5", 1),
    ("5", 2),
    ("8", 1),
    ("20", 3),
]
# Tilting moves the centre by this much at most.
MOVED = 64


def law_of(sigma: str, shift: int) -> DiscreteGaussianLaw:
    """Return the law of noise of a decimal sigma."""
    return DiscreteGaussianLaw(Fraction(sigma) ** 2, shift)


def exact(value: Fraction) -> Any:
    """Return a rational at the working precision."""
    return mpf(value.numerator) / value.denominator


class Table:
    """Masses of N_Z(0, v) and their sums, in mpmath from the definition."""

    def __init__(self, variance: Fraction) -> None:
        """Sum to where masses are below 1e-400, and far below the least |phi|, e^{-pi^2 v / 2}."""
        self.v = exact(variance)
        deviations = max(45.0, math.sqrt(math.pi**2 * variance + 300.0))
        self.reach = math.ceil(deviations * math.sqrt(variance)) + 3
        self.far = self.reach + MOVED
        half = [mp.exp(-mpf(x * x) / (2 * self.v)) for x in range(self.far + 1)]
        whole = half[0] + 2 * mp.fsum(half[1:])
        self.wide = [weight / whole for weight in (*half[:0:-1], *half)]
        self.masses = self.wide[MOVED:-MOVED]
        self.left = [mp.zero, *itertools.accumulate(self.masses)]
        self.right = [mp.zero, *itertools.accumulate(reversed(self.masses))][::-1]

    def below(self, outcome: int) -> Any:
        """Return the mass of all outcomes below one."""
        return self.left[min(max(outcome + self.reach, 0), len(self.masses))]

    def above(self, outcome: int) -> Any:
        """Return the mass of an outcome and all above."""
        return self.right[min(max(outcome + self.reach, 0), len(self.masses))]

    def moment(self, z: Any, shift: int) -> Any:
        """Return E e^{zL} as it is defined."""
        assert abs(mp.re(z)) * shift <= MOVED
        term = mp.exp(z * (shift**2 + 2 * shift * self.far) / (2 * self.v))
        ratio = mp.exp(-z * shift / self.v)
        total = mp.zero
        for mass in self.wide:
            total += mass * term
            term *= ratio
        return total


@pytest.mark.parametrize(
    ("sigma", "shift"),
    [pytest.param(*law, marks=[pytest.mark.slow] * (law == LARGEST)) for law in LAWS],
)
def test_cumulant_against_its_definition(sigma: str, shift: int) -> None:
    """K(c + it) is log E e^{zL} within its error: near revivals, halfway, and at random."""
    law = law_of(sigma, shift)
    rng = random.Random(f"{sigma} {shift}")
    period = 2.0 * math.pi * law.v / shift
    # |phi| falls to e^{-beta / 4} halfway.
    with mp.workdps(60 + int(2.2 * law.v)):
        table = Table(law.variance)
        for _ in range(2):
            c = few_bits(10.0 ** rng.uniform(-2.5, 1.2))
            contour = law.on_contour(c, 0.0, 0.0)
            turns = [0.0, 1e-3, rng.random(), 0.5, 1.0, 3.0 - 1e-4, 7.49, 40.02, 5000.0]
            t = period * np.array(turns)
            values, errors = contour.log_mgf(t)
            for at, value, error in zip(t, values, errors, strict=True):
                truth = mp.log(table.moment(mp.mpc(c, float(at)), shift))
                gap = truth - mp.mpc(complex(value))
                gap -= 2j * mp.pi * mp.nint(gap.imag / (2 * mp.pi))
                assert abs(gap) <= float(error)
            assert float(errors[:-2].max()) < 1e-10
            along = contour.log_mgf_progression(0.25, 5)
            alone = contour.log_mgf(0.25 * np.arange(5))
            assert all(np.array_equal(x, y) for x, y in zip(along, alone, strict=True))


@pytest.mark.parametrize("sigma", ["0.05", "0.2", "0.45", "1.5", "1.6", "9"])
def test_cumulants_for_searches(sigma: str) -> None:
    """K, K' and K'' are right to 1e-9, narrow laws included."""
    law = law_of(sigma, 2)
    with mp.workdps(50):
        table = Table(law.variance)
        for c in (0.01, 0.8, 6.25):

            def cumulant(x: Any) -> Any:
                return mp.log(table.moment(x, 2))

            for order, value in enumerate(law.cumulants(c)):
                truth = float(mp.diff(cumulant, c, order))
                assert math.isclose(value, truth, rel_tol=1e-9, abs_tol=1e-14)


def test_narrow_laws_refuse_the_contour() -> None:
    """Below sigma 0.39 the series is too long, and there is no proof; estimates go on."""
    with pytest.raises(NotCertifiedError, match="narrow"):
        law_of("0.38", 1).on_contour(1.0, 1.0, -30.0)
    assert law_of("0.39", 1).on_contour(1.0, 1.0, -30.0).size < 20
    law = law_of("0.2", 1)
    with mp.workdps(40):
        truth = mp.log(Table(law.variance).moment(mp.mpc(0.5, 0.25), 1))
    estimate = law.log_mgf_estimate(np.array([[0.5 + 0.25j]]))
    assert estimate.shape == (1, 1)
    assert abs(estimate[0, 0] - complex(truth)) < 1e-12


def test_large_arguments_keep_the_error_small() -> None:
    """Where one use has next to no loss, its error is small enough for a million uses."""
    contour = DiscreteGaussianContour(law_of("20000", 1), 75.0)
    value, error = contour.log_mgf(np.array([0.0, 200.0]))
    assert math.isclose(value[0].real, 75.0 * 76.0 / 8e8, rel_tol=1e-14)
    assert float(error.max()) < 1e-18


@pytest.mark.parametrize(("sigma", "shift"), [("0.05", 1), ("0.3", 40), *LAWS])
def test_tails_against_direct_sums(sigma: str, shift: int) -> None:
    """All tails, and cells between neighbours, of increasing losses from far below to far above."""
    law = law_of(sigma, shift)
    rng = random.Random(f"{sigma}/{shift}")
    origin, step = law.lattice
    spread = 25.0 * float(sigma)
    outcomes = [rng.uniform(-spread, spread + shift) for _ in range(60)]
    # Midway between two outcomes, next to one on either side, and far out.
    outcomes += [0.5, 1.5, shift + 0.5, 3.0 + 1e-6, 3.0 - 1e-6, 60.0 * spread, -60.0 * spread]
    losses = np.array(sorted(float(origin - step * Fraction(x)) for x in outcomes))
    tails = law.tails(losses)
    errors = np.broadcast_to(tails.error, losses.shape)
    assert tails.shift <= 1e-14 * float(np.abs(losses).max() + law.shift**2 / law.v)
    assert float(errors.max()) < 1e-9
    assert tails.between_p is not None
    assert tails.between_q is not None
    assert tails.between_error is not None

    def close(got: float, truth: Any, error: float) -> None:
        # What is below 1e-290 may underflow.
        assert abs(mpf(got) - truth) <= truth * error + mpf(10) ** -290

    with mp.workdps(50):
        table = Table(law.variance)
        ends = [
            int(mp.ceil(mpf(shift) / 2 - mpf(float(loss)) * table.v / shift)) for loss in losses
        ]
        for i, end in enumerate(ends):
            error = float(errors[i])
            close(float(tails.above_p[i]), table.below(end), error)
            close(float(tails.below_p[i]), table.above(end), error)
            close(float(tails.above_q[i]), table.below(end - shift), error)
            close(float(tails.below_q[i]), table.above(end - shift), error)
        for i, (end, start) in enumerate(itertools.pairwise(ends)):
            error = float(tails.between_error[i])
            close(float(tails.between_p[i]), _cell(table, start, end), error)
            close(float(tails.between_q[i]), _cell(table, start - shift, end - shift), error)


def _cell(table: Table, start: int, end: int) -> Any:
    inside = range(max(start, -table.reach), min(end, table.reach + 1))
    return mp.fsum(table.masses[x + table.reach] for x in inside)


def test_tails_order_and_ends() -> None:
    """The tails are monotone, and whole at the ends; one loss alone and none at all will do."""
    law = law_of("2.5", 2)
    losses = np.linspace(-40.0, 40.0, 999)
    tails = law.tails(np.concatenate([[-1e9], losses, [1e9]]))
    for above, below in ((tails.above_p, tails.below_p), (tails.above_q, tails.below_q)):
        assert (np.diff(above) <= 0.0).all()
        assert (np.diff(below) >= 0.0).all()
        assert (above[0], below[0]) == (pytest.approx(1.0, abs=1e-15), 0.0)
        assert (above[-1], below[-1]) == (0.0, pytest.approx(1.0, abs=1e-15))
    assert tails.between_p is not None
    assert math.isclose(float(tails.between_p.sum()), 1.0, rel_tol=1e-14)
    alone = law.tails(losses[500:501])
    assert float(alone.above_p[0]) == float(tails.above_p[501])
    assert alone.between_p is not None
    assert alone.between_p.shape == (0,)


def test_sums_of_a_long_table_lose_few_units() -> None:
    """With a million outcomes and more, the relative error of a tail is still below 1e-13."""
    law = law_of("20000", 1)
    tails = law.tails(np.array([0.0, 1e-4]))
    assert float(np.max(tails.error)) < 1e-13
    # P(X < 1/2) - P(X < -1/2) is the mass of 0.
    with mp.workdps(30):
        mass = 1 / (20000 * mp.sqrt(2 * mp.pi))
    assert abs(float(tails.above_p[0] - tails.above_q[0]) / float(mass) - 1.0) < 1e-8


def test_lattice_and_anchors() -> None:
    """Anchors are losses of the likely outcomes, on the lattice; wide laws have too many."""
    law = law_of("1.5", 2)
    origin, step = law.lattice
    assert (origin, step) == (Fraction(4) / Fraction("4.5"), Fraction(2) / Fraction("2.25"))
    anchors = law.atom_locations
    assert list(anchors) == sorted(anchors)
    for anchor in anchors:
        index = (Fraction(anchor) - origin) / step
        assert abs(index - round(index)) < Fraction(1, 10**12)
    assert len(anchors) == len({round((Fraction(a) - origin) / step) for a in anchors})
    assert law_of("20", 1).atom_locations == ()


def test_large_sensitivities_need_no_larger_table() -> None:
    """A shift of a billion is as easy as one of 1: outcomes are the noise's alone."""
    law = DiscreteGaussianLaw(Fraction(1), 10**9)
    tails = law.tails(np.array([0.0, 5e17, 6e17]))
    assert math.isclose(float(tails.above_p[0]), 1.0)
    assert float(tails.above_q[0]) == 0.0
    assert float(tails.above_p[2]) == 0.0


def log_modulus(variance: Fraction, shift: int, c: float, t: Array) -> Array:
    """Return log |M(c + it) / M(c)| from the masses of the outcomes."""
    v = float(variance)
    centre = -round(c * shift)
    reach = math.ceil(9.0 * math.sqrt(v)) + 3
    x = np.arange(centre - reach, centre + reach + 1)
    weights = np.exp(-((x + c * shift) ** 2) / (2.0 * v))
    phases = np.exp(-1j * np.outer(t, x * (shift / v)))
    modulus = np.abs(phases @ (weights / weights.sum()))
    result: Array = np.log(np.maximum(modulus, 1e-300))
    return result


@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("sigma", ["0.4", "0.6", "1", "2.2", "7"])
def test_bound_of_one_law(sigma: str, shift: int) -> None:
    """|phi| never exceeds the bound over two periods; at revivals they are all but equal."""
    variance = Fraction(sigma) ** 2
    law = Revival.of_lattice_normal(float(variance), shift)
    t = np.linspace(0.0, 2.0 * law.period, 4001)
    f = np.abs(t / law.period - np.rint(t / law.period))
    for c in (0.0, 0.31, 0.5, 3.2):
        logs = log_modulus(variance, shift, c, t)
        # The sum of the masses is rounded.
        assert (np.exp(logs) <= np.exp(law.log_bound(f)) + 1e-13).all()
    loose = 5.0 * math.exp(-law.beta * 0.9)
    near = f < 0.05
    assert (logs[near] >= law.log_bound(f[near]) - loose - 1e-10).all()


def test_bound_against_mpmath() -> None:
    """To many digits: exactly the theta sum over its largest term, and never below |phi|."""
    with mp.workdps(400):
        for sigma in ("0.5", "1.1", "4"):
            v = mpf(sigma) ** 2
            law = Revival.of_lattice_normal(float(Fraction(sigma) ** 2), 1)
            weights = {x: mp.exp(-mpf(x * x) / (2 * v)) for x in range(-180, 181)}
            whole = mp.fsum(weights.values())
            for f in (0.0, 1e-4, 0.1, 0.3, 0.49, 0.5):
                turn = 2j * mp.pi * mpf(f)
                modulus = abs(mp.fsum(w * mp.exp(turn * x) for x, w in weights.items())) / whole
                bound = float(law.log_bound(np.array([f]))[0])
                excess = mpf(bound) - mp.log(modulus)
                assert 0 <= excess <= 8.0 * math.exp(-law.beta * (1.0 - 2.0 * f) / 1.0) + 1e-12


def test_bound_falls_and_stays_small_for_wide_noise() -> None:
    """It falls from a revival on, and its rounding is relative: counts of a million multiply it."""
    for variance in (1.0, 30.0, 4e8):
        law = Revival.of_lattice_normal(variance, 1)
        values = law.log_bound(np.linspace(0.0, 0.5, 2001))
        assert (np.diff(values) < 1e-12).all()
    assert float(law.log_bound(np.zeros(1))[0]) < 1e-200
    assert float(law.log_bound(np.array([1e-7]))[0]) == pytest.approx(-law.beta * 1e-14)


def test_narrow_noise_has_no_bound() -> None:
    """Where the theta sum is not dominated by one term the bound is infinite, hence unused."""
    law = Revival.of_lattice_normal(0.04, 1)
    assert law.log_norm == math.inf
