"""Sampling written out: every sample of every small data set, through small noisy mechanisms.

Nothing is assumed of the pairs: outputs of sampled mechanisms are tables of probabilities, and
their hockey-stick divergences must lie below those of the laws that the specification makes.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import realize
from privcalc.relation import Relation
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from privcalc.losses.law import LossLaw

Table = Any
ADD_REMOVE, REPLACE = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE
# Profiles are compared at these scales a, on both sides of 1.
SCALES = np.exp(np.concatenate([np.linspace(-1.5, 1.5, 61), np.linspace(-0.1, 0.1, 21)]))
SLACK = 1e-13


def threshold(sample: Sequence[int]) -> Table:
    """Say yes with probability 0.01 if no record of the sample is marked, else with 0.5."""
    return np.array([0.99, 0.01]) if not any(sample) else np.array([0.5, 0.5])


def parity(sample: Sequence[int]) -> Table:
    """Tell the parity of the sum, and the truth with probability 3/4."""
    law = np.array([0.75, 0.25])
    return law if sum(sample) % 2 == 0 else law[::-1]


def count(sample: Sequence[int]) -> Table:
    """Count with two-sided geometric noise of scale 2, clipped to 0, ..., 5."""
    ratio = math.exp(-0.5)
    values = np.arange(-200, 201)
    noise = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    return np.bincount(np.clip(values + sum(sample), 0, 5), weights=noise, minlength=6)


def poisson(mechanism: Callable[[Sequence[int]], Table], q: float, data: Sequence[int]) -> Table:
    """Return the law of the output on a Poisson sample."""
    total: Any = 0.0
    for taken in product((False, True), repeat=len(data)):
        weight = math.prod(q if each else 1 - q for each in taken)
        sample = tuple(x for x, each in zip(data, taken, strict=True) if each)
        total = total + weight * mechanism(sample)
    return total


def fixed(mechanism: Callable[[Sequence[int]], Table], size: int, data: Sequence[int]) -> Table:
    """Return the law of the output on a sample of fixed size."""
    samples = list(combinations(data, size))
    return sum(mechanism(sample) for sample in samples) / len(samples)


def divergences(p: Table, q: Table) -> Any:
    """Return H_a(P || Q) at all scales."""
    return np.maximum(p - SCALES[:, None] * q, 0.0).sum(axis=1)


def profile(law: LossLaw) -> Any:
    """Return that of a law, from P and Q of the losses above log a; an atom there counts as 0."""
    tails = law.tails(np.sort(np.log(SCALES)))
    found = law.infinity_mass + tails.above_p - np.sort(SCALES) * tails.above_q
    return found[np.argsort(np.argsort(SCALES))]


@cache
def laws(text: str, relation: Relation) -> dict[str, LossLaw]:
    """Return the law of each direction."""
    found = {}
    for name, realized in realize(parse(text).tree, relation).items():
        ((law, uses),) = realized.upper.terms
        assert uses == 1
        assert realized.lower is not None
        found[name] = law
    return {name: found.get(name, next(iter(found.values()))) for name in ("add", "remove")} | found


POISSON = [
    (threshold, "bernoulli-pair:p=0.01,other_p=0.5"),
    (parity, "rr:p=0.75"),
    (count, "discrete-laplace:scale=2"),
]


@pytest.mark.parametrize("q", [0.1, 0.6])
@pytest.mark.parametrize(("mechanism", "text"), POISSON)
def test_poisson_samples_of_all_small_data_sets(mechanism: Any, text: str, q: float) -> None:
    """No data set of at most four records beats the pair of either direction; some attain it."""
    pair = laws(f"{text}@poisson:q={q}", ADD_REMOVE)
    remove, add = profile(pair["remove"]), profile(pair["add"])
    closest = {"remove": math.inf, "add": math.inf}
    for size in range(4):
        for data in combinations_with_replacement((0, 1), size):
            without = poisson(mechanism, q, data)
            for x in (0, 1):
                with_it = poisson(mechanism, q, (*data, x))
                gap = remove - divergences(with_it, without)
                assert (gap >= -SLACK).all()
                closest["remove"] = min(closest["remove"], float(gap.max()))
                gap = add - divergences(without, with_it)
                assert (gap >= -SLACK).all()
                closest["add"] = min(closest["add"], float(gap.max()))
    if mechanism is not count:
        # Clipping costs the count something; the others attain the pair at every scale.
        assert max(closest.values()) < 1e-13


# Replacing one record changes a count by 1, a sum of marks by 1, and any answer of two categories.
FIXED = [(parity, "rr:p=0.75"), (count, "discrete-laplace:scale=2")]


@pytest.mark.parametrize(("n", "m"), [(2, 1), (3, 2), (5, 1), (5, 3), (6, 3)])
@pytest.mark.parametrize(("mechanism", "text"), FIXED)
def test_fixed_samples_of_all_small_data_sets(mechanism: Any, text: str, n: int, m: int) -> None:
    """Added, removed and replaced records, at all scales: each relation below its own pair."""
    text = f"{text}@wor:n={n},m={m}"
    both = laws(text, ADD_REMOVE)
    (replace,) = {id(law): law for law in laws(text, REPLACE).values()}.values()
    remove, add, glue = profile(both["remove"]), profile(both["add"]), profile(replace)
    for data in combinations_with_replacement((0, 1), n - 1):
        larger = [fixed(mechanism, m, (*data, x)) for x in (0, 1)]
        assert (divergences(larger[0], larger[1]) <= glue + SLACK).all()
        assert (divergences(larger[1], larger[0]) <= glue + SLACK).all()
        smaller = fixed(mechanism, m, data)
        for each in larger:
            assert (divergences(each, smaller) <= remove + SLACK).all()
            assert (divergences(smaller, each) <= add + SLACK).all()


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("gaussian:sigma=1@wor:n=5,m=0@3", REPLACE),
        ("gaussian:sigma=1@wor:n=5,m=0@3", ADD_REMOVE),
        ("laplace:scale=1@wor:q=0@group:k=5", REPLACE),
        ("gaussian:sigma=1@poisson:q=0@group:k=5", ADD_REMOVE),
    ],
)
def test_empty_samples_tell_nothing(text: str, relation: Relation) -> None:
    """With nobody in the sample epsilon and delta are 0, to both ends."""
    for query in ({"deltas": [0.0]}, {"epsilons": [0.0]}):
        bound = compose(parse(text).tree, relation=relation, **query).answers[0].bound  # type: ignore[arg-type]
        assert bound is not None
        assert (bound.lower, bound.upper) == (0.0, 0.0)


@pytest.mark.parametrize("wrapper", ["poisson:q=1", "wor:q=1", "wor:n=7,m=7"])
def test_whole_samples_are_the_event(wrapper: str) -> None:
    """With everybody in the sample nothing is sampled, compositions included."""
    event = "(laplace:scale=3@2+rr:p=0.6)"
    ends = [
        compose(parse(text).tree, relation=relation, epsilons=[0.3]).answers[0].bound
        for text in (f"{event}@{wrapper}", event[1:-1])
        for relation in ((ADD_REMOVE if "poisson" in wrapper else REPLACE),)
    ]
    assert ends[0] == ends[1]
