"""What certified quadrature needs to know of a part of the outcomes that has a density."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from privcalc.losses.law import Density
    from privcalc.numerics.arrays import Array


class Outcomes(NamedTuple):
    """Weights and losses of nodes and atoms, l = log(1 + y), in arrays of one length.

    Attributes:
        log_w: log weight (rule weight times density, or an atom's mass).
        y: the density ratio less 1.
        loss: l = log(1 + y).
        jitter: relative change of weight times integrand that the rounding of the place, of the
            log weight and of y can make, in units (multiples of UNIT).
        moved: absolute error of l, in units.
    """

    log_w: Array
    y: Array
    loss: Array
    jitter: Array
    moved: Array


class Range(NamedTuple):
    """Bounds on rectangles for 1 + s y of one mixture, s = 1, or all s in [0, 1].

    Attributes:
        log_largest: of log |1 + s y| from above; for all s at least 0.
        log_smallest: from below; for all s at most 0.
        turn: of the modulus of its argument.
    """

    log_largest: Array
    log_smallest: Array
    turn: Array


class Part(ABC):
    """Outcomes in a coordinate x between two ends, of one density."""

    __slots__ = ()

    density: Density
    low: float
    high: float

    # Panels of the fixed rule of searches, in x, or in deviations where these are below 1.
    search_width: ClassVar[float] = 2.2

    @abstractmethod
    def factors(
        self, low: Array, high: Array, height: Array, exponent: float, *, path: bool
    ) -> list[tuple[float, Range]]:
        """Return the mixtures whose powers the integrand is a product of, with their powers.

        Where `path` is set, for all s in [0, 1] (see `Range`), else for s = 1.
        """

    @abstractmethod
    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Return the log of a bound on the distance of the mixtures, or of one mixture from 1."""

    @abstractmethod
    def outcomes(self, x: Array, log_weights: Array, reach: Array, exponent: float) -> Outcomes:
        """Return the outcomes at the nodes of a rule.

        Args:
            x: the nodes.
            log_weights: of the rule.
            reach: the nodes are off by 2 units of this.
            exponent: real part of the power of 1 + y that the errors are to cover.
        """

    @abstractmethod
    def tilted(self, x: Array, exponent: float) -> tuple[Array, list[Array]]:
        """Return the log of the density of the loss times (1 + y)^exponent at x.

        And arrays whose sum is the slope of that, each monotone in x.
        """


def mixture_range(q: float, low: Array, high: Array, height: Array, *, path: bool) -> Range:
    """Bound 1 + s y, s in [0, 1] or s = 1, y = q (e^x - 1), on rectangles around [low, high].

    * |1 + s y| <= max(1, 1 - q + q e^{x_hi}), and |1 + s y| >= Re(1 + s y) >=
      min(1, 1 - q + q e^{x_lo} cos d) > 0 for |Im x| <= d < pi/2. At s = 1, all that plain powers
      need, 1 - q + q e^{x_hi} and 1 - q + q e^{x_lo} cos d do without 1.
    * 0 <= arg(1 + s y) <= arg(1 - q + q e^{x_hi + i d}) for Im x in [0, d]: the argument of
      (1 - u) + u e^{z} grows with the ratio u e^{Re z} / (1 - u), and with Im z while the latter is
      below pi/2.
    """
    log_q = math.log(q)
    log_rest = math.log1p(-q) if q < 1.0 else -math.inf
    cosine = np.cos(height)
    log_largest = np.logaddexp(log_rest, log_q + high)
    log_smallest = np.logaddexp(log_rest, log_q + low + np.log(cosine))
    if path:
        log_largest, log_smallest = np.maximum(0.0, log_largest), np.minimum(0.0, log_smallest)
    # Divided by e^{x_hi}, which may overflow.
    rest = (1.0 - q) * np.exp(np.minimum(-high, 700.0))
    turn = np.arctan2(q * np.sin(height), rest + q * cosine)
    return Range(log_largest, log_smallest, turn)
