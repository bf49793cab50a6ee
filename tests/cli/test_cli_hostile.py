"""Numbers at every border: command lines that ended in internal errors, with their neighbours."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import mpmath
import pytest

from privcalc.accounting.realize import realize
from privcalc.engine import accountants
from privcalc.numerics.work import allowance
from privcalc.relation import Relation
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Run = Callable[..., Outcome]

NEXT_TO_1 = ("0.9999999999999999", "99.99999999999999%", "9999999999999999/10000000000000000")


def answers(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the results of a run that has some."""
    assert outcome.status == 0, outcome.stderr
    return [json.loads(line)["result"] for line in outcome.stdout.splitlines()]


def epsilon(run: Run, spec: str, *options: str) -> tuple[float, float]:
    """Return the ends of epsilon at delta 1e-5."""
    (found,) = answers(run("compose", spec, "--delta", "1e-5", "--json", *options))
    return found["epsilon"].get("lower", -math.inf), found["epsilon"]["upper"]


@pytest.mark.slow
def test_rough_lattice_settles_all_that_is_left(run: Run) -> None:
    """A response alone costs mu = 2 Phi^-1(p) with p = e^4 / (1 + e^4); rare samples add little."""
    spec = "rr:epsilon=4+gaussian:sigma=5.8@poisson:q=2e-5@18"
    (found,) = answers(run("convert", spec, "--to", "gdp", "--json"))
    p = 1 / (1 + mpmath.exp(-4))
    alone = 2 * mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)
    assert alone * (1 - 1e-9) <= found["mu"]["upper"] <= 1.001 * alone
    assert 0.999 * alone <= found["mu"]["lower"] <= found["mu"]["upper"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "tolerance"),
    [
        ("noisy-screening:sigma=4.88,threshold=57.2,votes=107@5", "0.99"),
        ("noisy-screening:sigma=4.88,threshold=57.2,votes=107@5", "0.9"),
        ("noisy-screening:sigma=3,threshold=20,votes=40@5", "0.99"),
    ],
)
def test_profile_of_a_wide_wish(spec: str, tolerance: str, run: Run) -> None:
    """A profile that is only asked for roughly meets the one that is asked for closely."""
    rough, close = (
        answers(run("compose", spec, "--json", *options))[0]["delta"]
        for options in (("--tolerance", tolerance), ())
    )
    assert len(rough) == len(close) == 21
    for one, other in zip(rough, close, strict=True):
        assert one["lower"] <= other["upper"]
        assert other["lower"] <= one["upper"]


# What samples, and the same with all records.
SAMPLED = [
    ("gaussian:sigma=1@poisson:q={}@3", "gaussian:sigma=1@3", ""),
    ("gaussian:sigma=1@poisson:q={}@3", "gaussian:sigma=1,sensitivity=2@3", "replace-one"),
    ("gaussian:sigma=1@wor:q={}@3", "gaussian:sigma=1@3", "add-or-remove-one"),
    ("rr:epsilon=1@poisson:q={}@group:k=2@3", "rr:epsilon=1@group:k=2@3", ""),
    ("discrete-laplace:scale=2@poisson:q={}@2", "discrete-laplace:scale=2@2", ""),
    ("gaussian:sigma=3@poisson:q={0}@poisson:q={0}", "gaussian:sigma=3", ""),
    ("zcdp:rho=1@poisson:q={}@2", "zcdp:rho=1@2", ""),
    ("(gaussian:sigma=1+laplace:scale=3)@poisson:q={}", "gaussian:sigma=1+laplace:scale=3", ""),
    ("stability:sigma=1,threshold=5@poisson:q={}", "stability:sigma=1,threshold=5", ""),
]


@pytest.mark.few(4)
@pytest.mark.parametrize(("spec", "whole", "relation"), SAMPLED)
@pytest.mark.parametrize("q", NEXT_TO_1)
def test_rates_next_to_1(q: str, spec: str, whole: str, relation: str, run: Run) -> None:
    """What hardly ever leaves a record out costs what all records cost, to ten digits.

    The probability is 1e-16 away from 1, or less, and delta 1e-5: epsilon moves by far less than
    1e-9 of itself. No double that is below 1 may be above the probability.
    """
    low, high = epsilon(run, spec.format(q), *(("--relation", relation) if relation else ()))
    event = epsilon(run, whole)
    assert low <= event[1]
    assert event[0] * (1 - 1e-9) <= high <= event[1] * (1 + 1e-6)


