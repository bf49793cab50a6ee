"""The law of a privacy profile that is proved at any epsilon, by itself and in compositions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.law import LossLaw
from privcalc.numerics.rounding import UNIT
from privcalc.record import field, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.contour import ContourLaw
    from privcalc.losses.log_ratio import LogRatio
    from privcalc.losses.tails import Tails
    from privcalc.numerics.arrays import Array, ComplexArray


@record
class ProvedLaw(LossLaw):
    """The pair of the largest profile through points of one that is proved at every epsilon.

    One use costs what is proved at the epsilon that is asked for. Compositions are those of a pair
    (P, Q) that dominates, with finitely many losses (`from_profile.py`).

    Attributes:
        infinity_mass: what is proved from some epsilon on.
        last: that epsilon.
        name: what tells it from others.
        proved: both ends of delta at epsilons >= 0, of shape (n,).
        joined: makes the law of the pair, whose mass at infinity is `infinity_mass`.
    """

    infinity_mass: float
    last: float
    name: object
    proved: Callable[[Array], tuple[Array, Array]] = field(compare=False)
    joined: Callable[[], AtomicLaw] = field(compare=False)

    everywhere = True
    comes_back = True

    @cached_property
    def atoms(self) -> AtomicLaw:
        """The pair; made when it is first needed."""
        return self.joined()

    @property
    def alone(self) -> Callable[[float], tuple[float, float]]:
        """Return what is proved beyond the mass at infinity."""
        return self._alone

    def _alone(self, epsilon: float) -> tuple[float, float]:
        ends = [float(each[0]) for each in self.proved(np.array([epsilon]))]
        low, high = (max(0.0, each - self.infinity_mass) for each in ends)
        return low * (1.0 - 4.0 * UNIT), high * (1.0 + 4.0 * UNIT)

    @property
    def max_loss(self) -> float:
        """Return where the points end."""
        return self.last

    @property
    def lower_infinity_mass(self) -> float:
        """Return Q(L = -inf)."""
        return self.atoms.lower_infinity_mass

    @property
    def cheap_orders(self) -> bool:
        """Whether the pair has few losses."""
        return self.atoms.cheap_orders

    @property
    def anchors(self) -> tuple[float, ...]:
        """Return its losses, unless there are many."""
        return self.atoms.anchors

    def tails(self, losses: Array) -> Tails:
        """Return those of the pair."""
        return self.atoms.tails(losses)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound those of the pair."""
        return self.atoms.renyi(c)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return those of the pair."""
        return self.atoms.cumulants(c)

    def on_contour(self, c: float, t_max: float, log_error: float) -> ContourLaw:
        """Prepare the pair."""
        return self.atoms.on_contour(c, t_max, log_error)

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K of the pair."""
        return self.atoms.log_mgf_estimate(z)

    def log_ratio(self) -> LogRatio | None:
        """Return that of the pair."""
        return self.atoms.log_ratio()
