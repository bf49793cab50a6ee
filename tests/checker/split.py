"""delta of samples that are split at a large loss, on two lines.

For independent pairs (P_i, Q_i), sets A_i of outcomes, A = "each outcome is in its A_i", B its
complement, S the sum of the losses and any epsilon,

    delta(epsilon) = E_P[(1 - e^{epsilon - S})_+ ; A] + P(B) - e^epsilon Q(B)
                   + e^epsilon E_Q[(1 - e^{S - epsilon})_+ ; B],

because (1 - v)_+ = (1 - v) + (v - 1)_+ for v = e^{epsilon - S}, E_P[1 - v; B] = P(B) - e^epsilon
Q(B) and E_P[(v - 1)_+; B] = E_Q[(e^epsilon - e^S)_+; B]; what has an infinite loss is added. The
first expectation is the delta of a finite positive measure, and the last that of another, of the
reversed losses -S under Q, at -epsilon: `lines.on_line` bounds both. A_i is x <= X_i for samples of
Gaussian noise where a record is removed, everything for other laws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import acb, arb

from tests.checker.laws import Law, SampledGaussian, TooLongError, ball
from tests.checker.lines import Line, Measure, Parts, infinite_mass, on_line

# The largest loss at which samples are split.
LARGEST = 700

Places = Sequence[Fraction | None]
Lines = tuple[Line | None, Line | None]


def on_split(
    pair: tuple[Parts, Parts], claim: tuple[arb, arb], level: Fraction, lines: Lines
) -> tuple[arb, arb]:
    """Return proved bounds on delta at an epsilon, where it is about as given.

    The pair has the laws with their counts, and those of the reversed pairs. Samples are split at
    about a loss; there are lines of the bulk and of the rest, or one or none of them.
    """
    (parts, back), (epsilon, delta) = pair, claim
    cuts = [_place(law, level) for law, _ in parts]
    if cuts == [None] * len(cuts):
        raise TooLongError("no outcome has so large a loss")
    below, above = _side(Measure(_up_to(parts, cuts)), epsilon, lines[0], delta)
    ahead, reverse = (_some(pair, cuts) for pair in (parts, back))
    p, q = (measure.moment(acb(0)).real for measure in (ahead, reverse))
    low, high = _side(reverse, -epsilon, lines[1], delta / epsilon.exp())
    # What is in B is between 0 and P(B), too.
    mass, grown = infinite_mass(parts), epsilon.exp()
    closed, high = p - grown * q, high.min(q.upper())
    inside = (closed + grown * low).max(arb(0)), (closed + grown * high).min(p)
    return below + inside[0] + mass, above + inside[1] + mass


def _up_to(parts: Parts, ends: Places) -> Parts:
    """Return the outcomes up to X of what is cut."""
    return [(law.cut(None, x), n) for (law, n), x in zip(parts, ends, strict=True)]


def _some(parts: Parts, ends: Places) -> Measure:
    """Return the paths with some outcome beyond X."""
    rest = [
        None if x is None else law.cut(x, None) for (law, _), x in zip(parts, ends, strict=True)
    ]
    return Measure(_up_to(parts, ends), rest)


def _side(measure: Measure, epsilon: arb, line: Line | None, delta: arb) -> tuple[arb, arb]:
    """Return bounds on what a measure has of delta: by its line, or by Chernoff's bound."""
    if line is not None:
        return on_line(measure, epsilon, line, delta)
    powers = (ball(Fraction(2) ** k) for k in range(-10, 15))
    return arb(0), min((measure.chernoff(epsilon, c).upper() for c in powers), key=float)


def _place(law: Law, level: Fraction) -> Fraction | None:
    """Return about the outcome with a loss; any place is as good for the proof."""
    if not (isinstance(law, SampledGaussian) and law.remove):
        return None
    if level > LARGEST:
        raise TooLongError("a loss is beyond what is known here")
    power = math.expm1(float(level)) / float(law.q) + 1.0
    if not power > 0.0:
        raise TooLongError("no outcome has so small a loss")
    return Fraction(law.width**2 * math.log(power) + 0.5)
