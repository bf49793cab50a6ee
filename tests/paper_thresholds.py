"""The epsilon_1 at which the published constants are evaluated, for tests against the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.selection.constants import binomial_paper, negative_binomial_paper
from privcalc.selection.runs import NegativeBinomialRuns, PowerRuns

if TYPE_CHECKING:
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs


def paper_threshold(runs: Runs, base: Base) -> float:
    """Return epsilon_1 of a symmetric base; 0 where there is none to choose."""
    if isinstance(runs, NegativeBinomialRuns):
        return negative_binomial_paper(runs.shape, runs.odds[1], base)[1]
    if isinstance(runs, PowerRuns):
        return binomial_paper(runs.trials, runs.chances[1], runs.chance_odds, base)[1]
    return 0.0
