"""What certificates of the inversion truncate, made so large that leaving a term out shows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privcalc.engine.composition import Composition
from privcalc.engine.inversion.line_sum import log_cut
from privcalc.engine.inversion.solve import Decaying, TailSplit, split
from privcalc.engine.inversion.tail_search import Parts
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.sampled.law import SampledLaw, sampled
from privcalc.record import replace
from tests.truths import sampled_delta

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize("log_decay", [0.0, -5.0])
def test_a_line_is_cut_by_no_more_than_its_sum(log_decay: float) -> None:
    """The sum of what may be beyond, node by node, is nearly attained for small steps."""
    step, nodes = 0.02, 1000
    t = step * np.arange(nodes + 1, 400 * nodes)
    true = step / math.pi * float((np.exp(log_decay) / (t * t)).sum())
    assert true <= math.exp(log_cut(log_decay, (nodes + 0.5) * step)) <= 1.01 * true


@pytest.mark.parametrize("epsilon", [0.2, 0.6])
def test_what_laws_leave_out_is_added(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the outcomes is truncated: the line knows less than the closed form says."""
    law = sampled(GaussianLaw(1.5), 0.3, remove=True)
    assert isinstance(law, SampledLaw)
    cut = Composition(((law.truncated(math.log(0.01)), 1),))
    truth = float(sampled_delta(1.5, 0.3, epsilon))
    monkeypatch.setattr(Composition, "truncated", lambda self, _: self)
    source = Decaying(cut).make(epsilon, math.log(truth), 0.2, 2.0)
    found = source.deltas(np.array([epsilon]), 0.0)
    dropped = float(found.terms["dropped"][0])
    assert 0.005 <= dropped <= 0.02
    # It is what keeps the bracket true.
    assert found.lower[0] <= truth <= found.upper[0]
    assert truth > found.upper[0] - dropped


MU, RATE, USES = 1.5, 0.3, 2


def two_samples(epsilon: float) -> float:
    """Return delta of two uses by sums over a fine grid in the plane."""
    x = np.linspace(-9.0, 9.0 + MU, 3001)

    def normal(mean: float) -> Any:
        return np.exp(-0.5 * (x - mean) ** 2) / math.sqrt(2.0 * math.pi)

    q, p = normal(0.0), (1.0 - RATE) * normal(0.0) + RATE * normal(MU)
    payoff = np.maximum(np.outer(p, p) - math.exp(epsilon) * np.outer(q, q), 0.0)
    return float(payoff.sum()) * float(x[1] - x[0]) ** 2


@pytest.mark.parametrize(
    ("low", "far", "level"),
    [
        # Of outcomes below the cuts' low ends the right side knows nothing.
        (0.3, None, 1.0),
        # Of outcomes beyond their far ends the left side knows nothing.
        (None, 0.1, 0.4),
    ],
)
def test_outcomes_outside_of_a_split_are_counted(
    low: float | None, far: float | None, level: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So much is truncated that the bracket would be false without the bounds on it."""
    epsilon, original = 2.0, Parts.cut

    def cut(self: Parts, level: float, log_rare: float) -> Any:
        cuts = original(self, level, log_rare if low is None else math.log(low))
        nearer = cuts if far is None else original(self, level, math.log(far))
        return tuple(
            (replace(one, far=max(one.top, other.far)), n)
            for (one, n), (other, _) in zip(cuts, nearer, strict=True)
        )

    monkeypatch.setattr(Parts, "cut", cut)
    composition = Composition(((sampled(GaussianLaw(MU), RATE, remove=True), USES),))
    truth = two_samples(epsilon)
    parts = Parts.of(composition)
    assert parts is not None
    choice = TailSplit(composition)._search.at(epsilon, 1e-4 * truth, 1.0)
    choice = replace(choice, level=level * choice.level)
    found = split(parts, choice, epsilon, math.log(truth), 1e-3)
    deltas = found.deltas(np.array([epsilon]), 0.0)
    outside = max(float(each.at(np.array([epsilon]), 0.0)[0]) for each in found.above)
    assert deltas.lower[0] <= truth * (1.0 + 1e-6)
    assert truth * (1.0 - 1e-6) <= deltas.upper[0]
    # The largest of them is what keeps it true.
    assert truth > (deltas.upper[0] - outside) * (1.0 + 1e-3)
