"""Benchmark of many questions: one process against several, on random DP-SGD specifications.

Run `python -m tests.benchmarks.many --n 10000 --jobs 2` on an idle machine. The questions are piped
into one invocation with one process and into another with several. It prints what each took, and
whether both printed the same bytes; the exit status is 1 if they did not.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# How often the memory of a process and its children is looked at.
PAUSE = 0.05


def specification(rng: random.Random) -> str:
    """Draw DP-SGD as people train: noise, batch and epochs over their usual ranges."""
    records = round(math.exp(rng.uniform(math.log(1e4), math.log(1e7))))
    batch = round(math.exp(rng.uniform(math.log(64), math.log(records / 20))))
    steps = max(1, round(rng.uniform(1, 100) * records / batch))
    return f"gaussian:sigma={rng.uniform(0.5, 4.0):.3f}@poisson:q={batch}/{records}@{steps}"


def resident(process: int) -> int:
    """Return the memory of a process and its children, in bytes; what they share counts twice."""
    family = [process]
    for each in family:
        try:
            words = Path(f"/proc/{each}/task/{each}/children").read_text(encoding="ascii")
        except OSError:
            continue
        family += map(int, words.split())
    pages = 0
    for each in family:
        try:
            pages += int(Path(f"/proc/{each}/statm").read_text(encoding="ascii").split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE")


def measured(questions: Path, jobs: int) -> str:
    """Answer the questions; print what it took, and return a digest of what was printed."""
    command = [sys.executable, "-m", "privcalc", "compose", "-", "--delta", "1e-5", "--json"]
    start, before, most = time.perf_counter(), os.times(), 0
    with (
        questions.open() as stdin,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        with subprocess.Popen(
            [*command, "--jobs", str(jobs)], stdin=stdin, stdout=out, stderr=err
        ) as running:
            while running.poll() is None:
                most = max(most, resident(running.pid))
                time.sleep(PAUSE)
        wall, after = time.perf_counter() - start, os.times()
        digest = hashlib.sha256()
        for stream in (out, err):
            stream.seek(0)
            digest.update(stream.read())
    spent = sum(after[2:4]) - sum(before[2:4])
    print(
        f"{jobs} processes: wall {wall:.1f} s, CPU {spent:.1f} s, peak memory of all"
        f" {most / 1e6:.0f} MB, status {running.returncode}, sha256 {digest.hexdigest()[:16]}"
    )
    return f"{running.returncode} {digest.hexdigest()}"


def main() -> int:
    """Compare one process with several."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--spec", help="one specification for all questions, instead of random ones"
    )
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        questions = Path(folder) / "specs.txt"
        with questions.open("w", encoding="utf-8") as file:
            for _ in range(given.n):
                file.write((given.spec or specification(rng)) + "\n")
        found = [measured(questions, jobs) for jobs in (1, given.jobs)]
    print("the same bytes" if found[0] == found[1] else "the bytes differ")
    return int(found[0] != found[1])


if __name__ == "__main__":
    sys.exit(main())
