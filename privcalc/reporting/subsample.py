"""What `subsample` asks of a specification, and its answers as reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Proof
from privcalc.errors import DomainError, UsageError
from privcalc.record import record
from privcalc.reporting import DEFAULT_ORDERS
from privcalc.reporting.amplified import columns, details, remarks
from privcalc.reporting.questions import relation_in_force

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.accounting.subsample import Accounted, Sample, Subsampled
    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.spec.read import Question


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
        tolerance: relative width wished for.
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
        return reports + [self._epsilon(found, each) for each in found.accounted]

    @property
    def _words(self) -> str:
        """Spell the sample as specifications do."""
        from privcalc.render.written import written

        short = {"sampling_probability": "q", "source_dataset_size": "n", "sample_size": "m"}
        return ", ".join(f"{short[name]}={written(value)}" for name, value in self.sample.items())

    def _curve(self, found: Subsampled) -> Report:
        from privcalc.accounting.answer import Method
        from privcalc.render.report import Report

        curve = found.curve
        result = columns(curve)
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
            remarks=remarks(curve),
            details=details(curve),
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
    from privcalc.render.written import written

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


def _sample(query: Mapping[str, float]) -> Sample:
    from privcalc.accounting.subsample import Sample

    if "sampling_probability" in query:
        return Sample(sampling_probability=query["sampling_probability"])
    return Sample(sizes=(int(query["source_dataset_size"]), int(query["sample_size"])))
