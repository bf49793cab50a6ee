"""Benchmark of starting up: whole processes against `python -c pass` and `import numpy`.

Run `python -m tests.benchmarks.startup` on an idle machine. Every round runs each command once, so
that what disturbs the machine disturbs all of them; it prints medians and ratios, and asserts
nothing. `entered.py` counts modules, which no machine disturbs.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 21
PROGRAM = str(Path(sys.executable).with_name("privcalc"))
MNIST = "gaussian:sigma=1.1@poisson:q=256/60000@14063"
BARE = "python -c pass"
NUMPY = "python -c 'import numpy'"
REFERENCES = {
    BARE: [sys.executable, "-c", "pass"],
    NUMPY: [sys.executable, "-c", "import numpy"],
}
# Each with what it is compared to, and the target of the design.
COMMANDS = {
    "--version": (["--version"], BARE, ""),
    "--help": (["--help"], BARE, "4"),
    "compose --help": (["compose", "--help"], BARE, "4"),
    "spec error": (["compose", "gaussian:sigma=1.1@posson:q=1%", "--delta", "1e-5"], BARE, "4"),
    "compose": (["compose", MNIST, "--delta", "1e-5", "--json"], NUMPY, "2"),
    "compose, table": (["compose", MNIST, "--delta", "1e-5"], NUMPY, ""),
    "compose, closed form": (["compose", "gaussian:sigma=5", "--delta", "1e-5"], NUMPY, ""),
}


def spent(command: list[str]) -> tuple[float, float]:
    """Return the wall time and the processor time of one whole process, in seconds."""
    # numpy starts threads unless it is told; the program tells it, so its rival is told too. An
    # installed program has its bytecode beside it, whatever a developer's shell says.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    start = time.perf_counter()
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, _, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    # The child is gone already.
    child.returncode = 0
    return wall, usage.ru_utime + usage.ru_stime


def times() -> None:
    """Print the medians of all commands, run in turn."""
    commands = REFERENCES | {
        title: [PROGRAM, *arguments] for title, (arguments, _, _) in COMMANDS.items()
    }
    found: dict[str, list[tuple[float, float]]] = {title: [] for title in commands}
    for number in range(1 + ROUNDS):
        for title, command in commands.items():
            row = spent(command)
            # The first round writes bytecode and fills the file cache.
            if number:
                found[title].append(row)
    medians = {
        title: tuple(1e3 * statistics.median(column) for column in zip(*rows, strict=True))
        for title, rows in found.items()
    }
    for title, (wall, cpu) in medians.items():
        line = f"{title:<26} wall {wall:6.1f} ms  user+sys {cpu:6.1f} ms"
        if title in COMMANDS:
            _, reference, target = COMMANDS[title]
            walls, cpus = medians[reference]
            line += f"  ratio {wall / walls:4.2f} and {cpu / cpus:4.2f} to {reference}"
            line += f", target {target}" if target else ""
        print(line)


if __name__ == "__main__":
    times()
