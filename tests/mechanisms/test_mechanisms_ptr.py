"""Propose-test-release: the worked table, 40 digits, enumeration, selection, ends, and refusals."""

from __future__ import annotations

import math
import random

import pytest
from mpmath import mp, mpf

from privcalc.accounting.calibrate import calibrate
from privcalc.accounting.compose import compose
from privcalc.calibration.target import CalibrationTarget
from privcalc.errors import DomainError, SpecError, UnsupportedError
from privcalc.mechanisms.ptr import Stability
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.asked import deltas, epsilon
from tests.pairs import bracket
from tests.truths import normal_delta

# The published epsilon; mu of the test and of the mechanism as published for it, with delta 1e-6,
# half of it false positives; what they cost in `max`, and which mechanism costs what is published;
# the same in `uniform`.
TABLE = (
    (1, 0.1174409109, 0.1137118087, 0.6716849154, 0.2055154416, 0.6967450798, 0.1966938237),
    (2, 0.2249339858, 0.2182942870, 1.3545321602, 0.3878256586, 1.4013415216, 0.3725172479),
    (4, 0.4279371263, 0.4163300925, 2.7409293244, 0.7203311750, 2.8280632565, 0.6946260128),
)


def spec(test: str, mechanism: str, mass: float | str, mode: str) -> str:
    """Write a specification."""
    return f"ptr:test=({test}),mechanism=({mechanism}),false_positive={mass},mode={mode}"


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("row", TABLE)
def test_worked_table(row: tuple[float, ...]) -> None:
    """What the published split of epsilon and delta costs, and how much less noise does."""
    claimed, t, m, one, more, other, less = row
    for mode, cost, allowed in (("max", one, more), ("uniform", other, less)):
        text = spec(f"gdp:mu={t}", f"gdp:mu={m}", 5e-7, mode)
        assert epsilon(text, 1e-6).upper == pytest.approx(cost, rel=5e-7)
        hole = parse(spec(f"gdp:mu={t}", "gdp:mu=_", 5e-7, mode)).tree
        found = calibrate(hole, CalibrationTarget("epsilon", claimed, 1e-6))
        assert found.sufficient == pytest.approx(allowed, rel=5e-6)
        gain = {"max": {1: 1.807, 2: 1.777, 4: 1.730}, "uniform": {1: 1.730, 2: 1.706, 4: 1.668}}
        assert found.sufficient / m == pytest.approx(gain[mode][int(claimed)], abs=6e-4)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(12))
def test_normal_tests_to_40_digits(seed: int) -> None:
    """The bound at random epsilons is the larger of what each case costs, and not below it."""
    rng = random.Random(seed)
    t, m = (float(f"{math.exp(rng.uniform(-4, 1)):.3g}") for _ in range(2))
    mass = float(f"{10 ** rng.uniform(-15, -1):.3g}")
    mode = rng.choice(("sum", "max", "bit"))
    with mp.workdps(40):
        whole = mp.sqrt(mpf(repr(t)) ** 2 + mpf(repr(m)) ** 2)
        p = mpf(repr(mass))
        epsilons = [float(f"{rng.uniform(0, 3) * whole * whole:.6g}") for _ in range(4)]
        found = deltas(spec(f"gdp:mu={t}", f"gdp:mu={m}", mass, mode), sorted(epsilons))
        for x, bound in zip(sorted(epsilons), found, strict=True):
            both = normal_delta(whole, mpf(repr(x)))
            truth = {
                "sum": both + p,
                "max": max(both, p + normal_delta(mpf(repr(t)), mpf(repr(x)))),
                "bit": max(both, p),
            }[mode]
            # Where only is seen whether it passed, no test has all that T and M have together.
            least = p if mode == "bit" else truth
            assert min(least, 1) <= bound.upper <= float(truth) * (1 + 1e-5)
            assert bound.lower is not None
            assert bound.lower <= both + p


def test_a_release_where_it_should_have_failed_may_cost_more() -> None:
    """Next to no noise in the test, much in the release: false positives beside the test decide."""
    (bound,) = deltas(spec("gdp:mu=1", "gdp:mu=0.01", 0.05, "max"), [0.5])
    truth = mpf("0.05") + normal_delta(1, 0.5)
    assert truth <= bound.upper <= truth * (1 + mpf("1e-5"))


@pytest.mark.dear("gaussian:sigma=3-21-<lambda>]")
@pytest.mark.dear("gaussian:sigma=1-45")
@pytest.mark.parametrize(
    ("noise", "threshold", "log_tail"),
    [
        ("laplace:scale=2", 40, lambda: mpf(-20) + mp.log(mpf("0.5"))),
        ("gaussian:sigma=3", 21, lambda: mp.log(mp.ncdf(-7))),
        ("gaussian:sigma=1", 45, lambda: None),
    ],
)
def test_thresholds(noise: str, threshold: float, log_tail: object) -> None:
    """Classic propose-test-release: the false positives are the tail of the noise."""
    text = f"ptr:test=({noise}),mechanism=(laplace:scale=2),threshold={threshold}"
    (bound,) = deltas(text, [500.0])
    with mp.workdps(40):
        truth = log_tail()  # type: ignore[operator]
        if truth is None:
            # Below all doubles.
            assert 0.0 < bound.upper <= 1e-29
            return
        assert mp.exp(truth) <= bound.upper <= mp.exp(truth) * (1 + mpf("1e-5"))
        assert bound.lower is not None
        assert mp.exp(truth) * (1 - mpf("1e-12")) <= bound.lower <= mp.exp(truth)


