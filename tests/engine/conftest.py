"""What many tests of engines ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def quiet() -> Iterator[None]:
    """Let arithmetic overflow without warnings, as the planner does."""
    with np.errstate(all="ignore"):
        yield
