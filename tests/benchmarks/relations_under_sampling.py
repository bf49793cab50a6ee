"""Relations under sampling against enumeration: random descriptions and programs that fit them.

Run `python -m tests.benchmarks.relations_under_sampling --comparisons 20000 --seed 1`. A comparison
is one epsilon of one specification and relation: the delta that is printed against the largest that
any program drawn has, in both orders of the data sets, and against what theorems allow. It prints
what is false, lower ends that no program drawn comes near, and the loosest upper ends; the exit
status is 1 if anything is false.
"""

from __future__ import annotations

import argparse
import sys
import time
from statistics import median

import numpy as np

from tests.oracles.relations.compare import KINDS, Found, Tally, asked, question

LOOSE = 1.5


def shown(found: Found) -> str:
    """Show one question with its numbers."""
    one = found.question
    rows = [("epsilon", found.epsilons), ("lower", found.lower), ("seen", found.attained)]
    rows += [("upper", found.upper)]
    rows += [("ceiling", found.ceiling)] if found.ceiling is not None else []
    lines = [
        f"  {name:8s}" + " ".join("-" if x is None else f"{float(x):.6g}" for x in row)
        for name, row in rows
    ]
    inverse = f"  epsilon {found.inverse[0]!r} in {found.inverse[1]!r}\n" if found.inverse else ""
    return f"{one.text} --relation {one.relation}\n{inverse}" + "\n".join(lines)


def main() -> int:
    """Draw until there are so many comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=list(KINDS))
    parser.add_argument("--composed", type=float, default=0.02)
    given = parser.parse_args()
    rng, tally, start = np.random.default_rng(given.seed), Tally(), time.process_time()
    slowest: list[tuple[float, str]] = []
    while tally.comparisons < given.comparisons:
        before = time.process_time()
        found = asked(question(rng, given.kind, given.composed), rng)
        slowest.append((time.process_time() - before, found.question.text))
        tally.add(found)
        if not found.refused and (found.false_upper or found.false_lower):
            print("FALSE", shown(found), flush=True)
    print(f"seed {given.seed}: {tally.questions} questions, {tally.comparisons} comparisons,")
    print(
        f"  {len(tally.false_upper)} false upper ends, {len(tally.false_lower)} false lower ends,"
    )
    print(f"  {len(tally.unseen)} with a lower end above all that was seen,")
    print(f"  {sum(tally.refused.values())} refused, {time.process_time() - start:.0f} s of CPU")
    print("  " + ", ".join(f"{kind} {count}" for kind, count in sorted(tally.by_kind.items())))
    print("\nUpper ends over what was seen, above 1e-6: median, largest, number")
    for key, ratios in sorted(tally.ratios.items()):
        if ratios and median(ratios) > LOOSE:
            print(f"  {' / '.join(key):55s} {median(ratios):9.2f} {max(ratios):9.2f} {len(ratios)}")
    print("\nLower ends that are not seen")
    for found in tally.unseen:
        known = "" if found.ceiling is not None else " (nothing known above but the upper end)"
        print(shown(found) + known)
    print("\nRefused")
    for reason, count in sorted(tally.refused.items()):
        print(f"  {count:4d} {reason}")
    print("\nSlowest")
    for seconds, text in sorted(slowest, reverse=True)[:10]:
        print(f"  {seconds:6.2f} s {text}")
    return 1 if tally.false_upper or tally.false_lower else 0


if __name__ == "__main__":
    sys.exit(main())
