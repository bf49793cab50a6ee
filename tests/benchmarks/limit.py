"""Benchmark of the limit: privcalc beside other accountants, what it costs, and where time goes.

    python -m venv /tmp/peers
    /tmp/peers/bin/pip install . dp-accounting prv-accountant opacus autodp riskcal opendp
    python -m tests.benchmarks.limit --python /tmp/peers/bin/python

prints in one run, in Markdown:

1. For DP-SGD, few epochs, long histories, statistics and batches of fixed size, what each
   accountant answers: how far its upper end is from our bracket, relative to that. Bold: below our
   lower end, so that it is no bound. Then its width, the median time of three answers after one
   that warms up, as a ratio to ours, and the peak memory of its process.
2. What an answer costs against the count, the number of different parts, delta, and epochs.
3. The compute time of 28 cells, and of a grid of few epochs, and which are the slowest.

Each accountant answers in a process of its own with one thread. Times are of the processor, without
imports: on a machine that others use ratios say more than milliseconds. Whether our bracket is
right is not asked here: the tests hold it against epsilons known to 30 digits. `--only` asks some
of the three. Takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.benchmarks.peers import ACCOUNTANTS, Run, number
from tests.random_numbers import log_uniform

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.benchmarks.peers import Ask, Ends

REPEATS = 3
# Seconds of an answer that is not asked for again.
LONG = 5.0
MNIST = Run("gaussian", 1.1, 256 / 60000, 14063)
CONFIGURATIONS = (
    "gaussian:sigma=1@poisson:q=0.01@1000",
    "gaussian:sigma=0.8@poisson:q=0.001@100000",
    "gaussian:sigma=1.1@poisson:q=256/60000@14063",
    "gaussian:sigma=2@poisson:q=1e-4@1000000",
    "gaussian:sigma=0.6@poisson:q=0.02@5000",
    "gaussian:sigma=50@2500",
    "laplace:scale=20@1000",
)
DELTAS = (1e-5, 1e-8, 1e-12, 1e-30)


class Question(NamedTuple):
    """Runs that are composed, and the deltas at which epsilon is asked."""

    runs: tuple[Run, ...]
    deltas: tuple[float, ...] = (1e-6,)

    @property
    def text(self) -> str:
        """The specification, with the very same doubles."""
        return "+".join(map(word, self.runs))


class Answer(NamedTuple):
    """Both ends at each delta, the median seconds of an answer, and megabytes at the most."""

    ends: list[Ends]
    seconds: float
    memory: float


def word(run: Run) -> str:
    """Return the specification of one run."""
    key = "sigma" if run.mechanism.endswith("gaussian") else "scale"
    text = f"{run.mechanism}:{key}={run.noise!r}"
    if run.sizes is not None:
        text += f"@wor:n={run.sizes[0]},m={run.sizes[1]}"
    elif run.rate < 1.0:
        text += f"@poisson:q={run.rate!r}"
    return f"{text}@{run.steps}"


def history(parts: int) -> tuple[Run, ...]:
    """Return a run whose noise falls while its batches grow: all parts differ."""
    r = random.Random(f"history {parts}")
    noise = [1.5 * 0.6 ** (k / parts) * r.uniform(1.0, 1.001) for k in range(parts)]
    return tuple(Run("gaussian", s, 0.004 * r.uniform(1.0, 1.5), r.randint(5, 20)) for s in noise)


def pass_of(sigma: float, steps: int, epochs: float) -> Question:
    """Return a run that reads its records so many times, by Poisson samples."""
    return Question((Run("gaussian", sigma, 1.0 / steps, round(epochs * steps)),))


GROUPS: dict[str, tuple[Question, ...]] = {
    "DP-SGD": tuple(
        Question((run,), (1e-5, 1e-12))
        for run in (
            MNIST,
            Run("gaussian", 1.0, 0.01, 1000),
            Run("gaussian", 2.0, 1e-4, 1000000),
            Run("gaussian", 0.6, 0.02, 5000),
        )
    ),
    "few epochs": (pass_of(0.7, 1000, 1), pass_of(1.0, 10000, 3), pass_of(0.5, 200, 5)),
    "long histories": (Question(history(10)), Question(history(30))),
    "statistics": (
        Question((Run("laplace", 20.0, 1.0, 1000),), (1e-10,)),
        Question((Run("laplace", 20.0, 1.0, 12), Run("gaussian", 8.0, 1.0, 20))),
        Question(
            (Run("discrete-gaussian", 3.0, 1.0, 20), Run("discrete-gaussian", 7.5, 1.0, 100)),
            (1e-10,),
        ),
    ),
    "fixed size": (
        Question((Run("gaussian", 2.0, 1.0, 14063, (60000, 256)),)),
        Question((Run("gaussian", 1.0, 1.0, 1000, (10000, 100)),)),
    ),
}
# What each column of costs varies.
COSTS: dict[str, dict[str, Question]] = {
    "count": {
        f"1e{place}": Question((Run("gaussian", 2.0, 0.001, 10**place),)) for place in (2, 4, 6, 8)
    },
    "different parts": {str(parts): Question(history(parts)) for parts in (10, 100, 1000)},
    "delta": {f"1e-{place}": Question((MNIST,), (10.0**-place,)) for place in (3, 10, 30, 100)},
    "epochs": {str(epochs): pass_of(0.8, 1000, epochs) for epochs in (1, 3, 10, 100)},
}
# Those of other accountants would take minutes.
MOST_PARTS = 10
# Who is asked for costs, beside us: the best known of those that have no Renyi curve only.
PEER = "dp_accounting, PLD"


def answer(name: str, questions: list[dict[str, Any]]) -> None:
    """Print a line for each question with what an accountant says, in a process of its own."""
    warnings.simplefilter("ignore")
    for each in questions:
        runs = [
            Run(kind, noise, rate, steps, tuple(sizes) if sizes else None)
            for kind, noise, rate, steps, sizes in each["runs"]
        ]
        found: Any
        try:
            found = measured(ACCOUNTANTS[name][1], each["text"], runs, each["deltas"])
        except NotImplementedError:
            found = "not known"
        except Exception as error:  # noqa: BLE001 - whatever another library raises
            found = f"{type(error).__name__}: {error}"[:200]
        print(json.dumps(found), flush=True)


def measured(ask: Ask, text: str, runs: Sequence[Run], deltas: Sequence[float]) -> Answer:
    """Return the answers at all deltas, with the median of their times."""
    ends, medians = [], []
    for delta in deltas:
        spent: list[float] = []
        # The first one warms up, and is counted only where it takes long.
        while len(spent) <= REPEATS and not (spent and spent[0] > LONG):
            start = time.process_time()
            found = ask(text, runs, delta)
            spent.append(time.process_time() - start)
        ends.append(found)
        medians.append(statistics.median(spent[1:] or spent))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return Answer(ends, statistics.median(medians), memory)


def asked(name: str, questions: Sequence[Question], python: str) -> list[Answer | str]:
    """Return what an accountant says to each question, or why it does not."""
    command = [sys.executable if name == "privcalc" else python, "-W", "ignore"]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    given = [{"text": q.text, "runs": q.runs, "deltas": q.deltas} for q in questions]
    done = subprocess.run(
        [*command, "-m", "tests.benchmarks.limit", "--ask", name],
        input=json.dumps(given),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, **threads},
    )
    found: list[Answer | str] = []
    # Libraries print, too.
    lines = [line for line in done.stdout.splitlines() if line.startswith(("[", '"'))]
    for line in lines:
        row: Any = json.loads(line)
        if isinstance(row, str):
            found.append(row)
        else:
            ends, seconds, memory = row
            found.append(Answer([(low, high) for low, high in ends], float(seconds), float(memory)))
    if len(found) != len(questions):
        raise RuntimeError(f"{name} has {len(found)} answers to {len(questions)} questions")
    return found


def installed(name: str, python: str) -> str:
    """Return the title of an accountant with its version, or "" where it is not installed."""
    package, comma, way = name.partition(",")
    if name == "privcalc":
        from privcalc.version import __version__

        return f"privcalc {__version__}"
    program = f"from importlib.metadata import version; print(version({ACCOUNTANTS[name][0]!r}))"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    return f"{package} {done.stdout.strip()}{comma}{way}" if done.returncode == 0 else ""


def place(pairs: Iterable[tuple[Answer, Answer]]) -> str:
    """Say where upper ends are, relative to ours: those below our lower end in bold."""
    below, above = [], []
    for ours, theirs in pairs:
        for (lower, upper), (_, end) in zip(ours.ends, theirs.ends, strict=True):
            # What is no number is no bound.
            if not end >= (lower or 0.0):
                below.append((end - (lower or 0.0)) / upper)
            else:
                above.append((end - upper) / upper)
    shown = [f"**{number(min(below))}**"] if below else []
    shown += [number(max(above))] if above else []
    return " to ".join(shown) or "no answer"


def width(answers: Iterable[Answer]) -> str:
    """Return the largest relative width of brackets."""
    widths = [
        (upper - lower) / upper
        for each in answers
        for lower, upper in each.ends
        if lower is not None
    ]
    return number(max(widths), "") if widths else "no lower end"


def beside(python: str) -> None:
    """Print what all say to all questions, line by line, and the table."""
    questions = [question for group in GROUPS.values() for question in group]
    ours: dict[Question, Answer] = {}
    rows = []
    for name in ACCOUNTANTS:
        title = installed(name, python)
        if not title:
            rows.append(f"| {name} | not installed |" + " |" * (len(GROUPS) + 2))
            continue
        print(f"{title}:")
        known: dict[Question, Answer] = {}
        for question, found in zip(questions, asked(name, questions, python), strict=True):
            shown = f"    {question.text[:60]}: "
            if isinstance(found, str):
                print(f"{shown}{found}")
                continue
            known[question] = found
            if name == "privcalc":
                ours[question] = found
            ends = "  ".join(f"[{low}, {high}]" for low, high in found.ends)
            where = place([(ours[question], found)])
            print(f"{shown}{ends}; {where}; {1e3 * found.seconds:.3g} ms, {found.memory:.0f} MB")
        sys.stdout.flush()
        rows.append(f"| {title} | {' | '.join(columns(ours, known))} |")
    heads = [*GROUPS, "width", "time", "memory"]
    print(f"\n| accountant | {' | '.join(heads)} |\n|{'---|' * (1 + len(heads))}")
    print("\n".join(rows), "\n", flush=True)


def columns(ours: dict[Question, Answer], known: dict[Question, Answer]) -> list[str]:
    """Return the cells of one accountant; in our row the widths of brackets for each group."""
    cells = []
    for group in GROUPS.values():
        pairs = [(ours[each], known[each]) for each in group if each in known]
        cells.append(width(each for _, each in pairs) if known == ours else place(pairs))
    ratios = [known[each].seconds / ours[each].seconds for each in known]
    times = f"{statistics.median(ratios):.2g}" if ratios else ""
    if known == ours:
        times += f" ({1e3 * statistics.median(each.seconds for each in ours.values()):.2g} ms)"
    memory = f"{max(each.memory for each in known.values()):.0f} MB" if known else ""
    return [*cells, width(known.values()), times, memory]


def costs(python: str) -> None:
    """Print what an answer costs against one number after the other."""
    peer = installed(PEER, python)
    print(f"| | | privcalc | width | memory | {peer or PEER} | memory |\n|{'---|' * 7}")
    for what, questions in COSTS.items():
        for value, question in questions.items():
            cells = []
            for name in ("privcalc", PEER):
                many = name == PEER and len(question.runs) > MOST_PARTS
                skipped = many or (name == PEER and not peer)
                found = "" if skipped else asked(name, [question], python)[0]
                if isinstance(found, str):
                    cells += [found[:40], "", ""]
                else:
                    cells += [f"{1e3 * found.seconds:.2g} ms", width([found])]
                    cells.append(f"{found.memory:.0f} MB")
            print(f"| {what} | {value} | {' | '.join([*cells[:4], cells[5]])} |", flush=True)
    print()


def cells() -> dict[str, list[tuple[str, float]]]:
    """Return the specifications and deltas of the hot path: 28 cells, and a grid of few epochs."""
    r, few = random.Random(1), []
    for _ in range(30):
        q, sigma = log_uniform(r, 1e-5, 0.03), log_uniform(r, 0.5, 1.5)
        steps = max(1, round(r.uniform(1.0, 10.0) / q))
        few.append((f"gaussian:sigma={sigma}@poisson:q={q}@{steps}", log_uniform(r, 1e-10, 1e-5)))
    return {
        "28 cells": [(text, delta) for text in CONFIGURATIONS for delta in DELTAS],
        "few epochs": few,
    }


def hot_path() -> None:
    """Print the compute time of each grid, and where that of its slowest cell is spent."""
    from privcalc.accounting.compose import compose
    from privcalc.spec.parse import parse

    for title, grid in cells().items():
        spent = []
        for text, delta in grid:
            tree = parse(text).tree
            times = []
            for _ in range(1 + REPEATS):
                start = time.process_time()
                found = compose(tree, deltas=[delta]).answers[0]
                times.append(time.process_time() - start)
            engine = found.method.engine if found.method else ""
            spent.append((statistics.median(times[1:]), text, delta, engine))
        spent.sort()
        seconds = [each[0] for each in spent]
        print(
            f"{title}: median {1e3 * statistics.median(seconds):.1f} ms,"
            f" worst {1e3 * seconds[-1]:.1f} ms"
        )
        for each in spent[-3:]:
            print(f"    {1e3 * each[0]:.1f} ms: {each[1]} at delta {each[2]:g}, {each[3]}")


def machine() -> str:
    """Return the processor, the number of them, and versions."""
    from importlib.metadata import version

    model = "unknown processor"
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        named = [line.partition(":")[2].strip() for line in lines if line.startswith("model n")]
        model = named[0] if named else model
    except OSError:
        pass
    python = ".".join(map(str, sys.version_info[:3]))
    return (
        f"{os.cpu_count()} x {model}, Python {python}, numpy {version('numpy')},"
        f" scipy {version('scipy')}, {time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="that has the accountants")
    parser.add_argument("--only", nargs="+", choices=("beside", "costs", "hot"), default=[])
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.ask:
        answer(given.ask, json.load(sys.stdin))
        return
    print(machine(), "\n", flush=True)
    wanted = given.only or ("beside", "costs", "hot")
    if "beside" in wanted:
        beside(given.python)
    if "costs" in wanted:
        costs(given.python)
    if "hot" in wanted:
        hot_path()


if __name__ == "__main__":
    main()
