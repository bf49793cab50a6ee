"""Words that the formats for people share: numbers, assumptions, verdicts."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from privcalc.bounds import Verdict
from privcalc.spec.spelling import number_text

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.relation import Relation

UNKNOWN = "unknown"
"""Stands in tables for a lower end that nothing proves; an empty cell would shift columns."""

_SAMPLING = {
    "none": ("none", "every step uses every record"),
    # One word for the whole: some parts of a sum may be sampled and others not.
    "Poisson": (
        "Poisson where sampled",
        "each record joins each batch independently; not shuffling",
    ),
    "fixed size without replacement": (
        "fixed size without replacement where sampled",
        "each batch is drawn by lot, anew; not shuffling",
    ),
}
_RELATION = {
    "add_or_remove_one": "one data set has one record more",
    "replace_one": "one record has another value",
    "replace_special": "one record is zeroed out",
}


def number(value: float) -> str:
    """Write a double so that it reads back exactly, and as briefly as that allows."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return short_exponent(number_text(value))


def short_exponent(text: str) -> str:
    """Write the exponent as brackets have it: 1e-5 for 1e-05."""
    return re.sub(r"e([+-]?)0*", lambda found: "e" + found[1].strip("+"), text)


def bracket(bound: Bound) -> str:
    """Write a bracket on one line, rounded outward."""
    lower, upper = bound.decimals()
    return f"[{lower}, {upper}]" if lower else f"at most {upper}"


def assumptions(relation: Relation, sampling: str) -> tuple[tuple[str, str], ...]:
    """Say what the numbers assume; every table shows these lines."""
    name, meaning = _SAMPLING[sampling]
    return (
        ("relation", f"{relation.text} ({_RELATION[relation.value]})"),
        ("sampling", f"{name} ({meaning})"),
    )


def sampling_name(sampling: str) -> str:
    """Name the sampling as `assumptions` does, without what it means."""
    return _SAMPLING[sampling][0]


VERDICTS = {
    Verdict.WITHIN: "within budget",
    Verdict.EXCEEDED: "over budget",
    Verdict.UNDECIDED: "undecided",
}
