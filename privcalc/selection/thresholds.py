"""Tuning thresholds: two points of a privacy profile that every candidate must stay below.

Koskela, Redberg, Wang 2024, Section 6.2. Hyperparameters that change the privacy of a run (noise,
number of steps) can be tuned if each candidate meets the same two conditions, which are those of a
Gaussian mechanism; each then runs for as long as they allow.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError, UnsupportedError
from privcalc.numerics import search
from privcalc.numerics.normal import LARGEST_MU, least_mu
from privcalc.numerics.rounding import UNIT, non_negative
from privcalc.numerics.work import left as spare
from privcalc.record import record
from privcalc.selection.base import GaussianBase
from privcalc.selection.constants import negative_binomial_paper, odds_root
from privcalc.selection.distribution import make_runs
from privcalc.selection.runs import NegativeBinomialRuns, Runs

if TYPE_CHECKING:
    from collections.abc import Callable


@record
class ProfileThresholds:
    """Two points of a privacy profile, and what tuning costs if every candidate is below both.

    Attributes:
        epsilon_1: first point.
        delta_1: the profile there must be at most this.
        epsilon_hat: second point.
        delta_hat: the profile there must be at most this.
        total: certified epsilon of the selection, at the delta asked for.
    """

    epsilon_1: float
    delta_1: float
    epsilon_hat: float
    delta_hat: float
    total: float


@record
class TuningThresholds:
    """Both choices of the first threshold.

    Attributes:
        mu: the Gaussian mechanism whose profile they are from.
        published: the threshold that is best for the published bound, and that bound.
        tight: the threshold that is best for the tight bound, and that bound: never more.
    """

    mu: float
    published: ProfileThresholds
    tight: ProfileThresholds


def tuning_thresholds(runs: Runs, epsilon_q: float, delta: float) -> TuningThresholds:
    """Return the thresholds for candidates about as private as (epsilon_q, delta).

    Let every candidate have H_{e^epsilon_1} <= delta_1 and H_{e^epsilon_hat} <= delta / E[K] in
    both directions; so does then the mixture over random candidates, by joint convexity. For
    K ~ D(eta, gamma), w = (1 - gamma) / gamma, selection has H_{e^epsilon} <= delta at

        epsilon = epsilon_hat + (eta + 1) log(e^epsilon_1 + w delta_1)           (Corollary 6.2),
        epsilon = epsilon_hat + (eta + 1) max(epsilon_1, log(1 + w delta_1)).

    Proof of the second: log phi'(q) / phi'(q') <= (eta + 1) log R for every R with
    R - 1 >= w H_R(Q' || Q) (Theorem 5.2, not relaxed). If R = e^epsilon_1 is none, then R - 1 <
    w H_R <= w delta_1, so that R' = 1 + w delta_1 > R is one, as H_R' <= H_R <= delta_1. The
    first is larger. The sums hold for any two points; where these are from only decides which
    candidates are admitted.

    The points are on the profile of the Gaussian mechanism whose delta at epsilon_q is delta, mu
    rounded down; epsilon_1 minimises the bound in question: the second is least at the root of
    e^epsilon_1 - 1 = w delta_1, where it is epsilon_1.

    Args:
        runs: a truncated negative binomial number of runs.
        epsilon_q: >= 0.
        delta: in (0, 1).

    Raises:
        DomainError: an argument is out of range.
        UnsupportedError: another number of runs.
    """
    if not isinstance(runs, NegativeBinomialRuns):
        raise UnsupportedError(
            f"thresholds are known for geometric, logarithmic and tnb runs, not for {runs.family}"
        )
    if not 0.0 <= epsilon_q < math.inf:
        raise DomainError(f"epsilon_q must be >= 0 and finite, got {epsilon_q!r}")
    if not 0.0 < delta < 1.0:
        raise DomainError(f"delta must be > 0 and < 1, got {delta!r}")
    mu = least_mu(epsilon_q, delta, above=False)
    if not 0.0 < mu < LARGEST_MU:
        raise DomainError(f"no Gaussian mechanism is resolved at {epsilon_q!r} and {delta!r}")
    gaussian = GaussianBase(mu)
    shape, odds = runs.shape, runs.odds[1]
    delta_hat = delta / runs.mean.upper * (1.0 - 2.0 * UNIT)
    epsilon_hat = non_negative(gaussian.epsilon(delta_hat))
    published, best = negative_binomial_paper(shape, odds, gaussian)
    root = odds_root(gaussian, odds)
    choices = []
    for epsilon_1, extra in ((best, published), (root, (shape + 1.0) * root)):
        delta_1 = float(gaussian.upper(np.array([epsilon_1]))[0])
        total = (epsilon_hat + extra) * (1.0 + 8.0 * UNIT)
        choices.append(ProfileThresholds(epsilon_1, delta_1, epsilon_hat, delta_hat, total))
    return TuningThresholds(mu, *choices)


# Numbers of runs whose mean can be any number, all else being equal.
FAMILIES = ("geometric", "logarithmic", "tnb", "poisson")
LARGEST_MEAN = 1e9
# The mean is worth so many digits, and its logarithm is found to such a part.
DIGITS, NEAR = 3, 1e-4


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

    def dear(log: float) -> bool:
        if spare() <= 0.0:
            return True
        try:
            return epsilon_at(_with_mean(runs, math.exp(log))) > price
        except DomainError:
            return True

    left, right = math.log(start), math.log(LARGEST_MEAN)
    # As many as anybody will run, if a billion are not too dear.
    if left >= right or epsilon_at(runs) > price or not dear(right):
        return None
    mean = _rounded_down(math.exp(search.first(dear, left, right, width=NEAR)[0]))
    if spare() <= 0.0:
        return None
    return mean if mean > start and epsilon_at(_with_mean(runs, mean)) <= price else start


def _with_mean(runs: Runs, mean: float) -> Runs:
    shape = runs.parameters.get("shape") if runs.family == "tnb" else None
    return make_runs(runs.family, mean=mean, shape=None if shape is None else float(shape))


def _rounded_down(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - DIGITS + 1)
    return float(f"{math.floor(value / unit) * unit:.{DIGITS}g}")
