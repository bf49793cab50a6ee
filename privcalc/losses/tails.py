"""Masses of a loss law on both sides of given losses: all that the FFT engine knows of a law."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array


@record
class Tails:
    """P- and Q-masses of the finite losses above and below each of an array of losses l.

    The numbers belong to a law whose losses are displaced from the true ones by at most `shift`,
    under P and Q alike, and each is correct to the relative error `error`: rounding in the map
    from losses to outcomes is reported backward, as a displacement of the loss. An atom may thus
    be counted on either side of an l that is within `shift` of it. The four numbers of one l are
    the masses of one set of outcomes and of its complement: P(A) - a Q(A) is at most the profile
    at a for any set A, but not if P and Q measure sets that are displaced differently.

    Attributes:
        above_p: P(l < L < inf).
        above_q: Q(l < L).
        below_p: P(L <= l).
        below_q: Q(-inf < L <= l).
        error: relative error of each of the four, one number or one for each l.
        shift: displacement of the losses, at most.
        between_p: P-mass between neighbouring l, where a law can tell it without forming a
            difference; one element less than the others, or None.
        between_q: the same for Q.
        between_error: relative error of both; infinite where they are not known.
    """

    above_p: Array
    above_q: Array
    below_p: Array
    below_q: Array
    error: float | Array
    shift: float
    between_p: Array | None = None
    between_q: Array | None = None
    between_error: Array | None = None
