"""Random questions, ordinary ones and ones at the borders of what may be asked: what each takes.

Run `python -m tests.benchmarks.borders --borders 500 --ordinary 2500 --seed 1`. Every question is a
process of its own, forked from one that has loaded the modules, so that memory is that of a
question. It prints the slowest 30 with CPU seconds, peak memory and relative width, and whatever is
beyond the limits; the exit status is 1 if anything is.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import random
import resource
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tests.benchmarks.random_commands import LEAVES, number, runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Draw = Callable[[random.Random], str]
    Question = Callable[[random.Random], list[str]]

# What no question may take on an idle machine, and where a process is ended.
MOST_SECONDS, MOST_MEGABYTES = 5.0, 500.0
END_SECONDS, END_BYTES = 60, 6 * 2**30
SHOWN = 30
MODULES = ("numpy", "scipy.special", "scipy.optimize", "privcalc.cli.app")


def log(r: random.Random, low: float, high: float) -> str:
    """Draw a number evenly on the scale of its logarithm."""
    return number(math.exp(r.uniform(math.log(low), math.log(high))))


def count(r: random.Random, most: float = 1e15) -> int:
    """Draw a number of uses evenly on the scale of its logarithm."""
    return max(1, round(math.exp(r.uniform(0.0, math.log(most)))))


def noise(r: random.Random) -> str:
    """Draw a standard deviation or scale at the borders."""
    return log(r, 1e-3, 1e9)


def rate(r: random.Random) -> str:
    """Draw a sampling rate, now and then 1."""
    return "1" if r.random() < 0.05 else log(r, 1e-9, 1.0)


def delta(r: random.Random) -> str:
    """Draw a delta at the borders: in half of the cases a large or an ordinary one."""
    return r.choice([log(r, 1e-300, 0.9), log(r, 1e-12, 1e-4), log(r, 1e-3, 0.9)])


def epsilon(r: random.Random) -> str:
    """Draw an epsilon at the borders."""
    return log(r, 1e-4, 1e3)


def mixture(r: random.Random) -> str:
    """Draw changes of random size."""
    chances = r.choice(["0.9,0.1", "0.999999,1e-6", "0.5,0.5"])
    return f"gaussian-mixture:sigma={noise(r)},sensitivities=0,1,probabilities={chances}"


def threshold_stream(r: random.Random) -> str:
    """Draw a sparse vector."""
    kind, length = r.choice(["gaussian", "laplace"]), count(r, 1e6)
    size = f"threshold_noise={noise(r)},query_noise={noise(r)}"
    return f"svt:noise={kind},{size},length={length},cutoff={r.randint(1, min(length, 20))}"


BORDERS: dict[str, Draw] = {
    "gaussian": lambda r: f"gaussian:sigma={noise(r)}",
    "laplace": lambda r: f"laplace:scale={noise(r)}",
    "truncated-laplace": lambda r: (
        f"truncated-laplace:scale={(s := noise(r))},bound={number(float(s) * r.uniform(1, 60))}"
    ),
    "discrete-gaussian": lambda r: (
        f"discrete-gaussian:sigma={noise(r)},sensitivity={count(r, 1e6)}"
    ),
    "discrete-laplace": lambda r: f"discrete-laplace:scale={noise(r)},sensitivity={count(r, 1e6)}",
    "staircase": lambda r: f"staircase:epsilon={log(r, 1e-9, 500)}",
    "rr": lambda r: f"rr:epsilon={log(r, 1e-9, 500)},categories={count(r, 1e6) + 1}",
    "exponential": lambda r: f"exponential:epsilon={log(r, 1e-9, 500)}",
    "pure": lambda r: f"pure:epsilon={log(r, 1e-9, 500)}",
    "approx": lambda r: f"approx:epsilon={log(r, 1e-9, 500)},delta={delta(r)}",
    "gdp": lambda r: f"gdp:mu={log(r, 1e-9, 1e3)}",
    "zcdp": lambda r: f"zcdp:rho={log(r, 1e-12, 1e4)}",
    "rdp": lambda r: f"rdp:order={log(r, 1.001, 1e6)},epsilon={log(r, 1e-9, 500)}",
    "noisy-max": lambda r: (
        f"noisy-max:noise={r.choice(['gaussian', 'laplace', 'gumbel', 'exponential'])},"
        f"scale={noise(r)},candidates={count(r, 1e6) + 1}"
    ).replace("gaussian,scale", "gaussian,sigma"),
    "gaussian-mixture": mixture,
    "gaussian-pair": lambda r: (
        f"gaussian-pair:mean=0,deviation=1,other_mean={log(r, 1e-6, 1e3)},"
        f"other_deviation={log(r, 0.1, 10)}"
    ),
    "bernoulli-pair": lambda r: f"bernoulli-pair:p={log(r, 1e-9, 1)},other_p={log(r, 1e-9, 1)}",
    "matrix-gaussian": lambda r: (
        f"matrix-gaussian:sigma={noise(r)},strategy={r.choice(['tree', 'banded', 'identity'])},"
        f"steps={count(r, 1e6)},participations={count(r, 1e3)},separation={count(r, 1e3)}"
    ),
    "ops": lambda r: f"ops:gamma={noise(r)},lambda={noise(r)},n={count(r, 1e9)}",
    "noisy-screening": lambda r: (
        f"noisy-screening:sigma={noise(r)},threshold={count(r, 1e4)},votes={count(r, 1e4)}"
    ),
    "gnmax": lambda r: f"gnmax:sigma={noise(r)}",
    "gnss": lambda r: f"gnss:sigma={noise(r)},delta={log(r, 1e-12, 0.5)}",
    "thresholded-counts": lambda r: (
        f"thresholded-counts:scale={noise(r)},threshold={log(r, 1, 1e6)},keys={count(r, 100)}"
    ),
    "partition-selection": lambda r: (
        f"partition-selection:epsilon={log(r, 1e-6, 100)},delta={log(r, 1e-12, 0.5)}"
    ),
    "svt": threshold_stream,
    "ptr": lambda r: (
        f"ptr:test=(gaussian:sigma={noise(r)}),mechanism=(laplace:scale={noise(r)}),"
        f"false_positive={log(r, 1e-12, 0.1)},mode={r.choice(['sum', 'max', 'bit'])}"
    ),
    "stability": lambda r: f"stability:scale={noise(r)},threshold={log(r, 1, 1e6)}",
}
# What a record's loss in a sample follows from.
SAMPLED = (
    *("gaussian", "gaussian", "gaussian", "laplace", "discrete-gaussian", "discrete-laplace"),
    *("rr", "staircase", "exponential", "noisy-screening", "pure", "gaussian-mixture"),
)


def event(r: random.Random) -> str:
    """Draw one mechanism with wrappers, everything at the borders."""
    kind = r.random()
    if kind < 0.45:
        text = BORDERS[r.choice(SAMPLED)](r)
        n = count(r, 1e4)
        cap = f",max={r.randint(1, n)},n={n}" if r.random() < 0.1 else ""
        text += f"@poisson:q={rate(r)}{cap}@{count(r)}"
    elif kind < 0.5:
        n = count(r, 1e9) + 1
        text = BORDERS[r.choice(SAMPLED)](r) + f"@wor:n={n},m={count(r, n)}@{count(r, 1e6)}"
    elif kind < 0.55:
        name = r.choice(["allocation", "batches"])
        text = f"gaussian:sigma={noise(r)}@{name}:t={count(r, 1e6)}@{count(r, 1e6)}"
    elif kind < 0.57:
        text = f"rr:epsilon={log(r, 1e-3, 50)}@shuffle:n={count(r, 1e9)}@{count(r, 1e4)}"
    else:
        text = BORDERS[r.choice(list(BORDERS))](r)
        text += f"@{count(r)}" if r.random() < 0.7 else ""
    if r.random() < 0.1:
        text += f"@group:k={count(r, 500)}"
    if r.random() < 0.03:
        name, _, rest = runs(r).partition(":")
        text += f"@select:runs={name},{rest}"
    return text


def sum_of_events(r: random.Random) -> str:
    """Draw one to three mechanisms, under one kind of sampling."""
    parts = [event(r) for _ in range(r.choice([1, 1, 1, 2, 3]))]
    if any("@wor" in each or "@shuffle" in each for each in parts):
        apart = ("@poisson", "@allocation", "@batches")
        parts = [each for each in parts if not any(name in each for name in apart)]
    return "+".join(parts)


def with_hole(r: random.Random) -> str:
    """Draw a specification with a hole, everything else at the borders."""
    kind = r.choice(["gaussian:sigma=_", "laplace:scale=_", "exponential:epsilon=_"])
    kind = r.choice(
        [kind, kind, "rr:epsilon=_", "discrete-gaussian:sigma=_", "staircase:epsilon=_"]
    )
    n = count(r, 1e9)
    return r.choice(
        [
            f"{kind}@{n}",
            f"{kind}@poisson:q={rate(r)}@{n}",
            f"{kind}@poisson:q={rate(r)}@{n}+{event(r)}",
            f"gaussian:sigma=_@allocation:t={count(r, 1e4)}@{count(r, 1e3)}",
            f"gaussian:sigma={noise(r)}@poisson:q=_@{n}",
            f"{BORDERS[r.choice(SAMPLED)](r)}@_",
        ]
    )


def border(r: random.Random) -> list[str]:
    """Draw a question at the borders."""
    kind = r.random()
    asked = ["--delta", delta(r)] if r.random() < 0.7 else ["--epsilon", epsilon(r)]
    if kind < 0.55:
        return ["compose", sum_of_events(r), *asked]
    if kind < 0.65:
        to = r.choice(["dp", "profile", "rdp", "zcdp", "gdp", "tradeoff", "risk"])
        tail = ["--delta", delta(r)] if to == "dp" else []
        tail = ["--fpr", log(r, 1e-12, 0.5)] if to in ("tradeoff", "risk") else tail
        return ["convert", sum_of_events(r), "--to", to, *tail]
    if kind < 0.85:
        return ["calibrate", with_hole(r), "--epsilon", epsilon(r), "--delta", delta(r)]
    if kind < 0.93:
        return ["select", event(r), "--runs", runs(r, count(r, 1e6) + 1), *asked]
    rates = ["--q", rate(r)] if r.random() < 0.7 else ["--n", str(n := count(r, 1e9) + 1)]
    rates += [] if rates[0] == "--q" else ["--m", str(count(r, n))]
    used = ["--count", str(count(r)), "--delta", delta(r)] if r.random() < 0.5 else []
    return ["subsample", BORDERS[r.choice(SAMPLED)](r), *rates, *used]


def training(
    r: random.Random,
    epochs: tuple[float, float],
    rates: tuple[float, float],
    noises: tuple[float, float],
) -> str:
    """Draw a run of DP-SGD."""
    q = log(r, *rates)
    steps = max(1, round(r.uniform(*epochs) / float(q)))
    return f"gaussian:sigma={number(r.uniform(*noises))}@poisson:q={q}@{steps}"


def statistic(r: random.Random) -> str:
    """Draw a mechanism of an ordinary size, some times."""
    name = r.choice(
        ["laplace", "gaussian", "discrete-gaussian", "discrete-laplace", "rr", "exponential"]
    )
    return LEAVES[name](r) + f"@{r.randint(1, 60)}"


def ledger(r: random.Random) -> str:
    """Draw a long list of a few kinds, each with numbers of its own."""
    names = r.sample(["laplace", "gaussian", "discrete-laplace", "rr", "exponential"], 2)
    return "+".join(LEAVES[r.choice(names)](r) for _ in range(r.choice([20, 60, 150])))


def history(r: random.Random) -> str:
    """Draw a run whose noise changes."""
    return "+".join(
        training(r, (0.02, 0.5), (1e-3, 1e-2), (0.8, 1.8)) for _ in range(r.choice([20, 60, 150]))
    )


def compose(draw: Draw) -> Question:
    """Ask what something costs at an ordinary delta."""
    return lambda r: ["compose", draw(r), "--delta", log(r, 1e-12, 1e-4)]


ORDINARY: dict[str, Question] = {
    "many epochs": compose(lambda r: training(r, (10, 300), (1e-3, 3e-2), (0.6, 4))),
    "few epochs": compose(lambda r: training(r, (1, 5), (1e-6, 3e-2), (0.4, 1.5))),
    "few steps": compose(
        lambda r: (
            f"gaussian:sigma={log(r, 0.4, 2)}@poisson:q={log(r, 1e-3, 0.5)}@{r.randint(1, 100)}"
        )
    ),
    "statistics": compose(lambda r: "+".join(statistic(r) for _ in range(r.randint(1, 5)))),
    "training and statistics": compose(
        lambda r: "+".join([training(r, (1, 50), (1e-4, 2e-2), (0.6, 2)), statistic(r)])
    ),
    "batches of a fixed size": compose(
        lambda r: (
            f"gaussian:sigma={log(r, 1, 20)}@wor:n=60000,m={r.choice([32, 256, 1024])}"
            f"@{count(r, 2e4)}"
        )
    ),
    "discrete samples": compose(
        lambda r: (
            LEAVES[r.choice(["discrete-gaussian", "laplace", "discrete-laplace"])](r)
            + f"@poisson:q={log(r, 1e-4, 0.2)}@{count(r, 2e4)}"
        )
    ),
    "histories": compose(history),
    "ledgers": compose(ledger),
    "shuffled": compose(
        lambda r: (
            f"gaussian:sigma={log(r, 0.5, 6)}@batches:t={count(r, 1e3) + 1}@{r.randint(1, 20)}"
        )
    ),
    "groups": compose(
        lambda r: training(r, (1, 20), (1e-3, 2e-2), (0.8, 4)) + f"@group:k={r.randint(2, 8)}"
    ),
    "selection": lambda r: [
        *("select", r.choice([training(r, (1, 50), (1e-3, 2e-2), (0.8, 3)), statistic(r)])),
        *("--runs", runs(r), "--delta", log(r, 1e-12, 1e-4)),
    ],
    "calibrate": lambda r: [
        *("calibrate", f"gaussian:sigma=_@poisson:q={log(r, 1e-5, 3e-2)}@{count(r, 2e4)}"),
        *("--epsilon", log(r, 0.5, 10), "--delta", log(r, 1e-12, 1e-4)),
    ],
    "convert": lambda r: [
        *("convert", r.choice([training(r, (1, 50), (1e-4, 2e-2), (0.6, 3)), statistic(r)])),
        *("--to", *r.choice([("tradeoff", "--fpr", "1e-6,1e-3,0.1"), ("gdp",), ("zcdp",)])),
    ],
    "budgets": lambda r: [
        *("compose", training(r, (1, 50), (1e-5, 3e-2), (0.5, 2))),
        *("--delta", "1e-6", "--max-epsilon", log(r, 0.3, 20)),
    ],
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question and what it took; the width is that of its widest bracket."""

    arguments: Sequence[str]
    seconds: float
    megabytes: float
    status: int
    width: float | None
    said: str

    @property
    def bad(self) -> bool:
        """Say whether it broke a limit."""
        beyond = self.seconds > MOST_SECONDS or self.megabytes > MOST_MEGABYTES
        return beyond or self.status not in (0, 1, 2) or "internal error" in self.said

    def __str__(self) -> str:
        """Show it on one line."""
        width = "      -" if self.width is None else f"{self.width:7.0e}"
        said = f"  {self.said[:90]}" if self.status not in (0, 1) else ""
        words = " ".join(self.arguments)[:200]
        return (
            f"{self.seconds:6.2f} s {self.megabytes:5.0f} MB {width}  {self.status}  {words}{said}"
        )


