"""Numbers of runs from a family's name and its parameters."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.selection.runs.negative_binomial import NegativeBinomialRuns
    from privcalc.selection.runs.power import PowerRuns
    from privcalc.selection.runs.protocol import Runs

SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
# Which parameters a family takes; of those in a tuple, exactly one.
FAMILIES: dict[str, tuple[str | tuple[str, str], ...]] = {
    "geometric": (("mean", "gamma"),),
    "logarithmic": (("mean", "gamma"),),
    "tnb": ("shape", ("mean", "gamma")),
    "poisson": ("mean",),
    "binomial": ("n", ("mean", "p")),
    "fixed": ("n",),
    "distribution": ("probabilities",),
}
# Beyond these, probabilities of counts would lose their digits.
LARGEST_MEAN, LARGEST_SHAPE, LARGEST_TRIALS = 1e12, 1e9, 1e12
LEAST_CHANCE = 1e-290


def make_runs(
    family: str,
    *,
    mean: float | None = None,
    gamma: float | None = None,
    shape: float | None = None,
    n: float | None = None,
    p: float | None = None,
    probabilities: tuple[float, ...] | None = None,
) -> Runs:
    """Return the number of runs of a family.

    Args:
        family: geometric, logarithmic, tnb, poisson, binomial, fixed or distribution.
        mean: E[K]; above 1 for the first three, in (0, n] for binomial, above 0 for poisson.
        gamma: in (0, 1), not below e^-700; of the first three, in place of the mean.
        shape: eta > -1, of tnb.
        n: number of trials of binomial, or of runs of fixed; an integer >= 1.
        p: chance of a trial, in (0, 1], in place of the mean.
        probabilities: of k = 0, 1, ... runs.

    Raises:
        DomainError: the family is unknown, or its parameters are missing, too many or out of range.
    """
    given: dict[str, float | tuple[float, ...] | None] = {
        "mean": mean,
        "gamma": gamma,
        "shape": shape,
        "n": n,
        "p": p,
        "probabilities": probabilities,
    }
    _require(family, {name for name, value in given.items() if value is not None})
    # Each family is loaded when it is asked for.
    if probabilities is not None:
        from privcalc.selection.runs.distribution import DistributionRuns

        return DistributionRuns(tuple(float(value) for value in probabilities))
    if family == "poisson":
        from privcalc.selection.runs.poisson import PoissonRuns

        return PoissonRuns(_in_range("mean", mean, 0.0, LARGEST_MEAN))
    if n is not None:
        return _power(family, n, mean, p)
    return _negative_binomial(family, SHAPES.get(family, shape), mean, gamma)


def _require(family: str, names: set[str]) -> None:
    """Refuse an unknown family, and parameters that it does not take."""
    if family not in FAMILIES:
        raise DomainError(f"family must be one of {', '.join(FAMILIES)}, got {family!r}")
    known: set[str] = set()
    for entry in FAMILIES[family]:
        choices = (entry,) if isinstance(entry, str) else entry
        known.update(choices)
        if len(names.intersection(choices)) != 1:
            wanted = " or ".join(choices)
            exactly = "" if len(choices) == 1 else "exactly one of "
            raise DomainError(f"{family} runs need {exactly}{wanted}")
    foreign = sorted(names - known)
    if foreign:
        raise DomainError(f"{family} runs take no {foreign[0]}")


def _in_range(name: str, value: float | None, low: float, high: float) -> float:
    """Return a value in (low, high]."""
    if value is None or not low < value <= high:
        raise DomainError(f"{name} must be > {low:g} and <= {high:g}, got {value!r}")
    return float(value)


def _power(family: str, n: float, mean: float | None, p: float | None) -> PowerRuns:
    """Return binomial or fixed runs."""
    from privcalc.selection.runs.power import PowerRuns

    if not (1.0 <= n <= LARGEST_TRIALS and n == math.floor(n)):
        raise DomainError(f"n must be an integer >= 1 and <= {LARGEST_TRIALS:g}, got {n!r}")
    trials = float(n)
    named: dict[str, float | str] = {"family": family, "trials": trials}
    if family == "fixed":
        return PowerRuns(family, trials, (1.0, 1.0), (0.0, 0.0), (trials, trials), named)
    if p is not None:
        chance = Fraction(_in_range("p", p, 0.0, 1.0))
        named["probability"] = float(p)
    else:
        named["mean"] = _in_range("mean", mean, 0.0, trials)
        chance = Fraction(named["mean"]) / Fraction(trials)
    chances, means = _ends(chance), _ends(chance * Fraction(trials))
    if chances[0] < LEAST_CHANCE:
        raise DomainError(f"p must be at least {LEAST_CHANCE:g}, got {float(chance)!r}")
    return PowerRuns(family, trials, chances, _ends(1 - chance)[::-1], means, named)


def _ends(exact: Fraction) -> tuple[float, float]:
    """Return the doubles about a positive number, or it twice if it is one."""
    value = float(exact)
    if Fraction(value) == exact:
        return value, value
    return math.nextafter(value, 0.0), math.nextafter(value, math.inf)


def _negative_binomial(
    family: str, shape: float | None, mean: float | None, gamma: float | None
) -> NegativeBinomialRuns:
    """Return truncated negative binomial runs; a given gamma gives w to 3 units."""
    from privcalc.selection.runs.gamma_search import LARGEST, mean_bracket, odds_of_mean
    from privcalc.selection.runs.negative_binomial import NegativeBinomialRuns

    eta = _in_range("shape", shape, -1.0, LARGEST_SHAPE)
    named: dict[str, float | str] = {"family": family}
    if family == "tnb":
        named["shape"] = eta
    if gamma is None:
        value = _in_range("mean", mean, 1.0, LARGEST_MEAN)
        named["mean"] = value
        return NegativeBinomialRuns(family, eta, (value, value), odds_of_mean(eta, value), named)
    if not math.exp(-LARGEST) <= gamma < 1.0:
        raise DomainError(f"gamma must be in [e^-{LARGEST:.0f}, 1), got {gamma!r}")
    named["gamma"] = float(gamma)
    odds = (1.0 - gamma) / gamma
    room = 4.0 * UNIT
    ends = (odds * (1.0 - room), odds * (1.0 + room))
    return NegativeBinomialRuns(family, eta, mean_bracket(eta, ends), ends, named)
