"""What existing mechanisms cost when a record of a Poisson sample is replaced."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privcalc.accounting.chain import chain_for
from privcalc.accounting.convert import Question, convert
from privcalc.accounting.realize import realize
from privcalc.errors import UnsupportedError
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from privcalc.losses.sampled.replaced import ReplacedGaussianLaw
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.losses.opposite_pairs import REPLACE, asked


@pytest.mark.parametrize("p", [0.9, 0.5, 0.2, 0.05])
@pytest.mark.parametrize("categories", [2, 3, 5])
@pytest.mark.parametrize("q", [0.1, 0.6])
def test_randomized_response_is_the_worst_of_its_categories(
    p: float, categories: int, q: float
) -> None:
    """All true categories without the record and with its two values, written out."""
    if p * categories == 1.0:
        pytest.skip("nothing depends on the record")
    other = (1.0 - p) / (categories - 1)
    rows = [np.where(np.arange(categories) == i, p, other) for i in range(min(categories, 3))]
    text = f"rr:p={p!r},categories={categories}@poisson:q={q!r}"
    for epsilon in (0.0, 0.02, 0.1, 0.5):
        a, seen = math.exp(epsilon), 0.0
        for base in rows:
            for one in rows:
                for two in rows:
                    gap = (1.0 - q) * base * (1.0 - a) + q * (one - a * two)
                    seen = max(seen, float(np.maximum(gap, 0.0).sum()))
        bound = asked(text, epsilon=epsilon)
        assert bound.upper >= seen - 1e-15
        assert bound.lower is not None
        assert bound.lower <= seen + 1e-15
        assert bound.upper <= seen * (1.0 + 1e-9) + 1e-15


@pytest.mark.parametrize(
    "text",
    ["pure:epsilon=0.7", "approx:epsilon=0.7,delta=1e-3", "staircase:epsilon=1,gamma=0.3",
     "discrete-laplace:scale=2,sensitivity=3", "bernoulli-pair:p=0.1,other_p=0.3"],
)  # fmt: skip
def test_replacing_costs_no_less_than_removing(text: str) -> None:
    """A record may be replaced by one without influence; and no more than the chain of two."""
    sampled = f"{text}@poisson:q=0.2@5"
    removed = asked(sampled, relation=Relation.ADD_OR_REMOVE_ONE, delta=1e-2)
    bound = asked(sampled, delta=1e-2)
    found = chain_for(parse(sampled).tree, 1, REPLACE, engine="auto")
    assert found is not None
    assert removed.lower is not None
    assert bound.lower is not None
    assert removed.lower <= bound.upper
    assert bound.upper <= found.epsilon(1e-2) * (1.0 + 1e-9)
    if "pair" in text:
        # Nothing is said of other records than the one: removing it is what is known to exist.
        assert bound.lower <= removed.upper
    else:
        assert bound.upper - bound.lower < 1e-4 * bound.upper
        assert bound.lower > removed.upper


def test_samples_of_everybody_and_of_nobody() -> None:
    """At q = 1 the two outputs are twice as far apart, at q = 0 they are the same."""
    whole, double = (
        asked("gaussian:sigma=2@poisson:q=1@50", delta=1e-5),
        asked("gaussian:sigma=1@50", delta=1e-5),
    )
    assert (whole.lower, whole.upper) == (double.lower, double.upper)
    near = asked("gaussian:sigma=2@poisson:q=0.99999999@50", delta=1e-5)
    assert near.upper == pytest.approx(double.upper, rel=1e-6)
    assert near.upper <= double.upper
    nobody = asked("gaussian:sigma=2@poisson:q=0@3", delta=1e-5)
    assert (nobody.lower, nobody.upper) == (0.0, 0.0)
    with pytest.raises(UnsupportedError, match="leave out"):
        asked("bernoulli-pair:p=0.1,other_p=0.3@poisson:q=1", delta=1e-5)


def test_nested_and_rounded_probabilities() -> None:
    """A sample of a sample is one, also where the product of the probabilities is rounded."""
    twice = asked("laplace:scale=2@poisson:q=0.5@poisson:q=0.5@70", delta=1e-4)
    once = asked("laplace:scale=2@poisson:q=0.25@70", delta=1e-4)
    assert (twice.lower, twice.upper) == (once.lower, once.upper)
    for text in ("gaussian:sigma=2", "pure:epsilon=0.5"):
        rounded = asked(f"{text}@poisson:q=0.9@poisson:q=0.9@50", delta=1e-4)
        plain = asked(f"{text}@poisson:q=0.81@50", delta=1e-4)
        assert rounded.lower is not None
        assert rounded.upper == pytest.approx(plain.upper, rel=1e-8)
        assert rounded.lower == pytest.approx(plain.upper, rel=1e-8)


def test_groups_of_replaced_records_are_a_chain() -> None:
    """Several records replaced: from above only, and no more than replacing them all at once."""
    bound = asked("gaussian:sigma=2@poisson:q=0.1@50@group:k=2", delta=1e-5)
    single = asked("gaussian:sigma=2@poisson:q=0.1@50", delta=1e-5)
    assert bound.lower is None
    assert bound.upper > single.upper


def test_convert_says_what_compose_says() -> None:
    """The pair answers, and no chain is asked."""
    text = "gaussian:sigma=1@poisson:q=0.01@100"
    tree = parse(text).tree
    found = convert(tree, Question("dp", deltas=(1e-5,)), relation=REPLACE)
    bound = found.answers[0].result["epsilon"]
    composed = asked(text, delta=1e-5)
    assert bound == composed
    along = chain_for(tree, 1, REPLACE, engine="auto")
    assert along is not None
    assert along.epsilon(1e-5) > composed.upper


def test_a_distance_of_long_decimals_is_known() -> None:
    """Means that nearly cancel are subtracted as they were written."""
    first, other = "0.30000000000000004", "0.30000000001000002"
    distance = Fraction(other) - Fraction(first)
    means = f"mean={first},deviation=1,other_mean={other},other_deviation=1"
    text = f"gaussian-pair:{means}@poisson:q=0.1"
    upper = realize(parse(text).tree, REPLACE)["replace"].upper.terms[0][0]
    assert isinstance(upper, ReplacedGaussianLaw)
    assert upper.base.enclosure.exact == distance
    assert upper.base.error <= 2.0**-53
    groups = realize(parse(f"{text}@group:k=2").tree, Relation.ADD_OR_REMOVE_ONE)
    assert set(groups) == {"add", "remove"}
    for found in groups.values():
        upper, lower = (end.terms[0][0] for end in (found.upper, found.lower) if end is not None)
        assert isinstance(upper, GaussianMixtureLaw)
        assert isinstance(lower, GaussianMixtureLaw)
        # The law counts a unit of its distance.
        assert all(abs(Fraction(law.mu) / distance - 1) <= 2.0**-53 for law in (lower, upper))
