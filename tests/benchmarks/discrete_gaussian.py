"""Benchmark of compositions of discrete Gaussians: widths and times, ten sigmas and a census.

Run `python -m tests.benchmarks.discrete_gaussian` on an idle machine. It asserts nothing.
"""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction

from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_epsilon
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw

CASES = {
    "related": "0.5@1 0.7@20 0.9@100 1.1@7 1.3@200 1.7@31 2.3@3 2.9@55 3.1@80 4.3@12",
    "unrelated, narrow": "0.512@1 0.713@2 0.977@10 1.131@7 1.317@20 1.729@3 2.311@3 2.917@5 3.1@8",
    "unrelated, wide": "2.6457513110645907@5 3.141592653589793@17 11.25@200 13.37@44 17.9123@90"
    " 21.99@3 27.4@150 33.3@80 48@120",
    "few draws": "0.512@1 0.713@2 0.977@10",
    "one, often": "50@1000",
}


def census() -> str:
    """Return 130 releases over 33 variances, written as roots."""
    rng = random.Random(2020)
    drawn = {Fraction(rng.randint(3, 4000), rng.randint(1, 60)) for _ in range(60)}
    counts = [4] * 31 + [3] * 2
    pairs = zip(sorted(drawn)[:33], counts, strict=True)
    return " ".join(f"{math.sqrt(v)!r}@{count}" for v, count in pairs)


def main() -> None:
    """Print a line for each case."""
    for name, text in {**CASES, "census": census()}.items():
        pairs = [word.split("@") for word in text.split()]
        laws = Composition.of(
            (DiscreteGaussianLaw(Fraction(sigma) ** 2, 1), int(count)) for sigma, count in pairs
        )
        best = math.inf
        for _ in range(3):
            start = time.perf_counter()
            found = certified_epsilon(laws, 1e-10, 1e-9)
            best = min(best, time.perf_counter() - start)
        bound = found.bound
        print(
            f"{name}: [{bound.lower}, {bound.upper}] by {found.engine},"
            f" width {bound.width / bound.upper:.1e}, {1e3 * best:.0f} ms"
        )


if __name__ == "__main__":
    main()
