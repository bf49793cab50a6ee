"""compose as a function: relations, directions, profiles, the published quadrature, refusals."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from scipy.stats import norm

from privcalc.accounting import compose as module
from privcalc.accounting.compose import compose
from privcalc.accounting.directions import Directions, profile_points, round_step
from privcalc.accounting.realize import realize
from privcalc.errors import DomainError, NotCertifiedError, UnsupportedError, UsageError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.asked import epsilon

MNIST = "gaussian:sigma=1.1@poisson:q=256/60000@14063"


def test_directions_are_composed_separately() -> None:
    """The sampled Gaussian has two directions, and the answer is the larger one's bracket."""
    (answer,) = compose(parse(MNIST).tree, deltas=[1e-5]).answers
    found = {direction.adjacency: direction.bound for direction in answer.directions}
    assert set(found) == {"remove", "add"}
    assert answer.bound == found["remove"]
    add = found["add"]
    assert add is not None
    assert add.upper < 2.25


def test_symmetric_pairs_are_worked_out_once() -> None:
    """A Gaussian is the same in both directions, and so is a sum of symmetric mechanisms."""
    tree = parse("gaussian:sigma=2@10+laplace:scale=5@3+rr:p=0.6").tree
    assert list(realize(tree, Relation.ADD_OR_REMOVE_ONE)) == ["both"]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("gaussian:sigma=2,sensitivity=2@5", "gaussian:noise_multiplier=1@5"),
        ("gaussian:sigma=1@poisson:q=0.5@poisson:q=0.1@400", "gaussian:sigma=1@poisson:q=0.05@400"),
        ("(gaussian:sigma=2@4)@poisson:q=0.1@400", "gaussian:sigma=1@poisson:q=0.1@400"),
        ("gaussian:sigma=3@poisson:q=1@20", "gaussian:sigma=3@20"),
        ("gaussian:sigma=3@20+gaussian:sigma=9@poisson:q=0@7", "gaussian:sigma=3@20"),
        ("rr:p=0.75@30", "pure:epsilon=1.0986122886681098@30"),
        ("approx:epsilon=0.3,delta=0@9", "pure:epsilon=0.3@9"),
        ("laplace:scale=4@5+laplace:scale=4@3", "laplace:scale=4@8"),
    ],
)
def test_equal_specifications_cost_the_same(left: str, right: str) -> None:
    """Two ways to write one mechanism agree to the tolerance."""
    assert epsilon(left, 1e-6).upper == pytest.approx(epsilon(right, 1e-6).upper, rel=1e-6)


def test_profile_is_decreasing_and_short() -> None:
    """21 round epsilons from 0, deltas falling."""
    (answer,) = compose(parse("gaussian:sigma=2@3").tree).answers
    assert answer.quantity == "profile"
    epsilons = [epsilon for epsilon, _ in answer.profile]
    deltas = [bound.upper for _, bound in answer.profile]
    assert len(epsilons) == 21
    assert epsilons[0] == 0.0
    assert all(len(repr(epsilon)) <= 5 for epsilon in epsilons)
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] < 1e-9
    # What lies beyond has nothing to show.
    assert deltas[-3] > 1e-14


@pytest.mark.parametrize(
    ("value", "step"), [(0.13, 0.15), (0.2, 0.2), (2.1, 2.5), (60, 60), (81, 100)]
)
def test_round_steps(value: float, step: float) -> None:
    """Steps are read easily, and at least the value, but no more than a quarter more."""
    assert round_step(value) == pytest.approx(step)


@pytest.mark.slow
def test_tolerance_is_a_wish() -> None:
    """What cannot be bracketed so narrowly is bracketed as well as can be, and says so."""
    (answer,) = compose(parse(MNIST).tree, deltas=[1e-5], tolerance=1e-14).answers
    assert answer.bound is not None
    assert not answer.method.tolerance_met
    assert answer.bound.width < 1e-10


