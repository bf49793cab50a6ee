"""Numbers of runs from a family's name and its parameters.

The mean of a truncated negative binomial number of runs is a function of gamma. With g = log(1 /
gamma) > 0 and w = (1 - gamma) / gamma = e^g - 1,

    E[K] = eta (1 - gamma) / (gamma (1 - gamma^eta)) = w / ((1 - e^{-eta g}) / eta),

which increases in g from 1 (Papernot, Steinke 2022, Definition 1).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.numerics import search
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.selection.runs import NegativeBinomialRuns, PowerRuns, Runs

SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
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
        DomainError: a parameter is missing or out of range.
    """
    # Each family is loaded when it is asked for.
    if probabilities is not None:
        from privcalc.selection.distribution import DistributionRuns

        return DistributionRuns(tuple(float(value) for value in probabilities))
    if family == "poisson":
        from privcalc.selection.runs import PoissonRuns

        return PoissonRuns(_in_range("mean", mean, 0.0, LARGEST_MEAN))
    if n is not None:
        return _power(family, n, mean, p)
    return _negative_binomial(family, SHAPES.get(family, shape), mean, gamma)


def _in_range(name: str, value: float | None, low: float, high: float) -> float:
    """Return a value in (low, high]."""
    if value is None or not low < value <= high:
        raise DomainError(f"{name} must be > {low:g} and <= {high:g}, got {value!r}")
    return float(value)


def _power(family: str, n: float, mean: float | None, p: float | None) -> PowerRuns:
    """Return binomial or fixed runs."""
    from privcalc.selection.runs import PowerRuns

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
    from privcalc.selection.runs import NegativeBinomialRuns

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


# gamma is not sought below e^-LARGEST.
LARGEST, SMALLEST = 700.0, 1e-290


def mean_bracket(shape: float, odds: tuple[float, float]) -> tuple[float, float]:
    """Return both ends of E[K] from those of w = (1 - gamma) / gamma, in which it increases.

    As w / (g e), e = (1 - e^{-x}) / x at x = eta g. At a given w, g is off by 8 units and x by 10;
    e changes by no more than x does, relatively, and by |x| times that where x < 0; expm1 and the
    quotients add 13 units.
    """
    ends = []
    for w, sign in zip(odds, (-1.0, 1.0), strict=True):
        g = math.log1p(w)
        x = shape * g
        # Below, (1 - e^{-x}) / x is 1 to less than a unit.
        e = 1.0 if abs(x) < 1e-17 else -math.expm1(-x) / x
        units = 40.0 + 10.0 * max(0.0, -x)
        ends.append(w / (g * e) * (1.0 + sign * UNIT * units * MARGIN))
    return max(1.0, ends[0]), ends[1]


def odds_of_mean(shape: float, mean: float) -> tuple[float, float]:
    """Return both ends of the w = (1 - gamma) / gamma that gives a mean > 1.

    Raises:
        DomainError: gamma would be below e^-700.
    """
    if shape == 1.0:
        # The mean is 1 + w.
        w = mean - 1.0
        if Fraction(mean) - 1 == Fraction(w):
            return w, w
        return math.nextafter(w, 0.0), math.nextafter(w, math.inf)
    most = math.exp(LARGEST)
    if mean_bracket(shape, (most, most))[0] < mean:
        raise DomainError(
            f"mean {mean!r} with shape {shape!r} needs gamma below e^-{LARGEST:.0f}: take a smaller"
            " mean or a larger shape"
        )
    # Each end of the mean is on one side of it where the search has ended.
    low = search.first(lambda w: mean_bracket(shape, (w, w))[1] > mean, SMALLEST, most)[0]
    high = search.first(lambda w: mean_bracket(shape, (w, w))[0] >= mean, SMALLEST, most)[1]
    return low, high


COLUMNS = ("runs", "probability")
# The largest number of runs that a file may give a probability.
MOST_RUNS = 1_000_000


def read_probabilities(file: str) -> tuple[float, ...]:
    """Return the probabilities of 0, 1, 2, ... runs from a file with two columns.

    Raises:
        DomainError: the file cannot be read, or a line is out of range.
    """
    from privcalc.mechanisms.files import exact, read_rows

    found: dict[int, float] = {}
    for place, words in read_rows(file, COLUMNS):
        runs, probability = (exact(place, word) for word in words)
        if runs.denominator != 1 or not 0 <= runs <= MOST_RUNS:
            raise DomainError(
                f"{place}: a number of runs is whole, from 0 to {MOST_RUNS}, got {words[0]}"
            )
        if int(runs) in found:
            raise DomainError(f"{place}: {int(runs)} runs are given twice")
        if not 0 <= probability <= 1:
            raise DomainError(f"{place}: a probability is in [0, 1], got {words[1]}")
        found[int(runs)] = float(probability)
    return tuple(found.get(k, 0.0) for k in range(max(found) + 1))
