"""Mechanisms with finitely many losses, against brute force over their outputs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.errors import DomainError, PrivcalcError
from privcalc.exact import standing_for
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.exact import SMALLEST_MASS, exact_law
from privcalc.losses.atomic.profiles import both_orders
from privcalc.losses.law import exact_max_loss
from privcalc.mechanisms.discrete_gaussian import DiscreteGaussian
from privcalc.mechanisms.discrete_laplace import DiscreteLaplace
from privcalc.mechanisms.randomized_response import RandomizedResponse
from privcalc.mechanisms.staircase import Staircase
from privcalc.relation import Adjacency, Relation
from privcalc.spec.parse import parse
from tests.pairs import atoms_of, atoms_profile, bracket, built, check_atoms, hockey_stick

ADD, REMOVE, REPLACE = Adjacency.ADD, Adjacency.REMOVE, Adjacency.REPLACE
RATIOS = [mpf(x) for x in ("0.05", "0.4", "0.9", "1", "1.1", "1.7", "2.5", "6", "30")]


def geometric(scale: float, shift: int, reach: int = 400) -> list[Any]:
    """Return the two-sided geometric probabilities of -reach .. reach, centred at shift."""
    a = mp.exp(-1 / mpf(scale))
    return [(1 - a) / (1 + a) * a ** abs(k - shift) for k in range(-reach, reach + 1)]


@pytest.mark.parametrize(("scale", "sensitivity"), [(2.0, 1), (0.7, 3), (5.0, 7), (1.3, 2)])
def test_discrete_laplace_is_its_own_definition(scale: float, sensitivity: int) -> None:
    """The law's profile is the sum over all outputs of the noise and the shifted noise."""
    law = atoms_of(f"discrete-laplace:scale={scale!r},sensitivity={sensitivity}", ADD)
    check_atoms(law)
    outcomes = list(zip(geometric(scale, 0), geometric(scale, sensitivity), strict=True))
    for a in RATIOS:
        assert abs(atoms_profile(law, a) - hockey_stick(outcomes, a)) < 1e-15
    assert law.max_loss == float(Fraction(sensitivity) / Fraction(str(scale)))


@pytest.mark.parametrize("split", [(1, 2), (1, 1), (3, 1)])
def test_one_coordinate_dominates_many(split: tuple[int, int]) -> None:
    """Two coordinates that change by s and t leak no more than one that changes by s + t."""
    reach, scale = 40, 1.5
    noise = geometric(scale, 0, reach)
    first, second = (list(zip(noise, geometric(scale, s, reach), strict=True)) for s in split)
    outcomes = [(p * r, q * s) for p, q in first for r, s in second]
    law = atoms_of(f"discrete-laplace:scale={scale},sensitivity={sum(split)}", ADD)
    for a in RATIOS[:8]:
        assert hockey_stick(outcomes, a) <= atoms_profile(law, a) + mpf("1e-15")


def test_discrete_laplace_by_epsilon() -> None:
    """Epsilon is the largest loss, exactly; with sensitivity 1 the mechanism is `pure`."""
    law = atoms_of("discrete-laplace:epsilon=0.1", ADD)
    assert law.losses == (0.1, -0.1)
    assert exact_max_loss(law) == Fraction(1, 10)
    pure = atoms_of("pure:epsilon=0.1", ADD)
    assert law.masses == pytest.approx(pure.masses, rel=4e-16)
    three = atoms_of("discrete-laplace:epsilon=0.3,sensitivity=3", REMOVE)
    assert three.losses[0] == 0.3
    assert len(three.losses) == 4


def test_discrete_laplace_masses_are_rounded_once() -> None:
    """Masses at the far ends of the range equal 200 digits to one unit in the last place."""
    with mp.workdps(250):
        for written, size in ((1e90, 3), (14.5, 10_000), (1 / 690, 1)):
            scale = standing_for(written, Fraction(written))
            law = DiscreteLaplace(scale=scale, sensitivity=size).laws(ADD)
            assert isinstance(law, AtomicLaw)
            a = mp.exp(-1 / mpf(scale))
            for k in (0, 1, size // 2 or 1, size):
                inner = 1 if k in (0, size) else 1 - a
                assert abs(law.masses[k] / (inner * a**k / (1 + a)) - 1) < 2.3e-16


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("discrete-laplace:scale=1,sensitivity=10001", "sensitivity must be at most 10000"),
        ("discrete-laplace:scale=1e-3", r"must be in \[1e-100, 700\], got 1000"),
        ("discrete-laplace:scale=1e-308,sensitivity=1000", "got inf"),
        ("discrete-laplace:scale=1e200", "got 1e-200"),
        ("staircase:epsilon=601", r"in \[1e-100, 600\]"),
        ("discrete-gaussian:sigma=0.01", r"sigma must be in \[0.05, 20000\], got 0.01"),
        ("discrete-gaussian:variance=1e-4", r"sigma must be in \[0.05, 20000\], got 0.01"),
        (f"rr:p=0.{'9' * 305}", r"within 700 of 0, got 702\.288"),
        (f"rr:p=0.{'9' * 320}", r"within 700 of 0, got 736\.827"),
    ],
)
def test_ranges_of_noise_are_named(text: str, message: str) -> None:
    """What doubles or patience cannot hold is refused, with the range."""
    with pytest.raises(PrivcalcError, match=message):
        built(text)


