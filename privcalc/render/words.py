"""Words that the formats for people share: numbers as they were written, brackets, titles."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict, round_down, round_up
from privcalc.exact import Spelled, Written, decimal_below
from privcalc.render.report import OneSided
from privcalc.spec.registry import SHOWN, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privcalc.accounting.directions import Method
    from privcalc.render.report import Number, Report


# Stands in tables for a lower end that nothing proves; an empty cell would shift columns.
UNKNOWN = "unknown"
# Stands in tables for a number that a method does not have.
NONE = "-"
# Columns whose heading is not their name, and baselines.
COLUMNS = {"orders": "order", "methods": "upper bound", "constants": "C", "name": "mechanism"}
METHODS = {
    "rdp_classic": "RDP, classic",
    "rdp_best": "RDP, best",
    "rdp": "RDP",
    "liu_talwar": "Liu-Talwar",
    "pure": "pure DP",
}
VERDICTS = {
    Verdict.WITHIN: "within budget",
    Verdict.EXCEEDED: "over budget",
    Verdict.UNDECIDED: "undecided",
    Verdict.REFUTED: "refuted",
    Verdict.COMPATIBLE: "compatible",
}
_CONVERSIONS = {
    "classic": "converted as in Mironov 2017",
    "balle": "converted as in Balle et al. 2020",
    "optimal": "converted optimally (Asoodeh et al. 2021)",
    "trade_off": "converted by the trade-off function of that order",
}

_YEOM, _DONG = "Yeom et al. 2018", "Dong, Roth, Su 2022"
_GUESSING = (
    "without the output, it is the baseline; Hayes, Mahloujifar, Balle 2023; Kulynych et al. 2025"
)
# What each column of a conversion means, and where it is from, by the target.
TARGETS: dict[str, tuple[tuple[str, str], ...]] = {
    "risk": (
        ("advantage", f"largest tpr less fpr of a membership attack ({_YEOM})"),
        ("tpr", f"largest true positive rate of an attack with that false positive rate ({_DONG})"),
        (
            "success by prior",
            "largest chance of a right guess if the record is there with this chance",
        ),
        ("success by baseline", f"largest chance of guessing a secret of a record ({_GUESSING})"),
    ),
    "tradeoff": (
        ("alpha", "false positive rate of an attack that says whether a record is there"),
        ("beta", "least false negative rate of such attacks; a large one is private"),
    ),
    "rdp": (("renyi_epsilon", "Renyi divergence of that order between neighbouring data sets"),),
    "zcdp": (("rho", "the Renyi divergence of every order is at most rho times the order"),),
    "tcdp": (("rho", "the Renyi divergence of orders up to omega is at most rho times the order"),),
    "gdp": (("mu", "no attack does better than one that tells N(mu, 1) from N(0, 1)"),),
}
# The columns of a guarantee that is known by its Renyi curve only.
CONVERTED = {
    "classic": "the same upper bound by Mironov 2017",
    "balle": "the same upper bound by Balle et al. 2020",
    "trade_off": "the same upper bound by the trade-off function of the best order",
}


def number(value: float) -> str:
    """Write a double so that it reads back exactly, and as briefly as that allows."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    plain = repr(value if isinstance(value, int) else float(value))
    return short_exponent(plain.removesuffix(".0"))


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


def title(reports: Sequence[Report]) -> str:
    """Return the specification, with _ for what answers do not share (of a sweep, say).

    A long one is described.
    """
    distinct = {id(report.spec): report.spec for report in reports}.values()
    first, *rest = dict.fromkeys(map(to_text, distinct))
    if len(first) > SHOWN:
        from privcalc.spec.brief import brief

        return brief(reports[0].spec, reports[0].written)
    parts = re.split(r"([@+:,=()])", first)
    for text in rest:
        others = re.split(r"([@+:,=()])", text)
        if len(others) != len(parts):
            return first
        parts = [a if a == b else "_" for a, b in zip(parts, others, strict=True)]
    return "".join(parts)


def at(report: Report) -> str:
    """Say where a question was asked: ` at delta 1e-5`; "" for a curve."""
    return f" at {report.place[0]} {written(report.place[1])}" if report.place else ""


def sample(report: Report) -> str:
    """Spell the sampling that a command added as specifications do, such as q=0.001."""
    short = {"sampling_probability": "q", "source_dataset_size": "n", "sample_size": "m"}
    return ", ".join(f"{short[k]}={written(v)}" for k, v in report.query.items() if k in short)


def names(reports: Sequence[Report]) -> tuple[tuple[str, str], ...]:
    """Return what answers to one question are called, where they have a name, as a fact."""
    return (("name", reports[0].name),) if reports[0].name else ()


def remarks(reports: Sequence[Report]) -> list[tuple[str, str]]:
    """Return what stands below the tables of the answers to one question, each line once."""
    found = [remark for report in reports for remark in report.remarks]
    reasons = [("why", reason) for report in reports for reason in report.reasons]
    return list(dict.fromkeys([*reasons, *found]))


def as_written(value: float, text: str) -> float:
    """Return the number so that `written` gives the text; it stands for what it stood for."""
    if isinstance(value, Written):
        return Written(float(value), value.exact, text)
    return Spelled(value, text)


def least(budget: float) -> float:
    """Return the greatest double that is printed as no more than a budget, for comparisons."""
    return decimal_below(budget.exact) if isinstance(budget, Written) else budget


def written(value: float) -> str:
    """Return a number as it was written, or as it is printed where nobody wrote it."""
    return (value.text if isinstance(value, Written | Spelled) else "") or number(value)


def proof_remarks(method: Method, query: Mapping[str, float]) -> tuple[tuple[str, str], ...]:
    """Name the Renyi order that proved an answer, as a remark; none where there was none."""
    if method.order is None:
        return ()
    at = "".join(f"at {name} {written(value)}: " for name, value in query.items())
    how = _CONVERSIONS[method.conversion]
    return (("proof", f"{at}Renyi divergence of order {method.order:.6g}, {how}"),)
