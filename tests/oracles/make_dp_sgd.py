"""Write dp_sgd.json: the seven configurations that every accountant is compared on.

    python tests/oracles/make_dp_sgd.py [--fresh]

All parameters and deltas are the doubles nearest to what is written (256/60000 too, 1e-5 too).
Nothing is truncated: (2.0, 1e-4, 1_000_000) at 1e-30, whose moments explode far below the saddle
point of its bulk, is integrated on a line well below that, at the price of a cancellation of some
20 digits, in more than 70 digits.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracles.laws import Leaf
from tests.oracles.store import make, question

ABOUT = (
    "epsilon at delta under add-or-remove-one, each direction composed on its own, by "
    "make_dp_sgd.py; parameters and deltas are doubles; 'digits' agreed in two different runs"
)
DELTAS = (1e-5, 1e-8, 1e-12, 1e-30)
LEAVES = (
    Leaf(mechanism="gaussian", sigma=1.0, q=0.01, count=1000),
    Leaf(mechanism="gaussian", sigma=0.8, q=0.001, count=100_000),
    Leaf(mechanism="gaussian", sigma=1.1, q=256 / 60000, count=14063),
    Leaf(mechanism="gaussian", sigma=2.0, q=1e-4, count=1_000_000),
    Leaf(mechanism="gaussian", sigma=0.6, q=0.02, count=5000),
    Leaf(mechanism="gaussian", sigma=50.0, count=2500),
    Leaf(mechanism="laplace", scale=20.0, count=1000),
)

if __name__ == "__main__":
    make("dp_sgd.json", ABOUT, ([question([leaf], delta=d)] for leaf in LEAVES for d in DELTAS))
