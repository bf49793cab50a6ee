"""Engines do not contradict each other where a data-adaptive mechanism is inside."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.engine.test_engine_pairs import QUICK, faults
from tests.random_adaptive import AdaptiveGenerator

if TYPE_CHECKING:
    from pathlib import Path

ENGINES = {**QUICK, "rdp": 1e-9}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "every"),
    [(2, 2), *(pytest.param(seed, 1, marks=pytest.mark.slow) for seed in range(15))],
)
def test_engines_meet_around_adaptive_mechanisms(seed: int, every: int, tmp_path: Path) -> None:
    """135 compositions, 15 with each mechanism: `auto` answers, and all brackets meet.

    The default run has five.
    """
    generator = AdaptiveGenerator(random.Random(seed), tmp_path)
    kinds = list(generator.kinds)[::every]
    found = [fault for kind in kinds for fault in faults(generator.around(kind), ENGINES)]
    assert found == []
