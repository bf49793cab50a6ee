"""The command `convert`: one guarantee in another language."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, cast

from privcalc.bounds import TOLERANCE, Bound, Proof
from privcalc.commands.command import command, limited
from privcalc.commands.questions import joined
from privcalc.errors import UsageError
from privcalc.record import replace
from privcalc.render.report import OneSided, Report
from privcalc.render.words import CONVERTED, TARGETS, proof_remarks
from privcalc.spec.registry import check_relation, sampling_words, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.accounting.convert import Target
    from privcalc.accounting.directions import Value
    from privcalc.commands.command import Values
    from privcalc.relation import Relation
    from privcalc.render.report import Quantity
    from privcalc.spec.read import Question
    from privcalc.spec.tree import Node

DEFAULT_ORDERS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
"""Renyi orders that are shown where none are asked for."""
FILTER = (
    "epsilon is that of {}, however steps are chosen; fixed_epsilon that of the admitted steps as"
    " a list that was fixed in advance; spent and left are {}"
)
# What adds up in a budget of each kind.
SPENT = {"gdp": "mu^2", "zcdp": "rho", "rdp": "epsilon at the order of the budget"}
LARGE = {
    "gdp": (3.0, "mu holds at every delta, however small; --delta 1e-5 asks for the one there"),
    "zcdp": (4.5, "rho holds at every Renyi order, however large; compose has epsilon at a delta"),
}
# Which options say something to which target; others say something to all.
USES = {
    "dp": ("delta", "epsilon", "max_epsilon", "max_delta"),
    "profile": ("epsilon", "points"),
    "rdp": ("orders",),
    "zcdp": ("max_rho",),
    "tcdp": ("omega", "max_rho"),
    "gdp": ("delta", "max_mu"),
    "tradeoff": ("fpr", "points"),
    "risk": ("fpr", "prior", "max_advantage"),
    "dp-event": (),
}
TABLES = {"risk": (("advantage",), ("tpr_at_fpr",), ("bayes_success",), ("reconstruction",))}

EXAMPLES = """\
  privcalc convert zcdp:rho=2.56 --delta 1e-10
  privcalc convert gaussian:sigma=1.1@poisson:q=256/60000@14063 --to tradeoff
  privcalc convert laplace:scale=20@1000 --to profile --points 200 --format csv
  privcalc convert gaussian:sigma=4 --to risk --fpr 1e-3
  privcalc convert gaussian:sigma=40@60+gaussian:sigma=9 --filter zcdp:rho=0.1 --delta 1e-5
  privcalc convert gnmax:sigma=40 --data-dependent ./votes.txt --delta 1e-5"""


def _prepared(values: Values) -> Values:
    """Reject options without effect on a target or that contradict others; find the target."""
    to, given = values.get("to", "dp"), {*values}
    limits = limited(values)
    if to == "dp" and not given & {"delta", "epsilon"}:
        to = "profile"
    for name in (each for uses in USES.values() for each in uses if each in given):
        if name not in USES[to]:
            takers = " and ".join(f"--to {each}" for each in USES if name in USES[each])
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} has no effect with --to {to}; use it with {takers}")
    engine = values.get("engine", "auto") != "auto"
    data, budget = values.get("data_dependent"), values.get("filter_")
    mode = "--data-dependent" if data else "--filter" if budget else ""
    refused = {
        "--points chooses points; it contradicts a list of them": (
            "points" in given and given & {"epsilon", "fpr"}
        ),
        f"--engine has no effect with --to {to}: the Renyi curve answers it": (
            engine and to in ("rdp", "zcdp", "tcdp")
        ),
        "--group, --filter and --data-dependent have no effect with --to dp-event": (
            to == "dp-event" and given & {"data_dependent", "filter_", "group"}
        ),
        "--to tcdp needs --omega: the largest Renyi order that counts, such as --omega 20": (
            to == "tcdp" and "omega" not in given
        ),
        "--filter takes guarantees, and --data-dependent gives none": data and budget,
        f"--engine has no effect with {mode}": mode and engine,
        f"{mode} is not checked against a budget; compose and convert SPEC are": mode and limits,
    }
    for words in (each for each, applies in refused.items() if applies):
        raise UsageError(words)
    return {**values, "to": to, **({"filter_": joined([budget]).tree} if budget else {})}


def _alone(values: Values) -> Values:
    """Refuse several mu: an answer in Python is the one that is matched at a delta."""
    if values["to"] == "gdp" and len(deltas := values.get("delta", ())) > 1:
        raise UsageError(f"an answer is about one delta, got {len(deltas)}; ask in turn")
    return {}


@command(
    "specs to delta epsilon orders omega points fpr prior group max_epsilon max_delta max_rho"
    " max_mu max_advantage exit_zero sweep relation tolerance engine data_dependent filter_",
    needed="specs",
    examples=EXAMPLES,
    prepare=_prepared,
    alone=_alone,
)
def convert(
    question: Question,
    *,
    to: str = "dp",
    delta: tuple[float, ...] = (),
    epsilon: tuple[float, ...] = (),
    orders: tuple[float, ...] = DEFAULT_ORDERS,
    omega: float | None = None,
    points: int = 21,
    fpr: tuple[float, ...] = (),
    prior: tuple[float, ...] = (),
    group: int = 1,
    relation: Relation | None = None,
    tolerance: float = TOLERANCE,
    engine: str = "auto",
    data_dependent: tuple[str, ...] = (),
    filter_: Node | None = None,
) -> Iterator[Report]:
    """State one guarantee in another language.

    Between descriptions of one pair of outputs nothing is lost, and both ends are proved. Where
    one number has to stand for a whole curve (zcdp, gdp), or only an upper bound is known, the
    answer is the tightest that is true, and says so.

        >>> import privcalc
        >>> privcalc.convert("zcdp:rho=0.5", to="zcdp").rho.upper
        0.5
        >>> rdp = privcalc.convert("gaussian:sigma=2", to="rdp", orders=[2, 8])
        >>> [order for order, divergence in rdp.curve]
        [2.0, 8.0]
        >>> privcalc.convert("gaussian:sigma=1", to="gdp").mu.upper
        1.0
    """
    if to == "dp-event":
        yield _event(question, relation)
        return
    from privcalc.accounting import convert as accounting

    tree = question.tree
    asked = accounting.ConversionQuery(
        to=cast("Target", to),
        deltas=delta,
        epsilons=epsilon,
        orders=orders,
        omega=inf if omega is None else omega,
        points=points,
        false_positive_rates=fpr,
        priors=prior,
        records=group,
    )
    columns, caution, least, words = TARGETS.get(to, ()), "", inf, ""
    if filter_ is not None:
        from privcalc.accounting.filters import filtered

        budget = to_text(filter_)
        columns = (("filter", FILTER.format(budget, SPENT.get(budget.partition(":")[0], ""))),)
        found = filtered(tree, filter_, asked, relation=relation, tolerance=tolerance)
    elif data_dependent:
        columns, caution = (), "data-dependent: no guarantee, and itself sensitive"
        found = accounting.on_data(
            tree, data_dependent, asked, relation=relation, tolerance=tolerance
        )
    else:
        found = accounting.convert(
            tree, asked, relation=relation, tolerance=tolerance, engine=engine
        )
        # What is said of one number for a curve where it is so large: of steps that are sampled it
        # is decided far below any delta in use, by runs in which every sample had the record.
        if not delta and sampling_words(tree) != "none":
            least, words = LARGE.get(to, (inf, ""))
    for answer in found.answers:
        remarks = [("conversion", found.kind), *proof_remarks(answer.method, answer.query)]
        remarks += columns
        number = answer.result.get("mu", answer.result.get("rho"))
        if isinstance(number, Bound) and least < number.upper < inf:
            remarks.append(("why large", words))
        methods = cast("dict[str, float]", answer.result.get("methods", {}))
        remarks += [(name, CONVERTED[name]) for name in CONVERTED if name in methods]
        yield Report.of(
            found,
            answer,
            {
                name: _quantity(name, value, asked=to == "tcdp")
                for name, value in answer.result.items()
            },
            method=replace(answer.method, kind=found.kind.partition(":")[0]),
            tables=TABLES.get(to, ()),
            remarks=tuple(remarks),
            caution=caution,
        )


def _quantity(name: str, value: Value, *, asked: bool = False) -> Quantity:
    """Put an answer into the form that reports have."""
    # Of a curve that ends omega is about where; of a question it is what was asked.
    if name in ("omega", "left", "spent") and isinstance(value, float) and not asked:
        return OneSided(value, is_upper=name == "spent")
    if isinstance(value, dict):
        return {name: OneSided(number) for name, number in value.items()}
    return [*value] if isinstance(value, tuple) else value


def _event(question: Question, relation: Relation | None) -> Report:
    """Return a specification as a DpEvent of dp_accounting."""
    from privcalc.accounting.directions import Method
    from privcalc.accounting.realize import default_relation
    from privcalc.spec.events.dp_events import event_text

    tree, relation = question.tree, relation or default_relation(question.tree)
    check_relation(tree, relation)
    result = {"dp_event": event_text(tree, relation)}
    method = Method(Proof.CLOSED_FORM, tolerance_met=True)
    return Report(spec=tree, relation=relation, query={}, result=result, method=method)
