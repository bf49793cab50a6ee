"""Benchmark of `compose`: whole process against its imports, and compute time of 28 cells.

Run `python -m tests.benchmarks.compose` on an idle machine. It prints ratios and milliseconds, and
asserts nothing: a shared machine's clock is no test.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

MNIST = "gaussian:sigma=1.1@poisson:q=256/60000@14063"
CONFIGURATIONS = (
    "gaussian:sigma=1@poisson:q=0.01@1000",
    "gaussian:sigma=0.8@poisson:q=0.001@100000",
    MNIST,
    "gaussian:sigma=2@poisson:q=1e-4@1000000",
    "gaussian:sigma=0.6@poisson:q=0.02@5000",
    "gaussian:sigma=50@2500",
    "laplace:scale=20@1000",
)
DELTAS = (1e-5, 1e-8, 1e-12, 1e-30)
PAIRS = 15
REPEATS = 5


def seconds(command: list[str]) -> float:
    """Return the wall time of one whole process."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def whole_process() -> None:
    """Compare commands with the import of numpy and scipy.special, run in turn."""
    imports = [sys.executable, "-c", "import numpy, scipy.special"]
    commands = {
        f"compose {MNIST} --json": ["compose", MNIST, "--delta", "1e-5", "--json"],
        "--help": ["--help"],
        "--version": ["--version"],
    }
    for title, arguments in commands.items():
        ours = [sys.executable, "-m", "privcalc", *arguments]
        pairs = [(seconds(ours), seconds(imports)) for _ in range(PAIRS)]
        ratio = statistics.median(a / b for a, b in pairs)
        least = [1e3 * min(column) for column in zip(*pairs, strict=True)]
        print(
            f"{title}: median ratio {ratio:.2f} to importing numpy and scipy.special"
            f" (least {least[0]:.0f} ms to {least[1]:.0f} ms)"
        )


def compute() -> None:
    """Print the time inside the process for each configuration and delta, best of a few."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from privcalc.accounting.compose import compose
    from privcalc.spec.parse import parse

    times = []
    for text in CONFIGURATIONS:
        tree = parse(text).tree
        row = []
        for delta in DELTAS:
            best = float("inf")
            for _ in range(REPEATS):
                start = time.perf_counter()
                compose(tree, deltas=[delta])
                best = min(best, time.perf_counter() - start)
            row.append(1e3 * best)
        times += row
        print(f"{text}: " + "  ".join(f"{cell:.1f}" for cell in row) + " ms")
    print(f"compute: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms")


if __name__ == "__main__":
    compute()
    whole_process()
