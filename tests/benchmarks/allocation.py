"""Draw questions about random allocation by chance, and compare what does not share code.

Run it as `python -m tests.benchmarks.allocation [QUESTIONS [SEED]]`; it ends with status 1 where
anything contradicts anything.
"""

from __future__ import annotations

import random
import sys
import time

import numpy as np

from tests.allocation_mellin import contradictions, epsilons, random_question


def main(questions: int, seed: int) -> int:
    """Print contradictions, how wide brackets are, and how long they take."""
    rng = random.Random(seed)
    widths, seconds, wrong = [], [], 0
    for i in range(questions):
        sigma, steps, epochs, delta = drawn = random_question(rng)
        begun = time.process_time()
        text = f"gaussian:sigma={sigma}@allocation:t={steps}@{epochs}"
        bound, _ = epsilons(text, delta)
        seconds.append(time.process_time() - begun)
        widths.append(1.0 - (bound.lower or 0.0) / bound.upper)
        for each in contradictions(*drawn):
            wrong += 1
            print(f"{i}: {text} --delta {delta!r}: {each}")
        if widths[-1] > 1e-3 or seconds[-1] > 3.0:
            print(f"{i}: {text} --delta {delta:.2g}: {widths[-1]:.2g} wide, {seconds[-1]:.1f} s")
        sys.stdout.flush()
    for name, values in (("relative width", widths), ("seconds", seconds)):
        parts = np.quantile(values, [0.5, 0.9, 0.99, 1.0])
        print(name, "median {:.2g}, 90 % {:.2g}, 99 % {:.2g}, most {:.2g}".format(*parts))
    print(f"{questions} questions, {wrong} contradictions")
    return min(wrong, 1)


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:3]]
    sys.exit(main(*given, *(500, 1)[len(given) :]))
