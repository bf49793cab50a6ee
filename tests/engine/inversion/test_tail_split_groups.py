"""Groups of records on the split contour, against long contours of the whole law."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from privcalc.engine.composition import Composition
from privcalc.engine.inversion.solve import TailSplit
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from tests.engine.inversion.sampled_cases import delta_by, holds
from tests.truths import relative

CELLS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "oracles" / "groups.json").read_text()
)["cells"]


pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.few(3)
@pytest.mark.parametrize("row", CELLS, ids=str)
def test_delta_is_that_of_a_long_contour(row: dict[str, Any]) -> None:
    """Whole laws in 80-bit numbers, two contours: all the digits on which they agree."""
    sigma, q, k, count, remove = row["law"]
    law = GaussianMixtureLaw(1.0 / float(sigma), float(q), k, remove)
    composition, epsilon = Composition.of([(law, count)]), float(row["epsilon"])
    if remove:
        found = delta_by(TailSplit(composition), epsilon, 1e-9)
    else:
        found = certified_delta(composition, epsilon, 1e-9)
    assert holds(found.bound, row["delta"])
    # Where records are added no loss is large, and removing costs more.
    assert relative(found.bound) <= (1e-6 if remove else 1e-2)


def test_groups_and_single_records_go_together() -> None:
    """One cut for each law, and a Gaussian whole; through the front door."""
    laws = [
        (GaussianMixtureLaw(1.0, 1e-3, 3, remove=True), 200),
        (sampled(GaussianLaw(0.8), 0.01, remove=True), 50),
        (GaussianLaw(0.1), 1),
    ]
    composition = Composition.of(laws)
    found = certified_epsilon(composition, 1e-6, 1e-9)
    assert found.engine == "contour"
    assert relative(found.bound) <= 1e-6
    assert found.bound.lower is not None
    assert delta_by(TailSplit(composition), found.bound.lower, 1e-9).bound.upper >= 1e-6
    assert (delta_by(TailSplit(composition), found.bound.upper, 1e-9).bound.lower or 0.0) <= 1e-6


def test_large_groups_are_left_to_others() -> None:
    """Panels would be too narrow; the FFT engine answers."""
    law = GaussianMixtureLaw(0.5, 1e-3, 60, remove=True)
    assert not law.properties.supports_tail_split
    with pytest.raises(NotCertifiedError):
        TailSplit(Composition.of([(law, 100)])).epsilon(1e-6, 1e-6, 1e-9)