def test_rates_next_to_1_elsewhere(run: Run) -> None:
    """Amplified Renyi curves, histories and capped samples know such rates as well."""
    near, whole = (
        answers(run("subsample", "gaussian:sigma=1", "--q", q, "--orders", "2,4", "--json"))[0]
        for q in (NEXT_TO_1[0], "1")
    )
    for one, other in zip(near["exact"], whole["exact"], strict=True):
        assert one["upper"] == pytest.approx(other["upper"], rel=1e-9)
    history = '{"history": [[1.0, 0.9999999999999999, 3]], "mechanism": "rdp"}'
    assert epsilon(run, history)[1] == pytest.approx(epsilon(run, "gaussian:sigma=1@3")[1])
    capped = "gaussian:sigma=1@poisson:q=0.9999999999999999,max=9,n=10"
    done = run("compose", capped, "--delta", "1e-5")
    assert (done.status, "internal" in done.stderr) != (2, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        "gaussian:sigma=1@poisson:q=0.1@3", "gaussian:sigma=1@wor:q=0.1@100",
        "discrete-gaussian:sigma=3@4", "gaussian:sigma=1+laplace:scale=1", "zcdp:rho=1",
        "gaussian:sigma=1@select:runs=geometric,mean=3", "noisy-max:sigma=1,candidates=2@3",
        "gaussian-pair:mean=0,deviation=1,other_mean=1,other_deviation=2@2", "gnmax:sigma=1@4",
    ],
)  # fmt: skip
@pytest.mark.parametrize("at", ["1.79769313486231570815e308", "1e300", "1e153"])
def test_epsilon_beyond_all_losses(at: str, spec: str, run: Run) -> None:
    """Delta is below every double: P(L > epsilon) is, with a loss of mean and deviation below 100.

    The lower end is nothing, and where the square of epsilon is a double the upper one next to it.
    """
    (found,) = answers(run("compose", spec, "--epsilon", at, "--json"))
    assert found["delta"].get("lower", 0.0) == 0.0
    assert found["delta"]["upper"] <= (1e-100 if float(at) < 1e154 else 1.0)


@pytest.mark.slow
def test_epsilon_beyond_all_losses_keeps_the_mass(run: Run) -> None:
    """What an infinite loss has is left there: 1 - (1 - 1e-6)^3."""
    spec = "approx:epsilon=1,delta=1e-6@3+gaussian:sigma=1@poisson:q=0.1"
    (found,) = answers(run("compose", spec, "--epsilon", "1e308", "--json"))
    mass = 1 - (1 - mpmath.mpf("1e-6")) ** 3
    assert found["delta"]["lower"] <= mass <= found["delta"]["upper"]
    assert found["delta"]["upper"] <= mass * (1 + 1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("spec", "value"),
    [("gaussian:sigma=_@3", "sigma"), ("gaussian:sigma=2@_", "count"),
     ("pure:epsilon=_", "epsilon"), ("gaussian:sigma=1@poisson:q=_@5", "q")],
)  # fmt: skip
@pytest.mark.parametrize("target", ["1.7976931348623158e308", "1e200"])
def test_targets_beyond_all_costs(target: str, spec: str, value: str, run: Run) -> None:
    """Whatever the value, the target is met: that is said, and no search goes on for ever."""
    done = run("calibrate", spec, "--epsilon", target, "--delta", "0.0754")
    assert (done.status, done.stdout) == (2, "")
    assert f"every {value} " in done.stderr