def widest(answer: Any) -> float | None:
    """Return the largest relative width of the brackets in an answer; None where there is none."""
    if isinstance(answer, list):
        found = [widest(each) for each in answer]
    elif not isinstance(answer, dict):
        return None
    elif isinstance(answer.get("upper"), (int, float, str)):
        upper, lower = float(answer["upper"]), float(answer.get("lower", "nan"))
        if upper == lower:
            return 0.0
        return math.inf if math.isnan(lower) or math.isinf(upper) else 1.0 - lower / upper
    elif "sufficient" in answer:
        near, far = float(answer["sufficient"]), float(answer.get("insufficient", "nan"))
        return math.inf if math.isnan(far) else abs(near - far) / max(near, far)
    else:
        found = [widest(each) for name, each in answer.items() if name != "base_epsilon"]
    return max((each for each in found if each is not None), default=None)


def ask(arguments: list[str], directory: Path) -> Outcome:
    """Answer one question in a forked process, and say what that took."""
    from privcalc.cli.app import main

    answer, said = directory / "answer", directory / "said"
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (END_SECONDS, END_SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_AS, (END_BYTES, END_BYTES))
        status = 70
        out, err = io.StringIO(), io.StringIO()
        try:
            with redirect_stdout(out), redirect_stderr(err):
                status = main([*arguments, "--json"])
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 2
        finally:
            answer.write_text(out.getvalue())
            said.write_text(err.getvalue())
            os._exit(status)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    lines = answer.read_text().splitlines() if code in (0, 1) else []
    words = said.read_text().strip().splitlines() if code >= 0 else ["ended: too slow or too large"]
    if code == 2 and words and words[-1].startswith("{"):
        words = [json.loads(words[-1])["message"]]
    width = widest(json.loads(lines[0])["result"]) if lines else None
    seconds = used.ru_utime + used.ru_stime
    return Outcome(
        arguments, seconds, used.ru_maxrss / 1024.0, code, width, words[-1] if words else ""
    )


