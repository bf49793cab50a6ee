"""Budget checks: is the number proved to be within what was allowed, and what noise would fit?"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.bounds import Bound, Verdict, round_down, round_up
from privcalc.errors import PrivcalcError
from privcalc.exact import exact
from privcalc.record import replace
from privcalc.render.report import Check
from privcalc.render.words import VERDICTS, number, short_exponent, written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.spec.tree import Node

_NARROWER = 1e-3
"""How much narrower the bracket is that is suggested. With nothing known of where in the present
one the number lies, this settles all but about one case in a thousand."""

_SMALLEST_WIDTH = 1e-12
"""No bracket is asked to be narrower than this in absolute terms."""

# Of a sum whose fraction has hundreds.
_DIGITS = range(17, 121)


def checked(report: Report, limits: Mapping[str, float]) -> Report:
    """Compare an answer with the budget for its quantity, `max_epsilon` say, if there is one."""
    for name, bound in report.result.items():
        budget = limits.get(f"max_{name}")
        if budget is None or not isinstance(bound, Bound):
            continue
        verdict = bound.verdict(budget)
        at = "".join(f" at {name} {written(value)}" for name, value in report.query.items())
        sentence = f"{VERDICTS[verdict]}: {_proved(name, at, bound, budget)}"
        if verdict is Verdict.UNDECIDED:
            sentence += f"; {_settled_by(bound, narrowed=_narrows(report, name, bound))}"
        return replace(report, check=Check(f"max_{name}", budget, verdict, sentence))
    return report


def _narrows(report: Report, name: str, bound: Bound) -> bool:
    """Say whether a narrower tolerance could give a narrower bracket."""
    base = report.result.get(f"base_{name}")
    if not isinstance(base, Bound):
        return report.method.tolerance_met
    met = all(each.method.tolerance_met for each in report.directions)
    if not met or bound.lower is None or bound.upper == math.inf:
        return False
    # One run has to have a tenth of the relative width of the best of several to matter.
    return base.width * bound.upper > 0.1 * bound.width * base.upper


def _proved(quantity: str, at: str, bound: Bound, budget: float) -> str:
    """State the inequality that the verdict rests on, and the budget.

    An end that rounding would move past the budget is written in full, so that what is printed
    proves what is said.
    """
    lower, upper = bound.decimals()
    verdict = bound.verdict(budget)
    if verdict is Verdict.UNDECIDED:
        known = f" is in [{lower}, {upper}]{at}"
        known = known if lower else f" <= {upper}{at} and no lower end is known"
        return f"{quantity}{known}, budget {written(budget)}"
    within = verdict is Verdict.WITHIN
    # As it is read, an end is still one.
    low, high = bound.printed
    end, texts = (high, [upper]) if within else (low or 0.0, [lower])
    texts.append(number(end))
    if (precise := bound.exact) is not None:
        # A few more digits tell it from a budget next to it, and none from one that it is.
        rounded = round_up if within else round_down
        texts += [*(rounded(precise, digits) for digits in _DIGITS), str(precise)]
    proofs = (t for t in texts if (_read(t) <= exact(budget)) is within)
    text = next(proofs, texts[0])
    words = f"{quantity} {'<=' if within else '>='} {text}{at}, budget {written(budget)}"
    if precise is None or text in texts[:2] or precise == exact(budget):
        return words
    apart = float(abs(precise - exact(budget)))
    return f"{words}; {'under' if within else 'over'} by {short_exponent(f'{apart:.2g}')}"


def _read(text: str) -> Fraction | float:
    """Return the number that a text is read as."""
    return math.inf if text == "Infinity" else Fraction(text)


def _settled_by(bound: Bound, *, narrowed: bool) -> str:
    """Say what would turn `undecided` into an answer."""
    if bound.lower is None:
        return "this guarantee cannot show that the budget is exceeded"
    if math.isinf(bound.upper):
        return "no engine proves an upper end"
    if narrowed and bound.width > _SMALLEST_WIDTH:
        tolerance = max(bound.width * _NARROWER, _SMALLEST_WIDTH) / bound.upper
        return (
            f"a narrower bracket would settle it: --tolerance {short_exponent(f'{tolerance:.0e}')}"
        )
    return (
        f"no engine proves a narrower bracket; a budget of {bound.decimals()[1]} would be satisfied"
    )


# A hint is worth a second of work; rough brackets prove that it fits, and it should not cost far
# less than the budget.
WORK, TOLERANCE, FAR = 1e7, 1e-3, 0.01
# Of more mechanisms with noise it takes longer.
MOST_NOISES = 50


def fitted(report: Report, *, questions: int = 1) -> Report:
    """Return an answer with the noise that would fit, where its budget is not satisfied.

    The work that one hint may cost is shared by those of so many questions.
    """
    check = report.check
    if check is None or check.verdict is Verdict.WITHIN:
        return report
    # delta(epsilon) <= D where epsilon(D) <= epsilon.
    budget, at = check.budget, report.query.get("delta", 0.0)
    if check.name == "max_delta":
        budget, at = report.query["epsilon"], check.budget
    words = suggestion(report.spec, budget, at, report.relation, work=WORK / questions)
    return replace(report, check=replace(check, sentence=check.sentence + words))


def suggestion(tree: Node, budget: float, at: float, relation: Relation, *, work: float) -> str:
    """Return a clause that names the noise that would fit, or "" where none is soon found.

    Of several mechanisms with noise all are scaled together. The budget is that of epsilon at a
    delta, and `work` is what the search may cost.
    """
    from privcalc.accounting.calibrate import calibrate
    from privcalc.calibration.holes import emptied, noise
    from privcalc.calibration.target import CalibrationTarget
    from privcalc.spec.tree import holes

    found = noise(tree)
    if not 0 < len(found) <= MOST_NOISES:
        return ""
    open_tree = emptied(tree, found)
    try:
        fit = calibrate(
            open_tree,
            CalibrationTarget("epsilon", budget, at),
            relation=relation,
            tolerance=TOLERANCE,
            ratio=[found[path] for path in holes(open_tree)] if len(found) > 1 else (),
            work=work,
        )
    except PrivcalcError:
        # A hint is not worth an error.
        return ""
    if budget - fit.bound.upper > FAR * budget:
        return ""
    if len(found) > 1:
        return f"; all noise times {number(fit.sufficient)} would fit"
    return f"; {fit.parameter}={number(fit.sufficient)} would fit"