@pytest.mark.few(2)
@pytest.mark.parametrize("tolerance", ["1e-320", "5e-324", "1e-17"])
@pytest.mark.parametrize(
    ("question", "quantity"),
    [
        ("compose gaussian:sigma=1@poisson:q=0.1@3 --delta 1e-5", "epsilon"),
        ("compose laplace:scale=3@3 --epsilon 0.5", "delta"),
        ("convert gaussian:sigma=2@poisson:q=0.5 --to gdp", "mu"),
        ("convert laplace:scale=2@2 --to zcdp", "rho"),
        ("select gaussian:sigma=4 --runs geometric:mean=3 --delta 1e-6", "epsilon"),
    ],
)
def test_tolerances_below_all_digits(
    question: str, quantity: str, tolerance: str, run: Run
) -> None:
    """A wish that no double meets gives a bracket as narrow as there is, and a warning at most."""
    (found,) = answers(run(*question.split(), "--tolerance", tolerance, "--json"))
    (close,) = answers(run(*question.split(), "--tolerance", "1e-9", "--json"))
    assert found[quantity]["lower"] <= close[quantity]["upper"]
    assert close[quantity]["lower"] <= found[quantity]["upper"]
    width = found[quantity]["upper"] - found[quantity]["lower"]
    usual = close[quantity]["upper"] - close[quantity]["lower"]
    assert width <= max(2.0 * usual, 1e-6 * found[quantity]["upper"])


@pytest.mark.few(3)
@pytest.mark.parametrize("mean", ["5e-324", "1e-320", "1e-310", "1e-300", "1e-9"])
@pytest.mark.parametrize("spec", ["stability:scale=2,threshold=40", "gaussian:sigma=2"])
def test_hardly_any_runs(mean: str, spec: str, run: Run) -> None:
    """A number of runs that is 0 but with a chance of its mean publishes nothing at delta 1e-5."""
    done = run("select", spec, "--delta", "1e-5", "--runs", f"poisson:mean={mean}", "--json")
    assert answers(done)[0]["epsilon"]["upper"] == 0.0


@pytest.mark.few(2)
@pytest.mark.parametrize("at", ["1e308", "1.7976931348623157e308", "1e300", "700"])
def test_selection_at_an_epsilon_beyond_all(at: str, run: Run) -> None:
    """With too little work for a sharp answer, too, delta is a number from 0 to 1."""
    spec = "gaussian:sigma=1.1@poisson:q=256/60000@14063"
    with allowance(1e5):
        done = run("select", spec, "--runs", "tnb:shape=0.5,mean=4", "--epsilon", at, "--json")
    (found,) = answers(done)
    assert 0.0 <= found["delta"]["upper"] <= 1.0


@pytest.mark.parametrize("word", ["1e300/1e-300", "1/1e-310", "1e200/1e-101"])
@pytest.mark.parametrize("kind", ["pmf", "profile", "rdp"])
def test_ratios_beyond_all_doubles(kind: str, word: str, run: Run, tmp_path: Path) -> None:
    """A ratio in a file is refused in its line, as a decimal of that size is."""
    file = tmp_path / "table.csv"
    file.write_text(f"2 1/2\n3 {word}\n")
    done = run("compose", f"{kind}:file={file}", "--delta", "1e-5")
    assert (done.status, done.stdout) == (2, "")
    assert "line 2: expected a number such as" in done.stderr


def test_sample_of_sampled_votes(run: Run) -> None:
    """A sample that is sampled again has no member with few outcomes, which is no crash."""
    question = ("subsample", "gnmax:sigma=3@wor:q=5/100@1", "--n", "108", "--m", "5")
    done = run(*question, "--orders", "2,3.5")
    assert "internal" not in done.stderr


@pytest.mark.parametrize("quantity", ["epsilon", "delta"])
def test_search_where_no_order_is_finite(quantity: str) -> None:
    """The search for the best order ends where every order is infinite.

    The second deviation is far above the first: beyond one order the divergence is infinite, and
    the orders on the list all lie beyond.
    """
    spec = "gaussian-pair:mean=1.34,deviation=0.148,other_mean=0.223,other_deviation=11.9"
    tree = parse(f"{spec}@poisson:q=1.02%@4").tree
    for part in realize(tree, Relation.ADD_OR_REMOVE_ONE).values():
        assert part.lower is not None
        assert (
            accountants.best_order(part.lower, quantity, 1e-5 if quantity == "epsilon" else 10)
            > 0.0
        )


@pytest.mark.parametrize("engine", ["contour", "fft", "rdp"])
def test_refusals_have_no_nan(engine: str, run: Run) -> None:
    """An error that is no number is not shown as one."""
    spec = "discrete-laplace:scale=2.7500879759575914@3"
    done = run("compose", spec, "--delta", "9.92e-23", "--engine", engine)
    assert "nan" not in done.stdout + done.stderr
