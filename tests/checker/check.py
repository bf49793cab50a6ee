"""What is checked of a certificate, in order: its form, its digest, then its two ends.

The upper end has to be proved in every direction, the lower end in one. The certificate says which
line to sum; where it names none, pure Gaussians are known in closed form and few outcomes can be
listed, and an order of the Renyi divergence proves an upper end. Nothing else is believed.
"""

from __future__ import annotations

import hashlib
import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from flint import arb

from tests.checker.laws import Clock, Gaussian, SampledGaussian, TooLongError, ball
from tests.checker.lines import (
    Line,
    Parts,
    Product,
    above_all,
    chernoff,
    finer,
    in_closed_form,
    infinite_mass,
    listed,
    number,
    of_laplace,
    on_lattice,
    on_line,
    one_sample,
)
from tests.checker.questions import NotCheckedError, directions, rational, whole
from tests.checker.split import Split, on_split, without_large

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SCHEMA = "privcalc/certificate/v1"
# What is said of an end that cannot be.
WRONG = "it is contradicted"
REVERSE = {"add": "remove", "remove": "add", "both": "both"}


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
    found = directions(document["spec"], document["relation"])
    missing, refuted = [], False
    for end, value in ends.items():
        if (end == "lower" and value == 0) or (end == "upper" and value == "Infinity"):
            continue
        reasons, open_ = [], []
        for name, parts in found.items():
            try:
                pair = parts, found.get(REVERSE[name], ())
                if value == "Infinity":
                    reason = _never(parts, document["query"])
                else:
                    claim = _claim(document, quantity, rational(value))
                    reason = _reason(pair, claim, _evidence(document, name), end)
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


def _never(parts: Parts, query: Mapping[str, Any]) -> str:
    """Return why a delta may have an epsilon, or nothing where it has none."""
    [delta] = query.values()
    unbounded = any(
        isinstance(law, Gaussian) or (isinstance(law, SampledGaussian) and law.remove)
        for law, _ in parts
    )
    if rational(delta) == 0 and unbounded:
        return ""
    mass = infinite_mass(parts)
    return "" if mass > ball(rational(delta)) else f"the mass at infinity is {number(mass):.6g}"


def _reason(
    pair: tuple[Parts, Parts], claim: tuple[arb, arb, bool], evidence: Mapping[str, Any], end: str
) -> str:
    """Return why an end is not proved in a direction, or nothing."""
    at, target, strict = claim
    below = above = target
    for below, above in _deltas(*pair, (at, target), evidence):
        if end == "upper" and above <= target:
            return ""
        # Where delta has a plateau, an epsilon with that delta need not be the least.
        if end == "lower" and (below > target or (below >= target and not strict)):
            return ""
        if below > target or above < target:
            break
    known = f"delta at {float(at):.12g} is between {number(below):.15g} and {number(above):.15g}"
    wrong = below > target if end == "upper" else above < target
    return f"{WRONG}, {known}" if wrong else known


def _claim(document: Mapping[str, Any], quantity: str, end: Fraction) -> tuple[arb, arb, bool]:
    """Return the epsilon and the delta that an end says to bound one another, and if strictly."""
    [given] = document["query"].values()
    epsilon, delta = (end, rational(given)) if quantity == "epsilon" else (rational(given), end)
    if epsilon < 0 or not 0 <= delta <= 1:
        raise ValueError("epsilon is at least 0, and delta in [0, 1]")
    return ball(epsilon), ball(delta), quantity == "epsilon"


def _evidence(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return what the certificate says of a direction; "both" stands for each."""
    known = document["directions"]
    found = (
        known.get(name)
        or known.get("both")
        or (next(iter(known.values()), None) if name == "both" else None)
    )
    if found is None:
        raise ValueError(f"it says nothing of the direction {name}")
    return found  # type: ignore[no-any-return]


def _deltas(
    parts: Parts, back: Parts, claim: tuple[arb, arb], evidence: Mapping[str, Any]
) -> Iterator[tuple[arb, arb]]:
    """Yield proved bounds on delta: of the line, and of the same line with more nodes."""
    epsilon, delta = claim
    ways = (above_all, in_closed_form, one_sample, listed, on_lattice, of_laplace)
    known = next(filter(None, (way(parts, epsilon) for way in ways)), None)
    if known is not None:
        yield known
    elif "line" in evidence:
        mass = infinite_mass(parts)
        finite = delta - mass if delta > mass else delta
        measure, added = without_large(parts, evidence, finite) or (Product(parts), arb(0))
        for line in finer(measure, epsilon, _line(evidence["line"]), finite):
            below, above = on_line(measure, epsilon, line)
            yield below + mass, above + mass + added
    elif "split" in evidence and back:
        said = evidence["split"]
        right, left = (_line(said[side]) if side in said else None for side in ("right", "left"))
        split = Split(rational(said["level"]), right, left)
        yield on_split(parts, back, (epsilon, delta), split)
    elif "order" in evidence:
        yield arb(0), chernoff(parts, epsilon, rational(evidence["order"]) - 1)
    else:
        raise NotCheckedError(f"it rests on: {evidence.get('proof', 'nothing that is named')}")


def _line(said: Mapping[str, Any]) -> Line:
    """Read a line."""
    c, h, tau, right = (rational(said[x]) for x in ("abscissa", "step", "smoothing", "right"))
    return Line(c, h, whole(said["nodes"]), tau, right)
