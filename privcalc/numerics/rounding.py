"""The model of floating-point arithmetic that every certificate uses.

Assumed (and stated in the manual): IEEE 754 doubles, round to nearest, and elementary and special
functions accurate to FUNCTION_ULPS units in the last place. Sums of n terms are charged
n * UNIT times the sum of the moduli, which holds for any order of summation; sums of n products of
complex numbers, as matrix products form them, COMPLEX_TERM n: their parts are sums of 2 n terms.

Error bounds are themselves computed in doubles; MARGIN covers that: each is a sum or product of
far fewer than 1e6 non-negative quantities, so it is off by a factor of less than 1 + 1e-9.

To round up by a factor, 1 + 2 UNIT is the least: 1 + UNIT lies halfway between two doubles, and
is 1.
"""

from __future__ import annotations

import math

UNIT = 2.0**-53
FUNCTION_ULPS = 4.0
# At least 2 sqrt 2: both parts of a product of moduli a b have terms that come to a b at most.
COMPLEX_TERM = 3.0
MARGIN = 1.0 + 1e-9


def few_bits(value: float, bits: int = 24) -> float:
    """Round a positive number down to so many significant bits.

    Contour abscissas and steps are chosen this way so that c + 1 and k h (k < 2^28) are exact
    doubles: the nodes of the sum are then free of rounding error.
    """
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.floor(mantissa * 2.0**bits), exponent - bits)


def exp_bound(exponent: float) -> float:
    """Return an upper bound on e^exponent: infinity above the range, never 0 below it.

    The exponent itself is taken as given; exp is charged 8 units.
    """
    if not exponent <= 700.0:
        return math.inf
    return math.nextafter(math.exp(exponent) * (1.0 + 8.0 * UNIT), math.inf)


def non_negative(value: float) -> float:
    """Return the larger of an upper bound and 0.

    Raises:
        AssertionError: it is not a number, which would pass for 0 and be the least of all bounds.
    """
    if math.isnan(value):
        raise AssertionError("an upper bound is not a number")
    return max(0.0, value)
