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


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(15) if seed != 1)]
)
def test_engines_meet_around_adaptive_mechanisms(seed: int, tmp_path: Path) -> None:
    """135 compositions, 15 with each mechanism: `auto` answers, and all brackets meet."""
    generator = AdaptiveGenerator(random.Random(seed), tmp_path)
    found = [fault for kind in generator.kinds for fault in faults(generator.around(kind), ENGINES)]
    assert found == []
