"""What `calibrate` asks of a specification, and its answer as a report."""

from __future__ import annotations

import shlex
from itertools import product
from typing import TYPE_CHECKING

from privcalc.errors import DomainError, UsageError
from privcalc.record import record
from privcalc.render.words import written
from privcalc.reporting.questions import explained, relation_in_force

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from privcalc.accounting.calibrate import Calibration, CalibrationTarget
    from privcalc.calibration.target import TargetQuantity
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


def target_names(given: Iterable[str]) -> tuple[str, ...]:
    """Return the names of a target; that of where it is asked stands first.

    Raises:
        UsageError: there is none, or more than one, or half of one.
    """
    given = tuple(given)
    named = [name for name in QUANTITIES if name in given]
    if not named:
        half = next((name for name in ("delta", "fpr") if name in given), "")
        raise UsageError(f"--{half} alone is no target; {NEEDED}" if half else NEEDED)
    if len(named) > 1:
        raise UsageError(f"--{named[0]} and --{named[1]} are two targets; give one")
    quantity = named[0]
    place = QUANTITIES[quantity]
    if place and place not in given:
        pure = ", 0 for pure differential privacy" if place == "delta" else ""
        raise UsageError(f"--{quantity} needs --{place}: the {place} at which it is asked{pure}")
    for name in ("delta", "fpr"):
        if name in given and name != place:
            raise UsageError(f"--{name} says nothing to --{quantity}")
    return tuple(name for name in (place, quantity) if name)


def checked_targets(given: Mapping[str, Sequence[float]]) -> tuple[dict[str, float], ...]:
    """Return the numbers of each target: each budget at each place, in the order of the places.

    Args:
        given: numbers by name; the name of where targets are asked stands first.

    Raises:
        DomainError: one is out of range.
    """
    found = tuple(dict(zip(given, each, strict=True)) for each in product(*given.values()))
    for each in found:
        _check_target(each)
    return found


def _check_target(values: dict[str, float]) -> None:
    """Refuse a target with a number that is out of range."""
    for name, value in values.items():
        if name in ("delta", "fpr", "advantage", "tpr") and not 0.0 <= value <= 1.0:
            raise DomainError(f"--{name} must be between 0 and 1, got {written(value)}")
        if value < 0.0:
            raise DomainError(f"--{name} must be >= 0, got {written(value)}")


@record
class Calibrating:
    """What is asked of every specification of one invocation."""

    targets: tuple[dict[str, float], ...]
    ratio: tuple[float, ...]
    relation: Relation | None
    tolerance: float

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        from privcalc.accounting.calibrate import calibrate
        from privcalc.accounting.realize import explaining

        with explaining() as seen:
            found = [
                calibrate(
                    question.tree,
                    named_target(each),
                    relation=relation_in_force(self.relation, question.relation),
                    tolerance=self.tolerance,
                    ratio=self.ratio,
                )
                for each in self.targets
            ]
        pairs = zip(found, self.targets, strict=True)
        several = len(found) > 1
        reports = [
            calibration_report(
                each, target, self._place(target) if several else None, question.text
            )
            for each, target in pairs
        ]
        return explained(reports, seen)

    def _place(self, target: dict[str, float]) -> tuple[str, float]:
        """Return what distinguishes a target from the others: the budget, if there are several."""
        *places, quantity = target
        if len({each[quantity] for each in self.targets}) == 1 and places:
            return places[0], target[places[0]]
        at = "".join(
            f" at {name} {written(target[name])}"
            for name in places
            if len({each[name] for each in self.targets}) > 1
        )
        return f"max_{quantity}{at}", target[quantity]


def calibration_report(
    found: Calibration,
    query: dict[str, float],
    at: tuple[str, float] | None = None,
    written: str = "",
) -> Report:
    """Put an answer into the form of the output contract.

    Args:
        found: the answer.
        query: the target, and where it is asked.
        at: a parameter and its value, which distinguish the answer from others.
        written: the text that asked.
    """
    from privcalc.render.report import Report

    quantity = found.target.quantity
    result: dict[str, Quantity] = {"parameter": found.parameter, "sufficient": found.sufficient}
    if found.insufficient is not None:
        result["insufficient"] = found.insufficient
    if len(found.values) > 1:
        result["values"] = list(found.values)
    result[quantity] = found.bound
    shown = tuple(name for name in ("sufficient", "insufficient", quantity) if name in result)
    remarks = [("target", _words(found.target, at))]
    if len(found.values) > 1:
        shown = (quantity,)
        remarks += _listed(found)
    if at is None:
        remarks.append(("check", check_command(found)))
    return Report(
        command="calibrate",
        spec=found.tree,
        relation=found.relation,
        sampling=found.sampling,
        query=query,
        result=result,
        method=found.method,
        at=at,
        tables=(shown,),
        headings={
            "sufficient": f"certified {found.parameter}",
            "insufficient": f"{found.parameter} not sufficient",
        },
        remarks=tuple(remarks),
        written=written,
    )


def _listed(found: Calibration) -> Iterator[tuple[str, str]]:
    """Spell the values of several holes, which have no column of their own."""
    from privcalc.render.words import number
    from privcalc.spec.registry import few

    several = {"sufficient": found.values, "insufficient": found.insufficient_values}
    for name, values in several.items():
        if values:
            yield name, ", ".join(few([number(value) for value in values], "and {} others"))


def check_command(found: Calibration) -> str:
    """Return the command that checks a calibration; a long specification is piped into it."""
    from privcalc.accounting.realize import default_relation
    from privcalc.spec.registry import SHOWN, to_text

    target, text = found.target, to_text(found.tree)
    if len(text) > SHOWN:
        return f"the same with --json, piped into {_checked(target, ['-'])}"
    words = [shlex.quote(text)]
    if found.relation is not default_relation(found.tree):
        words += ["--relation", found.relation.text]
    return _checked(target, words)


def _checked(target: CalibrationTarget, words: list[str]) -> str:
    """Return the command that checks a target, of a specification in the words of a shell."""
    at = "" if target.at is None else written(target.at)
    if target.quantity == "epsilon":
        asked = ["--delta", at, "--max-epsilon", written(target.budget)]
        return " ".join(["privcalc compose", *words, *asked])
    if target.quantity == "advantage":
        asked = ["--epsilon 0 --max-delta", written(target.budget)]
        return " ".join(["privcalc compose", *words, *asked])
    budget = written(target.budget)
    to = {
        "mu": ["--to gdp --max-mu", budget],
        "rho": ["--to zcdp --max-rho", budget],
        "tpr": ["--to risk --fpr", at],
    }
    return " ".join(["privcalc convert", *words, *to[target.quantity]])


def named_target(values: Mapping[str, float]) -> CalibrationTarget:
    """Return the target that the names and numbers of a query are."""
    from privcalc.accounting.calibrate import CalibrationTarget

    quantity = next(name for name in QUANTITIES if name in values)
    return CalibrationTarget(quantity, values[quantity], values.get(QUANTITIES[quantity]))


def _words(target: CalibrationTarget, place: tuple[str, float] | None) -> str:
    """Say what is to be met; of several targets, the column has the number."""
    column = "" if place is None else place[0].partition(" ")[0]
    several = column == f"max_{target.quantity}"
    budget = column if several else written(target.budget)
    where = QUANTITIES[target.quantity]
    if target.at is None:
        return f"{target.quantity} <= {budget}"
    if column == where or (several and place is not None and place[0] != column):
        return f"{target.quantity} <= {budget} at each {where}"
    return f"{target.quantity} <= {budget} at {where} {written(target.at)}"
