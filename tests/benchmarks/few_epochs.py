"""Few epochs side by side with dp-accounting and prv-accountant: widths, compute time, soundness.

Run `python -m tests.benchmarks.few_epochs --n 30 --seed 1`: random cells of DP-SGD with one to ten
epochs, each asked of privcalc, of dp-accounting on grids of 1e-4 and 1e-5 (optimistic and
pessimistic estimates are its two ends) and of prv-accountant, in turn within one process. It prints
the CPU seconds and the relative width of every answer, and where an upper end of theirs is below
ours, or a library cannot answer. Imports are not counted; caches are empty at each question.
"""

from __future__ import annotations

import argparse
import math
import random
import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

GRIDS = (1e-4, 1e-5)
PRV_ERROR = 0.01
EPOCHS = (1.0, 10.0)


class Cell(NamedTuple):
    """One DP-SGD run and a delta."""

    sigma: float
    q: float
    steps: int
    delta: float


class Ends(NamedTuple):
    """Both ends of epsilon, and the CPU seconds they took."""

    lower: float
    upper: float
    seconds: float

    def __str__(self) -> str:
        """Show the width and the time."""
        width = (self.upper - self.lower) / self.upper if self.upper else 0.0
        return f"{width:8.1e} {self.seconds:7.3f} s"


def draw(rng: random.Random) -> Cell:
    """Return a random cell."""
    q = float(f"{math.exp(rng.uniform(math.log(1e-5), math.log(0.03))):.3g}")
    steps = max(1, round(rng.uniform(*EPOCHS) / q))
    delta = float(f"{math.exp(rng.uniform(math.log(1e-10), math.log(1e-5))):.3g}")
    return Cell(float(f"{rng.uniform(0.5, 1.5):.3g}"), q, steps, delta)


def ask_privcalc(cell: Cell) -> tuple[float, float]:
    """Return our bracket."""
    from privcalc.accounting.compose import compose
    from privcalc.spec.parse import parse

    text = f"gaussian:sigma={cell.sigma!r}@poisson:q={cell.q!r}@{cell.steps}"
    bound = compose(parse(text).tree, deltas=[cell.delta]).answers[0].bound
    return (bound.lower or 0.0, bound.upper) if bound else (0.0, math.inf)


def ask_dp_accounting(cell: Cell, grid: float) -> tuple[float, float]:
    """Return its optimistic and its pessimistic estimate."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    ends = []
    for pessimistic in (False, True):
        one = pld.from_gaussian_mechanism(
            cell.sigma,
            sampling_prob=cell.q,
            value_discretization_interval=grid,
            pessimistic_estimate=pessimistic,
        )
        ends.append(float(one.self_compose(cell.steps).get_epsilon_for_delta(cell.delta)))
    return ends[0], ends[1]


def ask_prv(cell: Cell) -> tuple[float, float]:
    """Return its interval."""
    import prv_accountant as prv

    accountant = prv.PRVAccountant(
        prvs=[prv.PoissonSubsampledGaussianMechanism(cell.q, cell.sigma)],
        max_self_compositions=[cell.steps],
        eps_error=PRV_ERROR,
        delta_error=cell.delta / 1000.0,
    )
    low, _, high = accountant.compute_epsilon(cell.delta, [cell.steps])
    return float(low), float(high)


def timed(ask: Callable[..., tuple[float, float]], *arguments: Any) -> Ends | str:
    """Return what a library says, or what it says against it."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            low, high = ask(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever another library raises
        return f"{type(error).__name__} after {time.process_time() - start:.1f} s"
    return Ends(low, high, time.process_time() - start)


def main() -> None:
    """Ask about every cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    ask_privcalc(Cell(1.0, 0.01, 10, 1e-5))
    wins = {"narrower": 0, "faster": 0, "asked": 0}
    for _ in range(given.n):
        cell = draw(rng)
        ours = timed(ask_privcalc, cell)
        assert isinstance(ours, Ends)
        print(f"{cell}: privcalc [{ours.lower!r}, {ours.upper!r}] {ours}")
        theirs = {f"dp-accounting {h:g}": timed(ask_dp_accounting, cell, h) for h in GRIDS}
        theirs["prv-accountant"] = timed(ask_prv, cell)
        for name, found in theirs.items():
            if isinstance(found, str):
                print(f"    {name}: {found}")
                continue
            notes = []
            if found.upper < ours.upper:
                unsound = found.upper < ours.lower
                notes.append("its upper end is below our " + ("lower" if unsound else "upper"))
            wins["asked"] += 1
            wins["narrower"] += found.upper - found.lower > ours.upper - ours.lower
            wins["faster"] += found.seconds > ours.seconds
            print(f"    {name}: {found} {' '.join(notes)}", flush=True)
    print(wins)


if __name__ == "__main__":
    main()
