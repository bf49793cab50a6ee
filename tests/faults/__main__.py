"""Put every fault of the table into a copy of the tree, and run the test that has to notice it.

`python -m tests.faults [NAME ...] [--slow]` says which test caught each: the one that is named, or,
where that does not notice, another of its folder. A fault that survives is one that nothing would
notice: the status is 1.
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
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.faults.fault import FAULTS, Fault, seeded

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "dist")
FAILED = re.compile(r"^FAILED (.*?)(?: - .*)?$", re.MULTILINE)


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run tests of a tree, up to the first that fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def caught(fault: Fault, slow: str = "not slow") -> str:
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
        # A test that is named may be slow.
        for chosen, tests in (("", fault.named), (slow, fault.folder)):
            done = run(tree, "-m", chosen, tests)
            if done.returncode:
                break
        else:
            return ""
        found = FAILED.search(done.stdout)
        if not found:
            raise RuntimeError(f"{fault.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        file.write_text(right, encoding="utf-8")
        if run(tree, "-m", "", found.group(1)).returncode:
            raise RuntimeError(f"{fault.name}: {found.group(1)} fails without it")
        return found.group(1)


def main() -> int:
    """Run what is asked for, as many at once as there are processors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="faults of the table; all without")
    parser.add_argument("--slow", action="store_true", help="run slow tests of the folder, too")
    given = parser.parse_args()
    asked = [each for each in FAULTS if not given.names or each.name in given.names]
    start, survived, elsewhere = time.monotonic(), 0, 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(partial(caught, slow="" if given.slow else "not slow"), asked)
        for fault, test in zip(asked, found, strict=True):
            survived += not test
            elsewhere += bool(test) and not test.startswith(fault.named)
            print(f"{fault.name:40} {test or 'SURVIVED'}", flush=True)
    words = f"{survived} of {len(asked)} survived, {elsewhere} were caught by another test"
    print(f"{words}; {time.monotonic() - start:.0f} s")
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
