"""A statement for a paper or a model card: two sentences and a table, in Markdown."""

from __future__ import annotations

import shlex
from math import isinf
from typing import TYPE_CHECKING

from privcalc import __version__
from privcalc.bounds import Bound
from privcalc.errors import UsageError
from privcalc.render.assumptions import NAME, assumptions, unit
from privcalc.render.data import numbers
from privcalc.render.plain import markdown_row
from privcalc.render.report import Estimate, OneSided
from privcalc.render.words import bracket, number, one_sided, remarks, title, written
from privcalc.spec.registry import SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Number, Report

# What is said of baseline bounds, and of where else to look, is not a part of the guarantee.
BASELINES = ("methods", "constants", "candidates", "runs")
ASIDES = ("candidates", "gain", "transition", "check", "one run", "upper bound", "C")

# Names of curves and of their remarks, for readers who do not have the tool.
WORDS = {
    "orders": "order",
    "renyi_epsilon": "Renyi divergence",
    "base": "Renyi divergence without sampling",
    "lower": "least Renyi bound that the base curve allows",
    "tight": "tight bound of the sampled Renyi divergence",
    "upper": "bound of the sampled Renyi divergence from the base curve",
    "exact": "sampled Renyi divergence",
}


def lines(reports: Sequence[Report], command: Sequence[str], text: str = "") -> Iterator[str]:
    """Render the answers to one question, which is `text` where the command line has `-` for it.

    Raises:
        UsageError: a number has no certificate, is no guarantee or is infinite.
    """
    first = reports[0]
    values = [value for report in reports for value in report.result.values()]
    if any(isinstance(value, Estimate) for value in values):
        raise UsageError("a statement needs a proved number; --engine afa gives an estimate only")
    if first.evidence:
        raise UsageError("a statement is about a guarantee, and an audit about evidence")
    if first.caution:
        raise UsageError(f"a statement is about a guarantee; this is {first.caution}")
    if any(isinstance(value, Bound) and isinf(value.upper) for value in values):
        raise UsageError("a statement needs a finite number; this one has no finite upper end")
    facts = dict(assumptions(reports, paper=True))
    engines = dict.fromkeys(report.method.engine for report in reports)
    rows = [
        ("mechanism", f"`{title(reports)}`"),
        ("relation", facts["relation"]),
        ("unit of privacy", unit(first.spec)),
        *(((NAME, facts[NAME]),) if NAME in facts else ()),
        ("sampling", facts["sampling"]),
        *(row for report in reports for row in _numbers(report)),
        *((WORDS.get(a, a), b) for a, b in remarks(reports) if a not in ASIDES),
        *(("budget", each.check.sentence) for each in reports if each.check is not None),
        ("proved by", f"privcalc {__version__}, engine {', '.join(engines)}"),
        ("command", f"`{_command(first, command, text)}`"),
    ]
    given = f" the {NAME} is {facts[NAME]}," if NAME in facts else ""
    yield (
        f"{_claim(reports)} Neighbouring data sets are those of {facts['relation']}, the unit of"
        f" privacy is {unit(first.spec)},{given} the sampling is {facts['sampling']}, and the"
        f" numbers are certified by privcalc {__version__}."
    )
    yield from ("", "| property | value |", "|---|---|")
    yield from map(markdown_row, rows)


def _claim(reports: Sequence[Report]) -> str:
    """State in a sentence what is proved of one number; several are in the table."""
    first = reports[0]
    found = ((name, each) for name, each in first.result.items() if isinstance(each, Bound))
    name, bound = next(found, ("", None))
    at = {"epsilon": "delta", "delta": "epsilon"}.get(name, "")
    several = len(reports) > 1 or len(first.tables) > 2 or "fixed_epsilon" in first.result
    if several or bound is None or (at and at not in first.query):
        return f"Of the mechanism `{title(reports)}` the numbers in the table are proved."
    low, high = bound.decimals()
    if at:
        place = written(first.query[at])
        pair = (high, place) if at == "delta" else (place, high)
        claim, where = f"is ({', '.join(pair)})-differentially private", f" at {at} = {place}"
    else:
        omega = first.result.get("omega")
        where = f" at Renyi orders up to {number(omega)}" if isinstance(omega, float) else ""
        claim = f"has {name} at most {high}{where}"
    rest = f"no {name} below {low} holds{where} for every mechanism of this description"
    if not low:
        rest = f"how much smaller {name} may be{where} is not known"
    return f"The mechanism `{title(reports)}` {claim}, and {rest}."


def _numbers(report: Report) -> Iterator[tuple[str, str]]:
    """Yield every number that is an answer with what it is; baselines are none."""
    for given, at, name, value in numbers(report):
        if name.partition(".")[0] in BASELINES or name in report.result.get("methods", ()):  # type: ignore[operator]
            continue
        heading = report.headings.get(name, name)
        if given == "orders":
            heading = WORDS.get(name, heading)
        place = f" at {WORDS.get(given, given)} {at}"
        if given == "name":
            # A part costs what it does at the delta, or the epsilon, of the whole.
            where = report.place
            place = f" of {at}" + (f" at {where[0]} {number(where[1])}" if where else "")
        proved = isinstance(value, Bound | OneSided)
        yield heading + (place if given and proved else ""), _value(value)


def _value(value: Number | Estimate) -> str:
    if isinstance(value, Bound):
        low, high = value.decimals()
        return f"at least {low}, at most {high}" if low else bracket(value)
    if isinstance(value, OneSided):
        return f"{'at most' if value.is_upper else 'at least'} {one_sided(value)}"
    return number(value.value if isinstance(value, Estimate) else value)


def _command(report: Report, command: Sequence[str], text: str) -> str:
    """Return the command that gives this answer; `-` is a question of some relation.

    A specification that is too long to be shown is SPEC.
    """
    words = [text if word == "-" else word for word in command]
    # Long lists of numbers have no colon.
    words = ["SPEC" if len(word) > SHOWN and ":" in word else word for word in words]
    if text:
        # Processes answer many questions, and this is one.
        before = ["", *words]
        words = [w for w, b in zip(words, before, strict=False) if "--jobs" not in (w[:6], b)]
    if text and not any(word.partition("=")[0] == "--relation" for word in words):
        words += ["--relation", report.relation.text]
    return shlex.join(["privcalc", *words])
