"""Laws of numbers of runs with the masses of their definitions, in many digits."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp, mpf

from privcalc.bounds import Bound
from privcalc.selection.distribution import make_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.selection.runs import Runs

DIGITS = 40
# What sums at DIGITS digits may be off by.
NOISE = mpf(10) ** -34
WIDE = 2e-12
POINTS = (0.0, 1e-290, 1e-12, 0.001, 0.2, 0.4999999, 0.5)
RESTS = (0.5 - 2.0**-54, 0.4999, 0.1, 1e-3, 1e-9, 1e-17, 1e-100, 0.0)
Q = np.array([*POINTS, *(1.0 - rest for rest in RESTS)])
REST = np.array([*(1.0 - point for point in POINTS), *RESTS])
LIBRARY = (0.1, 0.0, 0.2, 0.3, 0.0, 0.0, 0.4)


def exact(i: int) -> mpf:
    """Return the point that the pair (Q, REST) stands for."""
    return mpf(POINTS[i]) if i < len(POINTS) else 1 - mpf(RESTS[i - len(POINTS)])


@dataclass(frozen=True)
class Case:
    """A number of runs, and how its probabilities of 0, 1, ... are worked out at 40 digits."""

    family: str
    given: dict[str, Any]
    work_out: Callable[[], tuple[mpf, ...]]

    @cached_property
    def masses(self) -> tuple[mpf, ...]:
        """Return the probabilities; not before a test needs them."""
        with mp.workdps(DIGITS + 10):
            return self.work_out()

    @property
    def runs(self) -> Runs:
        """Return what is under test."""
        return make_runs(self.family, **self.given)


def negative_binomial_masses(shape: mpf, gamma: mpf) -> Iterator[mpf]:
    """Yield P(K = 0), P(K = 1), ... by the definition of Papernot and Steinke."""
    yield mpf(0)
    factor = -1 / mp.log(gamma) if shape == 0 else 1 / (gamma**-shape - 1)
    product = mpf(1) if shape == 0 else shape
    for k in itertools.count(1):
        yield factor * product * (1 - gamma) ** k
        product *= (k + shape) / mpf(k + 1)


def poisson_masses(mean: mpf) -> Iterator[mpf]:
    """Yield the Poisson probabilities."""
    for k in itertools.count():
        yield mp.exp(-mean) * mean**k / mp.factorial(k)


def enough(masses: Iterator[mpf]) -> tuple[mpf, ...]:
    """Take probabilities until what is left cannot be seen in any mean."""
    found: list[mpf] = []
    for mass in masses:
        found.append(mass)
        if len(found) > 2 and mass < mpf(10) ** -45 and mass <= found[-2]:
            return tuple(found)
    raise AssertionError


def gamma_of(shape: mpf, mean: mpf, digits: int = DIGITS) -> mpf:
    """Solve the printed formula of the mean for gamma, by bisection in log gamma."""
    with mp.workdps(digits + 350):
        left, right = mpf(-720), mpf(-10) ** -30
        for _ in range(4 * digits):
            middle = (left + right) / 2
            gamma = mp.exp(middle)
            if shape == 0:
                found = (1 / gamma - 1) / -middle
            else:
                found = shape * (1 - gamma) / (gamma * (1 - gamma**shape))
            left, right = (middle, right) if found > mean else (left, middle)
        return mp.exp(right)


def of_gamma(shape: float, gamma: float) -> tuple[mpf, ...]:
    """Return the probabilities of a negative binomial number by its gamma."""
    return enough(negative_binomial_masses(mpf(shape), mpf(gamma)))


def of_mean(shape: float, mean: float) -> tuple[mpf, ...]:
    """Return those by its mean."""
    return enough(negative_binomial_masses(mpf(shape), gamma_of(mpf(shape), mpf(mean))))


def binomial(n: int, p: mpf) -> tuple[mpf, ...]:
    """Return the binomial probabilities."""
    return tuple(mp.binomial(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1))


def binomial_of_mean(n: int, mean: float) -> tuple[mpf, ...]:
    """Return those of a mean, whose p is no double."""
    return binomial(n, mpf(mean) / n)


def poisson(mean: float) -> tuple[mpf, ...]:
    """Return the Poisson probabilities that can be seen."""
    return enough(poisson_masses(mpf(mean)))


def shares(weights: tuple[float, ...]) -> tuple[mpf, ...]:
    """Return the parts of a sum."""
    total = mp.fsum(mpf(p) for p in weights)
    return tuple(mpf(p) / total for p in weights)


def cases() -> list[Case]:
    """Return numbers of runs whose probabilities can be added up."""
    found = []
    for shape, gamma in itertools.product((-0.9, 0.0, 1e-9, 1.0, 7.5), (0.9, 0.2)):
        given = {"shape": shape, "gamma": gamma}
        found.append(Case("tnb", given, partial(of_gamma, shape, gamma)))
    for shape, mean in ((-0.7, 1.5), (3.3, 6.0), (2500.0, 5.0)):
        given = {"shape": shape, "mean": mean}
        found.append(Case("tnb", given, partial(of_mean, shape, mean)))
    found.append(Case("logarithmic", {"mean": 2.7}, partial(of_mean, 0.0, 2.7)))
    found.append(Case("geometric", {"gamma": 0.35}, partial(of_gamma, 1.0, 0.35)))
    found += [Case("poisson", {"mean": mean}, partial(poisson, mean)) for mean in (1e-6, 10.0)]
    for n, p in ((2, 1e-9), (20, 0.5), (11, 1 - 2.0**-50), (40, 1.0)):
        found.append(Case("binomial", {"n": n, "p": p}, partial(binomial, n, mpf(p))))
    for n, mean in ((30, 10.0), (7, 6.99999999), (3, 3.0)):
        found.append(Case("binomial", {"n": n, "mean": mean}, partial(binomial_of_mean, n, mean)))
    found += [Case("fixed", {"n": n}, partial(shares, (*(0.0,) * n, 1.0))) for n in (1, 9)]
    sparse: tuple[float, ...] = (0.0,) * 500 + (0.25,) + (0.0,) * 1499 + (0.75,)
    for weights in (LIBRARY, sparse):
        found.append(Case("distribution", {"probabilities": weights}, partial(shares, weights)))
    return found


CASES = cases()
NAMES = [f"{case.family}-{'-'.join(str(v)[:12] for v in case.given.values())}" for case in CASES]


def assert_holds(bound: Bound, truth: mpf, *, width: float = WIDE) -> None:
    """Check that a bracket contains the truth, and is narrow (less so in far tails)."""
    assert bound.lower is not None
    assert mpf(bound.lower) <= truth * (1 + NOISE)
    assert truth * (1 - NOISE) <= mpf(bound.upper)
    depth = max(0.0, -float(mp.log10(truth))) if truth > 0 else 0.0
    assert bound.width <= width * (1.0 + depth) * float(truth) + 1e-290


def between(low: float, high: float) -> Bound:
    """Return a bracket."""
    return Bound(float(high), float(low))
