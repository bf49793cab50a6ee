"""Write random_specs.json: 60 random compositions with epsilon at a delta, 15 with delta.

    python tests/oracles/make_random_specs.py [--fresh]

The seed is fixed; which candidates are kept depends on rules below, not on how long they take.
Every kept composition with a continuous leaf is smooth enough for the integral: it has a Gaussian
of mu^2 >= 0.05, or sampled Gaussians with 100 expected hits, or so many Laplace uses that their
atoms are a negligible part of the sum. Discrete leaves alone have at most 30,000 joint outcomes.
"""

import itertools
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracles.laws import Leaf
from tests.oracles.store import Question, Row, make, question
from tests.oracles.values import value

ABOUT = (
    "Random compositions under add-or-remove-one, each direction composed on its own, by "
    "make_random_specs.py; rows with a delta give epsilon, rows with an epsilon give delta; "
    "parameters and queries are doubles; 'digits' agreed in two different runs"
)
SEED = 20261121
SHAPES = (  # with the rows of each query
    ("sampled", 28, 8),
    ("continuous", 8, 1),
    ("mixed", 12, 3),
    ("discrete", 12, 3),
)
CONTINUOUS = (
    *("gaussian", "laplace", "sampled laplace"),
    *("sampled gaussian", "sampled gaussian", "sampled gaussian"),
)
DISCRETE = ("rr", "pure", "approx", "sampled rr", "sampled pure", "sampled approx")
MOST_OUTCOMES = 30_000


def _short(x: float, digits: int = 3) -> float:
    return float(f"{x:.{digits}g}")


def _between(rng: random.Random, low: float, high: float) -> float:
    return _short(math.exp(rng.uniform(math.log(low), math.log(high))))


def _leaf(rng: random.Random, kind: str, delta: float) -> Leaf:
    mechanism = kind.removeprefix("sampled ")
    count = int(_between(rng, 1, 1e5) if kind in CONTINUOUS else _between(rng, 5, 2000))
    leaf = Leaf(mechanism=mechanism, count=count)
    match kind:
        case "gaussian":
            leaf["sigma"] = _between(rng, 1, 200)
        case "sampled gaussian":
            leaf["sigma"] = _between(rng, 0.6, 5)
        case "laplace":
            leaf["scale"] = _between(rng, 1, 200)
        case "sampled laplace":
            leaf["scale"] = _between(rng, 0.5, 20)
        case "rr" | "sampled rr" if rng.random() < 0.5:
            leaf["p"] = _between(rng, 0.52, 0.9)
        case "rr" | "sampled rr":
            leaf["epsilon"] = _between(rng, 0.05, 1.5)
            leaf["categories"] = rng.randint(2, 6)
        case _:
            leaf["epsilon"] = _between(rng, 0.01, 1)
    if mechanism == "approx":
        leaf["delta"] = _short(delta / count / _between(rng, 4, 1000))
    if kind.startswith("sampled "):
        leaf["q"] = _between(rng, 1e-4 if mechanism == "gaussian" else 1e-2, 0.5)
    return leaf


def _outcomes(leaf: Leaf) -> int:
    """How many multisets of losses `count` uses have: two or three atoms each."""
    count = leaf["count"]
    three = leaf.get("categories", 2) > 2 or (leaf["mechanism"] == "approx" and "q" in leaf)
    return (count + 1) * (count + 2) // 2 if three else count + 1


def _is_smooth(leaf: Leaf) -> bool:
    """Tell whether the leaf alone makes the integrand fall fast."""
    if leaf["mechanism"] == "gaussian":
        hits = leaf["count"] * leaf.get("q", 1.0)
        return hits >= 100 if "q" in leaf else hits >= 0.05 * leaf["sigma"] ** 2
    return leaf["mechanism"] == "laplace" and leaf["count"] >= 300 * leaf["scale"]


def _is_moderate(leaf: Leaf) -> bool:
    """Leave out leaves that cost an epsilon beyond a hundred, and those that hit very rarely."""
    q = leaf.get("q", 1.0)
    if leaf["mechanism"] == "gaussian":
        return leaf["count"] * (q / leaf["sigma"]) ** 2 <= 100 and leaf["count"] * q >= 30 * (q < 1)
    if leaf["mechanism"] == "laplace":
        return leaf["count"] * (q / leaf["scale"]) ** 2 <= 50
    return True


def _accepted(leaves: list[Leaf]) -> bool:
    if not all(_is_moderate(leaf) for leaf in leaves):
        return False
    if all(leaf["mechanism"] in {"rr", "pure", "approx"} for leaf in leaves):
        return math.prod(_outcomes(leaf) for leaf in leaves) <= MOST_OUTCOMES
    if len(leaves) == 1 and leaves[0]["mechanism"] == "laplace" and "q" not in leaves[0]:
        return 20 <= leaves[0]["count"] <= 300 or _is_smooth(leaves[0])
    return any(_is_smooth(leaf) for leaf in leaves)


def _composition(rng: random.Random, shape: str) -> tuple[list[Leaf], float]:
    """Draw leaves until they are accepted, and a delta."""
    while True:
        delta = _between(rng, 1e-20, 1e-4)
        match shape:
            case "sampled" | "continuous":
                kinds = rng.sample(CONTINUOUS, rng.choice((1, 1, 2, 3)))
            case "mixed":
                kinds = rng.sample(CONTINUOUS, rng.choice((1, 2))) + rng.sample(DISCRETE, 1)
            case _:
                kinds = rng.sample(DISCRETE, rng.choice((1, 1, 2)))
        leaves = [_leaf(rng, kind, delta) for kind in kinds]
        if shape == "sampled" and all("q" not in leaf for leaf in leaves):
            continue
        if _accepted(leaves):
            return leaves, delta


def _is_sensible(row: Row) -> bool:
    """Keep answers that test something: not 0, not the largest loss there is, not absurd."""
    if "epsilon" in row["query"]:
        return 0 < float(row["maximum"]) < 1e-3
    largest = sum(leaf["count"] * leaf.get("epsilon", 100.0) for leaf in row["leaves"])
    return 0.01 < float(row["maximum"]) < min(300, 0.9 * largest)


def _slots() -> Iterator[Iterator[Question]]:
    rng = random.Random(SEED)
    for shape, epsilon_rows, _ in SHAPES:
        for _ in range(epsilon_rows):
            yield (_epsilon_question(rng, shape) for _ in itertools.count())
    for shape, _, delta_rows in SHAPES:
        for _ in range(delta_rows):
            yield (_delta_question(rng, shape) for _ in itertools.count())


def _epsilon_question(rng: random.Random, shape: str) -> Question:
    leaves, delta = _composition(rng, shape)
    return question(leaves, delta=delta)


def _delta_question(rng: random.Random, shape: str) -> Question:
    leaves, delta = _composition(rng, shape)
    near = value(leaves, "remove", delta=delta).number
    return question(leaves, epsilon=_short(float(near)))


if __name__ == "__main__":
    make("random_specs.json", ABOUT, _slots(), _is_sensible)
