"""Benchmark of `calibrate`: the time inside the process, and how many questions it takes.

Run `python -m tests.benchmarks.calibrate` on an idle machine. It prints milliseconds, and asserts
nothing: a shared machine's clock is no test.
"""

from __future__ import annotations

import os
from functools import partial

from tests.benchmarks.subsample import best_of

QUESTIONS = (
    ("gaussian:sigma=_", 1.0, 1e-5),
    ("gaussian:sigma=_@poisson:q=0.01@1000", 3.0, 1e-5),
    ("gaussian:sigma=_@poisson:q=256/60000@14063", 2.0, 1e-5),
    ("gaussian:sigma=1@poisson:q=_@1000", 2.0, 1e-5),
    ("gaussian:sigma=1@poisson:q=0.01@_", 2.0, 1e-5),
    ("laplace:scale=_@1000", 1.0, 1e-6),
    ("gaussian:sigma=_@10+laplace:scale=5", 1.0, 1e-6),
)


def main() -> None:
    """Print the least time of a few calibrations of each question."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from privcalc.accounting.calibrate import CalibrationTarget, calibrate
    from privcalc.spec.parse import parse

    for text, epsilon, delta in QUESTIONS:
        tree, target = parse(text).tree, CalibrationTarget("epsilon", epsilon, delta)
        found = calibrate(tree, target)
        least = best_of(partial(calibrate, tree, target), 3)
        print(
            f"{text} at ({epsilon:g}, {delta:g}): {found.sufficient} in {least:.0f} ms,"
            f" {found.asked} questions"
        )


if __name__ == "__main__":
    main()
