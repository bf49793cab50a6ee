"""Questions whose answers are rationals: sums of written numbers, against fractions.Fraction."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privcalc.accounting.calibrate import calibrate
from privcalc.accounting.compose import compose
from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.bounds import Bound, Verdict
from privcalc.calibration.target import CalibrationTarget
from privcalc.exact import standing_for
from privcalc.render.data import dumps
from privcalc.spec.json import loads, to_json
from privcalc.spec.parse import parse
from privcalc.spec.tree import Leaf

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

# Written numbers: the text, and what it says.
Written = tuple[str, Fraction]


def decimals(low: int = 1, high: int = 10**6) -> st.SearchStrategy[Written]:
    """Draw decimals and ratios, some of which are doubles and most are not."""
    digits = st.tuples(st.integers(low, high), st.integers(0, 6)).map(
        lambda x: (f"{x[0]}e-{x[1]}", Fraction(x[0], 10 ** x[1]))
    )
    ratios = st.tuples(st.integers(1, 60), st.integers(1, 60)).map(
        lambda x: (f"{x[0]}/{x[1]}", Fraction(*x))
    )
    return st.one_of(digits, ratios)


def small(largest: int) -> st.SearchStrategy[Written]:
    """Draw those up to a number."""
    return decimals().filter(lambda x: x[1] <= largest)


COUNTS = st.integers(1, 40)


def number(value: Fraction) -> float:
    """Return an option that stands for a rational."""
    return standing_for(float(value), value)


def epsilon(text: str, delta: float = 0.0) -> Bound:
    """Return the bracket of epsilon; not remembered, as deltas of one double differ in digits."""
    return compose(parse(text).tree, deltas=[delta]).answers[0].proved


def assert_exactly(bound: Bound, value: Fraction) -> None:
    """The number is known, its ends print around it, and budgets next to it are decided."""
    assert bound.exact == value
    assert bound.lower is not None
    assert Fraction(repr(bound.lower)) <= value <= Fraction(repr(bound.upper))
    assert bound.upper <= math.nextafter(math.nextafter(bound.lower, math.inf), math.inf)
    if Fraction(repr(float(value))) == value:
        assert bound.lower == bound.upper == float(value)
    if value:
        assert bound.verdict(number(value)) is Verdict.WITHIN
        assert bound.verdict(number(value * (1 + Fraction(1, 10**30)))) is Verdict.WITHIN
        assert bound.verdict(number(value * (1 - Fraction(1, 10**30)))) is Verdict.EXCEEDED


@settings(max_examples=20, deadline=None)
@given(small(5), COUNTS, small(5), COUNTS)
def test_sums_of_largest_losses(a: Written, n: int, b: Written, m: int) -> None:
    """Pure guarantees and Laplace noise of all kinds add up."""
    (first, e), (second, f) = a, b
    for text in (
        f"pure:epsilon={first}@{n}+pure:epsilon={second}@{m}",
        f"laplace:scale=1,sensitivity={first}@{n}+rr:epsilon={second},categories=5@{m}",
        f"discrete-laplace:epsilon={first},sensitivity=3@{n}+approx:epsilon={second},delta=0@{m}",
    ):
        assert_sum(text, n * e + m * f)


def assert_sum(text: str, total: Fraction) -> None:
    """Assert that epsilon at delta 0 is the sum, and delta there 0."""
    assert_exactly(epsilon(text), total)
    bound = compose(parse(text).tree, epsilons=[number(total)]).answers[0].bound
    assert bound == Bound(0.0, 0.0)


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(small(20), small(20), st.integers(1, 5), st.integers(1, 9))
def test_quotients_and_groups(a: Written, b: Written, records: int, n: int) -> None:
    """Sensitivity over scale, times the size of a group, times the uses."""
    (top, s), (bottom, scale) = a, b
    largest = records * s / scale
    if largest > 300:
        return
    text = f"laplace:scale={bottom},sensitivity={top}@group:k={records}@{n}"
    assert_exactly(epsilon(text), n * largest)
    text = f"noisy-max:noise=gumbel,candidates=4,scale={bottom},sensitivity={top}@{n}"
    assert_exactly(epsilon(text), 2 * n * s / scale)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.integers(1, 999), st.integers(1, 20), st.integers(0, 999), st.integers(1, 20), small(3))
def test_masses_at_infinity(d: int, n: int, g: int, m: int, a: Written) -> None:
    """At the very mass epsilon is that of what is finite; below it infinite, above it less."""
    text, e = a
    spec = f"approx:epsilon={text},delta={d}e-3@{n}+approx:epsilon=0.25,delta={g}e-3@{m}"
    mass = 1 - (1 - Fraction(d, 1000)) ** n * (1 - Fraction(g, 1000)) ** m
    assert_exactly(epsilon(spec, number(mass)), n * e + Fraction(m, 4))
    least = mass * (1 - Fraction(1, 10**25))
    assert epsilon(spec, number(least)).lower == math.inf
    bound = compose(parse(spec).tree, epsilons=[number(n * e + Fraction(m, 4))]).answers[0].proved
    assert_exactly(bound, mass)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(small(10), COUNTS, small(10), COUNTS)
def test_sums_of_rho_and_squares(a: Written, n: int, b: Written, m: int) -> None:
    """ZCDP adds up rho, Gaussians mu^2 / 2; mu of their sum is a root, exact where it is one."""
    (first, x), (second, y) = a, b
    text = f"zcdp:rho={first}@{n}+gaussian:sigma={second}@{m}"
    rho = convert(parse(text).tree, ConversionQuery(to="zcdp")).answers[0].result["rho"]
    assert isinstance(rho, Bound)
    assert_exactly(rho, n * x + m / (2 * y * y))
    square = n * n * x * x + m * m * x * x
    text = f"gdp:mu={first}@{n * n}+gaussian:sigma=1,sensitivity={first}@{m * m}"
    mu = convert(parse(text).tree, ConversionQuery(to="gdp")).answers[0].result["mu"]
    assert isinstance(mu, Bound)
    assert mu.lower is not None
    root = Fraction(math.isqrt(n * n + m * m)) * x
    if root * root == square:
        assert_exactly(mu, root)
    else:
        assert Fraction(mu.lower) ** 2 < square < Fraction(mu.upper) ** 2
        assert mu.upper <= math.nextafter(mu.lower, math.inf)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 10**6), st.integers(0, 6), st.integers(1, 60))
def test_calibration_ends_at_the_boundary(digits: int, places: int, n: int) -> None:
    """A budget that a value meets exactly has this value for its answer, and the next one not."""
    value = Fraction(digits, 10**places)
    if not Fraction(1, 100) <= value <= 10:
        return
    target = CalibrationTarget("epsilon", number(n * value), 0.0)
    found = calibrate(parse(f"pure:epsilon={digits}e-{places}@_").tree, target)
    assert (found.sufficient, found.insufficient) == (n, n + 1)
    found = calibrate(parse(f"pure:epsilon=_@{n}").tree, target)
    assert Fraction(repr(found.sufficient)) == value
    assert found.insufficient is not None
    assert 0 < found.insufficient - found.sufficient <= 1.001e-9 * found.insufficient * 10
    found = calibrate(
        parse(f"laplace:scale=_@{n}").tree, CalibrationTarget("epsilon", number(n / value), 0.0)
    )
    assert Fraction(repr(found.sufficient)) == value
    assert found.insufficient is not None
    assert found.insufficient < found.sufficient


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("compose pure:epsilon=0.1@10 --delta 0 --max-epsilon 1", "epsilon <= 1 "),
        ("compose pure:epsilon=0.1@3 --delta 0 --max-epsilon 0.3", "epsilon <= 0.3 "),
        ("compose pure:epsilon=1/3 --delta 0 --max-epsilon 1/3", "within budget"),
        (
            "compose approx:epsilon=1,delta=0.1+approx:epsilon=2,delta=0.2 --delta 0.28 --verbose",
            "0.28 3 3",
        ),
        ("calibrate pure:epsilon=0.1@_ --epsilon 1 --delta 0", "10 11"),
        ("calibrate laplace:scale=_@10 --epsilon 1 --delta 0", "10 9.999999999"),
        ("calibrate gdp:mu=0.5@_ --mu 1", "4 5"),
        ("calibrate gaussian:sigma=_ --mu 1", "1 0.9999999999"),
    ],
)
def test_what_is_printed(run: Callable[..., Outcome], question: str, words: str) -> None:
    """The answers that were off by the last digit of a double."""
    outcome = run(*question.split())
    assert outcome.status == 0
    # How wide the columns are depends on their headings.
    assert words in " ".join(outcome.stdout.split()) + " "


def test_over_budget_by_any_digit(run: Callable[..., Outcome]) -> None:
    """A unit in any digit less is exceeded."""
    tight = (
        "0.299999999999999",
        "0.29999999999999999",
        f"0.2{'9' * 38}",
        "29.9999999999999999999%",
    )
    for budget, status in (*((each, 1) for each in tight), ("0.3", 0), (f"0.3{'0' * 30}1", 0)):
        outcome = run("compose", "pure:epsilon=0.1@3", "--delta", "0", "--max-epsilon", budget)
        assert (outcome.status, "over budget" in outcome.stdout) == (status, status == 1), budget


def test_a_printed_end_is_a_budget_that_passes(run: Callable[..., Outcome]) -> None:
    """All digits of an upper end, of whatever length, are a budget that is kept."""
    for spec in ("pure:epsilon=1/3", "gaussian:sigma=1.7@3", "laplace:scale=3@7"):
        for delta in ("0", "1e-6"):
            ask = ("compose", spec, "--delta", delta)
            upper = run(*ask, "-t").stdout.strip()
            if upper != "Infinity":
                assert run(*ask, "--max-epsilon", upper).status == 0, (spec, delta, upper)


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-300, 9e14), st.integers(1, 20))
def test_numbers_survive_json(value: float, digits: int) -> None:
    """What a number stands for is read back from JSON."""
    from privcalc.exact import exact

    text = f"{value:.{digits}g}"
    tree = parse(f"zcdp:rho={text if 'e' in text or '.' in text else text + '.0'}").tree
    back = loads(dumps(to_json(tree)))
    assert isinstance(tree, Leaf)
    assert isinstance(back, Leaf)
    before, after = tree.parameters[0][1], back.parameters[0][1]
    assert isinstance(before, float)
    assert isinstance(after, float)
    assert exact(after) == exact(before)


def test_mechanisms_of_equal_doubles_are_two() -> None:
    """Two parts whose numbers round to one double are built each by itself."""
    third = "0.3333333333333333148296162562474"
    bound = epsilon(f"pure:epsilon=1/3+pure:epsilon={third}@2")
    assert bound.exact == Fraction(1, 3) + 2 * Fraction(third)
    assert epsilon("pure:epsilon=1/3+pure:epsilon=1/3@2").exact == 1
