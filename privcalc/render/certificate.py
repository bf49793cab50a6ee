"""An answer as a certificate: what a program that shares nothing with this one needs to prove it.

It says what was asked, what was found, and for each direction which line was summed (or which
theorem the bracket rests on). The values of a proof are not in it but for the error terms: a reader
works them out. The digest binds all of it: one changed digit is a changed question or answer.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from privcalc.exact import Written
from privcalc.render.data import encoded
from privcalc.spec.json import to_json
from privcalc.version import __version__

if TYPE_CHECKING:
    from privcalc.accounting.directions import Direction
    from privcalc.engine.certified import WholeLine
    from privcalc.render.report import Report

SCHEMA = "privcalc/certificate/v1"
_PLACE = '"digest": ""'


def certificate(report: Report) -> str:
    """Return the text of a certificate, with its digest: that of the text without it."""
    data = {
        "schema": SCHEMA,
        "version": __version__,
        "spec": to_json(report.spec),
        "relation": report.relation.value,
        "query": {name: _written(value) for name, value in report.query.items()},
        "result": dict(report.result),
        "directions": {each.adjacency: _direction(each) for each in report.directions},
        "digest": "",
    }
    text = json.dumps(encoded(data), allow_nan=False, indent=2) + "\n"
    if text.count(_PLACE) != 1:
        raise AssertionError("the digest has one place")
    return text.replace(_PLACE, f'"digest": "sha256:{sha256(text.encode()).hexdigest()}"')


def _written(value: float) -> float | str:
    """Return a number as it was written, where a double is not that number."""
    return value.text or str(value.exact) if isinstance(value, Written) else value


def _direction(direction: Direction) -> dict[str, object]:
    """Return what proves the bracket of one direction."""
    method, evidence = direction.method, direction.evidence
    found: dict[str, Any] = {"proof": method.proof.words}
    if evidence is not None and (evidence.line or evidence.split):
        found["proof"] = evidence.proof.words
        if evidence.line is not None:
            found["line"] = _line(evidence.line)
        elif evidence.split is not None:
            split = evidence.split
            found["split"] = {"level": split.level}
            for side, line in (("right", split.right), ("left", split.left)):
                if line is not None:
                    found["split"][side] = _line(line)
        found["terms"] = dict(evidence.terms)
    elif method.order is not None:
        found["order"] = method.order
        found["conversion"] = method.conversion
    return found


def _line(line: WholeLine) -> dict[str, float]:
    """Return where a line is, and where its nodes end."""
    return {
        "abscissa": line.abscissa,
        "step": line.step,
        "nodes": line.nodes,
        # No payoff is smoothed any more; the format stays.
        "smoothing": 0.0,
        "right": line.right,
    }
