"""The command `calibrate`: the value of a free parameter that meets a target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.cli.commands import answered, relation_named
from privcalc.errors import DomainError, UsageError
from privcalc.reporting.calibrate import Calibrating, checked_targets, target_names
from privcalc.reporting.questions import (
    read_all,
    read_number,
    read_tolerance,
    split,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privcalc.cli.options import Text, Texts
    from privcalc.cli.output import Output

# Each has its share of the work of one question.
MOST_TARGETS = 1000


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


EXAMPLES = """\
\b
Examples:
  privcalc calibrate gaussian:sigma=_@poisson:q=1%@1000 --epsilon 3 --delta 1e-5
  privcalc calibrate gaussian:sigma=1@poisson:q=1%@_ --epsilon 1,2 --delta 1e-5
  privcalc calibrate gaussian:sigma=_+laplace:scale=_ --ratio 1,2 --mu 1
  privcalc calibrate gaussian:sigma=_@poisson:q=1%@1000 --epsilon 3 --delta 1e-5 \\
      --sweep q=0.001..0.1/20log"""


def calibrate(
    *,
    specs: list[str],
    epsilon: Texts = None,
    delta: Texts = None,
    mu: Texts = None,
    rho: Texts = None,
    advantage: Texts = None,
    tpr: Texts = None,
    fpr: Texts = None,
    ratio: Text = None,
    sweep: Text = None,
    relation: Text = None,
    tolerance: str = "1e-6",
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
        relation=relation_named(relation),
        tolerance=read_tolerance("--tolerance", tolerance),
    )
    if output.terse and ratio is not None:
        raise UsageError("-t prints one number, and with --ratio there are several; use --json")
    if sweep is not None and len(ask.targets) > 1:
        raise UsageError("--sweep goes with one target, not with a list")
    return answered(specs, ask, output, holes=True, places=(), sweep=sweep)
