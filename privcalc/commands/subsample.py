"""The command `subsample`: what sampling buys."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from privcalc.bounds import TOLERANCE, Proof
from privcalc.commands.command import command
from privcalc.commands.convert import DEFAULT_ORDERS
from privcalc.errors import DomainError, UsageError
from privcalc.render.report import OneSided, Report
from privcalc.spec.tree import Wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.accounting.subsample import Subsampled
    from privcalc.commands.command import Values
    from privcalc.relation import Relation
    from privcalc.render.report import Quantity
    from privcalc.spec.read import Question

Query = dict[str, float]


def _prepared(values: Values) -> Values:
    """Make the query of its numbers, q or n and m; refuse what is for epsilon alone."""
    q, n, m = (values.pop(name, None) for name in ("q", "n", "m"))
    if not values.get("delta"):
        if "count" in values:
            raise UsageError("--count needs the delta at which epsilon is asked: add --delta D")
        if values.get("engine", "auto") != "auto":
            raise UsageError("--engine is for epsilon: add --delta D")
    if q is not None and (n is not None or m is not None):
        raise UsageError("--q (Poisson) and --n with --m (a fixed size) contradict each other")
    if q is not None:
        return {**values, "sample": {"sampling_probability": q}}
    if n is None or m is None:
        missing = "--q Q, or --n N with --m M" if n is m is None else "--n N and --m M together"
        raise UsageError(f"subsample needs to know the sample: give {missing}")
    if m > n:
        raise DomainError(f"--m must be at most --n, got {m} out of {n}")
    return {**values, "sample": {"source_dataset_size": n, "sample_size": m}}


def _alone(values: Values) -> Values:
    """Ask for the curve, or for epsilon alone."""
    if "delta" in values and "orders" in values:
        raise UsageError("an answer is a curve over orders, or epsilon at a delta; ask in turn")
    return {"curve": "delta" not in values}


EXAMPLES = """\
  privcalc subsample gaussian:sigma=5 --q 0.001 --orders 2,8,32
  privcalc subsample laplace:scale=2 --q 1% --delta 1e-6 --count 10000
  privcalc subsample gaussian:sigma=4 --n 60000 --m 256"""


@command(
    "spec q n m orders delta count relation tolerance engine",
    needed="spec",
    examples=EXAMPLES,
    prepare=_prepared,
    alone=_alone,
)
def subsample(
    question: Question,
    *,
    sample: Query,
    orders: tuple[float, ...] = DEFAULT_ORDERS,
    delta: tuple[float, ...] = (),
    count: int = 1,
    relation: Relation | None = None,
    tolerance: float = TOLERANCE,
    engine: str = "auto",
    curve: bool = True,
) -> Iterator[Report]:
    """Compute what sampling gains: Renyi divergences of a specification that sees a sample.

    With --q each record is in the sample with that probability (Poisson), with --n and --m the
    sample has a fixed size. Columns: without sampling (base), the least that a bound from that
    alone can be (lower), the tight sum where it is proved, a bound for any mechanism with that
    curve (upper), and the dominating pair (exact).
    With --delta also epsilon after --count rounds, by each accountant.

        >>> import privcalc
        >>> [(order, bound)] = privcalc.subsample("gaussian:sigma=5", q=0.001, orders=8).curve
        >>> 1.6e-7 < bound.lower <= bound.upper < 1.7e-7
        True
        >>> rounds = privcalc.subsample("gaussian:sigma=5", q=0.001, delta=1e-8, count=10_000)
        >>> round(rounds.epsilon.upper, 6)
        0.092934
    """
    from privcalc.accounting import subsample as accounting

    fixed = "sample_size" in sample
    name = "sampled_without_replacement" if fixed else "poisson_sampled"
    found = accounting.subsample(
        Wrapped(name, tuple(sample.items()), question.tree),
        orders,
        relation=relation,
        deltas=delta,
        count=count,
        tolerance=tolerance,
        engine=engine,
    )
    if curve:
        yield _curve(found, sample)
    rounds = "1 round" if found.count == 1 else f"{found.count} rounds"
    for methods, answer in found.accounted:
        columns = {name: OneSided(value) for name, value in methods.items()}
        yield Report.of(
            found,
            answer,
            {"methods": columns, "epsilon": answer.proved},
            spec=found.rounds,
            query={**sample, "count": found.count, **answer.query},
            remarks=(("epsilon", f"after {rounds}, each with a fresh sample"),),
        )


def _curve(found: Subsampled, sample: Query) -> Report:
    """Put the columns into the form of the output contract; what does not apply is omitted."""
    from privcalc.accounting.directions import Method

    curve = found.curve
    result: dict[str, Quantity] = {"orders": list(curve.orders)}
    for name in ("base", "lower", "tight", "upper"):
        if (column := getattr(curve, name)) is not None:
            result[name] = [OneSided(value, is_upper=name != "lower") for value in column]
    tables = [tuple(result)]
    if curve.exact is not None:
        result["exact"] = list(curve.exact)
        tables.append(("orders", "exact"))
    remarks = [*curve.reasons.items()]
    if (order := curve.phase_transition_order) is not None:
        result["phase_transition_order"] = order
        gain = -log(curve.sampling_probability)
        words = f"about order {order:.4g}; beyond it sampling takes off about log(1/q) = {gain:.4g}"
        remarks.append(("transition", words))
    # The curve is of one round: it must not be taken for all that were asked about.
    rounds = {"count": found.count} if found.count > 1 else {}
    return Report(
        spec=found.tree,
        relation=found.relation,
        query={**sample, **rounds},
        result=result,
        method=Method(Proof.RENYI, curve.tolerance_met, theorems=curve.reasons),
        tables=tuple(tables),
        remarks=tuple(remarks),
    )
