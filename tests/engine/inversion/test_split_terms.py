"""What a split charges for measures that it does not sum, made so large that it counts."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from privcalc.engine.composition import Composition
from privcalc.engine.inversion import solve, tail_lines
from privcalc.engine.inversion.line_sum import Closed, Exponential
from privcalc.engine.inversion.solve import TailSplit, split
from privcalc.engine.inversion.tail_lines import Frame
from privcalc.engine.inversion.tail_search import Parts
from privcalc.engine.lists.factor import ListLaw
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.sampled.law import sampled
from tests.engine.inversion.test_truncated_terms import MU, RATE, USES, two_samples

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize("rate", [-3.0, -0.25, 0.0, 1.0, 4.0])
def test_a_bound_moves_with_epsilon(rate: float) -> None:
    """It is e^{log_size + rate epsilon} in units of the scale, rounded up, on both sides of 0."""
    epsilons = np.array([-1.5, 0.0, 0.75, 2.0])
    found = Exponential(-2.0, rate).at(epsilons, -1.0)
    truth = np.exp(-1.0 + rate * epsilons)
    assert (truth <= found).all()
    assert (found <= truth * (1.0 + 1e-8)).all()


def cut(r: float, w: float, error: float) -> Any:
    """Return a sampled law with these tails beyond its cut."""
    law = SimpleNamespace(rate=0.25)
    return SimpleNamespace(whole=False, tails=(r, w, error), law=law)


class Whole(ListLaw):
    """A list that stays whole, of these masses of finite losses."""

    def __init__(self, p: float, q: float) -> None:
        """Take the masses."""
        self.found, self.masses = None, (p, q, 0.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_tails_that_are_off(sign: float) -> None:
    """The probability that some use is beyond is as far off as all tails are at once."""
    r, w, error, epsilon = 0.01, 0.2, 1e-3, 0.3
    closed = Closed.of([(cut(r, w, error), 3), (cut(r, w, error), 2)], [])
    moved = [each * (1.0 + sign * error) for each in (r, w)]
    p = 1.0 - (1.0 - 0.75 * moved[0] - 0.25 * moved[1]) ** 5
    truth = p - math.exp(epsilon) * (1.0 - (1.0 - moved[0]) ** 5)
    found = closed.deltas(np.array([epsilon]), 0.0)
    assert found.lower[0] <= truth <= found.upper[0]
    assert found.upper[0] - found.lower[0] < 6.0 * error * p


def test_every_use_of_a_whole_law_is_finite() -> None:
    """On the paths that are split none of its uses is infinite, under P and under Q."""
    closed = Closed.of([(cut(0.01, 0.2, 0.0), 3)], [(Whole(0.9, 0.97), 4), (Whole(0.95, 1.0), 2)])
    finite = 0.9**4 * 0.95**2
    assert closed.p == pytest.approx((1.0 - (1.0 - 0.75 * 0.01 - 0.05) ** 3) * finite, rel=1e-12)
    assert closed.q == pytest.approx((1.0 - 0.99**3) * 0.97**4, rel=1e-12)


def test_a_side_that_is_called_negligible(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not summed of it is charged, however much it is."""
    epsilon, original = 2.0, tail_lines.skipped
    truth = two_samples(epsilon)

    def skipped(frame: Frame, start: float, *, right: bool) -> Exponential | None:
        with monkeypatch.context() as patch:
            patch.setattr(Frame, "log_target", property(lambda _: 1e9))
            return original(frame, start, right=right)

    monkeypatch.setattr(solve, "skipped", skipped)
    composition = Composition(((sampled(GaussianLaw(MU), RATE, remove=True), USES),))
    parts = Parts.of(composition)
    assert parts is not None
    choice = TailSplit(composition)._search.at(epsilon, 1e-4 * truth, 1.0)
    assert choice.left is not None
    found = split(parts, choice, epsilon, math.log(truth), 1e-3)
    deltas = found.deltas(np.array([epsilon]), 0.0)
    assert deltas.lower[0] <= truth <= deltas.upper[0]
    # What is summed is too little by itself.
    assert deltas.value[0] < truth * (1.0 - 1e-3)