@pytest.mark.parametrize("noise", ["scale", "sigma"])
def test_stability_is_the_larger_of_both_modes(noise: str) -> None:
    """Data with one answer cost what the noise does, and others the false positives."""
    text = f"stability:{noise}=2,threshold=14"
    kind = {"scale": "laplace:scale=2", "sigma": "gaussian:sigma=2"}[noise]
    tail = 0.5 * math.exp(-7.0) if noise == "scale" else 1.279812543885835e-12
    epsilons = [0.0, 0.1, 0.4, 0.49, 2.0]
    own = deltas(kind, epsilons)
    for bound, test in zip(deltas(text, epsilons), own, strict=True):
        assert bound.lower is not None
        assert test.lower is not None
        assert bound.upper == pytest.approx(max(test.upper, tail), rel=1e-5)
        assert max(test.lower, tail) <= bound.upper * (1 + 1e-12)
        assert bound.lower == pytest.approx(bound.upper, rel=1e-5)
    assert epsilon(text, 1e-13).lower == math.inf


def test_what_is_refused() -> None:
    """Mistakes inside are pointed at where they stand; relations and samplings inside count."""
    text = "ptr:test=(gausian:sigma=1),mechanism=(pure:epsilon=1),false_positive=0.1"
    with pytest.raises(SpecError, match="unknown mechanism: gausian") as caught:
        parse(text)
    assert caught.value.span == (10, 17)
    with pytest.raises(DomainError, match="threshold is of a test that adds noise"):
        epsilon("ptr:test=(pure:epsilon=1),mechanism=(pure:epsilon=1),threshold=1", 1e-6)
    keys = spec("partition-selection:epsilon=1,delta=1e-8", "pure:epsilon=1", 1e-9, "sum")
    with pytest.raises(UnsupportedError, match="partition-selection is not defined"):
        compose(parse(keys).tree, deltas=[1e-6], relation=Relation.REPLACE_ONE)
    both = spec("gaussian:sigma=1@wor:q=0.1", "pure:epsilon=1", 1e-9, "sum") + "@poisson:q=0.1"
    with pytest.raises(UnsupportedError, match="in one specification"):
        epsilon(both, 1e-6)


def test_noise_of_a_test_with_a_threshold_is_not_calibrated() -> None:
    """More noise costs the test less, and lets more false positives through."""
    inner = "ptr:test=(laplace:scale=_),mechanism=(pure:epsilon=0.1),threshold=20"
    outer = f"gaussian:sigma=9+ptr:test=(pure:epsilon=1),mechanism=({inner}),false_positive=1e-9"
    for text in (inner, outer):
        with pytest.raises(UnsupportedError, match=r"with threshold .* calibrate threshold"):
            calibrate(parse(text).tree, CalibrationTarget("epsilon", 2.0, 1e-6))


@pytest.mark.parametrize("mode", ["sum", "uniform", "max"])
def test_without_false_positives_it_is_a_composition(mode: str) -> None:
    """Two Gaussian mechanisms are one, used several times and sampled, too."""
    text = f"ptr:test=(gaussian:sigma=8),mechanism=(gaussian:sigma=4),false_positive=0,mode={mode}"
    one = "gaussian:noise_multiplier=3.5777087639996634"
    for tail in ("", "@30", "@poisson:q=0.1@30"):
        low, high = bracket(text + tail, delta=1e-6)
        other = bracket(one + tail, delta=1e-6)
        assert low == pytest.approx(other[0], rel=1e-9)
        assert high == pytest.approx(other[1], rel=1e-9)


@pytest.mark.parametrize("noise", ["scale", "standard_deviation"])
def test_thresholds_beyond_all_noise(noise: str) -> None:
    """False positives are fewer than any double, and more than none."""
    for threshold in (70.0, 90.0, 1400.0, 1e300):
        failure = Stability(threshold=threshold, **{noise: 2.0}).failure
        with mp.workdps(30):
            # Squares of more are beyond mpmath's integers.
            z = min(mpf(threshold) / 2, mpf(10) ** 9)
            true = mp.exp(-z) / 2 if noise == "scale" else mp.erfc(z / mp.sqrt(2)) / 2
            assert mpf(failure.low.numerator) / failure.low.denominator <= true
            assert true <= mpf(failure.high.numerator) / failure.high.denominator
        assert float(failure.high) < max(2.0 * float(true), 2e-300)
