"""Benchmark of `select`: whole process against its imports, and the time of its parts.

Run `python -m tests.benchmarks.select` on an idle machine. It prints ratios and milliseconds,
and asserts nothing: a shared machine's clock is no test.
"""

from __future__ import annotations

import os
import statistics
import sys
from functools import partial

from tests.benchmarks.compose import MNIST, PAIRS, seconds
from tests.benchmarks.subsample import best_of, whole_process

DE = "gaussian:sigma=21.1@poisson:q=16384/50000@250"
GAUSSIAN = "gaussian:sigma=4"
RUNS = ("geometric:mean=300", "logarithmic:mean=300", "poisson:mean=10", "binomial:n=20,mean=10")
COMMANDS = tuple(
    ["select", base, "--runs", runs, "--delta", "1e-6"]
    for base, runs in (
        (GAUSSIAN, "geometric:mean=30"),
        (GAUSSIAN, "poisson:mean=10"),
        (GAUSSIAN, "binomial:n=20,mean=10"),
        (MNIST, "geometric:mean=300"),
    )
)
# What takes longest is asked once.
LONG = (
    ["select", "zcdp:rho=0.1", "--runs", "geometric:mean=30", "--delta", "1e-6"],
    ["compose", f"{GAUSSIAN}@select:runs=geometric,mean=30+laplace:scale=10", "--delta", "1e-6"],
    ["select", "gaussian:sigma=2@poisson:q=0.01@_", "--runs", "geometric:mean=10",
     "--thresholds", "--epsilon-q", "1.5", "--delta", "1e-6"],
)  # fmt: skip


def large_base() -> None:
    """Print the wall-clock seconds of 300 expected runs of 14063 subsampled steps."""
    ours = [sys.executable, "-m", "privcalc", *COMMANDS[-1]]
    times = [seconds(ours) for _ in range(PAIRS)]
    print(f"{' '.join(COMMANDS[-1])}: median {statistics.median(times):.2f} s, wanted < 2 s")
    for arguments in LONG:
        took = seconds([sys.executable, "-m", "privcalc", *arguments])
        print(f"{' '.join(arguments)}: {took:.1f} s, once")


def compute() -> None:
    """Print the time inside the process, base by base and number of runs by number of runs."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from privcalc.accounting.select import select
    from privcalc.reporting.select import read_runs
    from privcalc.spec.parse import parse

    for text in (GAUSSIAN, "laplace:scale=3", "rr:epsilon=0.5", DE, MNIST):
        tree = parse(text).tree
        for runs in RUNS:
            least = best_of(partial(select, tree, read_runs(runs), deltas=[1e-6]), 2)
            print(f"{text} --runs {runs}: {least:.0f} ms")


if __name__ == "__main__":
    compute()
    whole_process(COMMANDS)
    large_base()
