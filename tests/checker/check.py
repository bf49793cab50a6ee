"""What is checked of a certificate, in order: its form, its digest, then its two ends.

The upper end has to be proved in every direction, the lower end in one. The certificate says which
line to sum; where it names none, pure Gaussians are known in closed form and few outcomes can be
listed. Nothing else is believed.
"""

from __future__ import annotations

import hashlib
import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.checker.laws import Clock, Gaussian, SampledGaussian, TooLongError, ball
from tests.checker.lines import (
    Line,
    Measure,
    Parts,
    in_closed_form,
    infinite_mass,
    listed,
    on_line,
)
from tests.checker.questions import NotCheckedError, directions, rational, whole
from tests.checker.split import on_split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flint import arb

SCHEMA = "privcalc/certificate/v1"
# What is said of an end that cannot be.
WRONG = "it is contradicted"
# Ends that say nothing.
TRIVIAL = {("lower", 0), ("upper", "Infinity")}
REVERSE = {"add": "remove", "remove": "add", "replace": "replace"}


class Verdict(NamedTuple):
    """What is found: accepted, refused or not checked, and why."""

    word: str
    why: str = ""


KEYS = {"schema", "version", "spec", "relation", "query", "result", "directions", "digest"}
# Numbers whose digits alone would take all of the time.
_HUGE = re.compile(r"[0-9]{400}|[0-9][eE][+-]?[0-9]{4}")


def check(text: str) -> Verdict:
    """Check a certificate."""
    Clock.spent = 0
    try:
        if _HUGE.search(re.sub("sha256:[0-9a-f]*", "", text)):
            return Verdict("refused", "a number is too long")
        document = json.loads(
            text, parse_float=Fraction, parse_int=Fraction, object_pairs_hook=_once
        )
        if document["schema"] != SCHEMA:
            return Verdict("refused", f"the schema is not {SCHEMA}")
        if document["digest"] != digest(text):
            return Verdict("refused", "the digest is not that of the text")
        return _proved(document)
    except (NotCheckedError, TooLongError) as unknown:
        return Verdict("not checked", str(unknown))
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        return Verdict("refused", f"it is no certificate: {error!r}")
    except RecursionError:
        return Verdict("refused", "it is nested too deep")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose keys are all different."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def digest(text: str) -> str:
    """Return the SHA-256 of the text without what stands for its own digest."""
    bare = re.sub(r'("digest":\s*")[^"]*(")', r"\1\2", text)
    return "sha256:" + hashlib.sha256(bare.encode()).hexdigest()


def _proved(document: Mapping[str, Any]) -> Verdict:
    """Prove both ends, the upper one in every direction and the lower one in some."""
    [(quantity, ends)] = document["result"].items()
    [(given, _)] = document["query"].items()
    if set(document) != KEYS or {quantity, given} != {"epsilon", "delta"}:
        raise ValueError("it has not the fields of a certificate")
    if "upper" not in ends or set(ends) - {"lower", "upper"}:
        raise ValueError("an answer has an upper end, and may have a lower one")
    if any(isinstance(value, bool) for value in ends.values()):
        raise ValueError("an end is a number")
    if "Infinity" not in ends.values() and ends.get("lower", 0) > ends["upper"]:
        raise ValueError("the lower end is above the upper one")
    claims = {end: value for end, value in ends.items() if (end, value) not in TRIVIAL}
    laws, said = directions(document["spec"], document["relation"]), document["directions"]
    missing, refuted = [], False
    for end, value in claims.items():
        reasons: list[str] = []
        open_: list[str] = []
        for name, parts in laws.items():
            try:
                if value == "Infinity":
                    reason = _never(parts, rational(document["query"]["delta"]))
                else:
                    pair = {quantity: rational(value), given: rational(document["query"][given])}
                    known = _delta(
                        (parts, laws[REVERSE[name]]), pair, said.get(name) or said["both"]
                    )
                    reason = _reason(known, pair, end, strict=quantity == "epsilon")
            except NotCheckedError as unknown:
                open_.append(str(unknown))
                continue
            reasons.append(f"{name}: {reason}" if reason else "")
            if end == "lower" and not reason:
                break
        if "" in reasons and end == "lower":
            continue
        if open_:
            raise NotCheckedError(f"{end} end: {open_[0]}")
        if any(reasons):
            missing.append(f"the {end} end is not proved ({'; '.join(filter(None, reasons))})")
            # A lower end is contradicted where each direction costs less.
            wrong = [WRONG in reason for reason in reasons]
            refuted |= any(wrong) if end == "upper" else all(wrong)
    if not missing:
        return Verdict("accepted")
    return Verdict("refused" if refuted else "not checked", "; ".join(missing))


def _never(parts: Parts, delta: Fraction) -> str:
    """Return why a delta may have an epsilon, or nothing where it has none."""
    unbounded = any(
        isinstance(law, Gaussian) or (isinstance(law, SampledGaussian) and law.remove)
        for law, _ in parts
    )
    mass = infinite_mass(parts)
    if (delta == 0 and unbounded) or mass > ball(delta):
        return ""
    return f"the mass at infinity is {float(mass):.6g}"


def _reason(
    known: tuple[arb, arb], claim: Mapping[str, Fraction], end: str, *, strict: bool
) -> str:
    """Return why an end is not proved in a direction, or nothing."""
    (below, above), target = known, ball(claim["delta"])
    if end == "upper" and above <= target:
        return ""
    # Where delta has a plateau, an epsilon with that delta need not be the least.
    if end == "lower" and (below > target or (below >= target and not strict)):
        return ""
    at = float(claim["epsilon"])
    found = f"delta at {at:.12g} is between {float(below):.15g} and {float(above):.15g}"
    wrong = below > target if end == "upper" else above < target
    return f"{WRONG}, {found}" if wrong else found


def _delta(
    pair: tuple[Parts, Parts], claim: Mapping[str, Fraction], evidence: Mapping[str, Any]
) -> tuple[arb, arb]:
    """Return proved bounds on delta at an epsilon, where it is claimed to be about as given."""
    if claim["epsilon"] < 0 or not 0 <= claim["delta"] <= 1:
        raise ValueError("epsilon is at least 0, and delta in [0, 1]")
    parts, epsilon, delta = pair[0], ball(claim["epsilon"]), ball(claim["delta"])
    known = in_closed_form(parts, epsilon) or listed(parts, epsilon)
    if known is not None:
        return known
    mass = infinite_mass(parts)
    if "line" in evidence:
        finite = delta - mass if delta > mass else delta
        below, above = on_line(Measure(parts), epsilon, _line(evidence["line"]), finite)
        return below + mass, above + mass
    if "split" in evidence:
        said = evidence["split"]
        right, left = (_line(said[side]) if side in said else None for side in ("right", "left"))
        return on_split(pair, (epsilon, delta), rational(said["level"]), (right, left))
    raise NotCheckedError(f"it rests on: {evidence.get('proof', 'nothing that is named')}")


def _line(said: Mapping[str, Any]) -> Line:
    """Read a line."""
    if rational(said["smoothing"]) != 0:
        raise NotCheckedError("a smoothed payoff is not known here")
    c, h, right = (rational(said[x]) for x in ("abscissa", "step", "right"))
    return Line(c, h, whole(said["nodes"]), right)
