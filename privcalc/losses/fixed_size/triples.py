"""Time values of the triples of one fixed-size step, from above and from below, without quadrature.

Let s run along the common part of a and b, and u along a - b. With the noise's coordinates (s, u)
and c = 0, dN(a) = E e^{mu a_u u - (mu a_u)^2/2} and dN(b) likewise with b_u, where E =
e^{mu d s - (mu d)^2/2} is common to both; in family + a_u = 1 - y/2, b_u = -y/2, d^2 = y (1 - y/4).
For a given E the pair is one of laws on the line,

    (1 - q) N(0) + q E N(mu a_u)   against   (1 - q) N(0) + q E N(mu b_u),

whose likelihood ratio increases in u, so that its time value F_a(E) is a sum of normal tails, and
convex in E. E is the density of N(mu d) with respect to N(0): the masses of a cell of s under both
are normal. From below, s is forgotten within its cell: that is post-processing, and leaves the mean
of E. From above, the mass is moved to the ends of the cell with mass and mean of E kept: the chord
of F. Beyond the last cell F grows with slope q at most; before the first, F(E) increases from
F(0) = 0.

Rounding. A threshold u may be any number from below. From above, one that solves
log(smaller side) = log(larger side) up to g costs at most g times the masses in question. Masses
are off by 64 units times 1 + z^2 (arguments by some units of their size), and weights of cells as
narrow as here by 1e-11; RELATIVE covers that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.normal import lower_tails
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

# Relative error of what is not charged by itself.
RELATIVE = 1e-9
# s beyond has a mass of 1e-23, where no more is asked for.
FAR = 10.0
# E is tilted by large losses: cells are narrow so far beyond its mean, too.
PLATEAU = 3.0
# Newton's steps on a concave function, from where one side is about 1, if that is so large.
STEPS, LEAST_START = 5, 0.05
# Work that is counted for one outcome: a sixth of what it takes.
PER_OUTCOME = 0.3


def shape(y: float) -> tuple[float, float, float]:
    """Return a_u, b_u and d of family +, in units of mu."""
    return 1.0 - 0.5 * y, -0.5 * y, math.sqrt(y * (1.0 - 0.25 * y))


def _mass(ends: Array) -> Array:
    """Return the normal masses between increasing places."""
    mass: Array = np.where(
        ends[:-1] > 0.0,
        -np.diff(lower_tails(-ends)),
        np.diff(lower_tails(ends)),
    )
    return mass


def _places(spread: float, fine: float, far: float) -> Array:
    """Return ends of cells of s, of a width that grows where there is little mass."""
    s = np.linspace(-FAR, far + spread, 4001)
    outside = np.maximum(0.0, np.maximum(-s, s - spread - PLATEAU))
    density = np.exp(-np.minimum(outside * outside / 6.0, 8.0)) * (spread / fine)
    count = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(s))])
    cells = max(2, math.ceil(float(count[-1])))
    places: Array = np.interp(np.linspace(0.0, count[-1], cells + 1), count, s)
    return places


def directions(spread: float, fine: float, far: float, *, above: bool) -> tuple[Array, Array]:
    """Return values of E and their masses.

    Args:
        spread: mu d.
        fine: width of cells of log E where most of the mass is.
        far: deviations of s that cells cover, on the side of a large E.
        above: on which side.
    """
    if spread == 0.0:
        return np.ones(1), np.ones(1)
    ends = _places(spread, fine, far)
    plain, moved = _mass(ends), _mass(ends - spread)
    outer = lower_tails(np.array([ends[0], -ends[-1]]))
    outer_moved = lower_tails(np.array([ends[0] - spread, spread - ends[-1]]))
    if not above:
        mass = np.concatenate([outer[:1], plain, outer[1:]])
        return np.concatenate([outer_moved[:1], moved, outer_moved[1:]]) / mass, mass
    values = np.exp(spread * ends - 0.5 * spread * spread)
    up = np.clip((moved - values[:-1] * plain) / np.diff(values), 0.0, plain)
    mass = np.zeros(len(values))
    mass[1:] += up
    mass[:-1] += plain - up
    mass[0] += outer[0]
    mass[-1] += outer[1]
    return values, mass


def poisson_values(q: float, mu: float, losses: Array) -> tuple[Array, Array]:
    """Return time values of R at e^losses, from below and from above.

    The threshold A = (a - 1 + q) / q is in closed form; where there is none, h is 0.
    """
    with np.errstate(all="ignore"):
        place = np.log((np.expm1(losses) + q) / q) / mu + 0.5 * mu
    known = np.isfinite(place)
    place = np.where(known, place, 0.0)
    up = losses >= 0.0
    sign = np.where(up, -1.0, 1.0)
    record, rest = lower_tails(sign * (place - mu)), lower_tails(sign * place)
    first, second = q * record, (np.expm1(losses) + q) * rest
    # The quotient and the log of an argument near 1 - q cancel: any threshold is one from below,
    # and one that is off by d costs d^2 times the density.
    size = (1.0 + place * place + mu * mu) * (np.abs(first) + np.abs(second))
    slack = 256.0 * UNIT * size
    value = -sign * (first - second)
    below, above = np.maximum(value - slack, 0.0), np.maximum(value, 0.0) + slack
    return np.where(known, below, 0.0), np.where(known, above, 0.0)


def time_values(
    q: float, mu: float, y: float, losses: Array, *, fine: float, under: float, far: float = FAR
) -> tuple[Array, Array]:
    """Return time values of family + at e^losses, from below and from above; 0 < y.

    From above no more than R and A have, as long as it is a triple; see `directions` for the rest.

    Args:
        q: sampling probability.
        mu: distance.
        y: the member.
        losses: where.
        fine: width of cells from above.
        under: that from below.
        far: deviations that they cover.
    """
    spread = mu * shape(y)[2]
    sides = [
        directions(spread, width, far, above=side) for side, width in ((False, under), (True, fine))
    ]
    below, above = (_values(q, (mu, y), losses, side)[i] for i, side in enumerate(sides))
    tail = q * float(lower_tails(np.array([-far]))[0])
    above = (above + tail) * (1.0 + RELATIVE)
    most = poisson_values(q, mu, np.abs(losses))[1] * np.exp(np.minimum(losses, 0.0))
    below = np.maximum(below * (1.0 - RELATIVE), 0.0)
    known = (losses >= 0.0) | (y <= 1.0)
    return below, np.where(known, np.fmin(above, most * (1.0 + RELATIVE)), above)


def _values(
    q: float, triple: tuple[float, float], losses: Array, of: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Add up F over values of E: lower and upper ends for rounding alone.

    Args:
        q: sampling probability.
        triple: mu and y.
        losses: where.
        of: values of E, and their masses.
    """
    (weights, masses), (mu, y) = of, triple
    charge(PER_OUTCOME * len(losses) * len(weights))
    first, second, _ = shape(y)
    a, b = mu * first, mu * second
    scale = weights[:, None]
    place, missed = _thresholds(q, a, b, losses, scale)
    up = losses >= 0.0
    sign = np.where(up, -1.0, 1.0)
    gain = np.expm1(losses)
    tails = [lower_tails(sign * (place - moved)) for moved in (0.0, a, b)]
    terms = (
        (1.0 - q) * gain * tails[0],
        q * scale * tails[1],
        q * scale * np.exp(losses) * tails[2],
    )
    value = -sign * (terms[1] - terms[0] - terms[2])
    size = np.abs(terms[0]) + terms[1] + terms[2]
    slack = (64.0 * UNIT * (1.0 + (np.abs(place) + mu) ** 2) + missed) * size
    return masses @ np.maximum(value - slack, 0.0), masses @ (np.maximum(value, 0.0) + slack)


