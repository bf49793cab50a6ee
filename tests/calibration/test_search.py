"""The search for a value, piece by piece: where it begins, what it refuses, where it ends."""

from __future__ import annotations

import pytest

from privcalc.accounting.calibrate import Calibration, CalibrationTarget, calibrate
from privcalc.accounting.compose import compose
from privcalc.calibration import search as module
from privcalc.calibration.holes import noise, unknown
from privcalc.calibration.search import Crossing, ValueSearch
from privcalc.errors import DomainError, NotCertifiedError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.truths import normal_delta

ADD = Relation.ADD_OR_REMOVE_ONE
TARGET = CalibrationTarget("epsilon", 1.0, 1e-5)


def searched(text: str) -> ValueSearch:
    """Return a search for a hole that has asked nothing yet."""
    return ValueSearch(unknown(parse(text).tree, ()), TARGET, ADD, 1e-6)


def solve(text: str, epsilon: float, delta: float, start: float | None = None) -> Calibration:
    """Calibrate a specification given as text."""
    aim = CalibrationTarget("epsilon", epsilon, delta)
    return calibrate(parse(text).tree, aim, start=start)


def test_a_search_that_has_asked_nothing_has_no_root() -> None:
    """And one probe of Gaussian noise without a limit of work has both ends of its epsilon."""
    search = searched("gaussian:sigma=_")
    assert search.root("upper") is None
    search.start(0.0)
    (probe,) = search.probes.values()
    assert probe.value == 1.0
    assert probe.bound is not None
    assert probe.bound.lower is not None
    assert normal_delta(1.0, probe.bound.lower) >= 1e-5 >= normal_delta(1.0, probe.bound.upper)
    # No part of what there is was spent, as there is no end to it.
    assert search.dearest == 0.0


def test_what_is_never_in_range_is_refused_by_the_first_reason() -> None:
    """Wherever a search looks around, the file is not there."""
    search = searched("pmf:file=/nowhere/rows.csv+gaussian:sigma=_")
    with pytest.raises(DomainError, match=r"/nowhere/rows\.csv cannot be read"):
        search.start(0.0)
    assert search.probes == {}


def test_a_search_ends_after_so_many_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has then is on both sides of the budget, and both sides are proved."""
    monkeypatch.setattr(module, "MOST_PROBES", 3)
    search = searched("gaussian:sigma=_")
    search.start(0.0)
    good, bad = Crossing(search, "upper").solve()
    assert len(search.probes) == 3
    for probe, within in ((good, True), (bad, False)):
        assert probe is None or (normal_delta(1.0 / probe.value, 1.0) <= 1e-5) is within


def test_values_out_of_range_are_named() -> None:
    """A sampling probability is at most 1; at an open end the next decimal is the first."""
    with pytest.raises(DomainError, match=r"q must be in \[0, 1\], got 1\.5"):
        unknown(parse("gaussian:sigma=1@poisson:q=_").tree, ()).tree_at(1.5)
    order = unknown(parse("rdp:order=_,epsilon=1").tree, ())
    assert order.grid.value(order.lowest) == 1.000000001
    rate = unknown(parse("gaussian:sigma=4@select:runs=geometric,gamma=_").tree, ())
    assert rate.grid.value(rate.highest) == 0.9999999999


def test_a_hole_inside_of_another_specification() -> None:
    """A test that is named has its noise, where no threshold says how the two go together."""
    text = "ptr:test=(gaussian:sigma=_),mechanism=(pure:epsilon=1),false_positive=0.1"
    (hole,) = unknown(parse(text).tree, ()).holes
    assert (hole.path, hole.words) == (("test", "standard_deviation"), "sigma of gaussian")


def test_noise_that_is_slow_to_try_is_not_proposed() -> None:
    """Of a selection no other noise is looked for."""
    assert noise(parse("gaussian:sigma=1.5@poisson:q=0.1").tree) == {
        ("event", "standard_deviation"): 1.5
    }
    assert noise(parse("gaussian:sigma=1.5@select:runs=geometric,mean=3").tree) == {}


@pytest.mark.parametrize(("n", "epsilon", "delta"), [(100, 0.01, 1e-5), (100, 0.5, 1e-5)])
def test_a_sample_may_be_of_nobody(n: int, epsilon: float, delta: float) -> None:
    """0 is a size, of which there is no logarithm; the next size misses the target."""
    found = solve(f"gaussian:sigma=1@wor:n={n},m=_", epsilon, delta)
    sizes = [found.sufficient, found.insufficient]
    assert sizes[1] == int(found.sufficient) + 1
    low, high = (
        compose(parse(f"gaussian:sigma=1@wor:n={n},m={m}").tree, deltas=[delta]).answers[0].proved
        for m in sizes
    )
    assert high.lower is not None
    assert low.upper <= epsilon < high.lower


@pytest.mark.parametrize(
    ("text", "epsilon", "delta", "words"),
    [
        # No probe has a bracket, of the rest or of the whole.
        ("laplace:scale=_+zcdp:rho=0.1", 1.0, 0.0, "proves nothing at delta 0"),
        ("zcdp:rho=_", 1.0, 0.0, "proves nothing at delta 0"),
        # The rest alone has no finite end; and a best one.
        (
            "gaussian:sigma=_+rdp:order=2,epsilon=0.1+approx:epsilon=0,delta=0.1",
            1.0,
            1e-5,
            "epsilon <= Infinity at sigma=",
        ),
        ("rdp:order=2,epsilon=0.1@_", 1e-3, 1e-5, "the best that is proved is epsilon <= 7.8748"),
    ],
)
def test_what_is_not_proved_is_said(text: str, epsilon: float, delta: float, words: str) -> None:
    """A Renyi curve proves no epsilon at delta 0, and at others what its order does."""
    with pytest.raises(NotCertifiedError, match=words):
        solve(text, epsilon, delta)


def test_a_search_above_0_says_nothing_of_numbers_below() -> None:
    """A threshold may be any number: at -100 a target is met that none above 0 meets."""
    text = "svt:noise=gaussian,threshold_noise=5,query_noise=9,length=2,threshold="
    low = compose(parse(f"{text}-100").tree, deltas=[1e-3]).answers[0].proved
    assert low.upper <= 0.25
    with pytest.raises(DomainError, match=r"no threshold above 0 meets epsilon 0\.25"):
        solve(f"{text}_", 0.25, 1e-3, 1e-300)
