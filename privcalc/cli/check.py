"""Budget checks: is the number proved to be within what was allowed?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Verdict
from privcalc.cli.numbers import read_delta, read_epsilon
from privcalc.errors import UsageError
from privcalc.record import record
from privcalc.render.report import Check
from privcalc.render.words import VERDICTS, number, short_exponent
from privcalc.render.written import written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.bounds import Bound

_NARROWER = 1e-3
"""How much narrower the bracket is that is suggested. With nothing known of where in the present
one the number lies, this settles all but about one case in a thousand."""

_SMALLEST_WIDTH = 1e-12
"""No bracket is asked to be narrower than this in absolute terms."""


@record
class Budget:
    """What is allowed: the largest epsilon, the largest delta, either or both."""

    max_epsilon: float | None = None
    max_delta: float | None = None

    def __bool__(self) -> bool:
        """Say whether anything is to be checked."""
        return self.max_epsilon is not None or self.max_delta is not None

    def check(
        self, quantity: str, query: Mapping[str, float], bound: Bound, *, narrowed: bool
    ) -> Check | None:
        """Compare one answer with the budget for its quantity, if there is one.

        Args:
            quantity: epsilon or delta.
            query: where the quantity was asked.
            bound: what was proved.
            narrowed: whether a narrower tolerance could give a narrower bracket.
        """
        budget = {"epsilon": self.max_epsilon, "delta": self.max_delta}.get(quantity)
        if budget is None:
            return None
        verdict = bound.verdict(budget)
        at = "".join(f" at {name} {written(value)}" for name, value in query.items())
        words = f"{VERDICTS[verdict]}: {_proved(quantity, at, bound, budget)}"
        sentence = f"{words}, budget {written(budget)}"
        if verdict is Verdict.UNDECIDED:
            sentence += f"; {_remedy(bound, narrowed=narrowed)}"
        return Check(f"max_{quantity}", budget, verdict, sentence)


def read_budget(
    max_epsilon: str | None, max_delta: str | None, *, deltas: bool, epsilons: bool, estimate: bool
) -> Budget:
    """Read the budget options; refuse a budget that nothing is compared with.

    Args:
        max_epsilon: as written.
        max_delta: as written.
        deltas: whether any delta was given.
        epsilons: whether any epsilon was given.
        estimate: whether the engine gives an estimate only.
    """
    budget = Budget(
        None if max_epsilon is None else read_epsilon("--max-epsilon", max_epsilon),
        None if max_delta is None else read_delta("--max-delta", max_delta),
    )
    if budget.max_epsilon is not None and not deltas:
        raise UsageError("--max-epsilon needs the delta at which it holds: add --delta D")
    if budget.max_delta is not None and not epsilons:
        raise UsageError("--max-delta needs the epsilon at which it holds: add --epsilon E")
    if budget and estimate:
        raise UsageError(
            "--engine afa gives an estimate without certificate; a budget check needs a proof"
        )
    return budget


def _proved(quantity: str, at: str, bound: Bound, budget: float) -> str:
    """State the inequality that the verdict rests on.

    An end that rounding would move past the budget is written in full, so that what is printed
    proves what is said.
    """
    lower, upper = bound.decimals()
    verdict = bound.verdict(budget)
    if verdict is Verdict.WITHIN:
        return f"{quantity} <= {upper if float(upper) <= budget else number(bound.upper)}{at}"
    if bound.lower is None:
        return f"{quantity} <= {upper}{at} and no lower end is known"
    if verdict is Verdict.EXCEEDED:
        return f"{quantity} >= {lower if float(lower) > budget else number(bound.lower)}{at}"
    return f"{quantity} is in [{lower}, {upper}]{at}"


def _remedy(bound: Bound, *, narrowed: bool) -> str:
    """Say what would turn `undecided` into an answer."""
    if bound.lower is None:
        return "this guarantee cannot show that the budget is exceeded"
    if narrowed and bound.width > _SMALLEST_WIDTH:
        tolerance = max(bound.width * _NARROWER, _SMALLEST_WIDTH) / bound.upper
        return (
            f"a narrower bracket would settle it: --tolerance {short_exponent(f'{tolerance:.0e}')}"
        )
    return f"no engine proves a narrower bracket; a budget of {bound.decimals()[1]} would be kept"
