"""Words that the formats for people share: numbers, assumptions, verdicts."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict, round_down, round_up
from privcalc.render.assumed import relation_words, sampling_words
from privcalc.render.report import OneSided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.render.report import Number, Report

UNKNOWN = "unknown"
"""Stands in tables for a lower end that nothing proves; an empty cell would shift columns."""

NONE = "-"
"""Stands in tables for a number that a method does not have."""

COLUMNS = {"orders": "order", "methods": "at most", "constants": "C", "name": "mechanism"}
"""Columns whose heading is not their name."""

METHODS = {
    "rdp_classic": "RDP, classic",
    "rdp_best": "RDP, best",
    "rdp": "RDP",
    "liu_talwar": "Liu-Talwar",
    "pure": "pure DP",
}
"""Headings of rival methods."""

_CONVERSIONS = {
    "classic": "converted as in Mironov 2017",
    "balle": "converted as in Balle et al. 2020",
    "optimal": "converted optimally (Asoodeh et al. 2021)",
    "trade_off": "converted by the trade-off function of all orders",
}


def number(value: float) -> str:
    """Write a double so that it reads back exactly, and as briefly as that allows."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return short_exponent(
        repr(value if isinstance(value, int) else float(value)).removesuffix(".0")
    )


def short_exponent(text: str) -> str:
    """Write the exponent as brackets have it: 1e-5 for 1e-05, and none for e+00."""
    return re.sub(
        r"e([+-]?)0*([0-9]*)", lambda f: f"e{f[1].strip('+')}{f[2]}" if f[2] else "", text
    )


def bracket(bound: Bound) -> str:
    """Write a bracket on one line, rounded outward."""
    lower, upper = bound.decimals()
    return f"[{lower}, {upper}]" if lower else f"at most {upper}"


def one_sided(value: OneSided) -> str:
    """Write a bound, rounded to its safe side; at 10 digits five columns fit 80 characters."""
    return (round_up if value.is_upper else round_down)(value.value)


def named(value: Number | str) -> str:
    """Write one of several named numbers; a bracket counts as its upper end."""
    if isinstance(value, str):
        return value
    if isinstance(value, Bound):
        return round_up(value.upper)
    return one_sided(value) if isinstance(value, OneSided) else number(value)


def assumptions(report: Report, *, paper: bool = False) -> tuple[tuple[str, str], ...]:
    """Say what the numbers assume; every table shows these lines, and so does a paper."""
    return (
        ("relation", relation_words(report.relation, report.spec)),
        ("sampling", sampling_words(report, paper=paper)),
        *((("caution", report.caution),) if report.caution else ()),
    )


def title(reports: Sequence[Report]) -> str:
    """Return the specification, with a hole for what answers do not share (of a sweep, say)."""
    first, *rest = dict.fromkeys(report.text for report in reports)
    parts = re.split(r"([@+:,=()])", first)
    for text in rest:
        others = re.split(r"([@+:,=()])", text)
        if len(others) != len(parts):
            return first
        parts = [a if a == b else "_" for a, b in zip(parts, others, strict=True)]
    return "".join(parts)


def remarks(reports: Sequence[Report]) -> list[tuple[str, str]]:
    """Return what stands below the tables of the answers to one question, each line once."""
    return list(dict.fromkeys(remark for report in reports for remark in report.remarks))


def renyi_remark(order: float, conversion: str) -> str:
    """Say which Renyi order proved a number, and how it was converted."""
    return f"Renyi divergence of order {order:.6g}, {_CONVERSIONS[conversion]}"


VERDICTS = {
    Verdict.WITHIN: "within budget",
    Verdict.EXCEEDED: "over budget",
    Verdict.UNDECIDED: "undecided",
}
