"""Array types in signatures, and the points of a vertical line."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.floating[Any]]
ComplexArray: TypeAlias = npt.NDArray[np.complexfloating[Any, Any]]
Mask: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[np.integer[Any]]


def vertical(abscissa: float, t: Array) -> ComplexArray:
    """Return the points abscissa + i t of a vertical line, exactly."""
    points: ComplexArray = np.empty(t.shape, np.complex128)
    points.real, points.imag = abscissa, t
    return points
