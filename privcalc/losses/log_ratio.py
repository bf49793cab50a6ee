"""The law of X = log dW/dR under R, for outputs R without and W with the record.

Poisson sampling keeps R and replaces W by (1 - q) R + q W, so everything it produces is a function
of this law (`wrappers/poisson.py`). Densities come in pieces whose logarithm is a quadratic.
"""

from __future__ import annotations

import math

from privcalc.losses.density import Density
from privcalc.record import record

# Relative error of the parameters of pieces and of the places of atoms, in units, that everything
# here is charged for: a mechanism rounds a number that it knows within a unit or two once.
MOST_UNITS = 4.0


@record
class Piece(Density):
    """The density of X under R on [low, high].

    An unbounded piece is a whole normal density of the given mean and deviation; bounded pieces
    leave those two at 0.
    """

    low: float = -math.inf
    high: float = math.inf
    mean: float = 0.0
    deviation: float = 0.0

    @classmethod
    def normal(cls, mean: float, deviation: float) -> Piece:
        """Return the density of N(mean, deviation^2) on the whole line."""
        precision = 1.0 / (deviation * deviation)
        constant = -0.5 * mean * mean * precision - math.log(deviation * math.sqrt(2.0 * math.pi))
        return cls(constant, mean * precision, precision, mean=mean, deviation=deviation)

    @property
    def bounded(self) -> bool:
        """Whether the piece has finite ends."""
        return self.low > -math.inf and self.high < math.inf


@record
class LogRatio:
    """Law of X = log dW/dR under R: density pieces, atoms and the two singular parts.

    Attributes:
        pieces: densities under R.
        atoms: triples (x, mass under R, mass under W) with finite x; the masses are kept both,
            because e^x would multiply the rounding of x by |x|.
        without_only: R-mass of outcomes that W never gives (X = -inf).
        with_only: W-mass of outcomes that R never gives (X = +inf).
    """

    pieces: tuple[Piece, ...] = ()
    atoms: tuple[tuple[float, float, float], ...] = ()
    without_only: float = 0.0
    with_only: float = 0.0
