"""Ends of what is said of discrete Gaussian noise, to the last digit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from mpmath import exp, fsum, log, mpf

from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw


def masses(variance: Fraction, reach: int) -> dict[int, mpf]:
    """Return the masses around 0, at 40 digits."""
    v = mpf(variance.numerator) / variance.denominator
    weights = {x: exp(-(mpf(x) ** 2) / (2 * v)) for x in range(-reach, reach + 1)}
    total = fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def cumulant(variance: Fraction, shift: int, c: float) -> mpf:
    """Return K by the sum over outcomes, around the tilted centre."""
    v, s = mpf(variance.numerator) / variance.denominator, mpf(c)
    centre = round(-c * shift)
    terms = [
        exp(-(mpf(x) ** 2) / (2 * v) + s * (shift**2 - 2 * shift * mpf(x)) / (2 * v))
        for x in range(centre - 40, centre + 41)
    ]
    return log(fsum(terms) / fsum(exp(-(mpf(x) ** 2) / (2 * v)) for x in range(-40, 41)))


@pytest.mark.parametrize("variance", [Fraction(1, 20), Fraction(1, 7), Fraction(1, 4), Fraction(1)])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_divergences_lie_between_their_ends(variance: Fraction, shift: int) -> None:
    """Between whole orders they are below those of Gaussian noise, and rounded to both sides."""
    c = np.array([0.1, 0.37, 0.5, 1.3, 2.0, 3.71, 9.9])
    low, high = DiscreteGaussianLaw(variance, shift).renyi(c)
    for each, least, most in zip(c.tolist(), low.tolist(), high.tolist(), strict=True):
        truth = cumulant(variance, shift, each)
        assert least <= truth <= most
        assert most - least <= 1e-12 * (1.0 + most)


@pytest.mark.parametrize(("variance", "shift"), [(Fraction(7, 10), 3), (Fraction(31, 9), 1)])
def test_losses_next_to_an_outcome(variance: Fraction, shift: int) -> None:
    """A loss that is an outcome's, but for its last digit, may be on either side of it: so it says.

    What is said of {L > l} is true of a loss within the displacement of l.
    """
    law, known = DiscreteGaussianLaw(variance, shift), masses(variance, 60)
    exact = {x: Fraction(shift**2 - 2 * shift * x) / (2 * variance) for x in known}
    nearest = sorted(float(exact[x]) for x in range(-9, 10))
    losses = np.unique([np.nextafter(nearest, -np.inf), nearest, np.nextafter(nearest, np.inf)])
    tails = law.tails(losses)
    moved, error = Fraction(tails.shift), 1e-12
    for loss, above in zip(losses.tolist(), tails.above_p.tolist(), strict=True):
        place = Fraction(loss)
        least = fsum(known[x] for x in known if exact[x] > place + moved)
        most = fsum(known[x] for x in known if exact[x] > place - moved)
        assert least * (1 - error) <= above <= most * (1 + error)
    assert tails.shift < 1e-12
