"""Every relation under every sampling: brackets against programs on small data sets, enumerated.

The oracle (`tests/oracles/relations/`) draws programs that fit a description, works out their
outputs on all samples, and knows by theorems what no program can cost. A few dozen comparisons run
each time, some thousands among the slow tests, and any number by
`python -m tests.benchmarks.relations_under_sampling`.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.relations.compare import KINDS, Found, asked, question
from tests.oracles.relations.data_adaptive import ADAPTIVE

SEED = 20_261


def checked(found: Found) -> None:
    """Neither end is false."""
    said = f"{found.question.text} --relation {found.question.relation}: {found}"
    assert not found.false_upper, said
    assert not found.false_lower, said


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
