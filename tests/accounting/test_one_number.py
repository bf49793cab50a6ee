"""mu and rho that are large: what is said beside them, and where nothing is."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Literal

import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from privcalc.accounting.convert import ConversionQuery, at_one_delta, convert
from privcalc.bounds import Bound
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

RUN = "gaussian:sigma=1.1@poisson:q=256/60000@14063"


def said(done: Outcome) -> list[str]:
    """Return what stands below the table of why a number is large."""
    assert done.status == 0, done.stderr
    return re.findall(r"^why large +(.*)$", done.stdout, re.MULTILINE)


def numbers(words: str) -> tuple[float, float, float]:
    """Return delta, epsilon, and the other number of a sentence."""
    found = re.findall(r"\d[\d.]*(?:e-?\d+)?", words)
    delta, epsilon, other = map(float, found)
    return delta, epsilon, other


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return epsilon of N(mu, 1) against N(0, 1) by the formula of Balle and Wang 2018."""

    def excess(epsilon: float) -> float:
        first = norm.cdf(mu / 2 - epsilon / mu)
        return float(first - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) - delta)

    return float(brentq(excess, 0.0, 50.0))


def test_mu_of_a_training_run(run: Callable[..., Outcome]) -> None:
    """It is that of a run without sampling; at one delta far less has the same epsilon."""
    (words,) = said(run("convert", RUN, "--to", "gdp"))
    delta, epsilon, mu = numbers(words)
    assert delta == 1e-5
    truth = float(run("compose", RUN, "--delta", "1e-5", "-t").stdout)
    assert truth <= epsilon < 1.02 * truth
    assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=2e-3)
    assert float(run("convert", RUN, "--to", "gdp", "-t").stdout) == pytest.approx(
        math.sqrt(14063) / 1.1
    )


def test_the_delta_in_question_is_named(run: Callable[..., Outcome]) -> None:
    """The first that was asked for stands in the sentence, with the mu that its row has."""
    done = run("convert", RUN, "--to", "gdp", "--delta", "1e-7,1e-9")
    (words,) = said(done)
    delta, _, mu = numbers(words)
    assert delta == 1e-7
    (row,) = re.findall(r"^1e-7 +([\d.]+)", done.stdout, re.MULTILINE)
    assert float(row) <= mu < 1.02 * float(row)


def test_rho_of_a_training_run(run: Callable[..., Outcome]) -> None:
    """What rho alone proves at that delta is what `compose` says of it."""
    done = run("convert", RUN, "--to", "zcdp")
    (words,) = said(done)
    delta, epsilon, other = numbers(words)
    assert (delta, epsilon < 2.42) == (1e-5, True)
    rho = float(run("convert", RUN, "--to", "zcdp", "-t").stdout)
    alone = float(run("compose", f"zcdp:rho={rho}", "--delta", "1e-5", "-t").stdout)
    assert other == pytest.approx(alone, rel=0.02)


@pytest.mark.parametrize(
    "line",
    [
        # Small; large, and no larger than at any one delta; not one number; on the data at hand.
        "gaussian:sigma=1.1 --to gdp",
        "gaussian:sigma=0.1 --to gdp",
        "gaussian:sigma=0.1 --to zcdp",
        "gaussian:sigma=1.1@poisson:q=0.1@10 --to tradeoff --fpr 0.1",
        "gaussian:sigma=1.1@poisson:q=0.1@10 --to dp --delta 1e-5",
    ],
)
def test_nothing_is_said_elsewhere(line: str, run: Callable[..., Outcome]) -> None:
    """A number that is large because the cost is large needs no words."""
    assert said(run("convert", *line.split())) == []


def test_an_infinite_mu_has_no_such_reason(run: Callable[..., Outcome]) -> None:
    """Where no mu is true, none is compared."""
    done = run("convert", "approx:epsilon=1,delta=1e-6", "--to", "gdp")
    assert "why large" not in done.stdout


@pytest.mark.parametrize("to", ["gdp", "zcdp"])
def test_nothing_is_said_of_an_epsilon_of_0(to: Literal["gdp", "zcdp"]) -> None:
    """Samples that are rarer than delta have none, and a mu and rho of the noise alone."""
    found = convert(parse("gaussian:sigma=0.3@poisson:q=1e-6").tree, ConversionQuery(to=to))
    number = found.answers[0].result["mu" if to == "gdp" else "rho"]
    assert isinstance(number, Bound)
    truth = 1.0 / 0.3 if to == "gdp" else 0.5 / 0.09
    assert number.lower is not None
    assert number.lower <= truth * (1.0 + 1e-12)
    assert number.upper >= truth
    assert at_one_delta(found) is None
