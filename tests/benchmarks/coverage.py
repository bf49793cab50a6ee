"""Print what part of the branches of each package the tests take, from a report in JSON.

`pytest --cov=privcalc --cov-report=json:coverage.json`, with `-m ""` for slow tests, too, writes
one for `python -m tests.benchmarks.coverage coverage.json`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path


def main(report: Path) -> None:
    """Print a line for each package, the least covered first."""
    taken: Counter[str] = Counter()
    known: Counter[str] = Counter()
    for name, found in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        parts = Path(name).parts
        below = parts[parts.index("privcalc") + 1 :]
        package = below[0] if len(below) > 1 else "privcalc"
        taken[package] += found["summary"]["covered_branches"]
        known[package] += found["summary"]["num_branches"]
    for package in sorted(known, key=lambda each: taken[each] / max(1, known[each])):
        part = taken[package] / max(1, known[package])
        print(f"{package:12}  {part:6.1%}  {taken[package]:5} of {known[package]:5}")
    print(f"{'all':12}  {taken.total() / known.total():6.1%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
