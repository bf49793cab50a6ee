"""Forty-two DpEvents, made with the library itself, and what its own accountants say of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dp_accounting.dp_event import DpEvent


def events() -> Iterator[DpEvent]:
    """Yield events of every kind that is accounted for, alone and together."""
    from dp_accounting import dp_event as dp

    gaussian, laplace = dp.GaussianDpEvent(1.3), dp.LaplaceDpEvent(2.5)
    yield from (dp.GaussianDpEvent(sigma) for sigma in (0.7, 1, 3.25, 1 / 3))
    yield from (dp.LaplaceDpEvent(scale) for scale in (0.9, 4))
    yield from (dp.DiscreteLaplaceDpEvent(a, c) for a, c in ((0.1, 1), (0.25, 3), (1 / 7, 2)))
    yield from (dp.RandomizedResponseDpEvent(p, k) for p, k in ((0.3, 2), (0.55, 7), (0.1, 26)))
    yield from (dp.ZCDpEvent(rho, xi) for rho, xi in ((0.02, 0.0), (0.5, 0.1)))
    yield dp.ZCDpEvent(0.3)
    for q, sigma, count in (
        (256 / 60000, 1.1, 14063),
        (0.01, 0.8, 1000),
        (1e-4, 0.6, 5000),
        (0.5, 4.0, 20),
        (1.0, 2.0, 3),
        (0.02, 2.0, 1),
    ):
        sampled = dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(sigma))
        yield dp.SelfComposedDpEvent(sampled, count)
    yield dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.1, laplace), 30)
    yield dp.PoissonSampledDpEvent(0.3, laplace)
    yield dp.SelfComposedDpEvent(gaussian, 1)
    yield dp.SelfComposedDpEvent(gaussian, 17)
    yield dp.SelfComposedDpEvent(laplace, 12)
    yield dp.SelfComposedDpEvent(dp.DiscreteLaplaceDpEvent(0.2, 2), 9)
    yield dp.SelfComposedDpEvent(dp.RandomizedResponseDpEvent(0.4, 3), 5)
    yield dp.SelfComposedDpEvent(dp.SelfComposedDpEvent(gaussian, 3), 4)
    yield dp.SelfComposedDpEvent(dp.ComposedDpEvent([gaussian, dp.GaussianDpEvent(2.0)]), 6)
    yield dp.ComposedDpEvent([gaussian, dp.NoOpDpEvent(), laplace])
    yield dp.ComposedDpEvent(
        [dp.DiscreteLaplaceDpEvent(0.3, 1), dp.SelfComposedDpEvent(laplace, 2)]
    )
    yield dp.ComposedDpEvent(
        [
            dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 500),
            dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.02, dp.GaussianDpEvent(1.5)), 100),
        ]
    )
    yield dp.ComposedDpEvent([dp.ZCDpEvent(0.1), dp.GaussianDpEvent(5.0)])
    yield dp.ComposedDpEvent([dp.RandomizedResponseDpEvent(0.5, 2), dp.ZCDpEvent(0.05)])
    pair = dp.ComposedDpEvent([dp.GaussianDpEvent(3.0), dp.GaussianDpEvent(4.0)])
    yield dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.05, pair), 10)
    once = dp.SelfComposedDpEvent(dp.GaussianDpEvent(6.0), 2)
    yield dp.PoissonSampledDpEvent(0.2, once)
    yield dp.TruncatedSubsampledGaussianDpEvent(100, 0.1, 12, 1.5)
    yield dp.MixtureOfGaussiansDpEvent(2.0, [0, 1], [0.5, 0.5])
    yield from (
        dp.RepeatAndSelectDpEvent(dp.GaussianDpEvent(4.0), mean, shape)
        for mean, shape in ((30, 1), (10.0, math.inf), (5, 0.5))
    )


def peer(event: DpEvent, relation: Relation | None, delta: float) -> float:
    """Return the epsilon of the library, rounded up: by its loss distribution, else by Renyi."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    known = {
        None: NeighboringRelation.ADD_OR_REMOVE_ONE,
        Relation.ADD_OR_REMOVE_ONE: NeighboringRelation.ADD_OR_REMOVE_ONE,
        Relation.REPLACE_ONE: NeighboringRelation.REPLACE_ONE,
    }
    accountants = (
        PLDAccountant(known[relation]),
        RdpAccountant(neighboring_relation=known[relation]),
    )
    # Version 0.6.0 of the first takes several uses of randomized response for one.
    several = "SelfComposedDpEvent(event=RandomizedResponse" in repr(event)
    accountant = next(each for each in accountants[several:] if each.supports(event))
    return float(accountant.compose(event).get_epsilon(delta))
