"""Releases of what does not change nearby."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.mechanisms.adaptive.ptr import BIT, ProposeTestRelease
from privcalc.spec.entry import deviation, positive
from privcalc.spec.registry import Parameter, mechanism
from privcalc.spec.tree import Leaf

if TYPE_CHECKING:
    from privcalc.spec.tree import Parameters


@mechanism(
    name="stability",
    place=89,
    parameters=(
        positive("scale", "scale of Laplace noise on the distance"),
        deviation(
            "standard deviation of Gaussian noise on the distance, instead", cost="", unit=""
        ),
        # Unstable data are let pass by tails of the noise.
        Parameter(
            "threshold", "what the noisy distance must exceed", minimum=0.0, cost="decreases"
        ),
    ),
    one_of=(("scale",), ("standard_deviation",)),
    example="stability:scale=2,threshold=40",
)
class Stability(ProposeTestRelease):
    """Distance to instability: an answer without noise, published where it is stable.

    The distance is the number of records that have to change until some neighbour has another
    answer: 0 where one has, and at most one more or less for a neighbour. Any number will do that
    is at most 0 where a neighbour has another answer, and that changes by at most 1. With noise
    added, the answer is published where that exceeds the threshold, and nothing otherwise
    (Thakurta, Smith 2013; Zhu, Dong, Wang 2022, Examples 3.2.1 and 3.2.3).

    Either both neighbours have one answer, and what tells them apart is whether it was published,
    which costs no more than the noise; or they have not, and with the probability p of the noise to
    exceed the threshold everything is lost, which costs p at most.
    No pair of data sets does both. The law is that of the larger of both profiles: `ptr` with the
    noise for its test, nothing for its mechanism, and mode=bit.

    Attributes:
        parts: the noise, and nothing.
        failure: p.
        mode: `bit`.
    """

    def __init__(
        self,
        *,
        threshold: float,
        scale: float | None = None,
        standard_deviation: float | None = None,
    ) -> None:
        """Take the noise on the distance."""
        noise: Parameters
        if scale is not None:
            name, noise = "laplace", (("scale", scale),)
        else:
            name, noise = "gaussian", (("standard_deviation", standard_deviation or 0.0),)
        nothing = Leaf("pure", (("epsilon", 0.0),))
        super().__init__(test=Leaf(name, noise), mechanism=nothing, threshold=threshold, mode=BIT)
