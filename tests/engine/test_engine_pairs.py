"""Two engines that share only the loss law must not contradict each other, nor brute force.

For random specifications over every mechanism and wrapper: whenever two engines answer, their
brackets meet in every direction; `auto` answers, but for the refusals listed; and where the
outcomes of a composition can be written out, delta crosses its value inside every bracket.
"""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.compose import compose
from privcalc.errors import (
    DisagreementError,
    NotCertifiedError,
    PrivcalcError,
    UnsupportedError,
)
from privcalc.spec import registry
from privcalc.spec.parse import parse
from tests.oracles.brute import BruteForce, TooManyOutcomesError
from tests.oracles.brute_pairs import removal
from tests.random_mechanisms import Generator, RandomSpec
from tests.truths import meet

if TYPE_CHECKING:
    from pathlib import Path

    from privcalc.bounds import Bound

# Relative widths to ask each engine for: what is quick, and what the command line asks for.
QUICK = {"auto": 1e-5, "contour": 1e-4, "fft": 1e-3}
BATCH = 10
# What `auto` may refuse, and why.
REFUSALS = (
    # epsilon jumps there, and no double tells on which side delta lies.
    "delta equals the probability of an infinite loss",
    # A pair that says what is with and without a record does not say what replaces one.
    "is not defined under replace-one",
    # k records more change the size of the population, and the pair with it.
    "@group on a sample of fixed size is known for replacing records only",
    # The law of the sample would be one of a probability that nobody wrote.
    "nested sampling with a product",
    # The sampling probability of a fixed-size sample changes with every record added or removed.
    "is known for replacing records only",
    # The sample that is sampled again has another size.
    "cannot be sampled as if there were",
    # Nor is there a sample of n out of n - 1.
    "a sample of all records is not defined",
)
# Outcomes that brute force writes out: more take longer than all engines together.
MOST = 10_000


def answers(spec: RandomSpec, engine: str, tolerance: float) -> dict[str, Bound]:
    """Return an engine's bracket of epsilon in each direction."""
    composition = compose(
        parse(spec.text).tree,
        relation=spec.relation,
        deltas=[spec.delta],
        tolerance=tolerance,
        engine=engine,
    )
    directions = composition.answers[0].directions
    return {one.adjacency: one.bound for one in directions if one.bound is not None}


def contradictions(spec: RandomSpec, found: dict[str, dict[str, Bound]]) -> list[str]:
    """Return the brackets that brute force refutes, in words."""
    wrong = []
    for direction in ("replace",) if spec.replaces else ("add", "remove"):
        parts = [(make(), count) for make, count in spec.outcomes or ()]
        if direction == "remove":
            parts = [(removal(pair), count) for pair, count in parts]
        try:
            whole = BruteForce(parts, most=MOST)
        except (TooManyOutcomesError, ValueError):
            return []
        for engine, bounds in found.items():
            bound = bounds.get(direction, bounds.get("both"))
            if bound is None:
                continue
            low = bound.lower or 0.0
            if whole.delta(bound.upper) > spec.delta or (low and whole.delta(low) < spec.delta):
                truth = whole.epsilon(spec.delta)
                wrong.append(f"{spec} {direction}: {engine} gives {bound}, truth {truth}")
    return wrong


def faults(spec: RandomSpec, tolerances: dict[str, float]) -> list[str]:
    """Return what is wrong with the answers to one question, in words."""
    wrong: list[str] = []
    found: dict[str, dict[str, Bound]] = {}
    for engine, tolerance in tolerances.items():
        try:
            found[engine] = answers(spec, engine, tolerance)
        except (NotCertifiedError, UnsupportedError) as error:
            listed = any(refusal in str(error) for refusal in REFUSALS)
            if engine == "auto" and not listed:
                wrong.append(f"{spec}: {type(error).__name__}: {error}")
        except DisagreementError as error:
            wrong.append(f"{spec}: {engine}: {error}")
        except (PrivcalcError, ArithmeticError, AssertionError) as error:
            wrong.append(f"{spec}: {engine}: {type(error).__name__}: {error}")
    for one, other in combinations(found, 2):
        for direction in found[one].keys() & found[other].keys():
            a, b = found[one][direction], found[other][direction]
            if not meet(a, b):
                wrong.append(f"{spec} {direction}: {one} gives {a}, {other} gives {b}")
    return wrong + contradictions(spec, found) if spec.outcomes else wrong


def batch(seed: int, directory: Path, tolerances: dict[str, float]) -> list[str]:
    """Return the faults of a batch of specifications."""
    generator = Generator(random.Random(seed), directory)
    return [fault for _ in range(BATCH) for fault in faults(generator.spec(), tolerances)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_engines_meet(seed: int, tmp_path: Path) -> None:
    """200 specifications: no two brackets are disjoint, and none contradicts brute force."""
    assert batch(seed, tmp_path, QUICK) == []


def test_generator_covers_the_language(tmp_path: Path) -> None:
    """Every mechanism with a privacy loss, and every wrapper, occurs among a few hundred."""
    generator = Generator(random.Random(0), tmp_path)
    specs = [generator.spec() for _ in range(400)]
    text = "\n".join(spec.text for spec in specs).replace("-", "_")
    # What is known by its curve alone, a node that engines were asked for already
    # (test_accounting_select.py), a law that the lattice engine alone composes, what adapts to the
    # data (tests/campaign), and what has wide brackets (test_allocation.py, test_shuffle.py).
    left_out = {
        "zcdp",
        "rdp",
        "gnss",
        "repeat_and_select",
        "truncated_laplace",
        "thresholded_counts",
        "partition_selection",
        "posterior_regression",
        "above_threshold",
        "noisy_screening",
        "ptr",
        "stability",
        "randomly_allocated",
        "shuffled_batches",
        "shuffled_reports",
    }
    for entry in (*registry.mechanisms(), *registry.wrappers()):
        if entry.name in left_out:
            continue
        assert any(f"{name}:" in text for name in entry.spellings), entry.name
    assert sum(spec.outcomes is not None for spec in specs) > 40
    assert sum(spec.relation is not None for spec in specs) > 20
