"""Propose-test-release, and distance to instability."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism, noise_tail
from privcalc.spec.entry import deviation, positive
from privcalc.spec.registry import Parameter, mechanism
from privcalc.spec.tree import Leaf

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.terms import Terms
    from privcalc.losses.law import Term
    from privcalc.spec.tree import Node, Parameters

BIT = "bit"
MODES = ("sum", "uniform", "max", BIT)


@mechanism(
    name="ptr",
    place=88,
    parameters=(
        # More noise costs the test less, and lets more false positives through.
        Parameter("test", kind="spec", cost_unless=("threshold",)),
        Parameter("mechanism", kind="spec"),
        # More data sets fit.
        Parameter("false_positive", minimum=0.0, maximum=1.0, open_maximum=True, cost="increases"),
        # False positives are tails of the noise.
        Parameter("threshold", minimum=0.0, cost="decreases"),
        Parameter("mode", kind="choice", choices=MODES, default="sum"),
    ),
    one_of=(("false_positive",), ("threshold",)),
    example="ptr:test=(gaussian:sigma=8),mechanism=(gaussian:sigma=4),false_positive=1e-7",
)
class ProposeTestRelease(Mechanism):
    """Propose-test-release: a mechanism that runs only on data that passed a private test.

    `mechanism` is what the release costs on data for which what it proposes holds, such as a bound
    on the local sensitivity, for both orders of the neighbours: if it holds for one of two
    neighbours, their releases are dominated. `test` is any mechanism that decides whether it runs.
    Data for which the proposal does not hold pass with probability `false_positive` at most, and of
    those nothing is promised. (Redberg, Zhu, Wang 2023; Dwork, Lei 2009.)

    What else is published decides what is proved, as a profile, with T for the test and TM for its
    composition with the mechanism, and p for false_positive:

    `sum` and `uniform`: TM + p. For anything: also where what is released depends on what the test
    published, such as a bound on the sensitivity that holds with probability 1 - p.

    `max`: the larger of T + p and TM. For a proposal that is fixed before, whatever the test
    publishes.

    `bit`: the larger of p and TM. For a fixed proposal where nothing is published of the test but
    whether it passed, on which alone it depends what is released.

    A group of k records may end at data sets of which one passes more often than p, as the test
    tells k - 1 records apart; claims may depend on what is published, too
    (`selection/proposal.py`).

    All of these are below the published epsilons and deltas, which are added. In compositions p is
    the probability of an infinite loss, and TM is not scaled. The published bound on Renyi
    divergences is wrong for tests that are not pure (Theorem B.5: order 2, 5.91 and not 1.46), and
    is not used.

    `threshold` is that of classic propose-test-release: the test is Laplace or Gaussian noise of
    one query that is 0 on data for which the proposal does not hold, such as the distance to such
    data, and passes above the threshold. Then p is the tail of the noise, e^{-threshold/scale} / 2
    for Laplace noise: half of what is published.

    Lower ends are of data that pass, or of data for which the proposal does not hold.

    Attributes:
        parts: the test and the mechanism.
        failure: p.
        mode: what is published.
    """

    def __init__(
        self,
        *,
        test: Node,
        mechanism: Node,
        false_positive: float | None = None,
        threshold: float | None = None,
        mode: str = "sum",
    ) -> None:
        """Take both parts.

        Raises:
            DomainError: a threshold, and no test whose noise is known.
        """
        self.parts = (test, mechanism)
        self.mode = mode
        if threshold is None:
            self.failure = Enclosed.of(false_positive or 0.0)
        else:
            self.failure = _tail(test, threshold)

    def of_parts(
        self, parts_of: Callable[[int], tuple[dict[str, Terms], ...]], records: int
    ) -> Term:
        """Return what is known of both orders of the neighbours."""
        from privcalc.selection.proposal import proposed

        return proposed(parts_of, self.failure, self.mode, records)


def _tail(test: Node, threshold: float) -> Enclosed:
    """Return the probability that the noise of a test exceeds a threshold."""
    name, scale = _noise(test)
    ends = noise_tail(Enclosed.of(threshold) / Enclosed.of(scale), normal=name == "gaussian")
    return Enclosed(*map(Fraction, ends))


def _noise(test: Node) -> tuple[str, float]:
    key = {"laplace": "scale", "gaussian": "standard_deviation"}
    if isinstance(test, Leaf) and test.name in key:
        scale = dict(test.parameters).get(key[test.name])
        if isinstance(scale, int | float):
            return test.name, scale
    raise DomainError(
        "threshold is of a test that adds noise to one number: test=(laplace:scale=...) or"
        " test=(gaussian:sigma=...); for others write false_positive"
    )


@mechanism(
    name="stability",
    place=89,
    parameters=(
        positive("scale"),
        deviation(cost="", unit=""),
        # Unstable data are let pass by tails of the noise.
        Parameter("threshold", minimum=0.0, cost="decreases"),
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
