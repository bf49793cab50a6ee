"""What a privacy-loss law is: one direction of one dominating pair, seen by the engines.

L = log dP/dQ drawn from P. The central object is K(s) = log E_P[e^{sL}; L finite] on a vertical
line Re s = c: at real s it is Renyi DP of order s + 1, on the line it is what the Fourier
accountant integrates. Masses at infinity stay outside K.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.losses.log_ratio import LogRatio
    from privcalc.losses.revival import Revival
    from privcalc.losses.tails import Tails
    from privcalc.numerics.arrays import Array, ComplexArray


class ContourLaw(Protocol):
    """A loss law prepared for the nodes c + it, |t| <= t_max, of one contour."""

    @property
    def size(self) -> int:
        """The work for one t, in complex exponentials."""
        ...

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) and a bound on the absolute error of each value.

        The imaginary part is correct modulo 2 pi.
        """
        ...

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return the same at t = k step, k < count; `step` has few bits, so t is exact."""
        ...

    def modulus_supremum(self, t: float) -> float:
        """Return a proved upper bound on sup over tau >= t of |M(c + i tau)| / M(c)."""
        ...

    @property
    def revival(self) -> Revival | None:
        """Return where |phi| comes back, with a bound in between; None where that is not known.

        A law that has this has a `modulus_supremum` of 1.
        """
        ...


class LossLaw(Protocol):
    """One direction of one dominating pair.

    A law may also say what no finite number of evaluations proves, in `concentration` and
    `gaussian_range` (`losses/concentration.py`).

    Attributes:
        infinity_mass: P(L = +inf), not part of K.
        lower_infinity_mass: Q(L = -inf), not part of K.
        log_dropped_mass: log of an upper bound on the P-mass of finite losses that this law
            leaves out; -inf unless it comes from `truncated`.
        max_loss: an upper bound on the finite losses, attained or approached; may be infinite.
        cheap_orders: whether `renyi` costs a few array operations for thousands of orders.
    """

    @property
    def cheap_orders(self) -> bool:
        """Whether `renyi` is a closed form, or as good as one."""
        ...

    @property
    def infinity_mass(self) -> float:
        """P(L = +inf)."""
        ...

    @property
    def lower_infinity_mass(self) -> float:
        """Q(L = -inf)."""
        ...

    @property
    def log_dropped_mass(self) -> float:
        """Log of a bound on the P-mass that a truncated law leaves out; -inf for none."""
        ...

    @property
    def infinity_mass_error(self) -> float:
        """Relative error of `infinity_mass`."""
        ...

    @property
    def max_loss(self) -> float:
        """The largest finite loss, or an upper bound that is approached."""
        ...

    @property
    def max_loss_error(self) -> float:
        """Relative error of `max_loss` as the supremum of the finite losses; 0 if exact."""
        ...

    def profile(self, epsilon: float) -> tuple[float, float] | None:
        """Return proved bounds on the finite part of delta at epsilon >= 0; None if not known."""
        ...

    @property
    def anchors(self) -> tuple[float, ...]:
        """Finite losses that carry an atom or nearly one, increasing; at most 64, else none."""
        ...

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """A loss and the step of a lattice that holds all losses exactly; None if none is known."""
        ...

    def tails(self, losses: Array) -> Tails:
        """Return the P- and Q-masses above and below each of increasing losses."""
        ...

    def truncated(self, log_mass: float) -> LossLaw:
        """Leave out far outcomes of total P-mass at most exp(log_mass).

        Outcomes of probability e^{-1000} can dominate M(c) and have no part in the answer.
        """
        ...

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K(c), K'(c), K''(c) to about 1e-9, for searches only: no certificate.

        K(c) is infinite where its evaluation on the contour would overflow.
        """
        ...

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return proved lower and upper bounds on K(c) = c D_{c+1}(P || Q) at real c > 0.

        They hold for the whole law, with nothing truncated; masses at infinity stay outside K,
        which they may make negative. Both are infinite where K is, and the upper one where
        nothing finite is proved.

        Args:
            c: orders minus 1, of any shape (n,).
        """
        ...

    def on_contour(self, c: float, t_max: float, log_error: float) -> ContourLaw:
        """Prepare |t| <= t_max, with quadrature error of M at most exp(log_error) M(c).

        Raises:
            NotCertifiedError: the quadrature cannot be made that accurate.
        """
        ...

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points, without error bound (for the published quadrature)."""
        ...

    def log_ratio(self) -> LogRatio | None:
        """Return the law of log dQ/dP under P, which subsampling needs; None if unknown."""
        ...
