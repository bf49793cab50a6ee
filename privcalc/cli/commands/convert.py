"""The command `convert`: one guarantee in another language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.cli import choices
from privcalc.cli.answering import answered, proof
from privcalc.cli.numbers import (
    read_all,
    read_count,
    read_delta,
    read_epsilon,
    read_order,
    read_rate,
    read_tolerance,
)
from privcalc.cli.questions import joined, relation_in_force
from privcalc.errors import UsageError
from privcalc.record import record, replace
from privcalc.spec.text import to_text

if TYPE_CHECKING:
    from privcalc.accounting.answer import Value
    from privcalc.accounting.convert import Conversion, Converted, Target
    from privcalc.cli import options
    from privcalc.cli.output import Output
    from privcalc.relation import Relation
    from privcalc.render.report import Quantity, Report
    from privcalc.spec.read import Question
    from privcalc.spec.tree import Node


POINTS = 21
FILTER = (
    "epsilon is that of {}, however steps are chosen; fixed_epsilon that of the admitted steps as"
    " a list that was fixed in advance"
)
NO_GUARANTEE = "data-dependent: no guarantee, and itself sensitive"
# What each number of `--to risk` means, and where it is from.
DEFINITIONS = {
    "advantage": "largest true positive minus false positive rate of a membership attack (Yeom et"
    " al. 2018)",
    "tpr": "largest true positive rate of an attack with that false positive rate (Dong, Roth, Su"
    " 2022)",
    "bayes_success": "largest chance of a right guess, given the prior chance that the record is"
    " there",
    "reconstruction": "largest chance of guessing a secret that without the output is guessed with"
    " the baseline chance (Hayes, Mahloujifar, Balle 2023; Kulynych et al. 2025)",
}
TABLES = {"risk": (("advantage",), ("tpr_at_fpr",), ("bayes_success",), ("reconstruction",))}


@record
class Converting:
    """What is asked of every specification of one invocation."""

    to: Target
    deltas: tuple[float, ...]
    epsilons: tuple[float, ...]
    orders: tuple[float, ...]
    points: int | None
    rates: tuple[float, ...]
    priors: tuple[float, ...]
    records: int
    relation: Relation | None
    tolerance: float
    engine: str
    data: str | None
    budget: Node | None

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        from privcalc.accounting import convert as accounting

        asked = accounting.Question(
            to=self.to,
            deltas=self.deltas,
            epsilons=self.epsilons,
            orders=self.orders,
            points=self.points or POINTS,
            alphas=self.rates if self.to == "tradeoff" else (),
            false_positive_rates=self.rates if self.to == "risk" else (),
            priors=self.priors,
            records=self.records,
        )
        relation = relation_in_force(self.relation, question.relation)
        if self.budget is not None:
            from privcalc.accounting.filters import filtered

            found = filtered(
                question.tree, self.budget, asked, relation=relation, tolerance=self.tolerance
            )
        elif self.data is not None:
            from privcalc.accounting.data import on_data

            found = on_data(
                question.tree, self.data, asked, relation=relation, tolerance=self.tolerance
            )
        else:
            found = accounting.convert(
                question.tree,
                asked,
                relation=relation,
                tolerance=self.tolerance,
                engine=self.engine,
            )
        return [self._report(found, answer) for answer in found.answers]

    def _report(self, found: Conversion, answer: Converted) -> Report:
        from privcalc.render.report import Report

        remarks = [("conversion", found.kind), *proof(answer.method, answer.query)]
        if self.budget is not None:
            remarks.append(("filter", FILTER.format(to_text(self.budget))))
        if self.to == "risk":
            remarks += DEFINITIONS.items()
        return Report(
            command="convert",
            spec=found.tree,
            relation=found.relation,
            sampling=found.sampling,
            query=answer.query,
            result={name: _quantity(name, value) for name, value in answer.result.items()},
            method=replace(answer.method, kind=found.kind.partition(":")[0]),
            directions=answer.directions,
            tables=TABLES.get(self.to, ()),
            remarks=tuple(remarks),
            details=() if self.data else _textbook(found, answer),
            caution=NO_GUARANTEE if self.data else "",
        )


def _quantity(name: str, value: Value) -> Quantity:
    """Put an answer into the form that reports have."""
    from privcalc.render.report import OneSided

    if name in ("omega", "left") and isinstance(value, float):
        return OneSided(value, is_upper=False)
    if name == "spent" and isinstance(value, float):
        return OneSided(value)
    if isinstance(value, dict):
        return {name: OneSided(number) for name, number in value.items()}
    return [*value] if isinstance(value, tuple) else value


def _textbook(found: Conversion, answer: Converted) -> tuple[str, ...]:
    """Return what textbook formulas say of the same question, for -v."""
    if "delta" not in answer.query or "epsilon" not in answer.result:
        return ()
    from privcalc.accounting.classical import comparisons
    from privcalc.render.words import number

    return tuple(
        f"{each.name}: {number(float(f'{each.epsilon:.12g}'))}, {each.condition}"
        for each in comparisons(found.tree, answer.query["delta"])
    )


EXAMPLES = """\
\b
Examples:
  privcalc convert zcdp:rho=2.56 --delta 1e-10
  privcalc convert gaussian:sigma=1.1@poisson:q=256/60000@14063 --to tradeoff
  privcalc convert laplace:scale=20@1000 --to profile --points 200 --format csv
  privcalc convert gaussian:sigma=4 --to risk --fpr 1e-3
  privcalc convert gaussian:sigma=40@60+gaussian:sigma=9 --filter zcdp:rho=0.1 --delta 1e-5
  privcalc convert gnmax:sigma=40 --data-dependent ./votes.txt --delta 1e-5"""

# Which options say something to which target.
USES = {
    choices.Target.DP: {"--delta", "--epsilon"},
    choices.Target.PROFILE: {"--epsilon", "--points"},
    choices.Target.RDP: {"--orders"},
    choices.Target.ZCDP: set[str](),
    choices.Target.GDP: {"--delta"},
    choices.Target.TRADEOFF: {"--fpr", "--points"},
    choices.Target.RISK: {"--fpr", "--prior"},
}


def convert(
    *,
    specs: options.SpecsArgument,
    to: options.TargetOption = choices.Target.DP,
    delta: options.DeltaOption = None,
    epsilon: options.EpsilonOption = None,
    orders: options.OrdersOption = None,
    points: options.PointsOption = None,
    fpr: options.RateOption = None,
    prior: options.PriorOption = None,
    group: options.GroupOption = None,
    relation: options.RelationOption = None,
    tolerance: options.ToleranceOption = "1e-9",
    engine: options.EngineOfCurveOption = choices.ProvedEngine.AUTO,
    data_dependent: options.DataOption = None,
    budget: options.FilterOption = None,
    output: Output,
) -> int:
    """State one guarantee in another language.

    Between descriptions of one pair of outputs nothing is lost, and both ends are proved. Where
    one number has to stand for a whole curve (zcdp, gdp), or only an upper bound is known, the
    answer is the tightest that is true, and says so.
    """
    given = {
        "--delta": delta,
        "--epsilon": epsilon,
        "--orders": orders,
        "--points": points,
        "--fpr": fpr,
        "--prior": prior,
    }
    for option, value in given.items():
        if value and option not in USES[to]:
            takers = " and ".join(f"--to {each.value}" for each in USES if option in USES[each])
            raise UsageError(f"{option} says nothing to --to {to.value}; it is for {takers}")
    if to is choices.Target.DP and not (delta or epsilon):
        raise UsageError("--to dp needs --delta D or --epsilon E; --to profile needs neither")
    if points and (epsilon or fpr):
        raise UsageError("--points chooses points; it contradicts a list of them")
    if output.terse and to not in (choices.Target.DP, choices.Target.ZCDP, choices.Target.GDP):
        raise UsageError("-t prints one number; it goes with --to dp, zcdp and gdp")
    if engine is not choices.ProvedEngine.AUTO and to in (choices.Target.RDP, choices.Target.ZCDP):
        raise UsageError(f"--engine says nothing to --to {to.value}: the Renyi curve answers it")
    if data_dependent or budget:
        _check_mode(data_dependent, budget, engine, output)
    ask = Converting(
        to=to.value,
        deltas=read_all(read_delta, "--delta", delta),
        epsilons=read_all(read_epsilon, "--epsilon", epsilon),
        orders=read_all(read_order, "--orders", orders) or choices.DEFAULT_ORDERS,
        points=None if points is None else read_count("--points", points),
        rates=read_all(read_rate, "--fpr", fpr),
        priors=read_all(read_rate, "--prior", prior),
        records=1 if group is None else read_count("--group", group),
        relation=choices.relation_named(relation),
        tolerance=read_tolerance("--tolerance", tolerance),
        engine=engine.value,
        data=data_dependent,
        budget=None if budget is None else joined([budget]).tree,
    )
    return answered(specs, ask, output)


def _check_mode(
    data: str | None, budget: str | None, engine: choices.ProvedEngine, output: Output
) -> None:
    """Refuse what says nothing to the data at hand, or to a filter."""
    if data and budget:
        raise UsageError("--filter is about guarantees, and --data-dependent about none")
    if engine is not choices.ProvedEngine.AUTO:
        raise UsageError(f"--engine says nothing to {'--data-dependent' if data else '--filter'}")
    if data and output.terse:
        raise UsageError("-t has no room to say that a data-dependent number is no guarantee")
