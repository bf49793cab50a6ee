"""Table of both ends of delta for the data-adaptive mechanisms, wrapped in ways of their own.

Run `python -m tests.benchmarks.adaptive_ends` for 40 random cells of each mechanism and wrapper: the
median and the largest ratio of the upper end of delta to the lower, how many cells have no lower
end, and the median CPU time. An epsilon is drawn where delta is between 1e-9 and 0.3, as far as the
cell has such. With PYTHONPATH at another tree the same cells are asked of that one. It asserts
nothing.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from privcalc.accounting.compose import compose
from privcalc.accounting.convert import Question
from privcalc.accounting.data import on_data
from privcalc.bounds import Bound
from privcalc.errors import PrivcalcError
from privcalc.relation import Relation
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable

CELLS = 40
# Where epsilons are drawn.
LEAST, MOST = 1e-9, 0.3
# So many are tried for a cell.
TRIES = 12
OPS = "ops on the data at hand"


class Cells:
    """Draws specifications.

    Attributes:
        rng: where chance comes from.
    """

    def __init__(self, seed: int) -> None:
        """Begin anew."""
        self.rng = random.Random(seed)

    def size(self, low: float, high: float) -> float:
        """Return a number of three digits whose logarithm is uniform."""
        return float(f"{math.exp(self.rng.uniform(math.log(low), math.log(high))):.3g}")

    def group(self) -> str:
        """Return a group."""
        return f"@group:k={self.rng.randint(2, 5)}"

    def poisson(self) -> str:
        """Return a sampling."""
        return f"@poisson:q={self.size(0.02, 0.7)}"

    def ptr(self) -> str:
        """Propose-test-release with normal noise, and any mode."""
        mode = self.rng.choice(("sum", "max", "bit"))
        return (
            f"ptr:test=(gaussian:sigma={self.size(3, 30)}),"
            f"mechanism=(gaussian:sigma={self.size(2, 20)}),"
            f"false_positive={self.size(1e-9, 1e-5)},mode={mode}"
        )

    def stability(self) -> str:
        """Either noise, with a threshold that few false positives pass."""
        noise, spread = self.rng.choice(("scale", "sigma")), self.size(0.7, 10)
        reach = self.rng.uniform(8, 18) if noise == "scale" else self.rng.uniform(4, 6)
        return f"stability:{noise}={spread},threshold={spread * reach:.4g}"

    def partition_selection(self) -> str:
        """Any guarantee."""
        epsilon, delta = self.size(0.1, 3), self.size(1e-12, 1e-4)
        return f"partition-selection:epsilon={epsilon},delta={delta}"

    def thresholded_counts(self) -> str:
        """One key, and any noise."""
        noise = self.rng.choice(("laplace", "gaussian", "discrete-laplace", "discrete-gaussian"))
        spread = self.size(0.7, 6)
        normal = "gaussian" in noise
        reach = self.rng.uniform(4, 6) if normal else self.rng.uniform(8, 18)
        name = "sigma" if normal else "scale"
        return (
            f"thresholded-counts:noise={noise},{name}={spread},threshold={1 + spread * reach:.4g}"
        )

    def noisy_screening(self) -> str:
        """Votes with the threshold among them."""
        votes = self.rng.randint(5, 200)
        return (
            f"noisy-screening:sigma={self.size(0.5, 50)},"
            f"threshold={self.rng.randint(1, votes)},votes={votes}"
        )

    def beside(self) -> str:
        """Return other noise in the sum."""
        return f"+laplace:scale={self.size(1, 30)}"


def deltas(text: str, epsilon: float, relation: Relation | None) -> Bound | None:
    """Return the bracket of delta."""
    return compose(parse(text).tree, epsilons=[epsilon], relation=relation).answers[0].bound


def data(cells: Cells, directory: Path) -> tuple[str, Callable[[float], Bound | None]]:
    """Return a posterior sample on data, and what asks for its delta."""
    file = directory / "data.txt"
    records = int(cells.size(200, 1e5))
    least = float(f"{cells.rng.uniform(1, 0.3 * records):.4g}")
    ridge = cells.size(5, 500)
    norm = float(f"{cells.rng.uniform(0, 0.9):.3g}")
    text = f"ops:gamma={cells.size(0.1, 3)},lambda={ridge},n={records}"

    def ask(epsilon: float) -> Bound | None:
        file.write_text(f"{least} {norm}\n")
        asked = Question(to="dp", epsilons=(epsilon,))
        found = on_data(parse(text).tree, str(file), asked).answers[0].result["delta"]
        return found if isinstance(found, Bound) else None

    return f"{text} on {least} {norm}", ask


def cell(
    cells: Cells, text: str, ask: Callable[[float], Bound | None]
) -> tuple[float, float, str] | None:
    """Return the ratio at an epsilon that is drawn, the CPU time, and what was asked."""
    top = 8.0
    for _ in range(TRIES):
        epsilon = cells.size(top / 30.0, top)
        start = time.process_time()
        try:
            bound = ask(epsilon)
        except PrivcalcError:
            return None
        taken = time.process_time() - start
        if bound is None or bound.upper < LEAST:
            top = epsilon
            continue
        if bound.upper <= MOST:
            ratio = bound.upper / bound.lower if bound.lower else math.inf
            return ratio, taken, f"{text} at {epsilon}"
        top = min(4.0 * epsilon, 30.0)
    return None


def rows(cells: Cells) -> dict[str, Callable[[], tuple[str, Relation | None]]]:
    """Return what draws a specification of each row."""

    def wrapped(
        base: Callable[[], str], wrapper: Callable[[], str]
    ) -> Callable[[], tuple[str, None]]:
        return lambda: (base() + wrapper(), None)

    def replaced() -> tuple[str, Relation]:
        return cells.noisy_screening() + cells.poisson(), Relation.REPLACE_ONE

    def nothing() -> str:
        return ""

    return {
        "ptr @group": wrapped(cells.ptr, cells.group),
        "ptr @poisson": wrapped(cells.ptr, cells.poisson),
        "stability @group": wrapped(cells.stability, cells.group),
        "stability @poisson": wrapped(cells.stability, cells.poisson),
        "partition-selection": wrapped(cells.partition_selection, nothing),
        "partition-selection @group": wrapped(cells.partition_selection, cells.group),
        "partition-selection @poisson": wrapped(cells.partition_selection, cells.poisson),
        "partition-selection +laplace": wrapped(cells.partition_selection, cells.beside),
        "thresholded-counts @group": wrapped(cells.thresholded_counts, cells.group),
        "thresholded-counts @poisson": wrapped(cells.thresholded_counts, cells.poisson),
        "noisy-screening @poisson, replace-one": replaced,
        "noisy-screening @poisson@group": wrapped(
            cells.noisy_screening, lambda: cells.poisson() + cells.group()
        ),
    }


def asked_of(text: str, relation: Relation | None) -> Callable[[float], Bound | None]:
    """Return what asks for delta of a specification."""
    return lambda epsilon: deltas(text, epsilon, relation)


def main() -> None:
    """Ask, and print a row for each mechanism and wrapper."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=CELLS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print(
        f"{'mechanism, wrapper':40} {'median':>10} {'worst':>10} {'none':>5} {'ms':>5}  worst cell"
    )
    with tempfile.TemporaryDirectory() as name:
        for row in [*rows(Cells(0)), OPS]:
            if options.only not in row:
                continue
            cells = Cells(options.seed)
            found: list[tuple[float, float, str]] = []
            refused = 0
            while len(found) < options.cells and refused < 4 * options.cells:
                if row == OPS:
                    text, ask = data(cells, Path(name))
                else:
                    text, relation = rows(cells)[row]()
                    ask = asked_of(text, relation)
                answer = cell(cells, text, ask)
                if answer is None:
                    refused += 1
                else:
                    found.append(answer)
            ratios = [ratio for ratio, _, _ in found]
            known = [ratio for ratio in ratios if ratio < math.inf]
            worst = max(found, key=lambda each: each[0] if each[0] < math.inf else 0.0)
            median = statistics.median(ratios) if ratios else math.nan
            milliseconds = 1e3 * statistics.median(taken for _, taken, _ in found)
            print(
                f"{row:40} {median:10.6g} {max(known, default=math.nan):10.6g}"
                f" {len(ratios) - len(known):5} {milliseconds:5.0f}  {worst[2]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
