"""Benchmark of budget checks: CPU time inside the process, and whether they are decided.

Run `python -m tests.benchmarks.budget_checks --n 75` for 300 checks of ordinary training runs, with
budgets 10 % and 300 % away from the truth on both sides. It asserts nothing.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from typing import TYPE_CHECKING

from privcalc.accounting.compose import compose
from privcalc.bounds import Verdict
from privcalc.spec.parse import parse
from tests.accounting.test_budget_checks import FACTORS

if TYPE_CHECKING:
    from collections.abc import Iterator


def ordinary(n: int, seed: int) -> Iterator[tuple[str, float]]:
    """Yield specifications of training runs with a delta."""
    r = random.Random(seed)
    for _ in range(n):
        sigma = float(f"{r.uniform(0.4, 3.0):.3g}")
        q = float(f"{math.exp(r.uniform(math.log(1e-5), math.log(0.05))):.3g}")
        steps = round(math.exp(r.uniform(math.log(10), math.log(1e6))))
        delta = float(f"{math.exp(r.uniform(math.log(1e-8), math.log(1e-4))):.3g}")
        yield f"gaussian:sigma={sigma!r}@poisson:q={q!r}@{steps}", delta


def main() -> None:
    """Ask, and print the median and what is slow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=75)
    parser.add_argument("--seed", type=int, default=2)
    options = parser.parse_args()
    taken, wrong, undecided = [], 0, 0
    for text, delta in ordinary(options.n, options.seed):
        tree = parse(text).tree
        exact = compose(tree, deltas=[delta]).answers[0].bound
        if exact is None or exact.upper == 0.0:
            continue
        for factor in FACTORS:
            budget = factor * (exact.upper if factor > 1.0 else exact.lower or 0.0)
            start = time.process_time()
            found = compose(tree, deltas=[delta], max_epsilon=budget).answers[0].bound
            seconds = time.process_time() - start
            verdict = Verdict.UNDECIDED if found is None else found.verdict(budget)
            taken.append((seconds, f"{text} --delta {delta} --max-epsilon {budget}"))
            undecided += verdict is Verdict.UNDECIDED
            wrong += verdict not in (Verdict.UNDECIDED, exact.verdict(budget))
    taken.sort(reverse=True)
    median = statistics.median(seconds for seconds, _ in taken)
    print(
        f"{len(taken)} checks, {wrong} wrong, {undecided} undecided; median {1e3 * median:.0f} ms"
    )
    for seconds, question in taken[:10]:
        print(f"{seconds:6.2f} s  {question}")


if __name__ == "__main__":
    main()
