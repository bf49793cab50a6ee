"""What `calibrate` is to meet: targets, ratios and sweeps, read from their options."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.cli.numbers import read_count, read_number, split
from privcalc.errors import DomainError, UsageError
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.calibration.target import TargetQuantity

# What has to be given together: the budget, and where it is asked.
QUANTITIES: dict[TargetQuantity, str] = {
    "epsilon": "delta",
    "mu": "",
    "rho": "",
    "advantage": "",
    "tpr": "fpr",
}
NEEDED = (
    "calibrate needs a target: --epsilon E with --delta D, --mu M, --rho R, --advantage A, or"
    " --tpr T with --fpr F"
)
MOST_STEPS = 1000


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


def read_target(given: Mapping[str, str]) -> dict[str, float]:
    """Read the options of the target; where it is asked stands first.

    Raises:
        UsageError: there is none, or more than one, or half of one.
        DomainError: a number is out of range.
    """
    named = [name for name in QUANTITIES if name in given]
    if not named:
        half = next((name for name in ("delta", "fpr") if name in given), "")
        raise UsageError(f"--{half} alone is no target; {NEEDED}" if half else NEEDED)
    if len(named) > 1:
        raise UsageError(f"--{named[0]} and --{named[1]} are two targets; give one")
    quantity = named[0]
    place = QUANTITIES[quantity]
    if place and place not in given:
        raise UsageError(f"--{quantity} needs --{place}: the {place} at which it is asked")
    for name in ("delta", "fpr"):
        if name in given and name != place:
            raise UsageError(f"--{name} says nothing to --{quantity}")
    values = {name: read_number(f"--{name}", given[name]) for name in (place, quantity) if name}
    for name, value in values.items():
        if name in ("delta", "fpr", "advantage", "tpr") and not 0.0 <= value <= 1.0:
            raise DomainError(f"--{name} must be between 0 and 1, got {given[name].strip()}")
        if value < 0.0:
            raise DomainError(f"--{name} must be >= 0, got {given[name].strip()}")
    return values


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
