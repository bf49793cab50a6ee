"""Random valid command lines over all five commands: what is slow, large, or an internal error.

Run `python -m tests.benchmarks.random_commands --n 300 --seed 1`. Every question is a process of
its own, whose CPU time and memory are limited and measured. It prints what is beyond the limits,
and the slowest ten; the exit status is 1 if anything is.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Draw = Callable[[random.Random], str]

# What no question may take, and where a process is ended.
MOST_SECONDS, MOST_MEGABYTES = 10.0, 500.0
END_SECONDS, END_BYTES = 40, 4 * 2**30
SLOWEST = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question and what it took."""

    arguments: list[str]
    seconds: float
    megabytes: float
    status: int
    said: str

    @property
    def bad(self) -> bool:
        """Say whether it broke a limit."""
        beyond = self.seconds > MOST_SECONDS or self.megabytes > MOST_MEGABYTES
        return beyond or self.status not in (0, 1, 2) or "internal error" in self.said

    def __str__(self) -> str:
        """Show it on one line."""
        words = " ".join(self.arguments)
        said = self.said.splitlines()[-1][:120] if self.status not in (0, 1) and self.said else ""
        return (
            f"{self.seconds:6.2f} s {self.megabytes:5.0f} MB  {self.status}  {words[:300]}  {said}"
        )


def number(value: float) -> str:
    """Write a number with three digits."""
    return f"{value:.3g}"


def scale(r: random.Random, low: float, high: float) -> str:
    """Draw a number evenly on the scale of its logarithm; now and then an extreme one."""
    if r.random() < 0.05:
        low, high = low * 1e-3, high * 1e3
    return number(math.exp(r.uniform(math.log(low), math.log(high))))


def part(r: random.Random, low: float, high: float) -> str:
    """Draw a probability, at most 1."""
    return number(min(1.0, float(scale(r, low, high))))


def count(r: random.Random, high: float = 1e5) -> str:
    """Draw a number of uses."""
    if r.random() < 0.03:
        high = 1e15
    return str(max(1, round(math.exp(r.uniform(0.0, math.log(high))))))


def relaxed_curve(r: random.Random) -> str:
    """Draw zCDP."""
    return f"zcdp:rho={scale(r, 1e-3, 5)}" + (
        f",xi={scale(r, 1e-3, 1)}" if r.random() < 0.2 else ""
    )


LEAVES: dict[str, Draw] = {
    "gaussian": lambda r: f"gaussian:sigma={scale(r, 0.4, 50)}",
    "laplace": lambda r: f"laplace:scale={scale(r, 0.3, 50)}",
    "discrete-gaussian": lambda r: f"discrete-gaussian:sigma={scale(r, 0.4, 50)}",
    "discrete-laplace": lambda r: f"discrete-laplace:epsilon={scale(r, 0.02, 3)}",
    "staircase": lambda r: f"staircase:epsilon={scale(r, 0.02, 5)}",
    "rr": lambda r: f"rr:epsilon={scale(r, 0.02, 5)},categories={r.choice([2, 2, 3, 7, 50])}",
    "exponential": lambda r: f"exponential:epsilon={scale(r, 0.02, 5)}",
    "pure": lambda r: f"pure:epsilon={scale(r, 1e-3, 5)}",
    "approx": lambda r: f"approx:epsilon={scale(r, 1e-2, 5)},delta={part(r, 1e-12, 1e-3)}",
    "gdp": lambda r: f"gdp:mu={scale(r, 0.01, 5)}",
    "zcdp": relaxed_curve,
    "rdp": lambda r: f"rdp:order={r.choice([1.5, 2, 4, 8, 32])},epsilon={scale(r, 0.01, 3)}",
    "gaussian-mixture": lambda r: (
        f"gaussian-mixture:sigma={scale(r, 0.4, 20)},sensitivities=0,1,{scale(r, 1, 5)},"
        f"probabilities={r.choice(['0.9,0.09,0.01', '0.2,0.5,0.3', '0,0.999,0.001'])}"
    ),
    "gaussian-pair": lambda r: (
        f"gaussian-pair:mean=0,deviation=1,other_mean={scale(r, 0.1, 3)},"
        f"other_deviation={number(r.uniform(0.5, 2))}"
    ),
    "bernoulli-pair": lambda r: (
        f"bernoulli-pair:p={number(r.uniform(0.01, 0.99))},other_p={number(r.uniform(0.01, 0.99))}"
    ),
    "ptr": lambda r: (
        f"ptr:test=(gaussian:sigma={scale(r, 2, 50)}),"
        f"mechanism=({r.choice(['laplace:scale', 'gaussian:sigma'])}={scale(r, 1, 50)}),"
        f"false_positive={part(r, 1e-12, 1e-6)},mode={r.choice(['sum', 'max', 'bit'])}"
    ),
    "stability": lambda r: f"stability:scale={scale(r, 1, 10)},threshold={scale(r, 20, 200)}",
    "noisy-max": lambda r: (
        f"noisy-max:sigma={scale(r, 0.5, 30)},candidates={r.choice([2, 5, 100, 10000])}"
    ),
    "noisy-screening": lambda r: (
        f"noisy-screening:sigma={number(r.uniform(1, 100))},threshold={r.randint(0, 200)},votes=200"
    ),
    "matrix-gaussian": lambda r: (
        f"matrix-gaussian:sigma={scale(r, 2, 50)},strategy={r.choice(['tree', 'banded'])},"
        f"steps={round(math.exp(r.uniform(0, 13.8)))},participations={r.choice([1, 1, 5, 200])},"
        f"separation={round(math.exp(r.uniform(0, 9)))}"
    ),
    "gnmax": lambda r: f"gnmax:sigma={scale(r, 5, 200)}",
    "ops": lambda r: (
        f"ops:gamma={scale(r, 0.1, 10)},lambda={scale(r, 30, 3000)},n={r.randint(1, 10**6)}"
    ),
    "gnss": lambda r: f"gnss:sigma={scale(r, 5, 50)},delta={part(r, 1e-9, 1e-3)}",
    "noisy-max of Gumbel": lambda r: (
        f"noisy-max:noise=gumbel,scale={scale(r, 0.5, 30)},candidates={r.choice([2, 5, 100])}"
    ),
    "noisy-max of Laplace": lambda r: (
        f"noisy-max:noise=laplace,scale={scale(r, 0.5, 30)},candidates={r.choice([2, 5, 100])}"
    ),
}
SAMPLED = (
    "gaussian",
    "gaussian",
    "gaussian",
    "laplace",
    "discrete-gaussian",
    "rr",
    "staircase",
    "noisy-screening",
)


