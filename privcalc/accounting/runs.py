"""The number of runs of a selection, from its wrapper to a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from privcalc.errors import DomainError, UsageError
from privcalc.spec import registry
from privcalc.spec.tree import Hole

if TYPE_CHECKING:
    from privcalc.selection.runs.protocol import Runs
    from privcalc.spec.tree import Wrapped
    from privcalc.wrappers.select import RepeatAndSelect

COLUMNS = ("runs", "probability")
# The largest number of runs that a file may give a probability.
MOST_RUNS = 1_000_000


def runs_of(tree: Wrapped) -> Runs:
    """Return the distribution of the number of runs of a selection.

    Raises:
        DomainError: a parameter is missing or out of range, or the file cannot be read.
        UsageError: a parameter is a hole.
    """
    from privcalc.selection.runs.make import make_runs

    if any(isinstance(value, Hole) for _, value in tree.parameters):
        raise UsageError("a parameter of the runs is missing; only calibrate finds it")
    wrapper = cast("RepeatAndSelect", registry.build(tree))
    given: dict[str, Any] = dict(wrapper.parameters)
    for long, short in (("trials", "n"), ("probability", "p")):
        if long in given:
            given[short] = given.pop(long)
    if "file" in given:
        file = str(given["file"])
        try:
            return make_runs(wrapper.family, probabilities=read_probabilities(file))
        except DomainError as error:
            named = str(error).startswith(file)
            raise DomainError(str(error) if named else f"{file}: {error}") from None
    return make_runs(wrapper.family, **given)


def read_probabilities(file: str) -> tuple[float, ...]:
    """Return the probabilities of 0, 1, 2, ... runs from a file with two columns.

    Raises:
        DomainError: the file cannot be read, or a line is out of range.
    """
    from privcalc.mechanisms.tables import exact, read_rows

    found: dict[int, float] = {}
    for row in read_rows(file, COLUMNS):
        runs, probability = (exact(row.place, word) for word in row.entries)
        if runs.denominator != 1 or not 0 <= runs <= MOST_RUNS:
            raise DomainError(
                f"{row.place}: a number of runs is whole, from 0 to {MOST_RUNS}, got"
                f" {row.entries[0]}"
            )
        if int(runs) in found:
            raise DomainError(f"{row.place}: {int(runs)} runs are given twice")
        if not 0 <= probability <= 1:
            raise DomainError(f"{row.place}: a probability is in [0, 1], got {row.entries[1]}")
        found[int(runs)] = float(probability)
    return tuple(found.get(k, 0.0) for k in range(max(found) + 1))
