"""How parameters are declared that many mechanisms and wrappers have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privcalc.spec.entry import Parameter

if TYPE_CHECKING:
    from privcalc.spec.entry import Cost

QUERY = "unit of the query"
# The noise as a multiple of the sensitivity, in its place.
EXCLUDES = (("noise_multiplier", "sensitivity"),)


def positive(name: str, meaning: str, cost: Cost = "", **more: Any) -> Parameter:  # noqa: ANN401
    """Declare a number above 0; `more` are fields of `Parameter`."""
    return Parameter(name, meaning, minimum=0.0, open_minimum=True, cost=cost, **more)


def share(name: str, meaning: str, cost: Cost = "", **more: Any) -> Parameter:  # noqa: ANN401
    """Declare a number from 0 to 1, such as a probability."""
    return Parameter(name, meaning, minimum=0.0, maximum=1.0, cost=cost, **more)


def whole(
    name: str,
    meaning: str,
    cost: Cost = "",
    *,
    most: int | None = None,
    **more: Any,  # noqa: ANN401
) -> Parameter:
    """Declare a whole number from 1 on."""
    top = None if most is None else float(most)
    found: dict[str, Any] = {"minimum": 1.0, "maximum": top} | more
    return Parameter(name, meaning, kind="integer", cost=cost, **found)


def deviation(
    meaning: str = "standard deviation of the noise",
    cost: Cost = "decreases",
    unit: str = QUERY,
    **more: Any,  # noqa: ANN401
) -> Parameter:
    """Declare sigma: more noise is less noise with independent noise added, and hides more."""
    return positive("standard_deviation", meaning, cost, short="sigma", unit=unit, **more)


def sensitivity(norm: str = "", meaning: str = "", unit: str = QUERY) -> Parameter:
    """Declare by how much a query moves; neighbours of a smaller one are among those of a larger.

    Args:
        norm: in which it is measured, for one that a query has.
        meaning: of another one.
        unit: that of what moves.
    """
    meaning = meaning or f"most that the query changes between neighbours{norm}"
    return positive("sensitivity", meaning, "increases", default=1.0, contribution=True, unit=unit)