def runs(r: random.Random, mean: int | None = None) -> str:
    """Draw a distribution of the number of runs."""
    mean = mean or r.choice([2, 5, 10, 30, 100, 1000])
    return r.choice(
        [
            f"geometric:mean={mean}",
            f"logarithmic:mean={mean}",
            f"tnb:shape={number(r.uniform(-0.5, 3))},mean={mean}",
            f"poisson:mean={mean}",
            f"binomial:n={2 * mean},mean={mean}",
            f"fixed:n={mean}",
        ]
    )


def mechanism(r: random.Random, *, sampled: bool = True) -> str:
    """Draw one mechanism with wrappers."""
    kind = r.random()
    if sampled and kind < 0.4:
        text = LEAVES[r.choice(SAMPLED)](r)
        cap = f",max={r.randint(1, 300)},n=60000" if r.random() < 0.05 else ""
        text += f"@poisson:q={part(r, 1e-6, 0.5)}{cap}@{count(r, 1e6)}"
    elif sampled and kind < 0.48:
        size = r.choice([1000, 60000, 10**6])
        text = LEAVES[r.choice(SAMPLED)](r) + f"@wor:n={size},m={r.choice([1, 32, 256, 900])}"
        text += f"@{count(r, 1e4)}"
    elif sampled and kind < 0.5:
        name = r.choice(["allocation", "batches"])
        text = f"gaussian:sigma={number(r.uniform(0.5, 8))}"
        text += f"@{name}:t={round(math.exp(r.uniform(1, 11)))}@{round(math.exp(r.uniform(0, 5)))}"
    elif sampled and kind < 0.52:
        text = f"rr:epsilon={number(r.uniform(0.1, 6))},categories={r.choice([2, 2, 3, 10])}"
        if r.random() < 0.3:
            text = f"pure:epsilon={number(r.uniform(0.1, 6))}"
        text += f"@shuffle:n={round(math.exp(r.uniform(0, 20)))}@{count(r, 1e3)}"
    else:
        text = LEAVES[r.choice(list(LEAVES))](r)
        text += f"@{count(r, 1e3)}" if r.random() < 0.7 else ""
    if r.random() < 0.1:
        text += f"@group:k={r.randint(2, 10)}"
    if r.random() < 0.05:
        name, _, rest = runs(r).partition(":")
        text += f"@select:runs={name},{rest}"
    return text


def history(r: random.Random) -> str:
    """Draw what Opacus recorded of a run, whose noise may change."""
    rate = float(part(r, 1e-4, 0.1))
    noises = [float(scale(r, 0.5, 5)) for _ in range(r.choice([1, 3, 20, 300]))]
    steps = [[noise, rate, r.randint(1, 1000)] for noise in noises]
    return json.dumps({"history": steps, "mechanism": "rdp"})


