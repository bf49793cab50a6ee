"""The command `subsample`: what sampling buys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.cli import choices
from privcalc.cli.commands import answered
from privcalc.errors import UsageError
from privcalc.reporting.questions import (
    read_all,
    read_count,
    read_delta,
    read_number,
    read_order,
    read_tolerance,
)
from privcalc.reporting.subsample import Subsampling, checked_sample

if TYPE_CHECKING:
    from privcalc.cli import options
    from privcalc.cli.output import Output
    from privcalc.reporting.subsample import Query


def read_sample(q: str | None, n: str | None, m: str | None) -> Query:
    """Read the options of the sampling: --q alone, or --n and --m together."""
    return checked_sample(
        None if q is None else read_number("--q", q),
        None if n is None else read_count("--n", n),
        None if m is None else read_count("--m", m),
    )


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
    tolerance: options.ToleranceOption = "1e-6",
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
        read_all(read_order, "--orders", orders),
        deltas,
        1 if count is None else read_count("--count", count),
        choices.relation_named(relation),
        read_tolerance("--tolerance", tolerance),
        engine.value,
        curve=not output.terse,
    )
    return answered([spec], ask, output)
