"""What `calibrate` asks of every specification of one invocation, and its answers as reports."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privcalc.cli.numbers import read_count, read_number, split
from privcalc.cli.questions import relation_in_force
from privcalc.errors import DomainError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from privcalc.accounting.calibrate import Calibration, CalibrationTarget
    from privcalc.accounting.calibration_target import TargetQuantity
    from privcalc.relation import Relation
    from privcalc.render.report import Quantity, Report
    from privcalc.spec.read import Question

# What has to be given together: the budget, and where it is asked.
QUANTITIES: dict[TargetQuantity, str] = {
    "epsilon": "delta",
    "mu": "",
    "rho": "",
    "advantage": "",
    "tpr": "fpr",
}
NEEDED = (
    "calibrate needs a target: --epsilon E with --delta D, --mu M, --rho R, --advantage A, or"
    " --tpr T with --fpr F"
)
MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Sweep:
    """Values of another parameter, for each of which the hole is filled.

    Attributes:
        name: the parameter, in any spelling.
        low: its first value.
        high: its last one.
        steps: how many.
    """

    name: str
    low: float
    high: float
    steps: int


@dataclass(frozen=True, slots=True)
class Calibrating:
    """What is asked of every specification of one invocation."""

    target: dict[str, float]
    ratio: tuple[float, ...]
    sweep: Sweep | None
    relation: Relation | None
    tolerance: float
    show_progress: bool

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        relation = relation_in_force(self.relation, question.relation)
        if self.sweep is None:
            from privcalc.accounting.calibrate import calibrate

            found = calibrate(
                question.tree,
                _target(self.target),
                relation=relation,
                tolerance=self.tolerance,
                ratio=self.ratio,
            )
            return [self._report(found)]
        return self._swept(question, self.sweep, relation)

    def _swept(self, question: Question, wanted: Sweep, relation: Relation | None) -> list[Report]:
        """Answer each value of the sweep; what has no answer is named on standard error."""
        from privcalc.accounting.sweep import sweep
        from privcalc.cli.progress import Progress
        from privcalc.cli.streams import complain
        from privcalc.render.words import number

        steps = sweep(
            question.tree,
            _target(self.target),
            wanted.name,
            low=wanted.low,
            high=wanted.high,
            count=wanted.steps,
            relation=relation,
            tolerance=self.tolerance,
            ratio=self.ratio,
        )
        found: list[Report] = []
        missing: list[tuple[str, str]] = []
        with Progress(wanted.steps, shown=self.show_progress) as progress:
            for each in steps:
                progress.advance()
                if each.calibration is None:
                    missing.append((f"{each.parameter}={number(each.value)}", each.reason))
                else:
                    found.append(self._report(each.calibration, (each.parameter, each.value)))
        if not found:
            raise DomainError("; ".join(dict.fromkeys(reason for _, reason in missing)))
        if self.show_progress:
            for name, reason in missing:
                complain(f"privcalc: warning: {name}: {reason}")
        return found

    def _query(self, at: tuple[str, float] | None) -> dict[str, float]:
        """Return the target, and the swept parameter, which may be called as a part of that is."""
        if at is None:
            return self.target
        name, value = at
        return {**self.target, f"swept_{name}" if name in self.target else name: value}

    def _report(self, found: Calibration, at: tuple[str, float] | None = None) -> Report:
        from privcalc.render.report import Report
        from privcalc.spec.text import to_text

        text = to_text(found.tree)
        quantity = found.target.quantity
        result: dict[str, Quantity] = {"parameter": found.parameter, "sufficient": found.sufficient}
        if found.insufficient is not None:
            result["insufficient"] = found.insufficient
        if len(found.values) > 1:
            result["values"] = list(found.values)
        result[quantity] = found.bound
        shown = tuple(name for name in ("sufficient", "insufficient", quantity) if name in result)
        remarks = [("target", _words(found.target))]
        if len(found.values) > 1:
            shown = (quantity,)
            remarks += _listed(found)
        if at is None:
            remarks.append(("check", check_command(found, text)))
        return Report(
            command="calibrate",
            spec=found.tree,
            text=text,
            relation=found.relation,
            sampling=found.sampling,
            query=self._query(at),
            result=result,
            method=found.method,
            at=at,
            tables=(shown,),
            headings={name: f"{found.parameter} {name}" for name in ("sufficient", "insufficient")},
            remarks=tuple(remarks),
        )


def _listed(found: Calibration) -> Iterator[tuple[str, str]]:
    """Spell the values of several holes, which have no column of their own."""
    from privcalc.render.words import number

    several = {"sufficient": found.values, "insufficient": found.insufficient_values}
    for name, values in several.items():
        if values:
            yield name, ", ".join(number(value) for value in values)


def check_command(found: Calibration, text: str) -> str:
    """Return the command that checks a calibration."""
    from privcalc.accounting.realize import default_relation
    from privcalc.render.written import written

    target = found.target
    words = [shlex.quote(text)]
    if found.relation is not default_relation(found.tree):
        words += ["--relation", found.relation.text]
    at = "" if target.at is None else written(target.at)
    if target.quantity == "epsilon":
        asked = ["--delta", at, "--max-epsilon", written(target.budget)]
        return " ".join(["privcalc compose", *words, *asked])
    if target.quantity == "advantage":
        asked = ["--epsilon 0 --max-delta", written(target.budget)]
        return " ".join(["privcalc compose", *words, *asked])
    to = {"mu": ["--to gdp"], "rho": ["--to zcdp"], "tpr": ["--to risk --fpr", at]}
    return " ".join(["privcalc convert", *words, *to[target.quantity]])


def read_target(given: Mapping[str, str]) -> dict[str, float]:
    """Read the options of the target; where it is asked stands first.

    Raises:
        UsageError: there is none, or more than one, or half of one.
        DomainError: a number is out of range.
    """
    named = [name for name in QUANTITIES if name in given]
    if not named:
        half = next((name for name in ("delta", "fpr") if name in given), "")
        raise UsageError(f"--{half} alone is no target; {NEEDED}" if half else NEEDED)
    if len(named) > 1:
        raise UsageError(f"--{named[0]} and --{named[1]} are two targets; give one")
    quantity = named[0]
    place = QUANTITIES[quantity]
    if place and place not in given:
        raise UsageError(f"--{quantity} needs --{place}: the {place} at which it is asked")
    for name in ("delta", "fpr"):
        if name in given and name != place:
            raise UsageError(f"--{name} says nothing to --{quantity}")
    values = {name: read_number(f"--{name}", given[name]) for name in (place, quantity) if name}
    for name, value in values.items():
        if name in ("delta", "fpr", "advantage", "tpr") and not 0.0 <= value <= 1.0:
            raise DomainError(f"--{name} must be between 0 and 1, got {given[name].strip()}")
        if value < 0.0:
            raise DomainError(f"--{name} must be >= 0, got {given[name].strip()}")
    return values


def read_ratio(text: str | None) -> tuple[float, ...]:
    """Read the ratio of the values of several holes."""
    if text is None:
        return ()
    values = tuple(read_number("--ratio", word) for word in split("--ratio", [text]))
    if not all(0.0 < value < math.inf for value in values):
        raise DomainError(f"--ratio takes numbers > 0, got {text.strip()}")
    return values


def read_sweep(text: str) -> Sweep:
    """Read NAME=LOW:HIGH:STEPS."""
    name, equals, rest = text.partition("=")
    words = rest.split(":")
    if not name.strip() or not equals or len(words) != 3:
        raise UsageError(f"--sweep takes NAME=LOW:HIGH:STEPS, such as q=0.001:0.1:20, got {text!r}")
    low, high = (read_number("--sweep", word) for word in words[:2])
    steps = read_count("--sweep", words[2])
    if not 0.0 < low < high:
        raise DomainError(f"--sweep takes 0 < LOW < HIGH, got {words[0]} and {words[1]}")
    if not 2 <= steps <= MOST_STEPS:
        raise DomainError(f"--sweep takes 2 to {MOST_STEPS} steps, got {steps}")
    return Sweep(name.strip(), low, high, steps)


def _target(values: Mapping[str, float]) -> CalibrationTarget:
    from privcalc.accounting.calibrate import CalibrationTarget

    quantity = next(name for name in QUANTITIES if name in values)
    return CalibrationTarget(quantity, values[quantity], values.get(QUANTITIES[quantity]))


def _words(target: CalibrationTarget) -> str:
    from privcalc.render.written import written

    at = "" if target.at is None else f" at {QUANTITIES[target.quantity]} {written(target.at)}"
    return f"{target.quantity} <= {written(target.budget)}{at}"
