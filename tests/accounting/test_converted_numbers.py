"""Numbers of `convert` against closed forms and integrals: masses, directions, ends of a mu."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from mpmath import mpf
from scipy.integrate import quad
from scipy.stats import norm

from privcalc.accounting.convert import CONVERSIONS, ConversionQuery, ConvertedAnswer, convert
from privcalc.accounting.directions import Method
from privcalc.bounds import Bound, Proof
from privcalc.errors import NotCertifiedError, UsageError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.truths import normal_delta

if TYPE_CHECKING:
    from privcalc.accounting.convert import Target


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
        return mass + (1 - mpf(mass)) * normal_delta(mu, epsilon)

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
    answer = SimpleNamespace(proved=bound, query={"delta": delta}, method=method)
    monkeypatch.setattr(
        "privcalc.accounting.convert.compose", lambda *_, **__: SimpleNamespace(answers=[answer])
    )
    _, found = converted("gaussian:sigma=1", ConversionQuery(to="gdp", deltas=(delta,)))
    mu = found.result["matched_mu"]
    assert isinstance(mu, Bound)
    assert mu.lower is not None
    assert normal_delta(mu.upper, 2.0) >= delta >= normal_delta(mu.upper * (1 - 1e-6), 2.0)
    assert normal_delta(mu.lower, 1.0) <= delta <= normal_delta(mu.lower * (1 + 1e-6), 1.0)


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


@pytest.mark.parametrize(
    ("text", "delta", "words"),
    [
        ("approx:epsilon=1,delta=0.01", 1e-5, "epsilon at delta 1e-05 is infinite"),
        ("laplace:scale=1", 0.0, "no single mu has epsilon 1.0 at delta 0.0"),
        ("laplace:scale=1", 1.0, "no single mu has epsilon 0.0 at delta 1.0"),
    ],
)
def test_a_mu_that_no_point_determines_is_refused(text: str, delta: float, words: str) -> None:
    """Every mu has epsilon infinity at delta 0, and none an infinite epsilon elsewhere."""
    with pytest.raises(NotCertifiedError, match=words):
        converted(text, ConversionQuery(to="gdp", deltas=(delta,)))


def test_conversions_where_the_mass_decides() -> None:
    """A delta that the mass uses up leaves none for the curve; at 1 nothing is left to prove."""
    text = "zcdp:rho=0.1+approx:epsilon=1,delta={}"
    for mass, delta, truth in ((0.01, 0.001, math.inf), (0.0, 1.0, 0.0)):
        (found,) = converted(text.format(mass), ConversionQuery(deltas=(delta,)))
        epsilon = found.result["epsilon"]
        assert isinstance(epsilon, Bound)
        assert epsilon.upper == truth
        assert found.result["methods"] == dict.fromkeys(CONVERSIONS, truth)
    (found,) = converted(text.format(1), ConversionQuery(epsilons=(2.0,)))
    assert found.result["methods"] == dict.fromkeys(CONVERSIONS, 1.0)


@pytest.mark.parametrize(
    ("text", "question", "words"),
    [
        ("gaussian:sigma=_", ConversionQuery(deltas=(0.1,)), "convert needs every value"),
        ("gaussian:sigma=1", ConversionQuery(), "dp needs the delta or the epsilon"),
        ("gaussian:sigma=1", ConversionQuery(to=cast("Target", "mdp")), "risk, got mdp"),
    ],
)
def test_a_question_that_lacks_something(text: str, question: ConversionQuery, words: str) -> None:
    """It is said what."""
    with pytest.raises(UsageError, match=words):
        converted(text, question)


@pytest.mark.slow
def test_a_chain_that_proves_no_epsilon_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """One order of a Renyi curve stands for no small delta along two steps, and for a large one."""
    monkeypatch.setattr("privcalc.accounting.chain.FEWER", 8)
    tree = parse("max(rdp:order=2,epsilon=0.1,rdp:order=3,epsilon=0.2)").tree
    for delta in (1e-300, 0.5):
        question = ConversionQuery(deltas=(delta,))
        if delta < 0.5:
            with pytest.raises(NotCertifiedError, match="proves no epsilon at delta 1e-300"):
                convert(tree, question, relation=Relation.REPLACE_ONE)
        else:
            (found,) = convert(tree, question, relation=Relation.REPLACE_ONE).answers
            assert found.result["epsilon"] == Bound(0.0)
