"""Put every fault of the table into a copy of the tree, and run the tests of its folder alone.

`python -m tests.faults [NAME ...] [--slow]` says which test caught each. A fault that survives is
one that nothing would notice: the status is 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.fault import seeded
from tests.faults.table import FAULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.faults.fault import Fault

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "dist")
FAILED = re.compile(r"^FAILED (.*?)(?: - .*)?$", re.MULTILINE)


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run tests of a tree."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "1", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def caught(fault: Fault, options: Sequence[str]) -> str:
    """Return the test that fails, or "" where the fault survives.

    Raises:
        RuntimeError: the tests do not run, or that one fails without the fault, too.
    """
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
        file = tree / "privcalc" / fault.file
        right = file.read_text(encoding="utf-8")
        file.write_text(seeded(fault, tree), encoding="utf-8")
        for tests in fault.tests:
            done = run(tree, *options, tests)
            if done.returncode:
                break
        else:
            return ""
        found = FAILED.search(done.stdout)
        if not found:
            raise RuntimeError(f"{fault.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        file.write_text(right, encoding="utf-8")
        if run(tree, *options, found.group(1)).returncode:
            raise RuntimeError(f"{fault.name}: {found.group(1)} fails without it")
        return found.group(1)


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="faults of the table; all without")
    parser.add_argument("--slow", action="store_true", help="run slow tests, too")
    given = parser.parse_args()
    options = ["-m", ""] if given.slow else []
    survived = 0
    for fault in FAULTS:
        if given.names and fault.name not in given.names:
            continue
        start = time.monotonic()
        test = caught(fault, options)
        survived += not test
        took = time.monotonic() - start
        print(f"{fault.name:40} {took:5.0f} s  {test or 'SURVIVED'}", flush=True)
    print(f"{survived} survived")
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