def specification(r: random.Random) -> str:
    """Draw a sum of one to five mechanisms, now and then of very many, or a history."""
    if r.random() < 0.02:
        return history(r)
    if r.random() < 0.02:
        kind = r.choice(["gaussian", "laplace", "discrete-laplace", "rr"])
        return "+".join(LEAVES[kind](r) for _ in range(r.choice([30, 100, 300])))
    size = r.choice([1, 1, 1, 1, 2, 3, 5])
    parts = [mechanism(r) for _ in range(size)]
    # The two kinds of sampling are read under different relations.
    if any("@wor" in each or "@shuffle" in each for each in parts):
        apart = ("@poisson", "@allocation", "@batches")
        parts = [each for each in parts if not any(name in each for name in apart)]
    return "+".join(parts)


def delta(r: random.Random) -> str:
    """Draw a delta."""
    return "0" if r.random() < 0.03 else part(r, 1e-12, 1e-3)


def deltas(r: random.Random) -> str:
    """Draw one delta, or some."""
    return ",".join(delta(r) for _ in range(r.choice([1, 1, 1, 3])))


def common(r: random.Random, *, engines: Sequence[str] = ()) -> list[str]:
    """Draw options that every command has."""
    found = []
    if r.random() < 0.1:
        found += ["--relation", r.choice(["add-or-remove-one", "replace-one", "replace-special"])]
    if r.random() < 0.15:
        found += ["--tolerance", r.choice(["1e-14", "1e-12", "1e-6", "1e-3", "0.1"])]
    if engines and r.random() < 0.1:
        found += ["--engine", r.choice(engines)]
    form = r.choice(["", "", "--json", "-t", "-q", "-v", "--format"])
    if form == "--format":
        found += [form, r.choice(["csv", "markdown", "github", "table"])]
    elif form:
        found.append(form)
    return found


ENGINES = ("contour", "fft", "rdp")


def compose(r: random.Random) -> list[str]:
    """Draw a question to `compose`."""
    found = ["compose", specification(r)]
    kind = r.random()
    if kind < 0.65:
        found += ["--delta", deltas(r)]
        if r.random() < 0.5:
            found += ["--max-epsilon", scale(r, 0.1, 20)]
    elif kind < 0.9:
        found += ["--epsilon", scale(r, 0.1, 20)]
        if r.random() < 0.5:
            found += ["--max-delta", part(r, 1e-10, 1e-3)]
    return found + common(r, engines=(*ENGINES, "afa"))


def convert(r: random.Random) -> list[str]:
    """Draw a question to `convert`."""
    to = r.choice(["dp", "profile", "rdp", "zcdp", "gdp", "tradeoff", "risk", "dp-event"])
    found = ["convert", specification(r), "--to", to]
    if to == "dp":
        found += ["--delta", deltas(r)]
    elif to == "rdp":
        found += ["--orders", r.choice(["1.5,2,8", "1.01", "64,256", "2.5"])]
    elif to in ("profile", "tradeoff") and r.random() < 0.5:
        found += ["--points", r.choice(["5", "50", "300"])]
    elif to in ("tradeoff", "risk"):
        found += ["--fpr", ",".join(part(r, 1e-9, 0.5) for _ in range(r.randint(1, 3)))]
    if to == "risk" and r.random() < 0.4:
        found += ["--prior", number(r.uniform(0.01, 0.99))]
    if r.random() < 0.1:
        found += ["--group", str(r.randint(2, 6))]
    budget = {"dp": "epsilon", "zcdp": "rho", "gdp": "mu", "risk": "advantage"}.get(to)
    if budget and r.random() < 0.3:
        found += [f"--max-{budget}", part(r, 1e-3, 1.0), "--exit-zero"]
    return found + common(r, engines=ENGINES)


def subsample(r: random.Random) -> list[str]:
    """Draw a question to `subsample`."""
    found = ["subsample", LEAVES[r.choice(list(LEAVES))](r)]
    if r.random() < 0.6:
        found += ["--q", part(r, 1e-6, 0.5)]
    else:
        found += ["--n", "60000", "--m", r.choice(["1", "256", "5000"])]
    if r.random() < 0.5:
        found += ["--count", count(r, 1e6), "--delta", part(r, 1e-12, 1e-3)]
    if r.random() < 0.3:
        found += ["--orders", r.choice(["1.5,2,8", "64,256,1000", "2.5", "1.01,1.1"])]
    return found + common(r, engines=ENGINES)


def select(r: random.Random) -> list[str]:
    """Draw a question to `select`."""
    found = ["select", mechanism(r), "--runs", runs(r)]
    found += ["--delta", delta(r)] if r.random() < 0.8 else ["--epsilon", scale(r, 0.1, 20)]
    if r.random() < 0.2 and "--delta" in found:
        found += ["--max-epsilon", scale(r, 0.1, 20)]
    return found + common(r, engines=ENGINES)


