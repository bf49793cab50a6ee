"""Sweeps: a calibration for each of several values of another parameter."""

from __future__ import annotations

import pytest

from privcalc.accounting.calibrate import CalibrationTarget, calibrate
from privcalc.calibration.sweep import Swept, sweep
from privcalc.errors import DomainError, UnsupportedError, UsageError
from privcalc.spec.parse import parse

TARGET = CalibrationTarget("epsilon", 3.0, 1e-5)


def run(text: str, name: str, low: float, high: float, count: int) -> list[Swept]:
    """Sweep a specification given as text."""
    return list(sweep(parse(text).tree, TARGET, name, low=low, high=high, count=count))


def test_noise_for_every_rate() -> None:
    """Points are evenly spaced over the logarithm, and each is what calibrating it alone gives."""
    points = run("gaussian:sigma=_@poisson:q=0.01@1000", "q", 0.003, 0.03, 4)
    assert [point.value for point in points] == [0.003, 0.0064633, 0.0139248, 0.03]
    sigmas = []
    for point in points:
        assert point.parameter == "q"
        assert point.calibration is not None
        sigmas.append(point.calibration.sufficient)
        if point is not points[0]:
            # Searched from what the point before has found.
            text = f"gaussian:sigma=_@poisson:q={point.value!r}@1000"
            alone = calibrate(parse(text).tree, TARGET)
            # A search from elsewhere may end at another of the nearest decimals.
            assert alone.sufficient == pytest.approx(point.calibration.sufficient, rel=3e-9)
        assert point.calibration.bound.upper <= 3.0
        assert point.calibration.asked <= 14
    assert sigmas == sorted(sigmas)


def test_counts_for_every_rate() -> None:
    """Whole numbers fall as the rate grows; where even one use is too much, the point says so."""
    points = run("gaussian:sigma=1@poisson:q=0.01@_", "sampling_probability", 0.005, 0.5, 4)
    solved = [point.calibration.sufficient for point in points if point.calibration is not None]
    assert solved == sorted(solved, reverse=True)
    assert len(solved) == 3
    assert "at count=1 epsilon is at least 3.5339" in points[-1].reason


def test_whole_numbers_are_asked_once() -> None:
    """A sweep over a count has distinct whole values."""
    points = run("gaussian:sigma=_@10", "count", 1, 5, 20)
    assert [point.value for point in points] == [1, 2, 3, 4, 5]
    assert points[0].parameter == "count"


@pytest.mark.parametrize(
    ("text", "name", "values", "error", "words"),
    [
        ("gaussian:sigma=_@10", "sigma", (1, 5, 3), UsageError, "is the free parameter"),
        ("gaussian:sigma=_@10", "nn", (1, 5, 3), UsageError, "a sweep can be over count"),
        (
            "gaussian:sigma=1@10+gaussian:sigma=2@_",
            "sigma",
            (1, 5, 3),
            UsageError,
            "written 2 times",
        ),
        (
            "gaussian:sigma=_@select:runs=geometric,mean=3",
            "runs",
            (1, 5, 3),
            UsageError,
            "a sweep needs a number",
        ),
        ("gaussian:sigma=_@poisson:q=0.1", "q", (0.1, 5, 3), DomainError, "q must be in [0, 1]"),
        ("gaussian:sigma=_@poisson:q=0.1", "q", (0.5, 0.1, 3), DomainError, "to a larger one"),
        ("gaussian:sigma=_@poisson:q=0.1", "q", (0.0, 0.1, 3), DomainError, "number > 0"),
        ("gaussian:sigma=_@poisson:q=0.1", "q", (0.1, 0.5, 1), DomainError, "points, got 1"),
        ("gaussian:sigma=1@poisson:q=0.1", "q", (0.1, 0.5, 3), UsageError, "write _"),
        ("rr:p=_@10", "count", (1, 5, 3), UnsupportedError, "p of randomized-response"),
    ],
)
def test_refusals(
    text: str, name: str, values: tuple[float, float, int], error: type[Exception], words: str
) -> None:
    """What is wrong with the question is said before anything is worked out."""
    low, high, count = values
    with pytest.raises(error) as caught:
        sweep(parse(text).tree, TARGET, name, low=low, high=high, count=count)
    assert words in str(caught.value)
