"""The distribution of the number of runs of a selection, from a file."""

from __future__ import annotations

from privcalc.errors import DomainError

COLUMNS = ("runs", "probability")
# The largest number of runs that a file may give a probability.
MOST_RUNS = 1_000_000


def read_probabilities(file: str) -> tuple[float, ...]:
    """Return the probabilities of 0, 1, 2, ... runs from a file with two columns.

    Raises:
        DomainError: the file cannot be read, or a line is out of range.
    """
    from privcalc.mechanisms.files.tables import exact, read_rows

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
