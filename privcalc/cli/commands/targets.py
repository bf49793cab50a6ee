"""What `calibrate` is to meet: targets, ratios and sweeps, read from their options."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.errors import DomainError, UsageError
from privcalc.record import record
from privcalc.reporting.calibrate import checked_targets, target_names
from privcalc.reporting.questions import read_all, read_count, read_number, split

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_STEPS = 1000
# Each has its share of the work of one question.
MOST_TARGETS = 1000


@record
class Sweep:
    """Values of another parameter, for each of which the hole is filled.

    Attributes:
        name: the parameter, in any spelling.
        low: its first value.
        high: its last one.
        steps: how many.
    """

    name: str
    low: float
    high: float
    steps: int


def read_targets(given: Mapping[str, Sequence[str]]) -> tuple[dict[str, float], ...]:
    """Read the options of the targets; where one is asked stands first in it.

    Raises:
        UsageError: there is none, or of more than one kind, or half of one; or it is no number.
        DomainError: a number is out of range.
    """
    names = target_names(given)
    found = checked_targets(
        {name: read_all(read_number, f"--{name}", given[name]) for name in names}
    )
    if len(found) > MOST_TARGETS:
        raise UsageError(f"at most {MOST_TARGETS} targets are met at once, got {len(found)}")
    return found


def read_ratio(text: str | None) -> tuple[float, ...]:
    """Read the ratio of the values of several holes."""
    if text is None:
        return ()
    values = tuple(read_number("--ratio", word) for word in split("--ratio", [text]))
    if not all(0.0 < value < math.inf for value in values):
        raise DomainError(f"--ratio takes numbers > 0, got {text.strip()}")
    return values


def read_sweep(text: str) -> Sweep:
    """Read NAME=LOW:HIGH:STEPS."""
    name, equals, rest = text.partition("=")
    words = rest.split(":")
    if not name.strip() or not equals or len(words) != 3:
        raise UsageError(f"--sweep takes NAME=LOW:HIGH:STEPS, such as q=0.001:0.1:20, got {text!r}")
    low, high = (read_number("--sweep", word) for word in words[:2])
    steps = read_count("--sweep", words[2])
    if not 0.0 < low < high:
        raise DomainError(f"--sweep takes 0 < LOW < HIGH, got {words[0]} and {words[1]}")
    if not 2 <= steps <= MOST_STEPS:
        raise DomainError(f"--sweep takes 2 to {MOST_STEPS} steps, got {steps}")
    return Sweep(name.strip(), low, high, steps)
