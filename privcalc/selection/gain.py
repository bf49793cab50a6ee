"""How many more candidates a tighter bound buys at the price that the published one asks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.numerics.work import left as spare

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.selection.runs.protocol import Runs

# Numbers of runs whose mean can be any number, all else being equal.
FAMILIES = ("geometric", "logarithmic", "tnb", "poisson")
LARGEST_MEAN = 1e9
# The mean is worth so many digits, and found in so many steps.
DIGITS, STEPS, NEAR = 3, 12, 1e-3


def mean_at_price(runs: Runs, price: float, epsilon_at: Callable[[Runs], float]) -> float | None:
    """Return a mean number of runs, about the largest, that costs at most a price.

    Rounded down to three digits, and checked there; None where the family has no free mean, the
    price is infinite, a billion runs do not cost it, or the work that is allowed is used up.

    Args:
        runs: what the price was asked for.
        price: epsilon that may be spent.
        epsilon_at: proved epsilon of a number of runs, increasing with its mean.
    """
    if runs.family not in FAMILIES or not 0.0 < price < math.inf:
        return None
    start = runs.mean.upper
    left, right = math.log(start), math.log(LARGEST_MEAN)
    below = epsilon_at(runs) - price
    if below > 0.0 or left >= right:
        return None
    # epsilon grows about linearly in the logarithm of the mean.
    x, above = min(left + 1.0, right), math.inf
    for _ in range(STEPS):
        if spare() <= 0.0:
            return None
        value = _excess(runs, x, price, epsilon_at)
        if value > 0.0:
            right, above = x, value
        else:
            left, below = x, value
        if right - left <= NEAR or left == math.log(LARGEST_MEAN):
            break
        guess = left - below * (right - left) / (above - below) if above < math.inf else left + 2.0
        margin = 0.1 * (right - left) if above < math.inf else 0.0
        x = min(max(guess, left + margin), right - margin if above < math.inf else right)
    if left >= math.log(LARGEST_MEAN) - NEAR:
        # As many as anybody will run.
        return None
    mean = _rounded_down(math.exp(left))
    return mean if mean > start and epsilon_at(_with_mean(runs, mean)) <= price else start


def _excess(runs: Runs, x: float, price: float, epsilon_at: Callable[[Runs], float]) -> float:
    try:
        return epsilon_at(_with_mean(runs, math.exp(x))) - price
    except DomainError:
        return math.inf


def _with_mean(runs: Runs, mean: float) -> Runs:
    from privcalc.selection.runs.make import make_runs

    shape = runs.parameters.get("shape") if runs.family == "tnb" else None
    return make_runs(runs.family, mean=mean, shape=None if shape is None else float(shape))


def _rounded_down(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - DIGITS + 1)
    return float(f"{math.floor(value / unit) * unit:.{DIGITS}g}")
