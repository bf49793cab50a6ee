"""Numbers of `convert` against closed forms and integrals: masses, directions, ends of a mu."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from mpmath import exp, mpf, ncdf
from scipy.integrate import quad
from scipy.stats import norm

from privcalc.accounting.answer import Method
from privcalc.accounting.convert import ConversionQuery, ConvertedAnswer, convert
from privcalc.bounds import Bound, Proof
from privcalc.spec.parse import parse


def gaussian_delta(mu: float, epsilon: float) -> mpf:
    """Return the closed form."""
    m, e = mpf(mu), mpf(epsilon)
    return ncdf(m / 2 - e / m) - exp(e) * ncdf(-m / 2 - e / m)


def converted(text: str, question: ConversionQuery) -> list[ConvertedAnswer]:
    """Return the answers."""
    return list(convert(parse(text).tree, question).answers)


@pytest.mark.parametrize("share", [0.5, 0.999999])
def test_baselines_count_what_is_lost(share: float) -> None:
    """No conversion of a curve is below the cost of noise that has it, and a mass that tells all.

    rho of the noise is mu^2 / 2, and delta that of the mass and of the noise where that is not.
    """
    mu, delta = 0.5, 1e-5
    mass = share * delta
    text = f"zcdp:rho={mu * mu / 2}+approx:epsilon=0,delta={mass!r}"

    def truth(epsilon: float) -> mpf:
        return mass + (1 - mpf(mass)) * gaussian_delta(mu, epsilon)

    epsilons = (1.0, 3.5)
    found, *others = converted(text, ConversionQuery(deltas=(delta,), epsilons=epsilons))
    methods = found.result["methods"]
    assert isinstance(methods, dict)
    assert len(methods) == 3
    assert all(truth(each) <= delta for each in methods.values())
    for epsilon, answer in zip(epsilons, others, strict=True):
        methods = answer.result["methods"]
        assert isinstance(methods, dict)
        assert all(each >= truth(epsilon) for each in methods.values())


def test_a_matched_mu_has_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each end passes through that of epsilon: normal laws of the upper one cost as much."""
    bound, delta = Bound(2.0, 1.0), 1e-5
    method = Method(Proof.CLOSED_FORM, tolerance_met=True)
    answer = SimpleNamespace(bound=bound, query={"delta": delta}, method=method)
    monkeypatch.setattr(
        "privcalc.accounting.convert.compose", lambda *_, **__: SimpleNamespace(answers=[answer])
    )
    _, found = converted("gaussian:sigma=1", ConversionQuery(to="gdp", deltas=(delta,)))
    mu = found.result["matched_mu"]
    assert isinstance(mu, Bound)
    assert mu.lower is not None
    assert gaussian_delta(mu.upper, 2.0) >= delta >= gaussian_delta(mu.upper * (1 - 1e-6), 2.0)
    assert gaussian_delta(mu.lower, 1.0) <= delta <= gaussian_delta(mu.lower * (1 + 1e-6), 1.0)


def test_guesses_at_any_prior() -> None:
    """The likelier of two data sets is guessed: its chance is an integral, for a record that is
    probably there, too, where the other order of the neighbours decides.
    """
    priors = (0.2, 0.5, 0.8, 0.9)
    sigma, q = 0.5, 0.3
    (found,) = converted(
        f"gaussian:sigma={sigma}@poisson:q={q}", ConversionQuery(to="risk", priors=priors)
    )
    rows = found.result["bayes_success"]
    assert isinstance(rows, tuple)
    for prior, row in zip(priors, rows, strict=True):
        assert isinstance(row, dict)

        def best(x: float, t: float = prior) -> float:
            without = norm.pdf(x, 0.0, sigma)
            return float(
                max(t * ((1 - q) * without + q * norm.pdf(x, 1.0, sigma)), (1 - t) * without)
            )

        truth = quad(best, -6.0, 7.0, points=list(np.linspace(-1, 3, 17)), limit=500)[0]
        bound = row["success"]
        assert isinstance(bound, Bound)
        assert bound.lower is not None
        assert bound.lower - 1e-7 <= truth <= bound.upper + 1e-7
        assert bound.width < 1e-4
