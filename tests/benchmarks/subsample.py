"""Benchmark of `subsample`: whole process against its imports, and the time of its parts.

Run `python -m tests.benchmarks.subsample` on an idle machine. It prints ratios and milliseconds,
and asserts nothing: a shared machine's clock is no test.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from typing import TYPE_CHECKING

from tests.benchmarks.compose import PAIRS, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ORDERS = "2,8,32,128,512"
COMMANDS = (
    ["subsample", "gaussian:sigma=5", "--q", "0.001", "--orders", ORDERS],
    ["subsample", "laplace:scale=2", "--q", "0.001", "--orders", ORDERS],
    ["subsample", "gaussian:sigma=5", "--n", "60000", "--m", "256", "--orders", ORDERS],
    ["subsample", "gaussian:sigma=5", "--q", "0.001", "--delta", "1e-5", "--count", "10000"],
    ["compose", "zcdp:rho=2.56", "--delta", "1e-10"],
)
REPEATS = 5


def whole_process(commands: Sequence[list[str]] = COMMANDS) -> None:
    """Compare commands with the import of numpy and scipy.special, run in turn."""
    imports = [sys.executable, "-c", "import numpy, scipy.special"]
    for arguments in commands:
        ours = [sys.executable, "-m", "privcalc", *arguments]
        pairs = [(seconds(ours), seconds(imports)) for _ in range(PAIRS)]
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"{' '.join(arguments)}: median ratio {ratio:.2f} to the imports")


def best_of(ask: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the least time of a few calls, in milliseconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        ask()
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def compute() -> None:
    """Print the time inside the process of columns and accountants."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from privcalc.accounting.compose import compose
    from privcalc.accounting.subsample import SampleSize, subsample
    from privcalc.spec.parse import parse

    orders = [float(word) for word in ORDERS.split(",")]
    for text in ("gaussian:sigma=5", "laplace:scale=2", "rr:p=0.6", "discrete-gaussian:sigma=3"):
        tree = parse(text).tree
        for sample in (SampleSize(sampling_probability=0.001), SampleSize(sizes=(60000, 256))):
            least = best_of(lambda tree=tree, sample=sample: subsample(tree, sample, orders))  # type: ignore[misc]
            print(f"{text} {sample}: {least:.1f} ms")
    for text in (
        "gaussian:sigma=1.1@poisson:q=256/60000@14063",
        "gaussian:sigma=2@poisson:q=1e-4@1000000",
        "zcdp:rho=0.02@poisson:q=0.001@10000",
    ):
        tree = parse(text).tree
        least = best_of(lambda tree=tree: compose(tree, deltas=[1e-5], engine="rdp"))  # type: ignore[misc]
        print(f"{text} --engine rdp: {least:.1f} ms")


if __name__ == "__main__":
    compute()
    whole_process()
