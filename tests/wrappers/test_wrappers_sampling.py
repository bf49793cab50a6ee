"""Sampling under every relation: words, refusals, and programs that are drawn.

The oracle of relations (`tests/oracles/relations/`) draws programs that fit a description, works
out their outputs on all samples, and knows by theorems what no program can cost. A few dozen
comparisons run each time, and some thousands among the slow tests.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from privcalc.accounting.realize import default_relation
from privcalc.errors import UnsupportedError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from privcalc.spec.registry import sampling_words
from tests.asked import deltas
from tests.asked import epsilon as epsilon_of
from tests.oracles.relations.compare import KINDS, Found, asked, question
from tests.oracles.relations.data_adaptive import ADAPTIVE


def test_roles_of_an_asymmetric_pair() -> None:
    """Removing is ((1 - q) R + q W, R): H_2 = 0.039 for Bernoulli 0.01 and 0.5, and not 0."""
    text = "bernoulli-pair:p=0.01,other_p=0.5@poisson:q=0.1"
    assert deltas(text, [math.log(2)])[0].upper == pytest.approx(0.039, rel=1e-9)


def test_relations_and_words_of_sampling() -> None:
    """@wor asks for replace-one, and tables say what was sampled how."""
    fixed = parse("gaussian:sigma=2@wor:n=100,m=5@10+gaussian:sigma=3").tree
    assert default_relation(fixed) is Relation.REPLACE_ONE
    assert sampling_words(fixed) == "fixed size without replacement"
    poisson = parse("gaussian:sigma=2@poisson:q=0.1@10").tree
    assert default_relation(poisson) is Relation.ADD_OR_REMOVE_ONE
    assert sampling_words(poisson) == "Poisson"
    assert sampling_words(parse("gaussian:sigma=2").tree) == "none"
    inside = "ptr:test=(gaussian:sigma=8@poisson:q=0.1),mechanism=(gdp:mu=1),false_positive=1e-9"
    both = parse(f"{inside}+gaussian:sigma=2@batches:t=3").tree
    assert sampling_words(both) == "Poisson and shuffled batches"
    assert sampling_words(parse("gaussian:sigma=_@poisson:q=_,max=3,n=9").tree).endswith("a cap")


@pytest.mark.parametrize(
    ("text", "relation", "words"),
    [
        ("gaussian:sigma=2@wor:q=0.1+rr:p=0.6@poisson:q=0.2", None, "@poisson and @wor"),
        ("gaussian:sigma=2@wor:q=0.1@poisson:q=0.2", None, "@poisson and @wor"),
        ("gaussian:sigma=2@poisson:q=0.2@wor:q=0.1", None, "@poisson and @wor"),
        ("zcdp:rho=0.1@poisson:q=0.1", Relation.REPLACE_ONE, "Renyi curve"),
        ("bernoulli-pair:p=0.1,other_p=0.3@poisson:q=1", Relation.REPLACE_ONE, "leave out"),
        ("gaussian:sigma=2@wor:q=0.1", Relation.REPLACE_SPECIAL, "replace-special"),
    ],
)
def test_refused_samplings(text: str, relation: Relation | None, words: str) -> None:
    """Both samplings at once, and relations for which no pair is proved."""
    with pytest.raises(UnsupportedError, match=words):
        epsilon_of(text, 1e-5, relation)


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("gaussian:sigma=1@wor:n=5,m=0@3", Relation.REPLACE_ONE),
        ("laplace:scale=1@wor:q=0@group:k=5", Relation.REPLACE_ONE),
        ("gaussian:sigma=1@poisson:q=0@group:k=5", Relation.ADD_OR_REMOVE_ONE),
    ],
)
def test_empty_samples_tell_nothing(text: str, relation: Relation) -> None:
    """With nobody in the sample epsilon and delta are 0, to both ends."""
    for bound in (epsilon_of(text, 0.0, relation), deltas(text, [0.0], relation)[0]):
        assert (bound.lower, bound.upper) == (0.0, 0.0)


@pytest.mark.parametrize("wrapper", ["poisson:q=1", "wor:q=1", "wor:n=7,m=7"])
def test_whole_samples_are_the_event(wrapper: str) -> None:
    """With everybody in the sample nothing is sampled, compositions included."""
    event = "laplace:scale=3@2+rr:p=0.6"
    relation = Relation.ADD_OR_REMOVE_ONE if "poisson" in wrapper else Relation.REPLACE_ONE
    sampled_event, plain = (
        deltas(text, [0.3], relation) for text in (f"({event})@{wrapper}", event)
    )
    assert sampled_event == plain


def test_a_sample_of_everything_is_the_response_itself() -> None:
    """Of a response that is known by bounds, too, replacing a record costs what adding does."""
    text = "rr:p=0.99999999999999989"
    whole = epsilon_of(f"{text}@poisson:q=1", 1e-6, Relation.REPLACE_ONE)
    assert epsilon_of(text, 1e-6, Relation.ADD_OR_REMOVE_ONE) == whole


def test_ratio_and_sizes_agree() -> None:
    """A ratio m / n says the same as n and m, and samples of samples multiply."""
    ends = [
        epsilon_of(f"laplace:scale=2@{wor}", 1e-3)
        for wor in ("wor:q=0.25", "wor:n=100,m=25", "wor:q=0.5@wor:q=0.5")
    ]
    assert ends[0] == ends[1] == ends[2]


SEED = 20_261


def checked(found: Found) -> None:
    """Neither end is false."""
    said = f"{found.question.text} --relation {found.question.relation}: {found}"
    assert not found.false_upper, said
    assert not found.false_lower, said


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_question_of_each_mechanism(kind: str) -> None:
    """One specification that is not refused, at eight epsilons, in both orders."""
    rng = np.random.default_rng([SEED, list(KINDS).index(kind)])
    for _ in range(40):
        found = asked(question(rng, kind, composed=0.0), rng)
        if not found.refused:
            checked(found)
            return
    pytest.fail("all is refused")


# What is known exactly: a program that was drawn costs nearly the upper end.
EXACT = [
    ("gaussian", "poisson", "replace"),
    ("laplace", "poisson", "replace"),
    ("discrete-laplace", "poisson", "replace"),
    ("rr", "poisson", "replace"),
    ("gaussian", "wor", "replace"),
    ("gnmax", "poisson", "special"),
    ("stability", "wor", "replace"),
    ("noisy-screening", "poisson", "special"),
    ("noisy-screening", "wor", "add"),
    ("exponential", "wor", "replace"),
    ("partition-selection", "group", "add"),
]


@pytest.mark.parametrize(("kind", "shape", "relation"), EXACT)
def test_programs_that_are_drawn_attain_what_is_exact(kind: str, shape: str, relation: str) -> None:
    """So a bound that were a tenth too small would be found out by some question here."""
    rng = np.random.default_rng([SEED, 1 + EXACT.index((kind, shape, relation))])
    nearest = 0.0
    for _ in range(400):
        one = question(rng, kind, composed=0.0)
        if (one.shape, one.relation) != (shape, relation):
            continue
        found = asked(one, rng)
        checked(found)
        worth = found.attained > 1e-6
        if worth.any():
            nearest = max(nearest, float((found.attained[worth] / found.upper[worth]).max()))
        if nearest > 0.97:
            return
    assert nearest > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*ADAPTIVE, "noisy-max", "exponential", "any"])
def test_many_random_questions(kind: str) -> None:
    """Random specifications of all shapes, two uses of some among them."""
    seed = [SEED, 7, sum(map(ord, kind))]
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    comparisons = 0
    for _ in range(80):
        found = asked(question(rng, None if kind == "any" else kind), rng)
        if not found.refused:
            checked(found)
            comparisons += len(found.epsilons)
    assert comparisons >= 100


def test_the_oracle_finds_what_is_false() -> None:
    """Ends that are moved by a hundredth past what is attained are false to it."""
    rng = np.random.default_rng(SEED)
    while True:
        one = question(rng, "gaussian", composed=0.0)
        if (one.shape, one.relation) == ("poisson", "replace"):
            break
    found = asked(one, rng)
    assert not found.false_upper
    assert not found.false_lower
    assert found.ceiling is not None
    found.upper = found.upper * 0.99
    assert found.false_upper
    found.lower = [None if x is None else 1.01 * x for x in found.lower]
    assert found.false_lower