def _thresholds(q: float, a: float, b: float, losses: Array, scale: Array) -> tuple[Array, Array]:
    """Return about the u where (1 - q)(1 - alpha) + q E (A - alpha B) = 0, and what is missing.

    That is A = w + alpha B, or alpha B = w + A, w = (1 - q) |alpha - 1| / (q E): in logarithms the
    difference of both sides is concave in u, with a slope of one sign, so that Newton's steps
    converge from the side where it is negative.
    """
    up = losses > 0.0
    ratio = np.exp(losses)
    plain = (1.0 - q) / q * np.abs(np.expm1(losses))
    with np.errstate(all="ignore"):
        rest = plain / scale
        # Where B is 1.
        start = np.where(up, ratio + rest, ratio - rest)
        place = np.where(start > LEAST_START, np.log(np.maximum(start, LEAST_START)) / a, 0.0)
        place += np.where(start > LEAST_START, 0.5 * a, 0.0)
        for step in range(STEPS):
            of_a = a * place - 0.5 * a * a
            of_b = losses + b * place - 0.5 * b * b
            part = np.exp(np.where(up, of_b, of_a))
            whole = rest + part
            gap = np.where(up, of_a, of_b) - np.log(whole)
            if step == STEPS - 1:
                break
            share = part / whole
            place = place - gap / np.where(up, a - b * share, b - a * share)
        size = np.abs(of_a) + np.abs(of_b)
        missed = np.abs(gap) + 16.0 * UNIT * (1.0 + 2.0 * size)
    known = np.isfinite(place) & np.isfinite(missed)
    return np.where(known, place, 0.0), np.where(known, missed, np.inf)


