"""Calibration: the value of a hole, judged by `compose` at both ends and by closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from mpmath import erfinv, findroot, mp, mpf

from privcalc.accounting.calibrate import (
    Calibration,
    CalibrationTarget,
    calibrate,
)
from privcalc.accounting.compose import compose
from privcalc.accounting.directions import Method
from privcalc.bounds import Bound, Proof
from privcalc.calibration.holes import unknown
from privcalc.errors import DomainError, NotCertifiedError, UnsupportedError, UsageError
from privcalc.numerics.work import allowance
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from privcalc.spec.registry import to_text
from privcalc.spec.tree import Leaf
from tests.truths import normal_delta

if TYPE_CHECKING:
    from privcalc.spec.tree import Node


def target(epsilon: float, delta: float) -> CalibrationTarget:
    """Return an epsilon at a delta."""
    return CalibrationTarget("epsilon", epsilon, delta)


def solve(text: str, aim: CalibrationTarget, *, ratio: tuple[float, ...] = ()) -> Calibration:
    """Calibrate a specification given as text."""
    return calibrate(parse(text).tree, aim, ratio=ratio)


def epsilon(tree: Node, delta: float) -> Bound:
    """Return what `compose` says by default."""
    return compose(tree, deltas=[delta]).answers[0].proved


def check_both_ends(found: Calibration, *, same: bool = True) -> None:
    """Check an epsilon calibration by `compose`, from the text of both specifications.

    Its brackets are the same ones, unless a search left less work for them than a question has.
    """
    delta, budget = found.target.at, found.target.budget
    assert delta is not None
    sufficient = epsilon(parse(to_text(found.tree)).tree, delta)
    assert sufficient == found.bound or not same
    assert sufficient.intersection(found.bound)
    assert sufficient.upper <= budget
    assert found.insufficient_tree is not None
    insufficient = epsilon(parse(to_text(found.insufficient_tree)).tree, delta)
    assert insufficient == found.insufficient_bound or not same
    assert insufficient.lower is not None
    assert insufficient.lower > budget


def gaussian_sigma(epsilon: float, delta: float, near: float) -> mpf:
    """Solve the profile of the Gaussian mechanism for sigma at 40 digits."""
    with mp.workdps(40):
        e, d = mpf(epsilon), mpf(delta)

        def excess(sigma: mpf) -> mpf:
            return normal_delta(1 / sigma, e) / d - 1

        return findroot(excess, (near, near * 1.001))


@pytest.mark.parametrize(
    ("budget", "delta", "known"),
    [(1.0, 1e-5, 3.730631634815942), (0.5, 1e-6, 8.057618480725), (0.1, 1e-6, 36.30469043)],
)
def test_gaussian_noise_is_that_of_the_closed_form(
    budget: float, delta: float, known: float
) -> None:
    """Both values enclose the root of the analytic Gaussian profile, in ten digits."""
    found = solve("gaussian:sigma=_", target(budget, delta))
    root = gaussian_sigma(budget, delta, known)
    assert found.insufficient is not None
    assert found.insufficient < root <= found.sufficient
    assert found.sufficient == pytest.approx(known, rel=2e-9)
    assert found.sufficient - found.insufficient <= 1e-8 * known
    assert (found.parameter, found.method.tolerance_met) == ("sigma", True)
    check_both_ends(found)


@pytest.mark.slow
def test_noise_of_private_training() -> None:
    """It takes few questions, and is below what prv_accountant 0.2.0 finds.

    find_noise_multiplier(0.01, 1000, 3, 1e-5) returns 0.8188383 with its default eps_error, and
    0.8142513 with eps_error=0.01.
    """
    found = solve("gaussian:sigma=_@poisson:q=0.01@1000", target(3.0, 1e-5))
    check_both_ends(found)
    assert found.insufficient is not None
    assert found.sufficient - found.insufficient <= 1e-8 * found.sufficient
    assert found.sufficient < 0.8142513
    assert found.asked <= 12
    assert found.relation is Relation.ADD_OR_REMOVE_ONE


@pytest.mark.slow
def test_count_is_the_largest() -> None:
    """Of counts, one more fails."""
    found = solve("gaussian:sigma=1@poisson:q=0.01@_", target(2.0, 1e-5))
    assert found.insufficient == found.sufficient + 1
    assert isinstance(found.sufficient, int)
    assert found.parameter == "count"
    check_both_ends(found)


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("text", "budget", "parameter"),
    [
        ("gaussian:sigma=3,sensitivity=_@50", 1.0, "sensitivity"),
        ("laplace:scale=_@poisson:q=0.01@1000", 1.0, "scale"),
        ("gaussian:sigma=1@poisson:q=_@1000", 2.0, "q"),
        ("gaussian:sigma=2@wor:q=_", 0.5, "q"),
        ("gaussian:sigma=2@wor:n=1000,m=_", 0.5, "m"),
        ("gaussian:sigma=10@100@group:k=_", 12.0, "k"),
        ("discrete-gaussian:sigma=_@100", 3.0, "sigma"),
        ("discrete-laplace:scale=_@10", 2.0, "scale"),
        ("rr:epsilon=2,categories=_@2", 2.0, "categories"),
        ("pure:epsilon=_@40+gaussian:sigma=5", 2.0, "epsilon"),
        ("approx:epsilon=0.1,delta=_@10", 1.0, "delta"),
        ("gaussian:sigma=_@poisson:q=0.01@1000+laplace:scale=100@50", 1.5, "sigma"),
    ],
)
def test_every_kind_of_hole(text: str, budget: float, parameter: str) -> None:
    """Whatever the hole, both values are proved and next to each other."""
    found = solve(text, target(budget, 1e-5))
    check_both_ends(found)
    assert (found.parameter, found.method.tolerance_met) == (parameter, True)
    assert found.insufficient is not None
    if isinstance(found.sufficient, int):
        assert abs(found.insufficient - found.sufficient) == 1
    else:
        assert abs(found.insufficient / found.sufficient - 1.0) <= 1e-6
        assert float(f"{found.sufficient:.10g}") == found.sufficient


def test_pure_differential_privacy_at_delta_zero() -> None:
    """At delta 0 the largest losses add up: 100 uses at epsilon 1/50 each."""
    found = solve("laplace:scale=_@100", target(2.0, 0.0))
    assert found.sufficient == pytest.approx(50.0, rel=1e-9)
    check_both_ends(found)


class TestOtherTargets:
    """What `convert` says can be a target too; Gaussian noise has closed forms of each."""

    def test_mu(self) -> None:
        """Ten uses of Gaussian noise are mu-GDP with mu = 10^(1/2) / sigma."""
        found = solve("gaussian:sigma=_@10", CalibrationTarget("mu", 0.5))
        assert found.sufficient == pytest.approx(math.sqrt(10.0) / 0.5, rel=2e-9)
        assert found.bound.upper <= 0.5

    def test_rho(self) -> None:
        """And rho-zCDP with rho = 10 / (2 sigma^2)."""
        found = solve("gaussian:sigma=_@10", CalibrationTarget("rho", 0.5))
        assert found.sufficient == pytest.approx(math.sqrt(10.0), rel=2e-9)
        assert found.bound.upper <= 0.5

    def test_advantage(self) -> None:
        """The advantage is 2 Phi(mu / 2) - 1."""
        found = solve("gaussian:sigma=_", CalibrationTarget("advantage", 0.1))
        with mp.workdps(40):
            root = 1 / (2 * mp.sqrt(2) * erfinv(mpf(0.1)))
        assert found.insufficient is not None
        assert found.insufficient < root <= found.sufficient
        assert found.sufficient == pytest.approx(float(root), rel=1e-9)

    def test_tpr(self) -> None:
        """The power at alpha is Phi(Phi^-1(alpha) + mu)."""
        found = solve("gaussian:sigma=_@10", CalibrationTarget("tpr", 0.2, 0.01))
        with mp.workdps(40):
            low, high = (mp.sqrt(2) * erfinv(2 * mpf(p) - 1) for p in (0.01, 0.2))
            root = mp.sqrt(10) / (high - low)
        assert found.insufficient is not None
        assert found.insufficient < root <= found.sufficient
        assert found.sufficient == pytest.approx(float(root), rel=1e-8)


def test_what_is_known_by_bounds_has_no_insufficient_value() -> None:
    """Of zCDP only upper ends are known: the next value is not proved, and not refuted."""
    found = solve("zcdp:rho=_", target(1.0, 1e-6))
    assert found.insufficient is None
    assert found.insufficient_tree is None
    assert not found.method.tolerance_met
    assert any("not proved" in note for note in found.method.notes)
    assert found.bound.upper <= 1.0
    nearby = parse(f"zcdp:rho={found.unproved!r}").tree
    assert epsilon(nearby, 1e-6).upper > 1.0
    assert found.unproved == pytest.approx(found.sufficient, rel=1e-8)


@pytest.mark.parametrize("open_part", [0.0, 1e-6, 0.05, 0.5])
def test_each_value_rests_on_the_end_that_proves_it(
    monkeypatch: pytest.MonkeyPatch, open_part: float
) -> None:
    """Of a cost 1 / sigma with a bracket below it: 2 is proved to keep 1/2, and what misses it."""

    def ask(_self: CalibrationTarget, tree: Node, *_: object, **__: object) -> tuple[Bound, Method]:
        assert isinstance(tree, Leaf)
        sigma = dict(tree.parameters)["standard_deviation"]
        assert isinstance(sigma, float)
        bound = Bound(1.0 / sigma, (1.0 - open_part) / sigma)
        return bound, Method(Proof.CLOSED_FORM, tolerance_met=open_part == 0.0)

    monkeypatch.setattr(CalibrationTarget, "ask", ask)
    found = solve("gaussian:sigma=_", target(0.5, 1e-5))
    assert found.sufficient >= 2.0
    near = min(2e-7, 0.2 * open_part) + 1e-8
    assert found.sufficient == pytest.approx(2.0, rel=1e-2 * open_part + near)
    assert found.insufficient is not None
    assert found.insufficient < 2.0 * (1.0 - open_part)
    assert found.insufficient == pytest.approx(2.0 * (1.0 - open_part), rel=0.1 * open_part + 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "budget"),
    [("gaussian:sigma=_@batches:t=234@3", 3.0), ("gaussian:sigma=_@batches:n=60000,b=256@10", 1.0)],
)
def test_dear_answers_are_near_to_what_compose_proves(text: str, budget: float) -> None:
    """Where few answers can be had, little less noise is no longer proved to be enough."""
    found = solve(text, target(budget, 1e-5))
    check_both_ends(found, same=False)
    less = parse(text.replace("_", repr(0.965 * found.sufficient))).tree
    assert epsilon(less, 1e-5).upper > budget


class TestRefusals:
    """Targets that nothing meets, or everything, and holes in the wrong place: one clear line."""

    @pytest.mark.parametrize(
        ("text", "aim", "error", "words"),
        [
            ("gaussian:sigma=1", target(1.0, 1e-5), UsageError, "write _ for the value"),
            ("gaussian:sigma=_", target(0.0, 1e-5), DomainError, "--advantage 1e-5"),
            ("gaussian:sigma=_", target(0.0, 0.0), DomainError, "does not look at the data"),
            ("gaussian:sigma=_", target(1.0, 1.0), DomainError, "ask for delta < 1"),
            ("gaussian:sigma=_", target(1.0, 2.0), DomainError, "out of range"),
            (
                "gaussian:sigma=_",
                target(1.0, 0.0),
                DomainError,
                "epsilon is infinite; ask for delta > 0",
            ),
            ("gaussian:sigma=_", CalibrationTarget("mu", 0.0), DomainError, "ask for mu > 0"),
            ("gaussian:sigma=_", CalibrationTarget("advantage", 1.0), DomainError, "less than 1"),
            ("gaussian:sigma=_", CalibrationTarget("tpr", 0.1, 0.2), DomainError, "guessing"),
            ("gaussian:sigma=_", CalibrationTarget("tpr", 0.1), DomainError, "needs a delta"),
            (
                "gaussian:sigma=1@_",
                target(1.0, 1e-5),
                DomainError,
                "at count=1 epsilon is at least 4.3771",
            ),
            (
                "gaussian:sigma=1+gaussian:sigma=_",
                target(1.0, 1e-5),
                DomainError,
                "of what it is composed with epsilon is at least 4.3771",
            ),
            (
                "approx:epsilon=_,delta=1e-5",
                target(1.0, 1e-6),
                DomainError,
                "no epsilon of approx meets epsilon 1 at delta 1e-6: at epsilon=0 epsilon is inf",
            ),
            (
                "gaussian:sigma=1@poisson:q=_",
                target(100.0, 1e-5),
                DomainError,
                "every q meets epsilon 100 at delta 1e-5: q=1 has epsilon <= 4.3771",
            ),
            (
                "zcdp:rho=0.1+gaussian:sigma=_",
                target(1.0, 1e-6),
                NotCertifiedError,
                "no sigma is proved to meet",
            ),
            (
                "gaussian:sigma=_+noisy-max:sigma=11.1,candidates=55",
                target(1.01, 1.54e-9),
                NotCertifiedError,
                "epsilon <= 1.05751 of what it is composed with",
            ),
            (
                "gaussian:sigma=_+laplace:scale=_",
                target(1.0, 1e-5),
                UsageError,
                "2 free parameters, sigma of gaussian and scale of laplace",
            ),
        ],
    )
    def test_targets(
        self, text: str, aim: CalibrationTarget, error: type[Exception], words: str
    ) -> None:
        """Each says what is wrong, and where the limit is."""
        with pytest.raises(error) as caught:
            solve(text, aim)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("rr:p=_", "p of randomized-response, so that no value could be called the right one"),
            ("rr:p=_", "calibrate epsilon or random instead"),
            ("rr:p=0.7,categories=_", "categories of randomized-response"),
            ("staircase:epsilon=1,gamma=_", "gamma of staircase"),
            ("staircase:epsilon=1,sensitivity=_", "sensitivity of staircase"),
            ("discrete-laplace:epsilon=1,sensitivity=_", "sensitivity of discrete-laplace"),
            ("bernoulli-pair:p=_,other_p=0.2", "p of bernoulli-pair"),
            (
                "gaussian-pair:mean=0,deviation=1,other_mean=_,other_deviation=1",
                "other_mean of gaussian-pair",
            ),
            ("gaussian:sigma=4@select:runs=tnb,mean=3,shape=_", "shape of select"),
        ],
    )
    def test_places(self, text: str, words: str) -> None:
        """A parameter that the cost does not follow one way is refused by name."""
        with pytest.raises(UnsupportedError) as caught:
            solve(text, target(1.0, 1e-5))
        assert words in str(caught.value)

    def test_relation(self) -> None:
        """A relation that the specification does not support is refused before any search."""
        with pytest.raises(UnsupportedError, match="pass --relation"):
            calibrate(
                parse("gaussian:sigma=_@wor:q=0.1").tree,
                target(1.0, 1e-5),
                relation=Relation.REPLACE_SPECIAL,
            )

    def test_tolerance(self) -> None:
        """A tolerance is between 0 and 1."""
        with pytest.raises(DomainError, match="tolerance"):
            calibrate(parse("gaussian:sigma=_").tree, target(1.0, 1e-5), tolerance=0.0)


class TestRatio:
    """Several holes are filled in a fixed proportion."""

    def test_values(self) -> None:
        """Each value is its factor times a common number, as decimals are multiplied."""
        found = solve("gaussian:sigma=_+laplace:scale=_", target(1.0, 1e-5), ratio=(1.0, 2.2))
        first, second = found.values
        assert Fraction(repr(second)) == Fraction("2.2") * Fraction(repr(first))
        assert to_text(found.tree) == f"gaussian:sigma={first!r}+laplace:scale={second!r}"
        assert len(found.insufficient_values) == 2
        assert found.parameter == "sigma and scale"
        check_both_ends(found)

    @pytest.mark.parametrize(
        ("text", "ratio", "words"),
        [
            ("gaussian:sigma=_", (1.0,), "is the only one"),
            ("gaussian:sigma=_+laplace:scale=_", (1.0,), "one for each"),
            ("gaussian:sigma=_+laplace:scale=_", (1.0, 0.0), "must be > 0"),
            ("gaussian:sigma=_@_", (1.0, 2.0), "whole numbers"),
            (
                "gaussian:sigma=_+pure:epsilon=_",
                (1.0, 2.0),
                "decreases with sigma of gaussian and increases with epsilon of pure",
            ),
        ],
    )
    def test_refusals(self, text: str, ratio: tuple[float, ...], words: str) -> None:
        """Holes that do not go together are named."""
        with pytest.raises(UsageError) as caught:
            solve(text, target(1.0, 1e-5), ratio=ratio)
        assert words in str(caught.value)

    @pytest.mark.parametrize("factor", [1e-323, 1e-310, 6e41, 1e300, 1.7976931348623157e308])
    def test_values_are_doubles(self, factor: float) -> None:
        """At both ends of the range every value is a finite number that is not 0, in any ratio."""
        tree = parse("laplace:noise_multiplier=_+pure:epsilon=0.1+laplace:scale=_").tree
        wanted = unknown(tree, (factor, 1.0))
        for end in (wanted.lowest, wanted.highest):
            values = wanted.values(wanted.grid.value(end))
            assert all(0.0 < value < math.inf for value in values)
            wanted.tree_at(wanted.grid.value(end))
        with pytest.raises(DomainError, match="too large for a double"):
            wanted.tree_at(math.inf)

    def test_a_factor_at_the_end_of_the_doubles(self) -> None:
        """The search goes where the other value is found, and not beyond the doubles."""
        found = solve("laplace:scale=_+laplace:scale=_", target(2.0, 0.0), ratio=(1.0, 1e308))
        # 1/s + 1e-308/s, which is above 2 at 0.5.
        assert (found.insufficient, found.sufficient) == (0.5, 0.5000000001)

    @pytest.mark.parametrize("ratio", [(1.0, 1e-308), (1e308, 1.0)])
    def test_ratios_without_values(self, ratio: tuple[float, ...]) -> None:
        """Orders are at least 1, and not so many of them."""
        with pytest.raises(DomainError, match=r"of rdp in the ratio .* are in range"):
            solve("rdp:order=_,epsilon=1+rdp:order=_,epsilon=2", target(1.0, 1e-5), ratio=ratio)


@pytest.mark.slow
@pytest.mark.parametrize("units", [pytest.param(10.0, marks=pytest.mark.slow), 1e4])
def test_a_search_without_work_says_so(units: float) -> None:
    """What a first probe spends may be all there is; the search ends in words, or a value."""
    text = "(exponential:epsilon=_+exponential:epsilon=0.0921,monotone=true)@poisson:q=0.62@13"
    with allowance(units):
        try:
            found = solve(text, target(3.72, 0.00107))
        except NotCertifiedError:
            return
    assert 0.5 < found.sufficient < 0.9
