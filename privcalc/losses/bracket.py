"""Two laws that enclose what is not known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw


@dataclass(frozen=True, slots=True)
class LawBracket:
    """Pairs below and above the true one in the order of their profiles.

    Attributes:
        lower: proves lower ends; None where only an upper bound is known.
        upper: proves upper ends.
        accuracy: relative error that epsilon has for what is not known of `upper`; engines need
            not be much closer.
    """

    lower: LossLaw | None
    upper: LossLaw
    accuracy: float = 0.0
