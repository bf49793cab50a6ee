"""Benchmark of long lists: histories and ledgers whose parts all differ, with dp_accounting beside.

    python -m venv /tmp/peers
    /tmp/peers/bin/pip install . dp-accounting
    /tmp/peers/bin/python -m tests.benchmarks.long --parts 10 100 1000

prints, for each kind and number of parts, processor seconds of the whole process, with those of a
single Gaussian taken off, the relative width of epsilon at delta 1e-6, and where dp_accounting is
installed and knows the parts the seconds that its privacy loss distributions take at its default
interval of 1e-4, with the ratio of both. Each answer is made in a process of its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Part = tuple[str, float, float, int]

DELTA = "1e-6"
# Of more parts dp_accounting is not asked.
MOST_PEER = 300


def history(r: random.Random, n: int) -> list[Part]:
    """Draw noise that falls, and batches that grow."""
    noise = [1.5 * (0.829 / 1.5) ** (k / n) * r.uniform(1.0, 1.001) for k in range(n)]
    return [("gaussian", s, 0.004 * r.uniform(1.0, 1.5), r.randint(5, 20)) for s in noise]


def ledger(kind: str, low: float, high: float) -> Callable[[random.Random, int], list[Part]]:
    """Return what draws releases of one kind."""
    return lambda r, n: [(kind, r.uniform(low, high), 1.0, 1) for _ in range(n)]


def counts(r: random.Random, n: int) -> list[Part]:
    """Draw thresholded counts whose new keys hardly show."""
    return [
        ("thresholded-counts", r.uniform(20.0, 200.0), r.uniform(30.0, 60.0), 1) for _ in range(n)
    ]


def mixed(r: random.Random, n: int) -> list[Part]:
    """Draw releases of several kinds."""
    kinds = [each for name, each in KINDS.items() if name not in ("histories", "mixed")]
    return [r.choice(kinds)(r, 1)[0] for _ in range(n)]


KINDS: dict[str, Callable[[random.Random, int], list[Part]]] = {
    "histories": history,
    "laplace": ledger("laplace:scale", 20.0, 200.0),
    "rr": ledger("rr:epsilon", 0.005, 0.1),
    "pure": ledger("pure:epsilon", 0.005, 0.1),
    "discrete-laplace": ledger("discrete-laplace:epsilon", 0.005, 0.1),
    "discrete-gaussian": ledger("discrete-gaussian:sigma", 20.0, 200.0),
    "exponential": ledger("exponential:epsilon", 0.005, 0.1),
    "thresholded-counts": counts,
    "mixed": mixed,
}


def text(parts: list[Part]) -> str:
    """Return the specification of parts."""
    return "+".join(map(word, parts))


def word(part: Part) -> str:
    """Return the specification of one."""
    kind, value, rate, count = part
    if kind == "gaussian":
        return f"gaussian:sigma={value!r}@poisson:q={rate!r}@{count}"
    if kind == "thresholded-counts":
        return f"{kind}:scale={value!r},threshold={1.0 + value * rate!r}"
    return f"{kind}={value!r}"


def seconds(arguments: list[str], given: str) -> tuple[float, str]:
    """Return the processor seconds of a process, and what it printed."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def ours(spec: str) -> tuple[float, float]:
    """Return the seconds, and the relative width of epsilon."""
    spent, found = seconds(["-m", "privcalc", "compose", "-", "--delta", DELTA, "--json"], spec)
    bound = json.loads(found)["result"]["epsilon"]
    low, high = bound.get("lower") or 0.0, bound["upper"]
    return spent, (high - low) / high if isinstance(high, float) else float("nan")


def peer(parts: list[Part]) -> float | None:
    """Return the seconds that dp_accounting takes; None for parts that it does not know."""
    known = {"gaussian", "laplace:scale", "discrete-laplace:epsilon", "discrete-gaussian:sigma"}
    if importlib.util.find_spec("dp_accounting") is None or len(parts) > MOST_PEER:
        return None
    if not {kind for kind, *_ in parts} <= known:
        return None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "parts.json"
        path.write_text(json.dumps(parts))
        return seconds(["-m", "tests.benchmarks.long", "--peer", str(path)], "")[0]


def ask_peer(parts: list[Part]) -> None:
    """Compose with dp_accounting, and print epsilon."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    makers: dict[str, Any] = {
        "laplace:scale": lambda value, _: pld.from_laplace_mechanism(value),
        "discrete-laplace:epsilon": lambda value, _: pld.from_discrete_laplace_mechanism(value),
        "discrete-gaussian:sigma": lambda value, _: pld.from_discrete_gaussian_mechanism(value),
        "gaussian": lambda value, rate: pld.from_gaussian_mechanism(value, sampling_prob=rate),
    }
    total: Any = None
    for kind, value, rate, count in parts:
        made = makers[kind](value, rate)
        made = made.self_compose(count) if count > 1 else made
        total = made if total is None else total.compose(made)
    print(total.get_epsilon_for_delta(float(DELTA)))


def main() -> None:
    """Ask all kinds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--parts", type=int, nargs="+", default=[10, 100, 300])
    parser.add_argument("--kind", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        ask_peer([tuple(each) for each in json.loads(Path(options.peer).read_text())])
        return
    floor = min(ours("gaussian:sigma=1")[0] for _ in range(3))
    print(f"one Gaussian: {floor:.2f} s, taken off below; {time.strftime('%Y-%m-%d')}")
    print(f"{'kind':20}{'parts':>6}{'seconds':>9}{'width':>9}{'dp_accounting':>15}{'ratio':>7}")
    for kind in options.kind:
        for n in options.parts:
            parts = KINDS[kind](random.Random(f"{kind} {n} {options.seed}"), n)
            spent, width = ours(text(parts))
            other = peer(parts)
            beside = f"{other:>13.2f} s{other / spent:>7.1f}" if other else f"{'-':>15}{'-':>7}"
            print(f"{kind:20}{n:>6}{max(0.0, spent - floor):>7.2f} s{width:>9.0e}{beside}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