def test_engines_that_can_be_asked_alone_agree() -> None:
    """Contour and FFT prove both ends and meet; a Renyi order proves an upper end above both."""
    found = {}
    for engine in ("contour", "fft", "rdp"):
        tree = parse("laplace:scale=4@60+gaussian:sigma=5").tree
        (answer,) = compose(tree, deltas=[1e-8], tolerance=1e-6, engine=engine).answers
        assert answer.method.engine == engine
        assert answer.bound is not None
        found[engine] = answer.bound
    both = found["contour"].intersection(found["fft"])
    assert both.lower is not None
    assert found["rdp"].lower is None
    assert found["rdp"].upper > both.upper


def test_lines_are_for_gaussian_noise() -> None:
    """Of other noise alone there is no line, and the error says which engine to ask."""
    with pytest.raises(NotCertifiedError, match=r"needs Gaussian noise.*use --engine fft"):
        compose(parse("laplace:scale=4@60").tree, deltas=[1e-8], engine="contour")


def test_group_without_a_formula_has_no_lower_end() -> None:
    """What is known from above only misses the tolerance, and says why."""
    (answer,) = compose(parse("staircase:epsilon=0.1@10@group:k=3").tree, deltas=[1e-6]).answers
    assert answer.bound is not None
    assert (answer.bound.lower, answer.method.tolerance_met) == (None, False)
    assert any("only an upper bound" in note for note in answer.method.notes)


@pytest.mark.parametrize(
    ("text", "options", "error", "words"),
    [
        (MNIST, {"deltas": [1.5]}, DomainError, "delta must be in"),
        (MNIST, {"deltas": [math.nan]}, DomainError, "delta must be in"),
        (MNIST, {"epsilons": [-1.0]}, DomainError, "epsilon must be"),
        (MNIST, {"tolerance": 0.0}, DomainError, "tolerance must be"),
        (MNIST, {"engine": "magic", "deltas": [0.1]}, UsageError, "must be one of"),
        (
            "gaussian:sigma=1@wor:q=0.1",
            {"relation": Relation.REPLACE_SPECIAL},
            UnsupportedError,
            "relation",
        ),
        ("gaussian:sigma=_", {"deltas": [0.1]}, UsageError, "calibrate"),
        ("gaussian:sigma=1@_", {"deltas": [0.1]}, UsageError, "calibrate"),
        (
            "gaussian:sigma=1@poisson:q=1e-200@poisson:q=1e-200",
            {"deltas": [0.1]},
            UnsupportedError,
            "product",
        ),
    ],
)
def test_refusals(text: str, options: dict[str, object], error: type, words: str) -> None:
    """What makes no sense, or is not there, is refused by name."""
    with pytest.raises(error, match=words):
        compose(parse(text).tree, **options)  # type: ignore[arg-type]


def test_sampling_everything_leaves_the_event() -> None:
    """At q = 1 a composition of any mechanisms is itself."""
    plain = realize(parse("laplace:scale=2@4+rr:p=0.7").tree, Relation.ADD_OR_REMOVE_ONE)
    tree = parse("(laplace:scale=2@4+rr:p=0.7)@poisson:q=1").tree
    assert realize(tree, Relation.ADD_OR_REMOVE_ONE) == plain


def test_gaussians_merge_before_sampling() -> None:
    """Four uses of sigma = 2 on one sample are one use of sigma = 1."""
    merged = realize(parse("(gaussian:sigma=2@4)@poisson:q=0.3").tree, Relation.ADD_OR_REMOVE_ONE)
    single = realize(parse("gaussian:sigma=1@poisson:q=0.3").tree, Relation.ADD_OR_REMOVE_ONE)
    assert merged == single


def test_noise_of_one_record_and_of_a_group_of_them() -> None:
    """One mechanism is asked for both: the law of one record is not that of the group."""
    either = realize(
        parse("gaussian:sigma=2+gaussian:sigma=2@group:k=3").tree, Relation.ADD_OR_REMOVE_ONE
    )
    apart = realize(parse("gaussian:sigma=2+gdp:mu=1.5").tree, Relation.ADD_OR_REMOVE_ONE)
    assert either == apart


