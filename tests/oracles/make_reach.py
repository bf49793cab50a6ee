"""Write reach.json: extreme counts, probabilities and deltas, and compositions of several kinds.

python tests/oracles/make_reach.py [--fresh]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracles.laws import Leaf
from tests.oracles.store import Question, make, question

ABOUT = (
    "epsilon at delta under add-or-remove-one, each direction composed on its own, by "
    "make_reach.py; parameters and deltas are doubles; 'digits' agreed in two different runs"
)


def _sampled(sigma: float, q: float, count: int) -> Leaf:
    return Leaf(mechanism="gaussian", sigma=sigma, q=q, count=count)


def _four_kinds(q: float) -> list[Leaf]:
    return [
        Leaf(mechanism="gaussian", sigma=50.0, count=1000),
        _sampled(1.1, q, 14063),
        _sampled(2.0, 1e-4, 100_000),
        Leaf(mechanism="laplace", scale=100.0, count=500),
    ]


PURE = Leaf(mechanism="pure", epsilon=0.1, count=500)
APPROX = Leaf(mechanism="approx", epsilon=0.5, delta=1e-8, count=100)
RR = Leaf(mechanism="rr", p=0.75, count=30)

QUESTIONS: tuple[Question, ...] = (
    question([Leaf(mechanism="gaussian", sigma=50.0, count=2500)], delta=1e-300),
    question([PURE], delta=1e-5),
    question([PURE], delta=1e-8),
    question([PURE], delta=1e-12),
    question([APPROX], delta=1e-5),
    question([APPROX], delta=1e-8),
    question([RR], delta=1e-3),
    question([RR], delta=1e-6),
    question([Leaf(mechanism="rr", epsilon=1.0, categories=4, count=50)], delta=1e-6),
    question([Leaf(mechanism="gaussian", sigma=1.0, q=1.0, count=10)], delta=1e-6),
    question([Leaf(mechanism="gaussian", sigma=1.0, count=1)], delta=1e-6),
    question([_sampled(1.0, 0.5, 1)], delta=1e-6),
    question([Leaf(mechanism="laplace", scale=1.0, count=10)], delta=1e-5),
    question([Leaf(mechanism="laplace", scale=5.0, count=100)], delta=1e-5),
    question([_sampled(5.0, 1e-6, 1_000_000_000)], delta=1e-5),
    question([_sampled(5.0, 1e-6, 1_000_000_000)], delta=1e-15),
    question([_sampled(10.0, 0.3, 1_000_000)], delta=1e-5),
    question([_sampled(10.0, 1e-3, 100_000_000)], delta=1e-5),
    question(_four_kinds(256 / 60000), delta=1e-5),
    question(_four_kinds(256 / 60000), delta=1e-30),
    question(_four_kinds(0.00427), delta=1e-5),
    question([_sampled(0.5, 1e-3, 1000)], delta=1e-12),
    # These two integrands fall slowly: half an hour for 30 digits, so fewer are asked for.
    question([_sampled(1.0, 0.01, 10)], delta=1e-6, digits=16),
    question([_sampled(2.0, 1e-9, 1_000_000_000)], delta=1e-6),
)

if __name__ == "__main__":
    make("reach.json", ABOUT, ([one] for one in QUESTIONS))
