"""Table of both ends of delta for the data-adaptive mechanisms, wrapped in ways of their own.

Run `python -m tests.benchmarks.adaptive_ends` for 40 random cells of each mechanism and wrapper:
the median and the largest ratio of the upper end of delta to the lower, how many cells have no
lower end, and the median CPU time. An epsilon is drawn where delta is between 1e-9 and 0.3, as far
as the cell has such. With `--save FILE` the cells are kept; `--load FILE` asks the same ones, also
of another tree:

    PYTHONPATH=OTHER python -P tests/benchmarks/adaptive_ends.py --load FILE

It asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from privcalc.accounting.compose import compose
from privcalc.accounting.convert import ConversionQuery, on_data
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


def on_file(text: str, numbers: str, epsilon: float) -> Bound | None:
    """Return the bracket of delta on data that such numbers describe."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "data.txt"
        file.write_text(f"{numbers}\n")
        asked = ConversionQuery(to="dp", epsilons=(epsilon,))
        found = on_data(parse(text).tree, str(file), asked).answers[0].result["delta"]
    return found if isinstance(found, Bound) else None


def ask(cell: list[str], epsilon: float) -> Bound | None:
    """Return the bracket of delta of a cell: a specification, and a relation or numbers."""
    text, *others = cell
    if others and others[0] != Relation.REPLACE_ONE.value:
        return on_file(text, others[0], epsilon)
    return deltas(text, epsilon, Relation(others[0]) if others else None)


def answered(cell: list[str], epsilon: float) -> tuple[float, float] | None:
    """Return the ratio of the ends, infinite without a lower one, and the CPU time."""
    start = time.process_time()
    try:
        bound = ask(cell, epsilon)
    except PrivcalcError:
        return math.inf, time.process_time() - start
    if bound is None:
        return None
    ratio = bound.upper / bound.lower if bound.lower else math.inf
    return ratio, time.process_time() - start


def chosen(cells: Cells, cell: list[str]) -> float | None:
    """Return an epsilon at which delta is neither large nor nothing, or None."""
    top = 8.0
    for _ in range(TRIES):
        epsilon = cells.size(top / 30.0, top)
        try:
            bound = ask(cell, epsilon)
        except PrivcalcError:
            return None
        if bound is None or bound.upper < LEAST:
            top = epsilon
        elif bound.upper <= MOST:
            return epsilon
        else:
            top = min(4.0 * epsilon, 30.0)
    return None


def rows(cells: Cells) -> dict[str, Callable[[], list[str]]]:
    """Return what draws a cell of each row."""

    def wrapped(base: Callable[[], str], *wrappers: Callable[[], str]) -> Callable[[], list[str]]:
        return lambda: ["".join(each() for each in (base, *wrappers))]

    def replaced() -> list[str]:
        return [cells.noisy_screening() + cells.poisson(), Relation.REPLACE_ONE.value]

    def posterior() -> list[str]:
        records = int(cells.size(200, 1e5))
        least, norm = cells.rng.uniform(1, 0.3 * records), cells.rng.uniform(0, 0.9)
        text = f"ops:gamma={cells.size(0.1, 3)},lambda={cells.size(5, 500)},n={records}"
        return [text, f"{least:.4g} {norm:.3g}"]

    return {
        "ptr @group": wrapped(cells.ptr, cells.group),
        "ptr @poisson": wrapped(cells.ptr, cells.poisson),
        "stability @group": wrapped(cells.stability, cells.group),
        "stability @poisson": wrapped(cells.stability, cells.poisson),
        "partition-selection": wrapped(cells.partition_selection),
        "partition-selection @group": wrapped(cells.partition_selection, cells.group),
        "partition-selection @poisson": wrapped(cells.partition_selection, cells.poisson),
        "partition-selection +laplace": wrapped(cells.partition_selection, cells.beside),
        "thresholded-counts @group": wrapped(cells.thresholded_counts, cells.group),
        "thresholded-counts @poisson": wrapped(cells.thresholded_counts, cells.poisson),
        "noisy-screening @poisson, replace-one": replaced,
        "noisy-screening @poisson@group": wrapped(
            cells.noisy_screening, cells.poisson, cells.group
        ),
        "ops on the data at hand": posterior,
    }


def drawn(seed: int, row: str, count: int) -> list[tuple[list[str], float]]:
    """Return cells of a row, each with an epsilon."""
    cells, found = Cells(seed), []
    for _ in range(8 * count):
        cell = rows(cells)[row]()
        epsilon = chosen(cells, cell)
        if epsilon is not None:
            found.append((cell, epsilon))
        if len(found) == count:
            break
    return found


def main() -> None:
    """Ask, and print a row for each mechanism and wrapper."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=CELLS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--load", type=Path)
    options = parser.parse_args()
    kept = json.loads(options.load.read_text()) if options.load else {}
    print(f"{'mechanism, wrapper':40} {'median':>9} {'worst':>9} {'none':>5} {'ms':>5}  worst cell")
    for row in rows(Cells(0)):
        if options.only not in row:
            continue
        asked = kept[row] if kept else drawn(options.seed, row, options.cells)
        if options.save:
            kept_now = json.loads(options.save.read_text()) if options.save.exists() else {}
            options.save.write_text(json.dumps({**kept_now, row: asked}))
        answers = [(answered(cell, epsilon), cell, epsilon) for cell, epsilon in asked]
        found = [(*answer, f"{' '.join(c)} at {e}") for answer, c, e in answers if answer]
        known = [each for each in found if each[0] < math.inf]
        median = statistics.median(ratio for ratio, _, _ in found)
        worst = max(known, default=(math.nan, 0.0, ""))
        milliseconds = 1e3 * statistics.median(taken for _, taken, _ in found)
        print(
            f"{row:40} {median:9.6g} {worst[0]:9.6g} {len(found) - len(known):5}"
            f" {milliseconds:5.0f}  {worst[2]}",
            flush=True,
        )


if __name__ == "__main__":
    main()
