"""The command `convert`: closed forms, and targets that agree with one another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import mpmath
import pytest

from tests.cli.test_cli_schema import objects, result

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

GAUSSIAN = "gaussian:sigma=1"


@pytest.mark.slow
def test_curves_do_not_tell_everything(run: Callable[..., Outcome]) -> None:
    """A Gaussian and an answer with one Renyi curve: what is true of both is above both."""
    gaussian = result(run, "convert", GAUSSIAN, "--delta", "0.3")["epsilon"]
    answer = result(run, "convert", f"rr:p={math.e / (1 + math.e)!r}", "--delta", "0.3")["epsilon"]
    assert gaussian["upper"] == pytest.approx(0.276617, abs=5e-7)
    assert answer["upper"] == pytest.approx(0.471750, abs=5e-7)
    [found] = objects(run("convert", "zcdp:rho=0.5", "--delta", "0.3", "--json"))
    assert found["result"]["epsilon"]["upper"] >= 0.471750
    assert "lower" not in found["result"]["epsilon"]
    assert found["method"]["kind"] == "lossy"
    methods = found["result"]["methods"]
    assert methods["classic"] == pytest.approx(2.0518, abs=5e-5)
    assert methods["balle"] == pytest.approx(0.8176, abs=5e-5)
    assert methods["trade_off"] == pytest.approx(0.6466748784, abs=1e-9)


def test_advantage_of_a_gaussian(run: Callable[..., Outcome]) -> None:
    """2 Phi(mu / 2) - 1 to twelve digits."""
    for sigma in ("0.5", "1", "4", "50"):
        found = result(run, "convert", f"gaussian:sigma={sigma}", "--to", "risk")["advantage"]
        true = float(mpmath.erf(1 / mpmath.mpf(sigma) / mpmath.sqrt(8)))
        assert found["lower"] <= true * (1 + 1e-15)
        assert found["upper"] >= true * (1 - 1e-15)
        assert found["upper"] == pytest.approx(true, rel=1e-10)


def test_risks_are_monotone(run: Callable[..., Outcome]) -> None:
    """More noise, less risk; a higher rate of false alarms, more power."""
    last = 2.0
    for sigma in ("0.5", "1", "2"):
        line = f"convert gaussian:sigma={sigma}@5 --to risk --fpr 1e-6,0.01,0.5"
        found = result(run, *line.split(), "--prior", "0,0.01,0.5,0.9,1")
        powers = [each["tpr"]["upper"] for each in found["tpr_at_fpr"]]
        assert powers == sorted(powers)
        assert powers[0] < last
        last = powers[0]
        guesses = {each["prior"]: each["success"] for each in found["bayes_success"]}
        assert guesses[0.0]["lower"] == guesses[1.0]["lower"] == 1.0
        assert guesses[0.5]["upper"] == pytest.approx((1 + found["advantage"]["upper"]) / 2)
        assert guesses[0.01]["upper"] >= 0.99


@pytest.mark.slow
def test_profile_and_trade_off_agree(run: Callable[..., Outcome]) -> None:
    """delta(epsilon) is the largest 1 - beta - e^epsilon alpha."""
    text = "gaussian:sigma=1.5@poisson:q=0.1@10"
    curve = result(run, "convert", text, "--to", "tradeoff", "--points", "60")
    profile = result(run, "convert", text, "--to", "profile", "--epsilon", "0,0.5,1,2")
    for epsilon, delta in zip(profile["epsilon"], profile["delta"], strict=True):
        values = [
            1.0 - beta["upper"] - math.exp(epsilon) * alpha
            for alpha, beta in zip(curve["alpha"], curve["beta"], strict=True)
        ]
        assert max(values) <= delta["upper"]
        assert max(values) == pytest.approx(delta["upper"], rel=0.1, abs=1e-5)


MIXED = "(gaussian:sigma=2+laplace:scale=3)@poisson:q=0.01@20"


@pytest.mark.slow
def test_between_relations(run: Callable[..., Outcome]) -> None:
    """Where replacing has no pair it is removing and adding: from above, and said so."""
    [found] = objects(
        run("convert", MIXED, "--relation", "replace-one", "--delta", "1e-5", "--json")
    )
    assert found["method"]["kind"] == "lossy"
    single = result(run, "convert", MIXED, "--delta", "1e-5")["epsilon"]
    assert single["upper"] < found["result"]["epsilon"]["upper"] < 3.0 * single["upper"]
