"""Numbers of runs from a family's name and its parameters.

The mean of a truncated negative binomial number of runs is a function of gamma. With g = log(1 /
gamma) > 0, w = (1 - gamma) / gamma = e^g - 1 and lambda(x) = log((e^x - 1) / x),

    E[K] = eta (1 - gamma) / (gamma (1 - gamma^eta)) = w / ((1 - e^{-eta g}) / eta),

so that log E[K] = lambda(g) - lambda(-eta g), which increases in g from 0 (Papernot, Steinke 2022,
Definition 1). Nothing cancels for eta >= 0; for eta < 0 at most a factor of 1 / (1 + eta) is lost.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.numerics import search
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.selection.runs.families import NegativeBinomialRuns, PowerRuns
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
        from privcalc.selection.runs.families import PoissonRuns

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
    from privcalc.selection.runs.families import PowerRuns

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
    from privcalc.selection.runs.families import NegativeBinomialRuns

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

# B_2, ..., B_22: log(sinh(x/2) / (x/2)) is the sum of B_2n x^2n / (2n (2n)!).
_BERNOULLI = ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510))
_BERNOULLI_MORE = ((43867, 798), (-174611, 330), (854513, 138))
_COEFFICIENTS = tuple(
    float(Fraction(*b) / (2 * n * math.factorial(2 * n)))
    for n, b in enumerate((*_BERNOULLI, *_BERNOULLI_MORE), 1)
)


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
    # mean - 1 is exact below 2 (Sterbenz).
    target = math.log1p(mean - 1.0) if mean < 2.0 else math.log(mean)
    target_low, target_high = target * (1.0 - 8.0 * UNIT), target * (1.0 + 8.0 * UNIT)

    if _log_mean_end(shape, LARGEST, -1.0) < target_high:
        raise DomainError(
            f"mean {mean!r} with shape {shape!r} needs gamma below e^-{LARGEST:.0f}: take a smaller"
            " mean or a larger shape"
        )
    left, right = _about(shape, target)
    step = 4.0 * UNIT
    while _log_mean_end(shape, left, 1.0) > target_low:
        left *= 1.0 - min(step, 0.5)
        step *= 1.5
    step = 4.0 * UNIT
    while right < LARGEST and _log_mean_end(shape, right, -1.0) < target_high:
        right = min(LARGEST, right * (1.0 + step))
        step *= 1.5
    room = 10.0 * UNIT
    return math.expm1(left) * (1.0 - room), math.expm1(right) * (1.0 + room)


def _about(shape: float, target: float) -> tuple[float, float]:
    """Return neighbouring g with log E[K] about the target."""
    return search.first(
        lambda g: log_mean(shape, g)[0] >= target, SMALLEST, LARGEST, width=4.0 * UNIT
    )


def _log_mean_end(shape: float, g: float, sign: float) -> float:
    """Return the upper (sign 1) or lower end of log E[K] at g."""
    value, error = log_mean(shape, g)
    return value + sign * error


def log_mean(shape: float, g: float) -> tuple[float, float]:
    """Return log E[K] at g, and a bound on its absolute error.

    Where both arguments are below 1, lambda(x) = x/2 + S(x) with an even S gives
    (eta + 1) g / 2 + S(g) - S(eta g), so that means close to 1 keep their digits.
    """
    x = -shape * g
    if g < 1.0 and abs(x) < 1.0:
        main = 0.5 * (shape + 1.0) * g
        first, second = _even_part(g), _even_part(x)
        value = main + (first - second)
        units = 3.0 * main + 14.0 * (first + second) + 2.0 * (main + first + second)
        return value, UNIT * units * MARGIN
    first, first_error = _log_growth(g)
    second, second_error = _log_growth(x)
    value = first - second
    # x is off by a unit of itself.
    moved = x if x > 0.0 else min(-x, 1.0)
    return value, (first_error + second_error + UNIT * (moved + abs(value))) * MARGIN


def _even_part(x: float) -> float:
    """Return S(x) = log(sinh(x/2) / (x/2)) for |x| < 1, to 8 units.

    The terms alternate and fall by a factor of more than 30; what is truncated is below the first
    truncated term, 4e-20 x^2. The sum is at least 0.98 of its first term.
    """
    square = x * x
    total = 0.0
    for coefficient in reversed(_COEFFICIENTS):
        total = total * square + coefficient
    return total * square


def _log_growth(x: float) -> tuple[float, float]:
    """Return lambda(x) and a bound on its absolute error, for exact x.

    From |x| = 1 on as max(x, 0) + log((1 - e^{-|x|}) / |x|): expm1 and the quotient are off by 9
    units, the logarithm by 8 of itself, and the sum by one. lambda(0) = 0.
    """
    size = abs(x)
    if size < 1.0:
        even = _even_part(x)
        return 0.5 * x + even, UNIT * (size + 10.0 * even)
    inner = math.log(-math.expm1(-size) / size)
    value = max(x, 0.0) + inner
    return value, UNIT * (9.0 + 9.0 * abs(inner) + 2.0 * abs(value))


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
