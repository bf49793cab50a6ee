"""The command `calibrate`: the value of a free parameter that meets a target."""

from __future__ import annotations

import shlex
from itertools import product
from typing import TYPE_CHECKING

from privcalc.bounds import TOLERANCE
from privcalc.commands.command import command
from privcalc.commands.result import Results
from privcalc.errors import UsageError
from privcalc.render.report import Report
from privcalc.render.words import number, written
from privcalc.spec.registry import SHOWN, few, to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from privcalc.accounting.calibrate import Calibration, CalibrationTarget
    from privcalc.calibration.target import TargetQuantity
    from privcalc.commands.command import Values
    from privcalc.relation import Relation
    from privcalc.render.report import Quantity
    from privcalc.spec.read import Question

Query = dict[str, float]
# Each has its share of the work of one question.
MOST_TARGETS = 1000
# What has to be given together: the budget, and where it is asked.
QUANTITIES: dict[TargetQuantity, str] = {
    "epsilon": "delta",
    "mu": "",
    "rho": "",
    "advantage": "",
    "tpr": "fpr",
}
TARGETS = ("epsilon", "delta", "mu", "rho", "advantage", "tpr", "fpr")
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


def _prepared(values: Values) -> Values:
    """Make targets of the numbers: each budget at each place, in the order of the places."""
    given = {name: values.pop(name) for name in TARGETS if name in values}
    names = target_names(given)
    numbers = product(*(given[name] for name in names))
    targets = tuple(dict(zip(names, each, strict=True)) for each in numbers)
    if len(targets) > MOST_TARGETS:
        raise UsageError(f"at most {MOST_TARGETS} targets are met at once, got {len(targets)}")
    return {**values, "targets": targets}


EXAMPLES = """\
\b
Examples:
  privcalc calibrate gaussian:sigma=_@poisson:q=1%@1000 --epsilon 3 --delta 1e-5
  privcalc calibrate gaussian:sigma=1@poisson:q=1%@_ --epsilon 1,2 --delta 1e-5
  privcalc calibrate gaussian:sigma=_+laplace:scale=_ --ratio 1,2 --mu 1
  privcalc calibrate gaussian:sigma=_@poisson:q=1%@1000 --epsilon 3 --delta 1e-5 \\
      --sweep q=0.001..0.1/20log"""


@command(
    "specs epsilon delta mu rho advantage tpr fpr ratio sweep relation tolerance",
    needed="specs",
    examples=EXAMPLES,
    prepare=_prepared,
)
def calibrate(
    question: Question,
    *,
    targets: tuple[Query, ...],
    ratio: tuple[float, ...] = (),
    relation: Relation | None = None,
    tolerance: float = TOLERANCE,
) -> Iterator[Report]:
    """Find the value of a free parameter that meets a target: how much noise, say.

    Write _ for one value, or for a count. The value printed is certain to meet the target, and the
    one next to it is certain to miss it; both are judged as privcalc compose judges them.

        >>> import privcalc
        >>> noise = privcalc.calibrate("gaussian:sigma=_@100", epsilon=1, delta=1e-6)
        >>> noise.sufficient
        42.2467889
        >>> noise.epsilon.upper <= 1.0
        True
        >>> noise.text
        'gaussian:sigma=42.2467889@100'

    Of several targets each has an answer: every budget at every delta.

        >>> for noise in privcalc.calibrate("gaussian:sigma=_", epsilon=[1, 10], delta=1e-6):
        ...     print(noise.query["epsilon"], noise.sufficient)
        1.0 4.22467889
        10.0 0.5410868319
    """
    from privcalc.accounting.calibrate import calibrate as accounted

    for target in targets:
        found = accounted(
            question.tree,
            named_target(target),
            relation=relation,
            tolerance=tolerance,
            ratio=ratio,
        )
        at = _place(target, targets) if len(targets) > 1 else None
        yield calibration_report(found, target, at, question.text)


def calibrations(*specs: object, **given: object) -> Results:
    """Find the free parameter for each of several targets, as `calibrate` does of a list.

    >>> import privcalc
    >>> [each.sufficient for each in privcalc.calibrations("gaussian:sigma=_", mu=[1, 2])]
    [1.0, 0.5]
    """
    found = calibrate(*specs, **given)
    return found if isinstance(found, Results) else Results((found,))


def _place(target: Query, targets: Sequence[Query]) -> tuple[str, float]:
    """Return what distinguishes a target from the others: the budget, if there are several."""
    *places, quantity = target
    if len({each[quantity] for each in targets}) == 1 and places:
        return places[0], target[places[0]]
    at = "".join(
        f" at {name} {written(target[name])}"
        for name in places
        if len({each[name] for each in targets}) > 1
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
    several = {"sufficient": found.values, "insufficient": found.insufficient_values}
    for name, values in several.items():
        if values:
            yield name, ", ".join(few([number(value) for value in values], "and {} others"))


def check_command(found: Calibration) -> str:
    """Return the command that checks a calibration; a long specification is piped into it."""
    from privcalc.accounting.realize import default_relation

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
