"""The command `subsample`: what sampling buys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.cli import choices
from privcalc.cli.answering import answered
from privcalc.cli.commands.amplified import columns, details, remarks
from privcalc.cli.numbers import (
    read_all,
    read_count,
    read_delta,
    read_number,
    read_order,
    read_tolerance,
)
from privcalc.cli.questions import relation_in_force
from privcalc.errors import DomainError, UsageError
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.accounting.subsample import Accounted, Sample, Subsampled
    from privcalc.cli import options
    from privcalc.cli.output import Output
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
            self.orders,
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
            method=Method("rdp", curve.tolerance_met, theorems=curve.reasons),
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


def read_sample(q: str | None, n: str | None, m: str | None) -> Query:
    """Read the options of the sampling: --q alone, or --n and --m together."""
    if q is not None and (n is not None or m is not None):
        raise UsageError("--q (Poisson) and --n with --m (a fixed size) contradict each other")
    if q is not None:
        value = read_number("--q", q)
        if not 0.0 <= value <= 1.0:
            raise DomainError(f"--q must be between 0 and 1, got {q.strip()}")
        return {"sampling_probability": value}
    if n is None or m is None:
        missing = "--q Q, or --n N with --m M" if n is m is None else "--n N and --m M together"
        raise UsageError(f"subsample needs to know the sample: give {missing}")
    population, size = read_count("--n", n), read_count("--m", m)
    if size > population:
        raise DomainError(f"--m must be at most --n, got {size} out of {population}")
    return {"source_dataset_size": population, "sample_size": size}


def _sample(query: Mapping[str, float]) -> Sample:
    from privcalc.accounting.subsample import Sample

    if "sampling_probability" in query:
        return Sample(sampling_probability=query["sampling_probability"])
    return Sample(sizes=(int(query["source_dataset_size"]), int(query["sample_size"])))


EXAMPLES = """\
\b
Examples:
  privcalc subsample gaussian:sigma=5 --q 0.001 --orders 2,8,32
  privcalc subsample laplace:scale=2 --q 1% --delta 1e-6 --count 10000
  privcalc subsample gaussian:sigma=4 --n 60000 --m 256"""


def subsample(
    *,
    spec: options.SampledSpecArgument,
    q: options.SamplingProbabilityOption = None,
    n: options.PopulationOption = None,
    m: options.SampleSizeOption = None,
    orders: options.OrdersOption = None,
    delta: options.DeltaOption = None,
    count: options.CountOption = None,
    relation: options.SampledRelationOption = None,
    tolerance: options.ToleranceOption = "1e-9",
    engine: options.ProvedEngineOption = choices.ProvedEngine.AUTO,
    output: Output,
) -> int:
    """Say what sampling buys: Renyi divergences of a specification that sees a sample only.

    With --q each record is in the sample with that probability (Poisson), with --n and --m the
    sample has a fixed size. Columns: without sampling (base), what no bound from that alone can
    undercut (lower), the tight sum where it is proved, a bound for any mechanism with that curve
    (upper), and the dominating pair (exact).
    With --delta also epsilon after --count rounds, by each accountant.
    """
    deltas = read_all(read_delta, "--delta", delta)
    if count is not None and not deltas:
        raise UsageError("--count needs the delta at which epsilon is asked: add --delta D")
    if output.terse and not deltas:
        raise UsageError("-t prints one number for each question: add --delta D")
    if engine is not choices.ProvedEngine.AUTO and not deltas:
        raise UsageError("--engine is for epsilon: add --delta D")
    ask = Subsampling(
        read_sample(q, n, m),
        read_all(read_order, "--orders", orders) or choices.DEFAULT_ORDERS,
        deltas,
        1 if count is None else read_count("--count", count),
        choices.relation_named(relation),
        read_tolerance("--tolerance", tolerance),
        engine.value,
        curve=not output.terse,
    )
    return answered([spec], ask, output)
