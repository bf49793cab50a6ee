"""The command `calibrate`: the value of a hole that meets a target."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from privcalc.cli import choices
from privcalc.cli.answering import answered
from privcalc.cli.commands.targets import QUANTITIES, read_ratio, read_sweep, read_target
from privcalc.cli.numbers import read_tolerance
from privcalc.cli.questions import reads_standard_input, relation_in_force
from privcalc.errors import DomainError, UsageError
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from privcalc.accounting.calibrate import Calibration, CalibrationTarget
    from privcalc.cli import options
    from privcalc.cli.commands.targets import Sweep
    from privcalc.cli.output import Output
    from privcalc.relation import Relation
    from privcalc.render.report import Quantity, Report
    from privcalc.spec.read import Question


@record
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
        from privcalc.calibration.sweep import sweep
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


def _target(values: Mapping[str, float]) -> CalibrationTarget:
    from privcalc.accounting.calibrate import CalibrationTarget

    quantity = next(name for name in QUANTITIES if name in values)
    return CalibrationTarget(quantity, values[quantity], values.get(QUANTITIES[quantity]))


def _words(target: CalibrationTarget) -> str:
    from privcalc.render.written import written

    at = "" if target.at is None else f" at {QUANTITIES[target.quantity]} {written(target.at)}"
    return f"{target.quantity} <= {written(target.budget)}{at}"


EXAMPLES = """\
\b
Examples:
  privcalc calibrate gaussian:sigma=_@poisson:q=0.01@1000 --epsilon 3 --delta 1e-5
  privcalc calibrate gaussian:sigma=1@poisson:q=0.01@_ --epsilon 2 --delta 1e-5
  privcalc calibrate gaussian:sigma=_+laplace:scale=_ --ratio 1,2 --mu 1
  privcalc calibrate gaussian:sigma=_@poisson:q=0.01@1000 --epsilon 3 --delta 1e-5 \\
      --sweep q=0.001:0.1:20"""


def calibrate(
    *,
    specs: options.HoleArgument,
    epsilon: options.TargetEpsilonOption = None,
    delta: options.TargetDeltaOption = None,
    mu: options.MuOption = None,
    rho: options.RhoOption = None,
    advantage: options.AdvantageOption = None,
    tpr: options.TprOption = None,
    fpr: options.TargetFprOption = None,
    ratio: options.RatioOption = None,
    sweep: options.SweepOption = None,
    relation: options.RelationOption = None,
    tolerance: options.ToleranceOption = "1e-9",
    output: Output,
) -> int:
    """Find the value of the hole in a specification that meets a target: how much noise, say.

    Write _ for one value, or for a count. The value printed is certain to meet the target, and the
    one beside it is certain to miss it; both are judged as privcalc compose judges them.
    """
    given = {
        "epsilon": epsilon,
        "delta": delta,
        "mu": mu,
        "rho": rho,
        "advantage": advantage,
        "tpr": tpr,
        "fpr": fpr,
    }
    ask = Calibrating(
        target=read_target({name: text for name, text in given.items() if text is not None}),
        ratio=read_ratio(ratio),
        sweep=None if sweep is None else read_sweep(sweep),
        relation=choices.relation_named(relation),
        tolerance=read_tolerance("--tolerance", tolerance),
        show_progress=not output.quiet,
    )
    if output.terse and ratio is not None:
        raise UsageError("-t prints one number, and with --ratio there are several; use --json")
    if sweep is not None and reads_standard_input(specs):
        raise UsageError("--sweep goes with one specification, not with -")
    return answered(specs, ask, output, holes=True)
