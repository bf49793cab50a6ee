"""JSON: one object per answer, on one line, with the keys in the order of the schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.exact import Written
from privcalc.render.report import Estimate, OneSided
from privcalc.render.written import least
from privcalc.spec.json import to_json
from privcalc.version import __version__

if TYPE_CHECKING:
    from privcalc.accounting.answer import Method
    from privcalc.render.report import Report

SCHEMA = "privcalc/result/v1"


def line(report: Report) -> str:
    """Render one answer. The same question gives the same bytes."""
    return dumps(as_object(report))


def as_object(report: Report) -> dict[str, object]:
    """Return the answer as plain data: no key is null, nothing depends on the host."""
    method = report.method
    data: dict[str, object] = {
        "schema": SCHEMA,
        "version": __version__,
        "command": report.command,
        "spec": to_json(report.spec),
        "text": report.text,
        "relation": report.relation.value,
        "query": dict(report.query),
        "result": dict(report.result),
        "method": {
            "engine": method.engine,
            "proof": method.proof.words,
            "tolerance_met": method.tolerance_met,
            "terms": dict(method.terms),
            **_renyi(method),
            **({"kind": method.kind} if method.kind else {}),
            **({"theorems": dict(method.theorems)} if method.theorems else {}),
        },
    }
    if report.caution:
        data["caution"] = report.caution
    if report.check is not None:
        check = report.check
        data["check"] = {check.name: least(check.budget), "verdict": check.verdict.value}
    return data


def _renyi(method: Method) -> dict[str, object]:
    """Return the Renyi order behind an upper end, where it is one that proved it."""
    if method.order is None:
        return {}
    return {"order": method.order, "conversion": method.conversion}


def dumps(data: object) -> str:
    """Write plain data and brackets as JSON on one line."""
    return json.dumps(_encoded(data), allow_nan=False)


def _encoded(value: object) -> object:
    """Replace what JSON has no form for.

    Infinity is a string because readers turn the bare word, or null, into something that a
    budget check takes for a small number (jq: `null <= 3` is true).
    """
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Written):
        # Of a query, which is not read again: the nearest double.
        return float(value)
    if isinstance(value, Bound):
        lower, upper = value.printed
        ends = {"upper": upper} if lower is None else {"lower": lower, "upper": upper}
        return _encoded(ends)
    if isinstance(value, Estimate):
        return {"estimate": _encoded(value.value)}
    if isinstance(value, OneSided):
        return _encoded(value.printed)
    if isinstance(value, Mapping):
        return {key: _encoded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(item) for item in value]
    return value