def test_library_calls_are_checked_like_specs() -> None:
    """Constructors refuse what the registry would."""
    with pytest.raises(DomainError, match="not both"):
        DiscreteLaplace()
    with pytest.raises(DomainError, match="epsilon must be in"):
        Staircase(epsilon=0.0)
    with pytest.raises(DomainError, match="needs sigma, variance or rho"):
        DiscreteGaussian()
    with pytest.raises(DomainError, match="within 700 of 0, got inf"):
        RandomizedResponse(probability=1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("discrete-laplace:epsilon=600", "a group of 2 has a privacy loss beyond 700"),
        ("exponential:epsilon=600", "epsilon times the size of a group must be <= 700"),
    ],
)
def test_groups_have_the_ranges_of_one(text: str, message: str) -> None:
    """Epsilon doubles for two records: what one may have, and two may not, is refused by its range.

    The largest that a group may have is 700 itself.
    """
    assert built(text.replace("600", "350")).grouped(2) is not None
    with pytest.raises(DomainError, match=message):
        built(text).grouped(2)


def staircase_pieces(epsilon: float, gamma: Any, shift: Any) -> list[tuple[Any, Any]]:
    """Return masses of f and of f moved by the shift on each interval of constancy (D = 1)."""
    b = mp.exp(-mpf(epsilon))
    height = (1 - b) / (2 * (gamma + b * (1 - gamma)))
    reach = int(80 / epsilon) + 4

    def density(x: Any) -> Any:
        k = mp.floor(abs(x))
        return height * b**k * (1 if abs(x) < k + gamma else b)

    steps = [mpf(k) for k in range(reach)] + [k + gamma for k in range(reach)]
    cuts = sorted({sign * x + move for sign in (1, -1) for x in steps for move in (0, shift)})
    pieces = []
    for low, high in pairwise(cuts):
        middle, width = (low + high) / 2, high - low
        pieces.append((density(middle) * width, density(middle - shift) * width))
    return pieces


