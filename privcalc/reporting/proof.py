"""Which Renyi order proved a number, where nothing better did."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.accounting.answer import Method


def proof(method: Method, query: Mapping[str, float]) -> tuple[tuple[str, str], ...]:
    """Name the Renyi order that proved an answer, as a remark; none where there was none."""
    if method.order is None:
        return ()
    from privcalc.render.words import renyi_remark
    from privcalc.render.written import written

    at = "".join(f"at {name} {written(value)}: " for name, value in query.items())
    return (("proof", at + renyi_remark(method.order, method.conversion)),)
