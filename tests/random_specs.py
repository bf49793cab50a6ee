"""What random specifications are drawn by."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    """Return a number whose log is uniform, with few digits."""
    return float(f"{low * (high / low) ** rng.random():.3g}")
