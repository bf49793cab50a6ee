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
    DomainError,
    NotCertifiedError,
    PrivcalcError,
    UnsupportedError,
)
from privcalc.spec import registry
from privcalc.spec.parse import parse
from privcalc.spec.tree import calls
from tests.random_specs import ADAPTIVE, Question, Specs
from tests.truths import meet
from tests.truths.brute import BruteForce, TooManyOutcomesError
from tests.truths.brute_pairs import outcomes_of, removal

if TYPE_CHECKING:
    from pathlib import Path

    from privcalc.bounds import Bound
    from tests.truths.brute import Pair

# Relative widths to ask each engine for: what is quick, and what the command line asks for.
QUICK = {"auto": 1e-5, "contour": 1e-4, "fft": 1e-3}
BATCH = 10
# What is known by its curve alone, what adapts to the data (tests/campaign), and a law that the
# lattice engine alone composes.
SLOW = ("repeat_and_select",)
LEFT_OUT = ADAPTIVE - {"gnmax"} | {"zcdp", "rdp", "truncated_laplace"}
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
    # A sample of records that are replaced, of clients whose records are added or removed.
    "is read under different relations",
    # The sample that is sampled again has another size.
    "cannot be sampled as if there were",
    # A tree of sums is of all steps, and participations are drawn.
    "sampling of matrix-gaussian is known",
    # Not every vector with the norms of a group is a sum of one for each record.
    "@group of l1 and l2 is not available",
    # Caps are on batches of Gaussian noise.
    "@poisson with max",
    # Of games that replace a record only losses of some size are known.
    "losses of a step are too large for its game",
    # Nor is there a sample of n out of n - 1.
    "a sample of all records is not defined",
)
# Outcomes that brute force writes out: more take longer than all engines together.
MOST = 10_000


def answers(spec: Question, engine: str, tolerance: float) -> dict[str, Bound]:
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


def contradictions(
    spec: Question, known: list[tuple[Pair, int]], found: dict[str, dict[str, Bound]]
) -> list[str]:
    """Return the brackets that brute force refutes, in words."""
    wrong = []
    for direction in ("replace",) if spec.replaces else ("add", "remove"):
        parts = known
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


def faults(spec: Question, tolerances: dict[str, float]) -> list[str]:
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
        except DomainError:
            # Numbers that are near others need not go together.
            return []
        except (PrivcalcError, ArithmeticError, AssertionError) as error:
            wrong.append(f"{spec}: {engine}: {type(error).__name__}: {error}")
    for one, other in combinations(found, 2):
        for direction in found[one].keys() & found[other].keys():
            a, b = found[one][direction], found[other][direction]
            if not meet(a, b):
                wrong.append(f"{spec} {direction}: {one} gives {a}, {other} gives {b}")
    known = outcomes_of(parse(spec.text).tree, replaced=spec.replaces)
    return wrong + contradictions(spec, known, found) if known else wrong


def drawn(number: int, sampling: str | None = None) -> Question:
    """Return a question; files that it names are written into the current directory."""
    names = [each.name for each in registry.mechanisms() if each.name not in LEFT_OUT]
    specs = Specs(random.Random(number), near=True, only=names, without=SLOW, sampling=sampling)
    question = specs.question()
    specs.write()
    return question


def batch(seed: int, tolerances: dict[str, float]) -> list[str]:
    """Return the faults of a batch of specifications."""
    found = []
    for number in range(seed * BATCH, (seed + 1) * BATCH):
        question = drawn(number, ("", "poisson_sampled", "sampled_without_replacement")[number % 3])
        found += faults(question, tolerances)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_engines_meet(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 specifications: no two brackets are disjoint, and none contradicts brute force."""
    monkeypatch.chdir(tmp_path)
    assert batch(seed, QUICK) == []


@pytest.mark.slow
def test_generator_covers_the_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mechanism and wrapper occurs among a few hundred, and most of these are read."""
    monkeypatch.chdir(tmp_path)
    seen: set[str] = set()
    read = small = 0
    for number in range(300):
        specs = Specs(random.Random(number), near=True)
        question = specs.question()
        specs.write()
        try:
            tree = parse(question.text).tree
        except PrivcalcError:
            continue
        seen |= {each.name for each in calls(tree)}
        read += 1
        if number < 60:
            small += bool(outcomes_of(tree, replaced=question.replaces))
    assert seen == {each.name for each in (*registry.mechanisms(), *registry.wrappers())}
    assert read > 280
    assert small > 5