@pytest.mark.slow
def test_the_profile_of_a_selection_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It falls, and ends at E[K] times the mass."""
    monkeypatch.setattr(module, "PROFILE_POINTS", 2)
    tree = parse("approx:epsilon=0.1,delta=0.1@select:runs=geometric,mean=3").tree
    (answer,) = compose(tree).answers
    uppers = [bound.upper for _, bound in answer.profile]
    assert uppers == sorted(uppers, reverse=True)
    assert all(0.0 < (bound.lower or 0.0) <= bound.upper for _, bound in answer.profile)
    assert uppers[-1] == pytest.approx(0.3, rel=1e-9)
    assert any("privcalc select" in note for note in answer.method.notes)


@pytest.mark.slow
@pytest.mark.slow
def test_the_profile_of_a_selection_beside_other_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the other part is the worse, its profile and the errors of its proof are the answer."""
    monkeypatch.setattr(module, "PROFILE_POINTS", 2)
    noise = "gaussian:sigma=1+laplace:scale=9"
    tree = parse(f"max(approx:epsilon=0.01,delta=0@select:runs=geometric,mean=2,{noise})").tree
    (answer,) = compose(tree).answers
    assert answer.profile[0][0] == 0.0
    terms: dict[str, float] = {}
    for at, bound in answer.profile:
        (alone,) = compose(parse(noise).tree, epsilons=[at]).answers
        assert bound.upper == pytest.approx(alone.proved.upper, rel=1e-6)
        assert bound.upper >= alone.proved.lower  # type: ignore[operator]
        for name, value in alone.method.terms.items():
            terms[name] = max(terms.get(name, 0.0), value)
    assert terms
    assert answer.method.terms == terms


def test_estimates_prove_nothing() -> None:
    """A bracket that was not proved is no answer, and estimates have no profile."""
    tree = parse("gaussian:sigma=2").tree
    (answer,) = compose(tree, deltas=[1e-5], engine="afa").answers
    assert answer.estimate == pytest.approx(epsilon("gaussian:sigma=2", 1e-5).upper, rel=1e-6)
    with pytest.raises(AssertionError, match="only proved engines are asked"):
        _ = answer.proved
    with pytest.raises(UsageError, match="no profile"):
        compose(tree, engine="afa")


def test_a_skewed_profile_has_points_over_the_logarithm() -> None:
    """Of rare samples with little noise: from a quarter of the middle to the end, by one factor."""
    q, sigma = 0.02, 0.5

    def delta(epsilon: float) -> float:
        """Return P(L > epsilon) - e^epsilon Q(L > epsilon) for removing the record."""
        edge = sigma**2 * math.log((math.exp(epsilon) - 1.0 + q) / q) + 0.5
        there = (1.0 - q) * norm.sf(edge, 0.0, sigma) + q * norm.sf(edge, 1.0, sigma)
        return float(there - math.exp(epsilon) * norm.sf(edge, 0.0, sigma))

    tree = parse(f"gaussian:sigma={sigma}@poisson:q={q}").tree
    points = profile_points(Directions(realize(tree, Relation.ADD_OR_REMOVE_ONE), 1e-7), 7)
    first, *others = points
    assert first == 0.0
    assert delta(4.0 * others[0]) == pytest.approx(0.01, rel=0.02)
    assert delta(others[-1]) == pytest.approx(1e-10, rel=0.5)
    factor = (others[-1] / others[0]) ** 0.2
    for one, other in pairwise(others):
        assert other / one == pytest.approx(factor, rel=0.01)


def test_a_profile_of_nothing_reaches_to_1() -> None:
    """Where every epsilon has delta 0 any points will do."""
    nothing = Directions(realize(parse("pure:epsilon=0").tree, Relation.ADD_OR_REMOVE_ONE), 1e-7)
    assert profile_points(nothing, 3) == (0.0, 0.5, 1.0)
    bounds, _ = nothing.profile((0.0, 0.5, 1.0))
    assert all(bound.upper == 0.0 for bound in bounds)


def test_a_count_that_is_missing_is_no_count() -> None:
    """Only calibrate reads a hole."""
    with pytest.raises(UsageError, match="a count is missing"):
        realize(parse("gaussian:sigma=1@_").tree, Relation.ADD_OR_REMOVE_ONE)
