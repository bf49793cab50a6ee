"""What `subsample` asks of a specification, and its answers as reports."""

from __future__ import annotations

from math import isinf, isnan, log
from typing import TYPE_CHECKING

from privcalc.bounds import Proof
from privcalc.errors import DomainError, UsageError
from privcalc.record import record
from privcalc.reporting import DEFAULT_ORDERS
from privcalc.reporting.questions import explained, relation_in_force

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.accounting.amplification import Amplification
    from privcalc.accounting.subsample import Accounted, SampleSize, Subsampled
    from privcalc.bounds import Bound
    from privcalc.relation import Relation
    from privcalc.render.report import Quantity, Report
    from privcalc.spec.read import Question


def _columns(curve: Amplification) -> dict[str, Quantity]:
    """Put the columns into the form of the output contract; what does not apply is omitted."""
    from privcalc.render.report import OneSided

    def column(values: tuple[float, ...], *, is_upper: bool = True) -> Quantity:
        return [OneSided(value, is_upper) for value in values]

    found: dict[str, Quantity] = {"orders": list(curve.orders), "base": column(curve.base)}
    if curve.lower is not None:
        found["lower"] = column(curve.lower, is_upper=False)
    if curve.tight is not None:
        found["tight"] = column(curve.tight)
    found["upper"] = column(curve.upper)
    if curve.exact is not None:
        found["exact"] = list(curve.exact)
    if curve.phase_transition_order is not None:
        found["phase_transition_order"] = curve.phase_transition_order
    return found


def _remarks(curve: Amplification) -> tuple[tuple[str, str], ...]:
    """Say which theorem each column is, and where the curve bends."""
    return (*curve.reasons.items(), ("transition", _transition(curve)))


def _transition(curve: Amplification) -> str:
    """Say where sampling stops helping much."""
    order = curve.phase_transition_order
    if order is not None:
        gain = -log(curve.sampling_probability)
        return f"about order {order:.4g}; beyond it sampling takes off about log(1/q) = {gain:.4g}"
    if curve.sampling_probability == 1.0:
        return "none: every record is in the sample"
    if isinf(min(curve.base)):
        if curve.exact is not None and not isinf(min(curve.exact, key=_upper).upper):
            return "none: divergences are infinite without sampling"
        return "none: divergences are infinite"
    return "none: sampling helps at every order"


def _upper(bound: Bound) -> float:
    return bound.upper


def _details(curve: Amplification) -> tuple[str, ...]:
    """Return the bounds of the literature that a better one has replaced, for -v."""
    lines: list[str] = []
    if curve.published is not None:
        lines += ["upper as published (Zhu 2023, Theorem 2.3.1):"]
        lines += _listed(curve.orders, curve.published)
    return tuple(lines)


def _listed(orders: tuple[float, ...], values: tuple[float, ...]) -> list[str]:
    from privcalc.render.report import OneSided
    from privcalc.render.words import number, one_sided

    return [
        f"  order {number(order)}: {one_sided(OneSided(value))}"
        for order, value in zip(orders, values, strict=True)
        if not isnan(value)
    ]


Query = dict[str, float]


@record
class Subsampling:
    """What is asked of every specification of one invocation.

    Attributes:
        sample: the query of the sampling, by long names.
        orders: Renyi orders.
        deltas: epsilon is asked at each.
        count: rounds.
        relation: the relation that the command line asks for.
        tolerance: target relative width.
        engine: for epsilon.
        curve: whether the curve is an answer, and not only epsilon.
    """

    sample: Mapping[str, float]
    orders: tuple[float, ...]
    deltas: tuple[float, ...]
    count: int
    relation: Relation | None
    tolerance: float
    engine: str
    curve: bool

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question."""
        from privcalc.accounting import subsample as accounting
        from privcalc.accounting.realize import explaining

        with explaining() as seen:
            found = accounting.subsample(
                question.tree,
                _sample(self.sample),
                self.orders or DEFAULT_ORDERS,
                relation=relation_in_force(self.relation, question.relation),
                deltas=self.deltas,
                count=self.count,
                tolerance=self.tolerance,
                engine=self.engine,
            )
        reports = [self._curve(found)] if self.curve else []
        reports += [self._epsilon(found, each) for each in found.accounted]
        return explained(reports, seen, self.engine)

    @property
    def _words(self) -> str:
        """Spell the sample as specifications do."""
        from privcalc.render.words import written

        short = {"sampling_probability": "q", "source_dataset_size": "n", "sample_size": "m"}
        return ", ".join(f"{short[name]}={written(value)}" for name, value in self.sample.items())

    def _curve(self, found: Subsampled) -> Report:
        from privcalc.accounting.directions import Method
        from privcalc.render.report import Report

        curve = found.curve
        result = _columns(curve)
        plain = tuple(name for name in result if name not in ("exact", "phase_transition_order"))
        brackets = (("orders", "exact"),) if "exact" in result else ()
        # The curve is of one round: it must not be taken for all that were asked about.
        rounds = {"count": found.count} if found.count > 1 else {}
        return Report(
            command="subsample",
            spec=found.tree,
            relation=found.relation,
            sampling=found.sampling,
            query={**self.sample, **rounds},
            result=result,
            method=Method(Proof.RENYI, curve.tolerance_met, theorems=curve.reasons),
            sample=self._words,
            tables=(plain, *brackets),
            remarks=_remarks(curve),
            details=_details(curve),
        )

    def _epsilon(self, found: Subsampled, each: Accounted) -> Report:
        from privcalc.render.report import OneSided, Report

        if each.answer.bound is None:
            raise AssertionError("the engines that are admitted prove brackets")
        query: Query = {**self.sample, "count": found.count, **each.answer.query}
        methods = {
            "rdp_classic": OneSided(each.rdp_classic),
            "rdp_best": OneSided(each.rdp_best),
        }
        rounds = "1 round" if found.count == 1 else f"{found.count} rounds"
        return Report(
            command="subsample",
            spec=found.rounds,
            relation=found.relation,
            sampling=found.sampling,
            query=query,
            result={"methods": methods, "epsilon": each.answer.bound},
            method=each.answer.method,
            directions=each.answer.directions,
            sample=self._words,
            remarks=(("epsilon", f"after {rounds}, each with a fresh sample"),),
        )


def checked_sample(q: float | None, n: int | None, m: int | None) -> Query:
    """Return the query of a sampling: q alone, or n and m together.

    Raises:
        UsageError: they do not fit together.
        DomainError: a number is out of range.
    """
    from privcalc.render.words import written

    if q is not None and (n is not None or m is not None):
        raise UsageError("--q (Poisson) and --n with --m (a fixed size) contradict each other")
    if q is not None:
        if not 0.0 <= q <= 1.0:
            raise DomainError(f"--q must be between 0 and 1, got {written(q)}")
        return {"sampling_probability": q}
    if n is None or m is None:
        missing = "--q Q, or --n N with --m M" if n is m is None else "--n N and --m M together"
        raise UsageError(f"subsample needs to know the sample: give {missing}")
    if m > n:
        raise DomainError(f"--m must be at most --n, got {m} out of {n}")
    if m < 1:
        raise DomainError(f"--m must be at least 1, got {m}")
    return {"source_dataset_size": n, "sample_size": m}


def _sample(query: Mapping[str, float]) -> SampleSize:
    from privcalc.accounting.subsample import SampleSize

    if "sampling_probability" in query:
        return SampleSize(sampling_probability=query["sampling_probability"])
    return SampleSize(sizes=(int(query["source_dataset_size"]), int(query["sample_size"])))