HOLES: tuple[Draw, ...] = (
    lambda _: "gaussian:sigma=_",
    lambda r: f"gaussian:sigma=_@{count(r, 1e4)}",
    lambda r: f"gaussian:sigma=_@poisson:q={part(r, 1e-5, 0.3)}@{count(r, 1e5)}",
    lambda r: f"gaussian:sigma=_@poisson:q={part(r, 1e-5, 0.3)}@{count(r, 1e5)}",
    lambda r: f"gaussian:sigma=_@poisson:q={part(r, 1e-5, 0.3)}@{count(r, 1e5)}+{mechanism(r)}",
    lambda r: f"gaussian:sigma={scale(r, 0.5, 5)}@poisson:q=_@{count(r, 1e5)}",
    lambda r: f"gaussian:sigma={scale(r, 0.5, 5)}@poisson:q={part(r, 1e-5, 0.3)}@_",
    lambda r: f"gaussian:sigma={scale(r, 0.5, 5)}@wor:n=_,m=64@{count(r, 1e4)}",
    lambda r: f"laplace:scale=_@{count(r, 1e4)}",
    lambda r: f"laplace:scale=_@poisson:q={part(r, 1e-4, 0.3)}@{count(r, 1e4)}",
    lambda r: f"discrete-gaussian:sigma=_@{count(r, 1e4)}",
    lambda r: f"discrete-gaussian:sigma=_@poisson:q={part(r, 1e-4, 0.3)}@{count(r, 1e4)}",
    lambda r: f"pure:epsilon=_@{count(r, 1e4)}",
    lambda r: f"rr:epsilon=_@{count(r, 1e4)}",
    lambda r: f"exponential:epsilon=_@{count(r, 1e3)}",
    lambda r: f"noisy-max:sigma=_,candidates={r.choice([2, 100])}@{count(r, 100)}",
    lambda r: f"{mechanism(r, sampled=False)}@_",
    lambda r: f"gaussian:sigma=_@poisson:q={part(r, 1e-4, 0.3)}@{count(r, 1e4)}@group:k=3",
)


def calibrate(r: random.Random) -> list[str]:
    """Draw a question to `calibrate`."""
    found = ["calibrate", r.choice(HOLES)(r)]
    kind = r.random()
    if kind < 0.7:
        found += ["--epsilon", scale(r, 0.1, 10), "--delta", part(r, 1e-12, 1e-3)]
    elif kind < 0.78:
        found += ["--mu", scale(r, 0.1, 5)]
    elif kind < 0.85:
        found += ["--rho", scale(r, 0.01, 5)]
    elif kind < 0.93:
        found += ["--advantage", number(r.uniform(0.01, 0.9))]
    else:
        found += ["--tpr", number(r.uniform(0.1, 0.9)), "--fpr", part(r, 1e-4, 0.09)]
    return found + common(r)


COMMANDS = (compose, compose, convert, subsample, select, calibrate)


def ask(arguments: list[str]) -> Outcome:
    """Run one question in a process of its own."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (END_SECONDS, END_SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_AS, (END_BYTES, END_BYTES))

    command = [sys.executable, "-m", "privcalc", *arguments]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1"}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env=environment,
            preexec_fn=limit,  # noqa: PLW1509  (no threads here)
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        words = said.read().decode(errors="replace").strip()
    if process.returncode == -signal.SIGXCPU:
        words = "ended: too slow"
    seconds = used.ru_utime + used.ru_stime
    return Outcome(arguments, seconds, used.ru_maxrss / 1024.0, process.returncode, words)


def main() -> int:
    """Ask, and print what stands out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", choices=[each.__name__ for each in COMMANDS])
    options = parser.parse_args()
    commands = [each for each in COMMANDS if options.command in (None, each.__name__)]
    outcomes = []
    for index in range(options.n):
        r = random.Random(f"{options.seed}-{index}")
        outcomes.append(ask(r.choice(commands)(r)))
        if outcomes[-1].bad:
            print(f"beyond: {outcomes[-1]}", flush=True)
    outcomes.sort(key=lambda each: -each.seconds)
    refused = sum(each.status == 2 for each in outcomes)
    print(f"{len(outcomes)} questions, {refused} refused; the slowest {SLOWEST}:")
    print("\n".join(str(each) for each in outcomes[:SLOWEST]))
    print(f"most memory: {max(each.megabytes for each in outcomes):.0f} MB")
    return int(any(each.bad for each in outcomes))


if __name__ == "__main__":
    sys.exit(main())