# Cells of the sum that bounds N, and deviations that it covers; the rest has a mass of 1e-18.
CELLS, REACH = 80, 9.0


def curvature(q: float, mu: float, losses: Array, low: float, high: float) -> Array:
    """Bound 4 c y N_a(y) at a = e^losses from above, for all y between two of one interval.

    The integrand at y in [low, high] is at most that with y and s at whichever end is larger, term
    by term: y^{1/2} at `high`, e^{-t^2 / (2 k y)} at `high`, the powers of omega at the larger or
    the smaller s. In a cell of t the exponents are largest at their vertices, or at an end.
    At a < 1 cells are those of log(a e^t - theta), whose element is (a e^t - theta) / (a e^t) times
    as large: the quotient is then 1 / (a e^t).

    With z = omega / mu the integrand is at most e^{-t^2/(2 k y) - z^2/2 - 2 mu z} z^2 times
    constants, that is e^{2k} (2 + 2 mu)^2 times two normal densities. Beyond REACH deviations of t,
    or as many of z + 2 mu, is at most FAR_PART of it.
    """
    found = np.zeros(len(losses))
    for up in (True, False):
        chosen = losses > 0.0 if up else losses < 0.0
        if chosen.any():
            found[chosen] = _curved(q, mu, losses[chosen][:, None], low, high, up=up)
    charge(2.0 * CELLS * len(losses))
    return found


# Twice P(N > REACH), and some more for the constants.
FAR_PART = 1e-17


def _curved(q: float, mu: float, losses: Array, low: float, high: float, *, up: bool) -> Array:
    k, ratio = mu * mu, np.exp(losses)
    theta = (1.0 - q) / q * np.abs(np.expm1(losses))
    wide, least = 1.0 - 0.25 * low, 1.0 - 0.25 * high
    reach = REACH * math.sqrt(k * high)
    part = np.linspace(0.0, 1.0, CELLS + 1)[None, :]
    if up:
        width = np.full(losses.shape, (2.0 * reach + k * high) / CELLS)
        t = -reach + width * CELLS * part
        log_a = np.logaddexp(losses + t, np.log(theta))
        quotient = np.exp(-log_a)
    else:
        bottom = 0.5 * np.maximum(np.log(theta / ratio), -reach) - (REACH + 1.0) * mu - k
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.log(ratio * math.exp(0.5 * k * high + reach) - theta)
        top = np.fmax(top, bottom + mu)
        width = (top - bottom) / CELLS
        log_a = bottom + width * CELLS * part
        t = np.logaddexp(log_a, np.log(theta)) - losses
        quotient = np.exp(-(losses + t))
    omega = log_a - 0.5 * t - 0.5 * k
    # omega is convex in t with a second derivative of at most 1/4: it may be less within a cell.
    left, right = np.minimum(omega[:, :-1], omega[:, 1:]), np.maximum(omega[:, :-1], omega[:, 1:])
    left = left - 0.125 * width * width if up else left
    place = np.clip(0.5 * k * high, t[:, :-1], t[:, 1:])
    exponent = -place * place / (2.0 * k * high) + 0.5 * place - 0.125 * k * low
    place = np.clip(-k * wide, left, right)
    exponent = exponent - place * place / (2.0 * k * wide) - place - 0.5 * k * least
    square = np.maximum(left * left, right * right) / (k * least) - 1.0
    weight = np.maximum(square, 0.0) / (8.0 * least) * np.maximum(quotient[:, :-1], quotient[:, 1:])
    total = (np.exp(exponent) * weight).sum(axis=1) * width[:, 0]
    total = total * math.sqrt(high / least) / (2.0 * math.pi * k)
    c = 0.5 * k * (1.0 - q) * (ratio * np.abs(np.expm1(losses)))[:, 0]
    left_out = FAR_PART * math.exp(2.0 * k) * (2.0 + 2.0 * mu) ** 2 / mu
    found: Array = 4.0 * c * (total * (1.0 + 1e-6) + left_out)
    return found
