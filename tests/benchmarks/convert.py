"""Benchmark of `convert`: curves of many points, inside the process and as a whole.

Run `python -m tests.benchmarks.convert` on an idle machine. It prints ratios and milliseconds,
and asserts nothing: a shared machine's clock is no test.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from tests.benchmarks.compose import CONFIGURATIONS, MNIST
from tests.benchmarks.subsample import best_of, whole_process

if TYPE_CHECKING:
    from privcalc.accounting.convert import Target

REPEATS = 2
COMMANDS = (
    ["convert", MNIST, "--to", "tradeoff", "--points", "100"],
    ["convert", MNIST, "--to", "profile", "--points", "200"],
    ["convert", MNIST, "--to", "risk"],
    ["convert", "zcdp:rho=2.56", "--delta", "1e-10"],
)
TARGETS: dict[Target, int] = {"tradeoff": 100, "profile": 200, "risk": 2, "gdp": 2, "zcdp": 2}


def compute() -> None:
    """Print the time inside the process of each target."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from privcalc.accounting.convert import ConversionQuery, convert
    from privcalc.spec.parse import parse

    for text in (*CONFIGURATIONS, "laplace:scale=10@100", "rr:p=0.6@50"):
        tree = parse(text).tree
        for to, points in TARGETS.items():
            question = ConversionQuery(to=to, points=points)
            least = best_of(partial(convert, tree, question), REPEATS)
            print(f"{text} --to {to}, {points} points: {least:.0f} ms")


if __name__ == "__main__":
    whole_process(COMMANDS)
    compute()
