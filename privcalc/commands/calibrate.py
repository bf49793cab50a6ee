"""The command `calibrate`: the value of a free parameter that meets a target."""

from __future__ import annotations

import shlex
from itertools import product
from typing import TYPE_CHECKING, Any

from privcalc.bounds import TOLERANCE
from privcalc.commands.command import command
from privcalc.commands.result import Results
from privcalc.errors import UsageError
from privcalc.render.report import Report
from privcalc.render.words import number, written
from privcalc.spec.registry import SHOWN, few, sampling_words, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.accounting.calibrate import Calibration
    from privcalc.calibration.target import TargetQuantity
    from privcalc.commands.command import Values
    from privcalc.relation import Relation
    from privcalc.spec.read import Question

Query = dict[str, float]
# Each has its share of the work of one question.
MOST_TARGETS = 1000
# The places at which a budget of each quantity is asked, and what checks that it is kept.
TARGETS: dict[TargetQuantity, tuple[str, str]] = {
    "epsilon": ("delta", "compose {spec} --delta {at} --max-epsilon {budget}"),
    "mu": ("", "convert {spec} --to gdp --max-mu {budget}"),
    "rho": ("", "convert {spec} --to zcdp --max-rho {budget}"),
    "advantage": ("", "compose {spec} --epsilon 0 --max-delta {budget}"),
    "tpr": ("fpr", "convert {spec} --to risk --fpr {at}"),
}
NEEDED = (
    "calibrate needs a target: --epsilon E with --delta D, --mu M, --rho R, --advantage A, or"
    " --tpr T with --fpr F"
)


def _prepared(values: Values) -> Values:
    """Make targets of the numbers: each budget at each place, in the order of the places."""
    given = {name: values.pop(name) for name in (*TARGETS, "delta", "fpr") if name in values}
    quantities = [name for name in TARGETS if name in given]
    if not quantities:
        half = next(iter(given), "")
        raise UsageError(f"--{half} alone is no target; {NEEDED}" if half else NEEDED)
    quantity = quantities[0]
    place, _ = TARGETS[quantity]
    for name in (each for each in given if each not in (quantity, place)):
        two = f"--{quantity} and --{name} are two targets; give one"
        raise UsageError(two if name in TARGETS else f"--{name} has no effect with --{quantity}")
    if place and place not in given:
        pure = ", 0 for pure differential privacy" if place == "delta" else ""
        raise UsageError(f"--{quantity} needs --{place}: the {place} at which it is asked{pure}")
    names = [*filter(None, (place, quantity))]
    numbers = product(*(given[name] for name in names))
    targets = tuple(dict(zip(names, each, strict=True)) for each in numbers)
    if len(targets) > MOST_TARGETS:
        raise UsageError(f"at most {MOST_TARGETS} targets are met at once, got {len(targets)}")
    return {**values, "targets": targets}


EXAMPLES = """\
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
    """
    from privcalc.accounting.calibrate import CalibrationTarget
    from privcalc.accounting.calibrate import calibrate as accounted

    quantity = next(name for name in TARGETS if name in targets[0])
    for query in targets:
        target = CalibrationTarget(quantity, query[quantity], query.get(TARGETS[quantity][0]))
        found = accounted(
            question.tree, target, relation=relation, tolerance=tolerance, ratio=ratio
        )
        yield _report(found, query, targets)


def calibrations(*specs: object, **given: object) -> Results:
    """Find the free parameter for each of several targets, as `calibrate` does of a list.

    >>> import privcalc
    >>> [each.sufficient for each in privcalc.calibrations("gaussian:sigma=_", mu=[1, 2])]
    [1.0, 0.5]
    """
    found = calibrate(*specs, **given)
    return found if isinstance(found, Results) else Results((found,))


def _stated(query: Query, targets: Sequence[Query]) -> tuple[tuple[str, float] | None, str]:
    """Return what tells a target from the others, and what is to be met in words."""
    *places, quantity = query
    value = query[quantity]
    at = "".join(f" at {name} {written(query[name])}" for name in places)
    several = [name for name in query if len({each[name] for each in targets}) > 1]
    if len(targets) == 1:
        return None, f"{quantity} <= {written(value)}{at}"
    words = f" at each {places[0]}" if places and places[:1] == several[:1] else at
    # Equal ones are told by what else there is.
    if quantity in several or not places:
        place = at if words != at else ""
        return (f"max_{quantity}{place}", value), f"{quantity} <= max_{quantity}{words}"
    return (places[0], query[places[0]]), f"{quantity} <= {written(value)}{words}"


def _report(found: Calibration, query: Query, targets: Sequence[Query]) -> Report:
    """Put an answer into the form of the output contract."""
    quantity = found.target.quantity
    at, words = _stated(query, targets)
    remarks = [("target", words)]
    if quantity == "mu" and sampling_words(found.tree) != "none":
        remarks.append(("mu", "holds at every delta, however small, where samples save little"))
    values = {"sufficient": found.sufficient, "insufficient": found.insufficient}
    result: dict[str, Any] = {
        "parameter": found.parameter,
        **{name: value for name, value in values.items() if value is not None},
    }
    if len(found.values) > 1:
        # They have no column of their own.
        result["values"] = list(found.values)
        several = {"sufficient": found.values, "insufficient": found.insufficient_values}
        for name, listed in several.items():
            if listed:
                numbers = few([number(value) for value in listed], "and {} others")
                remarks.append((name, ", ".join(numbers)))
    result[quantity] = found.bound
    if at is None:
        remarks.append(("check", _check(found)))
    return Report(
        spec=found.tree,
        relation=found.relation,
        query=query,
        result=result,
        method=found.method,
        at=at,
        tables=((*(() if "values" in result else [*result][1:-1]), quantity),),
        headings={
            "sufficient": f"certified {found.parameter}",
            "insufficient": f"{found.parameter} not sufficient",
        },
        remarks=tuple(remarks),
    )


def _check(found: Calibration) -> str:
    """Return the command that checks a calibration; a long specification is piped into it."""
    from privcalc.accounting.realize import default_relation

    target, text = found.target, to_text(found.tree)
    at = "" if target.at is None else written(target.at)
    spec, piped = shlex.quote(text), len(text) > SHOWN
    if found.relation is not default_relation(found.tree):
        spec += f" --relation {found.relation.text}"
    _, line = TARGETS[target.quantity]
    line = line.format(spec="-" if piped else spec, at=at, budget=written(target.budget))
    return f"{'the same with --json, piped into ' * piped}privcalc {line}"
