"""The command `calibrate`: the value of a free parameter that meets a target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.cli import choices
from privcalc.cli.commands import answered
from privcalc.errors import DomainError, UsageError
from privcalc.record import record
from privcalc.reporting.calibrate import Calibrating, checked_targets, target_names
from privcalc.reporting.questions import (
    read_all,
    read_count,
    read_number,
    read_tolerance,
    relation_in_force,
    split,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privcalc.cli import options
    from privcalc.cli.output import Output
    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.spec.read import Question

MOST_STEPS = 1000
# Each has its share of the work of one question.
MOST_TARGETS = 1000


@record
class Sweep:
    """Values of another parameter, for each of which the free parameter is found.

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


def read_targets(given: Mapping[str, Sequence[str]]) -> tuple[dict[str, float], ...]:
    """Read the options of the targets; where one is asked stands first in it.

    Raises:
        UsageError: there is none, or of more than one kind, or half of one; or it is no number.
        DomainError: a number is out of range.
    """
    names = target_names(given)
    found = checked_targets(
        {name: read_all(read_number, f"--{name}", given[name]) for name in names}
    )
    if len(found) > MOST_TARGETS:
        raise UsageError(f"at most {MOST_TARGETS} targets are met at once, got {len(found)}")
    return found


def read_ratio(text: str | None) -> tuple[float, ...]:
    """Read the ratio of the values of several free parameters."""
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


@record
class Sweeping:
    """A question with many answers: a free parameter for each value of another parameter."""

    ask: Calibrating
    sweep: Sweep
    talks: bool

    @property
    def relation(self) -> Relation | None:
        """The relation that is asked for, where one is."""
        return self.ask.relation

    def __call__(self, question: Question) -> list[Report]:
        """Answer each value of the sweep; what has no answer is named on standard error."""
        from privcalc.calibration.sweep import sweep
        from privcalc.cli.failure import complain
        from privcalc.cli.progress import Progress
        from privcalc.render.words import number
        from privcalc.reporting.calibrate import calibration_report, named_target

        wanted, (target,) = self.sweep, self.ask.targets
        steps = sweep(
            question.tree,
            named_target(target),
            wanted.name,
            low=wanted.low,
            high=wanted.high,
            count=wanted.steps,
            relation=relation_in_force(self.ask.relation, question.relation),
            tolerance=self.ask.tolerance,
            ratio=self.ask.ratio,
        )
        found: list[Report] = []
        missing: list[tuple[str, str]] = []
        with Progress(lambda: wanted.steps, shown=self.talks) as progress:
            for step, each in enumerate(steps, start=1):
                progress.reach(step)
                name, value = each.parameter, each.value
                if each.calibration is None:
                    missing.append((f"{name}={number(value)}", each.reason))
                    continue
                # The swept parameter may be called as a part of the target is.
                query = {**target, f"swept_{name}" if name in target else name: value}
                at = (name, value)
                found.append(calibration_report(each.calibration, query, at, question.text))
        if not found:
            raise DomainError("; ".join(dict.fromkeys(reason for _, reason in missing)))
        if self.talks:
            for name, reason in missing:
                complain(f"privcalc: warning: {name}: {reason}")
        return found


EXAMPLES = """\
\b
Examples:
  privcalc calibrate gaussian:sigma=_@poisson:q=1%@1000 --epsilon 3 --delta 1e-5
  privcalc calibrate gaussian:sigma=1@poisson:q=1%@_ --epsilon 1,2 --delta 1e-5
  privcalc calibrate gaussian:sigma=_+laplace:scale=_ --ratio 1,2 --mu 1
  privcalc calibrate gaussian:sigma=_@poisson:q=1%@1000 --epsilon 3 --delta 1e-5 \\
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
    tolerance: options.ToleranceOption = "1e-6",
    output: Output,
) -> int:
    """Find the value of a free parameter that meets a target: how much noise, say.

    Write _ for one value, or for a count. The value printed is certain to meet the target, and the
    one next to it is certain to miss it; both are judged as privcalc compose judges them.
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
        targets=read_targets({name: texts for name, texts in given.items() if texts}),
        ratio=read_ratio(ratio),
        relation=choices.relation_named(relation),
        tolerance=read_tolerance("--tolerance", tolerance),
    )
    swept = None if sweep is None else Sweeping(ask, read_sweep(sweep), talks=not output.quiet)
    if output.terse and ratio is not None:
        raise UsageError("-t prints one number, and with --ratio there are several; use --json")
    if swept is not None and len(ask.targets) > 1:
        raise UsageError("--sweep goes with one target, not with a list")
    if swept is not None and "-" in specs:
        raise UsageError("--sweep goes with one specification, not with -")
    return answered(specs, swept or ask, output, holes=True, places=None if swept else ())