@pytest.mark.parametrize("epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 2.0])
@pytest.mark.parametrize("gamma", [None, 0.0, 0.2, 0.5, 0.9, 1.0])
def test_staircase_is_the_worst_of_all_shifts(epsilon: float, gamma: float | None) -> None:
    """At the full sensitivity the law is exact, and smaller shifts leak no more, increasingly."""
    suffix = "" if gamma is None else f",gamma={gamma}"
    law = atoms_of(f"staircase:epsilon={epsilon}{suffix}", ADD)
    check_atoms(law)
    true = 1 / (1 + mp.exp(mpf(epsilon) / 2)) if gamma is None else mpf(gamma)
    full = staircase_pieces(epsilon, true, mpf(1))
    assert abs(sum(p for p, _ in full) - 1) < 1e-20
    ratios = [mp.exp(mpf(epsilon) * mpf(x)) for x in ("-1.2", "-0.7", "0", "0.3", "0.8", "1.1")]
    for a in ratios:
        assert abs(atoms_profile(law, a) - hockey_stick(full, a)) < 1e-15
    before = [mpf(0)] * len(ratios)
    for shift in ("0.05", "0.31", "0.5", "0.77", "0.999"):
        pieces = staircase_pieces(epsilon, true, mpf(shift))
        now = [hockey_stick(pieces, a) for a in ratios]
        for a, low, high in zip(ratios, before, now, strict=True):
            assert low <= high + mpf("1e-20")
            assert high <= atoms_profile(law, a) + mpf("1e-15")
        before = now


def test_staircase_between_its_extremes() -> None:
    """At gamma = 1/2 the staircase is `pure`, and the sensitivity changes nothing."""
    half = atoms_of("staircase:epsilon=1.5,gamma=0.5", ADD)
    assert half == atoms_of("staircase:epsilon=1.5,gamma=0.5,sensitivity=7", REMOVE)
    pure = atoms_of("pure:epsilon=1.5", ADD)
    assert half.losses == pure.losses
    assert half.masses == pytest.approx(pure.masses, rel=4e-16)


@settings(max_examples=60, deadline=None)
@given(
    epsilon=st.floats(1e-100, 600.0),
    gamma=st.one_of(st.none(), st.floats(0.0, 1.0)),
)
def test_staircase_masses_are_probabilities(epsilon: float, gamma: float | None) -> None:
    """For all parameters the masses are normal doubles and sum to 1."""
    written = None if gamma is None else standing_for(gamma, Fraction(gamma))
    law = Staircase(epsilon=standing_for(epsilon, Fraction(epsilon)), gamma=written).laws(ADD)
    assert isinstance(law, AtomicLaw)
    assert math.fsum(law.masses) == pytest.approx(1.0, rel=4e-16)
    assert min(law.masses) > 2.3e-308
    assert max(law.losses) == epsilon


def test_randomized_response_among_many_categories() -> None:
    """The k-ary law is the sum over k outputs, on both sides of p = 1/k and near it."""
    for k, p in ((2, 0.75), (4, 0.75), (5, 0.1), (3, 0.333333333333333), (7, 0.143)):
        law = atoms_of(f"rr:p={p!r},categories={k}", REPLACE)
        check_atoms(law)
        other = (1 - mpf(p)) / (k - 1)
        outcomes = [(mpf(p), other), (other, mpf(p))] + [(other, other)] * (k - 2)
        for a in RATIOS:
            assert abs(atoms_profile(law, a) - hockey_stick(outcomes, a)) < 1e-15


def test_bernoulli_pair_in_both_directions() -> None:
    """Adding has (p, other_p), removing the reverse; zeros become infinite losses."""
    text = "bernoulli-pair:p=0.01,other_p=0.3"
    outcomes = [(mpf(0.01), mpf(0.3)), (1 - mpf(0.01), 1 - mpf(0.3))]
    swapped = [(q, p) for p, q in outcomes]
    for a in RATIOS:
        add, remove, replace = (
            atoms_profile(atoms_of(text, way), a) for way in (ADD, REMOVE, REPLACE)
        )
        assert abs(add - hockey_stick(outcomes, a)) < 1e-15
        assert abs(remove - hockey_stick(swapped, a)) < 1e-15
        assert abs(replace - max(add, remove)) < 1e-15
    certain = atoms_of("bernoulli-pair:p=0,other_p=0.25", REMOVE)
    assert (certain.infinity_mass, certain.lower_infinity_mass) == (0.25, 0.0)
    assert certain.losses == (math.log(0.75),)
    assert atoms_of("bernoulli-pair:p=0,other_p=0.25", ADD).lower_infinity_mass == 0.25
    same = atoms_of("bernoulli-pair:p=0.3,other_p=0.3", REPLACE)
    assert same.losses == (0.0,)
    with pytest.raises(DomainError, match="1e-300"):
        atoms_of("bernoulli-pair:p=1e-310,other_p=0.5", ADD)


def test_losses_near_zero_keep_their_digits() -> None:
    """log(p / q) of nearly equal numbers is right to a few units."""
    p, q = "0.3", "0.3000000000003"
    law = atoms_of(f"bernoulli-pair:p={p},other_p={q}", ADD)
    true = sorted([mp.log(mpf(p) / mpf(q)), mp.log((1 - mpf(p)) / (1 - mpf(q)))])
    for loss, exact in zip(law.losses, true, strict=True):
        assert abs(loss / exact - 1) < 1e-15


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=7).filter(
        lambda pairs: sum(p for p, _ in pairs) > 0 and sum(q for _, q in pairs) > 0
    ),
    st.lists(st.fractions(0, 40), max_size=8),
)
def test_both_orders_is_the_pointwise_maximum(
    pairs: list[tuple[int, int]], ratios: list[Fraction]
) -> None:
    """The symmetrised pair has the larger of the two profiles, exactly, and sums to 1."""
    top, bottom = sum(p for p, _ in pairs), sum(q for _, q in pairs)
    outcomes = [(Fraction(p, top), Fraction(q, bottom)) for p, q in pairs]
    reverse = [(q, p) for p, q in outcomes]
    both = both_orders(outcomes)
    assert sum(p for p, _ in both) == 1 == sum(q for _, q in both)
    assert all(p >= 0 and q >= 0 for p, q in both)
    kinks = [p / q for p, q in both if q] + [q / p for p, q in outcomes if p]
    for a in ratios + kinks:
        assert hockey_stick(both, a) == max(hockey_stick(outcomes, a), hockey_stick(reverse, a))


def test_exact_laws_refuse_what_doubles_cannot_hold() -> None:
    """Masses below 1e-300 are an error, not a subnormal number."""
    tiny = SMALLEST_MASS / 2
    with pytest.raises(DomainError, match="at least 1e-300"):
        exact_law([(tiny, Fraction(1, 2)), (1 - tiny, Fraction(1, 2))])


@pytest.mark.slow
def test_compositions_of_discrete_mechanisms_against_convolution() -> None:
    """Three uses equal the brute-force product of the pairs, in the worse direction."""
    text = "bernoulli-pair:p=0.05,other_p=0.2+discrete-laplace:scale=2,sensitivity=2@2"
    noise = list(zip(geometric(2.0, 0, 60), geometric(2.0, 2, 60), strict=True))
    coin = [(mpf(0.05), mpf(0.2)), (1 - mpf(0.05), 1 - mpf(0.2))]
    double = [(p * r, q * s) for p, q in noise for r, s in noise]
    for epsilon in (0.5, 1.5):
        a = mp.exp(mpf(epsilon))
        truth = max(
            hockey_stick(((p * r, q * s) for p, q in double for r, s in way), a)
            for way in (coin, [(q, p) for p, q in coin])
        )
        lower, upper = bracket(text, epsilon=epsilon)
        assert lower <= truth + mpf("1e-12")
        assert truth <= upper
    tree = parse(text).tree
    both = compose(tree, epsilons=[1.5], relation=Relation.REPLACE_ONE).answers[0].bound
    assert both is not None
    assert both.upper >= truth
