"""Sampling against enumeration of small data sets, and sampled tails against 40 digits."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import default_relation, sampling_words
from privcalc.errors import UnsupportedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.sampled.glued import glued
from privcalc.losses.sampled.law import sampled
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.pairs import atoms_profile, hockey_stick
from tests.wrappers.test_wrappers_sampling_tails import SCALES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def truthful(p: float, bit: int) -> list[Any]:
    """Return the law of one bit that is reported truthfully with probability p."""
    return [mpf(p), 1 - mpf(p)] if bit == 0 else [1 - mpf(p), mpf(p)]


def mixture(parts: Iterable[tuple[Any, Sequence[Any]]]) -> list[Any]:
    """Return the mixture of laws with weights."""
    rows = [[weight * each for each in law] for weight, law in parts]
    return [mp.fsum(column) for column in zip(*rows, strict=True)]


def poisson_output(data: Sequence[int], q: float, of_sample: Callable[[int], list[Any]]) -> Any:
    """Run a mechanism on every sample of a data set; it sees the sum of the sample."""
    q_ = mpf(q)
    return mixture(
        (
            mp.fprod(q_ if taken else 1 - q_ for taken in chosen),
            of_sample(sum(x for x, taken in zip(data, chosen, strict=True) if taken)),
        )
        for chosen in product((False, True), repeat=len(data))
    )


def fixed_output(data: Sequence[int], size: int, of_sample: Callable[[int], list[Any]]) -> Any:
    """Run a mechanism on every sample of a fixed size."""
    samples = list(combinations(data, size))
    return mixture((mpf(1) / len(samples), of_sample(sum(sample))) for sample in samples)


def table(rows: Sequence[list[Any]]) -> Callable[[int], list[Any]]:
    """Return the mechanism that has these laws for the sums 0, 1, ... of a sample."""
    return lambda total: rows[total]


def divergence(p: Sequence[Any], r: Sequence[Any], a: Any) -> Any:
    """Return H_a(P || R)."""
    return hockey_stick(zip(p, r, strict=True), a)


def asymmetric() -> AtomicLaw:
    """Return the law for adding of yes with probability 1/100 without the record, 1/2 with it."""
    return AtomicLaw(
        (math.log(0.99 / 0.5), math.log(0.01 / 0.5)), (0.99, 0.01), lower_masses=(0.5, 0.5)
    )


@pytest.mark.parametrize("bits", list(product((0, 1), repeat=4)))
def test_poisson_pair_dominates_every_small_data_set(bits: tuple[int, ...]) -> None:
    """For every function of the sum of a Poisson sample, in both directions and at all scales."""
    q, p = 0.3, 0.8

    def of_sample(total: int) -> list[Any]:
        return truthful(p, bits[total])

    base = AtomicLaw((math.log(4), -math.log(4)), (p, 1 - p), lower_masses=(1 - p, p))
    laws = {remove: sampled(base, q, remove=remove) for remove in (True, False)}
    for rest in product((0, 1), repeat=2):
        without = poisson_output(rest, q, of_sample)
        with_it = poisson_output((*rest, 1), q, of_sample)
        for a in SCALES:
            assert divergence(with_it, without, a) <= atoms_profile(laws[True], a) + mpf("1e-14")
            assert divergence(without, with_it, a) <= atoms_profile(laws[False], a) + mpf("1e-14")


@pytest.mark.parametrize("a", SCALES)
def test_poisson_pair_is_attained(a: Any) -> None:
    """With nobody else in the data set the pair is the mechanism itself."""
    q, p = 0.3, 0.8
    base = AtomicLaw((math.log(4), -math.log(4)), (p, 1 - p), lower_masses=(1 - p, p))
    without = poisson_output((), q, lambda total: truthful(p, total))
    with_it = poisson_output((1,), q, lambda total: truthful(p, total))
    remove, add = (atoms_profile(sampled(base, q, remove=r), a) for r in (True, False))
    assert abs(remove - divergence(with_it, without, a)) < 1e-14
    assert abs(add - divergence(without, with_it, a)) < 1e-14


def test_roles_of_an_asymmetric_pair() -> None:
    """Removing is ((1 - q) R + q W, R): H_2 = 0.039 for Bernoulli 0.01 and 0.5, and not 0."""
    remove = atoms_profile(sampled(asymmetric(), 0.1, remove=True), mpf(2))
    assert abs(remove - mpf("0.039")) < 1e-14
    add = atoms_profile(sampled(asymmetric(), 0.1, remove=False), mpf("1.02"))
    assert abs(add - (mpf("0.99") - mpf("1.02") * mpf("0.941"))) < 1e-14
    text = "bernoulli-pair:p=0.01,other_p=0.5@poisson:q=0.1"
    answer = compose(parse(text).tree, epsilons=[math.log(2)]).answers[0]
    assert answer.bound is not None
    assert answer.bound.upper == pytest.approx(0.039, rel=1e-9)


def test_outcomes_of_one_side_alone() -> None:
    """Without the record alone: the loss log(1 - q). With it alone: infinite for remove."""
    event = AtomicLaw((0.0,), (0.75,), 0.25, 0.125, lower_masses=(0.875,))
    remove, add = (sampled(event, 0.5, remove=r) for r in (True, False))
    assert (remove.infinity_mass, remove.lower_infinity_mass) == (0.0625, 0.0)
    assert (add.infinity_mass, add.lower_infinity_mass) == (0.0, 0.0625)
    outcomes = [(mpf("0.25"), mpf(0)), (mpf("0.75"), mpf("0.875")), (mpf(0), mpf("0.125"))]
    for a in SCALES:
        mixed = [(r + w) / 2 for r, w in outcomes]
        alone = [r for r, _ in outcomes]
        assert abs(atoms_profile(remove, a) - divergence(mixed, alone, a)) < 1e-14
        assert abs(atoms_profile(add, a) - divergence(alone, mixed, a)) < 1e-14


@pytest.mark.parametrize("bits", list(product((0, 1), repeat=3)))
@pytest.mark.parametrize("size", [1, 2])
def test_fixed_size_pairs_dominate_every_small_data_set(bits: tuple[int, ...], size: int) -> None:
    """Samples of `size` out of four, one record added, removed or replaced, at all scales."""
    n, p = 4, 0.8

    def of_sample(total: int) -> list[Any]:
        return truthful(p, bits[total])

    q = size / n
    base = AtomicLaw((math.log(4), -math.log(4)), (p, 1 - p), lower_masses=(1 - p, p))
    remove, add = (sampled(base, q, remove=r) for r in (True, False))
    replace = glued(base, q)
    for rest in product((0, 1), repeat=n - 1):
        smaller = fixed_output(rest, size, of_sample)
        both = [fixed_output((*rest, x), size, of_sample) for x in (0, 1)]
        for a in SCALES:
            slack = mpf("1e-14")
            for larger in both:
                assert divergence(larger, smaller, a) <= atoms_profile(remove, a) + slack
                assert divergence(smaller, larger, a) <= atoms_profile(add, a) + slack
            for one, other in (both, both[::-1]):
                assert divergence(one, other, a) <= atoms_profile(replace, a) + slack


@pytest.mark.parametrize("a", [mpf("1.05"), mpf(2), mpf(3)])
def test_glued_profile_above_one_is_that_of_removing(a: Any) -> None:
    """For a >= 1: q h(1 + (a - 1) / q). Below: the mirror, 1 - a + a H(1 / a)."""
    p, q = 0.8, 0.25
    base = AtomicLaw((math.log(4), -math.log(4)), (p, 1 - p), lower_masses=(1 - p, p))
    law = glued(base, q)
    b = 1 + (a - 1) / q
    h = max(mpf(p) - b * (1 - mpf(p)), mpf(0))
    assert abs(atoms_profile(law, a) - q * h) < 1e-14
    assert abs(atoms_profile(law, 1 / a) - (1 - 1 / a + q * h / a)) < 1e-14


def test_glued_composition_dominates_two_uses() -> None:
    """Two samples of two records out of four, both outputs published, against two glued uses."""
    n, size, p = 4, 2, 0.8
    base = AtomicLaw((math.log(4), -math.log(4)), (p, 1 - p), lower_masses=(1 - p, p))
    law = glued(base, size / n)
    assert isinstance(law, AtomicLaw)
    pairs = list(zip(law.masses, law.lower_masses, strict=True))
    twice = [(mpf(a) * mpf(c), mpf(b) * mpf(d)) for a, b in pairs for c, d in pairs]
    functions = [(0, 1, 1), (0, 0, 1), (0, 1, 0)]
    for f, g in product(functions, repeat=2):
        for rest in product((0, 1), repeat=n - 1):
            outputs = []
            for x in (0, 1):
                first, second = (
                    fixed_output((*rest, x), size, table([truthful(p, bit) for bit in bits]))
                    for bits in (f, g)
                )
                outputs.append([u * v for u in first for v in second])
            for a in SCALES:
                for one, other in (outputs, outputs[::-1]):
                    assert divergence(one, other, a) <= hockey_stick(twice, a) + mpf("1e-14")


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
        ("(gaussian:sigma=2+laplace:scale=3)@poisson:q=0.1", Relation.REPLACE_ONE, "composition"),
        ("zcdp:rho=0.1@poisson:q=0.1", Relation.REPLACE_ONE, "Renyi curve"),
        ("bernoulli-pair:p=0.1,other_p=0.3@poisson:q=1", Relation.REPLACE_ONE, "leave out"),
        ("gaussian:sigma=2@wor:q=0.1", Relation.REPLACE_SPECIAL, "replace-special"),
    ],
)
def test_refused_samplings(text: str, relation: Relation | None, words: str) -> None:
    """Both samplings at once, and relations for which no pair is proved."""
    with pytest.raises(UnsupportedError, match=words):
        compose(parse(text).tree, relation=relation, deltas=[1e-5])


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("event", ["gaussian:sigma=2", "exponential:epsilon=1", "rr:p=0.6"])
def test_no_sample_costs_nothing(event: str, relation: Relation) -> None:
    """With probability 0 no record is in the sample, whatever sees it."""
    tree = parse(f"{event}@poisson:q=0@3").tree
    (answer,) = compose(tree, relation=relation, deltas=[1e-6]).answers
    assert answer.bound is not None
    assert (answer.bound.lower, answer.bound.upper) == (0.0, 0.0)


def test_a_sample_of_everything_is_the_response_itself() -> None:
    """Of a response that is known by bounds, too, replacing a record costs what adding does."""
    text = "rr:p=0.99999999999999989"
    bounds = [
        compose(parse(each).tree, relation=relation, deltas=[1e-6]).answers[0].bound
        for each, relation in (
            (text, Relation.ADD_OR_REMOVE_ONE),
            (f"{text}@poisson:q=1", Relation.REPLACE_ONE),
        )
    ]
    assert bounds[0] == bounds[1]


def test_ratio_and_sizes_agree() -> None:
    """A ratio m / n says the same as n and m, and samples of samples multiply."""
    ends = [
        compose(parse(f"laplace:scale=2@{wor}").tree, deltas=[1e-3]).answers[0].bound
        for wor in ("wor:q=0.25", "wor:n=100,m=25", "wor:q=0.5@wor:q=0.5")
    ]
    assert ends[0] is not None
    assert ends[0] == ends[1] == ends[2]
