"""With a tenth of the work every kind of question has an answer at most 1.5 times the full one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import privcalc
from privcalc.numerics.work import QUESTION, allowance

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.commands.result import Result

    Ask = Callable[[], Result]

# How much larger an answer may be with a tenth of the work.
RATIO = 1.5
RUNS = (
    "geometric:mean=30",
    "logarithmic:mean=10",
    "tnb:shape=2,mean=10",
    "tnb:shape=-0.5,mean=10",
    "poisson:mean=10",
    "binomial:n=20,mean=10",
    "fixed:n=10",
)


def several(count: int, one: str) -> str:
    """Return a sum of different parts; `one` has {s} for the noise and {n} for the count."""
    parts = (one.format(s=round(1.0 + 0.03 * i, 2), n=10 + i) for i in range(count))
    return "+".join(parts)


SGD = several(20, "gaussian:sigma={s}@poisson:q=0.01@{n}")
GROUPS = several(10, "gaussian:sigma={s},sensitivity=0.3@poisson:q=0.01@group:k=3@{n}")
LAPLACE = several(8, "laplace:scale={s}@poisson:q=0.02@{n}")
COMPOSED: dict[str, tuple[str, dict[str, Any]]] = {
    "levels beside a curve": (f"{SGD}+zcdp:rho=0.1", {"delta": 1e-5}),
    "Renyi": (SGD, {"delta": 1e-5, "engine": "rdp"}),
    "Laplace beside a curve": (f"{LAPLACE}+zcdp:rho=0.05", {"delta": 1e-6}),
    "groups beside a curve": (f"{GROUPS}+zcdp:rho=0.01", {"delta": 1e-5}),
    "sampled curve": ("(zcdp:rho=0.05+laplace:scale=4)@poisson:q=0.01@100", {"delta": 1e-5}),
    "curve of a sample of a fixed size": ("zcdp:rho=0.1@wor:q=0.01@100", {"delta": 1e-5}),
    "contour": ("gaussian:sigma=1.1@poisson:q=0.01@1000", {"delta": 1e-5, "engine": "contour"}),
    "every engine": (SGD, {"delta": 1e-5}),
    "allocation": ("gaussian:sigma=2@allocation:t=100@3", {"delta": 1e-5}),
}


def upper(found: Result) -> float:
    """Return the upper end of the number of an answer."""
    result = found.report.result
    name = next(each for each in ("epsilon", "mu", "rho", "advantage") if each in result)
    return found.bound(name).upper


def both(ask: Ask) -> tuple[Result, Result]:
    """Return an answer, and that with a tenth of the work."""
    whole = ask()
    with allowance(QUESTION / 10.0):
        return whole, ask()


# Of these the others are much the same; each takes less than half a second of work.
FAST = {"curve of a sample of a fixed size", "contour", "sampled curve", "groups beside a curve"}
SLOW = pytest.mark.slow


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name", [each if each in FAST else pytest.param(each, marks=SLOW) for each in COMPOSED]
)
def test_compose(name: str) -> None:
    """Compositions, by every engine."""
    spec, asked = COMPOSED[name]
    whole, part = both(lambda: privcalc.compose(spec, **asked))
    assert 0.0 < upper(part) <= RATIO * upper(whole)


@pytest.mark.parametrize(
    "to", ["gdp", *(pytest.param(to, marks=SLOW) for to in ("dp", "zcdp", "matched"))]
)
def test_convert(to: str) -> None:
    """Guarantees in another language."""
    options: dict[str, Any] = {"to": "gdp" if to == "matched" else to}
    if to in {"dp", "matched"}:
        options["delta"] = 1e-5
    whole, part = both(lambda: privcalc.convert(SGD, **options))
    assert 0.0 < upper(part) <= RATIO * upper(whole)


def test_convert_to_divergences() -> None:
    """Renyi divergences at whole orders."""
    whole, part = both(lambda: privcalc.convert(SGD, to="rdp", orders=[2, 3, 8]))
    for (_, full), (_, less) in zip(whole.curve, part.curve, strict=True):
        assert less.upper <= RATIO * full.upper


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("runs", RUNS)
def test_select(runs: str) -> None:
    """The best of a random number of runs of what is known by its curve."""
    whole, part = both(lambda: privcalc.select("zcdp:rho=0.01", runs=runs, delta=1e-6))
    assert upper(part) <= RATIO * upper(whole)


@pytest.mark.dear("gaussian:sigma=_@poisson:q=0.01@1000-target0]")
@pytest.mark.dear("gaussian:sigma=_@poisson:q=0.01@1000-target0]")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("spec", "target"),
    [
        ("gaussian:sigma=_@poisson:q=0.01@1000", {"epsilon": 3, "delta": 1e-5}),
        pytest.param(
            "gaussian:sigma=_@poisson:q=0.01@100+zcdp:rho=0.1",
            {"epsilon": 3, "delta": 1e-5},
            marks=SLOW,
        ),
        ("gaussian:sigma=_@poisson:q=0.01@100", {"mu": 0.5}),
        ("laplace:scale=_@100", {"rho": 0.5}),
        ("gaussian:sigma=_@poisson:q=0.01@100", {"advantage": 0.2}),
    ],
)
def test_calibrate(spec: str, target: dict[str, Any]) -> None:
    """Noise is at most 1.5 times what the full search finds."""
    whole, part = both(lambda: privcalc.calibrate(spec, **target))
    assert part.sufficient <= RATIO * whole.sufficient


@pytest.mark.slow
@pytest.mark.parametrize(
    "run", ["sigma=2.9@poisson:q=0.00022@2269", "sigma=2.62@poisson:q=0.00521@5756"]
)
def test_what_is_rare_leaves_work_for_the_rest(run: str) -> None:
    """The guess at a rare record takes all work that is left; even odds come before it."""
    found = privcalc.convert(f"gaussian:{run}", to="risk", fpr=1e-3)
    alone = privcalc.compose(f"gaussian:{run}", epsilon=0).delta
    assert found.advantage.lower is not None
    assert alone.lower is not None
    assert found.advantage.width <= 1e-6 * found.advantage.upper
    assert max(found.advantage.lower, alone.lower) <= min(found.advantage.upper, alone.upper)
    rare, even = found.to_dict()["result"]["bayes_success"]
    assert (rare["prior"], even["prior"]) == (0.01, 0.5)
    assert rare["success"]["upper"] - 0.99 < 1e-12
    assert even["success"]["upper"] - even["success"]["lower"] < 1e-8