def main() -> int:
    """Ask, and print what stands out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--borders", type=int, default=500)
    parser.add_argument("--ordinary", type=int, default=800)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first question")
    parser.add_argument("--log", type=Path, help="a file that gets a line for each question")
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in MODULES:
        __import__(name)
    names = list(ORDINARY)
    outcomes: list[Outcome] = []
    with TemporaryDirectory() as directory:
        for index in range(options.first, max(options.borders, options.ordinary)):
            questions: list[list[str]] = []
            if index < options.borders:
                questions.append(border(random.Random(f"border {options.seed}-{index}")))
            if index < options.ordinary:
                r = random.Random(f"ordinary {options.seed}-{index}")
                questions.append(ORDINARY[names[index % len(names)]](r))
            for each in questions:
                outcomes.append(ask(each, Path(directory)))
                if options.log:
                    with options.log.open("a") as stream:
                        stream.write(f"{outcomes[-1]}\n")
                if outcomes[-1].bad:
                    print(f"beyond: {outcomes[-1]}", flush=True)
    outcomes.sort(key=lambda each: -each.seconds)
    refused = sum(each.status == 2 for each in outcomes)
    bad = sum(each.bad for each in outcomes)
    print(f"{len(outcomes)} questions, {refused} refused, {bad} beyond; the slowest {SHOWN}:")
    print("\n".join(str(each) for each in outcomes[:SHOWN]))
    print(f"all: {sum(each.seconds for each in outcomes):.0f} s of CPU")
    print(f"most memory: {max(each.megabytes for each in outcomes):.0f} MB")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
