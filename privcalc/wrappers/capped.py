"""Poisson samples of which only so many records are kept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.errors import UnsupportedError
from privcalc.wrappers.base import spelled, wrappers_in
from privcalc.wrappers.runs import refuse_runs

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.exact import Enclosed
    from privcalc.losses.law import LossLaw
    from privcalc.relation import Adjacency
    from privcalc.spec.tree import Wrapped
    from privcalc.wrappers.base import Walk

# Binomial probabilities are exact to here; larger data sets are not known.
MOST_RECORDS = 2**31
# Samples that are too large more rarely than this count as if they told everything.
RAREST = 1e-250


def capped(
    tree: Wrapped,
    exact: Enclosed,
    cap: tuple[int, int],
    question: tuple[Adjacency, int],
    walk: Walk,
) -> Terms:
    """Return the laws above and below of a Poisson sample with a cap, in one direction.

    Of the n records of the larger data set each is drawn with probability q, and where more than B
    are drawn, a uniformly random B of them are kept. Let s ~ Binomial(n - 1, q) of the other
    records be drawn. Where s < B, which has probability 1 - w, the record is in with probability q,
    and the cap does nothing. Where s >= B, the batch T without the record is a uniformly random set
    of B others, also given s; with it, the record takes the place of a uniformly random member of T
    with probability q B / (s + 1), the mean of which over s >= B is

        q' = (B / n) P(Binomial(n, q) > B) / w.

    Let the event be mu-GDP for one record. One for another is two records, 2 mu-GDP, so that given
    T an event of probability y without the record has at most (1 - q') y + q' G_{2 mu}(y) with it,
    and given s < B and the sample at most (1 - q) y + q G_mu(y). By joint convexity the sampled
    events of mu at q and of 2 mu at q', one of them by a public coin with weights 1 - w and w, are
    a pair that dominates, in either order (Chua and others 2024, arXiv 2411.04205, and Ganesh 2025,
    arXiv 2508.15089, have a record that moves to either side at mu each where it is one side at
    2 mu here). It is not known to be attained. Below is the record among others that add nothing:
    it is in a batch with probability (1 - w) q + w q'.

    Args:
        tree: the node of the sampling.
        exact: q.
        cap: B < n, and n.
        question: the direction, and the size of the group.
        walk: knows what the event costs.

    Raises:
        UnsupportedError: a group, another sampling inside, or noise that is not Gaussian.
    """
    from privcalc.engine.terms import one_law
    from privcalc.losses.closed.gaussian import GaussianLaw
    from privcalc.losses.sampled.law import sampled
    from privcalc.relation import Adjacency

    adjacency, records = question
    if records > 1:
        raise UnsupportedError(
            f"@group of {spelled(tree)} with max is not available: how many of the group are kept"
            " depends on the others"
        )
    refuse_runs(tree, tree.event, walk, "a cap is known for one step")
    inside = wrappers_in(tree.event)
    if inside:
        raise UnsupportedError(
            f"@{inside[0].spelling} inside {spelled(tree)} with max is not available"
        )
    law = one_law([(term.law, count) for term, count in walk.terms(tree.event, adjacency, 1)])
    if not isinstance(law, GaussianLaw):
        raise UnsupportedError(f"{spelled(tree)} with max is known for gaussian and gdp only")
    remove = adjacency is Adjacency.REMOVE
    odds = Odds(exact, *cap)
    low, high = law.ends
    double = GaussianLaw.of(high.enclosure * 2).ends[1]
    below = sampled(low, odds.least_rate, remove=remove)
    once = sampled(high, odds.q, remove=remove)
    twice = sampled(double, odds.other_rate, remove=remove)
    return _coin(odds, once, twice, below)


class Odds:
    """How likely the cap binds, and the record is in, with q between two doubles.

    Attributes:
        q: the probability with which a record is drawn, or a little more.
        binds: bounds on w.
        free: bounds on 1 - w.
        other_rate: q', or a little more; at most q B / (B + 1).
        least_rate: (1 - w) q + w q', or a little less.
    """

    def __init__(self, exact: Enclosed, most: int, size: int) -> None:
        """Take q > 0, B and n > B."""
        from privcalc.numerics.binomials import binomial_tails

        low, self.q = exact.doubles()
        ends = []
        for q in (low, self.q):
            if q == 1.0:
                ends.append((((1.0, 1.0), (0.0, 0.0)), (1.0, 1.0)))
            else:
                over = binomial_tails(size, most + 1, q)[0]
                ends.append((binomial_tails(size - 1, most, q), over))
        (first, over), (last, over_high) = ends
        # Both probabilities increase with q.
        self.binds = first[0][0], last[0][1]
        self.free = last[1][0], first[1][1]
        share, slack = most / size, 1e-15
        rate = self.q * most / (most + 1.0) * (1.0 + slack)
        if self.binds[0] > 0.0:
            rate = min(rate, share * over_high[1] / self.binds[0] * (1.0 + slack))
        self.other_rate = min(rate, 1.0)
        least = low * self.free[0] + share * over[0]
        self.least_rate = min(max(least * (1.0 - slack), 0.0), low)


def _coin(odds: Odds, once: LossLaw, twice: LossLaw, below: LossLaw) -> Terms:
    """Return the pair of the coin; a side of it that hardly ever comes up tells everything."""
    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.sampled.coin import CoinLaw
    from privcalc.losses.term import Term

    rare = odds.binds[1] < RAREST, odds.free[1] < RAREST
    if any(rare):
        lost = AtomicLaw((0.0,), (1.0,), RAREST, infinity_mass_error=0.0, lower_masses=(1.0,))
        nothing = AtomicLaw((0.0,), (1.0,), loss_units=0.0, lower_masses=(1.0,))
        return [(Term(once if rare[0] else twice, below), 1), (Term(lost, nothing), 1)]
    middles = [0.5 * (low + high) for low, high in (odds.free, odds.binds)]
    error = max(
        (high - low) / low if low > 0.0 else math.inf for low, high in (odds.free, odds.binds)
    )
    if not error < 1e-3:
        raise UnsupportedError("how often the cap binds is not known to three digits")
    return [(Term(CoinLaw((once, twice), (middles[0], middles[1]), error), below), 1)]
