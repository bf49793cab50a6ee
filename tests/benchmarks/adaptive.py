"""Benchmark of the data-adaptive mechanisms: CPU time inside the process, alone and beside DP-SGD.

Run `python -m tests.benchmarks.adaptive --n 10` for ten random ones of each kind on an idle
machine. Modules are loaded by one of each kind before. It asserts nothing.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from privcalc.accounting.compose import compose
from privcalc.errors import PrivcalcError
from privcalc.spec.parse import parse
from tests.random_adaptive import AdaptiveGenerator

if TYPE_CHECKING:
    from collections.abc import Callable

DELTA = 1e-5


def milliseconds(text: str) -> float:
    """Return what the answer takes, refused or not."""
    tree = parse(text).tree
    start = time.process_time()
    with suppress(PrivcalcError):
        compose(tree, deltas=[DELTA])
    return 1e3 * (time.process_time() - start)


def main() -> None:
    """Ask, and print the median, the longest and what was longest for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as directory:
        kinds = AdaptiveGenerator(rng, Path(directory)).kinds
    # Answers are remembered, so that nothing is asked twice: the noise of training is drawn, too.
    questions: dict[str, Callable[[str], str]] = {
        "alone": lambda text: text,
        "beside": lambda text: (
            f"{text}+gaussian:sigma={rng.uniform(1, 1.2)!r}@poisson:q=256/60000@14063"
        ),
    }
    for draw in kinds.values():
        milliseconds(questions["beside"](draw()))
    for kind, draw in kinds.items():
        for name, question in questions.items():
            texts = [question(draw()) for _ in range(options.n)]
            taken = sorted((milliseconds(text), text) for text in texts)
            median = statistics.median(each for each, _ in taken)
            longest, text = taken[-1]
            print(f"{kind:22} {name:6} {median:5.0f} {longest:5.0f} ms  {text}")


if __name__ == "__main__":
    main()
