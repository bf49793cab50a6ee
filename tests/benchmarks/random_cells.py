"""Random cells of DP-SGD, and random sums over every mechanism and wrapper: width and CPU time.

Run `python -m tests.benchmarks.random_cells --n 500 --seed 1` on an idle machine. All are asked
within one process that has its modules loaded; it prints the quantiles, which samplings and
mechanisms the wide and the slow ones have, and those themselves. It asserts nothing.
"""

from __future__ import annotations

import argparse
import math
import random
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from privcalc.accounting.compose import compose
from privcalc.errors import PrivcalcError
from privcalc.spec.parse import parse
from tests.random_mechanisms import Generator
from tests.random_specs import log_uniform

if TYPE_CHECKING:
    from privcalc.relation import Relation

# Wider, and slower, than this is shown.
WIDE, WIDEST, SLOW, SLOWEST = 1e-8, 1e-6, 0.3, 2.0


@dataclass(frozen=True, slots=True)
class Asked:
    """One answer: its relative width (infinite without a lower end), or why there is none."""

    text: str
    seconds: float
    width: float | None
    refused: str = ""


def cell(rng: random.Random) -> tuple[str, float, Relation | None]:
    """Draw a run of DP-SGD: a hundredth of an epoch to a hundred epochs, at most 1e8 steps."""
    while True:
        sigma, q = log_uniform(rng, 0.4, 3.0), log_uniform(rng, 1e-7, 0.1)
        steps = round(log_uniform(rng, 1e-2, 100.0) / q)
        if 1 <= steps <= 1e8:
            text = f"gaussian:sigma={sigma!r}@poisson:q={q!r}@{steps}"
            return text, log_uniform(rng, 1e-15, 1e-4), None


def ask(text: str, delta: float, relation: Relation | None) -> Asked:
    """Ask what a specification costs at a delta, the worse of both directions."""
    tree = parse(text).tree
    shown = f"{text} --delta {delta!r}" + (f" --relation {relation.text}" if relation else "")
    start = time.process_time()
    try:
        bound = compose(tree, relation=relation, deltas=[delta]).answers[0].bound
    except PrivcalcError as error:
        return Asked(shown, time.process_time() - start, None, str(error))
    seconds = time.process_time() - start
    if bound is None or bound.lower is None:
        return Asked(shown, seconds, math.inf)
    same = bound.upper == bound.lower
    return Asked(shown, seconds, 0.0 if same else (bound.upper - bound.lower) / bound.upper)


def show(name: str, answers: list[Asked]) -> None:
    """Print quantiles, and what stands out."""
    times = sorted(each.seconds for each in answers)
    known = [(each.width, each) for each in answers if each.width is not None]
    widths = sorted(width for width, _ in known)
    narrow = sum(width <= WIDE for width in widths)
    print(
        f"{name}: {len(answers)} asked, {len(answers) - len(known)} refused;"
        f" median {1e3 * times[len(times) // 2]:.0f} ms,"
        f" 99 % below {1e3 * times[int(0.99 * len(times))]:.0f} ms, longest {times[-1]:.2f} s;"
        f" {100 * narrow / max(len(widths), 1):.1f} % within {WIDE:g},"
        f" widest {widths[-1] if widths else 0.0:.1e}"
    )
    for word in ("@wor", "exponential", "noisy-max", "profile", "@group", ""):
        with_word = [width for width, each in known if word in each.text]
        rest = [width for width, each in known if word not in each.text]
        if word and with_word:
            wide, beside = (sum(w > WIDE for w in part) for part in (with_word, rest))
            print(f"  wide with {word}: {wide} of {len(with_word)}; else {beside} of {len(rest)}")
    for width, each in sorted(known, key=lambda pair: -pair[0]):
        if width > WIDEST or (width > WIDE and "@wor" not in each.text):
            print(f"  width {width:.1e} in {each.seconds:5.2f} s  {each.text}")
    for each in sorted(answers, key=lambda each: -each.seconds):
        if each.seconds > SLOW:
            print(f"  {each.seconds:5.2f} s  {each.text}  {each.refused}")


def main() -> None:
    """Ask both kinds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as directory:
        generator = Generator(rng, Path(directory))
        for _ in range(20):  # loads the modules
            ask(*cell(rng))
            spec = generator.spec()
            ask(spec.text, spec.delta, spec.relation)
        show("DP-SGD", [ask(*cell(rng)) for _ in range(options.n)])
        drawn = [generator.spec() for _ in range(options.n)]
        show("sums", [ask(each.text, each.delta, each.relation) for each in drawn])
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest resident set of all together {used:.0f} MB")


if __name__ == "__main__":
    main()
