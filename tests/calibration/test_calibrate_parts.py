"""What calibration is made of: filled trees, numbered decimals, rough starts."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from privcalc.calibration.holes import Decimals, WholeNumbers, exact_product
from privcalc.calibration.start import inverse, rough_log_mu
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from privcalc.spec.text import to_text
from privcalc.spec.tree import (
    HOLE,
    Leaf,
    Wrapped,
    filled,
    holes,
    names,
    owner,
    value_at,
    without,
    written,
)


class TestFilled:
    """Putting values into trees."""

    TEXT = "(gaussian:sigma=2@poisson:q=0.1@10+laplace:scale=_)@_+pure:epsilon=0.1"

    def test_is_what_parsing_gives(self) -> None:
        """A filled tree is the tree of the text with numbers in place of holes."""
        tree = parse(self.TEXT).tree
        scale, count = holes(tree)
        expected = parse(self.TEXT.replace("scale=_", "scale=3.5").replace("@_", "@7")).tree
        assert filled(tree, {scale: 3.5, count: 7}) == expected

    def test_inside_a_parameter(self) -> None:
        """A hole of a specification that is itself a parameter is found and filled."""
        inner = Leaf("gaussian", (("standard_deviation", HOLE),))
        tree = Wrapped("group", (("records", 2),), Leaf("ptr", (("size", 1), ("test", inner))))
        (path,) = holes(tree)
        result = filled(tree, {path: 2.0})
        assert value_at(result, path) == 2.0
        assert owner(result, path) == Leaf("gaussian", (("standard_deviation", 2.0),))
        assert without(tree, path) is None

    def test_without(self) -> None:
        """The innermost event with the value is left out."""
        tree = parse(self.TEXT).tree
        scale, _ = holes(tree)
        rest = without(tree, scale)
        assert rest is not None
        assert to_text(rest) == "gaussian:sigma=2@poisson:q=0.1@10@_+pure:epsilon=0.1"
        assert without(parse("gaussian:sigma=_@3").tree, ("event", "standard_deviation")) is None

    def test_names(self) -> None:
        """What is written can be found by its long name."""
        tree = parse(self.TEXT).tree
        assert names(tree) == (
            "standard_deviation",
            "sampling_probability",
            "count",
            "scale",
            "epsilon",
        )
        assert len(written(tree, "count")) == 2


class TestGrid:
    """Decimals of ten digits, numbered."""

    @given(st.floats(1e-200, 1e200))
    def test_encloses_a_number(self, value: float) -> None:
        """The decimals below and above are neighbours, or the same."""
        grid = Decimals()
        below, above = grid.below(value), grid.above(value)
        assert grid.value(below) <= value <= grid.value(above)
        assert above - below in (0, 1)

    @given(st.integers(-(10**12), 10**12))
    def test_numbers_read_back(self, index: int) -> None:
        """A decimal has one number, and few digits."""
        grid = Decimals()
        value = grid.value(index)
        assert grid.below(value) == grid.above(value) == index
        assert value < grid.value(index + 1) <= value * (1.0 + 1.1e-9)
        assert float(f"{value:.10g}") == value

    def test_products(self) -> None:
        """Products are those of the decimals."""
        assert exact_product(0.1, 3.0) == 0.3

    def test_whole_numbers(self) -> None:
        """Integers number themselves."""
        grid = WholeNumbers()
        assert (grid.below(2.5), grid.above(2.5), grid.value(7)) == (2, 3, 7)


class TestStart:
    """Where a search begins."""

    def test_is_exact_for_gaussian_noise(self) -> None:
        """Squares of mu add up, and a group of k multiplies mu by k."""
        tree = parse("(gaussian:sigma=2@3+gdp:mu=0.5)@group:k=4").tree
        expected = 4.0 * math.sqrt(3.0 / 4.0 + 0.25)
        found = rough_log_mu(tree, Relation.ADD_OR_REMOVE_ONE, {})
        assert math.isclose(math.exp(found), expected, rel_tol=1e-12)

    def test_of_a_sample(self) -> None:
        """A sample has the variance of its likelihood ratio multiplied by q^2."""
        tree = parse("gaussian:sigma=2@poisson:q=0.01@1000").tree
        expected = math.sqrt(1000.0 * math.log1p(1e-4 * math.expm1(0.25)))
        found = rough_log_mu(tree, Relation.ADD_OR_REMOVE_ONE, {})
        assert math.isclose(math.exp(found), expected, rel_tol=1e-12)

    @given(st.floats(-30.0, 30.0), st.floats(0.1, 3.0))
    def test_inverse_of_a_line(self, aim: float, slope: float) -> None:
        """A line is inverted exactly, with its slope."""
        found = inverse(lambda x: slope * x, aim, -700.0, 700.0)
        assert found is not None
        assert math.isclose(found[0], aim / slope, rel_tol=1e-9, abs_tol=1e-9)
        assert math.isclose(found[1], slope, rel_tol=1e-6)

    def test_inverse_ends_where_the_range_does(self) -> None:
        """Nothing is known beyond: the end it is, or the last that was known."""
        assert inverse(lambda x: x, 100.0, -5.0, 5.0) == (5.0, 1.0)
        assert inverse(lambda _: math.nan, 1.0, -5.0, 5.0) is None
        found = inverse(lambda x: x if x < 2.0 else math.nan, 10.0, -5.0, 50.0)
        assert found == (1.0, 1.0)
